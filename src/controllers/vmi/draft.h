// A VMI as a pass found it, and as the pass wants it. The rules of a pass change the draft one after the other; what
// differs in the end is written at once.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/views/vmi.h"
#include "api/views/vmi_domain.h"
#include "api/views/vmi_status.h"
#include "controllers/pass.h"
#include "controllers/world.h"
#include "json/value.h"

namespace vg::controllers::vmi {

inline constexpr std::string_view node_name_label = "kubevirt.io/nodeName";

// An entry of status.activePods.
struct Placement {
  std::string uid;
  std::string node;  // empty while it has none
};

// What keeps the controller from acting. Quiet ones are not tried again by themselves: what they wait for is followed.
struct ActError {
  std::string reason, message;
  bool quiet = false;
};

class Draft {
 public:
  // Both live as long as the draft.
  Draft(const Turn& turn, const json::Object& stored);

  const Turn& turn;
  const json::Object& stored;
  Pass pass = {};
  std::vector<Placement> placements = {};
  std::optional<ActError> error = {};
  std::string unschedulable = {};  // why the placement has no node yet

  // The object as it becomes; what is read from it changes with it.
  api::kubevirt::VirtualMachineInstance vmi() const { return api::kubevirt::VirtualMachineInstance(&object_); }
  api::kubevirt::VirtualMachineInstanceSpec spec() const { return vmi().spec(); }
  api::kubevirt::VirtualMachineInstanceStatus read_status() const { return vmi().status(); }
  const json::Object& object() const { return object_; }
  json::Object& metadata();
  void drop_label(std::string_view label);
  json::Object& status();
  json::StoragePtr storage() const { return turn.storage; }

  std::string_view ns() const { return turn.key.ns; }
  std::string_view name() const { return turn.key.name; }
  std::string_view uid() const;
  std::string now() const;
  bool is_deleting() const { return deleting_; }
  std::string_view phase() const { return read_status().phase(); }
  // The one that was found: it decides who may write what (2.6).
  std::string_view phase_read() const { return phase_read_; }
  bool is_unprocessed() const { return phase_read_.empty() || phase_read_ == "Pending"; }
  bool was_final() const { return phase_read_ == "Succeeded" || phase_read_ == "Failed"; }
  // 1.1: with its time stamp, the first time that a phase is reached.
  void set_phase(std::string_view phase);

  // The one on the VMI's node, or on any while it has none (1.3). Null when there is none.
  const Placement* current() const;

  void tell(EventType type, std::string_view reason, std::string message) {
    pass.tell(type, reason, std::move(message));
  }
  // An error that is tried again.
  void fail(std::string_view reason, std::string message) {
    error = {.reason = std::string(reason), .message = std::move(message)};
  }

  // The pass with its one write, if there is something to write.
  Pass take();

 private:
  json::Object object_;
  std::string phase_read_;
  bool deleting_ = false;
};

}  // namespace vg::controllers::vmi
