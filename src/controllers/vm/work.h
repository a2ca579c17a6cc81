// What one pass over a VM works on: the objects as they were read, as they are wanted, and what has been decided so
// far.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "admission/instancetype/requirements.h"
#include "controllers/controller.h"
#include "controllers/vm/machine.h"

namespace vg::controllers::vm {

// An object as it is stored and as it is wanted. It is copied when somebody changes it first.
class Draft {
 public:
  Draft(const Object& stored, Type type, json::StoragePtr storage)
      : stored_(&stored), type_(type), storage_(std::move(storage)) {}
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  const Object& read() const { return copy_ ? copy_->get_object() : *stored_; }
  Object& edit();
  // The patch of these members of the object that makes what is stored what is wanted, and from then on counts as
  // stored; empty when there is nothing to do.
  Array take_patch(std::initializer_list<string_view> members);
  // Forgets what was not taken yet.
  void discard() { copy_.reset(); }

 private:
  const Object* stored_;
  Type type_;
  json::StoragePtr storage_;
  std::optional<Value> copy_;
  std::optional<Value> taken_;  // what counts as stored, once a patch was taken
};

// VM condition RestartRequired: what becomes of it.
struct RestartMark {
  enum class What : std::uint8_t { as_it_is, drop, set };
  What what = What::as_it_is;
  std::string message = {};

  void drop() { *this = {.what = What::drop}; }
  void set(std::string text) { *this = {.what = What::set, .message = std::move(text)}; }
};

// What the status is told of a pass beside what the objects say.
struct Outcome {
  std::optional<SoftError> error = {};
  RestartMark restart = {};                    // by starting, stopping and comparing (S9, S10)
  RestartMark live_restart = {};               // by live updates (S19); counts only if nothing failed
  std::optional<Value> migrated_volumes = {};  // VMC-105j
  // Of the VMI that the pass had: one that it ends may be gone before the status is written (VMC-77).
  std::optional<std::int64_t> observed_generation = {};

  Value to_json(const json::StoragePtr& storage) const;
  static Outcome from_json(const Value& value);
};

struct Work {
  Work(const Turn& involved, const Object& stored)
      : turn(involved), stored_vm(stored), vm(stored, Type::vm, involved.storage) {}

  const Turn& turn;
  const Object& stored_vm;
  const Object* stored_vmi = nullptr;  // the VM's own; null for none
  Draft vm;
  std::optional<Draft> vmi = {};  // while there is one
  std::string vmi_part = {};      // the reason of a failure to patch it: that of the first who changed it
  admission::Chosen chosen = {};  // instance type and preference as found at S7
  bool issued = false;            // a VMI was created or deleted, or a DataVolume created
  bool starts = false;            // a VMI is made
  Outcome outcome = {};
  Pass pass = {};

  const World& world() const { return turn.world; }
  const Object& vm_object() const { return vm.read(); }
  const Object* vmi_object() const { return vmi ? &vmi->read() : nullptr; }
  bool vmi_is_there() const { return stored_vmi && !is_vmi_deleted(); }
  bool is_vmi_deleted() const;
  const json::StoragePtr& storage() const { return turn.storage; }
  // To change the VMI in the name of a part of the pass.
  Object& edit_vmi(string_view reason);
  // The first error counts. Nothing further of the pass is done.
  void fail(string_view reason, std::string message);
  bool failed() const { return outcome.error.has_value(); }

  // What is made of the VM is made for its service account.
  Identity identity() const;
  void write_vm(string_view soft_reason);
  void write_vm_status(string_view soft_reason);
  void write_vmi(string_view soft_reason);
};

}  // namespace vg::controllers::vm
