// How objects are kept small in memory, and the only place that knows. The file has them as they are.
//
// There are two ways, and the build takes one (the option VIRTGATE_PACKING of CMake): lz4_packer.cpp, and
// plain_packer.cpp, which keeps every object as it is and needs no library. Both read each other's stores, since the
// file is the same.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "store/kept_object.h"

namespace vg::store {

// Packs the objects of one resource, and may learn from them what they have in common. Used by one thread at a time.
class Packer {
 public:
  Packer();
  ~Packer();
  Packer(Packer&&) noexcept;
  Packer& operator=(Packer&&) noexcept;

  // `object` without its stamp, which comes beside it.
  KeptPtr pack(const StoredObject& object, const Stamp& stamp);
  // Into `size` bytes at `to`, what image() of the object was. Any thread, also when the packer is gone. False: these
  // are not bytes that pack() made.
  static bool unpack(const PackedImage& packed, char* to, std::size_t size);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// One for each resource, since objects of one kind are alike.
class Packers {
 public:
  Packer& of(std::string_view resource);

 private:
  std::map<std::string, Packer, std::less<>> packers_;
};

}  // namespace vg::store
