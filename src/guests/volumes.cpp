#include "guests/volumes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "base/one_of.h"
#include "controllers/common/conditions.h"
#include "guests/vmi_lists.h"
#include "json/access.h"

namespace vg::guests {

namespace {

using controllers::EventType;
using controllers::vmi::Draft;
using json::Array;
using json::Object;
using json::Value;
using std::string_view;

struct Listed {
  std::set<string_view> volumes, dumps;
};

Listed listed_in(const Object& vmi) {
  Listed listed;
  for (const Value& volume : list_at(vmi, "spec", {"volumes"})) {
    const string_view name = json::get_string_or(volume, "name");
    listed.volumes.insert(name);
    if (json::find(volume, "memoryDump")) listed.dumps.insert(name);
  }
  for (const Value& volume : list_at(vmi, "spec", {"utilityVolumes"}))
    listed.volumes.insert(json::get_string_or(volume, "name"));
  return listed;
}

void say(Draft& guest, Object& entry, string_view phase, string_view reason, std::string message) {
  entry["phase"] = phase;
  entry["reason"] = reason;
  entry["message"] = message;
  guest.tell(EventType::normal, reason, std::move(message));
}

// "20260102-030405"
std::string file_time(controllers::Time now) {
  std::string text = controllers::time_text(now);
  std::erase_if(text, [](char c) { return c == '-' || c == ':' || c == 'Z'; });
  std::ranges::replace(text, 'T', '-');
  return text;
}

// VMI-V23, VMI-V24.
void dump_memory(Draft& guest, Object& entry, string_view name, const VolumeFacts& facts) {
  const std::string phase(json::get_string_or(entry, "phase"));
  Object& dump = json::ensure_object(entry, "memoryDumpVolume");
  if (phase == "MountedToPod") {
    dump["targetFileName"] = fmt::format("{}-{}-{}.memory.dump", guest.name(), name, file_time(guest.turn.now));
    dump["startTimestamp"] = guest.now();
    return say(guest, entry, "MemoryDumpInProgress", "MemoryDumpInProgress",
               fmt::format("the memory is being written to volume {}", name));
  }
  if (!facts.dumped) return;
  dump["endTimestamp"] = guest.now();
  if (!facts.dump_failure.empty())
    return say(guest, entry, "MemoryDumpFailed", "MemoryDumpFailed",
               fmt::format("the memory was not written to volume {}: {}", name, facts.dump_failure));
  say(guest, entry, "MemoryDumpCompleted", "VolumeReady", fmt::format("the memory was written to volume {}", name));
}

// VMI-V20, VMI-V21.
void plug(Draft& guest, Object& entry, string_view name, const VolumeFacts& facts, bool is_dump) {
  static constexpr string_view unmounted[] = {"Bound", "Pending", "AttachedToNode"};
  const std::string phase(json::get_string_or(entry, "phase"));
  if (is_one_of(phase, unmounted)) {
    if (facts.mounted)
      say(guest, entry, "MountedToPod", "VolumeMountedToPod", fmt::format("volume {} is mounted", name));
    return;
  }
  if (is_dump) {
    if (phase == "MountedToPod" || phase == "MemoryDumpInProgress") dump_memory(guest, entry, name, facts);
    return;
  }
  if (facts.target.empty() || phase == "Ready") return;
  entry["target"] = facts.target;
  say(guest, entry, "Ready", "VolumeReady", fmt::format("volume {} is attached as {}", name, facts.target));
}

// VMI-V22.
void unplug(Draft& guest, Object& entry, string_view name, const VolumeFacts& facts) {
  static constexpr string_view held[] = {
      "Ready", "MountedToPod", "AttachedToNode", "MemoryDumpInProgress", "MemoryDumpCompleted", "MemoryDumpFailed"};
  if (facts.mounted || !facts.target.empty()) return;
  if (!is_one_of(json::get_string_or(entry, "phase"), held)) return;
  entry["target"] = "";
  say(guest, entry, "UnMountedFromPod", "VolumeUnMountedFromPod", fmt::format("volume {} is unmounted", name));
}

}  // namespace

void update_volumes(Draft& guest, const VolumeLook& look) {
  Array* entries = json::get_array(guest.status(), "volumeStatus");
  if (!entries) return;
  const Listed listed = listed_in(guest.stored);
  for (Value& one : *entries) {
    Object* entry = one.if_object();
    if (!entry) continue;
    const std::string name(json::get_string_or(*entry, "name"));
    const bool is_wanted = listed.volumes.contains(name);
    const VolumeFacts facts = look(name, json::get_string_or(*entry, "phase"), is_wanted);
    if (facts.iso_size > 0) (*entry)["size"] = facts.iso_size;
    if (!json::find(*entry, "hotplugVolume")) {
      if (!facts.target.empty()) (*entry)["target"] = facts.target;
    } else if (is_wanted) {
      plug(guest, *entry, name, facts, listed.dumps.contains(name));
    } else {
      unplug(guest, *entry, name, facts);
    }
  }
}

}  // namespace vg::guests
