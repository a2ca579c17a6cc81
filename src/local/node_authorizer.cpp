#include "local/node_authorizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "auth/node_identity.h"
#include "json/access.h"
#include "json/document.h"

namespace vg::local {
namespace {

using std::string_view;

constexpr string_view vmis_resource = "kubevirt.io/virtualmachineinstances";
constexpr string_view node_label = "kubevirt.io/nodeName", target_label = "kubevirt.io/migrationTargetNodeName";

// --- what a VMI mounts -----------------------------------------------------------------------------------------------

// Where a volume names an object.
struct Reference {
  string_view resource;
  std::array<string_view, 3> path;  // up to the first empty one
};
constexpr std::array volume_references = std::to_array<Reference>({
    {"secrets", {"secret", "secretName"}},
    {"secrets", {"cloudInitNoCloud", "secretRef", "name"}},
    {"secrets", {"cloudInitNoCloud", "networkDataSecretRef", "name"}},
    {"secrets", {"cloudInitConfigDrive", "secretRef", "name"}},
    {"secrets", {"cloudInitConfigDrive", "networkDataSecretRef", "name"}},
    {"secrets", {"sysprep", "secret", "name"}},
    {"secrets", {"containerDisk", "imagePullSecret"}},
    {"configmaps", {"configMap", "name"}},
    {"configmaps", {"sysprep", "configMap", "name"}},
    {"persistentvolumeclaims", {"persistentVolumeClaim", "claimName"}},
    {"persistentvolumeclaims", {"dataVolume", "name"}},
    {"persistentvolumeclaims", {"ephemeral", "persistentVolumeClaim", "claimName"}},
    {"persistentvolumeclaims", {"memoryDump", "claimName"}},
    {"serviceaccounts", {"serviceAccount", "serviceAccountName"}},
});
constexpr string_view attachments_resource = "network-attachment-definitions";
// Whose attachments VMIs of every namespace may name.
constexpr string_view everybodys_namespace = "default";
constexpr std::array<string_view, 2> credential_kinds{"sshPublicKey", "userPassword"};

bool names(const json::Value& holder, const Reference& reference, string_view name) {
  const json::Value* at = &holder;
  for (const string_view step : reference.path) {
    if (step.empty()) break;
    at = json::find(*at, step);
    if (!at) return false;
  }
  return json::as_string(at) == name;
}

// NAME, or NAMESPACE/NAME, in the VMI's own namespace.
bool network_names(const json::Value& network, string_view ns, string_view name) {
  const auto wanted = json::as_string(json::find_path(network, {"multus", "networkName"}));
  return wanted && (*wanted == name || *wanted == fmt::format("{}/{}", ns, name));
}

// Rules let nobody write a volume of two sources; one that is there all the same gives nothing of either.
bool has_one_source(const json::Value& volume) {
  const json::Object* members = volume.if_object();
  return members && std::ranges::count_if(*members, [](const auto& member) {
                      return member.key() != "name" && !member.value().is_null();
                    }) == 1;
}

bool volume_names(const json::Value& volume, string_view resource, string_view name) {
  return has_one_source(volume) && std::ranges::any_of(volume_references, [&](const Reference& reference) {
           return reference.resource == resource && names(volume, reference, name);
         });
}

bool credential_names(const json::Value& credential, string_view name) {
  return std::ranges::any_of(credential_kinds, [&](string_view kind) {
    return json::as_string(json::find_path(credential, {kind, "source", "secret", "secretName"})) == name;
  });
}

template <class Holds>
bool any_of(const json::Object& spec, string_view list, Holds holds) {
  const json::Array* all = json::get_array(spec, list);
  return all && std::ranges::any_of(*all, holds);
}

// --- what a node may do ----------------------------------------------------------------------------------------------

struct Question {
  string_view node;
  const AccessAttributes& asked;
  const NodeGraph& graph;
};

bool is_own_node(const Question& question) { return question.asked.name == question.node; }
// Creating has no name yet: that it is its own is asked where the object is known (objects/node_restriction.h).
bool is_new(const Question& question) { return question.asked.name.empty(); }
bool is_own_pod(const Question& question) {
  return question.asked.ns == "kubevirt" && question.asked.name == fmt::format("virt-handler-{}", question.node);
}
bool is_in_own_namespace(const Question& question) { return question.asked.ns == "kubevirt"; }
bool is_own_vmi(const Question& question) {
  return !question.asked.name.empty() && question.graph.has_vmi(question.asked.ns, question.asked.name);
}
bool was_own_vmi(const Question& question) {
  return !question.asked.name.empty() && question.graph.had_vmi(question.asked.ns, question.asked.name);
}
// Of many: by the labels that controllers set and users cannot (META-01).
bool are_own_vmis(const Question& question) {
  return std::ranges::any_of(std::array{node_label, target_label}, [&](string_view label) {
    return question.asked.label_selector == fmt::format("{}={}", label, question.node);
  });
}
bool is_mounted(const Question& question) {
  return !question.asked.name.empty() &&
         question.graph.mounts(question.asked.resource, question.asked.ns, question.asked.name);
}
bool is_attached(const Question& question) {
  return is_mounted(question) || (!question.asked.name.empty() && question.asked.ns == everybodys_namespace);
}
bool always(const Question&) { return true; }

struct Row {
  string_view verbs, group, resource, subresource;  // subresource "*": any or none
  bool (*holds)(const Question& question);
};
constexpr std::array table = std::to_array<Row>({
    {"get list watch update patch", "", "nodes", "*", is_own_node},
    {"create", "", "nodes", "", is_new},
    {"get", "", "pods", "", is_own_pod},
    {"get update patch", "kubevirt.io", "virtualmachineinstances", "*", is_own_vmi},
    {"get", "kubevirt.io", "virtualmachineinstances", "", was_own_vmi},
    {"list watch", "kubevirt.io", "virtualmachineinstances", "", are_own_vmis},
    {"get", "", "secrets", "", is_mounted},
    {"get", "", "configmaps", "", is_mounted},
    {"get", "", "persistentvolumeclaims", "", is_mounted},
    {"create", "", "serviceaccounts", "token", is_mounted},
    {"get", "k8s.cni.cncf.io", attachments_resource, "", is_attached},
    {"get list watch", "", "configmaps", "", is_in_own_namespace},
    {"create patch update", "", "events", "", always},
    {"create patch update", "events.k8s.io", "events", "", always},
    {"get list watch", "kubevirt.io", "kubevirts", "", always},
    {"get list watch", "migrations.kubevirt.io", "migrationpolicies", "", always},
});

bool has_word(string_view words, string_view word) {
  while (!words.empty()) {
    const string_view first = words.substr(0, words.find(' '));
    if (first == word) return true;
    words.remove_prefix(std::min(words.size(), first.size() + 1));
  }
  return false;
}

bool matches(const Row& row, const AccessAttributes& asked) {
  return row.group == asked.group && row.resource == asked.resource && has_word(row.verbs, asked.verb) &&
         (row.subresource == "*" || row.subresource == asked.subresource);
}

// Discovery, health, OpenAPI: what everybody may read who is somebody.
bool is_open_path(const AccessAttributes& asked) {
  return asked.verb == "get" &&
         std::ranges::any_of(
             std::array<string_view, 6>{"/api", "/apis", "/healthz", "/livez", "/readyz", "/version"},
             [&](string_view path) { return asked.path == path || asked.path.starts_with(fmt::format("{}/", path)); });
}

}  // namespace

bool is_on_node(const json::Object& vmi, string_view node) {
  const json::Object* metadata = json::get_object(vmi, "metadata");
  const json::Object* labels = metadata ? json::get_object(*metadata, "labels") : nullptr;
  const json::Object* status = json::get_object(vmi, "status");
  if (status && json::get_string_or(*status, "nodeName") == node) return true;
  return labels &&
         (json::get_string_or(*labels, node_label) == node || json::get_string_or(*labels, target_label) == node);
}

bool moved_from_node(const json::Object& vmi, string_view node) {
  const json::Object* status = json::get_object(vmi, "status");
  const json::Object* state = status ? json::get_object(*status, "migrationState") : nullptr;
  return state && json::get_string_or(*state, "sourceNode") == node;
}

bool mounts(const json::Object& vmi, string_view resource, string_view name) {
  const json::Object* spec = json::get_object(vmi, "spec");
  if (!spec) return false;
  if (any_of(*spec, "volumes", [&](const json::Value& volume) { return volume_names(volume, resource, name); }))
    return true;
  if (resource == attachments_resource) {
    const json::Object* metadata = json::get_object(vmi, "metadata");
    const string_view ns = metadata ? json::get_string_or(*metadata, "namespace") : string_view();
    return any_of(*spec, "networks", [&](const json::Value& network) { return network_names(network, ns, name); });
  }
  if (resource != "secrets") return false;
  const json::Value whole(*spec);
  if (json::as_string(json::find_path(whole, {"domain", "firmware", "kernelBoot", "container", "imagePullSecret"})) ==
      name)
    return true;
  return any_of(*spec, "accessCredentials",
                [&](const json::Value& credential) { return credential_names(credential, name); });
}

AccessDecision decide_node(string_view node, const AccessAttributes& asked, const NodeGraph& graph) {
  if (!asked.resource_request)
    return {.allowed = is_open_path(asked), .reason = fmt::format("node {} may read what everybody may", node)};
  const Question question{.node = node, .asked = asked, .graph = graph};
  for (const Row& row : table)
    if (matches(row, asked) && row.holds(question))
      return {.allowed = true, .reason = fmt::format("it is of node {}", node)};
  return {
      .allowed = false,
      .reason = fmt::format("node {} may only reach its own Node, the VMIs placed on it, and what they mount", node)};
}

Task<Result<AccessDecision>> NodeAuthorizer::authorize(Core& core, const User& user,
                                                       const AccessAttributes& attributes) {
  const string_view node = auth::node_of(user);
  if (node.empty()) co_return co_await others_.authorize(core, user, attributes);
  const auto any_such = [&](const StoredObject& object, auto&& holds) {
    // Most are of other nodes, which the text alone tells.
    if (!object.json().contains(node)) return false;
    const auto document = json::Document::parse(object.json());
    const json::Object* vmi = document ? document->root().if_object() : nullptr;
    return vmi && holds(*vmi);
  };
  const auto stored = [&](string_view ns, string_view name, auto&& holds) {
    const ObjectPtr vmi = store_.get(vmis_resource, ns, name);
    return vmi && any_such(*vmi, [&](const json::Object& whole) { return holds(whole, node); });
  };
  const NodeGraph graph{
      .has_vmi = [&](string_view ns, string_view name) { return stored(ns, name, is_on_node); },
      .had_vmi =
          [&](string_view ns, string_view name) {
            return !store_.get(vmis_resource, ns, name) || stored(ns, name, moved_from_node);
          },
      .mounts =
          [&](string_view resource, string_view ns, string_view name) {
            if (ns.empty()) return false;
            const auto found =
                store_.list({.resource = vmis_resource, .ns = ns, .limit = 1, .matches = [&](const StoredObject& vmi) {
                               return vmi.json().contains(name) && any_such(vmi, [&](const json::Object& whole) {
                                        return is_on_node(whole, node) && mounts(whole, resource, name);
                                      });
                             }});
            return found && !found->objects.empty();
          },
  };
  co_return decide_node(node, attributes, graph);
}

}  // namespace vg::local
