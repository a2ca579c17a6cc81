#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "disks/program.h"
#include "launch/launch.h"
#include "launch/qcow2.h"

namespace vg::launch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Kind = Step::Kind;

class CarryOutTest : public testing::Test {
 protected:
  CarryOutTest() {
    std::string name = (fs::temp_directory_path() / "launch-XXXXXX").native();
    folder_ = ::mkdtemp(name.data());
  }
  ~CarryOutTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  std::string at(const std::string& name) const { return (folder_ / name).native(); }
  void put(const std::string& name, std::string_view text) const { std::ofstream(at(name), std::ios::binary) << text; }
  std::string text_of(const std::string& name) const {
    std::ifstream in(at(name), std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  // What is in the folder, names only.
  std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder_))
      all.insert(fs::relative(entry.path(), folder_).native());
    return all;
  }
  std::string tool(std::vector<std::string> command) const {
    const disks::Descriptor folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto ended = disks::run({.command = std::move(command), .folder = folder.get(), .bytes_max = 1 << 30});
    return ended ? ended->output + ended->errors : ended.error().message;
  }

  fs::path folder_;
};

TEST_F(CarryOutTest, FoldersAndFiles) {
  ASSERT_TRUE(carry_out({{.kind = Kind::make_folder, .path = at("a/b/c")},
                         {.kind = Kind::make_folder, .path = at("a/b/c")},
                         {.kind = Kind::write_file, .path = at("a/b/f"), .content = "one"},
                         {.kind = Kind::write_file, .path = at("a/b/f"), .content = "two"},
                         {.kind = Kind::copy, .path = at("a/z"), .volume = "v", .backing = at("no"), .size = 5000},
                         {.kind = Kind::copy, .path = at("a/t"), .backing = at("a/b/f"), .size = 5000}}));
  EXPECT_EQ(text_of("a/b/f"), "two");
  EXPECT_EQ(fs::file_size(at("a/z")), 5000U);
  EXPECT_EQ(text_of("a/t"), "two");
  struct stat info{};
  ::stat(at("a/b/f").c_str(), &info);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST_F(CarryOutTest, ImagesAreWhatQemuTakes) {  // RUN-CD-04, RUN-IMG-01, RUN-IMG-02
  put("raw", std::string((3 << 20) + 100, 'x'));
  tool({"qemu-img", "create", "-q", "-f", "qcow2", at("base.qcow2"), "2G"});
  ASSERT_TRUE(carry_out({
      {.kind = Kind::make_empty, .path = at("empty"), .size = 1 << 20},
      {.kind = Kind::make_empty, .path = at("huge"), .size = std::int64_t{1} << 43},
      {.kind = Kind::make_overlay, .path = at("over-raw"), .backing = at("raw"), .backing_format = "raw"},
      {.kind = Kind::make_overlay, .path = at("over-qcow2"), .backing = at("base.qcow2"), .backing_format = "qcow2"},
  }));
  for (const std::string_view name : {"empty", "huge", "over-raw", "over-qcow2"})
    EXPECT_THAT(tool({"qemu-img", "check", at(std::string(name))}), HasSubstr("No errors were found")) << name;
  EXPECT_THAT(tool({"qemu-img", "info", at("empty")}), HasSubstr("(1048576 bytes)"));
  EXPECT_THAT(tool({"qemu-img", "info", at("over-raw")}),
              AllOf(HasSubstr("(3146240 bytes)"), HasSubstr("backing file format: raw")));
  EXPECT_THAT(tool({"qemu-img", "info", at("over-qcow2")}),
              AllOf(HasSubstr("(2147483648 bytes)"), HasSubstr("backing file format: qcow2")));
  // Written through the overlay and read again.
  tool({"qemu-io", "-c", "write -P 7 1M 64k", at("over-qcow2")});
  EXPECT_THAT(tool({"qemu-io", "-r", "-c", "read -P 7 1M 64k", at("over-qcow2")}), Not(HasSubstr("failed")));
  EXPECT_THAT(tool({"qemu-img", "check", at("over-qcow2")}), HasSubstr("No errors were found"));
}

TEST_F(CarryOutTest, WhatIsThereStays) {
  put("over", "mine");
  put("raw", "mine");
  const std::vector<Step> steps{
      {.kind = Kind::make_overlay, .path = at("over"), .backing = at("none"), .backing_format = "raw"},
      {.kind = Kind::make_raw, .path = at("raw"), .size = 1 << 20}};
  ASSERT_TRUE(carry_out(steps));
  EXPECT_EQ(text_of("over"), "mine");
  EXPECT_EQ(text_of("raw"), "mine");
}

TEST_F(CarryOutTest, RoomOnTheDisk) {  // RUN-IMG-03
  ASSERT_TRUE(carry_out({{.kind = Kind::make_raw, .path = at("fits"), .size = 10 << 20}}));
  EXPECT_EQ(fs::file_size(at("fits")), 10U << 20U);
  struct stat info{};
  ::stat(at("fits").c_str(), &info);
  EXPECT_LT(info.st_blocks, 100);  // sparse
  const auto room = static_cast<std::int64_t>(fs::space(folder_).available);
  const auto tolerated =
      carry_out({{.kind = Kind::make_raw, .path = at("large"), .volume = "v", .size = room + (room / 50)}});
  ASSERT_TRUE(tolerated) << tolerated.error().message;
  EXPECT_THAT(tolerated->tolerated, testing::ElementsAre("v"));
  EXPECT_LT(static_cast<std::int64_t>(fs::file_size(at("large"))), room + (room / 50));
  const auto refused = carry_out({{.kind = Kind::make_raw, .path = at("none"), .volume = "v", .size = 2 * room}});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("volume v: there is room for"));
  EXPECT_FALSE(fs::exists(at("none")));
  EXPECT_FALSE(carry_out({{.kind = Kind::make_raw, .path = at("no/such/folder"), .size = 1 << 20}}));
}

TEST_F(CarryOutTest, ImagesGrow) {  // RUN-GRW-02, RUN-GRW-03
  put("image", "x");
  ASSERT_TRUE(carry_out({{.kind = Kind::grow, .path = at("image"), .size = 100 << 20, .overhead = 0.055}}));
  EXPECT_EQ(fs::file_size(at("image")), 94U << 20U);  // 94.5 MiB, rounded down
  ASSERT_TRUE(carry_out({{.kind = Kind::grow, .path = at("image"), .size = 10 << 20, .overhead = 0}}));
  EXPECT_EQ(fs::file_size(at("image")), 94U << 20U);
  ASSERT_TRUE(carry_out({{.kind = Kind::grow, .path = at("missing"), .size = 10 << 20}}));
  EXPECT_FALSE(fs::exists(at("missing")));
}

TEST_F(CarryOutTest, Links) {
  put("target", "t");
  ASSERT_TRUE(carry_out({{.kind = Kind::link, .path = at("link"), .backing = at("target")}}));
  ASSERT_TRUE(carry_out({{.kind = Kind::link, .path = at("link"), .backing = at("target")}}));
  EXPECT_EQ(fs::read_symlink(at("link")), at("target"));
  ASSERT_TRUE(carry_out({{.kind = Kind::share, .path = at("shared"), .backing = at("target")}}));
  ASSERT_TRUE(carry_out({{.kind = Kind::share, .path = at("shared"), .backing = at("target")}}));
  fs::remove(at("target"));
  EXPECT_EQ(text_of("shared"), "t");
  const auto failed = carry_out({{.kind = Kind::link, .path = at("other"), .volume = "v", .backing = at("target")}});
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("volume v: there is no"));
  EXPECT_FALSE(carry_out({{.kind = Kind::link, .path = at("other"), .backing = folder_.native()}}));
}

TEST_F(CarryOutTest, AHostDiskIsWhereItsLinksLead) {  // RUN-IMG-03, RUN-IMG-04
  for (const char* folder : {"allowed", "secret", "allowed/sub"}) fs::create_directory(at(folder));
  put("secret/disk.img", "s");
  put("allowed/disk.img", "a");
  fs::create_symlink("../secret/disk.img", at("allowed/out"));
  fs::create_directory_symlink("../secret", at("allowed/folder"));
  fs::create_symlink("disk.img", at("allowed/in"));
  const std::vector<std::string> within{at("allowed")};
  const auto link = [&](const std::string& backing) {
    return carry_out({{.kind = Kind::link, .path = at("link"), .volume = "v", .backing = backing, .within = within}});
  };
  for (const std::string& path :
       {at("allowed/out"), at("allowed/folder/disk.img"), "/proc/self/root" + at("secret/disk.img"),
        at("allowed/../secret/disk.img"), std::string("/dev/null")}) {
    EXPECT_FALSE(link(path)) << path;
    EXPECT_FALSE(fs::exists(fs::symlink_status(at("link")))) << path;
  }
  ASSERT_TRUE(link(at("allowed/in")));
  EXPECT_EQ(fs::read_symlink(at("link")), at("allowed/disk.img"));  // links of later are not followed
  const auto make = [&](const std::string& path) {
    return carry_out({{.kind = Kind::make_raw, .path = path, .volume = "v", .size = 1 << 20, .within = within}});
  };
  EXPECT_FALSE(make(at("allowed/folder/new.img")));
  EXPECT_FALSE(make(at("secret/new.img")));
  EXPECT_FALSE(make(at("allowed/none/new.img")));
  EXPECT_FALSE(fs::exists(at("secret/new.img")));
  ASSERT_TRUE(make(at("allowed/sub/new.img")));
  EXPECT_EQ(fs::file_size(at("allowed/sub/new.img")), 1U << 20U);
}

TEST_F(CarryOutTest, Iso) {  // RUN-CI-15
  const std::vector<Step> steps{{.kind = Kind::make_iso,
                                 .path = at("ci.iso"),
                                 .volume = "ci",
                                 .files = {{"user-data", "#cloud-config\n"}, {"openstack/latest/meta_data.json", "{}"}},
                                 .label = "cidata"}};
  const auto made = carry_out(steps);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->iso_bytes, (std::vector<std::pair<std::string, std::int64_t>>{
                                 {"ci", static_cast<std::int64_t>(fs::file_size(at("ci.iso")))}}));
  EXPECT_EQ(names(), std::set<std::string>{"ci.iso"});  // nothing is left
  EXPECT_EQ(text_of("ci.iso").substr(32768 + 40, 7), "cidata ");
  EXPECT_EQ(text_of("ci.iso").substr(34816 + 40, 6), std::string("\0c\0i\0d", 6));  // Joliet
  EXPECT_EQ(made->iso_bytes.front().second, 1 << 20);
  EXPECT_THAT(tool({"xorriso", "-indev", at("ci.iso"), "-find", "/", "-type", "f"}),
              AllOf(HasSubstr("'/user-data'"), HasSubstr("'/openstack/latest/meta_data.json'")));
  const auto before = fs::last_write_time(at("ci.iso"));
  ASSERT_TRUE(carry_out(steps));
  EXPECT_EQ(fs::last_write_time(at("ci.iso")), before);
}

TEST_F(CarryOutTest, LabelsOfIsosAreKeptAsTheyAre) {
  const auto with = [&](std::string label) {
    fs::remove(at("i"));
    return carry_out({{.kind = Kind::make_iso, .path = at("i"), .files = {{"a", "x"}}, .label = std::move(label)}});
  };
  ASSERT_TRUE(with("config-2"));
  EXPECT_EQ(text_of("i").substr(32768 + 40, 9), "config-2 ");
  ASSERT_TRUE(with(std::string(32, 'l')));
  EXPECT_FALSE(with(std::string(33, 'l')));
}

// A file of more than so many bytes cannot be written: as if the disk were full.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) : old_signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit now{.rlim_cur = bytes, .rlim_max = old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_signal_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit old_{};
  void (*old_signal_)(int);
};

TEST_F(CarryOutTest, NothingHalfMadeHasAName) {
  put("base", std::string(1 << 20, 'x'));
  {
    const FileLimit full(100);
    EXPECT_FALSE(carry_out({{.kind = Kind::write_file, .path = at("f"), .content = std::string(5000, 'x')}}));
    EXPECT_FALSE(carry_out({{.kind = Kind::make_empty, .path = at("e"), .size = 1 << 20}}));
    EXPECT_FALSE(
        carry_out({{.kind = Kind::make_overlay, .path = at("o"), .backing = at("base"), .backing_format = "raw"}}));
    EXPECT_FALSE(
        carry_out({{.kind = Kind::make_iso, .path = at("i"), .files = {{"a", std::string(5000, 'x')}}, .label = "l"}}));
  }
  EXPECT_EQ(names(), std::set<std::string>{"base"});
}

TEST_F(CarryOutTest, ALinkInThePlaceOfAPartIsNotFollowed) {
  put("precious", "p");
  fs::create_symlink(at("precious"), at("f.part"));
  ASSERT_TRUE(carry_out({{.kind = Kind::write_file, .path = at("f"), .content = "new"}}));
  EXPECT_EQ(text_of("precious"), "p");
  EXPECT_EQ(text_of("f"), "new");
}

TEST_F(CarryOutTest, AfterTheRun) {
  const Folders folders{.guest = at("guest"),
                        .shared = at("shared"),
                        .sockets = at("run"),
                        .disks = at("disks"),
                        .images = at("images"),
                        .tpm = at("swtpm")};
  for (const std::string_view name : {"guest/hotplug", "shared/container-disks", "run", "disks", "vm"})
    fs::create_directories(at(std::string(name)));
  put("guest/overlay", "x");
  put("disks/claim", "x");
  put("vm/nvram", "x");
  fs::create_symlink(at("disks/claim"), at("guest/hotplug/v.img"));
  ASSERT_TRUE(clear_hotplug(folders, "v"));
  ASSERT_TRUE(clear_hotplug(folders, "v"));
  ASSERT_TRUE(clear_hotplug(folders, "../../disks"));
  EXPECT_FALSE(fs::exists(fs::symlink_status(at("guest/hotplug/v.img"))));
  fs::create_symlink(at("disks"), at("guest/link"));
  ASSERT_TRUE(carry_out({{.kind = Kind::make_folder, .path = at("swtpm")},
                         {.kind = Kind::link_folder, .path = at("swtpm/uuid"), .backing = at("vm/tpm")},
                         {.kind = Kind::link_folder, .path = at("guest/tpm"), .backing = at("swtpm/uuid")}}));
  put("swtpm/uuid/state", "x");
  ASSERT_TRUE(clear(folders));
  ASSERT_TRUE(clear(folders));
  EXPECT_EQ(names(),
            (std::set<std::string>{"disks", "disks/claim", "swtpm", "vm", "vm/nvram", "vm/tpm", "vm/tpm/state"}));
}

TEST_F(CarryOutTest, ImagesThatGuestsUse) {
  EXPECT_THAT(images_in_use(at("nodes")), testing::IsEmpty());
  for (const std::string_view guest : {"n1/shared/a", "n1/shared/b", "n2/shared/c", "n3"})
    fs::create_directories(folder_ / "nodes" / guest);
  put("nodes/n1/shared/a/images", "sha256:1\nsha256:2\n");
  put("nodes/n2/shared/c/images", "sha256:3");
  EXPECT_THAT(images_in_use(at("nodes")), testing::ElementsAre("sha256:1", "sha256:2", "sha256:3"));
}

TEST_F(CarryOutTest, FirmwareHasUpstreamsNames) {
  EXPECT_EQ(*provide_firmware(at("roms"), at("root")), "");
  fs::create_directories(at("root/usr/share/OVMF"));
  for (const std::string_view name : {"CODE_4M", "VARS_4M", "CODE_4M.secboot", "VARS_4M.ms"}) {
    EXPECT_EQ(*provide_firmware(at("roms"), at("root")), "");  // not whole yet
    put(fmt::format("root/usr/share/OVMF/OVMF_{}.fd", name), name);
  }
  for (int i = 0; i < 2; ++i) EXPECT_EQ(*provide_firmware(at("roms"), at("root")), at("roms"));
  EXPECT_EQ(text_of("roms/OVMF_VARS.secboot.fd"), "VARS_4M.ms");
  EXPECT_EQ(text_of("roms/OVMF_CODE.fd"), "CODE_4M");
}

TEST(Qcow2, SizesOfOthers) {
  EXPECT_EQ(*qcow2_size(qcow2_head(12345 * 512, {}, {})), 12345 * 512);
  EXPECT_FALSE(qcow2_size("QFI"));
  EXPECT_FALSE(qcow2_size(std::string(512, 'x')));
  std::string huge = qcow2_head(1 << 20, {}, {});
  huge[24] = '\x7f';
  EXPECT_FALSE(qcow2_size(huge));
}

}  // namespace
}  // namespace vg::launch
