// What a node must have besides room for a placement (spec vmi-lifecycle 5.4).
#include <fmt/format.h>

#include <algorithm>

#include "api/views/vmi.h"
#include "api/views/vmi_domain.h"
#include "api/views/vmi_status.h"
#include "controllers/placement.h"
#include "json/access.h"

namespace vg::controllers {
namespace {

using api::View;
using api::kubevirt::CPUFeature;
using api::kubevirt::DomainSpec;
using api::kubevirt::VirtualMachineInstance;

using Selector = std::map<std::string, std::string, std::less<>>;

constexpr std::string_view cpu_feature_label = "cpu-feature.node.kubevirt.io/";
constexpr std::string_view hyperv_label = "hyperv.node.kubevirt.io/";

void require(Selector& selector, std::string_view prefix, std::string_view name = {}) {
  selector.insert_or_assign(fmt::format("{}{}", prefix, name), "true");
}

void copy_texts(Selector& selector, const api::Map<std::string_view>& texts) {
  for (const auto& [name, value] : texts) selector.insert_or_assign(std::string(name), std::string(value));
}

// A feature that is named without saying whether it is on, is.
bool is_on(const View& feature) { return feature && json::as_bool(feature.get("enabled")).value_or(true); }

// Only what the host must be able to do; the others are emulated.
void require_hyperv(Selector& selector, const View& hyperv) {
  for (const std::string_view feature :
       {"vpindex", "runtime", "reset", "synic", "synictimer", "frequencies", "reenlightenment", "tlbflush", "ipi"})
    if (is_on(View(hyperv.get(feature)))) require(selector, hyperv_label, feature);
  if (is_on(View(hyperv.get("evmcs")))) require(selector, "cpu-vendor.node.kubevirt.io/", "Intel");
}

void require_cpu(Selector& selector, const DomainSpec& domain) {
  const std::string_view model = domain.cpu().model();
  if (model.empty()) return;
  if (model != "host-model" && model != "host-passthrough") require(selector, "cpu-model.node.kubevirt.io/", model);
  for (const CPUFeature& feature : domain.cpu().features())
    if (feature.policy().empty() || feature.policy() == "require") require(selector, cpu_feature_label, feature.name());
}

// AMD's encrypted machines, with and without encrypted state; whoever asks for the newest kind asks for that alone.
void require_security(Selector& selector, const DomainSpec& domain, std::string_view architecture) {
  const auto security = domain.launch_security();
  if (!security) return;
  if (architecture == "s390x") require(selector, "kubevirt.io/s390-pv");
  if (security.snp()) require(selector, "kubevirt.io/sev-snp");
  if (security.tdx()) require(selector, "kubevirt.io/tdx");
  if (!security.sev()) return;
  require(selector, "kubevirt.io/sev");
  if (security.sev().policy().encrypted_state().value_or(false)) require(selector, "kubevirt.io/sev-es");
}

std::string_view machine_type(const VirtualMachineInstance& vmi) {
  const std::string_view chosen = vmi.status().machine().type();
  return chosen.empty() ? vmi.spec().domain().machine().type() : chosen;
}

Selector selector_of(const VirtualMachineInstance& vmi, const config::ClusterConfig& config) {
  const auto spec = vmi.spec();
  const DomainSpec domain = spec.domain();
  const std::string_view architecture = spec.architecture();
  Selector selector{{"kubevirt.io/schedulable", "true"}};
  const bool any_architecture = config.enabled(config::Gate::cross_architecture_virtualization);
  if (!architecture.empty() && any_architecture) require(selector, "kubevirt.io/vm-arch-", architecture);
  if (!architecture.empty() && !any_architecture) selector.emplace("kubernetes.io/arch", architecture);
  copy_texts(selector, api::Map<std::string_view>(
                           View(json::find(config.configuration(), "developerConfiguration")).get("nodeSelectors")));
  copy_texts(selector, spec.node_selector());

  if (domain.cpu().dedicated_cpu_placement()) require(selector, "kubevirt.io/cpumanager");
  if (config.enabled(config::Gate::hyperv_strict_check))
    require_hyperv(selector, View(domain.features().get("hyperv")));
  require_cpu(selector, domain);
  if (!machine_type(vmi).empty()) require(selector, "machine-type.node.kubevirt.io/", machine_type(vmi));
  const auto frequency = vmi.status().topology_hints().tsc_frequency();
  if (frequency && *frequency > 0 && tsc_need(*vmi.object()) != TscNeed::none)
    require(selector, fmt::format("scheduling.node.kubevirt.io/tsc-frequency-{}", *frequency));
  if (domain.cpu().realtime()) require(selector, "kubevirt.io/realtime");
  require_security(selector, domain, architecture);
  return selector;
}

std::vector<std::string> forbidden_labels(const DomainSpec& domain) {
  std::vector<std::string> labels;
  const std::string_view model = domain.cpu().model();
  if (model.empty() || model == "host-model") labels.emplace_back("node-labeller.kubevirt.io/obsolete-host-model");
  for (const CPUFeature& feature : domain.cpu().features())
    if (feature.policy() == "forbid") labels.push_back(fmt::format("{}{}", cpu_feature_label, feature.name()));
  return labels;
}

}  // namespace

TscNeed tsc_need(const json::Object& vmi) {
  const auto spec = VirtualMachineInstance(&vmi).spec();
  if (spec.architecture() != "amd64") return TscNeed::none;
  const DomainSpec domain = spec.domain();
  const auto is_invariant = [](const CPUFeature& feature) {
    return feature.name() == "invtsc" && (feature.policy() == "require" || feature.policy() == "force");
  };
  if (std::ranges::any_of(domain.cpu().features(), is_invariant)) return TscNeed::for_boot;
  const View hyperv(domain.features().get("hyperv"));
  return is_on(View(hyperv.get("reenlightenment"))) ? TscNeed::for_migration : TscNeed::none;
}

PlacementDemand placement_demand(const json::Object& vmi, const config::ClusterConfig& config) {
  const VirtualMachineInstance view(&vmi);
  const json::Object* metadata = json::get_object(vmi, "metadata");
  const View spec(json::find(vmi, "spec"));
  PlacementDemand demand;
  demand.selector = selector_of(view, config);
  demand.affinity = json::as_object(spec.get("affinity"));
  demand.tolerations = json::as_array(spec.get("tolerations"));
  demand.spread = json::as_array(spec.get("topologySpreadConstraints"));
  demand.forbidden_labels = forbidden_labels(view.spec().domain());
  demand.requests = placement_requests(vmi, config);
  if (metadata) {
    demand.ns = json::get_string_or(*metadata, "namespace");
    demand.vmi_labels = json::get_object(*metadata, "labels");
  }
  return demand;
}

}  // namespace vg::controllers
