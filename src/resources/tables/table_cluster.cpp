// What kubectl get shows of networks, storage, devices, certificates, and priority and fairness.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/joined.h"
#include "catalog/selector_text.h"
#include "resources/tables/table_texts.h"

namespace vg::resources {
namespace {

using json::Array;
using json::Object;
using json::Value;

// The first few, and how many more there are.
constexpr std::size_t shown_max = 3;

class FewTexts {
 public:
  void add(auto&& make) {
    if (texts_.size() < shown_max) texts_.push_back(make());
    ++count_;
  }
  std::string text(std::string_view when_empty) const {
    if (count_ == 0) return std::string(when_empty);
    std::string out = joined(texts_, ",");
    if (count_ > shown_max) out += fmt::format(" + {} more...", count_ - shown_max);
    return out;
  }

 private:
  std::vector<std::string> texts_;
  std::size_t count_ = 0;
};

// --- networks --------------------------------------------------------------------------------------------------------

constexpr std::array ingress_columns{name_column,
                                     TableColumn{.name = "Class"},
                                     TableColumn{.name = "Hosts"},
                                     TableColumn{.name = "Address"},
                                     TableColumn{.name = "Ports"},
                                     age_column};

// Rules without a host count among those that are not shown, as in Kubernetes.
std::string ingress_hosts(const Array& rules) {
  std::vector<std::string_view> hosts;
  bool more = false;
  for (const Value& rule : rules) {
    if (hosts.size() == shown_max) more = true;
    const std::string_view host = json::get_string_or(rule, "host");
    if (!more && !host.empty()) hosts.push_back(host);
  }
  if (hosts.empty()) return "*";
  std::string out = joined(hosts, ",");
  if (more) out += fmt::format(" + {} more...", rules.size() - shown_max);
  return out;
}

void ingress_cells(Cells& row, const Object& object) {
  const Object& spec = part(object, "spec");
  std::vector<std::string> addresses;
  for (const Value& entry : list_part(part(part(object, "status"), "loadBalancer"), "ingress")) {
    std::string_view at = json::get_string_or(entry, "ip");
    if (at.empty()) at = json::get_string_or(entry, "hostname");
    if (!at.empty()) addresses.emplace_back(at);
  }
  row.text(name_cell(object));
  row.text(json::get_string_or(spec, "ingressClassName", nothing_text));
  row.text(ingress_hosts(list_part(spec, "rules")));
  row.text(join_set(addresses));
  row.text(list_part(spec, "tls").empty() ? "80" : "80, 443");
  row.age(created(object));
}

constexpr std::array ingress_class_columns{name_column, TableColumn{.name = "Controller"},
                                           TableColumn{.name = "Parameters"}, age_column};

void ingress_class_cells(Cells& row, const Object& object) {
  const Object& spec = part(object, "spec");
  std::string parameters(nothing_text);
  if (const Object* reference = json::get_object(spec, "parameters")) {
    const auto group = json::get_string(*reference, "apiGroup");
    parameters = fmt::format("{}{}{}/{}", json::get_string_or(*reference, "kind"), group ? "." : "", group.value_or(""),
                             json::get_string_or(*reference, "name"));
  }
  row.text(name_cell(object));
  row.text(json::get_string_or(spec, "controller"));
  row.text(parameters);
  row.age(created(object));
}

constexpr std::array network_policy_columns{name_column, TableColumn{.name = "Pod-Selector"}, age_column};

void network_policy_cells(Cells& row, const Object& object) {
  row.text(name_cell(object));
  row.text_or(label_selector_text(part(part(object, "spec"), "podSelector")), nothing_text);
  row.age(created(object));
}

constexpr std::array ip_address_columns{name_column, TableColumn{.name = "ParentRef"}};

void ip_address_cells(Cells& row, const Object& object) {
  const Object& parent = part(part(object, "spec"), "parentRef");
  std::string text(json::get_string_or(parent, "resource"));
  if (const std::string_view group = json::get_string_or(parent, "group"); !group.empty())
    text.append(".").append(group);
  if (const std::string_view ns = json::get_string_or(parent, "namespace"); !ns.empty()) text.append("/").append(ns);
  text.append("/").append(json::get_string_or(parent, "name"));
  row.text(name_cell(object));
  row.text(text);
}

constexpr std::array service_cidr_columns{name_column, TableColumn{.name = "CIDRs"}, age_column};

void service_cidr_cells(Cells& row, const Object& object) {
  std::vector<std::string_view> cidrs;
  for (const Value& cidr : list_part(part(object, "spec"), "cidrs"))
    cidrs.push_back(json::as_string(&cidr).value_or(""));
  row.text(name_cell(object));
  row.text(joined(cidrs, ","));
  row.age(created(object));
}

constexpr std::array endpoints_columns{name_column, TableColumn{.name = "Endpoints"}, age_column};

std::string host_and_port(std::string_view ip, std::int64_t port) {
  return ip.contains(':') ? fmt::format("[{}]:{}", ip, port) : fmt::format("{}:{}", ip, port);
}

void endpoints_cells(Cells& row, const Object& object) {
  const Array& subsets = list_part(object, "subsets");
  FewTexts texts;
  for (const Value& value : subsets) {
    const Object* subset = value.if_object();
    if (!subset) continue;
    const Array& addresses = list_part(*subset, "addresses");
    const Array& ports = list_part(*subset, "ports");
    for (const Value& port : ports)
      for (const Value& address : addresses)
        texts.add([&] { return host_and_port(json::get_string_or(address, "ip"), json::get_int_or(port, "port", 0)); });
    if (!ports.empty()) continue;
    for (const Value& address : addresses) texts.add([&] { return std::string(json::get_string_or(address, "ip")); });
  }
  row.text(name_cell(object));
  row.text(texts.text(subsets.empty() ? nothing_text : std::string_view()));
  row.age(created(object));
}

constexpr std::array slice_columns{name_column, TableColumn{.name = "AddressType"}, TableColumn{.name = "Ports"},
                                   TableColumn{.name = "Endpoints"}, age_column};

void slice_cells(Cells& row, const Object& object) {
  FewTexts ports, endpoints;
  for (const Value& port : list_part(object, "ports"))
    ports.add([&] {
      const auto number = json::as_int(json::find(port, "port"));
      return number ? fmt::to_string(*number) : std::string(json::get_string_or(port, "name", "*"));
    });
  for (const Value& endpoint : list_part(object, "endpoints")) {
    const Object* members = endpoint.if_object();
    if (!members) continue;
    for (const Value& address : list_part(*members, "addresses"))
      endpoints.add([&] { return std::string(json::as_string(&address).value_or("")); });
  }
  row.text(name_cell(object));
  row.text(json::get_string_or(object, "addressType"));
  row.text(ports.text("<unset>"));
  row.text(endpoints.text("<unset>"));
  row.age(created(object));
}

// --- storage ---------------------------------------------------------------------------------------------------------

constexpr std::array volume_columns{name_column,
                                    TableColumn{.name = "Capacity"},
                                    TableColumn{.name = "Access Modes"},
                                    TableColumn{.name = "Reclaim Policy"},
                                    TableColumn{.name = "Status"},
                                    TableColumn{.name = "Claim"},
                                    TableColumn{.name = "StorageClass"},
                                    TableColumn{.name = "VolumeAttributesClass"},
                                    TableColumn{.name = "Reason"},
                                    age_column,
                                    TableColumn{.name = "VolumeMode", .priority = 1}};

void volume_cells(Cells& row, const Object& object) {
  const Object& spec = part(object, "spec");
  const Object& status = part(object, "status");
  const Object* claim = json::get_object(spec, "claimRef");
  const Object& annotations = part(part(object, "metadata"), "annotations");
  row.text(name_cell(object));
  row.text(json::get_string_or(part(spec, "capacity"), "storage", "0"));
  row.text(access_modes_text(list_part(spec, "accessModes")));
  row.text(json::get_string_or(spec, "persistentVolumeReclaimPolicy"));
  row.text(is_deleting(object) ? "Terminating" : json::get_string_or(status, "phase"));
  row.text(claim ? fmt::format("{}/{}", json::get_string_or(*claim, "namespace"), json::get_string_or(*claim, "name"))
                 : std::string());
  row.text(json::get_string_or(annotations, "volume.beta.kubernetes.io/storage-class",
                               json::get_string_or(spec, "storageClassName")));
  row.text(json::get_string_or(spec, "volumeAttributesClassName", unset_text));
  row.text(json::get_string_or(status, "reason"));
  row.age(created(object));
  row.text(json::get_string_or(spec, "volumeMode", unset_text));
}

constexpr std::array attachment_columns{name_column,
                                        TableColumn{.name = "Attacher"},
                                        TableColumn{.name = "PV"},
                                        TableColumn{.name = "Node"},
                                        TableColumn{.name = "Attached", .type = "boolean"},
                                        age_column};

void attachment_cells(Cells& row, const Object& object) {
  const Object& spec = part(object, "spec");
  row.text(name_cell(object));
  row.text(json::get_string_or(spec, "attacher"));
  row.text(json::get_string_or(part(spec, "source"), "persistentVolumeName"));
  row.text(json::get_string_or(spec, "nodeName"));
  row.boolean(json::get_bool_or(part(object, "status"), "attached", false));
  row.age(created(object));
}

constexpr std::array driver_columns{name_column,
                                    TableColumn{.name = "AttachRequired", .type = "boolean"},
                                    TableColumn{.name = "PodInfoOnMount", .type = "boolean"},
                                    TableColumn{.name = "StorageCapacity", .type = "boolean"},
                                    TableColumn{.name = "TokenRequests"},
                                    TableColumn{.name = "RequiresRepublish", .type = "boolean"},
                                    TableColumn{.name = "Modes"},
                                    age_column};

std::string joined_members(const Array& list, std::string_view member) {
  std::vector<std::string_view> texts;
  for (const Value& value : list)
    texts.push_back(member.empty() ? json::as_string(&value).value_or("") : json::get_string_or(value, member));
  return joined(texts, ",");
}

void driver_cells(Cells& row, const Object& object) {
  const Object& spec = part(object, "spec");
  row.text(name_cell(object));
  row.boolean(json::get_bool_or(spec, "attachRequired", true));
  row.boolean(json::get_bool_or(spec, "podInfoOnMount", false));
  row.boolean(json::get_bool_or(spec, "storageCapacity", false));
  row.text(json::get_array(spec, "tokenRequests") ? joined_members(list_part(spec, "tokenRequests"), "audience")
                                                  : std::string(unset_text));
  row.boolean(json::get_bool_or(spec, "requiresRepublish", false));
  row.text_or(joined_members(list_part(spec, "volumeLifecycleModes"), ""), nothing_text);
  row.age(created(object));
}

constexpr std::array csi_node_columns{name_column, TableColumn{.name = "Drivers", .type = "integer"}, age_column};

void csi_node_cells(Cells& row, const Object& object) {
  row.text(name_cell(object));
  row.number(static_cast<std::int64_t>(list_part(part(object, "spec"), "drivers").size()));
  row.age(created(object));
}

constexpr std::array capacity_columns{name_column, TableColumn{.name = "StorageClassName"},
                                      TableColumn{.name = "Capacity"}};

void capacity_cells(Cells& row, const Object& object) {
  row.text(name_cell(object));
  row.text(json::get_string_or(object, "storageClassName"));
  row.text(json::get_string_or(object, "capacity", unset_text));
}

constexpr std::array attributes_class_columns{name_column, TableColumn{.name = "DriverName"}, age_column};

void attributes_class_cells(Cells& row, const Object& object) {
  row.text(name_cell(object));
  row.text(json::get_string_or(object, "driverName"));
  row.age(created(object));
}

// --- nodes and devices -----------------------------------------------------------------------------------------------

constexpr std::array runtime_class_columns{name_column, TableColumn{.name = "Handler"}, age_column};

void runtime_class_cells(Cells& row, const Object& object) {
  row.text(name_cell(object));
  row.text(json::get_string_or(object, "handler"));
  row.age(created(object));
}

constexpr std::array name_and_age_columns{name_column, age_column};

void name_and_age_cells(Cells& row, const Object& object) {
  row.text(name_cell(object));
  row.age(created(object));
}

constexpr std::array device_claim_columns{name_column, TableColumn{.name = "State"}, age_column};

std::string device_claim_state(const Object& object) {
  const Object& status = part(object, "status");
  const bool deleting = is_deleting(object);
  std::string state = deleting ? "deleted" : "";
  const auto add = [&](std::string_view word) {
    if (!state.empty()) state.push_back(',');
    state.append(word);
  };
  if (!json::get_object(status, "allocation")) {
    if (!deleting) add("pending");
    return state;
  }
  add("allocated");
  if (!list_part(status, "reservedFor").empty()) add("reserved");
  return state;
}

void device_claim_cells(Cells& row, const Object& object) {
  row.text(name_cell(object));
  row.text(device_claim_state(object));
  row.age(created(object));
}

constexpr std::array resource_slice_columns{name_column, TableColumn{.name = "Node"}, TableColumn{.name = "Driver"},
                                            TableColumn{.name = "Pool"}, age_column};

void resource_slice_cells(Cells& row, const Object& object) {
  const Object& spec = part(object, "spec");
  row.text(name_cell(object));
  row.text(json::get_string_or(spec, "nodeName"));
  row.text(json::get_string_or(spec, "driver"));
  row.text(json::get_string_or(part(spec, "pool"), "name"));
  row.age(created(object));
}

// --- certificates and registrations ----------------------------------------------------------------------------------

constexpr std::array certificate_columns{name_column,
                                         age_column,
                                         TableColumn{.name = "SignerName"},
                                         TableColumn{.name = "Requestor"},
                                         TableColumn{.name = "RequestedDuration"},
                                         TableColumn{.name = "Condition"}};

std::string certificate_state(const Object& status) {
  const auto has = [&](std::string_view type) {
    return std::ranges::any_of(list_part(status, "conditions"),
                               [&](const Value& condition) { return json::get_string_or(condition, "type") == type; });
  };
  std::string state = has("Denied") ? "Denied" : has("Approved") ? "Approved" : "Pending";
  if (has("Failed")) state += ",Failed";
  if (!json::get_string_or(status, "certificate").empty()) state += ",Issued";
  return state;
}

void certificate_cells(Cells& row, const Object& object) {
  const Object& spec = part(object, "spec");
  const auto seconds = json::get_int(spec, "expirationSeconds");
  row.text(name_cell(object));
  row.age(created(object));
  row.text_or(json::get_string_or(spec, "signerName"), nothing_text);
  row.text(json::get_string_or(spec, "username"));
  row.text(seconds ? human_age(Timestamp{.seconds = 0}, Timestamp{.seconds = *seconds}) : std::string(nothing_text));
  row.text(certificate_state(part(object, "status")));
}

constexpr std::array webhook_columns{name_column, TableColumn{.name = "Webhooks", .type = "integer"}, age_column};

void webhook_cells(Cells& row, const Object& object) {
  row.text(name_cell(object));
  row.number(static_cast<std::int64_t>(list_part(object, "webhooks").size()));
  row.age(created(object));
}

// Policies cannot be made here, so there are never rows; but clients ask for the columns.
constexpr std::array policy_columns{name_column, TableColumn{.name = "Validations", .type = "integer"},
                                    TableColumn{.name = "ParamKind"}, age_column};

void policy_cells(Cells& row, const Object& object) {
  row.text(name_cell(object));
  const Object& spec = part(object, "spec");
  row.number(static_cast<std::int64_t>(list_part(spec, "validations").size()));
  const Object& kind = part(spec, "paramKind");
  row.text(kind.empty()
               ? std::string("<unset>")
               : fmt::format("{}/{}", json::get_string_or(kind, "apiVersion"), json::get_string_or(kind, "kind")));
  row.age(created(object));
}

constexpr std::array policy_binding_columns{name_column, TableColumn{.name = "PolicyName"},
                                            TableColumn{.name = "ParamRef"}, age_column};

void policy_binding_cells(Cells& row, const Object& object) {
  row.text(name_cell(object));
  const Object& spec = part(object, "spec");
  row.text(json::get_string_or(spec, "policyName"));
  const Object& params = part(spec, "paramRef");
  const std::string_view name = json::get_string_or(params, "name");
  if (!name.empty())
    row.text(fmt::format("{}/{}", json::get_string_or(params, "namespace", "*"), name));
  else
    row.text(params.empty() ? std::string("<unset>") : label_selector_text(part(params, "selector")));
  row.age(created(object));
}

constexpr std::array api_service_columns{name_column, TableColumn{.name = "Service"}, TableColumn{.name = "Available"},
                                         age_column};

// What is served here is served by this process: there is no service to name.
void api_service_cells(Cells& row, const Object& object) {
  std::string available = "Unknown";
  for (const Value& condition : list_part(part(object, "status"), "conditions")) {
    if (json::get_string_or(condition, "type") != "Available") continue;
    const std::string_view status = json::get_string_or(condition, "status");
    available = status == "True" ? std::string(status)
                                 : fmt::format("{} ({})", status, json::get_string_or(condition, "reason"));
  }
  row.text(name_cell(object));
  row.text("Local");
  row.text(available);
  row.age(created(object));
}

// --- priority and fairness -------------------------------------------------------------------------------------------

constexpr std::array flow_schema_columns{name_column,
                                         TableColumn{.name = "PriorityLevel"},
                                         TableColumn{.name = "MatchingPrecedence"},
                                         TableColumn{.name = "DistinguisherMethod"},
                                         age_column,
                                         TableColumn{.name = "MissingPL"}};

// Whether its level is missing is for whoever writes the status to say.
std::string_view missing_level(const Object& status) {
  for (const Value& condition : list_part(status, "conditions"))
    if (json::get_string_or(condition, "type") == "Dangling") return json::get_string_or(condition, "status");
  return "?";
}

void flow_schema_cells(Cells& row, const Object& object) {
  const Object& spec = part(object, "spec");
  row.text(name_cell(object));
  row.text(json::get_string_or(part(spec, "priorityLevelConfiguration"), "name"));
  row.number(json::get_int_or(spec, "matchingPrecedence", 0));
  row.text_or(json::get_string_or(part(spec, "distinguisherMethod"), "type"), nothing_text);
  row.age(created(object));
  row.text(missing_level(part(object, "status")));
}

constexpr std::array priority_level_columns{name_column,
                                            TableColumn{.name = "Type"},
                                            TableColumn{.name = "NominalConcurrencyShares"},
                                            TableColumn{.name = "Queues"},
                                            TableColumn{.name = "HandSize"},
                                            TableColumn{.name = "QueueLengthLimit"},
                                            age_column};

void priority_level_cells(Cells& row, const Object& object) {
  const Object& spec = part(object, "spec");
  const Object& limited = part(spec, "limited");
  const Object& queuing = part(part(limited, "limitResponse"), "queuing");
  const auto number = [&](const Object& in, std::string_view member) {
    if (const auto value = json::get_int(in, member))
      row.number(*value);
    else
      row.text(nothing_text);
  };
  row.text(name_cell(object));
  row.text(json::get_string_or(spec, "type"));
  number(limited, "nominalConcurrencyShares");
  for (const std::string_view member : {"queues", "handSize", "queueLengthLimit"}) number(queuing, member);
  row.age(created(object));
}

constexpr std::array cluster_table_rows{
    BuiltinTable{"admissionregistration.k8s.io/mutatingwebhookconfigurations", webhook_columns, webhook_cells},
    BuiltinTable{"admissionregistration.k8s.io/validatingadmissionpolicies", policy_columns, policy_cells},
    BuiltinTable{"admissionregistration.k8s.io/validatingadmissionpolicybindings", policy_binding_columns,
                 policy_binding_cells},
    BuiltinTable{"admissionregistration.k8s.io/validatingwebhookconfigurations", webhook_columns, webhook_cells},
    BuiltinTable{"apiregistration.k8s.io/apiservices", api_service_columns, api_service_cells},
    BuiltinTable{"certificates.k8s.io/certificatesigningrequests", certificate_columns, certificate_cells},
    BuiltinTable{"discovery.k8s.io/endpointslices", slice_columns, slice_cells},
    BuiltinTable{"endpoints", endpoints_columns, endpoints_cells},
    BuiltinTable{"flowcontrol.apiserver.k8s.io/flowschemas", flow_schema_columns, flow_schema_cells},
    BuiltinTable{"flowcontrol.apiserver.k8s.io/prioritylevelconfigurations", priority_level_columns,
                 priority_level_cells},
    BuiltinTable{"networking.k8s.io/ingressclasses", ingress_class_columns, ingress_class_cells},
    BuiltinTable{"networking.k8s.io/ingresses", ingress_columns, ingress_cells},
    BuiltinTable{"networking.k8s.io/ipaddresses", ip_address_columns, ip_address_cells},
    BuiltinTable{"networking.k8s.io/networkpolicies", network_policy_columns, network_policy_cells},
    BuiltinTable{"networking.k8s.io/servicecidrs", service_cidr_columns, service_cidr_cells},
    BuiltinTable{"node.k8s.io/runtimeclasses", runtime_class_columns, runtime_class_cells},
    BuiltinTable{"persistentvolumes", volume_columns, volume_cells},
    BuiltinTable{"resource.k8s.io/deviceclasses", name_and_age_columns, name_and_age_cells},
    BuiltinTable{"resource.k8s.io/resourceclaims", device_claim_columns, device_claim_cells},
    BuiltinTable{"resource.k8s.io/resourceclaimtemplates", name_and_age_columns, name_and_age_cells},
    BuiltinTable{"resource.k8s.io/resourceslices", resource_slice_columns, resource_slice_cells},
    BuiltinTable{"storage.k8s.io/csidrivers", driver_columns, driver_cells},
    BuiltinTable{"storage.k8s.io/csinodes", csi_node_columns, csi_node_cells},
    BuiltinTable{"storage.k8s.io/csistoragecapacities", capacity_columns, capacity_cells},
    BuiltinTable{"storage.k8s.io/volumeattachments", attachment_columns, attachment_cells},
    BuiltinTable{"storage.k8s.io/volumeattributesclasses", attributes_class_columns, attributes_class_cells},
};

}  // namespace

std::span<const BuiltinTable> cluster_tables() { return cluster_table_rows; }

}  // namespace vg::resources
