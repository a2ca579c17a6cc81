// One version of one stored object: immutable, shared by every reader, in a single allocation.
//
// A list or a watch must never parse what it passes on, so the version carries its JSON as the bytes that go to the
// client and beside them the few facts that selection asks for. The revision is the one field of the JSON that is
// known only at commit; it is left out of the bytes and put in on the way out, so an object is serialised once in its
// life.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace vg {

// The store's one counter; every change of an object takes the next value. 0 is before all changes.
using Revision = std::uint64_t;

struct ObjectKey {
  std::string resource;  // group/plural, or the plural alone in the core group: "kubevirt.io/virtualmachines", "pods"
  std::string ns;        // the namespace; empty for an object of the whole cluster
  std::string name;
  bool operator==(const ObjectKey&) const = default;
};

// What a writer hands in. Labels, owners and the deletion mark repeat what `json` says: the writer has the document
// open anyway, and the store never looks into it.
struct ObjectDraft {
  std::string uid;
  std::string json;                   // without metadata.resourceVersion
  std::uint32_t revision_offset = 0;  // where in `json` the member resourceVersion goes: before another member of
                                      // metadata, or before its closing brace
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<std::string> owner_uids;
  bool deleting = false;  // metadata.deletionTimestamp is set
};

namespace detail {

inline void append_varint(std::string& out, std::size_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

inline void append_counted(std::string& out, std::string_view text) {
  append_varint(out, text.size());
  out.append(text);
}

// Reads what the two above wrote. Never reads past the end, whatever the bytes are.
class PackedReader {
 public:
  explicit PackedReader(std::string_view bytes) : rest_(bytes) {}

  std::size_t varint() {
    std::size_t value = 0;
    for (int shift = 0; shift < 63 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::size_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return 0;
  }
  std::string_view counted() {
    const auto text = rest_.substr(0, varint_then_size());
    rest_.remove_prefix(text.size());
    return text;
  }
  bool empty() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }

 private:
  std::size_t varint_then_size() {
    const auto size = varint();
    return size < rest_.size() ? size : rest_.size();
  }
  std::string_view rest_;
};

}  // namespace detail

// The facts of a draft in the compact form in which they are kept in memory and on disk: flags, labels, owners.
inline std::string pack_facts(const ObjectDraft& draft) {
  std::string out;
  detail::append_varint(out, draft.deleting ? 1 : 0);
  detail::append_varint(out, draft.labels.size());
  for (const auto& [key, value] : draft.labels) {
    detail::append_counted(out, key);
    detail::append_counted(out, value);
  }
  detail::append_varint(out, draft.owner_uids.size());
  for (const auto& uid : draft.owner_uids) detail::append_counted(out, uid);
  return out;
}

// What a version gets at commit: its revision, and the one under which an object of its name was created (the order of
// creation, kept by every update). `ordinal` is 0 but in stores of earlier versions of the program: there all writes of
// a transaction shared a revision, and this was the place among them.
struct Stamp {
  Revision revision = 0;
  Revision created_revision = 0;
  std::uint16_t ordinal = 0;
};

class StoredObject {
 public:
  struct Parts {
    std::string_view resource = {};
    std::string_view ns = {};
    std::string_view name = {};
    std::string_view uid = {};
    std::string_view facts = {};  // as pack_facts makes them
    std::string_view json = {};
    std::uint32_t revision_offset = 0;
    Stamp stamp = {};
  };

  // Key parts must be shorter than 64 KiB and the rest shorter than 4 GiB; the store's own limits are far below.
  static std::shared_ptr<StoredObject> make(const Parts& parts) {
    const auto bytes = sizeof(StoredObject) + parts.resource.size() + parts.ns.size() + parts.name.size() +
                       parts.uid.size() + parts.facts.size() + parts.json.size();
    auto words = std::make_shared_for_overwrite<std::uint64_t[]>(words_for(bytes));
    auto* object = ::new (static_cast<void*>(words.get())) StoredObject(parts);
    return {std::move(words), object};
  }

  // The whole object as bytes, for a store that keeps it in another form, and back: `restore` writes the bytes that
  // image() gave to where it is told, and returns the object that at() finds there.
  std::string_view image() const { return {reinterpret_cast<const char*>(this), memory_bytes()}; }
  template <class Restore>
  static std::shared_ptr<const StoredObject> from_image(std::size_t bytes, Restore&& restore) {
    auto words = std::make_shared_for_overwrite<std::uint64_t[]>(words_for(bytes));
    const StoredObject* object = std::forward<Restore>(restore)(words.get());
    return {std::move(words), object};
  }
  static StoredObject* at(std::uint64_t* words) { return std::launder(reinterpret_cast<StoredObject*>(words)); }
  // Words, so that the header is aligned; the object and its bytes share the reference count's allocation.
  static constexpr std::size_t words_for(std::size_t bytes) { return (bytes + 7) / 8; }

  std::string_view json() const { return {tail(), json_size_}; }
  std::string_view facts() const { return {json().end(), facts_size_}; }
  std::string_view resource() const { return {facts().end(), resource_size_}; }
  std::string_view ns() const { return {resource().end(), ns_size_}; }
  std::string_view name() const { return {ns().end(), name_size_}; }
  std::string_view uid() const { return {name().end(), uid_size_}; }
  ObjectKey key() const { return {std::string(resource()), std::string(ns()), std::string(name())}; }

  std::uint32_t revision_offset() const { return revision_offset_; }
  Revision revision() const { return revision_; }
  Revision created_revision() const { return created_revision_; }
  std::uint16_t ordinal() const { return ordinal_; }

  bool deleting() const { return (detail::PackedReader(facts()).varint() & 1) != 0; }
  template <class F>
  void for_each_label(F&& f) const {
    detail::PackedReader reader(facts());
    reader.varint();
    for (auto left = reader.varint(); left > 0 && !reader.empty(); --left) {
      const auto label_key = reader.counted();
      f(label_key, reader.counted());
    }
  }
  std::optional<std::string_view> label(std::string_view wanted) const {
    std::optional<std::string_view> found;
    for_each_label([&](std::string_view label_key, std::string_view value) {
      if (label_key == wanted) found = value;
    });
    return found;
  }
  template <class F>
  void for_each_owner(F&& f) const {
    detail::PackedReader reader(facts());
    reader.varint();
    for (auto left = reader.varint(); left > 0 && !reader.empty(); --left) {
      reader.counted();
      reader.counted();
    }
    for (auto left = reader.varint(); left > 0 && !reader.empty(); --left) f(reader.counted());
  }
  bool owned_by(std::string_view wanted) const {
    bool found = false;
    for_each_owner([&](std::string_view owner) { found = found || owner == wanted; });
    return found;
  }

  std::size_t memory_bytes() const {
    return sizeof(StoredObject) + json_size_ + facts_size_ + resource_size_ + ns_size_ + name_size_ + uid_size_;
  }

  // For stores only, before anybody else sees the object.
  void stamp(const Stamp& stamp) {
    revision_ = stamp.revision;
    created_revision_ = stamp.created_revision;
    ordinal_ = stamp.ordinal;
  }

 private:
  // For image() alone: a copy would be a header without its bytes.
  StoredObject(const StoredObject&) = default;
  StoredObject& operator=(const StoredObject&) = default;
  explicit StoredObject(const Parts& parts)
      : revision_(parts.stamp.revision),
        created_revision_(parts.stamp.created_revision),
        json_size_(static_cast<std::uint32_t>(parts.json.size())),
        facts_size_(static_cast<std::uint32_t>(parts.facts.size())),
        revision_offset_(parts.revision_offset),
        resource_size_(static_cast<std::uint16_t>(parts.resource.size())),
        ns_size_(static_cast<std::uint16_t>(parts.ns.size())),
        name_size_(static_cast<std::uint16_t>(parts.name.size())),
        uid_size_(static_cast<std::uint16_t>(parts.uid.size())),
        ordinal_(parts.stamp.ordinal) {
    char* to = const_cast<char*>(tail());
    for (const auto part : {parts.json, parts.facts, parts.resource, parts.ns, parts.name, parts.uid}) {
      if (!part.empty()) std::memcpy(to, part.data(), part.size());
      to += part.size();
    }
  }
  const char* tail() const { return reinterpret_cast<const char*>(this + 1); }

  Revision revision_;
  Revision created_revision_;
  std::uint32_t json_size_;
  std::uint32_t facts_size_;
  std::uint32_t revision_offset_;
  std::uint16_t resource_size_;
  std::uint16_t ns_size_;
  std::uint16_t name_size_;
  std::uint16_t uid_size_;
  std::uint16_t ordinal_;
  [[maybe_unused]] std::uint16_t unused_ = 0;  // every byte of an image has a value
};
// The memory goes with the shared words: no destructor would ever run.
static_assert(std::is_trivially_copyable_v<StoredObject> && alignof(StoredObject) <= alignof(std::uint64_t));

using ObjectPtr = std::shared_ptr<const StoredObject>;

// The object as a client gets it. `revision` is the object's own except in the event that reports its deletion, which
// shows the last version under the revision of the deletion.
inline void append_with_revision(std::string& out, const StoredObject& object, Revision revision) {
  const auto json = object.json();
  const auto offset = object.revision_offset();
  out.append(json.substr(0, offset));
  // In front of a member a comma follows; before the closing brace one leads, unless metadata is otherwise empty.
  const bool last = offset < json.size() && json[offset] == '}';
  const bool first = offset > 0 && json[offset - 1] == '{';
  if (last && !first) out.push_back(',');
  const fmt::format_int digits(revision);
  out.append("\"resourceVersion\":\"").append(digits.data(), digits.size()).push_back('"');
  if (!last) out.push_back(',');
  out.append(json.substr(offset));
}
inline void append_with_revision(std::string& out, const StoredObject& object) {
  append_with_revision(out, object, object.revision());
}

}  // namespace vg
