#include "objects/quota_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <coroutine>
#include <future>
#include <initializer_list>
#include <utility>

#include "base/budgets.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/time_rfc3339.h"
#include "catalog/catalog.h"
#include "json/access.h"
#include "json/document.h"
#include "objects/core_kinds/values.h"
#include "objects/draft.h"
#include "objects/own_writes.h"
#include "objects/scan.h"

namespace vg::resources {
namespace {

// How soon it is looked again whether a write that was taken can be read.
constexpr std::chrono::milliseconds published_interval{1};
constexpr std::chrono::seconds retry_interval{1};

const Resource& quota_resource() {
  static const Resource& resource = *find_resource(quotas_key);
  return resource;
}

ObjectKey key_of(std::string_view ns, std::string_view name) {
  return {std::string(quotas_key), std::string(ns), std::string(name)};
}

json::Object printed(const Usage& usage, const json::StoragePtr& storage) {
  json::Object list(storage);
  for (const auto& [name, quantity] : usage) list[name] = quantity.to_string();
  return list;
}

void write_status(json::Value& quota, const Usage& hard, const Usage& used) {
  json::Object& status = json::ensure_object(quota.get_object(), "status");
  status.clear();
  if (!hard.empty()) status["hard"] = printed(hard, quota.storage());
  if (!used.empty()) status["used"] = printed(used, quota.storage());
}

bool is_counted(const std::string& name) { return counted_resource(name).has_value(); }

// What of spec.hard can be enforced with what is known of its use; names that nothing counts for are just repeated.
Usage enforceable(const Usage& hard, const Usage& used) {
  Usage known;
  for (const auto& [name, quantity] : hard)
    if (used.contains(name) || !is_counted(name)) known.emplace(name, quantity);
  return known;
}

bool lacks_count(const Quota& quota) {
  return enforceable(quota.spec_hard, quota.used).size() != quota.spec_hard.size();
}

void apply_delta(Usage& used, const Usage& delta) {
  for (const auto& [name, quantity] : delta) {
    const auto found = used.find(name);
    if (found == used.end()) continue;
    found->second += quantity;
    if (found->second.sign() < 0) found->second = Quantity();
  }
}

Quota read_stored(const StoredObject& stored) {
  json::Document memory;
  memory.root() = load_object(stored, memory.storage());
  return read_quota(memory.root().get_object());
}

// Whether what quotas look at is the same, going by the texts: to read a large pod takes longer than to write it, and
// most updates change something else.
bool is_same_to_quotas(std::string_view resource, const StoredObject& before, const StoredObject& after) {
  if (only_counted(resource)) return true;
  const auto same = [&](std::initializer_list<std::string_view> path) {
    const std::span<const std::string_view> steps(path.begin(), path.size());
    return scan_value(before.json(), steps) == scan_value(after.json(), steps);
  };
  return same({"spec"}) && same({"status"}) && same({"metadata", "annotations"});
}

// Whether the write can change what is used or what is allowed.
bool matters(const CommitGuard::Item& item) {
  return item.kind != WriteKind::update || item.key.resource == quotas_key || !item.before ||
         !is_same_to_quotas(item.key.resource, *item.before, *item.after);
}

// One version of an object, as quotas see it.
struct Seen {
  json::Document memory;
  const json::Object* object = nullptr;
  QuotaFacts facts;

  Seen(std::string_view resource, const StoredObject& stored) {
    if (!only_counted(resource)) {
      memory.root() = load_object(stored, memory.storage());
      object = &memory.root().get_object();
    }
    facts = quota_facts(resource, object);
  }
};

QuotaChange change_of(const ObjectKey& key, const Seen* before, const Seen* after) {
  const bool both = before && after && before->object && after->object;
  return {.resource_key = key.resource,
          .name = key.name,
          .before = before ? &before->facts : nullptr,
          .after = after ? &after->facts : nullptr,
          .pod = after && after->facts.pod ? after->object : nullptr,
          .spec_changed = !both || !core_kinds::same_member(*before->object, *after->object, "spec")};
}

}  // namespace

// A quota while a transaction is completed.
struct QuotaKeeper::Loaded {
  std::string name;
  ObjectPtr kept;                        // null where the transaction writes the quota itself
  const StoredObject* stored = nullptr;  // what it is now, or what is written
  const Item* written = nullptr;         // where the transaction writes the quota itself
  std::shared_ptr<const Quota> known;    // as it was read
  std::optional<Quota> own;              // as it becomes
  bool changed = false;                  // its status
  std::optional<Revision> true_since;    // since when its status may say something else than what is used

  const Quota& quota() const { return own ? *own : *known; }
  Quota& edit() {
    if (!own) own.emplace(*known);
    return *own;
  }
};

// What is to be remembered once nothing speaks against the transaction.
struct QuotaKeeper::Plan {
  std::vector<Write> writes;
  std::vector<std::pair<Name, Revision>> begin;
  std::vector<std::pair<Name, Revision>> finish;
  std::vector<std::pair<Name, Truth>> truths;
  std::vector<std::pair<Name, Delta>> deltas;
  std::vector<Name> made, gone;
};

void QuotaKeeper::attach(ObjectStore& store) {
  store_ = &store;
  undone();
}

bool QuotaKeeper::concerns(const ObjectKey& key) const {
  return key.resource == quotas_key || (!quotas_.empty() && quotas_.contains(key.ns));
}

// Whatever was remembered may be of writes that never were: the store alone knows what there is.
void QuotaKeeper::undone() {
  quotas_.clear();
  read_.clear();  // by revisions, of which some are given out again
  std::vector<Name> names;
  if (const auto page = store_->list({.resource = quotas_key}))
    for (const ObjectPtr& quota : page->objects) names.emplace_back(quota->ns(), quota->name());
  for (const auto& [ns, name] : names) quotas_[ns].insert(name);
  if (usages_ == Usages::reported) return;
  const Revision now = store_->revision();
  const std::lock_guard lock(mutex_);
  const auto were = std::exchange(counting_, {});
  for (const Name& name : names) {
    begin_counting(name, now);
    if (const auto found = were.find(name); found != were.end()) counting_[name].truth = truth_at(found->second, now);
  }
}

// What was used then, where the status that was kept then may say something else.
std::optional<QuotaKeeper::Truth> QuotaKeeper::truth_at(const Counting& counting, Revision now) {
  if (!counting.truth || counting.truth->since > now) return std::nullopt;
  if (counting.finished && counting.finished_at <= now) return std::nullopt;
  Truth truth = *counting.truth;
  for (const Delta& delta : counting.deltas) {
    if (delta.revision <= now) continue;
    Usage back;
    subtract(back, delta.usage);
    apply_delta(truth.used, back);
  }
  return truth;
}

void QuotaKeeper::begin_counting(const Name& name, Revision from) {
  counting_[name] = {.id = next_id_++, .from = from, .deltas = {}, .count = {}};
  enqueue(name);
}

void QuotaKeeper::enqueue(const Name& name) {
  if (!queued_.insert(name).second) return;
  queue_.push_back(name);
  changed_.notify_all();
}

Result<std::vector<Write>> QuotaKeeper::complete(std::span<const Item> items, const View& view, Revision revision) {
  Plan plan;
  std::set<std::string_view> namespaces;
  for (const Item& item : items)
    if (concerns(item.key) && matters(item) && namespaces.insert(item.key.ns).second)
      if (auto problem = complete_namespace(item.key.ns, items, view, revision, plan)) return fail(std::move(*problem));
  carry_out(plan);
  return std::move(plan.writes);
}

std::shared_ptr<const Quota> QuotaKeeper::read(const StoredObject& stored) {
  const Name name(stored.ns(), stored.name());
  if (const auto found = read_.find(name); found != read_.end() && found->second.revision == stored.revision())
    return found->second.quota;
  if (read_.size() >= budgets::read_quotas_max) read_.clear();
  auto quota = std::make_shared<const Quota>(read_stored(stored));
  read_.insert_or_assign(name, Read{.revision = stored.revision(), .quota = quota});
  return quota;
}

std::vector<QuotaKeeper::Loaded> QuotaKeeper::load(std::string_view ns, std::span<const Item> items, const View& view,
                                                   Plan& plan) {
  std::vector<Loaded> quotas;
  const auto take_written = [&](const Item& item) {
    Loaded& loaded = quotas.emplace_back();
    loaded.name = item.key.name;
    loaded.stored = item.after;
    loaded.written = &item;
    loaded.own = read_stored(*item.after);
  };
  const auto take = [&](std::string_view name, ObjectPtr stored) {
    Loaded& loaded = quotas.emplace_back();
    loaded.name = name;
    loaded.known = read(*stored);
    loaded.kept = std::move(stored);
    loaded.stored = loaded.kept.get();
  };
  for (const Item& item : items) {
    if (item.key.resource != quotas_key || item.key.ns != ns) continue;
    if (item.kind == WriteKind::remove)
      plan.gone.emplace_back(ns, item.key.name);
    else
      take_written(item);
    if (item.kind == WriteKind::create) plan.made.emplace_back(ns, item.key.name);
  }
  const auto found = quotas_.find(ns);
  if (found == quotas_.end()) return quotas;
  for (const std::string& name : found->second) {
    const ObjectKey key = key_of(ns, name);
    if (std::ranges::any_of(items, [&](const Item& item) { return item.key == key; })) continue;
    if (ObjectPtr stored = view.newest(key)) take(name, std::move(stored));
  }
  std::ranges::sort(quotas, {}, &Loaded::name);
  return quotas;
}

// What a write to the quota itself makes of its status. A write of the status alone stands for the moment, as in
// Kubernetes, and nothing follows it; with one of the spec the status is this server's.
QuotaKeeper::Settled QuotaKeeper::settle_written(Loaded& loaded, const Counting* pending) const {
  Quota& quota = loaded.edit();
  const bool made = !loaded.written->before;
  Quota before = made ? Quota() : read_stored(*loaded.written->before);
  const bool same_scopes = before.scopes == quota.scopes;
  const Usage said_hard = std::exchange(quota.hard, {});
  const Usage said_used = std::exchange(quota.used, {});
  const bool same_spec = !made && same_scopes && before.spec_hard == quota.spec_hard;
  const bool said_anew = said_hard != before.hard || said_used != before.used;
  const bool own = pending && pending->count && said_hard == quota.spec_hard && said_used == pending->count->used;
  if (pending && pending->truth) before.used = pending->truth->used;
  if (same_scopes) quota.used = masked(before.used, quota.spec_hard);
  if (!made) quota.hard = enforceable(quota.spec_hard, quota.used);
  const bool stands = same_spec && said_anew && !own;
  loaded.changed = !stands && (said_hard != quota.hard || said_used != quota.used);
  return {
      .stands = stands,
      .wants_more = made || !same_scopes || masked(quota.spec_hard, before.spec_hard).size() != quota.spec_hard.size()};
}

// Puts down what was counted, once it was.
void QuotaKeeper::settle_status(Loaded& loaded, std::string_view ns, Revision revision, Plan& plan) const {
  const Name name(ns, loaded.name);
  const std::lock_guard lock(mutex_);
  const auto found = counting_.find(name);
  const Counting* const pending = found != counting_.end() && !found->second.finished ? &found->second : nullptr;
  if (pending && pending->truth) {
    loaded.true_since = pending->truth->since;
    Quota& quota = loaded.edit();
    if (!loaded.written) quota.used = pending->truth->used;
    if (!loaded.written) quota.hard = enforceable(quota.spec_hard, quota.used);
  }
  const Settled settled = loaded.written ? settle_written(loaded, pending) : Settled();
  if (settled.stands && !loaded.true_since) loaded.true_since = revision;
  // Who writes the status again and again does not have the counting begin again and again.
  const bool lacks = loaded.written && (settled.stands || lacks_count(loaded.quota()));
  if (settled.wants_more || (lacks && !pending)) plan.begin.emplace_back(name, revision);
  if (settled.wants_more || settled.stands || !pending || !pending->count) return;
  const Count& count = *pending->count;
  Usage used = count.used;
  for (const Delta& delta : pending->deltas)
    if (const auto seen = count.seen.find(delta.resource); seen != count.seen.end() && delta.revision > seen->second)
      apply_delta(used, delta.usage);
  Quota& quota = loaded.edit();
  quota.used = masked(used, quota.spec_hard);
  quota.hard = enforceable(quota.spec_hard, quota.used);
  loaded.changed = true;
  plan.finish.emplace_back(name, revision);
}

// A quota that is written may make all of them too large only if it becomes smaller itself, or if this server writes
// it.
std::optional<Status> QuotaKeeper::find_oversize(std::span<const Loaded> quotas) const {
  std::size_t bytes = 0;
  for (const Loaded& loaded : quotas) bytes += loaded.stored->json().size();
  if (bytes <= limits::quota_bytes_in_namespace_max) return std::nullopt;
  for (const Loaded& loaded : quotas) {
    if (!loaded.written) continue;
    const ObjectPtr& before = loaded.written->before;
    if (before && loaded.stored->json().size() <= before->json().size()) continue;
    const Name name(loaded.written->key.ns, loaded.name);
    const std::lock_guard lock(mutex_);
    if (putting_down_ == name) continue;
    return Status::too_large(
        fmt::format("the ResourceQuotas of the namespace would have {} bytes as JSON, at most {} are supported; remove "
                    "some, or their labels and annotations",
                    bytes, limits::quota_bytes_in_namespace_max));
  }
  return std::nullopt;
}

std::optional<Status> QuotaKeeper::complete_namespace(std::string_view ns, std::span<const Item> items,
                                                      const View& view, Revision revision, Plan& plan) {
  std::vector<Loaded> quotas = load(ns, items, view, plan);
  const auto known = quotas_.find(ns);
  for (const Item& item : items)
    if (item.key.resource == quotas_key && item.key.ns == ns && item.kind == WriteKind::create &&
        known != quotas_.end() && known->second.size() >= limits::quotas_in_namespace_max)
      return Status::forbidden(
          "", std::string(quotas_key), item.key.name,
          fmt::format("a namespace can have at most {} ResourceQuotas", limits::quotas_in_namespace_max));
  if (auto problem = find_oversize(quotas)) return problem;
  if (usages_ == Usages::kept)
    for (Loaded& loaded : quotas) settle_status(loaded, ns, revision, plan);

  for (const Item& item : items) {
    if (item.key.ns != ns || !matters(item)) continue;
    // An update of what is only counted changes no number.
    if (item.kind == WriteKind::update && only_counted(item.key.resource)) continue;
    std::vector<std::size_t> asked;
    for (std::size_t i = 0; i < quotas.size(); ++i)
      if (quotas[i].written != &item && counts(quotas[i].quota(), item.key.resource)) asked.push_back(i);
    if (asked.empty()) continue;
    std::optional<Seen> before, after;
    if (item.before) before.emplace(item.key.resource, *item.before);
    if (item.after) after.emplace(item.key.resource, *item.after);
    const QuotaChange change = change_of(item.key, before ? &*before : nullptr, after ? &*after : nullptr);
    for (const std::size_t i : asked) {
      Loaded& loaded = quotas[i];
      if (auto problem = find_quota_problem(loaded.quota(), change)) return problem;
      Usage delta = quota_delta(loaded.quota(), change);
      if (usages_ == Usages::reported) {
        if (!change.after || !change.spec_changed) continue;
        std::erase_if(delta, [](const auto& one) { return one.second.sign() < 0; });
      }
      if (delta.empty()) continue;
      const Usage used = loaded.quota().used;
      apply_delta(loaded.edit().used, delta);
      loaded.changed = loaded.changed || used != loaded.quota().used;
      plan.deltas.emplace_back(Name(ns, loaded.name), Delta{revision, item.key.resource, std::move(delta)});
    }
  }

  for (Loaded& loaded : quotas) {
    if (loaded.true_since)
      plan.truths.emplace_back(Name(ns, loaded.name), Truth{*loaded.true_since, loaded.quota().used});
    if (!loaded.changed) continue;
    json::Document memory;
    memory.root() = load_object(*loaded.stored, memory.storage());
    json::Value& object = memory.root();
    write_status(object, loaded.quota().hard, loaded.quota().used);
    ObjectDraft draft = make_draft(object.get_object(), quota_resource());
    if (auto fits = check_stored_size(loaded.name, draft); !fits) return fits.error();
    const bool made = loaded.written && loaded.written->kind == WriteKind::create;
    plan.writes.push_back({.kind = made ? WriteKind::create : WriteKind::update,
                           .key = key_of(ns, loaded.name),
                           .object = std::move(draft)});
  }
  return std::nullopt;
}

void QuotaKeeper::carry_out(Plan& plan) {
  for (const auto& [ns, name] : plan.made) quotas_[ns].insert(name);
  for (const auto& [ns, name] : plan.gone) {
    const auto found = quotas_.find(ns);
    if (found == quotas_.end()) continue;
    found->second.erase(name);
    if (found->second.empty()) quotas_.erase(found);
  }
  if (usages_ == Usages::reported) return;
  const std::lock_guard lock(mutex_);
  for (const Name& name : plan.gone) counting_.erase(name);
  for (const auto& [name, from] : plan.begin) begin_counting(name, from);
  for (const auto& [name, revision] : plan.finish) {
    counting_[name].finished = true;
    counting_[name].finished_at = revision;
  }
  for (auto& [name, truth] : plan.truths)
    if (const auto found = counting_.find(name); found != counting_.end()) found->second.truth = std::move(truth);
  for (auto& [name, delta] : plan.deltas)
    if (const auto found = counting_.find(name);
        found != counting_.end() && !found->second.finished && delta.revision > found->second.from)
      found->second.deltas.push_back(std::move(delta));
}

std::optional<Status> QuotaKeeper::find_problem(const ObjectKey& key, const json::Object* before,
                                                const json::Object& after) const {
  if (store_->count(quotas_key) == 0) return std::nullopt;
  const auto page = store_->list({.resource = quotas_key, .ns = key.ns});
  if (!page) return page.error();  // nothing passes on an unknown answer
  if (page->objects.empty() || (before && only_counted(key.resource))) return std::nullopt;
  const bool open = !only_counted(key.resource);
  const QuotaFacts now = quota_facts(key.resource, open ? &after : nullptr);
  std::optional<QuotaFacts> then;
  if (before) then = quota_facts(key.resource, open ? before : nullptr);
  const QuotaChange change{.resource_key = key.resource,
                           .name = key.name,
                           .before = then ? &*then : nullptr,
                           .after = &now,
                           .pod = now.pod ? &after : nullptr,
                           .spec_changed = !before || !core_kinds::same_member(*before, after, "spec")};
  for (const ObjectPtr& stored : page->objects)
    if (auto problem = find_quota_problem(read_true(*stored), change)) return problem;
  return std::nullopt;
}

// As it is enforced, whatever its status says at the moment.
Quota QuotaKeeper::read_true(const StoredObject& stored) const {
  Quota quota = read_stored(stored);
  const std::lock_guard lock(mutex_);
  const auto found = counting_.find(Name(stored.ns(), stored.name()));
  if (found == counting_.end() || found->second.finished || !found->second.truth) return quota;
  quota.used = masked(found->second.truth->used, quota.spec_hard);
  quota.hard = enforceable(quota.spec_hard, quota.used);
  return quota;
}

// --- counting --------------------------------------------------------------------------------------------------------

void QuotaKeeper::start() {
  if (usages_ == Usages::kept && !thread_.joinable())
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void QuotaKeeper::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
  const std::lock_guard lock(mutex_);
  waiting_.clear();
}

void QuotaKeeper::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    Name name;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return !queue_.empty(); })) return;
      name = std::move(queue_.front());
      queue_.pop_front();
      queued_.erase(name);
    }
    const bool done = count_quota(name, stop);
    wake(name);
    if (done || stop.stop_requested()) continue;
    log::warning("a quota could not be counted; it is tried again", {{"namespace", name.first}, {"name", name.second}});
    std::unique_lock lock(mutex_);
    enqueue(name);
    changed_.wait_for(lock, stop, retry_interval, [] { return false; });
  }
}

void QuotaKeeper::wake(const Name& name) {
  std::vector<std::function<void()>> woken;
  {
    const std::lock_guard lock(mutex_);
    const auto [first, last] = waiting_.equal_range(name);
    for (auto at = first; at != last; ++at) woken.push_back(std::move(at->second));
    waiting_.erase(first, last);
  }
  for (const auto& call : woken) call();
}

// False: the store could not be read or written.
bool QuotaKeeper::count_quota(const Name& name, const std::stop_token& stop) {
  for (int attempt = 0; attempt < limits::quota_put_down_attempts_max && !stop.stop_requested(); ++attempt) {
    std::uint64_t id = 0;
    bool has_count = false;
    {
      std::unique_lock lock(mutex_);
      // What was taken before the quota was must be readable, or it would be counted neither here nor beside.
      const auto readable = [&] {
        const auto found = counting_.find(name);
        return found == counting_.end() || store_->revision() >= found->second.from;
      };
      while (!readable() && !stop.stop_requested())
        changed_.wait_for(lock, stop, published_interval, [] { return false; });
      const auto found = counting_.find(name);
      if (stop.stop_requested() || found == counting_.end()) return true;
      if (found->second.finished) {
        counting_.erase(found);
        return true;
      }
      id = found->second.id;
      has_count = found->second.count.has_value();
    }
    const ObjectPtr stored = store_->get(quotas_key, name.first, name.second);
    if (!stored) return true;
    if (!has_count) {
      auto counted = count(name.first, read_stored(*stored), stop);
      if (!counted) return false;
      const std::lock_guard lock(mutex_);
      const auto found = counting_.find(name);
      if (found == counting_.end()) return true;
      if (found->second.id != id) continue;
      found->second.count = std::move(counted);
    }
    put_down(name, *stored, stop);
  }
  return false;
}

std::optional<QuotaKeeper::Count> QuotaKeeper::count(std::string_view ns, const Quota& quota,
                                                     const std::stop_token& stop) const {
  Count count;
  std::set<std::string> resources;
  for (const auto& [name, limit] : quota.spec_hard)
    if (auto resource = counted_resource(name)) {
      resources.insert(std::move(*resource));
      count.used.emplace(name, Quantity());
    }
  for (const std::string& resource : resources) {
    const auto page = store_->list({.resource = resource, .ns = ns});
    if (!page) return std::nullopt;
    count.seen.emplace(resource, page->revision);
    if (only_counted(resource)) {
      const QuotaFacts facts = quota_facts(resource, nullptr);
      if (!matches_scopes(quota, facts)) continue;
      for (const auto& [name, each] : facts.usage)
        apply_delta(count.used, {{name, each * static_cast<std::int64_t>(page->objects.size())}});
      continue;
    }
    for (const ObjectPtr& stored : page->objects) {
      if (stop.stop_requested()) return std::nullopt;
      const Seen seen(resource, *stored);
      if (matches_scopes(quota, seen.facts)) apply_delta(count.used, seen.facts.usage);
    }
  }
  return count;
}

// Writes the quota as it is: whatever writes it, or takes of it, puts down what was counted (settle_status).
void QuotaKeeper::put_down(const Name& name, const StoredObject& stored, const std::stop_token& stop) {
  json::Document memory;
  json::Value old = load_object(stored, memory.storage());
  json::Value object(old, memory.storage());
  {
    const std::lock_guard lock(mutex_);
    const auto found = counting_.find(name);
    if (found == counting_.end() || !found->second.count) return;
    write_status(object, read_quota(object.get_object()).spec_hard, found->second.count->used);
  }
  const std::string now = print_rfc3339(Timestamp::from(clock_.wall_now()));
  note_own_write(object, &old, quota_resource(),
                 {.manager = own_writers::controller_manager, .subresource = "status", .now = now});
  Transaction transaction;
  transaction.writes.push_back({.kind = WriteKind::update,
                                .key = stored.key(),
                                .expected_revision = stored.revision(),
                                .expected_uid = {},
                                .object = make_draft(object.get_object(), quota_resource())});
  {
    const std::lock_guard lock(mutex_);
    putting_down_ = name;
  }
  auto answered = std::make_shared<std::promise<bool>>();
  auto written = answered->get_future();
  store_->submit(std::move(transaction), [answered](Result<CommitOutcome> outcome) {
    // Where somebody else wrote the quota meanwhile, they put it down.
    answered->set_value(outcome || outcome.error().code == 409 || outcome.error().code == 404);
  });
  while (written.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready)
    if (stop.stop_requested()) return;
  const bool done = written.get();
  std::unique_lock lock(mutex_);
  putting_down_.reset();
  if (done) return;
  changed_.wait_for(lock, stop, retry_interval / 4, [] { return false; });
}

namespace {

// Resumes on the core, once.
class Resumed {
 public:
  struct State {
    std::coroutine_handle<> waiting;  // only touched on the core
  };
  using Subscribe = std::function<bool(std::function<void()>)>;

  Resumed(Core& core, Subscribe subscribe) : core_(core), subscribe_(std::move(subscribe)) {}
  Resumed(const Resumed&) = delete;
  Resumed& operator=(const Resumed&) = delete;
  ~Resumed() {
    if (state_) state_->waiting = nullptr;
  }
  bool await_ready() const { return false; }
  bool await_suspend(std::coroutine_handle<> coroutine) {
    state_ = std::make_shared<State>(coroutine);
    return subscribe_([state = state_, &core = core_] {
      core.post([state] {
        if (state->waiting) std::exchange(state->waiting, nullptr).resume();
      });
    });
  }
  void await_resume() const {}

 private:
  Core& core_;
  Subscribe subscribe_;
  std::shared_ptr<State> state_;
};

}  // namespace

Task<void> QuotaKeeper::counted(Core& core, ObjectKey quota) {
  const Name name(quota.ns, quota.name);
  co_await Resumed(core, [&](std::function<void()> call) {
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable() || !counting_.contains(name)) return false;
    waiting_.emplace(name, std::move(call));
    return true;
  });
}

}  // namespace vg::resources
