#include "controllers/storage/promise.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "controllers/common/owners.h"
#include "controllers/storage/facts.h"
#include "json/access.h"

namespace vg::controllers::storage {
namespace {

std::set<std::string_view> held_names(std::string_view text) {
  std::set<std::string_view> names;
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), name.size() + 1));
    if (!name.empty()) names.insert(name);
  }
  return names;
}

// Whoever provisions elsewhere names volumes alike.
bool is_of_this_machine(const World& world, const json::Object& claim, const json::Object* volume) {
  if (!volume) return is_local_class(world, json::get_string_or(*spec_of(claim), "storageClassName"));
  const json::Object* spec = spec_of(*volume);
  const json::Object* driver = spec ? json::get_object(*spec, "csi") : nullptr;
  return driver && json::get_string_or(*driver, "driver") == local_provisioner;
}

}  // namespace

Promise promise_of(const World& world, const json::Object& claim) {
  using State = Promise::State;
  const std::string_view phase = phase_of(claim);
  const json::Object* spec = spec_of(claim);
  const std::string name = volume_name_of(claim);
  if (!spec || (phase != "Bound" && phase != "Lost") || json::get_string_or(*spec, "volumeName") != name) return {};
  const json::Object* volume = world.get(kinds::volume, "", name);
  if (!is_of_this_machine(world, claim, volume)) return {};
  if (!world.disks().ready()) return {.state = State::unknown};
  const auto disk = disk_of(world, claim);
  if (!disk) return {.state = State::lost, .missing = "its folder"};
  std::vector<std::string_view> missing;
  const std::string_view told = volume ? annotation_of(*volume, mark::holds) : std::string_view();
  std::ranges::set_difference(held_names(told), held_names(disk->holds), std::back_inserter(missing));
  if (!missing.empty()) return {.state = State::lost, .missing = fmt::format("{}", fmt::join(missing, ", "))};
  return {.state = State::kept, .has_image = disk->image_size > 0};
}

std::string lost_text(const json::Object& claim, const Promise& promise) {
  const std::string_view ns = metadata_text(claim, "namespace"), name = metadata_text(claim, "name");
  return fmt::format(
      "the data of PersistentVolumeClaim {}/{} is missing: {} is not in disks/{}/{} of the state folder; mount or "
      "restore it, and the claim is Bound again by itself",
      ns, name, promise.missing, ns, name);
}

std::string held_in_all(const json::Object& volume, const DiskClaim& disk) {
  auto names = held_names(annotation_of(volume, mark::holds));
  names.merge(held_names(disk.holds));
  return fmt::format("{}", fmt::join(names, ","));
}

bool had_image(const json::Object& volume) {
  return held_names(annotation_of(volume, mark::holds)).contains(image_name);
}

}  // namespace vg::controllers::storage
