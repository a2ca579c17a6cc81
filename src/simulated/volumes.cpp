#include "simulated/volumes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "controllers/common/conditions.h"
#include "domain/disk_names.h"
#include "json/access.h"

namespace vg::simulated {
namespace {

using controllers::EventType;
using controllers::vmi::Draft;
using json::Array;
using json::Object;
using json::Value;
using std::string_view;

const Array& list_at(const Object& vmi, std::initializer_list<string_view> path) {
  static const Array none;
  const Value* spec = json::find(vmi, "spec");
  const Array* found = spec ? json::as_array(json::find_path(*spec, path)) : nullptr;
  return found ? *found : none;
}

string_view bus_of(const Value& disk) {
  for (const string_view kind : {"disk", "lun", "cdrom"})
    if (const Object* device = json::get_object(disk, kind)) {
      const string_view bus = json::get_string_or(*device, "bus");
      return !bus.empty() ? bus : kind == "cdrom" ? "sata" : "virtio";
    }
  return "virtio";
}

using Targets = std::map<string_view, std::string>;

Targets targets_of(const Object& vmi) {
  Targets targets;
  std::map<string_view, std::uint64_t> counts;
  for (const Value& disk : list_at(vmi, {"domain", "devices", "disks"})) {
    const string_view prefix = domain::name_prefix(bus_of(disk));
    targets.emplace(json::get_string_or(disk, "name"),
                    fmt::format("{}{}", prefix, domain::letters_of(counts[prefix]++)));
  }
  return targets;
}

struct Listed {
  std::set<string_view> volumes, dumps;
};

Listed listed_in(const Object& vmi) {
  Listed listed;
  for (const Value& volume : list_at(vmi, {"volumes"})) {
    const string_view name = json::get_string_or(volume, "name");
    listed.volumes.insert(name);
    if (json::find(volume, "memoryDump")) listed.dumps.insert(name);
  }
  for (const Value& volume : list_at(vmi, {"utilityVolumes"}))
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
void dump_memory(Draft& guest, Object& entry, string_view name) {
  const std::string phase(json::get_string_or(entry, "phase"));
  Object& dump = json::ensure_object(entry, "memoryDumpVolume");
  if (phase == "MountedToPod") {
    dump["targetFileName"] = fmt::format("{}-{}-{}.memory.dump", guest.name(), name, file_time(guest.turn.now));
    dump["startTimestamp"] = guest.now();
    return say(guest, entry, "MemoryDumpInProgress", "MemoryDumpInProgress",
               fmt::format("the memory is being written to volume {}", name));
  }
  dump["endTimestamp"] = guest.now();
  say(guest, entry, "MemoryDumpCompleted", "VolumeReady", fmt::format("the memory was written to volume {}", name));
}

// VMI-V20, VMI-V21.
void plug(Draft& guest, Object& entry, string_view name, const Targets& targets, bool is_dump) {
  const std::string phase(json::get_string_or(entry, "phase"));
  if (phase == "AttachedToNode")
    return say(guest, entry, "MountedToPod", "VolumeMountedToPod", fmt::format("volume {} is mounted", name));
  if (is_dump) {
    if (phase == "MountedToPod" || phase == "MemoryDumpInProgress") dump_memory(guest, entry, name);
    return;
  }
  const auto target = targets.find(name);
  if (phase != "MountedToPod" || target == targets.end()) return;
  entry["target"] = target->second;
  say(guest, entry, "Ready", "VolumeReady", fmt::format("volume {} is attached as {}", name, target->second));
}

// VMI-V22.
void unplug(Draft& guest, Object& entry, string_view name) {
  static constexpr string_view held[] = {
      "Ready", "MountedToPod", "AttachedToNode", "MemoryDumpInProgress", "MemoryDumpCompleted", "MemoryDumpFailed"};
  if (std::ranges::find(held, json::get_string_or(entry, "phase")) == std::end(held)) return;
  entry["target"] = "";
  say(guest, entry, "UnMountedFromPod", "VolumeUnMountedFromPod", fmt::format("volume {} is unmounted", name));
}

}  // namespace

void update_volumes(Draft& guest) {
  Array* entries = json::get_array(guest.status(), "volumeStatus");
  if (!entries) return;
  const Listed listed = listed_in(guest.stored);
  const Targets targets = targets_of(guest.stored);
  for (Value& one : *entries) {
    Object* entry = one.if_object();
    if (!entry) continue;
    const std::string name(json::get_string_or(*entry, "name"));
    if (!json::find(*entry, "hotplugVolume")) {
      if (const auto target = targets.find(name); target != targets.end()) (*entry)["target"] = target->second;
    } else if (listed.volumes.contains(name)) {
      plug(guest, *entry, name, targets, listed.dumps.contains(name));
    } else {
      unplug(guest, *entry, name);
    }
  }
}

}  // namespace vg::simulated
