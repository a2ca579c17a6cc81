// A world over the object store. Reads are of the moment in which they happen, and never of older ones than the writes
// that this program made before. Objects are read once in a pass.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "controllers/world.h"
#include "engine/index.h"
#include "engine/opened.h"
#include "ports/object_store.h"

namespace vg::engine {

class StoreWorld final : public controllers::World {
 public:
  StoreWorld(const ObjectStore& store, const Kept& kept, const DiskView& disks, Opened& opened)
      : store_(store), kept_(kept), disks_(disks), opened_(opened) {}

  const json::Object* get(std::string_view resource, std::string_view ns, std::string_view name) const override;
  std::vector<const json::Object*> list(std::string_view resource, std::string_view ns) const override;
  std::vector<const json::Object*> labelled(std::string_view resource, std::string_view ns, std::string_view label,
                                            std::string_view value) const override;
  std::vector<const json::Object*> owned_by(std::string_view resource, std::string_view ns,
                                            std::string_view owner_uid) const override;
  std::uint64_t creation_order(std::string_view resource, std::string_view ns, std::string_view name) const override {
    const ObjectPtr object = store_.get(resource, ns, name);
    return object ? object->created_revision() : 0;
  }
  std::vector<std::string> vmis_with_claim(std::string_view ns, std::string_view claim) const override {
    return kept_.claims.of(ns, claim);
  }
  std::vector<std::string> vms_with_claim(std::string_view ns, std::string_view claim) const override {
    return kept_.vm_claims.of(ns, claim);
  }
  std::vector<std::string> referring(std::string_view resource, std::string_view ns,
                                     std::string_view target) const override {
    const auto found = kept_.references.find(resource);
    return found == kept_.references.end() ? std::vector<std::string>() : found->second.of(ns, target);
  }
  const controllers::Nodes& nodes() const override { return kept_.nodes; }
  const controllers::Migrations& migrations() const override { return kept_.migrations; }
  const DiskView& disks() const override { return disks_; }

 private:
  const json::Object* open(const ObjectPtr& object) const;
  template <class Matches>
  std::vector<const json::Object*> matching(std::string_view resource, std::string_view ns, Matches matches) const;

  const ObjectStore& store_;
  const Kept& kept_;
  const DiskView& disks_;
  Opened& opened_;
  mutable std::map<std::tuple<std::string, std::string, std::string>, OpenedPtr, std::less<>> open_;
};

}  // namespace vg::engine
