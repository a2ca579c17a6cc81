#include "profile/mappings.h"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace vg::profile {
namespace {

using ::testing::EndsWith;
using ::testing::MatchesRegex;

Mapping mapping_at(std::uintptr_t address) {
  for (const Mapping& mapping : own_mappings())
    if (address >= mapping.start && address < mapping.limit) return mapping;
  return {};
}

int in_this_program() { return 1; }

TEST(Mappings, AreThoseOfThisProgramAndItsLibraries) {
  const Mapping own = mapping_at(reinterpret_cast<std::uintptr_t>(&in_this_program));
  EXPECT_EQ(own.file, std::filesystem::read_symlink("/proc/self/exe").native());
  EXPECT_THAT(own.build_id, MatchesRegex("[0-9a-f]{40}"));
  const Mapping library = mapping_at(reinterpret_cast<std::uintptr_t>(::dlsym(RTLD_NEXT, "getpid")));
  EXPECT_THAT(library.file, EndsWith("libc.so.6"));
  EXPECT_THAT(library.build_id, MatchesRegex("[0-9a-f]+"));
  EXPECT_NE(library.build_id, own.build_id);
}

// A file of three segments: data, code that begins within a page, notes.
struct Loaded {
  std::array<ElfW(Phdr), 3> segments{};
  dl_phdr_info file{};

  explicit Loaded(std::string_view notes) {
    segments[0].p_type = segments[1].p_type = PT_LOAD;
    segments[0].p_flags = PF_R;
    segments[0].p_memsz = 0x1000;
    segments[1].p_flags = PF_R | PF_X;
    segments[1].p_offset = 0x1234;
    segments[1].p_vaddr = 0x2234;
    segments[1].p_memsz = 0x100;
    segments[2].p_type = PT_NOTE;
    segments[2].p_vaddr = reinterpret_cast<std::uintptr_t>(notes.data());
    segments[2].p_memsz = notes.size();
    file.dlpi_name = "/lib/x.so";
    file.dlpi_phdr = segments.data();
    file.dlpi_phnum = static_cast<ElfW(Half)>(segments.size());
  }
};

std::string note(std::uint32_t type, std::string_view owner, std::string_view text) {
  const std::array<std::uint32_t, 3> head{static_cast<std::uint32_t>(owner.size()),
                                          static_cast<std::uint32_t>(text.size()), type};
  std::string made(reinterpret_cast<const char*>(head.data()), sizeof head);
  for (const std::string_view part : {owner, text}) {
    made += part;
    made.resize((made.size() + 3) / 4 * 4);
  }
  return made;
}

std::string build_id_of(std::string_view notes) { return mappings_of(Loaded(notes).file).at(0).build_id; }

TEST(Mappings, AreWholePagesOfCode) {
  const Loaded loaded("");
  const auto found = mappings_of(loaded.file);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].start, 0x2000U);
  EXPECT_EQ(found[0].limit, 0x2334U);
  EXPECT_EQ(found[0].offset, 0x1000U);
  EXPECT_EQ(found[0].file, "/lib/x.so");
}

TEST(Mappings, FindTheBuildIdAmongNotes) {
  constexpr std::string_view gnu("GNU\0", 4);
  const std::string other = note(NT_GNU_ABI_TAG, gnu, "abc"), id = note(NT_GNU_BUILD_ID, gnu, "\x01\xfe"),
                    foreign = note(NT_GNU_BUILD_ID, "Somebody", "\x07");
  EXPECT_EQ(build_id_of(id), "01fe");
  EXPECT_EQ(build_id_of(other + foreign + id), "01fe");
  EXPECT_EQ(build_id_of(other + foreign), "");
  for (std::size_t size = 0; size < id.size(); ++size) EXPECT_EQ(build_id_of(id.substr(0, size)), "") << size;
}

}  // namespace
}  // namespace vg::profile
