// What tests of stores and of code above them share: small objects, and writes that wait for their answer.
#pragma once

#include <fmt/format.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "ports/object_store.h"

namespace vg::testing {

inline constexpr std::string_view machines = "kubevirt.io/virtualmachines";

inline ObjectKey machine_key(std::string name, std::string ns = "default") {
  return {std::string(machines), std::move(ns), std::move(name)};
}

// {"metadata":{"name":"...","uid":"..."},"spec":"..."} with the place for the revision before "uid".
inline ObjectDraft draft(std::string_view name, std::string_view content, std::string uid = "") {
  ObjectDraft draft;
  draft.uid = uid.empty() ? fmt::format("uid-{}", name) : std::move(uid);
  draft.json = fmt::format(R"({{"metadata":{{"name":"{}",)", name);
  draft.revision_offset = static_cast<std::uint32_t>(draft.json.size());
  draft.json += fmt::format(R"("uid":"{}"}},"spec":"{}"}})", draft.uid, content);
  return draft;
}

inline Write create(ObjectKey key, std::string_view content) {
  auto object = draft(key.name, content);
  return {.kind = WriteKind::create, .key = std::move(key), .expected_uid = {}, .object = std::move(object)};
}

inline Write update(ObjectKey key, std::string_view content, Revision expected = 0) {
  auto object = draft(key.name, content);
  return {.kind = WriteKind::update,
          .key = std::move(key),
          .expected_revision = expected,
          .expected_uid = {},
          .object = std::move(object)};
}

inline Write remove(ObjectKey key, Revision expected = 0, std::string uid = "") {
  return {.kind = WriteKind::remove,
          .key = std::move(key),
          .expected_revision = expected,
          .expected_uid = std::move(uid),
          .object = {}};
}

inline Transaction one(Write write) {
  Transaction transaction;
  transaction.writes.push_back(std::move(write));
  return transaction;
}

inline std::future<Result<CommitOutcome>> start(ObjectStore& store, Transaction transaction) {
  std::promise<Result<CommitOutcome>> promise;
  auto future = promise.get_future();
  store.submit(std::move(transaction), [promise = std::move(promise)](Result<CommitOutcome> outcome) mutable {
    promise.set_value(std::move(outcome));
  });
  return future;
}

inline Result<CommitOutcome> commit(ObjectStore& store, Transaction transaction) {
  return start(store, std::move(transaction)).get();
}
inline Result<CommitOutcome> commit(ObjectStore& store, Write write) { return commit(store, one(std::move(write))); }

inline std::string text(const StoredObject& object) {
  std::string out;
  append_with_revision(out, object);
  return out;
}

// Something that happens on another thread, to wait for.
class Signal {
 public:
  void raise() {
    {
      const std::lock_guard lock(mutex_);
      ++raised_;
    }
    changed_.notify_all();
  }
  // Waits until it was raised so often in all.
  void wait(int times = 1) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return raised_ >= times; });
  }
  int raised() const {
    const std::lock_guard lock(mutex_);
    return raised_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int raised_ = 0;
};

}  // namespace vg::testing
