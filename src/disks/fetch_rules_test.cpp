// Rules of spec storage 5.1 to 5.3, on the functions that carry them out. What they need of a disk is in a folder of
// its own.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/disk_limits.h"
#include "disks/fetch.h"
#include "disks/image.h"
#include "disks/program.h"
#include "disks/registry.h"
#include "disks/room.h"

namespace vg::disks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class OwnFolder {
 public:
  OwnFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "rules-XXXXXX").native();
    path = ::mkdtemp(name.data());
    descriptor = Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ~OwnFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  void put(const std::string& file, std::string_view text) const {
    std::filesystem::create_directories((path / file).parent_path());
    std::ofstream(path / file, std::ios::binary) << text;
  }
  std::string content(const std::string& file) const {
    std::ifstream in(path / file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::filesystem::path path;
  Descriptor descriptor;
};

// --- 5.1 -------------------------------------------------------------------------------------------------------------

TEST(Fetch, CurlIsToldWhatTheImportSays) {
  struct Row {
    const char* id;
    ImportHttp from;
    CurlRequest request;
    const char* line;
    bool there = true;
  };
  const std::string url = "https://h/x";
  const ImportHttp plain{.target = {}, .url = url}, login{.target = {}, .url = url, .user = "u", .password = "p"};
  const ImportHttp headers{.target = {}, .url = url, .headers = {"A: b:c", "none", ": x", "@/etc/a:b", "B c: d"}};
  const CurlRequest same{.url = url}, elsewhere{.url = "https://other/x"}, other_port{.url = "https://h:8443/x"};
  const Row rows[] = {
      {"DV-80", plain, same, "user-agent = \"cdi-golang-importer\"\n"},
      {"DV-80, a minute without progress", plain, same, "speed-time = \"60\"\n"},
      {"DV-80, no other schemes", plain, same, "proto = \"=http,https\"\n"},
      {"DV-80, redirects are followed here", login, same, "location", false},
      {"DV-80, gone on with", plain, {.url = url, .have = 5, .tag = "\"t\""}, "header = \"Range: bytes=5-\"\n"},
      {"DV-80, of the same version",
       plain,
       {.url = url, .have = 5, .tag = "\"t\""},
       "header = \"If-Range: \\\"t\\\"\"\n"},
      {"DV-81", login, same, "user = \"u:p\"\n"},
      {"DV-80, again after a redirect to the same host", login, {.url = "https://h/other"}, "user = \"u:p\"\n"},
      {"DV-80, not to another host", login, elsewhere, "user", false},
      {"DV-80, not to another port", login, other_port, "user =", false},
      {"DV-82", {.target = {}, .url = url, .authorities = "PEM"}, same, "cacert = "},
      {"DV-82", {.target = {}, .url = url, .insecure = true}, same, "\ninsecure\n"},
      {"DV-82, checked otherwise", plain, same, "\ninsecure\n", false},
      {"DV-83, up to the first colon", headers, same, "header = \"A: b:c\"\n"},
      {"DV-83, no colon", headers, same, "none", false},
      {"DV-83, no name", headers, same, "\": x", false},
      {"DV-83, never a file", headers, same, "@", false},
      {"DV-83, a blank in the name", headers, same, "B c", false},
      {"DV-83, not to another host", headers, elsewhere, "A: b:c", false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.id);
    std::string options = curl_options(row.from, row.request);
    if (row.there)
      EXPECT_THAT(options, HasSubstr(row.line));
    else
      EXPECT_THAT(options.erase(0, options.find("user-agent") + 10), Not(HasSubstr(row.line)));
  }
}

TEST(Fetch, OnlyAWholeAnswerOf200Counts) {
  struct Row {
    const char* id;
    Transfer done;
    const char* expected;  // "done", "again", or part of the refusal
  };
  const std::string slow = too_slow();
  for (const Row& row :
       {Row{"DV-80", {.status = 200, .at = 9, .total = 9}, "done"},
        Row{"DV-80, no length", {.status = 200, .at = 9, .total = -1}, "done"},
        Row{"DV-80, no length, and cut off", {.status = 200, .at = 9, .total = -1, .code = 18}, "again"},
        Row{"DV-80, the rest", {.status = 206, .had = 5, .at = 9, .total = 9}, "done"},
        Row{"DV-80, cut off", {.status = 200, .at = 5, .total = 9, .code = 18}, "again"},
        Row{"DV-80, no progress",
            {.status = 206, .had = 5, .at = 5, .total = 9, .code = 18, .complaint = "c"},
            "the transfer ended too early: c"},
        Row{"DV-80, too slow", {.status = 206, .had = 5, .at = 6, .total = 9, .code = 28}, slow.c_str()},
        Row{"DV-80", {.status = 404}, "expected status code 200, got 404"},
        Row{"DV-80", {.status = 204}, "expected status code 200, got 204"},
        Row{"DV-80", {.status = 0, .code = 7, .complaint = "c"}, "the server cannot be reached: c"}}) {
    SCOPED_TRACE(row.id);
    const auto judged = judge_transfer(row.done);
    EXPECT_EQ(judged ? (*judged ? "done" : "again") : judged.error().message, row.expected);
  }
}

// DV-80: a byte now and then is no progress, nor is a burst that is too small.
TEST(Fetch, ALeastRateWithinEveryWindow) {
  const RateWatch::Time start{};
  const auto window = limits::download_window;
  const std::int64_t enough = limits::download_window_bytes_min;
  RateWatch good(start);
  for (int i = 1; i <= 3; ++i) EXPECT_TRUE(good.look(i * enough, start + i * window)) << i;
  EXPECT_TRUE(good.look(3 * enough, start + 4 * window - std::chrono::seconds(1))) << "the window is not over";
  EXPECT_FALSE(good.look(4 * enough - 1, start + 4 * window));
  RateWatch trickle(start);
  for (int second = 1; second < window.count(); ++second)
    EXPECT_TRUE(trickle.look(second, start + std::chrono::seconds(second)));
  EXPECT_FALSE(trickle.look(window.count(), start + window));
}

TEST(Fetch, RedirectsAreFollowedWithinTheWeb) {
  struct Row {
    const char* id;
    const char *location, *to;  // empty: nowhere
  };
  for (const Row& row : {Row{"DV-80", "https://other/y", "https://other/y"}, Row{"DV-80", "/y", "https://h:1/y"},
                         Row{"DV-80", "//other/y", "https://other/y"}, Row{"DV-80", "y", "https://h:1/a/y"},
                         Row{"DV-80, another scheme", "file:///etc/passwd", ""},
                         Row{"DV-80, another scheme", "ftp://other/y", ""}, Row{"DV-80, nowhere", "", ""}}) {
    SCOPED_TRACE(fmt::format("{} {}", row.id, row.location));
    EXPECT_EQ(redirected("https://h:1/a/x?q=/b", row.location).value_or(""), row.to);
  }
}

TEST(Fetch, TheChecksumIsOfTheBytesThatCame) {
  struct Row {
    const char* id;
    const char* checksum;
    bool good;
  };
  const OwnFolder folder;
  folder.put("file", "abc");
  for (const Row& row : {Row{"DV-84", "md5:900150983cd24fb0d6963f7d28e17f72", true},
                         Row{"DV-84, in any case", "MD5:900150983CD24FB0D6963F7D28E17F72", true},
                         Row{"DV-84", "sha1:a9993e364706816aba3e25717850c26c9cd0d89d", true},
                         Row{"DV-84", "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", true},
                         Row{"DV-84, another file", "md5:900150983cd24fb0d6963f7d28e17f73", false},
                         Row{"DV-84, another algorithm", "sha256:900150983cd24fb0d6963f7d28e17f72", false},
                         Row{"DV-84, no algorithm", "crc:1", false}}) {
    SCOPED_TRACE(row.id);
    const auto verified = verify(folder.descriptor.get(), "file", row.checksum);
    EXPECT_EQ(verified.has_value(), row.good);
    if (!verified) EXPECT_EQ(verified.error().error, DiskError::checksum);  // which is final
  }
}

// DV-85: programs go out by the proxies of the server's environment, unless they are given one.
TEST(Program, HasTheProxiesOfTheServer) {
  const OwnFolder folder;
  for (const auto& [name, value] : {std::pair("https_proxy", "http://p:1"), {"no_proxy", "here"}, {"SECRET", "s"}})
    ::setenv(name, value, 1);
  Program program{.command = {"env"}, .folder = folder.descriptor.get()};
  const auto ended = run(program);
  ASSERT_TRUE(ended);
  EXPECT_THAT(ended->output, HasSubstr("https_proxy=http://p:1\n"));
  EXPECT_THAT(ended->output, HasSubstr("no_proxy=here\n"));
  EXPECT_THAT(ended->output, Not(HasSubstr("SECRET")));
  program.proxy_variables = {"https_proxy=http://own:2"};
  const auto own = run(program);
  ASSERT_TRUE(own);
  EXPECT_THAT(own->output, HasSubstr("https_proxy=http://own:2\n"));
  EXPECT_THAT(own->output, Not(HasSubstr("here")));
  for (const char* name : {"https_proxy", "no_proxy", "SECRET"}) ::unsetenv(name);
}

// --- 5.2 -------------------------------------------------------------------------------------------------------------

TEST(Room, AFullDiskIsToldInWordsThatClientsKnow) {
  struct Row {
    const char* id;
    Failure failure;
    const char* message;
  };
  for (const Row& row : {Row{"DV-90",
                             {.error = DiskError::no_space, .message = "No space left on device"},
                             "DataVolume too small to contain image: No space left on device"},
                         Row{"DV-90, once",
                             {.error = DiskError::no_space, .message = no_room().error().message},
                             "DataVolume too small to contain image: the disk of this host has no room left for it"},
                         Row{"DV-90, of nothing else", {.error = DiskError::other, .message = "m"}, "m"}}) {
    SCOPED_TRACE(row.id);
    EXPECT_EQ(in_known_words(row.failure).message, row.message);
  }
}

TEST(Image, ItsRoomIsReservedOnDemandAndItNeverShrinks) {
  struct Row {
    const char* id;
    std::int64_t before, size;
    bool preallocate;
    std::int64_t after, room;
  };
  constexpr std::int64_t unit = 1 << 20;
  for (const Row& row : {Row{"DV-89, grown and sparse", 10, 4 * unit, false, 4 * unit, 0},
                         Row{"DV-89, never shrunk", 8 * unit, 4 * unit, false, 8 * unit, 0},
                         Row{"DV-92", 10, 4 * unit, true, 4 * unit, 4 * unit},
                         Row{"DV-92, all of a larger one", 8 * unit, 4 * unit, true, 8 * unit, 8 * unit}}) {
    SCOPED_TRACE(row.id);
    const OwnFolder folder;
    const Descriptor file(::open((folder.path / "f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_EQ(::ftruncate(file.get(), row.before), 0);
    ASSERT_TRUE(finish_image(file.get(), row.size, row.preallocate));
    struct stat info{};
    ASSERT_EQ(::fstat(file.get(), &info), 0);
    EXPECT_EQ(info.st_size, row.after);
    if (row.preallocate)
      EXPECT_GE(info.st_blocks * 512, row.room);
    else
      EXPECT_LT(info.st_blocks * 512, unit);
  }
}

// --- 5.3 -------------------------------------------------------------------------------------------------------------

TEST(Registry, SkopeoIsToldWhatTheImportSays) {
  struct Row {
    const char* id;
    ImportRegistry from;
    std::vector<std::string> options;  // what it has beside the ordinary ones, in front of the URL
    const char *file = nullptr, *content = nullptr;
  };
  const std::string url = "docker://quay.io/os/fedora:42";
  const Row rows[] = {
      {"DV-95", {.target = {}, .url = url}, {"copy", "--quiet"}},
      {"DV-95, an insecure registry",
       {.target = {}, .url = url, .insecure = true},
       {"copy", "--quiet", "--src-tls-verify=false"}},
      {"DV-95, authorities",
       {.target = {}, .url = url, .authorities = "PEM"},
       {"copy", "--quiet", "--src-cert-dir", ".part-registry-authorities"},
       ".part-registry-authorities/ca.crt",
       "PEM"},
      {"DV-95, an account",
       {.target = {}, .url = url, .user = "u", .password = "p"},
       {"copy", "--quiet", "--src-authfile", ".part-accounts"},
       ".part-accounts",
       R"({"auths":{"quay.io":{"auth":"dTpw"}}})"},
      {"DV-97", {.target = {}, .url = url, .architecture = "arm64"}, {"--override-arch", "arm64", "copy", "--quiet"}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.id);
    const OwnFolder folder;
    auto command = pull_command(folder.descriptor.get(), row.from);
    ASSERT_TRUE(command);
    const std::vector<std::string> always{"skopeo", "--insecure-policy", "--tmpdir", ".", url, "dir:.part-image"};
    for (const std::string& word : always) {
      const auto found = std::ranges::find(*command, word);
      ASSERT_NE(found, command->end()) << word;
      command->erase(found);
    }
    EXPECT_EQ(*command, row.options);
    if (row.file) EXPECT_EQ(folder.content(row.file), row.content);
  }
}

TEST(Registry, TheArchitectureMustBeTheOneThatWasAskedFor) {
  struct Row {
    const char* id;
    const char *wanted, *found;
    bool good;
  };
  for (const Row& row : {Row{"DV-97", "arm64", "arm64", true}, Row{"DV-97", "arm64", "amd64", false},
                         Row{"DV-97, not known", "arm64", "", false}, Row{"DV-97, any", "", "amd64", true}}) {
    SCOPED_TRACE(fmt::format("{} {} {}", row.id, row.wanted, row.found));
    const auto checked = check_architecture(row.wanted, row.found);
    EXPECT_EQ(checked.has_value(), row.good);
    if (!checked) EXPECT_EQ(checked.error().error, DiskError::pull);
  }
}

TEST(Registry, TheDiskIsOfTheFirstLayerThatHasOne) {
  struct Row {
    const char* id;
    std::vector<const char*> layers;  // how each is made, the lowest first, in a folder "in" that is then packed
    const char* expected;             // what is in the disk, or part of the refusal
  };
  const char* nothing = "mkdir etc; echo no > etc/x";
  const char* disk = "mkdir disk; printf lower > disk/a.img";
  const char* upper = "mkdir disk; printf upper > disk/b.img";
  const Row rows[] = {
      {"DV-96", {disk}, "lower"},
      {"DV-96, from the base upward", {nothing, disk, upper}, "lower"},
      {"DV-96, white-outs are skipped", {"mkdir disk; touch disk/.wh.old", upper}, "upper"},
      {"DV-96, links are no disks", {"mkdir disk; ln -s /etc/passwd disk/a", upper}, "upper"},
      {"DV-96, below disk alone", {"mkdir -p x/disk; echo no > x/disk/a; echo no > diskette", upper}, "upper"},
      {"DV-96, exactly one", {"mkdir disk; echo 1 > disk/a; echo 2 > disk/b"}, "more than one file"},
      {"DV-99, none", {nothing}, "no disk"},
  };
  for (const bool packed : {false, true})
    for (const Row& row : rows) {
      SCOPED_TRACE(fmt::format("{}{}", row.id, packed ? ", packed" : ""));
      const OwnFolder folder;
      Manifest manifest;
      for (const char* make : row.layers) {
        const std::string hex = fmt::format("{:064x}", manifest.layers.size() + 1);
        const std::string line = fmt::format(
            "cd '{}' && rm -rf in && mkdir -p in .part-image && cd in && {} && tar -c{}f "
            "../.part-image/{} {}",
            folder.path.native(), make, packed ? "z" : "", hex, packed ? "*" : ".");
        ASSERT_EQ(std::system(line.c_str()), 0);
        manifest.layers.push_back("sha256:" + hex);
      }
      const auto taken = take_disk(folder.descriptor.get(), manifest, "out", 1 << 20);
      EXPECT_THAT(taken ? folder.content("out") : taken.error().message, HasSubstr(row.expected));
      if (!taken) EXPECT_EQ(taken.error().error, DiskError::bad_image);  // shown as Error, not as ImagePullFailed
    }
}

}  // namespace
}  // namespace vg::disks
