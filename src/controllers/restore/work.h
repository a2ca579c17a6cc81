// What a pass over a restore works on: what it read, the status as it will be, and what has been decided so far.
#pragma once

#include <string>
#include <string_view>

#include "controllers/copies/source.h"
#include "controllers/pass.h"

namespace vg::controllers::restore {

using namespace copies;  // one subject, in several folders

inline constexpr string_view finalizer = "snapshot.kubevirt.io/vmrestore-protection";
inline constexpr string_view mark_annotation = "restore.kubevirt.io/lastRestoreUID";
inline constexpr string_view name_annotation = "restore.kubevirt.io/name";
inline constexpr string_view owned_annotation = "restore.kubevirt.io/owned-by-vm";
inline constexpr string_view cleanup_label = "restore.kubevirt.io/cleanup-backend-pvc";
inline constexpr string_view populated_annotation = "cdi.kubevirt.io/storage.populatedFor";
inline constexpr string_view prepopulated_annotation = "cdi.kubevirt.io/storage.prePopulated";
inline constexpr string_view state_label = "persistent-state-for";

// How a step went. What is wrong is a fault: it is shown, told, and tried again.
struct Step {
  enum class State : std::uint8_t { done, waits, wrong };
  State state = State::done;
  std::string words = {};

  static Step waits() { return {.state = State::waits}; }
  static Step wrong(std::string words) { return {.state = State::wrong, .words = std::move(words)}; }
  bool is_done() const { return state == State::done; }
};

struct Work {
  Work(const Turn& turn, const Object& restore);

  const Turn& turn;
  const Object& object;  // the restore
  Object status;
  Pass pass = {};
  string_view target;
  const Object* vm = nullptr;        // the target; null: it is to be made
  const Object* vmi = nullptr;       // of its name
  const Object* snapshot = nullptr;  // what is restored
  const Object* content = nullptr;
  const Object* saved = nullptr;  // the VM in it

  const World& world() const { return turn.world; }
  const std::string& ns() const { return turn.key.ns; }
  const json::StoragePtr& storage() const { return turn.storage; }
  string_view option(string_view member) const;  // of the restore's spec
  string_view ownership() const { return option("volumeOwnershipPolicy"); }
  std::string mark() const;
  bool is_marked(const Object& object) const;
  const Object* claim(string_view name) const { return world().get(kinds::claim, ns(), name); }
  const Object* data_volume(string_view name) const { return world().get(kinds::data_volume, ns(), name); }
  // One of status.restores, by the volume's name.
  const Object* restored(string_view volume) const;
  // The template of a DataVolume in the VM; null for none.
  static const Object* data_volume_template(const Object& vm, string_view name);

  void show(bool progressing, string_view progress, bool ready, string_view readiness);
  void write_status();
  // A change of an object's owners and marks.
  void patch(string_view resource, const Object& patched, json::Array operations);
  // What is made of the VM in the snapshot is made for it.
  Identity identity() const;
};

// RST-11: claims of the snapshot's data.
Step restore_volumes(Work& work);
// Copies that nobody will be given any more.
void drop_staged(Work& work);
// RST-12: the VM.
Step restore_target(Work& work);
// RST-60
void release_target(Work& work);
// spec copies 4.3
void wait_for_stop(Work& work);

// fault and fail of spec copies 4.1
void fault(Work& work, std::string words);
void fail(Work& work, std::string words);

}  // namespace vg::controllers::restore
