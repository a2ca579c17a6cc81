#include "store/kept_object.h"

#include <lz4.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/log.h"
#include "store/identifiers.h"

namespace vg::store {

KeptPtr KeptObject::make(const StoredObject& object, const Stamp& stamp, Packed packed) {
  std::string prefix;
  detail::append_varint(prefix, stamp.revision - stamp.created_revision);
  detail::append_varint(prefix, packed.identifiers);
  const auto bytes =
      sizeof(KeptObject) + object.ns().size() + object.name().size() + prefix.size() + packed.bytes.size();
  return KeptPtr(::new (::operator new(bytes)) KeptObject(object, stamp, prefix, std::move(packed)));
}

KeptObject::KeptObject(const StoredObject& object, const Stamp& stamp, std::string_view prefix, Packed packed)
    : revision_(stamp.revision),
      dictionary_(std::move(packed.dictionary)),
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
  const auto packed = reader.rest();
  // The short form at the end of the space, so that it can be restored in place.
  char* const bytes = reinterpret_cast<char*>(words);
  const auto missing = identifiers * identifier_saving;
  decompress(packed, bytes + missing, open_size_ - missing);
  if (identifiers > 0) {
    std::memmove(bytes, bytes + missing, sizeof(StoredObject));  // the header has none, and may look as if it had
    restore_identifiers(bytes + sizeof(StoredObject), open_size_ - sizeof(StoredObject), identifiers);
  }
  auto* object = StoredObject::at(words);
  object->stamp({.revision = revision_, .created_revision = revision_ - age, .ordinal = ordinal_});
  return object;
}

void KeptObject::decompress(std::string_view packed, char* to, std::size_t size) const {
  if (packed.size() == size) {
    std::memcpy(to, packed.data(), size);
    return;
  }
  const std::string_view dictionary = dictionary_ ? std::string_view(dictionary_->bytes) : std::string_view();
  const int got =
      LZ4_decompress_safe_usingDict(packed.data(), to, static_cast<int>(packed.size()), static_cast<int>(size),
                                    dictionary.data(), static_cast<int>(dictionary.size()));
  if (got == static_cast<int>(size)) return;
  // We packed these bytes ourselves and nobody may write to them: going on would hand out or store garbage.
  log::fatal("an object in memory is damaged; check the memory of the host", {{"namespace", ns()}, {"name", name()}});
  std::abort();
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
