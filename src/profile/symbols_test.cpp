#include "profile/symbols.h"

#include <elf.h>
#include <gmock/gmock.h>

#include <cstring>

#include "base/files.h"

namespace vg::profile {
namespace {

TEST(Mappings, AreThoseThatCanBeRun) {
  const auto found = read_mappings(
      "5555a000-5555b000 r--p 00000000 fe:00 12     /usr/bin/x\n"
      "5555b000-5555f000 r-xp 00001000 fe:00 12     /usr/bin/x\n"
      "7ffe0000-7ffe1000 r-xp 00000000 00:00 0      [vdso]\n"
      "7fff0000-7fff1000 r-xp 00000000 00:00 0 \n"
      "nonsense\n");
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].start, 0x5555b000U);
  EXPECT_EQ(found[0].limit, 0x5555f000U);
  EXPECT_EQ(found[0].offset, 0x1000U);
  EXPECT_EQ(found[0].file, "/usr/bin/x");
  EXPECT_EQ(found[1].file, "[vdso]");
  EXPECT_EQ(found[2].file, "");
}

// In namespace vg::profile, so its name is mangled.
__attribute__((noinline)) int function_to_find(int value) { return value + 1; }

std::string name_of(std::uintptr_t address) {
  for (const Mapping& mapping : own_mappings())
    if (address >= mapping.start && address < mapping.limit)
      return Functions::of_file(mapping.file).at(address - mapping.start + mapping.offset);
  return "nowhere";
}

TEST(Functions, AreFoundInThisProgramAndInLibraries) {
  EXPECT_EQ(name_of(reinterpret_cast<std::uintptr_t>(&function_to_find)),
            "vg::profile::(anonymous namespace)::function_to_find(int)");
  EXPECT_THAT(name_of(reinterpret_cast<std::uintptr_t>(&::getpid)), ::testing::HasSubstr("getpid"));
  EXPECT_EQ(function_to_find(1), 2);
}

TEST(Functions, OfFilesThatAreNoneAreNone) {
  EXPECT_TRUE(Functions::of_file("/nonexistent").empty());
  EXPECT_TRUE(Functions::of_file("/proc/self/maps").empty());
  EXPECT_TRUE(Functions::of_file("[vdso]").empty());
  EXPECT_TRUE(Functions::of_bytes("").empty());
  EXPECT_TRUE(Functions::of_bytes("\x7f"
                                  "ELF")
                  .empty());
  EXPECT_EQ(Functions::of_bytes("x").at(0), "");
}

// A program, a table of two functions and their names, all in one segment.
struct Image {
  Elf64_Ehdr head{};
  Elf64_Phdr segment{};
  std::array<Elf64_Shdr, 2> sections{};
  std::array<Elf64_Sym, 2> symbols{};
  std::array<char, 16> names{"\0first\0second"};

  Image() {
    std::memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    head.e_phoff = offsetof(Image, segment);
    head.e_phnum = 1;
    head.e_phentsize = sizeof(Elf64_Phdr);
    head.e_shoff = offsetof(Image, sections);
    head.e_shnum = 2;
    head.e_shentsize = sizeof(Elf64_Shdr);
    segment.p_type = PT_LOAD;
    segment.p_vaddr = 0x400000;
    segment.p_offset = 0;
    segment.p_filesz = 0x1000;
    sections[0].sh_type = SHT_SYMTAB;
    sections[0].sh_offset = offsetof(Image, symbols);
    sections[0].sh_size = sizeof symbols;
    sections[0].sh_entsize = sizeof(Elf64_Sym);
    sections[0].sh_link = 1;
    sections[1].sh_type = SHT_STRTAB;
    sections[1].sh_offset = offsetof(Image, names);
    sections[1].sh_size = sizeof names;
    symbols[0] = {.st_name = 7, .st_info = STT_FUNC, .st_other = 0, .st_shndx = 1, .st_value = 0x400200, .st_size = 0};
    symbols[1] = {.st_name = 1, .st_info = STT_FUNC, .st_other = 0, .st_shndx = 1, .st_value = 0x400100, .st_size = 16};
  }
  std::string bytes() const { return {reinterpret_cast<const char*>(this), sizeof *this}; }
};

TEST(Functions, AreFoundByTheirPlaceInTheFile) {
  const auto functions = Functions::of_bytes(Image().bytes());
  EXPECT_EQ(functions.at(0xff), "");
  EXPECT_EQ(functions.at(0x100), "first");
  EXPECT_EQ(functions.at(0x10f), "first");
  EXPECT_EQ(functions.at(0x110), "");
  EXPECT_EQ(functions.at(0x200), "second");
  EXPECT_EQ(functions.at(0x999), "second");
}

// Every byte of the tables turned over, and every length: nothing outside of the file is read.
TEST(Functions, BelieveNothing) {
  const std::string whole = Image().bytes();
  for (std::size_t size = 0; size <= whole.size(); ++size) Functions::of_bytes(whole.substr(0, size)).at(0x100);
  for (std::size_t i = SELFMAG; i < whole.size(); ++i) {
    for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(value);
      Functions::of_bytes(changed).at(0x100);
    }
  }
}

}  // namespace
}  // namespace vg::profile
