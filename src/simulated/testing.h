// For the model-based test: a store in memory on a core without a thread (base/manual_core.h). What
// was submitted and not yet settled is lost when the server crashes; what was settled stays, whether anybody was told.
#pragma once

#include <algorithm>
#include <coroutine>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/manual_core.h"
#include "ports/object_store.h"

namespace vg::simulated {

class ModelStore final : public ObjectStore {
 public:
  explicit ModelStore(ManualCore& core) : core_(core) {}
  // Told of every change.
  std::function<void(const Change&)> observer = [](const Change&) {};

  // Settled at another turn of the core, unless a crash comes first.
  void submit(Transaction transaction, Completion done) override {
    waiting_.emplace_back(std::move(transaction), std::move(done));
    core_.post([this] { settle(); });
  }
  void crash() {
    for (auto& [transaction, done] : std::exchange(waiting_, {})) done(fail(Status::internal_error("crashed")));
  }

  Revision revision() const override { return revision_; }
  ObjectPtr get(std::string_view resource, std::string_view ns, std::string_view name) const override {
    const auto found = objects_.find({std::string(resource), std::string(ns), std::string(name)});
    return found == objects_.end() ? nullptr : found->second;
  }
  Result<ListPage> list(const ListQuery& query) const override {
    std::vector<ObjectPtr> found;
    for (const auto& [key, object] : objects_)
      if (object->resource() == query.resource && (query.ns.empty() || object->ns() == query.ns) &&
          (!query.matches || query.matches(*object)))
        found.push_back(object);
    ListPage page;
    page.revision = revision_;
    page.objects = ObjectList(std::move(found));
    return page;
  }
  ObjectList owned_by(std::string_view owner_uid) const override {
    std::vector<ObjectPtr> found;
    for (const auto& [key, object] : objects_)
      if (object->owned_by(owner_uid)) found.push_back(object);
    return ObjectList(std::move(found));
  }
  std::vector<std::string> resources() const override { return {}; }
  std::size_t count(std::string_view resource) const override { return list({.resource = resource})->objects.size(); }
  Revision oldest_revision(std::string_view) const override { return 0; }
  StoreHealth health() const override { return {}; }
  Result<std::unique_ptr<Watch>> watch(WatchQuery query, Waker waker) override {
    return std::make_unique<ModelWatch>(*this, std::move(query), std::move(waker));
  }

 private:
  using Key = std::tuple<std::string, std::string, std::string>;

  class ModelWatch final : public Watch {
   public:
    ModelWatch(ModelStore& store, WatchQuery query, Waker waker)
        : store_(store), query_(std::move(query)), waker_(std::move(waker)), at_(store.log_.size()) {
      store_.watches_.push_back(this);
    }
    ~ModelWatch() override { std::erase(store_.watches_, this); }
    Result<WatchBatch> next(std::size_t) override {
      WatchBatch batch;
      for (; at_ < store_.log_.size(); ++at_)
        if (store_.log_[at_].object->resource() == query_.resource) batch.changes.push_back(store_.log_[at_]);
      batch.progress = store_.revision_;
      return batch;
    }
    void wake() { waker_(); }

   private:
    ModelStore& store_;
    WatchQuery query_;
    Waker waker_;
    std::size_t at_;
  };

  void settle() {
    if (waiting_.empty()) return;
    auto [transaction, done] = std::move(waiting_.front());
    waiting_.pop_front();
    if (auto refused = problem(transaction)) return done(fail(std::move(*refused)));
    CommitOutcome outcome;
    if (changes_nothing(transaction)) {
      outcome.revision = revision_;
      for (const Write& write : transaction.writes)
        outcome.objects.push_back(get(write.key.resource, write.key.ns, write.key.name));
      return done(std::move(outcome));
    }
    for (const Write& write : transaction.writes) outcome.objects.push_back(apply(write));
    outcome.revision = revision_;
    for (ModelWatch* watch : watches_) watch->wake();
    done(std::move(outcome));
  }

  bool changes_nothing(const Transaction& transaction) const {
    return std::ranges::all_of(transaction.writes, [&](const Write& write) {
      const ObjectPtr stored = get(write.key.resource, write.key.ns, write.key.name);
      return write.kind == WriteKind::update && stored->json() == write.object.json;
    });
  }

  std::optional<Status> problem(const Transaction& transaction) const {
    for (const Write& write : transaction.writes) {
      const ObjectPtr stored = get(write.key.resource, write.key.ns, write.key.name);
      if (write.kind == WriteKind::create && stored) return Status::already_exists("", "objects", write.key.name);
      if (write.kind == WriteKind::create) continue;
      if (!stored) return Status::not_found("", "objects", write.key.name);
      const bool other = !write.expected_uid.empty() && stored->uid() != write.expected_uid;
      if (other || (write.expected_revision != 0 && stored->revision() != write.expected_revision))
        return Status::conflict("", "objects", write.key.name, "changed");
    }
    return std::nullopt;
  }

  ObjectPtr apply(const Write& write) {
    const Key key{write.key.resource, write.key.ns, write.key.name};
    const ObjectPtr before = get(write.key.resource, write.key.ns, write.key.name);
    ++revision_;
    if (write.kind == WriteKind::remove) {
      objects_.erase(key);
      note({.revision = revision_, .type = ChangeType::removed, .object = before, .previous = before});
      return before;
    }
    const std::string facts = pack_facts(write.object);
    const ObjectPtr made = StoredObject::make(
        {.resource = write.key.resource,
         .ns = write.key.ns,
         .name = write.key.name,
         .uid = write.object.uid,
         .facts = facts,
         .json = write.object.json,
         .revision_offset = write.object.revision_offset,
         .stamp = {.revision = revision_, .created_revision = before ? before->created_revision() : revision_}});
    objects_[key] = made;
    note({.revision = revision_,
          .type = before ? ChangeType::modified : ChangeType::added,
          .object = made,
          .previous = before});
    return made;
  }

  void note(Change change) {
    log_.push_back(std::move(change));
    observer(log_.back());
  }

  ManualCore& core_;
  Revision revision_ = 0;
  std::map<Key, ObjectPtr> objects_;
  std::vector<Change> log_;
  std::vector<ModelWatch*> watches_;
  std::deque<std::pair<Transaction, Completion>> waiting_;
};

}  // namespace vg::simulated
