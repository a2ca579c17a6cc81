// Whether files that were opened by their names are still what these names lead to. Whoever writes to a file that was
// removed, moved away or replaced is told by nobody that nothing of it will be found again.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace vg::store {

class FilesInPlace {
 public:
  // What the name leads to now is what it must lead to from here on. The name is absolute.
  void add(std::string path);
  // A microsecond for each file. What is wrong, as part of a sentence.
  std::optional<std::string> problem() const;

 private:
  struct Known {
    std::string path;
    dev_t device;
    ino_t inode;
  };
  std::vector<Known> files_;
};

}  // namespace vg::store
