// Everything that a machine depends on, as a tree (spec subresources 2.17).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "actions/action_case.h"
#include "actions/decisions.h"
#include "api/views/k8s_core.h"
#include "api/views/k8s_meta.h"
#include "api/views/k8s_pod.h"
#include "api/views/subresources.h"
#include "api/views/vmi_devices.h"
#include "api/views/vmi_domain.h"
#include "api/views/vmi_network.h"
#include "api/views/vmi_volumes.h"
#include "base/selector.h"
#include "json/access.h"

namespace vg::actions {
namespace {

using api::kubevirt::ObjectGraphOptions;
using api::kubevirt::VirtualMachineInstanceSpec;

constexpr std::string_view dependency_label = "kubevirt.io/dependency-type";

struct GraphKind {
  std::string_view group, kind, dependency;
  bool namespaced = true;
};
constexpr GraphKind machine_node{"kubevirt.io", "VirtualMachine", "compute"};
constexpr GraphKind instance_node{"kubevirt.io", "VirtualMachineInstance", "compute"};
constexpr GraphKind revision_node{"apps", "ControllerRevision", "config"};
constexpr GraphKind data_volume_node{"cdi.kubevirt.io", "DataVolume", "storage"};
constexpr GraphKind claim_node{"", "PersistentVolumeClaim", "storage"};
constexpr GraphKind config_map_node{"", "ConfigMap", "config"};
constexpr GraphKind secret_node{"", "Secret", "config"};
constexpr GraphKind account_node{"", "ServiceAccount", "config"};
constexpr GraphKind pod_node{"", "Pod", "compute"};
constexpr GraphKind network_node{"k8s.cni.cncf.io", "NetworkAttachmentDefinition", "network"};

// What a matcher may name.
constexpr std::array<GraphKind, 4> matched_nodes{
    {{"instancetype.kubevirt.io", "VirtualMachineClusterInstancetype", "config", false},
     {"instancetype.kubevirt.io", "VirtualMachineInstancetype", "config"},
     {"instancetype.kubevirt.io", "VirtualMachineClusterPreference", "config", false},
     {"instancetype.kubevirt.io", "VirtualMachinePreference", "config"}}};

// Whether the caller wants to see it, and what is below it.
class Filter {
 public:
  explicit Filter(const ObjectGraphOptions& options) : optional_(options.include_optional_nodes().value_or(true)) {
    const auto selector = options.label_selector<api::meta::LabelSelector>();
    if (!selector) return;
    std::vector<std::pair<std::string, std::string>> labels;
    for (const auto [key, value] : selector.match_labels()) labels.emplace_back(key, value);
    std::vector<MatchExpression> expressions;
    for (const auto expression : selector.match_expressions()) {
      MatchExpression& added = expressions.emplace_back();
      added.key = expression.key();
      added.op = expression.operator_();
      for (const std::string_view value : expression.values()) added.values.emplace_back(value);
    }
    // One that makes no sense is as good as none.
    if (auto made = LabelSelector::from(labels, expressions)) selector_ = std::move(*made);
  }

  bool takes(const GraphKind& kind, bool optional) const {
    if (optional && !optional_) return false;
    return selector_.matches(
        [&](std::string_view key) { return key == dependency_label ? std::optional(kind.dependency) : std::nullopt; });
  }

 private:
  bool optional_;
  LabelSelector selector_;
};

// A tree under construction: children of one node.
class Branch {
 public:
  Branch(const ActionCase& asked, const Filter& filter) : asked_(asked), filter_(filter), children_(asked.storage) {}

  // The branch below the new node, or null when it is not wanted.
  json::Object* add(const GraphKind& kind, std::string_view name, bool optional = false, std::string_view ns = {}) {
    if (!filter_.takes(kind, optional)) return nullptr;
    children_.push_back(node(kind, name, ns.empty() ? asked_.ns : ns, optional));
    return &children_.back().get_object();
  }
  json::Value node(const GraphKind& kind, std::string_view name, std::string_view ns, bool optional) const {
    json::Object made(asked_.storage);
    json::Object& reference = made["objectReference"].emplace_object();
    reference["apiGroup"] = text_of(kind.group, asked_);
    reference["kind"] = text_of(kind.kind, asked_);
    reference["name"] = text_of(name, asked_);
    reference["namespace"] = text_of(kind.namespaced ? ns : std::string_view(), asked_);
    made["labels"].emplace_object()[dependency_label] = text_of(kind.dependency, asked_);
    if (optional) made["optional"] = true;
    return json::Value(std::move(made));
  }
  const ActionCase& asked() const { return asked_; }
  const Filter& filter() const { return filter_; }
  void hang_below(json::Object& parent) {
    if (!children_.empty()) parent.emplace("children", std::move(children_));
  }

 private:
  const ActionCase& asked_;
  const Filter& filter_;
  json::Array children_;
};

// --- parts
// -------------------------------------------------------------------------------------------------------------

bool launches(const api::k8s::Pod& pod, std::string_view name) {
  for (const auto owner : pod.metadata().owner_references())
    if (owner.kind() == "VirtualMachineInstance" && owner.name() == name) return true;
  return pod.metadata().annotations()["kubevirt.io/domain"] == name;
}

void add_launcher(Branch& branch) {
  for (const json::Value* value : branch.asked().pods) {
    const api::k8s::Pod pod(value);
    if (!launches(pod, branch.asked().name)) continue;
    branch.add(pod_node, pod.metadata().name());
    return;
  }
}

void add_running_instance(Branch& branch) {
  if (!branch.asked().vm().status().created()) return;
  json::Object* instance = branch.add(instance_node, branch.asked().name);
  if (!instance) return;
  Branch below(branch.asked(), branch.filter());
  add_launcher(below);
  below.hang_below(*instance);
}

bool same_word(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

// A matcher that names no kind, or a plural, has no node (spec subresources Q30).
const GraphKind* matched_kind(std::string_view said) {
  const auto* found =
      std::ranges::find_if(matched_nodes, [&](const GraphKind& kind) { return same_word(said, kind.kind); });
  return found == matched_nodes.end() ? nullptr : found;
}

template <class Matcher>
void add_matched(Branch& branch, const Matcher& matcher, const api::kubevirt::InstancetypeStatusRef& resolved) {
  if (!matcher) return;
  if (const GraphKind* kind = matched_kind(matcher.kind())) branch.add(*kind, matcher.name(), true);
  const std::string_view revision = resolved ? resolved.controller_revision_ref().name() : matcher.revision_name();
  if (!revision.empty()) branch.add(revision_node, revision);
}

void add_credentials(Branch& branch, const VirtualMachineInstanceSpec& spec) {
  for (const auto credential : spec.access_credentials()) {
    const auto key = credential.ssh_public_key().source().secret();
    const auto password = credential.user_password().source().secret();
    if (key)
      branch.add(secret_node, key.secret_name());
    else if (password)
      branch.add(secret_node, password.secret_name());
  }
}

void add_data_volume(Branch& branch, std::string_view name) {
  json::Object* volume = branch.add(data_volume_node, name);
  if (!volume) return;
  Branch below(branch.asked(), branch.filter());
  below.add(claim_node, name);
  below.hang_below(*volume);
}

void add_cloud_init(Branch& branch, const auto& source) {
  for (const std::string_view member : {"secretRef", "networkDataSecretRef"})
    if (const json::Object* secret = json::as_object(source.get(member)))
      branch.add(secret_node, json::get_string_or(*secret, "name"));
}

void add_volume(Branch& branch, const api::kubevirt::Volume& volume) {
  if (volume.data_volume())
    add_data_volume(branch, volume.data_volume().name());
  else if (volume.persistent_volume_claim())
    branch.add(claim_node, volume.persistent_volume_claim().claim_name());
  else if (const json::Object* map = json::as_object(volume.get("configMap")))
    branch.add(config_map_node, json::get_string_or(*map, "name"));
  else if (const json::Object* secret = json::as_object(volume.get("secret")))
    branch.add(secret_node, json::get_string_or(*secret, "secretName"));
  else if (const json::Object* account = json::as_object(volume.get("serviceAccount")))
    branch.add(account_node, json::get_string_or(*account, "serviceAccountName"));
  else if (volume.cloud_init_no_cloud())
    add_cloud_init(branch, volume.cloud_init_no_cloud());
  else if (volume.cloud_init_config_drive())
    add_cloud_init(branch, volume.cloud_init_config_drive());
}

// --- persistent state
// --------------------------------------------------------------------------------------------------

bool keeps_state(const VirtualMachineInstanceSpec& spec, std::string_view tracking) {
  const auto tpm = spec.domain().devices().tpm();
  const auto efi = spec.domain().firmware().bootloader().efi();
  return (tpm && tpm.enabled() != false && tpm.persistent() == true) || (efi && efi.persistent() == true) ||
         tracking == "Initializing" || tracking == "Enabled";
}

// Of several claims the newest that stays; empty where there is none.
std::string_view state_claim(const ActionCase& asked) {
  api::meta::ObjectMeta newest;
  for (const json::Value* value : asked.claims) {
    const api::meta::ObjectMeta metadata = api::k8s::PersistentVolumeClaim(value).metadata();
    if (asked.claims.size() > 1 && metadata.deletion_timestamp()) continue;
    if (!newest || metadata.creation_timestamp() > newest.creation_timestamp()) newest = metadata;
  }
  return newest.name();
}

std::string_view instance_state_claim(const VirtualMachineInstance& vmi) {
  for (const auto volume : vmi.status().volume_status())
    if (volume.name().starts_with("persistent-state-for")) return volume.persistent_volume_claim_info().claim_name();
  return {};
}

bool keeps_state(const ActionCase& asked, bool is_machine) {
  return is_machine
             ? keeps_state(asked.vm().spec().template_().spec(), asked.vm().status().changed_block_tracking().state())
             : keeps_state(asked.vmi().spec(), asked.vmi().status().changed_block_tracking().state());
}

void add_state(Branch& branch, bool is_machine) {
  const ActionCase& asked = branch.asked();
  if (!keeps_state(asked, is_machine)) return;
  const std::string_view claim = is_machine ? state_claim(asked) : instance_state_claim(asked.vmi());
  if (!claim.empty()) branch.add(claim_node, claim);
}

// A machine that keeps state must have a claim for it; an instance may not have got it yet.
std::optional<Status> find_lost_state(const ActionCase& asked) {
  if (!keeps_state(asked, true) || !state_claim(asked).empty()) return std::nullopt;
  return Status::internal_error(
      fmt::format("VM \"{0}\" has persistent state (TPM, EFI or changed blocks), but no PVC has the label "
                  "persistent-state-for={0}",
                  asked.name));
}

// "a/b" is b in namespace a; anything else is a name.
void add_networks(Branch& branch, const VirtualMachineInstanceSpec& spec) {
  for (const auto network : spec.networks()) {
    const json::Object* multus = json::as_object(network.get("multus"));
    if (!multus) continue;
    const std::string_view name = json::get_string_or(*multus, "networkName");
    const auto slash = name.find('/');
    if (slash != name.npos && name.find('/', slash + 1) == name.npos)
      branch.add(network_node, name.substr(slash + 1), true, name.substr(0, slash));
    else
      branch.add(network_node, name, true);
  }
}

void add_spec(Branch& branch, const VirtualMachineInstanceSpec& spec, bool is_machine) {
  add_credentials(branch, spec);
  for (const auto volume : spec.volumes()) add_volume(branch, volume);
  add_state(branch, is_machine);
  add_networks(branch, spec);
}

}  // namespace

Decision decide_object_graph(const ActionCase& asked) {
  const bool is_machine = asked.action.resource == machines.plural;
  const Filter filter(asked.options<ObjectGraphOptions>());
  Branch branch(asked, filter);
  if (is_machine) {
    if (auto lost = find_lost_state(asked)) return fail(std::move(*lost));
    const auto vm = asked.vm();
    add_running_instance(branch);
    add_matched(branch, vm.spec().instancetype(), vm.status().instancetype_ref());
    add_matched(branch, vm.spec().preference(), vm.status().preference_ref());
    add_spec(branch, vm.spec().template_().spec(), true);
  } else {
    add_launcher(branch);
    add_spec(branch, asked.vmi().spec(), false);
  }
  json::Value root = branch.node(is_machine ? machine_node : instance_node, asked.name, asked.ns, false);
  branch.hang_below(root.get_object());
  return effects(Reply{.code = 200, .document = std::move(root)});
}

}  // namespace vg::actions
