// What a pass over a migration works on: the migration and its VMI, copied where it changes them, and what is to be
// told once they are written.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controllers/controller.h"
#include "controllers/migration/state.h"
#include "controllers/pass.h"
#include "json/access.h"

namespace vg::controllers::migration {

// An object that is copied when it is first changed.
class Editable {
 public:
  Editable(const json::Object& stored, json::StoragePtr storage) : stored_(stored), copy_(std::move(storage)) {}
  const json::Object& stored() const { return stored_; }
  const json::Object& read() const { return changed_ ? copy_ : stored_; }
  json::Object& edit() {
    if (!changed_) copy_ = stored_;
    changed_ = true;
    return copy_;
  }
  bool changed() const { return changed_; }

 private:
  const json::Object& stored_;
  json::Object copy_;
  bool changed_ = false;
};

class Work {
 public:
  Work(const Turn& turn, const json::Object& migration, const json::Object& vmi)
      : turn(turn), migration(migration, turn.storage), vmi(vmi, turn.storage) {}

  State state() const { return state_of(migration.read(), vmi.read(), turn.world, turn.steady); }

  // Event on the migration: once the VMI is written, or once the migration is.
  void tell_with_vmi(EventType type, std::string_view reason, std::string message);
  void tell(EventType type, std::string_view reason, std::string message);
  // Event on the VMI, with the write of the VMI.
  void tell_of_vmi(EventType type, std::string_view reason, std::string message);

  json::Object& vmi_status() { return json::ensure_object(vmi.edit(), "status"); }
  json::Object& active_pods() { return json::ensure_object(vmi_status(), "activePods"); }
  json::Object& moving() { return json::ensure_object(vmi_status(), "migrationState"); }
  json::Object& status() { return json::ensure_object(migration.edit(), "status"); }
  // Enters the phase and notes when, the first time.
  void enter(std::string_view phase);

  // A number of seconds in an annotation of the migration, where it is one.
  std::chrono::seconds annotated(std::string_view annotation, std::chrono::seconds otherwise) const;

  // The effects, in the order in which they are safe: the VMI, the migration's status, then what lets it go.
  Pass finish() &&;

  const Turn& turn;
  Editable migration, vmi;
  Pass pass;                         // when to look again
  std::optional<Told> if_vmi_fails;  // the write of the VMI
  bool drop_finalizer = false;

 private:
  std::vector<Told> with_vmi_, with_migration_;
};

}  // namespace vg::controllers::migration
