#include "controllers/vmi/network.h"

#include <algorithm>
#include <string>
#include <vector>

#include "api/views/vmi_devices.h"
#include "api/views/vmi_network.h"
#include "base/time_rfc3339.h"
#include "controllers/common/conditions.h"
#include "json/access.h"

namespace vg::controllers::vmi {
namespace {

using api::View;
using api::kubevirt::Interface;
using api::kubevirt::Network;

constexpr std::string_view primary_interface = "eth0";
constexpr std::string_view multus_source = "multus-status";
constexpr std::string_view migration_required = "MigrationRequired";
// How long somebody else may take to plug an interface in, before a migration does it.
constexpr std::chrono::seconds plug_grace{15};
constexpr std::chrono::seconds plug_interval{10};

enum class Kind : std::uint8_t { primary, secondary, claimed };

Kind kind_of(const Network& network) {
  if (network.has("resourceClaim")) return Kind::claimed;
  if (const View multus(network.get("multus")); multus)
    return json::as_bool(multus.get("default")).value_or(false) ? Kind::primary : Kind::secondary;
  return Kind::primary;
}

const json::Value* entry_of(const json::Array* entries, std::string_view name) {
  if (!entries) return nullptr;
  const auto found =
      std::ranges::find_if(*entries, [&](const json::Value& one) { return json::get_string_or(one, "name") == name; });
  return found == entries->end() ? nullptr : &*found;
}

// "domain, guest-agent, multus-status" without one of them.
std::string without_source(std::string_view sources, std::string_view unwanted) {
  std::string kept;
  while (!sources.empty()) {
    const std::size_t comma = std::min(sources.find(','), sources.size());
    std::string_view source = sources.substr(0, comma);
    sources.remove_prefix(std::min(comma + 1, sources.size()));
    source.remove_prefix(std::min(source.find_first_not_of(' '), source.size()));
    if (source.empty() || source == unwanted) continue;
    if (!kept.empty()) kept += ", ";
    kept += source;
  }
  return kept;
}

bool has_source(std::string_view sources, std::string_view wanted) {
  return without_source(sources, wanted) != without_source(sources, {});
}

json::Object copy_of(const json::Value* entry, std::string_view name, const json::StoragePtr& storage) {
  if (entry && entry->is_object()) return json::Object(entry->get_object(), storage);
  return json::Object({{"name", name}}, storage);
}

// Nobody tells what a multus pod network has, so an entry says of itself whether it exists.
json::Array wanted_interfaces(const Draft& draft, const json::Array* old) {
  json::Array shown(draft.storage());
  const auto networks = draft.spec().networks();
  const auto is_of = [](Kind kind) { return [kind](const Network& one) { return kind_of(one) == kind; }; };
  for (const Network& network : networks) {
    if (!is_of(Kind::primary)(network)) continue;
    json::Object entry = copy_of(entry_of(old, network.name()), network.name(), draft.storage());
    entry["podInterfaceName"] = primary_interface;
    shown.push_back(std::move(entry));
    break;
  }
  for (const Network& network : networks) {
    const json::Value* entry = entry_of(old, network.name());
    if (!entry || !is_of(Kind::secondary)(network)) continue;
    json::Object kept = copy_of(entry, network.name(), draft.storage());
    if (const std::string_view sources = json::get_string_or(kept, "infoSource"); has_source(sources, multus_source))
      kept["infoSource"] = without_source(sources, multus_source);
    shown.push_back(std::move(kept));
  }
  for (const Network& network : networks)
    if (const json::Value* entry = entry_of(old, network.name()); entry && is_of(Kind::claimed)(network))
      shown.push_back(*entry);
  if (old)
    for (const json::Value& entry : *old) {
      const auto is_named = [&](const Network& one) { return one.name() == json::get_string_or(entry, "name"); };
      if (std::ranges::none_of(networks, is_named)) shown.push_back(entry);
    }
  return shown;
}

// In whatever order: the agent has one of its own, and two that correct each other never end.
bool are_alike(const json::Array& left, const json::Array& right) {
  const auto by_name = [](const json::Array& entries) {
    std::vector<const json::Value*> sorted;
    for (const json::Value& entry : entries) sorted.push_back(&entry);
    std::ranges::sort(sorted, {}, [](const json::Value* one) { return json::get_string_or(*one, "name"); });
    return sorted;
  };
  const auto is_same = [](const json::Value* one, const json::Value* other) { return *one == *other; };
  return std::ranges::equal(by_name(left), by_name(right), is_same);
}

enum class Need : std::uint8_t { none, later, now };

Need migration_need(const Draft& draft) {
  const json::Array* shown = json::as_array(draft.read_status().get("interfaces"));
  const auto networks = draft.spec().networks();
  for (const Interface& one : draft.spec().domain().devices().interfaces()) {
    const auto is_its_network = [&](const Network& network) {
      return network.name() == one.name() && kind_of(network) == Kind::secondary;
    };
    if (std::ranges::none_of(networks, is_its_network)) continue;
    const json::Value* entry = entry_of(shown, one.name());
    const bool is_absent = one.state() == "absent";
    if (!is_absent && !entry) return one.sriov() ? Need::now : Need::later;
    const std::string_view sources = entry ? json::get_string_or(*entry, "infoSource") : std::string_view();
    if (is_absent && has_source(sources, multus_source) && !has_source(sources, "domain")) return Need::later;
  }
  return Need::none;
}

bool is_migrating(const Draft& draft) {
  const auto state = draft.read_status().migration_state();
  return state.start_timestamp() && !state.end_timestamp();
}

bool is_overdue(const json::Object& condition, Time now) {
  const auto since = parse_rfc3339(json::get_string_or(condition, "lastTransitionTime"));
  return since && now - since->on_clock() > plug_grace;
}

}  // namespace

void update_interfaces(Draft& draft) {
  const json::Array* old = json::as_array(draft.read_status().get("interfaces"));
  json::Array shown = wanted_interfaces(draft, old);
  if (old ? are_alike(*old, shown) : shown.empty()) return;
  draft.status()["interfaces"] = std::move(shown);
}

void update_migration_required(Draft& draft) {
  if (is_migrating(draft)) return;
  const Need need = migration_need(draft);
  const json::Object* known = find_condition(&draft.status(), migration_required);
  if (need == Need::none) {
    drop_condition(draft.status(), migration_required);
    return;
  }
  if (known && json::get_string_or(*known, "status") == "True") return;  // never taken back while it is needed
  const bool now = need == Need::now || (known && is_overdue(*known, draft.turn.now));
  const std::string time = draft.now();
  set_condition(draft.status(), {.type = migration_required,
                                 .status = now ? "True" : "False",
                                 .reason = now ? "AutoMigrationDueToLiveUpdate" : "AutoMigrationPending",
                                 .last_transition = time});
  if (!now) draft.pass.look_again(plug_interval);
}

}  // namespace vg::controllers::vmi
