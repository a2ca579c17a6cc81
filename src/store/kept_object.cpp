#include "store/kept_object.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "base/log.h"
#include "store/packer.h"

namespace vg::store {

KeptPtr KeptObject::make(const StoredObject& object, const Stamp& stamp, const PackedImage& packed) {
  std::string prefix;
  detail::append_varint(prefix, stamp.revision - stamp.created_revision);
  detail::append_varint(prefix, packed.identifiers);
  const auto bytes =
      sizeof(KeptObject) + object.ns().size() + object.name().size() + prefix.size() + packed.bytes.size();
  return KeptPtr(::new (::operator new(bytes)) KeptObject(object, stamp, prefix, packed));
}

KeptObject::KeptObject(const StoredObject& object, const Stamp& stamp, std::string_view prefix,
                       const PackedImage& packed)
    : revision_(stamp.revision),
      dictionary_(packed.dictionary),
      packed_size_(static_cast<std::uint32_t>(prefix.size() + packed.bytes.size())),
      open_size_(static_cast<std::uint32_t>(object.memory_bytes())),
      ns_size_(static_cast<std::uint16_t>(object.ns().size())),
      name_size_(static_cast<std::uint16_t>(object.name().size())),
      ordinal_(stamp.ordinal),
      deleting_(object.deleting()),
      has_owners_(false) {
  object.for_each_owner([this](std::string_view) { has_owners_ = true; });
  char* to = const_cast<char*>(tail());
  for (const auto part : {object.ns(), object.name(), prefix, packed.bytes}) {
    if (!part.empty()) std::memcpy(to, part.data(), part.size());
    to += part.size();
  }
}

void intrusive_ptr_release(const KeptObject* kept) {
  if (kept->references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  kept->~KeptObject();
  ::operator delete(const_cast<KeptObject*>(kept));
}

StoredObject* KeptObject::unpack(std::uint64_t* words) const {
  detail::PackedReader reader({name().end(), packed_size_});
  const auto age = reader.varint();
  const auto identifiers = reader.varint();
  const PackedImage packed{.bytes = reader.rest(), .identifiers = identifiers, .dictionary = dictionary_.get()};
  if (!Packer::unpack(packed, reinterpret_cast<char*>(words), open_size_)) {
    // We packed these bytes ourselves and nobody may write to them: going on would hand out or store garbage.
    log::fatal("an object in memory is damaged; check the memory of the host", {{"namespace", ns()}, {"name", name()}});
    std::abort();
  }
  auto* object = StoredObject::at(words);
  object->stamp({.revision = revision_, .created_revision = revision_ - age, .ordinal = ordinal_});
  return object;
}

ObjectPtr KeptObject::open() const {
  return StoredObject::from_image(open_size_, [this](std::uint64_t* words) { return unpack(words); });
}

const StoredObject& KeptObject::Reader::open(const KeptObject& kept) {
  const auto words = StoredObject::words_for(kept.open_size_);
  if (words_.size() < words) words_.resize(words);
  return *kept.unpack(words_.data());
}

}  // namespace vg::store
