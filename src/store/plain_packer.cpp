// Objects stay as they are. Built in place of lz4_packer.cpp when VIRTGATE_PACKING is off.
#include <cstring>

#include "store/packer.h"

namespace vg::store {

struct Packer::State {};

Packer::Packer() = default;
Packer::~Packer() = default;
Packer::Packer(Packer&&) noexcept = default;
Packer& Packer::operator=(Packer&&) noexcept = default;

KeptPtr Packer::pack(const StoredObject& object, const Stamp& stamp) {
  return KeptObject::make(object, stamp, {.bytes = object.image()});
}

bool Packer::unpack(const PackedImage& packed, char* to, std::size_t size) {
  if (packed.bytes.size() != size) return false;
  std::memcpy(to, packed.bytes.data(), size);
  return true;
}

}  // namespace vg::store
