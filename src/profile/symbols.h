// From addresses to names: which files lie where in this process, and which functions they have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profile/pprof.h"

namespace vg::profile {

// What can be run, by address, from the text of /proc/self/maps.
std::vector<Mapping> read_mappings(std::string_view maps);
std::vector<Mapping> own_mappings();

// The functions of a program or library (ELF, 64 bits, of this machine's byte order), from its table of symbols.
// Nothing that a file says is believed: whatever lies outside of it is not there.
class Functions {
 public:
  // None when the file cannot be read, is no such file, or tells nothing.
  static Functions of_file(const std::string& path);
  static Functions of_bytes(std::string_view file);

  // By the place in the file; as people write it. Empty when nobody knows.
  std::string at(std::uint64_t offset) const;
  bool empty() const { return functions_.empty(); }

 private:
  struct Function {
    std::uint64_t offset = 0, size = 0;
    std::string name;
  };
  std::vector<Function> functions_;  // by offset
};

}  // namespace vg::profile
