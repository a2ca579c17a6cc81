// One row of the store's file: what it says, how its value is written, and its checksum.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ports/stored_object.h"
#include "store/checksum.h"
#include "store/value_cipher.h"

namespace vg::store {

// A row's id carries its revision, and its place within the transaction where several rows share one (see Stamp).
inline constexpr int ordinal_bits = 10;
inline constexpr std::size_t transaction_writes_max = std::size_t{1} << ordinal_bits;
inline std::uint64_t record_id(Revision revision, std::uint16_t ordinal) { return revision << ordinal_bits | ordinal; }

// Stands for every resource, also for those of which nothing is left, where it is said up to where changes are gone.
inline constexpr std::string_view every_resource = "";

struct Record {
  StoredObject::Parts object;
  bool tombstone = false;  // the key is gone as of this revision; only key, revision and ordinal are set
};

inline std::uint64_t id_of(const Record& record) {
  return record_id(record.object.stamp.revision, record.object.stamp.ordinal);
}

// An object's JSON may stand in the file in another form, by resource: all rows are written and read through these two.
// They return the text itself or put the other form into `scratch` and return that. The checksum of a row is over the
// bytes in the file, so a row can be checked by those who cannot read it. The cipher may be null.
inline ValueIdentity identity_of(const Record& record) {
  const auto& object = record.object;
  return {.resource = object.resource, .ns = object.ns, .name = object.name, .uid = object.uid, .row = id_of(record)};
}
inline Result<std::string_view> encode_value(const ValueCipher* cipher, const Record& record, std::string& scratch) {
  if (cipher == nullptr || record.tombstone || !ValueCipher::is_secret(record.object.resource))
    return record.object.json;
  auto sealed = cipher->seal(identity_of(record), record.object.json);
  if (!sealed) return fail(std::move(sealed.error()));
  return std::string_view(scratch = std::move(*sealed));
}
inline Result<std::string_view> decode_value(const ValueCipher* cipher, const Record& stored, std::string& scratch) {
  if (!ValueCipher::is_sealed(stored.object.json)) return stored.object.json;
  auto opened = open_value(cipher, identity_of(stored), stored.object.json);
  if (!opened) return fail(std::move(opened.error()));
  return std::string_view(scratch = std::move(*opened));
}

// Of a record whose json is as it stands in the file.
inline std::uint64_t checksum_of(const Record& record) {
  const auto& object = record.object;
  Checksum sum;
  sum.number(id_of(record));
  sum.number(record.tombstone ? 1 : 0);
  sum.number(object.stamp.created_revision);
  sum.number(object.revision_offset);
  for (const auto part : {object.resource, object.ns, object.name, object.uid, object.facts, object.json}) {
    sum.text(part);
  }
  return sum.value();
}

}  // namespace vg::store
