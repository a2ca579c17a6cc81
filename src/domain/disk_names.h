// What disks are called inside the domain: vda, sdb (DOM-NAME).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "domain/context.h"
#include "domain/vmi.h"

namespace vg::domain {

// DOM-NAME-01
std::string_view name_prefix(std::string_view bus);
// DOM-NAME-02: 0 is a, 26 is aa.
std::string letters_of(std::uint64_t index);

class DiskNames {
 public:
  // Reserves what the status says that disks are called (DOM-NAME-03).
  explicit DiskNames(const Vmi& vmi);

  struct Named {
    std::string name;
    std::uint64_t index = 0;
  };
  // DOM-NAME-04, DOM-NAME-05. A disk that asks twice is told the same.
  Named name(std::string_view disk, std::string_view bus);

 private:
  struct Prefixed {
    ByName<std::string> of_disk;
    Names used;
    std::uint64_t next = 0;  // every index below it is used
  };
  ByName<Prefixed> prefixes_;
};

}  // namespace vg::domain
