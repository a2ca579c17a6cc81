#include "resources/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "catalog/conversion.h"
#include "objects/scan.h"

namespace vg::resources {
namespace {

// The fields by which Kubernetes' own kinds can be selected, besides name and namespace. Custom kinds have none: their
// CRDs declare no selectable fields.
struct SelectableFields {
  std::string_view key;
  std::span<const std::string_view> fields;
};

constexpr std::array<std::string_view, 9> pod_fields = {
    "spec.nodeName", "spec.restartPolicy",       "spec.schedulerName", "spec.serviceAccountName",
    "status.phase",  "status.nominatedNodeName", "status.podIP",       "spec.hostNetwork",
    "status.podIPs"};
constexpr std::array<std::string_view, 11> event_fields = {"involvedObject.kind",
                                                           "involvedObject.namespace",
                                                           "involvedObject.name",
                                                           "involvedObject.uid",
                                                           "involvedObject.apiVersion",
                                                           "involvedObject.resourceVersion",
                                                           "involvedObject.fieldPath",
                                                           "reason",
                                                           "reportingComponent",
                                                           "source",
                                                           "type"};
constexpr std::array<std::string_view, 1> secret_fields = {"type"};
constexpr std::array<std::string_view, 1> node_fields = {"spec.unschedulable"};
constexpr std::array<std::string_view, 1> namespace_fields = {"status.phase"};
constexpr std::array<std::string_view, 2> service_fields = {"spec.clusterIP", "spec.type"};

constexpr std::array<std::string_view, 1> replica_fields = {"status.replicas"};
constexpr std::array<std::string_view, 1> job_fields = {"status.successful"};
constexpr std::array<std::string_view, 1> certificate_fields = {"spec.signerName"};
constexpr std::array<std::string_view, 2> slice_fields = {"spec.nodeName", "spec.driver"};

constexpr std::array<SelectableFields, 11> table = {
    {{"pods", pod_fields},
     {"replicationcontrollers", replica_fields},
     {"apps/replicasets", replica_fields},
     {"batch/jobs", job_fields},
     {"certificates.k8s.io/certificatesigningrequests", certificate_fields},
     {"resource.k8s.io/resourceslices", slice_fields},
     {"events", event_fields},
     {"secrets", secret_fields},
     {"nodes", node_fields},
     {"namespaces", namespace_fields},
     {"services", service_fields}}};

// Most kinds know the namespace as a field even where they have none.
bool selectable(const Resource& resource, std::string_view field) {
  if (field == "metadata.name") return true;
  if (field == "metadata.namespace")
    return resource.kind->namespaced || (!resource.kind->custom && resource.key != "nodes");
  const auto* row = std::ranges::find(table, resource.key, &SelectableFields::key);
  return row != table.end() && std::ranges::find(row->fields, field) != row->fields.end();
}

// What an absent boolean or number compares as: Kubernetes selects on the typed object.
std::string_view when_absent(std::string_view field) {
  if (field == "status.replicas" || field == "status.successful") return "0";
  return field == "spec.unschedulable" || field == "spec.hostNetwork" ? "false" : "";
}

// NOLINTNEXTLINE(misc-no-recursion): one level
std::string field_text(const StoredObject& object, std::string_view field) {
  if (field == "metadata.name") return std::string(object.name());
  if (field == "metadata.namespace") return std::string(object.ns());
  if (field == "source") {
    constexpr std::array<std::string_view, 2> component = {"source", "component"};
    std::string text = scan_text(object.json(), component);
    return text.empty() ? field_text(object, "reportingComponent") : text;
  }
  std::array<std::string_view, 4> path;
  std::size_t steps = 0;
  // The one field that is selected by another name than it has.
  for (std::string_view rest = field == "status.successful" ? "status.succeeded" : field;
       !rest.empty() && steps < path.size();) {
    const auto dot = rest.find('.');
    path[steps++] = rest.substr(0, dot);
    rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
  }
  std::string text = scan_text(object.json(), std::span(path).first(steps));
  return text.empty() ? std::string(when_absent(field)) : text;
}

}  // namespace

Result<Selection> Selection::make(const Resource& resource, LabelSelector labels, FieldSelector fields) {
  for (const auto& term : fields.terms()) {
    if (!selectable(resource, stored_field(resource, term.field)))
      return fail(
          Status::bad_request(fmt::format("{} do not support the field selector \"{}\"; use metadata.name, or a "
                                          "label selector",
                                          resource.plural(), term.field)));
  }
  Selection selection;
  selection.labels_ = std::move(labels);
  selection.fields_ = std::move(fields);
  selection.resource_ = &resource;
  return selection;
}

bool Selection::matches(const StoredObject& object) const {
  if (!labels_.empty() && !labels_.matches([&](std::string_view key) { return object.label(key); })) return false;
  for (const auto& term : fields_.terms())
    if ((field_text(object, stored_field(*resource_, term.field)) == term.value) != term.equal) return false;
  return true;
}

}  // namespace vg::resources
