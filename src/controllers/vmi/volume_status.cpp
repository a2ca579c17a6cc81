// What the status of a VMI says of its volumes, the controller's half (spec vmi-lifecycle 2.7).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "controllers/claims.h"
#include "controllers/common/owners.h"
#include "controllers/placement.h"
#include "controllers/vmi/storage.h"
#include "json/access.h"

namespace vg::controllers::vmi {
namespace {

using api::View;

constexpr std::string_view state_prefix = "persistent-state-for";
constexpr std::string_view default_filesystem_overhead = "0.055";

// A volume or utility volume of the spec.
struct Listed {
  std::string_view name, claim;
  bool is_utility = false;
  bool is_dump = false;
  bool is_storage = false;  // a kind of source that can be plugged in while the guest runs
  bool said_to_be_plugged = false;
};

std::vector<Listed> listed_volumes(const Draft& draft) {
  std::vector<Listed> found;
  const View spec(json::find(draft.object(), "spec"));
  if (const json::Array* volumes = json::as_array(spec.get("volumes")))
    for (const json::Value& volume : *volumes) {
      if (!volume.is_object()) continue;
      Listed one{.name = json::get_string_or(volume, "name"), .claim = claim_of_volume(volume.get_object())};
      one.is_dump = json::find(volume, "memoryDump") != nullptr;
      one.is_storage = !one.claim.empty();
      for (const std::string_view source : {"persistentVolumeClaim", "dataVolume", "memoryDump"})
        if (View(json::find(volume, source)).has("hotpluggable"))
          one.said_to_be_plugged = json::get_bool_or(*json::find(volume, source), "hotpluggable", false);
      found.push_back(one);
    }
  if (const json::Array* volumes = json::as_array(spec.get("utilityVolumes")))
    for (const json::Value& volume : *volumes)
      found.push_back({.name = json::get_string_or(volume, "name"),
                       .claim = json::get_string_or(volume, "claimName"),
                       .is_utility = true,
                       .is_storage = true,
                       .said_to_be_plugged = true});
  return found;
}

bool is_block(const json::Object& claim) {
  return json::as_string(View(json::find(claim, "spec")).get("volumeMode")) == "Block";
}

// VMI-V02b.
bool is_preallocated(const json::Object& claim) {
  const json::Object* metadata = json::get_object(claim, "metadata");
  const json::Object* annotations = metadata ? json::get_object(*metadata, "annotations") : nullptr;
  return annotations && std::ranges::any_of(*annotations, [](const auto& one) {
           const std::string_view key = one.key();
           return (key.contains("/storage.preallocation") || key.contains("/storage.thick-provisioned")) &&
                  json::as_string(&one.value()) == "true";
         });
}

json::Value claim_info(const json::Object& claim, const json::StoragePtr& storage) {
  json::Object info(storage);
  const View spec(json::find(claim, "spec")), status(json::find(claim, "status"));
  const auto copy = [&](std::string_view name, const json::Value* value) {
    if (value) info[name] = *value;
  };
  info["claimName"] = metadata_text(claim, "name");
  copy("accessModes", spec.get("accessModes"));
  copy("volumeMode", spec.get("volumeMode"));
  copy("capacity", status.get("capacity"));
  copy("requests", View(spec.get("resources")).get("requests"));
  if (is_preallocated(claim)) info["preallocated"] = true;
  info["filesystemOverhead"] = is_block(claim) ? std::string_view("0") : default_filesystem_overhead;
  return info;
}

void say(json::Object& entry, std::string_view phase, std::string_view reason, std::string_view message) {
  entry["phase"] = phase;
  entry["reason"] = reason;
  entry["message"] = message;
}

// VMI-V07.
void show_claim_phase(json::Object& entry, const json::Object* claim, std::string_view name) {
  if (!claim)
    return say(entry, "Pending", "FailedPvcNotFound", fmt::format("PersistentVolumeClaim {} does not exist", name));
  const std::string_view phase = json::as_string(View(json::find(*claim, "status")).get("phase")).value_or("Pending");
  say(entry, phase == "Bound" ? "Bound" : "Pending", "PVCNotReady",
      fmt::format("PersistentVolumeClaim {} is {}", name, phase));
}

bool may_attach(std::string_view phase) { return phase.empty() || phase == "Pending" || phase == "Bound"; }

// VMI-V10: one name for the set of volumes that are attached, as there would be one pod for it.
std::string attachment_of(const Draft& draft, const std::set<std::string_view>& attached) {
  std::string text(draft.uid());
  for (const std::string_view name : attached) text += fmt::format("\n{}", name);
  return placement_uid(text);
}

class Volumes {
 public:
  explicit Volumes(Draft& draft) : draft_(draft), listed_(listed_volumes(draft)) {
    for (const json::Value& entry : old_entries())
      if (entry.is_object()) old_.emplace(json::get_string_or(entry, "name"), &entry);
  }

  json::Array shown() {
    for (const Listed& volume : listed_)
      if (is_plugged(volume) && can_attach(volume)) attached_.insert(volume.name);
    const std::string attachment = attachment_of(draft_, attached_);
    json::Array entries(draft_.storage());
    std::set<std::string_view> seen;
    for (const Listed& volume : listed_) {
      if (!seen.insert(volume.name).second) continue;
      entries.push_back(entry_of(volume, attachment));
    }
    for (const auto& [name, entry] : old_)
      if (!seen.contains(name) && stays(name, *entry)) entries.push_back(*entry);
    std::ranges::sort(entries, {}, [](const json::Value& one) { return json::get_string_or(one, "name"); });
    return entries;
  }

 private:
  const json::Array& old_entries() const {
    static const json::Array none;
    const json::Array* entries = json::as_array(draft_.read_status().get("volumeStatus"));
    return entries ? *entries : none;
  }
  const json::Object* claim(const Listed& volume) const {
    return volume.claim.empty() ? nullptr : draft_.turn.world.get(kinds::claim, draft_.ns(), volume.claim);
  }
  // VMI-V04. What was there when the VMI was handed over has an entry without the mark.
  bool is_plugged(const Listed& volume) const {
    if (!volume.is_storage) return false;
    if (volume.said_to_be_plugged) return true;
    const auto entry = old_.find(volume.name);
    if (entry != old_.end()) return json::find(*entry->second, "hotplugVolume") != nullptr;
    return draft_.phase_read() == "Running";
  }
  // VMI-A16: from when the VMI is handed to its node, which waits with the start until they are there.
  bool can_attach(const Listed& volume) const {
    if (draft_.phase_read() != "Scheduled" && draft_.phase_read() != "Running") return false;
    if (const json::Object* found = claim(volume); volume.is_utility && found && is_block(*found)) return false;
    const bool needs_image = !volume.is_dump && !volume.is_utility;
    return claim_state(draft_.turn.world, draft_.ns(), volume.claim, needs_image) == ClaimState::ready;
  }

  json::Value entry_of(const Listed& volume, const std::string& attachment) {
    const auto old = old_.find(volume.name);
    json::Object entry = old != old_.end() ? json::Object(old->second->get_object(), draft_.storage())
                                           : json::Object({{"name", volume.name}, {"target", ""}}, draft_.storage());
    const json::Object* found = claim(volume);
    if (volume.is_dump && !json::find(entry, "memoryDumpVolume"))
      json::ensure_object(entry, "memoryDumpVolume")["claimName"] = volume.name;
    if (is_plugged(volume)) show_plugged(entry, volume, found, attachment);
    if (!found) return entry;
    if (volume.is_utility && is_block(*found))
      say(entry, "Pending", "PVCNotReady",
          fmt::format("PersistentVolumeClaim {} is a block device, and utility volumes must be file systems",
                      volume.claim));  // VMI-V06
    else
      entry["persistentVolumeClaimInfo"] = claim_info(*found, draft_.storage());
    return entry;
  }

  void show_plugged(json::Object& entry, const Listed& volume, const json::Object* found,
                    const std::string& attachment) {
    json::Object& plugged = json::ensure_object(entry, "hotplugVolume");
    const std::string phase(json::get_string_or(entry, "phase"));
    if (!attached_.contains(volume.name)) {
      if (phase == "Ready") return;
      json::erase(plugged, "attachPodUID");
      return show_claim_phase(entry, found, volume.claim);
    }
    const std::string pod = fmt::format("hp-volume-{}", name_suffix(attachment));
    plugged["attachPodName"] = pod;
    plugged["attachPodUID"] = attachment;
    if (phase == "Detaching") return show_claim_phase(entry, found, volume.claim);  // VMI-V09
    if (!may_attach(phase)) return;
    const std::string message = fmt::format("volume {} is attached by {}", volume.name, pod);
    say(entry, "AttachedToNode", "SuccessfulCreate", message);  // VMI-V08
    draft_.tell(EventType::normal, "SuccessfulCreate", message);
  }

  // VMI-V05: the agent takes it out of the guest first.
  bool stays(std::string_view name, const json::Value& entry) {
    if (name.starts_with(state_prefix)) return true;
    if (!json::find(entry, "hotplugVolume")) return false;
    const std::string_view phase = json::get_string_or(entry, "phase");
    if (phase == "Ready" || phase == "MountedToPod") return true;
    draft_.tell(EventType::normal, "SuccessfulDelete", fmt::format("volume {} is detached", name));
    return false;
  }

  Draft& draft_;
  std::vector<Listed> listed_;
  std::map<std::string_view, const json::Value*> old_;
  std::set<std::string_view> attached_;
};

}  // namespace

void update_volume_status(Draft& draft) {
  json::Array entries = Volumes(draft).shown();
  const json::Value* old = draft.read_status().get("volumeStatus");
  if (entries.empty() && !old) return;
  if (old && old->is_array() && old->get_array() == entries) return;
  if (entries.empty())
    json::erase(draft.status(), "volumeStatus");
  else
    draft.status()["volumeStatus"] = std::move(entries);
}

}  // namespace vg::controllers::vmi
