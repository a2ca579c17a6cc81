#include "objects/node_restriction.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "admission/semantic_equal.h"
#include "api/canonical.h"
#include "auth/node_identity.h"
#include "json/access.h"
#include "json/equal.h"
#include "objects/object_meta.h"

namespace vg::resources {
namespace {

using json::Object;
using json::Value;
using std::string_view;

constexpr string_view vmis_key = "kubevirt.io/virtualmachineinstances";
constexpr string_view node_label = "kubevirt.io/nodeName";
constexpr string_view role_label = "node-role.kubernetes.io/worker";
constexpr string_view events_of_nodes = "default";  // a Node has no namespace; others are not a node's to write to

// Of VMIs: what a node removes when a migration has ended, or when the guest has what was asked for.
constexpr std::array dropped_labels = std::to_array<string_view>(
    {"kubevirt.io/migrationTargetNodeName", "kubevirt.io/outdatedLauncherImage",
     "kubevirt.io/vmi-pod-cpu-resource-limits", "kubevirt.io/vmi-pod-memory-resource-requests",
     "kubevirt.io/memory-hotplug-overhead-ratio"});
constexpr std::array dropped_annotations = std::to_array<string_view>({"kubevirt.io/eviction-source"});
// Of VMIs' statuses: what virt-controller alone writes and goes by. With it a node could fill another one with guests
// that are not there, or take one revision or migration for another.
constexpr std::array kept_status = std::to_array<string_view>(
    {"activePods", "VSOCKCID", "qosClass", "runtimeUser", "topologyHints", "virtualMachineRevisionName",
     "evacuationNodeName", "launcherContainerImageVersion", "migratedVolumes"});
// Those of them that go with the write that says that the guest has arrived.
constexpr std::array dropped_at_arrival =
    std::to_array<string_view>({"evacuationNodeName", "launcherContainerImageVersion", "migratedVolumes"});
constexpr std::array kept_migration_state = std::to_array<string_view>(
    {"targetNode", "sourceNode", "migrationUid", "targetPod", "sourcePod", "targetMemoryOverhead",
     "migrationConfiguration", "migrationPolicyName", "abortRequested"});
// Of Nodes: what the host is like.
constexpr std::array own_node_labels =
    std::to_array<string_view>({"kubernetes.io/arch", "kubernetes.io/os", "cpumanager"});
constexpr std::array own_label_domains = std::to_array<string_view>({"kubevirt.io"});
constexpr string_view labeller_domain = ".node.kubevirt.io";
constexpr std::array own_annotation_domains =
    std::to_array<string_view>({"kubevirt.io", "virtgate.io", "node.virtgate.io"});

template <class Names>
bool is_in(const Names& names, string_view name) {
  return std::ranges::find(names, name) != names.end();
}

string_view domain_of(string_view name) {
  const auto slash = name.find('/');
  return slash == name.npos ? string_view() : name.substr(0, slash);
}

const Value* at(const Value& object, std::initializer_list<string_view> path) { return json::find_path(object, path); }
string_view text_at(const Value& object, std::initializer_list<string_view> path) {
  return json::as_string(at(object, path)).value_or("");
}
bool same(const Value* one, const Value* other) { return one && other ? json::equal(*one, *other) : one == other; }

// Calls changed(name, before, after) for each member that differs; null for one that is not there. The first problem.
template <class Judge>
std::optional<std::string> each_change(const Value* before, const Value* after, Judge judge) {
  static const Object none;
  const Object& was = before && before->is_object() ? before->get_object() : none;
  const Object& is = after && after->is_object() ? after->get_object() : none;
  for (const auto& member : is)
    if (const Value* old = json::find(was, member.key()); !old || !json::equal(*old, member.value()))
      if (auto problem = judge(string_view(member.key()), old, &member.value())) return problem;
  for (const auto& member : was)
    if (!json::find(is, member.key()))
      if (auto problem = judge(string_view(member.key()), &member.value(), nullptr)) return problem;
  return std::nullopt;
}

struct NodeWrite {
  string_view node;
  const Resource& resource;
  const Value& object;
  const Value* old;  // null for a create

  const Value* before(std::initializer_list<string_view> path) const { return old ? at(*old, path) : nullptr; }
  bool keeps(std::initializer_list<string_view> path) const { return same(before(path), at(object, path)); }
};

// As the types see it: a node sends VMIs back in canonical form.
bool keeps_typed(const NodeWrite& write, std::initializer_list<string_view> path) {
  if (write.keeps(path)) return true;
  const api::Type& type = *write.resource.kind->type;
  const api::Field* field = admission::member_at(type, path);
  Value is(write.object, write.object.storage()), was(*write.old, write.object.storage());
  if (!field || !api::canonicalize(is, type) || !api::canonicalize(was, type)) return false;
  return admission::semantically_equal(at(is, path), at(was, path), *field);
}

std::optional<std::string> find_meta_problem(const NodeWrite& write) {
  for (const string_view member : {"ownerReferences", "finalizers"})
    if (!write.keeps({"metadata", member}))
      return fmt::format("a node must not change metadata.{} of an object", member);
  return std::nullopt;
}

std::optional<std::string> find_vmi_status_problem(const NodeWrite& write) {
  const bool arrives = !write.keeps({"status", "nodeName"});  // whether it may was asked before
  for (const string_view member : kept_status) {
    const bool is_dropped = !at(write.object, {"status", member});
    if (arrives && is_dropped && is_in(dropped_at_arrival, member)) continue;
    if (!keeps_typed(write, {"status", member}))
      return fmt::format("a node must not change status.{} of a VMI: virt-controller sets it", member);
  }
  for (const string_view member : kept_migration_state)
    if (!keeps_typed(write, {"status", "migrationState", member}))
      return fmt::format("a node must not change status.migrationState.{}: virt-controller sets it", member);
  return std::nullopt;
}

std::optional<std::string> find_vmi_problem(const NodeWrite& write) {
  if (!write.old) return "a node must not create VMIs";
  if (!keeps_typed(write, {"spec"})) return "a node must not change the spec of a VMI: it writes its status";
  if (auto problem = find_meta_problem(write)) return problem;
  // A migration that virt-controller began ends here.
  const bool arrives = text_at(*write.old, {"status", "migrationState", "targetNode"}) == write.node;
  const auto is_arrival = [&](const Value* after) { return arrives && json::as_string(after) == write.node; };
  if (!write.keeps({"status", "nodeName"}) && !is_arrival(at(write.object, {"status", "nodeName"})))
    return "a node must not move a VMI: status.nodeName is set by virt-controller";
  if (auto problem = find_vmi_status_problem(write)) return problem;
  auto labels = each_change(write.before({"metadata", "labels"}), at(write.object, {"metadata", "labels"}),
                            [&](string_view name, const Value*, const Value* after) -> std::optional<std::string> {
                              if (name == node_label && is_arrival(after)) return std::nullopt;
                              if (!after && is_in(dropped_labels, name)) return std::nullopt;
                              return fmt::format("a node must not change label {} of a VMI", name);
                            });
  if (labels) return labels;
  return each_change(write.before({"metadata", "annotations"}), at(write.object, {"metadata", "annotations"}),
                     [&](string_view name, const Value*, const Value* after) -> std::optional<std::string> {
                       if (!after && is_in(dropped_annotations, name)) return std::nullopt;
                       return fmt::format("a node must not change annotation {} of a VMI", name);
                     });
}

bool is_own_label(string_view name, const Value* after, string_view node) {
  if (name == "kubernetes.io/hostname") return json::as_string(after) == node;
  const string_view domain = domain_of(name);
  return is_in(own_node_labels, name) || is_in(own_label_domains, domain) || domain.ends_with(labeller_domain);
}

std::optional<std::string> find_own_node_problem(const NodeWrite& write) {
  if (text_at(write.object, {"metadata", "name"}) != write.node) return "a node may write only its own Node";
  const Value* spec = at(write.object, {"spec"});
  const bool keeps = write.old ? write.keeps({"spec"}) : !spec || json::equal(*spec, Value(boost::json::object_kind));
  if (!keeps) return "a node must not write the spec of its Node, which has taints among others";
  if (auto problem = find_meta_problem(write)) return problem;
  auto labels = each_change(write.before({"metadata", "labels"}), at(write.object, {"metadata", "labels"}),
                            [&](string_view name, const Value*, const Value* after) -> std::optional<std::string> {
                              if (is_own_label(name, after, write.node)) return std::nullopt;
                              return fmt::format("a node must not write label {} of its Node", name);
                            });
  if (labels) return labels;
  return each_change(write.before({"metadata", "annotations"}), at(write.object, {"metadata", "annotations"}),
                     [&](string_view name, const Value*, const Value*) -> std::optional<std::string> {
                       if (is_in(own_annotation_domains, domain_of(name))) return std::nullopt;
                       return fmt::format("a node must not write annotation {} of its Node", name);
                     });
}

bool is_told_by(const Value& event, string_view node) {
  const string_view host = text_at(event, {"source", "host"}), instance = text_at(event, {"reportingInstance"});
  return (host == node || instance == node) && (host.empty() || host == node) && (instance.empty() || instance == node);
}

std::optional<std::string> find_event_problem(const NodeWrite& write) {
  if (!is_told_by(write.object, write.node) || (write.old && !is_told_by(*write.old, write.node)))
    return "a node must write events in its own name: source.host and reportingInstance";
  if (write.old && !write.keeps({"involvedObject"})) return "a node must not change what an event is about";
  if (text_at(write.object, {"involvedObject", "kind"}) == "Node" &&
      text_at(write.object, {"metadata", "namespace"}) != events_of_nodes)
    return fmt::format("a node must write events about its Node in namespace {}", events_of_nodes);
  return find_meta_problem(write);
}

}  // namespace

std::optional<Status> find_node_overreach(const User& user, const Resource& resource, const json::Value& object,
                                          const json::Value* old) {
  const NodeWrite write{.node = auth::node_of(user), .resource = resource, .object = object, .old = old};
  if (write.node.empty()) return std::nullopt;
  const string_view key = resource.key;
  std::optional<std::string> problem;
  if (key == vmis_key)
    problem = find_vmi_problem(write);
  else if (key == "nodes")
    problem = find_own_node_problem(write);
  else if (key == "events")
    problem = find_event_problem(write);
  else  // the authorizer lets it write nothing else, and neither is it let here
    problem = "a node must not write it";
  if (!problem) return std::nullopt;
  return Status::forbidden(std::string(resource.group()), std::string(resource.plural()),
                           std::string(text_at(object, {"metadata", "name"})), std::move(*problem));
}

Task<std::optional<Status>> find_foreign_event(ObjectRequest& request, const json::Value& object) {
  const string_view node = auth::node_of(request.user);
  if (node.empty() || request.resource.key != "events") co_return std::nullopt;
  const string_view kind = text_at(object, {"involvedObject", "kind"});
  const string_view name = text_at(object, {"involvedObject", "name"});
  bool is_own = kind == "Node" && name == node;
  if (kind == "VirtualMachineInstance" && text_at(object, {"involvedObject", "namespace"}) == request.ns) {
    AccessAttributes attributes{};
    attributes.verb = "get";
    attributes.group = "kubevirt.io";
    attributes.version = "v1";
    attributes.resource = "virtualmachineinstances";
    attributes.ns = request.ns;
    attributes.name = name;
    const auto decision = co_await request.backend.authorizer.authorize(request.core, request.user, attributes);
    if (!decision) co_return decision.error();
    is_own = decision->allowed;
  }
  if (is_own) co_return std::nullopt;
  co_return Status::forbidden("", "events", std::string(text_at(object, {"metadata", "name"})),
                              "a node may report events only about its own Node and the VMIs placed on it");
}

void complete_own_node(const ObjectRequest& request, json::Object& object) {
  if (request.resource.key != "nodes" || auth::node_of(request.user).empty()) return;
  json::ensure_object(metadata_of(object), "labels")[role_label] = "";
}

}  // namespace vg::resources
