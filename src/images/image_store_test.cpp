#include "images/image_store.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "disks/program.h"
#include "images/layer.h"
#include "images/records.h"
#include "images/tree.h"

namespace vg::images {
namespace {

namespace fs = std::filesystem;

// `TEST_PROGRAM unpack-layer ...` reads archives for its own tests. The C library tells it the arguments before main().
[[gnu::constructor]] void unpack_if_told(int count, char** words) {
  if (count > 2 && words[1] == unpacker_word) std::_Exit(run_unpacker(words + 2));
}

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// An entry of an archive that a test makes.
struct Entry {
  std::string name;
  std::string content = {};
  mode_t type = AE_IFREG;
  std::string target = {};  // of a link
  bool hard = false;
  std::int64_t size = -1;  // as the header has it; the content by itself
};

class ImagesTest : public testing::Test {
 protected:
  ImagesTest() {
    std::string name = (fs::temp_directory_path() / "images-XXXXXX").native();
    folder_ = ::mkdtemp(name.data());
    store_.emplace(std::move(*ImageStore::open(at("store"))));
  }
  ~ImagesTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  std::string at(const std::string& name) const { return (folder_ / name).native(); }

  std::string make_tar(const std::string& name, const std::vector<Entry>& entries,
                       int filter = ARCHIVE_FILTER_NONE) const {
    archive* out = archive_write_new();
    archive_write_set_format_pax_restricted(out);
    if (filter == ARCHIVE_FILTER_GZIP) archive_write_add_filter_gzip(out);
    if (filter == ARCHIVE_FILTER_ZSTD) archive_write_add_filter_zstd(out);
    if (filter == ARCHIVE_FILTER_XZ) archive_write_add_filter_xz(out);
    archive_write_open_filename(out, at(name).c_str());
    for (const Entry& one : entries) {
      archive_entry* entry = archive_entry_new();
      archive_entry_set_pathname(entry, one.name.c_str());
      archive_entry_set_filetype(entry, one.type);
      archive_entry_set_perm(entry, 04755);
      archive_entry_set_uid(entry, 107);
      if (one.hard)
        archive_entry_set_hardlink(entry, one.target.c_str());
      else if (one.type == AE_IFLNK)
        archive_entry_set_symlink(entry, one.target.c_str());
      archive_entry_set_size(entry, one.hard ? 0 : static_cast<la_int64_t>(one.content.size()));
      archive_write_header(out, entry);
      if (!one.hard && one.type == AE_IFREG) archive_write_data(out, one.content.data(), one.content.size());
      archive_entry_free(entry);
    }
    archive_write_close(out);
    archive_write_free(out);
    return at(name);
  }
  std::string read(const std::string& path) const {
    std::ifstream in(path, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  void write(const std::string& path, std::string_view text) const {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }

  // An image as a folder that skopeo reads; layers are archives.
  std::string make_oci(const std::string& name, const std::vector<std::string>& layers,
                       std::string_view arch = "amd64") const {
    const std::string folder = at(name);
    fs::create_directories(folder + "/blobs/sha256");
    const auto blob = [&](std::string_view content) {
      const std::string hex = sha256_hex(content);
      write(fmt::format("{}/blobs/sha256/{}", folder, hex), content);
      return fmt::format(R"("digest":"sha256:{}","size":{})", hex, content.size());
    };
    std::string list, ids;
    for (const std::string& layer : layers) {
      const std::string content = read(layer);
      const bool packed = content.starts_with("\x1f\x8b");
      list += fmt::format(R"({}{{"mediaType":"application/vnd.oci.image.layer.v1.tar{}",{}}})", list.empty() ? "" : ",",
                          packed ? "+gzip" : "", blob(content));
      ids += fmt::format(R"({}"sha256:{}")", ids.empty() ? "" : ",", sha256_hex(content));
    }
    const std::string config = blob(fmt::format(
        R"({{"architecture":"{}","os":"linux","config":{{}},"rootfs":{{"type":"layers","diff_ids":[{}]}}}})", arch,
        ids));
    const std::string manifest = blob(fmt::format(
        R"({{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{{"mediaType":"application/vnd.oci.image.config.v1+json",{}}},"layers":[{}]}})",
        config, list));
    write(folder + "/oci-layout", R"({"imageLayoutVersion":"1.0.0"})");
    write(folder + "/index.json",
          fmt::format(
              R"({{"schemaVersion":2,"manifests":[{{"mediaType":"application/vnd.oci.image.manifest.v1+json",{}}}]}})",
              manifest));
    return folder;
  }
  std::string raw_disk(char fill = 'd') const { return std::string(1 << 20, fill); }

  // Unpacks one layer, and tells what went wrong.
  std::string unpacked(const std::string& archive, LayerLimits limits = {.bytes_max = 64 << 20, .entries_max = 1000}) {
    fs::remove_all(at("out"));
    fs::create_directory(at("out"));
    const auto done = unpack_layer(archive, at("out"), limits);
    return done ? "" : done.error().message;
  }
  std::vector<std::string> in_store(const std::string& part) const { return entries_of(at("store/" + part)); }

  fs::path folder_;
  std::optional<ImageStore> store_;
};

TEST_F(ImagesTest, ALayerIsUnpacked) {
  std::string sparse(8 << 20, '\0');
  sparse.replace(5 << 20, 4, "data");
  for (const int filter : {ARCHIVE_FILTER_NONE, ARCHIVE_FILTER_GZIP, ARCHIVE_FILTER_ZSTD, ARCHIVE_FILTER_XZ}) {
    EXPECT_EQ(unpacked(make_tar("l.tar",
                                {{.name = "./disk/", .type = AE_IFDIR},
                                 {.name = "disk/a.img", .content = sparse},
                                 {.name = "/abs/file", .content = "x"},
                                 {.name = "same", .target = "abs/file", .hard = true},
                                 {.name = "link", .type = AE_IFLNK, .target = "/abs/file"},
                                 {.name = "dev/null", .type = AE_IFCHR},
                                 {.name = "pipe", .type = AE_IFIFO}},
                                filter)),
              "");
    EXPECT_EQ(read(at("out/disk/a.img")), sparse);
    EXPECT_EQ(read(at("out/same")), "x");
    EXPECT_EQ(fs::read_symlink(at("out/link")), "/abs/file");
    EXPECT_FALSE(fs::exists(at("out/pipe")));
    EXPECT_FALSE(fs::exists(at("out/dev/null")));
  }
  struct stat info{};
  ::stat(at("out/disk/a.img").c_str(), &info);
  EXPECT_EQ(info.st_mode & 07777U, 0400U);
  EXPECT_LT(info.st_blocks * 512, 1 << 20);  // holes stay holes
}

TEST_F(ImagesTest, WhatLeavesTheFolderIsRefused) {
  write(at("precious"), "p");
  const Entry out{.name = "d", .type = AE_IFLNK, .target = "../precious"};
  EXPECT_THAT(unpacked(make_tar("1", {{.name = "../precious", .content = "x"}})), HasSubstr("leaves its folder"));
  EXPECT_THAT(unpacked(make_tar("2", {{.name = "a/../../precious", .content = "x"}})), HasSubstr("leaves its folder"));
  EXPECT_THAT(unpacked(make_tar(
                  "3", {{.name = "l", .type = AE_IFLNK, .target = ".."}, {.name = "l/precious", .content = "x"}})),
              HasSubstr("is not a folder"));
  EXPECT_EQ(unpacked(make_tar("4", {out, {.name = "d", .content = "x"}})), "");  // the link itself is replaced
  EXPECT_THAT(unpacked(make_tar("5", {{.name = "h", .target = "../precious", .hard = true}})),
              HasSubstr("leaves its folder"));
  EXPECT_THAT(unpacked(make_tar("6", {out, {.name = "h", .target = "d", .hard = true}})), HasSubstr("is not there"));
  EXPECT_THAT(unpacked(make_tar("7", {{.name = "l", .type = AE_IFLNK, .target = ".."},
                                      {.name = "h", .target = "l/precious", .hard = true}})),
              HasSubstr("is not a folder"));
  EXPECT_EQ(read(at("precious")), "p");
}

TEST_F(ImagesTest, LayersHaveLimits) {
  EXPECT_THAT(unpacked(make_tar("1", {{.name = "a", .content = std::string(5000, 'x')}}),
                       {.bytes_max = 4096, .entries_max = 10}),
              HasSubstr("larger than the room"));
  EXPECT_THAT(
      unpacked(make_tar("2", {{.name = "a"}, {.name = "b"}, {.name = "c"}}), {.bytes_max = 100, .entries_max = 2}),
      HasSubstr("too many entries"));
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += "a/";
  EXPECT_THAT(unpacked(make_tar("3", {{.name = deep + "f", .content = "x"}})), HasSubstr("too deep"));
  write(at("4"), "this is no archive at all, but long enough to be looked at");
  EXPECT_THAT(unpacked(at("4")), HasSubstr("cannot be read"));
  // Cut short.
  const std::string whole = read(make_tar("5", {{.name = "a", .content = std::string(9000, 'x')}}));
  write(at("5"), std::string_view(whole).substr(0, 4000));
  EXPECT_THAT(unpacked(at("5")), HasSubstr("cannot be read"));
  // Zeros that unpack to much take no room.
  EXPECT_EQ(unpacked(make_tar("6", {{.name = "a", .content = std::string(32 << 20, '\0')}}, ARCHIVE_FILTER_GZIP),
                     {.bytes_max = 4096, .entries_max = 10}),
            "");
}

TEST_F(ImagesTest, LayersLieOnEachOther) {
  const auto layer = [&](const std::string& name, const std::vector<Entry>& entries) {
    fs::create_directories(at(name));
    EXPECT_TRUE(unpack_layer(make_tar(name + ".tar", entries), at(name), {.bytes_max = 1 << 20, .entries_max = 100}));
    const auto put = put_layer(at(name), at("root"));
    EXPECT_TRUE(put) << (put ? "" : put.error().message);
  };
  fs::create_directory(at("root"));
  write(at("precious"), "p");
  layer("a", {{.name = "keep", .content = "a"},
              {.name = "gone", .content = "a"},
              {.name = "dir/x", .content = "a"},
              {.name = "clean/old", .content = "a"},
              {.name = "folder/f", .content = "a"},
              {.name = "link", .type = AE_IFLNK, .target = "/keep"}});
  layer("b", {{.name = ".wh.gone"},
              {.name = "dir/y", .content = "b"},
              {.name = "clean/.wh..wh..opq"},
              {.name = "clean/new", .content = "b"},
              {.name = "folder", .content = "a file now"},
              {.name = ".wh..."},
              {.name = ".wh..wh.x"},
              {.name = "link", .type = AE_IFDIR}});
  EXPECT_THAT(entries_of(at("root")), ElementsAre("clean", "dir", "folder", "keep", "link"));
  EXPECT_THAT(entries_of(at("root/dir")), ElementsAre("x", "y"));
  EXPECT_THAT(entries_of(at("root/clean")), ElementsAre("new"));
  EXPECT_EQ(read(at("root/folder")), "a file now");
  EXPECT_TRUE(fs::is_directory(fs::symlink_status(at("root/link"))));
  EXPECT_EQ(read(at("precious")), "p");
  EXPECT_EQ(read(at("a/gone")), "a");  // layers themselves do not change
}

TEST_F(ImagesTest, PathsStayInTheImage) {  // RUN-CD-01
  write(at("precious"), "p");
  write(at("root/disk/real.img"), "d");
  fs::create_symlink("/disk/real.img", at("root/absolute"));
  fs::create_symlink("../../../precious", at("root/out"));
  fs::create_symlink(at("precious"), at("root/away"));
  fs::create_symlink("loop", at("root/loop"));
  EXPECT_EQ(*resolve(at("root"), "/absolute", false), at("root/disk/real.img"));
  EXPECT_EQ(*resolve(at("root"), "disk/../../../absolute", false), at("root/disk/real.img"));
  for (const std::string_view path : {"/out", "/away", "/loop", "/none", "/disk", ""})
    EXPECT_FALSE(resolve(at("root"), path, false)) << path;
  EXPECT_FALSE(resolve(at("root"), std::string_view("/disk\0x", 7), false));
}

TEST_F(ImagesTest, AnImageIsLoadedFoundAndRemoved) {
  const auto folder = make_oci("image", {make_tar("l", {{.name = "disk/d.img", .content = raw_disk()}})});
  const auto image = store_->load_archive(folder, "virtgate.local/x:1");
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_THAT(image->digest, testing::StartsWith("sha256:"));
  EXPECT_EQ(image->bytes, 1 << 20);
  EXPECT_TRUE(image->loaded);
  const auto disk = store_->disk_of(*image, "");
  ASSERT_TRUE(disk) << disk.error().message;
  EXPECT_EQ(read(*disk), raw_disk());
  EXPECT_EQ(*store_->format_of(*disk), "raw");
  EXPECT_EQ(*store_->format_of(*disk), "raw");
  EXPECT_FALSE(store_->find("virtgate.local/x:2"));
  ASSERT_EQ(store_->list().size(), 1U);
  EXPECT_THAT(in_store("work"), IsEmpty());
  ASSERT_TRUE(store_->remove("virtgate.local/x:1"));
  EXPECT_FALSE(store_->remove("virtgate.local/x:1"));
  for (const std::string part : {"images", "layers", "references"}) EXPECT_THAT(in_store(part), IsEmpty()) << part;
}

TEST_F(ImagesTest, LayersAreShared) {
  const auto base = make_tar("base", {{.name = "etc/x", .content = std::string(4096, 'b')}}, ARCHIVE_FILTER_GZIP);
  const auto one = make_oci("one", {base, make_tar("1", {{.name = "disk/d.img", .content = raw_disk('1')}})});
  const auto two = make_oci("two", {base, make_tar("2", {{.name = "disk/d.img", .content = raw_disk('2')}})});
  const auto first = store_->load_archive(one, "one"), second = store_->load_archive(two, "two");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(in_store("layers").size(), 3U);
  EXPECT_EQ(read(*store_->disk_of(*first, "")), raw_disk('1'));
  EXPECT_EQ(read(*store_->disk_of(*second, "")), raw_disk('2'));
  ASSERT_TRUE(store_->remove("one"));
  EXPECT_EQ(in_store("layers").size(), 2U);
  EXPECT_EQ(read(*store_->file_of(*second, "/etc/x")), std::string(4096, 'b'));
}

TEST_F(ImagesTest, ArchivesOfBothKinds) {
  const auto folder = make_oci("image", {make_tar("l", {{.name = "disk/d.img", .content = raw_disk()}})});
  for (const std::string kind : {"oci-archive", "docker-archive"}) {
    const std::string file = at(kind + ":with colon.tar");
    const auto ended = disks::run({.command = {"skopeo", "--insecure-policy", "copy", "--quiet", "oci:" + folder,
                                               fmt::format("{}:{}", kind, at(kind + ".tar"))},
                                   .bytes_max = 1 << 30});
    ASSERT_TRUE(ended && ended->code == 0) << ended->errors;
    fs::rename(at(kind + ".tar"), file);
    const auto image = store_->load_archive(file, "x/" + kind);
    ASSERT_TRUE(image) << image.error().message;
    EXPECT_EQ(read(*store_->disk_of(*image, "")), raw_disk());
  }
  EXPECT_FALSE(store_->load_archive(at("none"), "x"));
  write(at("text"), "no archive");
  EXPECT_FALSE(store_->load_archive(at("text"), "x"));
  EXPECT_THAT(in_store("work"), IsEmpty());
}

TEST_F(ImagesTest, TheDiskOfAnImage) {  // RUN-CD-01
  const auto load = [&](const std::string& name, const std::vector<Entry>& entries) {
    return *store_->load_archive(make_oci(name, {make_tar(name + ".tar", entries)}), name);
  };
  const UsableImage none = load("none", {{.name = "other", .content = "x"}});
  const UsableImage two = load("two", {{.name = "disk/a", .content = "x"}, {.name = "disk/b", .content = "y"}});
  const UsableImage linked = load("linked", {{.name = "data/d.img", .content = "z"},
                                             {.name = "disk/d.img", .type = AE_IFLNK, .target = "/data/d.img"}});
  EXPECT_FALSE(store_->disk_of(none, ""));
  EXPECT_THAT(store_->disk_of(two, "").error().message, HasSubstr("exactly one file, not 2"));
  EXPECT_EQ(read(*store_->disk_of(two, "/disk/b")), "y");
  EXPECT_EQ(read(*store_->disk_of(linked, "")), "z");
  EXPECT_FALSE(store_->disk_of(two, "/disk"));
}

TEST_F(ImagesTest, FormatsOfDisks) {  // RUN-CD-03
  const auto tool = [&](std::vector<std::string> command) {
    const disks::Descriptor folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto ended = disks::run({.command = std::move(command), .folder = folder.get(), .bytes_max = 1 << 30});
    EXPECT_TRUE(ended && ended->code == 0);
  };
  write(at("raw"), raw_disk());
  tool({"qemu-img", "create", "-q", "-f", "qcow2", at("qcow2"), "1M"});
  tool({"qemu-img", "create", "-q", "-f", "qcow2", "-b", at("raw"), "-F", "raw", at("backed")});
  tool({"qemu-img", "create", "-q", "-f", "vmdk", at("vmdk"), "1M"});
  tool({"qemu-img", "create", "-q", "-f", "qcow2", "-o", fmt::format("data_file={}", at("outside")), at("data"), "1M"});
  EXPECT_EQ(*store_->format_of(at("raw")), "raw");
  EXPECT_EQ(*store_->format_of(at("qcow2")), "qcow2");
  for (const std::string name : {"backed", "vmdk", "data"}) EXPECT_FALSE(store_->format_of(at(name))) << name;
  // What qemu-img would take for a list of other files, were it not told what it is.
  write(at("list"),
        "# x\nversion=1\nCID=fffffffe\nparentCID=ffffffff\ncreateType=\"monolithicFlat\"\n"
        "RW 2048 FLAT \"/no/such/file\" 0\n" +
            std::string(4096, '\n'));
  const auto list = store_->format_of(at("list"));
  EXPECT_TRUE(list) << list.error().message;
  EXPECT_EQ(*list, "raw");
  std::string bytes = read(at("qcow2"));
  bytes[23] = 60;  // bits of a cluster
  write(at("damaged"), bytes);
  const auto damaged = store_->format_of(at("damaged"));
  ASSERT_FALSE(damaged);
  EXPECT_THAT(damaged.error().message, Not(HasSubstr("/")));  // nobody learns of this host's folders
  EXPECT_TRUE(store_->load_disk(at("qcow2"), "disk:1"));
  EXPECT_FALSE(store_->load_disk(at("backed"), "disk:2"));
  const auto image = store_->find_usable({.reference = "disk:1"});
  ASSERT_TRUE(image);
  EXPECT_EQ(*store_->format_of(*store_->disk_of(*image, "")), "qcow2");
}

TEST_F(ImagesTest, WhatNothingUsesIsCollected) {
  write(at("a"), raw_disk('a'));
  write(at("b"), raw_disk('b'));
  // As if they had been pulled: only the record knows.
  for (const std::string name : {"a", "b"}) {
    ASSERT_TRUE(store_->load_disk(at(name), name));
    const auto image = *store_->find(name);
    ASSERT_TRUE(write_record(at("store/references/" + sha256_hex(name)),
                             to_text(ReferenceRecord{.reference = name, .digest = image.digest, .loaded = false})));
  }
  write(at("c"), raw_disk('c'));
  ASSERT_TRUE(store_->load_disk(at("c"), "c"));
  const timespec old[2]{{.tv_sec = 1000, .tv_nsec = 0}, {.tv_sec = 1000, .tv_nsec = 0}};
  ::utimensat(AT_FDCWD, at("store/references/" + sha256_hex("b")).c_str(), old, 0);
  EXPECT_EQ(store_->collect(1, {}), 1 << 20);
  EXPECT_FALSE(store_->find("b"));
  EXPECT_TRUE(store_->find("a"));
  EXPECT_EQ(store_->collect(1 << 30, {store_->find("a")->digest}), 0);
  EXPECT_EQ(store_->collect(1 << 30, {}), 1 << 20);
  EXPECT_TRUE(store_->find("c"));  // nobody could bring it back
  EXPECT_EQ(in_store("layers").size(), 1U);
}

TEST_F(ImagesTest, WhatWasLeftHalfDoneGoes) {
  fs::create_directories(at("store/work/dead/layer"));
  auto alive = WorkFolder::make(at("store/work"));
  ASSERT_TRUE(alive);
  ASSERT_TRUE(ImageStore::open(at("store")));
  EXPECT_FALSE(fs::exists(at("store/work/dead")));
  EXPECT_TRUE(fs::exists(alive->path()));
}

TEST_F(ImagesTest, SomebodyWhoAddsIsNotDisturbed) {
  write(at("a"), raw_disk());
  ASSERT_TRUE(store_->load_disk(at("a"), "a"));
  fs::create_directories(at("store/layers/" + std::string(64, '0')));  // of a pull that goes on
  {
    const auto pulling = StoreLock::take(at("store/.lock"), StoreLock::Kind::shared);
    ASSERT_TRUE(store_->remove("a"));
    EXPECT_EQ(in_store("layers").size(), 2U);
  }
  (void)store_->collect(0, {});
  EXPECT_THAT(in_store("layers"), IsEmpty());
}

TEST_F(ImagesTest, ManyAtOnce) {
  const auto folder = make_oci("image", {make_tar("l", {{.name = "disk/d.img", .content = raw_disk()}})});
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      const auto image = store_->load_archive(folder, i % 2 == 0 ? "even" : "odd");
      EXPECT_TRUE(image) << (image ? "" : image.error().message);
    });
  threads.clear();
  EXPECT_EQ(store_->list().size(), 2U);
  EXPECT_EQ(in_store("images").size(), 1U);
  EXPECT_THAT(in_store("work"), IsEmpty());
}

TEST_F(ImagesTest, ReferencesAreNoOptions) {
  for (const std::string reference : {"", "--help", "a b", "a\nb", "\x7f", "ä"})
    EXPECT_FALSE(store_->pull({.reference = reference})) << reference;
}

TEST_F(ImagesTest, NamesOfThisMachineAreNotAskedFor) {
  EXPECT_THAT(store_->pull({.reference = "virtgate.local/x:1"}).error().message, HasSubstr("virtgate image load"));
}

TEST_F(ImagesTest, ARegistryThatIsNotThere) {
  const auto pulled =
      store_->pull({.reference = "127.0.0.1:1/x:1", .user = "u", .password = "secret", .insecure = true});
  ASSERT_FALSE(pulled);
  EXPECT_EQ(pulled.error().code, 503);
  EXPECT_THAT(pulled.error().message,
              testing::AllOf(HasSubstr("failed to pull image"), Not(HasSubstr("secret")), Not(HasSubstr("level="))));
  EXPECT_THAT(in_store("work"), IsEmpty());
}

}  // namespace
}  // namespace vg::images
