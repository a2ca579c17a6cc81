// Room on the disk that is kept for the time when there is no other. Without it a full disk cannot even be made less
// full: to delete an object, or to give pages back, something has to be written first.
//
// It is a file beside the store that holds nothing. Used by one thread at a time.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace vg::store {

class DiskReserve {
 public:
  struct Size {
    std::size_t bytes;
    std::size_t share;  // but no more than this part of the file system (16: a sixteenth)
  };
  DiskReserve(std::string path, const Size& size) : path_(std::move(path)), size_(size) {}

  // How much it is, here.
  std::size_t bytes() const;
  // Takes the room where it has none. False: there is too little left, and it would not be right to take that.
  bool take();
  // Gives the room back to the file system. Returns how much that is.
  std::size_t release();

 private:
  const std::string path_;
  const Size size_;
};

}  // namespace vg::store
