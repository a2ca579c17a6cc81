#include "config/cluster_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/canonical.h"
#include "api/schema.h"
#include "json/access.h"

namespace vg::config {
namespace {

using std::string_view;

// What holds where the KubeVirt object says nothing (spec server 7.4), for the members that are read here or whose
// value decides whether a configuration is valid.
constexpr string_view defaults_json = R"({
  "cpuRequest": "100m",
  "evictionStrategy": "None",
  "imagePullPolicy": "IfNotPresent",
  "vmRolloutStrategy": "LiveUpdate",
  "liveUpdateConfiguration": {"maxHotplugRatio": 4},
  "developerConfiguration": {
    "pvcTolerateLessSpaceUpToPercent": 10,
    "memoryOvercommit": 100,
    "cpuAllocationRatio": 10,
    "logVerbosity": {"virtAPI": 2, "virtController": 2, "virtHandler": 2, "virtLauncher": 2, "virtOperator": 2}
  },
  "migrations": {"nodeDrainTaintKey": "kubevirt.io/drain"},
  "network": {"defaultNetworkInterface": "bridge", "permitBridgeInterfaceOnPodNetwork": true},
  "architectureConfiguration": {
    "amd64": {"machineType": "q35", "emulatedMachines": ["q35*", "pc-q35*"]},
    "arm64": {"machineType": "virt", "emulatedMachines": ["virt*"]},
    "s390x": {"machineType": "s390-ccw-virtio", "emulatedMachines": ["s390-ccw-virtio*"]}
  },
  "apiConfiguration": {"restClient": {"rateLimiter": {"tokenBucketRateLimiter": {"qps": 200, "burst": 400}}}},
  "webhookConfiguration": {"restClient": {"rateLimiter": {"tokenBucketRateLimiter": {"qps": 200, "burst": 400}}}}
})";

constexpr string_view even_parity_annotation = "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity";
constexpr string_view qgs_socket_default = "/var/run/tdx-qgs/qgs.socket";

// Only these two have settings of their own that count; every other architecture, and none, has those of amd64.
string_view architecture_of_settings(string_view architecture) {
  return architecture == "arm64" || architecture == "s390x" ? architecture : "amd64";
}

// Objects and maps are merged member by member; everything else, also null, takes the place of what was there.
void overlay(json::Object& onto, const json::Object& from, const json::StoragePtr& storage) {
  for (const auto& member : from) {
    const json::Object* inner = member.value().if_object();
    json::Value* there = onto.if_contains(member.key());
    if (inner && there && there->is_object())
      overlay(there->get_object(), *inner, storage);
    else
      onto.insert_or_assign(member.key(), json::Value(member.value(), storage));
  }
}

const api::Type& kubevirt_type() {
  static const api::Type& type = *api::find_kind("kubevirt.io", "", "KubeVirt")->type;
  return type;
}

bool one_of(string_view word, std::initializer_list<string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

bool positive(const json::Value* value) { return json::as_int(value).value_or(0) > 0; }

bool percent(const json::Value* value) {
  const auto number = json::as_int(value).value_or(0);
  return number >= 0 && number <= 100;
}

bool pull_policy(const json::Value* value) {
  return one_of(json::as_string(value).value_or(""), {"", "Always", "Never", "IfNotPresent"});
}

bool network_interface(const json::Value* value) {
  return one_of(json::as_string(value).value_or(""), {"", "bridge", "slirp", "masquerade"});
}

// What a configuration must be to take effect (spec server 7.2).
struct Requirement {
  string_view parent;  // empty for the configuration itself
  string_view member;
  string_view takes;
  bool (*holds)(const json::Value* value);
};

constexpr Requirement requirements[] = {
    {"", "imagePullPolicy", "Always, Never or IfNotPresent", pull_policy},
    {"developerConfiguration", "memoryOvercommit", "a number greater than 0", positive},
    {"developerConfiguration", "cpuAllocationRatio", "a number greater than 0", positive},
    {"developerConfiguration", "pvcTolerateLessSpaceUpToPercent", "a number from 0 to 100", percent},
    {"network", "defaultNetworkInterface", "bridge, masquerade or slirp", network_interface},
};

Result<void> check(const json::Value& merged) {
  for (const auto& [parent, member, takes, holds] : requirements) {
    const json::Value* value = parent.empty() ? json::find(merged, member) : json::find_path(merged, {parent, member});
    if (holds(value)) continue;
    return fail(
        Status::bad_request(fmt::format("spec.configuration.{}{}{} must be {}; the previous configuration stays in use",
                                        parent, parent.empty() ? "" : ".", member, takes)));
  }
  return {};
}

json::Document default_document() {
  auto parsed = json::Document::parse(defaults_json);
  return std::move(*parsed);
}

RateLimit rate_limit(const json::Value* bucket) {
  const api::View view(bucket);
  return {.qps = api::Read<double>::or_zero(view.get("qps")), .burst = json::as_int(view.get("burst")).value_or(0)};
}

}  // namespace

ConfigPtr ClusterConfig::defaults(string_view architecture) {
  std::shared_ptr<ClusterConfig> made(new ClusterConfig);
  made->document_ = default_document();
  made->default_architecture_ = architecture;
  (void)made->finish();  // the defaults are valid: a test says so
  return made;
}

Result<ConfigPtr> ClusterConfig::read(const json::Value& kubevirt, std::string resource_version) {
  std::shared_ptr<ClusterConfig> made(new ClusterConfig);
  made->document_ = default_document();
  made->resource_version_ = std::move(resource_version);
  // A typed round trip drops what has no effect: unknown members and zero values.
  json::Document copy;
  copy.root() = json::Value(kubevirt, copy.storage());
  if (auto good = api::canonicalize(copy.root(), kubevirt_type()); !good) return fail(std::move(good.error()));
  if (const auto* said = json::as_object(json::find_path(copy.root(), {"spec", "configuration"})))
    overlay(made->document_.root().get_object(), *said, made->document_.storage());
  // The operator copies the wish of the spec here; only what it confirmed counts.
  made->default_architecture_ =
      json::as_string(json::find_path(copy.root(), {"status", "defaultArchitecture"})).value_or("");
  made->even_parity_ = json::find_path(copy.root(), {"metadata", "annotations", even_parity_annotation}) != nullptr;
  if (auto good = made->finish(); !good) return fail(std::move(good.error()));
  return made;
}

Result<void> ClusterConfig::finish() {
  if (auto good = check(document_.root()); !good) return good;
  gates_ =
      evaluate_gates(listed_gates(), api::List<string_view>(at({"developerConfiguration", "disabledFeatureGates"})));
  if (const auto request = Quantity::parse(json::as_string(at({"cpuRequest"})).value_or("0"))) cpu_request_ = *request;
  return {};
}

const json::Value* ClusterConfig::at(std::initializer_list<string_view> path) const {
  return json::find_path(document_.root(), path);
}

api::List<string_view> ClusterConfig::listed_gates() const {
  return api::List<string_view>(at({"developerConfiguration", "featureGates"}));
}

bool ClusterConfig::persistent_reservation() const {
  if (const auto said = json::as_bool(at({"persistentReservationConfiguration", "enabled"}))) return *said;
  const auto listed = listed_gates();
  return std::ranges::find(listed.begin(), listed.end(), gate_name(Gate::persistent_reservation)) != listed.end();
}

bool ClusterConfig::virt_template_deployment() const {
  return enabled(Gate::template_) && json::as_bool(at({"virtTemplateDeployment", "enabled"})).value_or(true);
}

bool ClusterConfig::cluster_profiler() const {
  return json::as_bool(at({"developerConfiguration", "clusterProfiler"})).value_or(false);
}

string_view ClusterConfig::cpu_model() const { return json::as_string(at({"cpuModel"})).value_or(""); }

string_view ClusterConfig::eviction_strategy() const { return json::as_string(at({"evictionStrategy"})).value_or(""); }

string_view ClusterConfig::machine_type(string_view architecture) const {
  if (const auto global = json::as_string(at({"machineType"})); global && !global->empty()) return *global;
  const json::Value* type = at({"architectureConfiguration", architecture_of_settings(architecture), "machineType"});
  return json::as_string(type).value_or("");
}

api::List<string_view> ClusterConfig::emulated_machines(string_view architecture) const {
  if (const api::List<string_view> global(at({"emulatedMachines"})); global) return global;
  return api::List<string_view>(
      at({"architectureConfiguration", architecture_of_settings(architecture), "emulatedMachines"}));
}

string_view ClusterConfig::default_network_interface() const {
  return json::as_string(at({"network", "defaultNetworkInterface"})).value_or("");
}

bool ClusterConfig::permit_bridge_on_pod_network() const {
  return json::as_bool(at({"network", "permitBridgeInterfaceOnPodNetwork"})).value_or(true);
}

string_view ClusterConfig::qgs_socket_path() const {
  return json::as_string(at({"confidentialCompute", "tdx", "attestation", "qgsSocketPath"}))
      .value_or(qgs_socket_default);
}

bool ClusterConfig::live_update() const {
  return json::as_string(at({"vmRolloutStrategy"})).value_or("LiveUpdate") == "LiveUpdate";
}

std::uint32_t ClusterConfig::max_hotplug_ratio() const {
  return api::Read<std::uint32_t>::or_zero(at({"liveUpdateConfiguration", "maxHotplugRatio"}));
}

std::optional<std::uint32_t> ClusterConfig::max_cpu_sockets() const {
  return api::Read<std::uint32_t>::maybe(at({"liveUpdateConfiguration", "maxCpuSockets"}));
}

std::optional<Quantity> ClusterConfig::max_guest() const {
  const auto text = json::as_string(at({"liveUpdateConfiguration", "maxGuest"}));
  if (!text) return std::nullopt;
  const auto parsed = Quantity::parse(*text);
  return parsed ? std::optional(*parsed) : std::nullopt;
}

string_view ClusterConfig::node_drain_taint_key() const {
  return json::as_string(at({"migrations", "nodeDrainTaintKey"})).value_or("");
}

const json::Object* ClusterConfig::container_resources(string_view type) const {
  for (const api::View entry : api::List<api::View>(at({"supportContainerResources"})))
    if (entry.object() && json::get_string_or(*entry.object(), "type") == type)
      return json::as_object(entry.get("resources"));
  return nullptr;
}

api::View ClusterConfig::permitted_host_devices() const { return api::View(at({"permittedHostDevices"})); }

RateLimit ClusterConfig::api_rate_limit() const {
  return rate_limit(at({"apiConfiguration", "restClient", "rateLimiter", "tokenBucketRateLimiter"}));
}

RateLimit ClusterConfig::webhook_rate_limit() const {
  return rate_limit(at({"webhookConfiguration", "restClient", "rateLimiter", "tokenBucketRateLimiter"}));
}

std::int64_t ClusterConfig::verbosity(string_view host) const {
  const auto own = json::as_int(at({"developerConfiguration", "logVerbosity", "nodeVerbosity", host})).value_or(0);
  return own != 0 ? own : json::as_int(at({"developerConfiguration", "logVerbosity", "virtAPI"})).value_or(0);
}

bool counts(const json::Value& kubevirt) {
  const json::Value* deleted = json::find_path(kubevirt, {"metadata", "deletionTimestamp"});
  if (deleted && !deleted->is_null()) return false;
  return !json::as_string(json::find_path(kubevirt, {"status", "phase"})).value_or("").empty();
}

}  // namespace vg::config
