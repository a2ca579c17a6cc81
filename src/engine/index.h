// What is counted over all objects, kept while changes come in: which nodes there are and what is placed on them, which
// VMIs and VMs use which claims, which migrations there are.
//
// What a pass wants to write counts before it is written, so that the next pass does not give the same room away again,
// nor start one migration too many; until it is written or has failed, changes of that object are left aside. After
// that the newest stored version counts, even if the changes that led to it are still to be read.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "config/cluster_config.h"
#include "controllers/claims.h"
#include "controllers/migrations.h"
#include "controllers/nodes.h"
#include "controllers/pass.h"
#include "engine/opened.h"
#include "ports/object_store.h"

namespace vg::engine {

struct Kept {
  controllers::Nodes nodes = {};
  controllers::ClaimUsers claims = {};     // of VMIs
  controllers::ClaimUsers vm_claims = {};  // of the templates of VMs
  controllers::Migrations migrations = {};
  std::map<std::string_view, controllers::ClaimUsers> references = {};  // by resource (references.h)
};

class Index {
 public:
  Index(const ObjectStore& store, const config::ConfigSource& config, const Clock& clock, Opened& opened)
      : store_(store), config_(config), clock_(clock), opened_(opened) {}

  const Kept& kept() const { return kept_; }
  // This object was added or changed, or is gone. Objects that are not counted are ignored.
  void see(const StoredObject& changed);
  // Changes were missed: what is not stored any more does not count.
  void drop_gone();

  using Key = std::pair<std::string_view, controllers::Key>;  // resource and object
  // What a pass wants to write, as long as it is on its way; must not outlive the index. However the pass ends,
  // what is stored counts again then.
  class Reservation {
   public:
    explicit Reservation(Index& index) : index_(index) {}
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;
    ~Reservation() { end(false); }
    void add(const controllers::Pass& pass);
    // The pass was carried out, all of it if `is_done`.
    void end(bool is_done) noexcept;

   private:
    Index& index_;
    std::vector<Key> keys_;
  };

 private:
  struct Reserved {
    std::size_t writes = 0;
    bool missed = false;  // a change of it was left aside
  };

  void put(std::string_view resource, const json::Object& object, Revision created);
  void release(const Key& key, bool is_done);
  void put_references(std::string_view resource, const json::Object& object);
  void put_vm(const StoredObject& vm);
  void put_newest(std::string_view resource, std::string_view ns, std::string_view name);

  const ObjectStore& store_;
  const config::ConfigSource& config_;
  const Clock& clock_;
  Opened& opened_;
  Kept kept_;
  std::map<Key, Reserved> reserved_;
};

}  // namespace vg::engine
