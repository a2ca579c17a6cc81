#include "resources/tables/table_builtin.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/joined.h"
#include "base/trimmed.h"
#include "catalog/optional_parts.h"
#include "json/access.h"
#include "resources/tables/table_pod.h"
#include "resources/tables/table_texts.h"

namespace vg::resources {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr std::string_view nothing = nothing_text;

std::string_view name_of(const Object& object) { return name_cell(object); }

std::string join(const Array& strings, std::string_view separator = ",") {
  std::string out;
  for (const Value& value : strings) {
    const auto text = json::as_string(&value);
    if (!text) continue;
    if (!out.empty()) out.append(separator);
    out.append(*text);
  }
  return out;
}

// --- namespaces, nodes
// ------------------------------------------------------------------------------------------------

constexpr std::array namespace_columns{name_column, TableColumn{.name = "Status"}, TableColumn{.name = "Age"}};

void namespace_cells(Cells& row, const Object& object) {
  row.text(name_of(object));
  row.text(json::get_string_or(part(object, "status"), "phase"));
  row.age(created(object));
}

constexpr std::array node_columns{name_column,
                                  TableColumn{.name = "Status"},
                                  TableColumn{.name = "Roles"},
                                  TableColumn{.name = "Age"},
                                  TableColumn{.name = "Version"},
                                  TableColumn{.name = "Internal-IP", .priority = 1},
                                  TableColumn{.name = "External-IP", .priority = 1},
                                  TableColumn{.name = "OS-Image", .priority = 1},
                                  TableColumn{.name = "Kernel-Version", .priority = 1},
                                  TableColumn{.name = "Container-Runtime", .priority = 1}};

std::string node_status(const Object& object) {
  std::string status = "Unknown";
  for (const Value& condition : list_part(part(object, "status"), "conditions"))
    if (json::get_string_or(condition, "type") == "Ready")
      status = json::get_string_or(condition, "status") == "True" ? "Ready" : "NotReady";
  if (json::get_bool_or(part(object, "spec"), "unschedulable", false)) status += ",SchedulingDisabled";
  return status;
}

// Two conventions name the roles of a node: a label of this prefix, and the value of a label.
std::string node_roles(const Object& object) {
  constexpr std::string_view prefix = "node-role.kubernetes.io/";
  std::vector<std::string> roles;
  for (const auto& label : part(part(object, "metadata"), "labels")) {
    const std::string_view key = label.key();
    if (key.starts_with(prefix) && key.size() > prefix.size()) {
      roles.emplace_back(key.substr(prefix.size()));
    } else if (key == "kubernetes.io/role") {
      if (const auto value = json::as_string(&label.value()); value && !value->empty()) roles.emplace_back(*value);
    }
  }
  return join_set(roles);
}

std::string_view node_address(const Object& object, std::string_view type) {
  for (const Value& address : list_part(part(object, "status"), "addresses"))
    if (json::get_string_or(address, "type") == type) return json::get_string_or(address, "address");
  return nothing;
}

void node_cells(Cells& row, const Object& object) {
  const Object& info = part(part(object, "status"), "nodeInfo");
  row.text(name_of(object));
  row.text(node_status(object));
  row.text_or(node_roles(object), nothing);
  row.age(created(object));
  row.text(json::get_string_or(info, "kubeletVersion"));
  row.text(node_address(object, "InternalIP"));
  row.text(node_address(object, "ExternalIP"));
  for (const std::string_view key : {"osImage", "kernelVersion", "containerRuntimeVersion"})
    row.text_or(json::get_string_or(info, key), "<unknown>");
}

// --- services
// -----------------------------------------------------------------------------------------------------------

constexpr std::array service_columns{name_column,
                                     TableColumn{.name = "Type"},
                                     TableColumn{.name = "Cluster-IP"},
                                     TableColumn{.name = "External-IP"},
                                     TableColumn{.name = "Port(s)"},
                                     TableColumn{.name = "Age"},
                                     TableColumn{.name = "Selector", .priority = 1}};

std::string service_external_ip(const Object& object) {
  const Object& spec = part(object, "spec");
  const std::string_view type = json::get_string_or(spec, "type");
  if (type == "ExternalName") return std::string(json::get_string_or(spec, "externalName"));
  std::string external = join(list_part(spec, "externalIPs"));
  if (type == "ClusterIP" || type == "NodePort") return external.empty() ? std::string(nothing) : external;
  if (type != "LoadBalancer") return "<unknown>";
  std::vector<std::string> ingress;
  for (const Value& entry : list_part(part(part(object, "status"), "loadBalancer"), "ingress")) {
    std::string_view at = json::get_string_or(entry, "ip");
    if (at.empty()) at = json::get_string_or(entry, "hostname");
    if (!at.empty()) ingress.emplace_back(at);
  }
  std::string out = join_set(ingress);
  if (!out.empty() && !external.empty()) out.push_back(',');
  out += external;
  return out.empty() ? "<pending>" : out;
}

std::string service_ports(const Object& object) {
  std::string out;
  for (const Value& port : list_part(part(object, "spec"), "ports")) {
    if (!out.empty()) out.push_back(',');
    out += fmt::to_string(json::get_int_or(port, "port", 0));
    if (const auto node_port = json::get_int_or(port, "nodePort", 0); node_port > 0)
      out += fmt::format(":{}", node_port);
    out += fmt::format("/{}", json::get_string_or(port, "protocol", "TCP"));
  }
  return out;
}

void service_cells(Cells& row, const Object& object) {
  const Object& spec = part(object, "spec");
  const Array& cluster_ips = list_part(spec, "clusterIPs");
  const auto first_ip = cluster_ips.empty() ? std::nullopt : json::as_string(&cluster_ips.front());
  row.text(name_of(object));
  row.text(json::get_string_or(spec, "type"));
  row.text_or(first_ip.value_or(json::get_string_or(spec, "clusterIP")), nothing);
  row.text(service_external_ip(object));
  row.text_or(service_ports(object), nothing);
  row.age(created(object));
  row.text(labels_text(part(spec, "selector")));
}

// --- claims and classes
// ---------------------------------------------------------------------------------------------------

constexpr std::array claim_columns{name_column,
                                   TableColumn{.name = "Status"},
                                   TableColumn{.name = "Volume"},
                                   TableColumn{.name = "Capacity"},
                                   TableColumn{.name = "Access Modes"},
                                   TableColumn{.name = "StorageClass"},
                                   TableColumn{.name = "VolumeAttributesClass"},
                                   TableColumn{.name = "Age"},
                                   TableColumn{.name = "VolumeMode", .priority = 1}};

std::string_view claim_class(const Object& object) {
  const Object& annotations = part(part(object, "metadata"), "annotations");
  return json::get_string_or(annotations, "volume.beta.kubernetes.io/storage-class",
                             json::get_string_or(part(object, "spec"), "storageClassName"));
}

void claim_cells(Cells& row, const Object& object) {
  const Object& spec = part(object, "spec");
  const Object& status = part(object, "status");
  const bool deleting = json::get_string(part(object, "metadata"), "deletionTimestamp").has_value();
  const std::string_view volume = json::get_string_or(spec, "volumeName");
  const bool bound = !volume.empty();
  row.text(name_of(object));
  row.text(deleting ? "Terminating" : json::get_string_or(status, "phase"));
  row.text(volume);
  // What the volume has, not what was asked for.
  row.text(bound ? json::get_string_or(part(status, "capacity"), "storage", "0") : std::string_view());
  row.text(bound ? access_modes_text(list_part(status, "accessModes")) : std::string());
  row.text(claim_class(object));
  row.text(json::get_string_or(spec, "volumeAttributesClassName", "<unset>"));
  row.age(created(object));
  row.text(json::get_string_or(spec, "volumeMode", "<unset>"));
}

constexpr std::array storage_class_columns{name_column,
                                           TableColumn{.name = "Provisioner"},
                                           TableColumn{.name = "ReclaimPolicy"},
                                           TableColumn{.name = "VolumeBindingMode"},
                                           TableColumn{.name = "AllowVolumeExpansion"},
                                           TableColumn{.name = "Age"}};

void storage_class_cells(Cells& row, const Object& object) {
  const Object& annotations = part(part(object, "metadata"), "annotations");
  const bool is_default = std::ranges::any_of(
      std::array{"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"},
      [&](std::string_view key) { return json::get_string_or(annotations, key) == "true"; });
  row.text(fmt::format("{}{}", name_of(object), is_default ? " (default)" : ""));
  row.text(json::get_string_or(object, "provisioner"));
  row.text(json::get_string_or(object, "reclaimPolicy", "Delete"));
  row.text(json::get_string_or(object, "volumeBindingMode", "Immediate"));
  row.boolean(json::get_bool_or(object, "allowVolumeExpansion", false));
  row.age(created(object));
}

constexpr std::array priority_class_columns{name_column, TableColumn{.name = "Value", .type = "integer"},
                                            TableColumn{.name = "Global-Default", .type = "boolean"},
                                            TableColumn{.name = "Age"}, TableColumn{.name = "PreemptionPolicy"}};

void priority_class_cells(Cells& row, const Object& object) {
  row.text(name_of(object));
  row.number(json::get_int_or(object, "value", 0));
  row.boolean(json::get_bool_or(object, "globalDefault", false));
  row.age(created(object));
  row.text(json::get_string_or(object, "preemptionPolicy"));
}

// --- data
// -----------------------------------------------------------------------------------------------------------------

constexpr std::array secret_columns{name_column, TableColumn{.name = "Type"}, TableColumn{.name = "Data"},
                                    TableColumn{.name = "Age"}};

void secret_cells(Cells& row, const Object& object) {
  row.text(name_of(object));
  row.text(json::get_string_or(object, "type"));
  row.number(static_cast<std::int64_t>(part(object, "data").size()));
  row.age(created(object));
}

constexpr std::array config_map_columns{name_column, TableColumn{.name = "Data"}, TableColumn{.name = "Age"}};

void config_map_cells(Cells& row, const Object& object) {
  row.text(name_of(object));
  row.number(static_cast<std::int64_t>(part(object, "data").size() + part(object, "binaryData").size()));
  row.age(created(object));
}

constexpr std::array service_account_columns{name_column, TableColumn{.name = "Age"}};

void service_account_cells(Cells& row, const Object& object) {
  row.text(name_of(object));
  row.age(created(object));
}

constexpr std::array controller_revision_columns{name_column, TableColumn{.name = "Controller"},
                                                 TableColumn{.name = "Revision"}, TableColumn{.name = "Age"}};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// "virtualmachine.kubevirt.io/demo"
std::string controller_text(const Object& object) {
  for (const Value& owner : list_part(part(object, "metadata"), "ownerReferences")) {
    if (!json::get_bool_or(owner, "controller", false)) continue;
    const std::string_view api_version = json::get_string_or(owner, "apiVersion");
    const auto slash = api_version.find('/');
    const std::string_view group = slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
    return fmt::format("{}{}{}/{}", lower(json::get_string_or(owner, "kind")), group.empty() ? "" : ".", group,
                       json::get_string_or(owner, "name"));
  }
  return std::string(nothing);
}

void controller_revision_cells(Cells& row, const Object& object) {
  row.text(name_of(object));
  row.text(controller_text(object));
  row.number(json::get_int_or(object, "revision", 0));
  row.age(created(object));
}

constexpr std::array lease_columns{name_column, TableColumn{.name = "Holder"}, TableColumn{.name = "Age"}};

void lease_cells(Cells& row, const Object& object) {
  row.text(name_of(object));
  row.text(json::get_string_or(part(object, "spec"), "holderIdentity"));
  row.age(created(object));
}

constexpr std::array quota_columns{name_column, TableColumn{.name = "Request"}, TableColumn{.name = "Limit"},
                                   TableColumn{.name = "Age"}};

void quota_cells(Cells& row, const Object& object) {
  const Object& status = part(object, "status");
  const Object& hard = part(status, "hard");
  std::vector<std::string_view> resources;
  for (const auto& entry : hard) resources.emplace_back(entry.key());
  std::ranges::sort(resources);
  std::string requests, limits;
  for (const std::string_view resource : resources) {
    std::string& out = resource.starts_with("limits.") ? limits : requests;
    if (!out.empty()) out += ", ";
    out += fmt::format("{}: {}/{}", resource, json::get_string_or(part(status, "used"), resource, "0"),
                       json::get_string_or(hard, resource, "0"));
  }
  row.text(name_of(object));
  row.text(requests);
  row.text(limits);
  row.age(created(object));
}

// --- events
// -----------------------------------------------------------------------------------------------------------------

constexpr std::array event_columns{TableColumn{.name = "Last Seen"},
                                   TableColumn{.name = "Type"},
                                   TableColumn{.name = "Reason"},
                                   TableColumn{.name = "Object"},
                                   TableColumn{.name = "Subobject", .priority = 1},
                                   TableColumn{.name = "Source", .priority = 1},
                                   TableColumn{.name = "Message"},
                                   TableColumn{.name = "First Seen", .priority = 1},
                                   TableColumn{.name = "Count", .priority = 1},
                                   TableColumn{.name = "Name", .priority = 1, .format = "name"}};

std::string event_source(const Object& object) {
  const Object& source = part(object, "source");
  std::string_view component = json::get_string_or(source, "component");
  if (component.empty()) component = json::get_string_or(object, "reportingComponent");
  std::string_view host = json::get_string_or(source, "host");
  if (host.empty()) host = json::get_string_or(object, "reportingInstance");
  return host.empty() ? std::string(component) : fmt::format("{}, {}", component, host);
}

// Old events carry two times and a count, new ones one time and perhaps a series.
void event_cells(Cells& row, const Object& object) {
  const auto time = [&](const Object& in, std::string_view key) -> const Value* {
    const auto text = json::get_string(in, key);
    return text && !text->empty() ? json::find(in, key) : nullptr;
  };
  const Value* first = time(object, "firstTimestamp");
  if (!first) first = time(object, "eventTime");
  const Value* last = time(object, "lastTimestamp");
  if (!last) last = first;
  std::int64_t count = std::max<std::int64_t>(json::get_int_or(object, "count", 0), 1);
  if (const Object* series = json::get_object(object, "series")) {
    last = time(*series, "lastObservedTime");
    count = json::get_int_or(*series, "count", 0);
  }
  const Object& involved = part(object, "involvedObject");
  const std::string_view involved_name = json::get_string_or(involved, "name");
  row.age(last);
  row.text(json::get_string_or(object, "type"));
  row.text(json::get_string_or(object, "reason"));
  row.text(fmt::format("{}{}{}", lower(json::get_string_or(involved, "kind")), involved_name.empty() ? "" : "/",
                       involved_name));
  row.text(json::get_string_or(involved, "fieldPath"));
  row.text(event_source(object));
  row.text(trimmed(json::get_string_or(object, "message"), all_blanks));
  row.age(first);
  row.number(count);
  row.text(name_of(object));
}

// --- roles
// --------------------------------------------------------------------------------------------------------------------

constexpr std::array binding_columns{name_column,
                                     TableColumn{.name = "Role"},
                                     TableColumn{.name = "Age"},
                                     TableColumn{.name = "Users", .priority = 1},
                                     TableColumn{.name = "Groups", .priority = 1},
                                     TableColumn{.name = "ServiceAccounts", .priority = 1}};

std::string subjects_text(const Object& object, std::string_view kind) {
  std::string out;
  for (const Value& subject : list_part(object, "subjects")) {
    if (json::get_string_or(subject, "kind") != kind) continue;
    if (!out.empty()) out += ", ";
    if (kind == "ServiceAccount") out.append(json::get_string_or(subject, "namespace")).push_back('/');
    out.append(json::get_string_or(subject, "name"));
  }
  return out;
}

void binding_cells(Cells& row, const Object& object) {
  const Object& role = part(object, "roleRef");
  row.text(name_of(object));
  row.text(fmt::format("{}/{}", json::get_string_or(role, "kind"), json::get_string_or(role, "name")));
  row.age(created(object));
  for (const std::string_view kind : {"User", "Group", "ServiceAccount"}) row.text(subjects_text(object, kind));
}

constexpr std::array default_columns{name_column, TableColumn{.name = "Created At", .type = "date"}};

void default_cells(Cells& row, const Object& object) {
  row.text(name_of(object));
  row.text(json::as_string(created(object)).value_or("<unknown>"));
}

constexpr std::array tables{
    BuiltinTable{"apps/controllerrevisions", controller_revision_columns, controller_revision_cells},
    BuiltinTable{"configmaps", config_map_columns, config_map_cells},
    BuiltinTable{"coordination.k8s.io/leases", lease_columns, lease_cells},
    BuiltinTable{"events", event_columns, event_cells},
    BuiltinTable{"namespaces", namespace_columns, namespace_cells},
    BuiltinTable{"nodes", node_columns, node_cells},
    BuiltinTable{"persistentvolumeclaims", claim_columns, claim_cells},
    BuiltinTable{"pods", pod_columns, pod_cells},
    BuiltinTable{"rbac.authorization.k8s.io/clusterrolebindings", binding_columns, binding_cells},
    BuiltinTable{"rbac.authorization.k8s.io/rolebindings", binding_columns, binding_cells},
    BuiltinTable{"resourcequotas", quota_columns, quota_cells},
    BuiltinTable{"scheduling.k8s.io/priorityclasses", priority_class_columns, priority_class_cells},
    BuiltinTable{"secrets", secret_columns, secret_cells},
    BuiltinTable{"serviceaccounts", service_account_columns, service_account_cells},
    BuiltinTable{"services", service_columns, service_cells},
    BuiltinTable{"storage.k8s.io/storageclasses", storage_class_columns, storage_class_cells},
};

}  // namespace

const BuiltinTable default_table{{}, default_columns, default_cells};

const BuiltinTable* find_builtin_table(std::string_view key) {
  for (const std::span<const BuiltinTable> some :
       {std::span<const BuiltinTable>(tables), workload_tables(), cluster_tables()}) {
    const auto found = std::ranges::find(some, key, &BuiltinTable::key);
    if (found != some.end()) return &*found;
  }
  return nullptr;
}

std::string join_set(std::vector<std::string>& parts) {
  std::ranges::sort(parts);
  const auto repeated = std::ranges::unique(parts);
  parts.erase(repeated.begin(), repeated.end());
  return joined(parts, ",");
}

std::string labels_text(const Object& labels) {
  std::vector<std::string> parts;
  for (const auto& label : labels)
    if (const auto value = json::as_string(&label.value()))
      parts.push_back(fmt::format("{}={}", std::string_view(label.key()), *value));
  return parts.empty() ? std::string(nothing) : join_set(parts);
}

std::string access_modes_text(const Array& modes) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> short_names{
      {{"ReadWriteOnce", "RWO"}, {"ReadOnlyMany", "ROX"}, {"ReadWriteMany", "RWX"}, {"ReadWriteOncePod", "RWOP"}}};
  std::string out;
  for (const auto& [mode, short_name] : short_names) {
    if (std::ranges::none_of(modes, [&](const Value& value) { return json::as_string(&value) == mode; })) continue;
    if (!out.empty()) out.push_back(',');
    out.append(short_name);
  }
  return out;
}

}  // namespace vg::resources
