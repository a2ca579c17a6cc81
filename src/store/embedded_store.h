// The store of one machine: everything in memory, packed, and every write in a file before it is answered.
//
// Three parts, which this class ties together behind the port:
// - the queue of transactions and the thread that settles their order and lets many share one sync (writer.h);
// - the index, which is all that readers, lists and watches see (versioned_index.h);
// - the log, which is all that touches the disk (durable_log.h).
//
// Beside the file lies a mark of how far it had come (high_water_mark.h), and the file carries a seal over all of its
// rows (seal.h): a store that lacks anything that was acknowledged is not opened.
//
// This class has no lock: each part has its own, and says who holds it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ports/object_store.h"
#include "store/options.h"

namespace vg::store {

class EmbeddedStore final : public ObjectStore {
 public:
  // Reads everything into memory. That no other process uses the folder is the caller's matter.
  static Result<std::unique_ptr<EmbeddedStore>> open(Options options);
  // Completes what was submitted, then closes the file. Watches must be gone by then.
  ~EmbeddedStore() override;

  void submit(Transaction transaction, Completion done) override;
  bool unsettled(std::string_view resource, std::string_view ns, std::string_view name) const override;
  Revision revision() const override;
  ObjectPtr get(std::string_view resource, std::string_view ns, std::string_view name) const override;
  Result<ListPage> list(const ListQuery& query) const override;
  ObjectList owned_by(std::string_view owner_uid) const override;
  std::vector<std::string> resources() const override;
  std::size_t count(std::string_view resource) const override;
  Revision oldest_revision(std::string_view resource) const override;
  Result<std::unique_ptr<Watch>> watch(WatchQuery query, Waker waker) override;
  StoreHealth health() const override;

  Stats stats() const;

 private:
  // Kept out of the header: nobody who uses a store need know what it is made of.
  struct Parts;
  explicit EmbeddedStore(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
  std::atomic<std::uint64_t> refused_ = 0;  // before they came to the queue
};

}  // namespace vg::store
