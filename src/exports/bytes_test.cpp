#include "exports/bytes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <system_error>

namespace vg::exports {
namespace {

// Gone with the test.
class TempFolder {
 public:
  TempFolder() {
    std::string made = (std::filesystem::temp_directory_path() / "virtgate-exports-XXXXXX").native();
    if (!::mkdtemp(made.data())) throw std::system_error(errno, std::generic_category());
    path_ = made;
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

disks::Descriptor open(const std::filesystem::path& path) {
  return disks::Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

void write(const std::filesystem::path& path, std::string_view text) { std::ofstream(path) << text; }

std::string all_of(ByteSource& source, std::size_t piece = 700) {
  std::string all;
  std::vector<char> part(piece);
  while (true) {
    const auto got = source.read(part);
    EXPECT_TRUE(got) << got.error().message;
    if (!got || *got == 0) return all;
    all.append(part.data(), *got);
  }
}

std::string unpacked(const std::string& packed) {
  z_stream stream = {};
  EXPECT_EQ(::inflateInit2(&stream, 15 + 16), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string all;
  std::vector<char> part(1 << 16);
  int state = Z_OK;
  while (state == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = static_cast<uInt>(part.size());
    state = ::inflate(&stream, Z_NO_FLUSH);
    all.append(part.data(), part.size() - stream.avail_out);
  }
  ::inflateEnd(&stream);
  EXPECT_EQ(state, Z_STREAM_END);
  return all;
}

TEST(ExportBytes, PartsOfAFile) {
  const TempFolder folder;
  write(folder.path() / "f", "0123456789");
  FilePart part(open(folder.path() / "f"), 2, 5);
  EXPECT_EQ(all_of(part, 2), "23456");
  FilePart beyond(open(folder.path() / "f"), 8, 5);
  std::vector<char> room(10);
  EXPECT_FALSE(beyond.read(room)) << "the file is shorter";
}

TEST(ExportBytes, ArePacked) {
  const TempFolder folder;
  const std::string content = std::string(5 << 20, '\0') + "the end";
  write(folder.path() / "f", content);
  Gzip packed(std::make_unique<FilePart>(open(folder.path() / "f"), 0, content.size()));
  const std::string bytes = all_of(packed, 4096);
  EXPECT_LT(bytes.size(), 100'000);
  EXPECT_EQ(unpacked(bytes), content);
}

TEST(ExportBytes, AFolderIsAnArchive) {
  const TempFolder folder;
  const auto root = folder.path() / "root";
  std::filesystem::create_directories(root / "sub");
  std::filesystem::create_directories(root / "lost+found");
  write(root / "a", "alpha");
  write(root / "sub" / std::string(120, 'n'), std::string(1000, 'x'));
  std::filesystem::create_symlink("/etc/passwd", root / "link");
  auto archive = TarArchive::open(open(root), names_in(open(root).get()));
  ASSERT_TRUE(archive) << archive.error().message;
  const std::string bytes = all_of(**archive);
  EXPECT_EQ(bytes.size() % 512, 0);
  EXPECT_EQ(bytes.substr(0, 2), std::string("a\0", 2));
  EXPECT_EQ(bytes.substr(512, 5), "alpha");
  EXPECT_NE(bytes.find(std::string(120, 'n')), std::string::npos);
  EXPECT_EQ(bytes.find("root:"), std::string::npos);
  EXPECT_EQ(bytes.find("lost+found"), std::string::npos);
}

// A claim that nobody has written to yet.
TEST(ExportBytes, NothingIsAnArchiveToo) {
  const TempFolder folder;
  auto archive = TarArchive::open(open(folder.path()), {});
  ASSERT_TRUE(archive) << archive.error().message;
  EXPECT_EQ(all_of(**archive), std::string(1024, '\0'));
}

TEST(ExportBytes, NothingOutsideIsOpened) {
  const TempFolder folder;
  const auto root = folder.path() / "root";
  std::filesystem::create_directories(root / "sub");
  write(root / "sub" / "f", "x");
  write(folder.path() / "secret", "x");
  std::filesystem::create_symlink("..", root / "up");
  std::filesystem::create_symlink("../secret", root / "link");
  const auto at = open(root);
  EXPECT_TRUE(open_below(at.get(), "sub/f", false));
  for (const std::string_view path : {"../secret", "up/secret", "link", "sub/../../secret", "missing", "sub/f/x"}) {
    const auto opened = open_below(at.get(), path, false);
    ASSERT_FALSE(opened) << path;
    EXPECT_EQ(opened.error().code, 404) << path;
  }
  EXPECT_FALSE(size_of(open(root))) << "a folder is no file";
}

TEST(ExportBytes, PagesEscapeNames) {
  EXPECT_NE(folder_page({"<b>&\""}, "dir/").find("dir/%3Cb%3E%26%22\">&lt;b&gt;&amp;"), std::string::npos);
}

}  // namespace
}  // namespace vg::exports
