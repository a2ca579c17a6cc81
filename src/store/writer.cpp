#include "store/writer.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

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

StoreWriter::StoreWriter(const Parts& parts, const WriteBounds& bounds)
    : parts_(parts), bounds_(bounds), thread_([this] { run(); }) {}

StoreWriter::~StoreWriter() {
  parts_.queue.stop();
  thread_.join();
}

void StoreWriter::run() {
  std::vector<PreparedTransaction> transactions;
  const WriteQueue::Weigh weigh = [this](const PreparedTransaction& one) { return weight_bytes(one); };
  while (parts_.queue.take(transactions, parts_.log.patience(), weigh)) {
    if (transactions.empty()) {
      when_idle();
      continue;
    }
    run_batch(transactions);
    transactions.clear();
    parts_.log.after_batch();
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
  Batch batch(parts_.index, parts_.packers, parts_.guard, bounds_, refused_);
  batch.answers().reserve(transactions.size());
  for (auto& transaction : transactions) batch.add(transaction);
  if (!batch.changes().empty()) {
    if (auto written = parts_.log.append(batch.changes(), batch.revision()); !written) {
      failed_.fetch_add(batch.answers().size(), std::memory_order_relaxed);
      const auto status = not_written(written.error(), parts_.log.outcome_unknown());
      if (parts_.guard != nullptr) parts_.guard->undone();
      for (auto& answer : batch.answers()) answer.done(fail(status));
      return;
    }
    transactions_.fetch_add(batch.transactions(), std::memory_order_relaxed);
    parts_.log.retire(parts_.index.publish(batch.changes(), batch.take_kept(), batch.revision()));
  }
  for (auto& answer : batch.answers()) answer.done(std::move(answer.outcome));
}

void StoreWriter::when_idle() {
  const auto revision = parts_.index.newest_revision();
  if (!parts_.log.works()) return parts_.log.probe(revision);
  parts_.log.retire(parts_.index.age());
  parts_.log.tend(revision);
}

}  // namespace vg::store
