// One row of the store's file: what it says, how its value is written, and its checksum.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ports/stored_object.h"
#include "store/checksum.h"

namespace vg::store {

// A row's id carries its revision and its place within the transaction.
inline constexpr int ordinal_bits = 10;
inline constexpr std::size_t transaction_writes_max = std::size_t{1} << ordinal_bits;
inline std::uint64_t record_id(Revision revision, std::uint16_t ordinal) { return revision << ordinal_bits | ordinal; }

struct Record {
  StoredObject::Parts object;
  bool tombstone = false;  // the key is gone as of this revision; only key, revision and ordinal are set
};

inline std::uint64_t id_of(const Record& record) {
  return record_id(record.object.stamp.revision, record.object.stamp.ordinal);
}

// The place for another form of an object's JSON in the file, by resource: all rows are written and read through these
// two. They return the text itself or put the other form into `scratch` and return that. The checksum of a row is over
// the bytes in the file, so a row can be checked by those who cannot read it.
inline std::string_view encode_value(std::string_view /*resource*/, std::string_view json, std::string& /*scratch*/) {
  return json;
}
inline std::string_view decode_value(std::string_view /*resource*/, std::string_view stored, std::string& /*scratch*/) {
  return stored;
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
