// A transaction as it waits for the writer: looked through, and its objects made.
//
// That is done by whoever submits it: what every submitter can do for itself, the one writer need not.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ports/object_store.h"

namespace vg::store {

struct WriteBounds {
  std::size_t object_bytes_max;
  std::size_t key_bytes_max;  // for each part of a key
};

struct PreparedWrite {
  WriteKind kind;
  ObjectKey key;
  Revision expected_revision;
  std::string expected_uid;
  std::shared_ptr<StoredObject> object;  // null for a removal
};

struct PreparedTransaction {
  std::vector<PreparedWrite> writes;
  std::vector<Precondition> preconditions;
  Completion done;
  std::size_t bytes = 0;
  std::chrono::steady_clock::time_point since = {};  // it waits
};

// They take what they need out of their argument.
Result<PreparedWrite> prepare(Write& write, const WriteBounds& bounds);
// Without `done`.
Result<PreparedTransaction> prepare(Transaction& transaction, const WriteBounds& bounds);

// A key of somebody else's.
struct KeyView {
  std::string_view resource;
  std::string_view ns;
  std::string_view name;
  bool operator==(const KeyView&) const = default;
};
inline KeyView view(const ObjectKey& key) { return {key.resource, key.ns, key.name}; }

struct KeyHash {
  std::size_t operator()(const KeyView& key) const {
    const std::hash<std::string_view> hash;
    return (hash(key.name) * 31 + hash(key.ns)) * 31 + hash(key.resource);
  }
};

}  // namespace vg::store
