#include "store/embedded_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

#include "base/phrases.h"

namespace vg::store {
namespace {

// A watch with a narrow query may pass over many changes; it gives the lock back after so many.
constexpr std::size_t changes_scanned_max = 2048;
// What one batch of a watch may open. Whoever reads slowly holds a batch all the while, and there are thousands of
// watches; a change that is larger by itself comes alone.
constexpr std::size_t watch_batch_bytes = 256 * limits::kib;
// Without traffic the writer looks after its age limit this often.
constexpr std::chrono::seconds idle_interval{30};
// Nobody wrote for this long: a good moment to move the write-ahead log.
constexpr std::chrono::milliseconds quiet_interval{200};
// While the log cannot be moved it grows with every write; at so many times its usual size writing stops.
constexpr std::size_t wal_growth_max = 32;

struct KeyView {
  std::string_view resource;
  std::string_view ns;
  std::string_view name;
  bool operator==(const KeyView&) const = default;
};
KeyView view(const ObjectKey& key) { return {key.resource, key.ns, key.name}; }

struct KeyHash {
  std::size_t operator()(const KeyView& key) const {
    const std::hash<std::string_view> hash;
    return (hash(key.name) * 31 + hash(key.ns)) * 31 + hash(key.resource);
  }
};

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

// A start that is refused: there is no request to blame, so no words of one either.
Status refusal(std::string_view path, std::string_view reason, bool damaged) {
  constexpr std::string_view way_out =
      ". Nothing was changed. \"virtgate state check\" shows what is damaged, \"virtgate state export\" saves what can "
      "be read; then restore the missing file or a backup (\"virtgate restore\"), or accept the loss "
      "(\"virtgate state accept-loss\")";
  return {.code = 500,
          .reason = std::string(damaged ? lost_or_damaged : "InternalError"),
          .message = fmt::format("cannot open the store {}: {}{}", path, reason, damaged ? way_out : ""),
          .details = {}};
}

Status not_written(std::string_view reason, bool unknown) {
  if (!unknown) return Status::unavailable(fmt::format("nothing was changed: {}", reason));
  // After a sync that failed nobody can say what is on the disk: a crash before the next write may bring it back.
  return Status::internal_error(
      fmt::format("the outcome of this write is unknown: {}; read the object before you try again", reason));
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

std::uint32_t now_ms() {
  using std::chrono::duration_cast, std::chrono::milliseconds;
  return static_cast<std::uint32_t>(
      duration_cast<milliseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

std::size_t open_bytes(const Change& change) {
  return sizeof(Change) + change.object->memory_bytes() + (change.previous ? change.previous->memory_bytes() : 0);
}

Record record_of(const Change& change) {
  const auto& object = *change.object;
  Record record;
  record.object = {.resource = object.resource(),
                   .ns = object.ns(),
                   .name = object.name(),
                   .stamp = {.revision = change.revision, .ordinal = change.ordinal}};
  if (change.type == ChangeType::removed) {
    record.tombstone = true;
    return record;
  }
  record.object.uid = object.uid();
  record.object.facts = object.facts();
  record.object.json = object.json();
  record.object.revision_offset = object.revision_offset();
  record.object.stamp.created_revision = object.created_revision();
  return record;
}

}  // namespace

struct EmbeddedStore::Batch {
  struct Answer {
    Completion done;
    Result<CommitOutcome> outcome;
  };
  Revision revision = 0;  // of the last transaction that was taken
  std::vector<Change> changes;
  std::vector<LogEntry> entries;                          // the same changes, as they are kept
  std::unordered_map<KeyView, KeptPtr, KeyHash> written;  // the newest of each key in the batch; null: removed
  std::vector<Answer> answers;                            // to be given once the batch is durable
  std::size_t transactions = 0;
};

// --- opening and closing ------------------------------------------------------------------------------------------

EmbeddedStore::EmbeddedStore(Options options) : options_(std::move(options)) {}

Result<std::unique_ptr<EmbeddedStore>> EmbeddedStore::open(Options options) {
  std::unique_ptr<EmbeddedStore> store(new EmbeddedStore(std::move(options)));
  auto& own = store->options_;
  auto file = RecordFile::open({.path = own.path, .vfs = own.vfs, .boot = own.boot, .cipher = own.cipher});
  if (!file) return fail(refusal(own.path, file.error().message, file.error().reason == lost_or_damaged));
  store->file_ = std::move(*file);
  if (auto loaded = store->load(); !loaded) {
    return fail(refusal(own.path, loaded.error(), store->file_->damaged()));
  }
  store->writer_ = std::thread([self = store.get()] { self->run(); });
  return store;
}

EmbeddedStore::~EmbeddedStore() {
  if (!writer_.joinable()) return;
  {
    const std::lock_guard lock(queue_mutex_);
    stopping_ = true;
  }
  queue_filled_.notify_one();
  writer_.join();
}

DiskResult EmbeddedStore::load() {
  revision_ = file_->seal().revision;
  const auto& compacted = file_->compacted();
  if (const auto all = compacted.find(every_resource); all != compacted.end()) floor_ = all->second;
  for (const auto& [resource, revision] : compacted) {
    if (resource == every_resource) continue;
    auto& state = *resource_entry(resource).second;
    state.compacted = std::max(state.compacted, revision);
  }
  if (auto loaded = file_->load([this](const Record& record) { return load_record(record); }); !loaded) return loaded;
  return file_->accept();
}

DiskResult EmbeddedStore::load_record(const Record& record) {
  auto& entry = resource_entry(record.object.resource);
  auto& state = *entry.second;
  const auto& stamp = record.object.stamp;
  LogEntry change{.revision = stamp.revision, .at_ms = now_ms(), .ordinal = stamp.ordinal};
  if (record.tombstone) {
    change.type = ChangeType::removed;
    change.previous = state.index.erase({record.object.ns, record.object.name});
    change.object = change.previous;
    if (!change.object) {
      file_->damage({});
      return std::unexpected(fmt::format("the record of {} {}/{} that was deleted at revision {} is missing",
                                         record.object.resource, record.object.ns, record.object.name, stamp.revision));
    }
  } else {
    auto parts = record.object;
    parts.stamp = {};
    change.object = packer(parts.resource).pack(*StoredObject::make(parts), stamp);
    change.previous = state.index.put(change.object);
    change.type = change.previous ? ChangeType::modified : ChangeType::added;
  }
  index_owners(change);
  revision_ = std::max(revision_, stamp.revision);
  append_to_log(state, std::move(change));
  // A change that was compacted when the store closed may still have rows; leaving the log again removes them.
  if (stamp.revision <= state.compacted || state.log.size() > options_.log_changes_max ||
      state.log_bytes > options_.log_bytes_max) {
    Leaving leaving;
    shrink_log(entry, leaving);
  }
  return {};
}

Packer& EmbeddedStore::packer(std::string_view resource) {
  const auto found = packers_.find(resource);
  return found != packers_.end() ? found->second : packers_.emplace(std::string(resource), Packer()).first->second;
}

// --- the state in memory ------------------------------------------------------------------------------------------

EmbeddedStore::Resources::value_type& EmbeddedStore::resource_entry(std::string_view resource) {
  const auto found = resources_.find(resource);
  if (found != resources_.end()) return *found;
  auto& entry = *resources_.emplace(std::string(resource), std::make_unique<ResourceState>()).first;
  entry.second->compacted = floor_;
  return entry;
}

const EmbeddedStore::ResourceState* EmbeddedStore::find_resource(std::string_view resource) const {
  const auto found = resources_.find(resource);
  return found == resources_.end() ? nullptr : found->second.get();
}

void EmbeddedStore::index_owners(const LogEntry& change, const Change* open) {
  const std::hash<std::string_view> hash;
  if (change.previous && change.previous->has_owners()) {
    const ObjectPtr previous = open ? open->previous : change.previous->open();
    previous->for_each_owner([&](std::string_view owner) { owners_.erase({hash(owner), change.previous}); });
  }
  if (change.type != ChangeType::removed && change.object->has_owners()) {
    const ObjectPtr object = open ? open->object : change.object->open();
    object->for_each_owner([&](std::string_view owner) { owners_.emplace(hash(owner), change.object); });
  }
}

std::size_t EmbeddedStore::LogEntry::cost_bytes() const {
  return sizeof(LogEntry) + (previous ? previous->open_bytes() : 0);
}

std::size_t EmbeddedStore::LogEntry::open_bytes() const {
  return object->open_bytes() + (previous && previous != object ? previous->open_bytes() : 0);
}

Change EmbeddedStore::LogEntry::open() const {
  Change change{.revision = revision, .type = type, .ordinal = ordinal, .object = object->open()};
  if (previous) change.previous = previous == object ? change.object : previous->open();
  return change;
}

void EmbeddedStore::append_to_log(ResourceState& state, LogEntry entry) {
  state.log_bytes += entry.cost_bytes();
  state.log.push_back(std::move(entry));
}

void EmbeddedStore::append_recent(ResourceState& state, const Change& change, Leaving& leaving) {
  state.recent_bytes += open_bytes(change);
  state.recent.push_back(change);
  while (state.recent_bytes > options_.recent_bytes_max) {
    state.recent_bytes -= open_bytes(state.recent.front());
    leaving.changes.push_back(std::move(state.recent.front()));
    state.recent.pop_front();
  }
}

void EmbeddedStore::shrink_log(Resources::value_type& entry, Leaving& leaving) {
  auto& [resource, state] = entry;
  const auto age = [now = now_ms()](const LogEntry& change) { return std::chrono::milliseconds(now - change.at_ms); };
  const auto too_much = [&, &log = *state] {
    const auto& oldest = log.log.front();
    // What was done under one revision also leaves together.
    return oldest.revision <= log.compacted || log.log.size() > options_.log_changes_max ||
           log.log_bytes > options_.log_bytes_max || age(oldest) > options_.log_age_max;
  };
  while (!state->log.empty() && too_much()) {
    auto& change = state->log.front();
    state->compacted = std::max(state->compacted, change.revision);
    state->log_bytes -= change.cost_bytes();
    if (change.previous) {
      obsolete_.push_back(
          {.resource = &resource,
           .compacted = change.revision,
           .ids = {record_id(change.previous->revision(), change.previous->ordinal()),
                   change.type == ChangeType::removed ? record_id(change.revision, change.ordinal) : 0}});
    }
    leaving.entries.push_back(std::move(change));
    state->log.pop_front();
    ++state->log_start;
  }
}

// --- reading ------------------------------------------------------------------------------------------------------

Revision EmbeddedStore::revision() const {
  const std::shared_lock lock(mutex_);
  return revision_;
}

ObjectPtr EmbeddedStore::get(std::string_view resource, std::string_view ns, std::string_view name) const {
  KeptPtr kept;
  {
    const std::shared_lock lock(mutex_);
    if (const auto* state = find_resource(resource)) kept = state->index.get({ns, name});
  }
  return kept ? kept->open() : nullptr;
}

std::vector<std::string> EmbeddedStore::resources() const {
  std::vector<std::string> names;
  const std::shared_lock lock(mutex_);
  for (const auto& [name, state] : resources_) {
    if (state->index.size() > 0) names.push_back(name);
  }
  return names;
}

std::size_t EmbeddedStore::count(std::string_view resource) const {
  const std::shared_lock lock(mutex_);
  const auto* state = find_resource(resource);
  return state == nullptr ? 0 : state->index.size();
}

Revision EmbeddedStore::oldest_revision(std::string_view resource) const {
  const std::shared_lock lock(mutex_);
  const auto* state = find_resource(resource);
  return state == nullptr ? floor_ : state->compacted;
}

Result<void> EmbeddedStore::check_revision(const ResourceState* state, Revision revision) const {
  if (revision > revision_) {
    return fail(Status::timeout(phrases::too_large_version(fmt::to_string(revision), fmt::to_string(revision_)), 1));
  }
  if (const auto oldest = state == nullptr ? floor_ : state->compacted; revision < oldest) {
    return fail(Status::expired(phrases::too_old_version(fmt::to_string(revision), fmt::to_string(oldest))));
  }
  return {};
}

// The objects of a range as they were at an earlier revision: what changed since then is undone where it comes along.
class EmbeddedStore::Walk {
 public:
  Walk(ObjectIndex::Range range, std::vector<LogEntry> later) : range_(std::move(range)) {
    if (later.empty()) return;
    // Going back in time, the oldest change of a name has the last word.
    std::ranges::sort(later, [](const LogEntry& a, const LogEntry& b) {
      const auto order = name_of(*a.object) <=> name_of(*b.object);
      return order != 0 ? order < 0 : a.revision < b.revision;
    });
    const auto same = [](const LogEntry& a, const LogEntry& b) { return name_of(*a.object) == name_of(*b.object); };
    later.erase(std::unique(later.begin(), later.end(), same), later.end());
    undone_ = std::make_shared<const std::vector<LogEntry>>(std::move(later));
  }

  // Null at the end.
  KeptPtr next() {
    while (!range_.empty() || undo_ < undone_size()) {
      const auto order = range_.empty()           ? std::strong_ordering::greater
                         : undo_ == undone_size() ? std::strong_ordering::less
                                                  : name_of(*range_.front()) <=> name_of(*(*undone_)[undo_].object);
      KeptPtr object = order < 0 ? range_.front() : (*undone_)[undo_].previous;  // null: it was not there
      if (order <= 0) range_.pop_front();
      if (order >= 0) ++undo_;
      if (object) return object;
    }
    return nullptr;
  }

  void skip(std::size_t objects) {
    if (objects > 0 && undo_ == undone_size()) {
      range_ = range_.without_first(objects);
      return;
    }
    for (; objects > 0 && next(); --objects) continue;
  }

  std::size_t left() const {
    auto count = range_.size();
    for (auto undo = undo_; undo < undone_size(); ++undo) {
      const auto& change = (*undone_)[undo];
      const bool now = range_.find(name_of(*change.object)) != nullptr;
      if (now && !change.previous) --count;
      if (!now && change.previous) ++count;
    }
    return count;
  }

 private:
  std::size_t undone_size() const { return undone_ ? undone_->size() : 0; }

  ObjectIndex::Range range_;
  std::shared_ptr<const std::vector<LogEntry>> undone_;  // by name, each once
  std::size_t undo_ = 0;
};

// What a list found.
class EmbeddedStore::Page final : public ObjectList::Source {
 public:
  void reserve(std::size_t objects) { objects_.reserve(objects); }
  void add(KeptPtr object) {
    bytes_ += object->open_bytes();
    objects_.push_back(std::move(object));
  }
  std::size_t size() const override { return objects_.size(); }
  ObjectPtr open(std::size_t at) const override { return objects_[at]->open(); }
  std::size_t bytes() const override { return bytes_; }

 private:
  std::vector<KeptPtr> objects_;
  std::size_t bytes_ = 0;
};

// A list of everything, which may be long: nothing is looked at before its turn comes. Made to be read from the
// beginning to the end.
class EmbeddedStore::LongPage final : public ObjectList::Source {
 public:
  explicit LongPage(const Walk& walk) : size_(walk.left()), start_(walk), walk_(walk) {}
  std::size_t size() const override { return size_; }
  ObjectPtr open(std::size_t at) const override {
    if (at < at_) {
      walk_ = start_;
      at_ = 0;
    }
    walk_.skip(at - at_);
    at_ = at + 1;
    return walk_.next()->open();
  }
  std::size_t bytes() const override {
    std::size_t bytes = 0;
    auto walk = start_;
    while (const auto object = walk.next()) bytes += object->open_bytes();
    return bytes;
  }

 private:
  const std::size_t size_;
  const Walk start_;
  mutable Walk walk_;
  mutable std::size_t at_ = 0;  // which one walk_ gives next
};

ObjectList EmbeddedStore::owned_by(std::string_view owner_uid) const {
  const auto hash = std::hash<std::string_view>()(owner_uid);
  auto found = std::make_unique<Page>();
  const std::shared_lock lock(mutex_);
  for (auto entry = owners_.lower_bound({hash, nullptr}); entry != owners_.end() && entry->first == hash; ++entry)
    found->add(entry->second);
  return ObjectList(std::move(found));
}

Result<ListPage> EmbeddedStore::list(const ListQuery& query) const {
  ListPage page;
  ObjectIndex::Snapshot snapshot;
  std::vector<LogEntry> later;
  const NameView after{query.after_ns, query.after_name};
  const bool continued = !after.name.empty();
  const auto concerned = [&](NameView name) {
    return (query.ns.empty() || name.ns == query.ns) && (!continued || after < name);
  };
  {
    const std::shared_lock lock(mutex_);
    const auto* state = find_resource(query.resource);
    page.revision = query.at_revision == 0 ? revision_ : query.at_revision;
    if (auto possible = check_revision(state, page.revision); !possible) return fail(std::move(possible.error()));
    if (state == nullptr) return page;
    snapshot = state->index.snapshot();
    for (auto entry = state->log.rbegin(); entry != state->log.rend() && entry->revision > page.revision; ++entry) {
      if (concerned(name_of(*entry->object))) later.push_back(*entry);
    }
  }
  // From here on nothing is locked.
  auto range = query.ns.empty() ? snapshot.all() : snapshot.of_namespace(query.ns);
  if (continued) range = range.behind(after);
  Walk walk(std::move(range), std::move(later));
  if (!query.matches && query.limit == 0) {
    page.objects = ObjectList(std::make_unique<LongPage>(walk));
    return page;
  }
  auto found = std::make_unique<Page>();
  const auto available = query.matches ? 0 : walk.left();
  found->reserve(std::min(query.limit, available));
  KeptObject::Reader reader;
  while (query.limit == 0 || found->size() < query.limit) {
    auto object = walk.next();
    if (!object) break;
    if (!query.matches || query.matches(reader.open(*object))) found->add(std::move(object));
  }
  page.remaining = query.matches ? walk.left() : available - found->size();
  page.objects = ObjectList(std::move(found));
  return page;
}

// --- watching -----------------------------------------------------------------------------------------------------

class EmbeddedStore::Cursor final : public Watch {
 public:
  Cursor(EmbeddedStore& store, WatchQuery query, Waker waker)
      : store_(store), query_(std::move(query)), subscription_(query_, std::move(waker)) {
    store_.hub_.add(subscription_);
  }
  ~Cursor() override { store_.hub_.remove(subscription_); }

  // With the store's lock held.
  void start(std::uint64_t place) { place_ = place; }

  Result<WatchBatch> next(std::size_t max_changes) override {
    std::vector<LogEntry> older;
    auto batch = take(max_changes, older);
    if (!batch || older.empty()) return batch;
    // Opened without the lock. They come first, since the recent ones are the newest.
    std::vector<Change> changes;
    changes.reserve(older.size() + batch->changes.size());
    for (const auto& entry : older) changes.push_back(entry.open());
    std::ranges::move(batch->changes, std::back_inserter(changes));
    batch->changes = std::move(changes);
    return batch;
  }

 private:
  // What is not recent goes to `older`.
  Result<WatchBatch> take(std::size_t max_changes, std::vector<LogEntry>& older) {
    WatchBatch batch;
    const std::shared_lock lock(store_.mutex_);
    const auto* state = store_.find_resource(query_.resource);
    const auto end = state == nullptr ? 0 : state->log_start + state->log.size();
    if (state != nullptr && place_ < state->log_start) {
      return fail(Status::expired(
          fmt::format("{}: the watch fell behind, changes before {} are gone; list again and watch from the version of "
                      "that list",
                      phrases::version_too_old, state->compacted)));
    }
    const auto stop = std::min(end, place_ + changes_scanned_max);
    const auto recent_start = state == nullptr ? 0 : end - state->recent.size();
    const auto taken = [&] { return older.size() + batch.changes.size(); };
    std::size_t bytes = 0;
    for (; place_ < stop && taken() < std::max<std::size_t>(max_changes, 1); ++place_) {
      const auto& change = state->log[place_ - state->log_start];
      if (!takes(*change.object)) continue;
      bytes += change.open_bytes();
      if (taken() > 0 && bytes > watch_batch_bytes) break;
      if (place_ >= recent_start) {
        batch.changes.push_back(state->recent[place_ - recent_start]);
      } else {
        older.push_back(change);
      }
    }
    batch.more = place_ < end;
    if (batch.more) {
      batch.progress = state->log[place_ - state->log_start].revision - 1;
    } else {
      batch.progress = store_.revision_;
      // Under the lock: a change that is not in this batch is published after this and finds the watch armed.
      subscription_.arm();
    }
    return batch;
  }

  bool takes(const KeptObject& object) const {
    return (query_.ns.empty() || query_.ns == object.ns()) && (query_.name.empty() || query_.name == object.name());
  }

  EmbeddedStore& store_;
  const WatchQuery query_;
  WatchHub::Subscription subscription_;
  std::uint64_t place_ = 0;
};

Result<std::unique_ptr<Watch>> EmbeddedStore::watch(WatchQuery query, Waker waker) {
  const auto resource = query.resource;
  const auto from = query.from_revision;
  auto cursor = std::make_unique<Cursor>(*this, std::move(query), std::move(waker));
  const std::shared_lock lock(mutex_);
  const auto* state = find_resource(resource);
  if (auto possible = check_revision(state, from); !possible) return fail(std::move(possible.error()));
  if (state != nullptr) {
    const auto first =
        std::upper_bound(state->log.begin(), state->log.end(), from,
                         [](Revision revision, const LogEntry& entry) { return revision < entry.revision; });
    cursor->start(state->log_start + static_cast<std::uint64_t>(first - state->log.begin()));
  }
  return cursor;
}

// --- writing ------------------------------------------------------------------------------------------------------

Result<EmbeddedStore::PreparedWrite> EmbeddedStore::prepare(Write& write) const {
  const auto& key = write.key;
  if (key.resource.empty() || key.name.empty()) return fail(Status::internal_error("an object without a name"));
  for (const auto& part : {std::string_view(key.resource), std::string_view(key.ns), std::string_view(key.name),
                           std::string_view(write.object.uid)}) {
    if (part.size() > options_.key_bytes_max) return fail(Status::bad_request("the name of the object is too long"));
  }
  PreparedWrite prepared{write.kind, std::move(write.key), write.expected_revision, std::move(write.expected_uid),
                         nullptr};
  if (write.kind == WriteKind::remove) return prepared;
  const auto& draft = write.object;
  if (draft.json.size() > options_.object_bytes_max) {
    return fail(Status::too_large(fmt::format("the object \"{}\" has {} bytes as JSON, at most {} are supported",
                                              prepared.key.name, draft.json.size(), options_.object_bytes_max)));
  }
  const auto offset = draft.revision_offset;
  if (offset == 0 || offset >= draft.json.size() || (draft.json[offset] != '"' && draft.json[offset] != '}')) {
    return fail(Status::internal_error("the place of the resource version in the object is not one"));
  }
  const auto facts = pack_facts(draft);
  // Made here and not by the writer: whatever every submitter can do for itself, the one writer need not.
  prepared.object = StoredObject::make({.resource = prepared.key.resource,
                                        .ns = prepared.key.ns,
                                        .name = prepared.key.name,
                                        .uid = draft.uid,
                                        .facts = facts,
                                        .json = draft.json,
                                        .revision_offset = offset});
  return prepared;
}

Result<EmbeddedStore::Pending> EmbeddedStore::prepare(Transaction& transaction) const {
  if (transaction.writes.empty()) return fail(Status::internal_error("a transaction that writes nothing"));
  if (transaction.writes.size() > transaction_writes_max || transaction.preconditions.size() > transaction_writes_max) {
    return fail(Status::too_large(fmt::format("a transaction must have at most {} objects", transaction_writes_max)));
  }
  Pending pending;
  pending.writes.reserve(transaction.writes.size());
  std::unordered_set<KeyView, KeyHash> keys;
  for (auto& write : transaction.writes) {
    auto prepared = prepare(write);
    if (!prepared) return fail(std::move(prepared.error()));
    const auto& key = prepared->key;
    pending.bytes += sizeof(PreparedWrite) + key.resource.size() + key.ns.size() + key.name.size();
    if (prepared->object) pending.bytes += prepared->object->memory_bytes();
    pending.writes.push_back(std::move(*prepared));
  }
  if (pending.writes.size() > 1) {
    for (const auto& write : pending.writes) {
      if (!keys.insert(view(write.key)).second)
        return fail(Status::internal_error("a transaction writes one object twice"));
    }
  }
  pending.preconditions = std::move(transaction.preconditions);
  return pending;
}

void EmbeddedStore::submit(Transaction transaction, Completion done) {
  auto pending = prepare(transaction);
  if (!pending) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return done(fail(std::move(pending.error())));
  }
  pending->done = std::move(done);
  std::unique_lock lock(queue_mutex_);
  if (stopping_) {
    lock.unlock();
    return pending->done(fail(Status::unavailable("the server is stopping")));
  }
  if (queue_.size() >= options_.queue_transactions_max ||
      (!queue_.empty() && queue_bytes_ + pending->bytes > options_.queue_bytes_max)) {
    lock.unlock();
    overloaded_.fetch_add(1, std::memory_order_relaxed);
    return pending->done(
        fail(Status::too_many_requests("too many writes are queued for the disk; try again in a second", 1)));
  }
  queue_bytes_ += pending->bytes;
  queue_.push_back(std::move(*pending));
  const bool first = queue_.size() == 1;
  lock.unlock();
  if (first) queue_filled_.notify_one();  // the writer only ever waits for an empty queue
}

void EmbeddedStore::run() {
  std::vector<Pending> batch;
  for (;;) {
    {
      std::unique_lock lock(queue_mutex_);
      auto patience = std::chrono::steady_clock::duration(idle_interval);
      if (!health_.ok) {
        patience = options_.probe_interval;
      } else if (rows_went_ || shrinking_ || file_->wal_bytes() >= options_.wal_bytes_max / 4) {
        patience = quiet_interval;
      }
      queue_filled_.wait_for(lock, patience, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty() && stopping_) return;
      std::size_t weight = 0;
      while (!queue_.empty() && batch.size() < options_.batch_transactions_max) {
        weight += weight_bytes(queue_.front());
        if (!batch.empty() && weight > options_.batch_bytes_max) break;
        queue_bytes_ -= queue_.front().bytes;
        batch.push_back(std::move(queue_.front()));
        queue_.pop_front();
      }
    }
    if (batch.empty()) {
      when_idle();
      continue;
    }
    run_batch(batch);
    batch.clear();
    checkpoint_if(options_.wal_bytes_max);
  }
}

// What a batch holds for it: also the versions that it replaces or removes, which are opened for those who watch. Only
// the writer asks, and nobody else changes the index.
std::size_t EmbeddedStore::weight_bytes(const Pending& pending) const {
  std::size_t bytes = pending.bytes;
  for (const auto& write : pending.writes) {
    if (write.kind == WriteKind::create) continue;
    const auto* state = find_resource(write.key.resource);
    if (const auto kept = state ? state->index.get({write.key.ns, write.key.name}) : nullptr)
      bytes += kept->open_bytes();
  }
  return bytes;
}

KeptPtr EmbeddedStore::newest(const ObjectKey& key, const Batch& batch) const {
  const auto written = batch.written.find(view(key));
  if (written != batch.written.end()) return written->second;
  const auto* state = find_resource(key.resource);
  return state == nullptr ? nullptr : state->index.get({key.ns, key.name});
}

Result<void> EmbeddedStore::check(const Pending& pending, const Batch& batch) const {
  for (const auto& wanted : pending.preconditions) {
    if (auto held = check_expected(wanted, newest(wanted.key, batch).get()); !held) return held;
  }
  for (const auto& write : pending.writes) {
    const auto found = newest(write.key, batch);
    if (write.kind == WriteKind::create) {
      if (found) return fail(already_exists(write.key, *found));
      continue;
    }
    if (!found) return fail(not_found(write.key));
    if (auto held = check_expected(write.key, *found, write.expected_revision, write.expected_uid); !held) return held;
  }
  return {};
}

class EmbeddedStore::GuardView final : public CommitGuard::View {
 public:
  GuardView(const EmbeddedStore& store, const Batch& batch) : store_(store), batch_(batch) {}
  ObjectPtr newest(const ObjectKey& key) const override {
    const auto kept = store_.newest(key, batch_);
    return kept ? kept->open() : nullptr;
  }

 private:
  const EmbeddedStore& store_;
  const Batch& batch_;
};

// Puts what the guard adds behind the transaction's own writes.
Result<void> EmbeddedStore::ask_guard(Pending& pending, const Batch& batch) {
  std::vector<CommitGuard::Item> items;
  items.reserve(pending.writes.size());
  for (const auto& write : pending.writes) {
    const auto kept = write.kind == WriteKind::create ? nullptr : newest(write.key, batch);
    items.push_back(
        {.kind = write.kind, .key = write.key, .before = kept ? kept->open() : nullptr, .after = write.object.get()});
  }
  auto added = options_.guard->complete(items, GuardView(*this, batch), batch.revision + 1);
  if (!added) return fail(std::move(added.error()));
  const std::size_t own = pending.writes.size();
  for (auto& write : *added) {
    auto prepared = prepare(write);
    if (!prepared) return fail(std::move(prepared.error()));
    const auto same = std::ranges::find(pending.writes, prepared->key, &PreparedWrite::key);
    if (same != pending.writes.end()) {
      same->object = std::move(prepared->object);
    } else {
      // The revision that the guard saw is the newest: nobody else writes meanwhile.
      pending.writes.push_back(std::move(*prepared));
    }
  }
  pending.own_writes = own;
  return {};
}

void EmbeddedStore::stage(Pending& pending, Batch& batch) {
  // An answer that rests on another transaction of this batch must wait for the batch: if that fails, it was not true.
  const auto in_batch = [&](const auto& item) { return batch.written.contains(view(item.key)); };
  const bool durable_grounds =
      std::ranges::none_of(pending.writes, in_batch) && std::ranges::none_of(pending.preconditions, in_batch);
  const auto answer = [&](Result<CommitOutcome> outcome) {
    if (durable_grounds) return pending.done(std::move(outcome));
    batch.answers.push_back({std::move(pending.done), std::move(outcome)});
  };
  if (auto possible = check(pending, batch); !possible) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return answer(fail(std::move(possible.error())));
  }
  pending.own_writes = pending.writes.size();
  const auto concerns = [&](const PreparedWrite& write) { return options_.guard->concerns(write.key); };
  if (options_.guard && std::ranges::any_of(pending.writes, concerns)) {
    if (auto possible = ask_guard(pending, batch); !possible) {
      refused_.fetch_add(1, std::memory_order_relaxed);
      // The guard may have looked at whatever this batch wrote.
      batch.answers.push_back({std::move(pending.done), fail(std::move(possible.error()))});
      return;
    }
  }
  CommitOutcome outcome;
  outcome.objects.reserve(pending.writes.size());
  bool changes = false;
  for (auto& write : pending.writes) {
    const auto kept = newest(write.key, batch);
    auto previous = kept ? kept->open() : nullptr;
    if (write.kind == WriteKind::update && write.object->json() == previous->json()) {
      outcome.objects.push_back(std::move(previous));  // as with etcd: the same bytes are no new version
      continue;
    }
    if (!std::exchange(changes, true)) ++batch.revision;
    const auto ordinal = static_cast<std::uint16_t>(outcome.objects.size());
    Change change{.revision = batch.revision, .ordinal = ordinal, .previous = previous};
    LogEntry entry{.previous = kept, .revision = batch.revision, .ordinal = ordinal};
    if (write.kind == WriteKind::remove) {
      change.type = ChangeType::removed;
      change.object = std::move(previous);
      entry.object = kept;
    } else {
      change.type = previous ? ChangeType::modified : ChangeType::added;
      const Stamp stamp{.revision = batch.revision,
                        .created_revision = previous ? previous->created_revision() : batch.revision,
                        .ordinal = ordinal};
      entry.object = packer(write.key.resource).pack(*write.object, stamp);
      write.object->stamp(stamp);
      change.object = std::move(write.object);
    }
    entry.type = change.type;
    batch.written.insert_or_assign(view(write.key), write.kind == WriteKind::remove ? nullptr : entry.object);
    outcome.objects.push_back(change.object);
    batch.changes.push_back(std::move(change));
    batch.entries.push_back(std::move(entry));
  }
  outcome.objects.resize(pending.own_writes);
  outcome.revision = batch.revision;
  if (!changes) return answer(std::move(outcome));
  ++batch.transactions;
  batch.answers.push_back({std::move(pending.done), std::move(outcome)});
}

void EmbeddedStore::run_batch(std::vector<Pending>& pending) {
  Batch batch;
  batch.revision = revision_;
  batch.answers.reserve(pending.size());
  for (auto& transaction : pending) stage(transaction, batch);
  if (!batch.changes.empty()) {
    if (auto written = write(batch); !written) {
      failed_.fetch_add(batch.answers.size(), std::memory_order_relaxed);
      write_problem_ = std::move(written.error());
      report_health();
      const auto status = not_written(write_problem_, file_->outcome_unknown());
      if (options_.guard) options_.guard->undone();
      for (auto& answer : batch.answers) answer.done(fail(status));
      return;
    }
    commits_.fetch_add(1, std::memory_order_relaxed);
    transactions_.fetch_add(batch.transactions, std::memory_order_relaxed);
    wal_bytes_.store(file_->wal_bytes(), std::memory_order_relaxed);
    if (!write_problem_.empty()) {
      write_problem_.clear();
      report_health();
    }
    publish(batch);
    hub_.notify(batch.changes);
  }
  for (auto& answer : batch.answers) answer.done(std::move(answer.outcome));
}

DiskResult EmbeddedStore::write(const Batch& batch) {
  if (!checkpoint_problem_.empty() && file_->wal_bytes() > wal_growth_max * options_.wal_bytes_max) {
    return std::unexpected(checkpoint_problem_);
  }
  const auto work = [&]() -> DiskResult {
    if (auto done = file_->begin(); !done) return done;
    for (const auto& change : batch.changes) {
      if (auto done = file_->add(record_of(change)); !done) return done;
    }
    // More than the batch can add to the backlog, so that it shrinks.
    if (auto done = write_obsolete(2 * batch.changes.size() + 64); !done) return done;
    // Also where rows go that are the newest there are: revisions must not start again below them.
    return file_->commit(batch.revision);
  };
  auto done = work();
  if (!done) {
    file_->roll_back();
    return done;
  }
  forget_obsolete();
  return done;
}

DiskResult EmbeddedStore::write_obsolete(std::size_t rows_max) {
  obsolete_written_ = 0;
  if (obsolete_.empty()) return {};
  std::map<const std::string*, Revision> compacted;
  for (std::size_t rows = 0; rows < rows_max && obsolete_written_ < obsolete_.size(); ++obsolete_written_) {
    const auto& item = obsolete_[obsolete_written_];
    for (const auto id : item.ids) {
      if (id == 0) continue;
      if (auto done = file_->remove(id); !done) return done;
      ++rows;
    }
    compacted[item.resource] = item.compacted;
  }
  for (const auto& [resource, revision] : compacted) {
    if (auto done = file_->set_compacted(*resource, revision); !done) return done;
  }
  return {};
}

void EmbeddedStore::forget_obsolete() {
  rows_went_ = rows_went_ || obsolete_written_ > 0;
  obsolete_.erase(obsolete_.begin(), obsolete_.begin() + static_cast<std::ptrdiff_t>(obsolete_written_));
  obsolete_written_ = 0;
}

void EmbeddedStore::publish(Batch& batch) {
  const auto now = now_ms();
  Leaving leaving;
  const std::unique_lock lock(mutex_);
  Resources::value_type* entry = nullptr;
  for (std::size_t i = 0; i < batch.changes.size(); ++i) {
    const auto resource = batch.changes[i].object->resource();
    if (entry == nullptr || entry->first != resource) entry = &resource_entry(resource);
    auto& state = *entry->second;
    auto& kept = batch.entries[i];
    if (kept.type == ChangeType::removed) {
      state.index.erase(name_of(*kept.object));
    } else {
      state.index.put(kept.object);
    }
    index_owners(kept, &batch.changes[i]);
    kept.at_ms = now;
    append_to_log(state, std::move(kept));
    append_recent(state, batch.changes[i], leaving);
    shrink_log(*entry, leaving);
  }
  revision_ = batch.revision;
}

void EmbeddedStore::when_idle() {
  if (!write_problem_.empty() || !checkpoint_problem_.empty()) {
    probe();
    return;
  }
  Leaving leaving;
  {
    const std::unique_lock lock(mutex_);
    for (auto& entry : resources_) {
      shrink_log(entry, leaving);
      // Everybody who kept up has seen them.
      auto& state = *entry.second;
      std::ranges::move(state.recent, std::back_inserter(leaving.changes));
      state.recent.clear();
      state.recent_bytes = 0;
    }
  }
  if (!obsolete_.empty()) {
    if (auto written = write({.revision = revision_, .changes = {}, .entries = {}, .written = {}, .answers = {}});
        !written) {
      write_problem_ = std::move(written.error());
      report_health();
      return;
    }
  }
  give_back_pages();
  checkpoint_if(options_.wal_bytes_max / 4);
}

// Some at a time, so that a write that comes now waits for some milliseconds only.
void EmbeddedStore::give_back_pages() {
  const bool before = shrinking_;
  rows_went_ = false;
  const auto more = file_->shrink();
  shrinking_ = more.value_or(false);
  if (!more) {
    write_problem_ = more.error();
    report_health();
  } else if (before && !shrinking_) {
    checkpoint_if(0);  // which is when the file gets shorter
  }
}

// Writes something that means nothing. Besides finding out whether the disk works again, it overwrites what a failed
// commit may have left at the end of the write-ahead log.
void EmbeddedStore::probe() {
  const auto work = [&]() -> DiskResult {
    if (auto done = file_->begin(); !done) return done;
    return file_->commit(revision_);
  };
  auto done = work();
  if (!done) file_->roll_back();
  write_problem_ = done ? std::string() : std::move(done.error());
  if (done && !checkpoint_problem_.empty()) {
    checkpoint_problem_.clear();
    checkpoint_if(0);
  }
  report_health();
}

void EmbeddedStore::checkpoint_if(std::size_t wal_bytes_at_least) {
  if (!checkpoint_problem_.empty() || file_->wal_bytes() < wal_bytes_at_least) return;
  auto done = file_->checkpoint();
  wal_bytes_.store(file_->wal_bytes(), std::memory_order_relaxed);
  if (done) {
    checkpoints_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  // Nothing is lost: what was acknowledged is in the write-ahead log. It is tried again by probe().
  checkpoint_problem_ = std::move(done.error());
  report_health();
}

void EmbeddedStore::report_health() {
  const auto& problem = write_problem_.empty() ? checkpoint_problem_ : write_problem_;
  StoreHealth now{.ok = problem.empty(), .message = problem};
  {
    const std::lock_guard lock(health_mutex_);
    if (health_ == now) return;
    health_ = now;
  }
  if (options_.health_changed) options_.health_changed(now);
}

StoreHealth EmbeddedStore::health() const {
  const std::lock_guard lock(health_mutex_);
  return health_;
}

Stats EmbeddedStore::stats() const {
  Stats stats{.commits = commits_.load(std::memory_order_relaxed),
              .transactions = transactions_.load(std::memory_order_relaxed),
              .refused = refused_.load(std::memory_order_relaxed),
              .overloaded = overloaded_.load(std::memory_order_relaxed),
              .failed = failed_.load(std::memory_order_relaxed),
              .checkpoints = checkpoints_.load(std::memory_order_relaxed),
              .waiting = 0,
              .watches = hub_.size(),
              .wal_bytes = wal_bytes_.load(std::memory_order_relaxed)};
  const std::lock_guard lock(queue_mutex_);
  stats.waiting = queue_.size();
  return stats;
}

}  // namespace vg::store
