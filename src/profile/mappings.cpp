#include "profile/mappings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

namespace vg::profile {
namespace {

std::span<const ElfW(Phdr)> segments_of(const dl_phdr_info& file) { return {file.dlpi_phdr, file.dlpi_phnum}; }

// The linker calls the program itself by no name.
std::string name_of(const dl_phdr_info& file) {
  if (file.dlpi_name != nullptr && *file.dlpi_name != '\0') return file.dlpi_name;
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/exe", none).native();
}

std::size_t padded(std::size_t bytes) { return (bytes + 3) / 4 * 4; }

// What the notes of one segment say, in hexadecimal digits; empty when they do not.
std::string build_id_in(std::string_view notes) {
  ElfW(Nhdr) head;
  while (notes.size() >= sizeof head) {
    std::memcpy(&head, notes.data(), sizeof head);
    notes.remove_prefix(sizeof head);
    const std::size_t whole = padded(head.n_namesz) + padded(head.n_descsz);
    if (whole > notes.size()) return {};
    const std::string_view owner = notes.substr(0, head.n_namesz),
                           text = notes.substr(padded(head.n_namesz), head.n_descsz);
    if (head.n_type == NT_GNU_BUILD_ID && owner == std::string_view("GNU\0", 4)) {
      std::string digits;
      for (const char c : text) digits += fmt::format("{:02x}", static_cast<unsigned char>(c));
      return digits;
    }
    notes.remove_prefix(whole);
  }
  return {};
}

std::string build_id_of(const dl_phdr_info& file) {
  for (const auto& segment : segments_of(file)) {
    if (segment.p_type != PT_NOTE) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): addresses are what the linker tells
    const auto* const notes = reinterpret_cast<const char*>(file.dlpi_addr + segment.p_vaddr);
    if (auto id = build_id_in({notes, segment.p_memsz}); !id.empty()) return id;
  }
  return {};
}

int add_mappings(dl_phdr_info* file, std::size_t, void* into) {
  for (Mapping& mapping : mappings_of(*file)) static_cast<std::vector<Mapping>*>(into)->push_back(std::move(mapping));
  return 0;
}

}  // namespace

std::vector<Mapping> mappings_of(const dl_phdr_info& file) {
  std::vector<Mapping> all;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  for (const auto& segment : segments_of(file)) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const std::uint64_t start = file.dlpi_addr + segment.p_vaddr, before = start % page;  // whole pages are mapped
    all.push_back({.start = start - before,
                   .limit = start + segment.p_memsz,
                   .offset = segment.p_offset - before,
                   .file = name_of(file),
                   .build_id = build_id_of(file)});
  }
  return all;
}

std::vector<Mapping> own_mappings() {
  std::vector<Mapping> all;
  ::dl_iterate_phdr(add_mappings, &all);
  return all;
}

}  // namespace vg::profile
