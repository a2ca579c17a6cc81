#include "exports/bytes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "disks/archive_reader.h"
#include "exports/testing.h"

namespace vg::exports {
namespace {

using testing::TempFolder;
using testing::unpacked;
using testing::write;

disks::Descriptor open(const std::filesystem::path& path) {
  return disks::Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

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

// Holes are told of, and none of their zeros are sent; tar makes them holes again.
TEST(ExportBytes, HolesStayHoles) {
  const TempFolder folder;
  const auto root = folder.path() / "root";
  std::filesystem::create_directories(root);
  write(root / "f", "begin");
  std::filesystem::resize_file(root / "f", 8 << 20);
  write(root / "hole", "");
  std::filesystem::resize_file(root / "hole", 3 << 20);
  write(root / "größe", "x");
  auto archive = TarArchive::open(open(root), names_in(open(root).get()));
  ASSERT_TRUE(archive) << archive.error().message;
  const std::string bytes = all_of(**archive);
  EXPECT_LT(bytes.size(), 1 << 20);
  write(folder.path() / "tar", bytes);
  std::filesystem::create_directories(folder.path() / "out");
  ASSERT_EQ(std::system(("tar -xf '" + (folder.path() / "tar").native() + "' -C '" + (folder.path() / "out").native() +
                         "' 2>/dev/null")
                            .c_str()),
            0);
  const auto content = [&](const char* name) {
    std::ifstream in(folder.path() / "out" / name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  EXPECT_TRUE(content("f") == "begin" + std::string((8 << 20) - 5, '\0'));
  EXPECT_TRUE(content("hole") == std::string(3 << 20, '\0'));
  EXPECT_EQ(content("größe"), "x");
  struct stat info{};
  ASSERT_EQ(::stat((folder.path() / "out" / "f").c_str(), &info), 0);
  EXPECT_LT(info.st_blocks * 512, 1 << 20);
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

// EXP-72: links that leave the root are refused, and those that do not are followed.
TEST(ExportBytes, LinksInsideAreFollowed) {
  const TempFolder folder;
  const auto root = folder.path() / "root";
  std::filesystem::create_directories(root / "sub" / "deep");
  write(root / "sub" / "f", "x");
  write(folder.path() / "secret", "x");
  for (const auto& [target, name] :
       std::vector<std::pair<std::string, std::string>>{{"sub/f", "to-file"},
                                                        {"sub", "to-folder"},
                                                        {"../f", "sub/deep/up"},
                                                        {"../../sub/deep", "sub/deep/round"},
                                                        {"to-file", "to-link"},
                                                        {"../secret", "out"},
                                                        {"..", "up"},
                                                        {"/etc/passwd", "absolute"},
                                                        {"self", "self"},
                                                        {"sub/../../secret", "hidden"},
                                                        {root / "sub/f", "absolute-inside"},
                                                        {"nowhere", "broken"}})
    std::filesystem::create_symlink(target, root / name);
  const auto at = open(root);
  struct Row {
    std::string_view path;
    bool is_folder, opens;
  };
  for (const Row& row : {Row{"sub/f", false, true},
                         {"to-file", false, true},
                         {"to-link", false, true},
                         {"to-folder/f", false, true},
                         {"to-folder", true, true},
                         {"sub/deep/up", false, true},
                         {"sub/deep/round/round/up", false, true},
                         {"", true, true},
                         {"out", false, false},
                         {"up", true, false},
                         {"up/root/sub/f", false, false},
                         {"absolute", false, false},
                         {"absolute-inside", false, false},
                         {"hidden", false, false},
                         {"self", false, false},
                         {"broken", false, false},
                         {"sub/f/x", false, false},
                         {"to-file", true, false},
                         {"../secret", false, false}}) {
    const auto opened = open_inside(at.get(), row.path, row.is_folder);
    EXPECT_EQ(opened.has_value(), row.opens) << row.path;
    if (!opened) EXPECT_EQ(opened.error().code, 404) << row.path;
  }
  std::string deep = "sub/deep";
  for (int i = 0; i < 60; ++i) deep += "/round";
  EXPECT_FALSE(open_inside(at.get(), deep, true)) << "too many links";
}

// EXP-73: a folder that cannot be read as a whole is none, before its first byte is.
TEST(ExportBytes, WhatCannotBeReadIsNoArchive) {
  const TempFolder folder;
  const auto root = folder.path() / "root";
  std::filesystem::create_directories(root / "sub");
  write(root / "a", "alpha");
  write(root / "sub" / "b", "beta");
  const auto at = open(root);
  ASSERT_TRUE(TarArchive::open(open(root), names_in(at.get())));
  std::filesystem::permissions(root / "sub" / "b", std::filesystem::perms::none);
  // Root reads everything; as somebody else it does not.
  auto opened = open(root);
  const auto before = static_cast<uid_t>(::setfsuid(::geteuid() == 0 ? 65534 : ::geteuid()));
  const auto archive = TarArchive::open(std::move(opened), names_in(at.get()));
  ::setfsuid(before);
  ASSERT_FALSE(archive);
  EXPECT_EQ(archive.error().code, 500);
}

// EXP-73: links are in it as what they are, however long.
TEST(ExportBytes, AnArchiveHasLinks) {
  const TempFolder folder;
  const auto root = folder.path() / "root";
  std::filesystem::create_directories(root);
  const std::string far(150, 'f');
  std::filesystem::create_symlink("target", root / "link");
  std::filesystem::create_symlink(far, root / "long");
  auto archive = TarArchive::open(open(root), names_in(open(root).get()));
  ASSERT_TRUE(archive) << archive.error().message;
  const std::string bytes = all_of(**archive);
  EXPECT_EQ(bytes.substr(0, 5), std::string("link\0", 5));
  EXPECT_EQ(bytes[156], '2');
  EXPECT_EQ(bytes.substr(157, 7), std::string("target\0", 7));
  write(folder.path() / "tar", bytes);
  const auto file = open(folder.path() / "tar");
  disks::ArchiveReader reader(file.get());
  std::vector<std::pair<std::string, std::string>> links;
  while (const auto entry = reader.next().value()) {
    EXPECT_EQ(entry->type, disks::ArchiveEntry::Type::symlink);
    links.emplace_back(entry->name, entry->target);
  }
  EXPECT_EQ(links, (std::vector<std::pair<std::string, std::string>>{{"link", "target"}, {"long", far}}));
}

TEST(ExportBytes, PagesEscapeNames) {
  EXPECT_NE(folder_page({"<b>&\""}, "dir/").find("dir/%3Cb%3E%26%22\">&lt;b&gt;&amp;"), std::string::npos);
}

}  // namespace
}  // namespace vg::exports
