#include "store/writer.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/store_limits.h"
#include "store/batch.h"

namespace vg::store {
namespace {

Status not_written(std::string_view reason, bool unknown) {
  if (!unknown) return Status::unavailable(fmt::format("nothing was changed: {}", reason));
  // After a sync that failed nobody can say what is on the disk: a crash before the next write may bring it back.
  return Status::internal_error(
      fmt::format("the outcome of this write is unknown: {}; read the object before you try again", reason));
}

}  // namespace

StoreWriter::StoreWriter(const Parts& parts, const WriteBounds& bounds, const StallWatch::Patience& patience)
    : parts_(parts),
      bounds_(bounds),
      stall_(parts_.queue, parts_.log, unsettled_, patience),
      thread_([this] { run(); }) {}

StoreWriter::~StoreWriter() {
  parts_.queue.stop();
  thread_.join();
}

void StoreWriter::run() {
  std::vector<PreparedTransaction> transactions;
  const WriteQueue::Weigh weigh = [this](const PreparedTransaction& one) { return weight_bytes(one); };
  while (parts_.queue.take(transactions, parts_.log.patience(), weigh)) {
    stall_.working();
    const bool quiet = transactions.empty();
    if (!quiet) {
      run_batch(transactions);
      transactions.clear();
      parts_.log.after_batch();
    }
    look_after(quiet);
    if (parts_.log.settled()) unsettled_.clear();
    stall_.resting();
  }
}

// What a batch holds for it: also the versions that it replaces or removes, which are opened for those who watch.
std::size_t StoreWriter::weight_bytes(const PreparedTransaction& transaction) const {
  std::size_t bytes = transaction.bytes;
  for (const auto& write : transaction.writes) {
    if (write.kind == WriteKind::create) continue;
    if (const auto kept = parts_.index.newest(write.key)) bytes += kept->open_bytes();
  }
  return bytes;
}

void StoreWriter::run_batch(std::vector<PreparedTransaction>& transactions) {
  Batch batch(parts_.index, parts_.packers,
              {.guard = parts_.guard, .bounds = bounds_, .disk_is_full = parts_.log.full()}, refused_);
  batch.answers().reserve(transactions.size());
  for (auto& transaction : transactions) batch.add(transaction);
  if (!batch.changes().empty()) {
    stall_.lend(batch);
    const auto written = parts_.log.append(batch.changes(), batch.revision());
    stall_.take_back();
    if (!written) {
      failed_.fetch_add(batch.answers().size(), std::memory_order_relaxed);
      const bool unknown = parts_.log.outcome_unknown();
      const auto status = not_written(written.error(), unknown);
      if (unknown) unsettled_.add(batch.changes());  // before anybody is told
      if (parts_.guard != nullptr) parts_.guard->undone();
      for (auto& answer : batch.answers()) {
        if (answer.done) answer.done(fail(status));
      }
      return;
    }
    transactions_.fetch_add(batch.transactions(), std::memory_order_relaxed);
    parts_.log.retire(parts_.index.publish(batch.changes(), batch.take_kept(), batch.revision()));
    unsettled_.clear();  // readable, or overwritten; and before anybody is told
  }
  for (auto& answer : batch.answers()) {
    if (answer.done) answer.done(std::move(answer.outcome));  // else it was answered when the disk was silent
  }
}

void StoreWriter::look_after(bool quiet) {
  const auto now = std::chrono::steady_clock::now();
  if (!quiet && now - looked_after_ < store_limits::busy_care_interval) return;
  looked_after_ = now;
  const auto revision = parts_.index.newest_revision();
  parts_.log.look();
  if (!parts_.log.works()) return parts_.log.probe(revision);
  parts_.log.retire(parts_.index.age(quiet, parts_.log.full()));
  parts_.log.tend(revision, quiet);
}

}  // namespace vg::store
