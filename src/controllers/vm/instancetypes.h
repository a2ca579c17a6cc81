// Instance types and preferences of VMs (spec vm-controller 9): which are in use is written down once, as a revision
// that later changes of the object do not reach.
#pragma once

#include "admission/context.h"
#include "admission/instancetype/expand.h"
#include "controllers/vm/work.h"

namespace vg::controllers::vm {

// A world as rules and instance types look at it.
class WorldLookups final : public admission::Lookups {
 public:
  explicit WorldLookups(const World& world) : world_(world) {}
  Result<Value*> get(string_view resource, string_view ns, string_view name,
                     const json::StoragePtr& storage) const override;
  Result<std::vector<Value*>> list(string_view resource, string_view ns,
                                   const json::StoragePtr& storage) const override;
  Result<std::vector<Value*>> list_labelled(string_view resource, string_view ns, string_view label, string_view value,
                                            const json::StoragePtr& storage) const override;
  bool missed() const override { return false; }

 private:
  const World& world_;
};

bool names_instancetype_or_preference(const Object& vm);

// VMC-90 to VMC-98. False when the VM was rewritten: nothing further is to be done with it in this pass.
bool sync_instancetypes(Work& work);

// What a VM or a start revision names. `vm`: {metadata, spec, status}.
Result<admission::Chosen> chosen_by(const Object& vm, const Turn& turn);

}  // namespace vg::controllers::vm
