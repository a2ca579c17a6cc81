#include "profile/symbols.h"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/limits.h"

namespace vg::profile {
namespace {

// Our own program is some ten MiB and has some ten thousand functions.
constexpr std::size_t file_bytes_max = std::size_t{1} << 30;
constexpr std::size_t functions_max = 1000000;
// Names of templates can be longer than anybody reads.
constexpr std::size_t name_bytes_max = 1000;

// --- the map of the process

std::string_view take_word(std::string_view& line) {
  const auto first = line.find_first_not_of(' ');
  line.remove_prefix(std::min(first, line.size()));
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

std::uint64_t hexadecimal(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

// "55d0-55e0 r-xp 00012000 fe:00 1234    /usr/bin/virtgate"
std::optional<Mapping> read_mapping(std::string_view line) {
  const std::string_view range = take_word(line), allowed = take_word(line), offset = take_word(line);
  take_word(line);
  take_word(line);
  const auto dash = range.find('-');
  if (dash == range.npos || !allowed.contains('x')) return std::nullopt;
  return Mapping{.start = hexadecimal(range.substr(0, dash)),
                 .limit = hexadecimal(range.substr(dash + 1)),
                 .offset = hexadecimal(offset),
                 .file = std::string(take_word(line))};
}

// --- ELF

class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    struct stat facts{};
    if (::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0 &&
        static_cast<std::size_t>(facts.st_size) <= file_bytes_max) {
      void* const at = ::mmap(nullptr, static_cast<std::size_t>(facts.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
      if (at != MAP_FAILED) bytes_ = {static_cast<const char*>(at), static_cast<std::size_t>(facts.st_size)};
    }
    ::close(fd);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): it was not const before
    if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }
  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
};

// A list of records of one size at one place.
struct Records {
  std::uint64_t at = 0, count = 0, each = 0;
};

class Elf {
 public:
  static std::optional<Elf> open(std::string_view file) {
    const auto head = record<Elf64_Ehdr>(file, 0);
    constexpr unsigned char byte_order = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
    if (!head || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64 ||
        head->e_ident[EI_DATA] != byte_order)
      return std::nullopt;
    return Elf(file, *head);
  }

  // The larger table where there are two: the smaller one is for linking alone.
  std::optional<Elf64_Shdr> symbols() const {
    std::optional<Elf64_Shdr> found;
    for_each<Elf64_Shdr>({head_.e_shoff, head_.e_shnum, head_.e_shentsize}, [&](const Elf64_Shdr& section) {
      if (section.sh_type == SHT_SYMTAB || (section.sh_type == SHT_DYNSYM && !found)) found = section;
    });
    return found;
  }

  template <class Fn>
  void for_each_function(const Elf64_Shdr& table, const Fn& fn) const {
    const auto names = record<Elf64_Shdr>(file_, head_.e_shoff + std::uint64_t{table.sh_link} * head_.e_shentsize);
    if (!names || table.sh_entsize == 0) return;
    const Records all{table.sh_offset, std::min<std::uint64_t>(table.sh_size / table.sh_entsize, functions_max),
                      table.sh_entsize};
    for_each<Elf64_Sym>(all, [&](const Elf64_Sym& symbol) {
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_value == 0) return;
      if (const auto offset = file_offset(symbol.st_value)) fn(*offset, symbol.st_size, text(*names, symbol.st_name));
    });
  }

 private:
  Elf(std::string_view file, const Elf64_Ehdr& head) : file_(file), head_(head) {
    for_each<Elf64_Phdr>({head.e_phoff, head.e_phnum, head.e_phentsize}, [&](const Elf64_Phdr& segment) {
      if (segment.p_type == PT_LOAD) segments_.push_back(segment);
    });
  }

  template <class T>
  static std::optional<T> record(std::string_view file, std::uint64_t at) {
    if (at > file.size() || file.size() - at < sizeof(T)) return std::nullopt;
    T made;
    std::memcpy(&made, file.data() + at, sizeof(T));
    return made;
  }

  template <class T, class Fn>
  void for_each(const Records& records, const Fn& fn) const {
    for (std::uint64_t i = 0; i < records.count; ++i) {
      const auto made = record<T>(file_, records.at + i * records.each);
      if (!made) return;
      fn(*made);
    }
  }

  std::optional<std::uint64_t> file_offset(std::uint64_t address) const {
    for (const Elf64_Phdr& segment : segments_)
      if (address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
        return address - segment.p_vaddr + segment.p_offset;
    return std::nullopt;
  }

  std::string_view text(const Elf64_Shdr& table, std::uint64_t at) const {
    if (table.sh_offset > file_.size()) return {};
    const std::string_view all = file_.substr(table.sh_offset, table.sh_size);
    if (at >= all.size()) return {};
    const std::string_view rest = all.substr(at);
    const auto end = rest.find('\0');
    return end == rest.npos ? std::string_view() : rest.substr(0, end);
  }

  std::string_view file_;
  Elf64_Ehdr head_;
  std::vector<Elf64_Phdr> segments_;
};

std::string readable(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return std::string(text ? std::string_view(text.get()) : std::string_view(name), 0, name_bytes_max);
}

}  // namespace

std::vector<Mapping> read_mappings(std::string_view maps) {
  std::vector<Mapping> all;
  while (!maps.empty()) {
    const std::string_view line = maps.substr(0, maps.find('\n'));
    maps.remove_prefix(std::min(line.size() + 1, maps.size()));
    if (auto mapping = read_mapping(line)) all.push_back(std::move(*mapping));
  }
  return all;
}

std::vector<Mapping> own_mappings() {
  const auto maps = read_file("/proc/self/maps", limits::mib);
  return maps ? read_mappings(*maps) : std::vector<Mapping>();
}

Functions Functions::of_file(const std::string& path) {
  const MappedFile file(path);
  return of_bytes(file.bytes());
}

Functions Functions::of_bytes(std::string_view file) {
  Functions made;
  const auto elf = Elf::open(file);
  const auto table = elf ? elf->symbols() : std::nullopt;
  if (!table) return made;
  elf->for_each_function(*table, [&](std::uint64_t offset, std::uint64_t size, std::string_view name) {
    made.functions_.push_back({.offset = offset, .size = size, .name = std::string(name)});
  });
  std::ranges::sort(made.functions_, {}, &Function::offset);
  return made;
}

std::string Functions::at(std::uint64_t offset) const {
  const auto behind = std::ranges::upper_bound(functions_, offset, {}, &Function::offset);
  if (behind == functions_.begin()) return {};
  const Function& found = *std::prev(behind);
  // What is written in assembler may have no size.
  if (found.size != 0 && offset - found.offset >= found.size) return {};
  return readable(found.name);
}

}  // namespace vg::profile
