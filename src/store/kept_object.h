// A version of an object as the store keeps it: packed (packer.h), because most of what one machine's JSON says a
// thousand others say as well. Opening one takes a fraction of a microsecond, and the memory that it does not occupy
// need not be fetched, so reading came out faster, not slower.
//
// What the store itself asks for (name, revision, whether it is on its way out) stands beside the packed bytes.
// Immutable and shared like the object it stands for.
#pragma once

#include <atomic>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ports/stored_object.h"

namespace vg::store {

// Text that packed objects refer to instead of repeating it. It goes with the last of them.
struct Dictionary : boost::intrusive_ref_counter<Dictionary> {
  explicit Dictionary(std::string text) : bytes(std::move(text)) {}
  const std::string bytes;
};
using DictionaryPtr = boost::intrusive_ptr<const Dictionary>;

// An object's image() as a packer made it, best before the object is stamped, since revisions never repeat: with its
// identifiers shortened, then compressed with the dictionary, or by itself when that is null, or not at all when
// compressing saves nothing.
struct PackedImage {
  std::string_view bytes;
  std::size_t identifiers = 0;
  const Dictionary* dictionary = nullptr;
};

class KeptObject;
// One word, where a shared pointer would take two: there are three for every object.
using KeptPtr = boost::intrusive_ptr<const KeptObject>;

class KeptObject {
 public:
  static KeptPtr make(const StoredObject& object, const Stamp& stamp, const PackedImage& packed);
  KeptObject(const KeptObject&) = delete;
  KeptObject& operator=(const KeptObject&) = delete;

  std::string_view ns() const { return {tail(), ns_size_}; }
  std::string_view name() const { return {tail() + ns_size_, name_size_}; }
  Revision revision() const { return revision_; }
  std::uint16_t ordinal() const { return ordinal_; }
  bool deleting() const { return deleting_; }
  bool has_owners() const { return has_owners_; }

  ObjectPtr open() const;
  // Opens one object after another in the same memory.
  class Reader {
   public:
    // Until the next call.
    const StoredObject& open(const KeptObject& kept);

   private:
    std::vector<std::uint64_t> words_;
  };

  // What it takes here, and what it takes opened.
  std::size_t memory_bytes() const { return sizeof(KeptObject) + ns_size_ + name_size_ + packed_size_; }
  std::size_t open_bytes() const { return open_size_; }

 private:
  // `prefix`: how many revisions ago an object of the name was created (0 for most), and how many identifiers are
  // short.
  KeptObject(const StoredObject& object, const Stamp& stamp, std::string_view prefix, const PackedImage& packed);
  ~KeptObject() = default;
  friend void intrusive_ptr_add_ref(const KeptObject* kept) {
    kept->references_.fetch_add(1, std::memory_order_relaxed);
  }
  friend void intrusive_ptr_release(const KeptObject* kept);

  StoredObject* unpack(std::uint64_t* words) const;
  const char* tail() const { return reinterpret_cast<const char*>(this + 1); }

  Revision revision_;
  DictionaryPtr dictionary_;
  mutable std::atomic<std::uint32_t> references_ = 0;
  std::uint32_t packed_size_;  // with the prefix
  std::uint32_t open_size_;
  std::uint16_t ns_size_;
  std::uint16_t name_size_;
  std::uint16_t ordinal_;
  bool deleting_ : 1;
  bool has_owners_ : 1;
};

}  // namespace vg::store
