#include "store/kept_object.h"

#include <lz4.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/log.h"

namespace vg::store {
namespace {

// How many revisions ago an object of the name was created: none for most, so one byte.
std::string age_of(const Stamp& stamp) {
  std::string age;
  detail::append_varint(age, stamp.revision - stamp.created_revision);
  return age;
}

}  // namespace

KeptPtr KeptObject::make(const StoredObject& object, const Stamp& stamp, std::string_view packed,
                         DictionaryPtr dictionary) {
  const auto bytes =
      sizeof(KeptObject) + object.ns().size() + object.name().size() + age_of(stamp).size() + packed.size();
  return KeptPtr(::new (::operator new(bytes)) KeptObject(object, stamp, packed, std::move(dictionary)));
}

KeptObject::KeptObject(const StoredObject& object, const Stamp& stamp, std::string_view packed,
                       DictionaryPtr dictionary)
    : revision_(stamp.revision),
      dictionary_(std::move(dictionary)),
      open_size_(static_cast<std::uint32_t>(object.memory_bytes())),
      ns_size_(static_cast<std::uint16_t>(object.ns().size())),
      name_size_(static_cast<std::uint16_t>(object.name().size())),
      ordinal_(stamp.ordinal),
      deleting_(object.deleting()),
      has_owners_(false) {
  object.for_each_owner([this](std::string_view) { has_owners_ = true; });
  const auto age = age_of(stamp);
  packed_size_ = static_cast<std::uint32_t>(age.size() + packed.size());
  char* to = const_cast<char*>(tail());
  for (const auto part : {object.ns(), object.name(), std::string_view(age), packed}) {
    if (!part.empty()) std::memcpy(to, part.data(), part.size());
    to += part.size();
  }
}

void intrusive_ptr_release(const KeptObject* kept) {
  if (kept->references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  kept->~KeptObject();
  ::operator delete(const_cast<KeptObject*>(kept));
}

Stamp KeptObject::stamp() const {
  detail::PackedReader age({name().end(), packed_size_});
  return {.revision = revision_, .created_revision = revision_ - age.varint(), .ordinal = ordinal_};
}

void KeptObject::unpack(char* to) const {
  detail::PackedReader reader({name().end(), packed_size_});
  reader.varint();
  const auto packed = reader.rest();
  if (packed.size() == open_size_) {
    std::memcpy(to, packed.data(), packed.size());
    return;
  }
  const std::string_view dictionary = dictionary_ ? std::string_view(dictionary_->bytes) : std::string_view();
  const int size =
      LZ4_decompress_safe_usingDict(packed.data(), to, static_cast<int>(packed.size()), static_cast<int>(open_size_),
                                    dictionary.data(), static_cast<int>(dictionary.size()));
  if (size == static_cast<int>(open_size_)) return;
  // We packed these bytes ourselves and nobody may write to them: going on would hand out or store garbage.
  log::fatal("an object in memory is damaged; the machine's memory may be failing",
             {{"namespace", ns()}, {"name", name()}});
  std::abort();
}

ObjectPtr KeptObject::open() const {
  auto object = StoredObject::from_image(open_size_, [this](char* to) { unpack(to); });
  object->stamp(stamp());
  return object;
}

const StoredObject& KeptObject::Reader::open(const KeptObject& kept) {
  const auto words = StoredObject::words_for(kept.open_size_);
  if (words_.size() < words) words_.resize(words);
  auto* object = StoredObject::in_image(words_.data(), [&](char* to) { kept.unpack(to); });
  object->stamp(kept.stamp());
  return *object;
}

}  // namespace vg::store
