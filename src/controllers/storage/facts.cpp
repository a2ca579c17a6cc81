#include "controllers/storage/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/controller_limits.h"
#include "base/quantity.h"
#include "controllers/claims.h"
#include "controllers/common/owners.h"
#include "controllers/common/patch.h"
#include "json/access.h"
#include "json/patch.h"

namespace vg::controllers::storage {

std::int64_t rounded_up(std::int64_t bytes) { return (bytes + mib - 1) / mib * mib; }

const json::Object* spec_of(const json::Object& object) { return json::get_object(object, "spec"); }

std::string_view phase_of(const json::Object& object) {
  const json::Object* status = json::get_object(object, "status");
  return status ? json::get_string_or(*status, "phase") : std::string_view();
}

bool has_annotation(const json::Object& object, std::string_view name) {
  const json::Object* metadata = json::get_object(object, "metadata");
  const json::Object* annotations = metadata ? json::get_object(*metadata, "annotations") : nullptr;
  return annotations && annotations->contains(name);
}

bool parses_as_true(std::string_view text) {
  constexpr std::array<std::string_view, 6> words{"1", "t", "T", "true", "TRUE", "True"};
  return std::ranges::find(words, text) != words.end();
}

std::int64_t request_of(const json::Object& claim) {
  const json::Object* spec = spec_of(claim);
  const json::Object* resources = spec ? json::get_object(*spec, "resources") : nullptr;
  const json::Object* requests = resources ? json::get_object(*resources, "requests") : nullptr;
  const auto amount = Quantity::parse_json(requests ? json::get_string_or(*requests, "storage") : std::string_view());
  if (!amount) return 0;
  return rounded_up(std::clamp<std::int64_t>(amount->value(), 0, limits::placement_amount_max));
}

std::string size_text(std::int64_t bytes) { return Quantity::from_int(bytes, Quantity::Format::binary_si).to_string(); }

std::string default_class_name(const World& world, bool for_vms) {
  // The newest counts; of several of one second, the first by name.
  const json::Object *plain = nullptr, *for_vm = nullptr;
  const auto newer = [](const json::Object* a, const json::Object* b) {
    return !b || metadata_text(*a, "creationTimestamp") > metadata_text(*b, "creationTimestamp");
  };
  for (const json::Object* one : world.list(kinds::storage_class, "")) {
    if (annotation_of(*one, default_class) == "true" && newer(one, plain)) plain = one;
    if (annotation_of(*one, default_virt_class) == "true" && newer(one, for_vm)) for_vm = one;
  }
  const json::Object* found = for_vms && for_vm ? for_vm : plain;
  return found ? std::string(metadata_text(*found, "name")) : std::string();
}

std::string class_of(const World& world, const json::Object& claim_spec, bool for_vms) {
  if (const auto named = json::get_string(claim_spec, "storageClassName")) return std::string(*named);
  return default_class_name(world, for_vms);
}

bool is_local_class(const World& world, std::string_view name) {
  const json::Object* found = name.empty() ? nullptr : world.get(kinds::storage_class, "", name);
  return found && json::get_string_or(*found, "provisioner") == local_provisioner;
}

namespace {

// A claim that is to be plugged into a guest that runs: before it is attached the guest waits for it.
bool is_awaited(const json::Object& vmi, std::string_view claim) {
  const json::Value* status = json::find(vmi, "status");
  const json::Array* entries = status ? json::get_array(*status, "volumeStatus") : nullptr;
  if (!entries) return false;
  return std::ranges::any_of(*entries, [&](const json::Value& entry) {
    const json::Object* info = json::get_object(entry, "persistentVolumeClaimInfo");
    const std::string_view phase = json::get_string_or(entry, "phase");
    return info && json::get_string_or(*info, "claimName") == claim && json::find(entry, "hotplugVolume") &&
           (phase == "Pending" || phase == "Bound");
  });
}

}  // namespace

bool used_by_vmi(const World& world, std::string_view ns, std::string_view claim) {
  return std::ranges::any_of(world.vmis_with_claim(ns, claim), [&](const std::string& name) {
    const json::Object* vmi = world.get(kinds::vmi, ns, name);
    return vmi && phase_of(*vmi) != "Succeeded" && phase_of(*vmi) != "Failed";
  });
}

bool used_by_placed_vmi(const World& world, std::string_view ns, std::string_view claim) {
  return std::ranges::any_of(world.vmis_with_claim(ns, claim), [&](const std::string& name) {
    const json::Object* vmi = world.get(kinds::vmi, ns, name);
    if (!vmi || is_awaited(*vmi, claim)) return false;
    constexpr std::array<std::string_view, 4> without_guest{"", "Pending", "Succeeded", "Failed"};
    return std::ranges::find(without_guest, phase_of(*vmi)) == without_guest.end();
  });
}

std::vector<Key> claims_of_vmi(const Change& change, const World& /*world*/) {
  // Only the beginning and the end of a use matter.
  if (change.before && change.after && phase_of(*change.before) == phase_of(*change.after) &&
      claims_of(*change.before) == claims_of(*change.after))
    return {};
  std::vector<Key> keys;
  for (const std::string_view claim : claims_of(change.object()))
    keys.push_back({.ns = std::string(metadata_text(change.object(), "namespace")), .name = std::string(claim)});
  return keys;
}

std::string volume_name_of(const json::Object& claim) { return fmt::format("pvc-{}", metadata_text(claim, "uid")); }

std::optional<DiskClaim> disk_of(const World& world, const json::Object& claim) {
  auto disk = world.disks().claim(metadata_text(claim, "namespace"), metadata_text(claim, "name"));
  return disk && disk->uid == metadata_text(claim, "uid") ? disk : std::nullopt;
}

std::string_view kept_time(const json::Object* before, std::string_view member, std::string_view now) {
  const auto time = before ? json::get_string_or(*before, member) : std::string_view();
  return time.empty() ? now : time;
}

void ask(Pass& pass, const Turn& turn, WantedJob wanted) {
  using std::chrono::milliseconds;
  const auto status = turn.world.disks().job(wanted.job.id);
  if (status && status->state == DiskJobState::failed) {
    const int doublings = std::clamp(status->failures - 1, 0, 10);
    const auto pause = std::min<milliseconds>(limits::disk_retry_min * (1 << doublings), limits::disk_retry_max);
    const auto left = std::chrono::ceil<milliseconds>(status->changed + pause - turn.now);
    if (left > milliseconds::zero() && left <= pause) return pass.look_again(left);
  }
  if (!status || status->state == DiskJobState::failed) pass.jobs.push_back(std::move(wanted));
}

void Marks::add_to(json::PatchBuilder& patch, std::string_view map, const Entries& entries, bool& any) const {
  const json::StoragePtr& storage = patch.operations().storage();
  const json::Object* metadata = json::get_object(object_, "metadata");
  const json::Object* present = metadata ? json::get_object(*metadata, map) : nullptr;
  bool has_map = present != nullptr;
  for (const auto& [name, value] : entries) {
    if (present && json::get_string(*present, name) == std::string_view(value)) continue;
    if (!std::exchange(has_map, true))
      guarded_add(patch, patch_path("/metadata", {map}), json::Value(boost::json::object_kind, storage));
    patch.add(patch_path("/metadata", {map, name}), json::Value(value, storage));
    any = true;
  }
}

std::optional<Effect> Marks::effect(std::string_view resource, const json::StoragePtr& storage) const {
  json::PatchBuilder patch(storage);
  const json::Object* metadata = json::get_object(object_, "metadata");
  test_value(patch, "/metadata/uid", metadata ? json::find(*metadata, "uid") : nullptr);
  bool any = false;
  add_to(patch, "annotations", annotations_, any);
  add_to(patch, "labels", labels_, any);
  if (!any) return std::nullopt;
  return Effect{.verb = Verb::patch,
                .resource = resource,
                .ns = std::string(metadata_text(object_, "namespace")),
                .name = std::string(metadata_text(object_, "name")),
                .identity = Identity::own(),
                .document = json::Value(patch.take(), storage)};
}

Event event(EventType type, std::string_view reason, std::string message) {
  return {.type = type, .reason = std::string(reason), .message = std::move(message)};
}

}  // namespace vg::controllers::storage
