#include "store/embedded_store.h"

#include <fmt/format.h>

#include <expected>
#include <utility>

#include "store/durable_log.h"
#include "store/packer.h"
#include "store/prepared_write.h"
#include "store/record_file.h"
#include "store/versioned_index.h"
#include "store/write_queue.h"
#include "store/writer.h"

namespace vg::store {
namespace {

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

// All rows of the file become objects in memory, and the file becomes ready to be written. Returns what of it is
// obsolete already.
std::expected<std::vector<Obsolete>, std::string> load(RecordFile& file, VersionedIndex& index, Packers& packers) {
  std::vector<Obsolete> obsolete;
  index.begin(file.seal().revision, file.compacted());
  const auto take = [&](const Record& record) -> DiskResult {
    const auto& parts = record.object;
    KeptPtr object;
    if (!record.tombstone) {
      auto without_stamp = parts;
      without_stamp.stamp = {};
      object = packers.of(parts.resource).pack(*StoredObject::make(without_stamp), parts.stamp);
    }
    if (index.replay(record, std::move(object), obsolete)) return {};
    return file.damage(fmt::format("the record of {} {}/{} that was deleted at revision {} is missing", parts.resource,
                                   parts.ns, parts.name, parts.stamp.revision));
  };
  if (auto loaded = file.load(take); !loaded) return std::unexpected(std::move(loaded.error()));
  if (auto accepted = file.accept(); !accepted) return std::unexpected(std::move(accepted.error()));
  return obsolete;
}

}  // namespace

// In the order in which they need one another: the writer goes first, the index last.
struct EmbeddedStore::Parts {
  Parts(const Options& options, std::unique_ptr<RecordFile> file, std::unique_ptr<VersionedIndex> loaded,
        Packers learned)
      : bounds{.object_bytes_max = options.object_bytes_max, .key_bytes_max = options.key_bytes_max},
        index(std::move(loaded)),
        packers(std::move(learned)),
        log(std::move(file), {.reserve_path = options.path + "-reserve",
                              .reserve = {.bytes = options.reserve_bytes, .share = options.reserve_share},
                              .wal_bytes_max = options.wal_bytes_max,
                              .probe_interval = options.probe_interval,
                              .health_changed = options.health_changed}),
        queue({.transactions_max = options.queue_transactions_max,
               .bytes_max = options.queue_bytes_max,
               .batch_transactions_max = options.batch_transactions_max,
               .batch_bytes_max = options.batch_bytes_max}) {}

  const WriteBounds bounds;
  const std::unique_ptr<VersionedIndex> index;
  Packers packers;
  DurableLog log;
  WriteQueue queue;
  std::unique_ptr<StoreWriter> writer;
};

Result<std::unique_ptr<EmbeddedStore>> EmbeddedStore::open(Options options) {
  auto file =
      RecordFile::open({.path = options.path, .vfs = options.vfs, .boot = options.boot, .cipher = options.cipher});
  if (!file) return fail(refusal(options.path, file.error().message, file.error().reason == lost_or_damaged));
  auto index = std::make_unique<VersionedIndex>(VersionedIndex::Window{.changes_max = options.log_changes_max,
                                                                       .bytes_max = options.log_bytes_max,
                                                                       .age_max = options.log_age_max,
                                                                       .age_least = options.log_age_least,
                                                                       .bytes_least = options.log_bytes_least,
                                                                       .recent_bytes_max = options.recent_bytes_max});
  Packers packers;
  const auto obsolete = load(**file, *index, packers);
  if (!obsolete) return fail(refusal(options.path, obsolete.error(), (*file)->damaged()));
  auto parts = std::make_unique<Parts>(options, std::move(*file), std::move(index), std::move(packers));
  parts->log.retire(*obsolete);
  parts->writer = std::make_unique<StoreWriter>(
      StoreWriter::Parts{.queue = parts->queue,
                         .index = *parts->index,
                         .log = parts->log,
                         .packers = parts->packers,
                         .guard = options.guard},
      parts->bounds, StallWatch::Patience{.ready = options.stall_ready_max, .answer = options.stall_answer_max});
  return std::unique_ptr<EmbeddedStore>(new EmbeddedStore(std::move(parts)));
}

EmbeddedStore::EmbeddedStore(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
EmbeddedStore::~EmbeddedStore() = default;

void EmbeddedStore::submit(Transaction transaction, Completion done) {
  auto prepared = prepare(transaction, parts_->bounds);
  if (!prepared) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return done(fail(std::move(prepared.error())));
  }
  prepared->done = std::move(done);
  parts_->queue.put(std::move(*prepared));
}

bool EmbeddedStore::unsettled(std::string_view resource, std::string_view ns, std::string_view name) const {
  return parts_->writer->unsettled().contains(resource, ns, name);
}

Revision EmbeddedStore::revision() const { return parts_->index->revision(); }

ObjectPtr EmbeddedStore::get(std::string_view resource, std::string_view ns, std::string_view name) const {
  return parts_->index->get(resource, ns, name);
}

Result<ListPage> EmbeddedStore::list(const ListQuery& query) const { return parts_->index->list(query); }

ObjectList EmbeddedStore::owned_by(std::string_view owner_uid) const { return parts_->index->owned_by(owner_uid); }

std::vector<std::string> EmbeddedStore::resources() const { return parts_->index->resources(); }

std::size_t EmbeddedStore::count(std::string_view resource) const { return parts_->index->count(resource); }

Revision EmbeddedStore::oldest_revision(std::string_view resource) const {
  return parts_->index->oldest_revision(resource);
}

Result<std::unique_ptr<Watch>> EmbeddedStore::watch(WatchQuery query, Waker waker) {
  return parts_->index->watch(std::move(query), std::move(waker));
}

StoreHealth EmbeddedStore::health() const { return parts_->log.health(); }

Stats EmbeddedStore::stats() const {
  const auto& parts = *parts_;
  return {.commits = parts.log.commits(),
          .transactions = parts.writer->transactions(),
          .refused = refused_.load(std::memory_order_relaxed) + parts.writer->refused(),
          .overloaded = parts.queue.overloaded(),
          .failed = parts.writer->failed(),
          .checkpoints = parts.log.checkpoints(),
          .waiting = parts.queue.waiting(),
          .watches = parts.index->watches(),
          .wal_bytes = parts.log.wal_bytes(),
          .rows = parts.log.rows()};
}

}  // namespace vg::store
