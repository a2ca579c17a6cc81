#include "store/prepared_write.h"

#include <fmt/format.h>

#include <unordered_set>
#include <utility>

#include "store/row.h"

namespace vg::store {

Result<PreparedWrite> prepare(Write& write, const WriteBounds& bounds) {
  const auto& key = write.key;
  if (key.resource.empty() || key.name.empty()) return fail(Status::internal_error("an object without a name"));
  for (const auto& part : {std::string_view(key.resource), std::string_view(key.ns), std::string_view(key.name),
                           std::string_view(write.object.uid)}) {
    if (part.size() > bounds.key_bytes_max) return fail(Status::bad_request("the name of the object is too long"));
  }
  PreparedWrite prepared{write.kind, std::move(write.key), write.expected_revision, std::move(write.expected_uid),
                         nullptr};
  if (write.kind == WriteKind::remove) return prepared;
  const auto& draft = write.object;
  if (draft.json.size() > bounds.object_bytes_max) {
    return fail(Status::too_large(fmt::format("the object \"{}\" has {} bytes as JSON, at most {} are supported",
                                              prepared.key.name, draft.json.size(), bounds.object_bytes_max)));
  }
  const auto offset = draft.revision_offset;
  if (offset == 0 || offset >= draft.json.size() || (draft.json[offset] != '"' && draft.json[offset] != '}')) {
    return fail(Status::internal_error("the place of the resource version in the object is not one"));
  }
  const auto facts = pack_facts(draft);
  prepared.object = StoredObject::make({.resource = prepared.key.resource,
                                        .ns = prepared.key.ns,
                                        .name = prepared.key.name,
                                        .uid = draft.uid,
                                        .facts = facts,
                                        .json = draft.json,
                                        .revision_offset = offset});
  return prepared;
}

Result<PreparedTransaction> prepare(Transaction& transaction, const WriteBounds& bounds) {
  if (transaction.writes.empty()) return fail(Status::internal_error("a transaction that writes nothing"));
  if (transaction.writes.size() > transaction_writes_max || transaction.preconditions.size() > transaction_writes_max) {
    return fail(Status::too_large(fmt::format("a transaction must have at most {} objects", transaction_writes_max)));
  }
  PreparedTransaction prepared;
  prepared.writes.reserve(transaction.writes.size());
  for (auto& write : transaction.writes) {
    auto one = prepare(write, bounds);
    if (!one) return fail(std::move(one.error()));
    const auto& key = one->key;
    prepared.bytes += sizeof(PreparedWrite) + key.resource.size() + key.ns.size() + key.name.size();
    if (one->object) prepared.bytes += one->object->memory_bytes();
    prepared.writes.push_back(std::move(*one));
  }
  if (prepared.writes.size() > 1) {
    std::unordered_set<KeyView, KeyHash> keys;
    for (const auto& write : prepared.writes) {
      if (!keys.insert(view(write.key)).second)
        return fail(Status::internal_error("a transaction writes one object twice"));
    }
  }
  prepared.preconditions = std::move(transaction.preconditions);
  return prepared;
}

}  // namespace vg::store
