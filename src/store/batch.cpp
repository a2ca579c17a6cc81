#include "store/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/phrases.h"
#include "base/store_limits.h"

namespace vg::store {
namespace {

std::pair<std::string, std::string> group_and_resource(std::string_view resource) {
  const auto slash = resource.find('/');
  if (slash == std::string_view::npos) return {std::string(), std::string(resource)};
  return {std::string(resource.substr(0, slash)), std::string(resource.substr(slash + 1))};
}

Status not_found(const ObjectKey& key) {
  auto [group, resource] = group_and_resource(key.resource);
  return Status::not_found(std::move(group), std::move(resource), key.name);
}

Status already_exists(const ObjectKey& key, const KeptObject& found) {
  auto [group, resource] = group_and_resource(key.resource);
  Status status = Status::already_exists(std::move(group), std::move(resource), key.name);
  // Whoever replaces an object tries again while they read this.
  if (found.deleting()) status.message = fmt::format("{}: {}", phrases::object_being_deleted, status.message);
  return status;
}

Status conflict(const ObjectKey& key, std::string message) {
  auto [group, resource] = group_and_resource(key.resource);
  return Status::conflict(std::move(group), std::move(resource), key.name, std::move(message));
}

// What an update, a removal and a precondition share: the object must be the one, and the version, that was meant.
Result<void> check_expected(const ObjectKey& key, const KeptObject& found, Revision revision, std::string_view uid) {
  if (const auto object = uid.empty() ? nullptr : found.open(); object && object->uid() != uid) {
    return fail(conflict(key, phrases::another_uid(object->uid(), uid)));
  }
  if (revision != 0 && found.revision() != revision) {
    return fail(conflict(key, phrases::modified(fmt::to_string(found.revision()), fmt::to_string(revision))));
  }
  return {};
}

Result<void> check_expected(const Precondition& wanted, const KeptObject* found) {
  if (!wanted.exists) return found == nullptr ? Result<void>() : fail(already_exists(wanted.key, *found));
  if (found == nullptr) return fail(not_found(wanted.key));
  if (wanted.not_deleting && found->deleting()) {
    return fail(conflict(wanted.key, "the object is being deleted"));
  }
  return check_expected(wanted.key, *found, wanted.revision, wanted.uid);
}

Result<void> check_expected(const PreparedWrite& write, const KeptObject* found) {
  if (write.kind == WriteKind::create)
    return found == nullptr ? Result<void>() : fail(already_exists(write.key, *found));
  if (found == nullptr) return fail(not_found(write.key));
  return check_expected(write.key, *found, write.expected_revision, write.expected_uid);
}

}  // namespace

class Batch::GuardView final : public CommitGuard::View {
 public:
  explicit GuardView(const Batch& batch) : batch_(batch) {}
  ObjectPtr newest(const ObjectKey& key) const override {
    const auto kept = batch_.newest(key);
    return kept ? kept->open() : nullptr;
  }

 private:
  const Batch& batch_;
};

Batch::Batch(const VersionedIndex& index, Packers& packers, const Rules& rules, std::atomic<std::uint64_t>& refused)
    : index_(index), packers_(packers), rules_(rules), refused_(refused), revision_(index.newest_revision()) {}

KeptPtr Batch::newest(const ObjectKey& key) const {
  const auto written = written_.find(view(key));
  return written != written_.end() ? written->second : index_.newest(key);
}

Result<void> Batch::check(const PreparedTransaction& transaction) const {
  for (const auto& wanted : transaction.preconditions) {
    if (auto held = check_expected(wanted, newest(wanted.key).get()); !held) return held;
  }
  for (const auto& write : transaction.writes) {
    if (auto held = check_expected(write, newest(write.key).get()); !held) return held;
  }
  if (rules_.disk_is_full && needs_room(transaction)) {
    return fail(
        Status::unavailable("nothing was changed: the disk of the store is full; to make room, delete objects, or free "
                            "space on the disk of "
                            "the server"));
  }
  return {};
}

// What is being deleted is let go, whatever controllers still write to it, as long as it stays small: finalizers can
// hold it for ever, and the reserve is for all.
bool Batch::needs_room(const PreparedTransaction& transaction) const {
  std::size_t before = 0, after = 0;
  for (const auto& write : transaction.writes) {
    if (write.object && write.object->deleting() &&
        write.object->memory_bytes() <= store_limits::full_deleting_bytes_max)
      continue;
    if (const auto kept = newest(write.key)) before += kept->open_bytes();
    if (write.object) after += write.object->memory_bytes();
  }
  return after > before;
}

// Puts what the guard adds behind the transaction's own writes.
Result<void> Batch::ask_guard(PreparedTransaction& transaction) {
  std::vector<CommitGuard::Item> items;
  items.reserve(transaction.writes.size());
  for (const auto& write : transaction.writes) {
    const auto kept = write.kind == WriteKind::create ? nullptr : newest(write.key);
    items.push_back(
        {.kind = write.kind, .key = write.key, .before = kept ? kept->open() : nullptr, .after = write.object.get()});
  }
  auto added = rules_.guard->complete(items, GuardView(*this), revision_ + 1);
  if (!added) return fail(std::move(added.error()));
  for (auto& write : *added) {
    auto prepared = prepare(write, rules_.bounds);
    if (!prepared) return fail(std::move(prepared.error()));
    const auto same = std::ranges::find(transaction.writes, prepared->key, &PreparedWrite::key);
    if (same != transaction.writes.end()) {
      same->object = std::move(prepared->object);
    } else {
      // The revision that the guard saw is the newest: nobody else writes meanwhile.
      transaction.writes.push_back(std::move(*prepared));
    }
  }
  return {};
}

bool Batch::apply(PreparedWrite& write, CommitOutcome& outcome) {
  const auto kept = newest(write.key);
  auto previous = kept ? kept->open() : nullptr;
  if (write.kind == WriteKind::update && write.object->json() == previous->json()) {
    outcome.objects.push_back(std::move(previous));  // as with etcd: the same bytes are no new version
    return false;
  }
  ++revision_;
  Change change{.revision = revision_, .previous = previous};
  KeptChange entry{.previous = kept, .revision = revision_};
  if (write.kind == WriteKind::remove) {
    change.type = ChangeType::removed;
    change.object = std::move(previous);
    entry.object = kept;
  } else {
    change.type = previous ? ChangeType::modified : ChangeType::added;
    const Stamp stamp{.revision = revision_, .created_revision = previous ? previous->created_revision() : revision_};
    entry.object = packers_.of(write.key.resource).pack(*write.object, stamp);
    write.object->stamp(stamp);
    change.object = std::move(write.object);
  }
  entry.type = change.type;
  written_.insert_or_assign(view(write.key), write.kind == WriteKind::remove ? nullptr : entry.object);
  outcome.objects.push_back(change.object);
  changes_.push_back(std::move(change));
  kept_.push_back(std::move(entry));
  return true;
}

void Batch::add(PreparedTransaction& transaction) {
  // An answer that rests on another transaction of this batch must wait for the batch: if that fails, it was not true.
  const auto in_batch = [&](const auto& item) { return written_.contains(view(item.key)); };
  const bool durable_grounds =
      std::ranges::none_of(transaction.writes, in_batch) && std::ranges::none_of(transaction.preconditions, in_batch);
  const auto answer = [&](Result<CommitOutcome> outcome) {
    if (durable_grounds) return transaction.done(std::move(outcome));
    answers_.push_back({std::move(transaction.done), std::move(outcome)});
  };
  if (auto possible = check(transaction); !possible) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return answer(fail(std::move(possible.error())));
  }
  const auto own_writes = transaction.writes.size();  // those in front; the guard adds the others
  const auto concerns = [&](const PreparedWrite& write) { return rules_.guard->concerns(write.key); };
  if (rules_.guard != nullptr && std::ranges::any_of(transaction.writes, concerns)) {
    if (auto possible = ask_guard(transaction); !possible) {
      refused_.fetch_add(1, std::memory_order_relaxed);
      // The guard may have looked at whatever this batch wrote.
      answers_.push_back({std::move(transaction.done), fail(std::move(possible.error()))});
      return;
    }
  }
  CommitOutcome outcome;
  outcome.objects.reserve(transaction.writes.size());
  bool changed = false;
  for (auto& write : transaction.writes) changed |= apply(write, outcome);
  outcome.objects.resize(own_writes);
  outcome.revision = revision_;
  if (!changed) return answer(std::move(outcome));
  ++transactions_;
  answers_.push_back({std::move(transaction.done), std::move(outcome)});
}

}  // namespace vg::store
