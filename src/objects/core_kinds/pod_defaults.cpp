#include <string>

#include "objects/core_kinds/claim.h"
#include "objects/core_kinds/image_reference.h"
#include "objects/core_kinds/pod.h"
#include "objects/core_kinds/quantities.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::int64_t file_mode = 0644;
constexpr std::int64_t grace_seconds = 30;
constexpr std::int64_t token_seconds = 60 * 60;

std::string_view pull_policy(std::string_view image) { return names_latest_image(image) ? "Always" : "IfNotPresent"; }

void default_http_get(json::Object& handler) {
  if (auto* get = json::get_object(handler, "httpGet")) {
    default_text(*get, "path", "/");
    default_text(*get, "scheme", "HTTP");
  }
}

void default_probe(json::Object& container, std::string_view name) {
  auto* probe = json::get_object(container, name);
  if (!probe) return;
  default_number(*probe, "timeoutSeconds", 1);
  default_number(*probe, "periodSeconds", 10);
  default_number(*probe, "successThreshold", 1);
  default_number(*probe, "failureThreshold", 3);
  default_http_get(*probe);
  if (auto* grpc = json::get_object(*probe, "grpc")) default_pointer(*grpc, "service", "");
}

void default_field_ref(json::Object& source) {
  if (auto* ref = json::get_object(source, "fieldRef")) default_text(*ref, "apiVersion", "v1");
}

void default_variable(json::Object& variable) {
  auto* source = json::get_object(variable, "valueFrom");
  if (!source) return;
  default_field_ref(*source);
  if (auto* file = json::get_object(*source, "fileKeyRef")) default_pointer(*file, "optional", false);
}

void default_container(json::Object& container) {
  const std::string image(text(container, "image"));
  default_text(container, "imagePullPolicy", pull_policy(image));
  default_text(container, "terminationMessagePath", "/dev/termination-log");
  default_text(container, "terminationMessagePolicy", "File");
  for_each_object(container, "ports", [](json::Object& port) { default_text(port, "protocol", "TCP"); });
  for_each_object(container, "env", default_variable);
  round_requirements(container, "resources");
  for (const std::string_view probe : {"livenessProbe", "readinessProbe", "startupProbe"})
    default_probe(container, probe);
  if (auto* lifecycle = json::get_object(container, "lifecycle"))
    for (const std::string_view hook : {"postStart", "preStop"})
      if (auto* handler = json::get_object(*lifecycle, hook)) default_http_get(*handler);
}

// Who sets a limit and no request asks for what it may use.
void default_requests(json::Object& container) {
  auto* resources = json::get_object(container, "resources");
  const json::Object limits = resources ? members(*resources, "limits") : json::Object();
  if (limits.empty()) return;
  json::Object& requests = json::ensure_object(*resources, "requests");
  for (const auto& limit : limits) default_pointer(requests, limit.key(), limit.value());
}

// On the node's own network the port of a container is that of the node.
void default_host_ports(json::Object& container) {
  for_each_object(container, "ports", [](json::Object& port) {
    default_number(port, "hostPort", json::get_int_or(port, "containerPort", 0));
  });
}

// serviceAccount is the older spelling of serviceAccountName.
void align_service_account(json::Object& spec) {
  const std::string older(text(spec, "serviceAccount"));
  if (!older.empty()) default_text(spec, "serviceAccountName", older);
  const std::string name(text(spec, "serviceAccountName"));
  if (!name.empty()) spec["serviceAccount"] = name;
}

// podIP is the older spelling of the first of podIPs; where they differ, the older one counts.
void align_addresses(json::Object& status) {
  const std::string one(text(status, "podIP"));
  const json::Array& all = items(status, "podIPs");
  const std::string first(all.empty() ? std::string_view() : text(all[0], "ip"));
  if (!one.empty() && one != first)
    status["podIPs"].emplace_array().emplace_back(json::Object()).as_object()["ip"] = one;
  else if (!first.empty())
    status["podIP"] = first;
}

void default_spec(json::Object& spec) {
  align_service_account(spec);
  default_text(spec, "dnsPolicy", "ClusterFirst");
  default_text(spec, "restartPolicy", "Always");
  default_pointer(spec, "securityContext", json::Object());
  default_pointer(spec, "terminationGracePeriodSeconds", grace_seconds);
  default_text(spec, "schedulerName", "default-scheduler");
  round_amounts(spec, "overhead");
  round_requirements(spec, "resources");
}

void default_downward_files(json::Object& source) { for_each_object(source, "items", default_field_ref); }

void default_projection(json::Object& source) {
  if (auto* downward = json::get_object(source, "downwardAPI")) default_downward_files(*downward);
  if (auto* token = json::get_object(source, "serviceAccountToken"))
    default_pointer(*token, "expirationSeconds", token_seconds);
}

// Kinds of volumes that no cluster of today makes any more, but whose objects still have their defaults.
void default_older_volume(json::Object& volume) {
  if (auto* iscsi = json::get_object(volume, "iscsi")) default_text(*iscsi, "iscsiInterface", "default");
  if (auto* rbd = json::get_object(volume, "rbd")) {
    default_text(*rbd, "pool", "rbd");
    default_text(*rbd, "user", "admin");
    default_text(*rbd, "keyring", "/etc/ceph/keyring");
  }
  if (auto* disk = json::get_object(volume, "azureDisk")) {
    default_pointer(*disk, "cachingMode", "ReadWrite");
    default_pointer(*disk, "kind", "Shared");
    default_pointer(*disk, "fsType", "ext4");
    default_pointer(*disk, "readOnly", false);
  }
  if (auto* scale = json::get_object(volume, "scaleIO")) {
    default_text(*scale, "storageMode", "ThinProvisioned");
    default_text(*scale, "fsType", "xfs");
  }
}

bool has_source(const json::Object& volume) {
  for (const auto& member : volume)
    if (member.key() != "name" && !member.value().is_null()) return true;
  return false;
}

void default_volume(json::Object& volume) {
  if (!has_source(volume)) volume["emptyDir"].emplace_object();
  for (const std::string_view source : {"secret", "configMap", "downwardAPI", "projected"})
    if (auto* object = json::get_object(volume, source)) default_pointer(*object, "defaultMode", file_mode);
  if (auto* path = json::get_object(volume, "hostPath")) default_pointer(*path, "type", "");
  if (auto* downward = json::get_object(volume, "downwardAPI")) default_downward_files(*downward);
  if (auto* projected = json::get_object(volume, "projected"))
    for_each_object(*projected, "sources", default_projection);
  if (auto* image = json::get_object(volume, "image")) {
    const std::string reference(text(*image, "reference"));
    default_text(*image, "pullPolicy", pull_policy(reference));
  }
  auto* ephemeral = json::get_object(volume, "ephemeral");
  if (auto* claim = ephemeral ? json::get_object(*ephemeral, "volumeClaimTemplate") : nullptr)
    default_claim_spec(json::ensure_object(*claim, "spec"));
  default_older_volume(volume);
}

}  // namespace

void default_volumes(json::Object& spec) { for_each_object(spec, "volumes", default_volume); }

void default_pod_template(json::Object& object) {
  json::Object& spec = json::ensure_object(object, "spec");
  default_spec(spec);
  default_volumes(spec);
  for (const std::string_view list : {"initContainers", "containers", "ephemeralContainers"})
    for_each_object(spec, list, default_container);
}

void default_pod(json::Object& object) {
  default_pod_template(object);
  json::Object& spec = json::ensure_object(object, "spec");
  default_pointer(spec, "enableServiceLinks", true);
  for (const std::string_view list : {"initContainers", "containers"}) {
    for_each_object(spec, list, default_requests);
    if (json::get_bool_or(spec, "hostNetwork", false)) for_each_object(spec, list, default_host_ports);
  }
  if (auto* status = json::get_object(object, "status")) align_addresses(*status);
}

}  // namespace vg::resources::core_kinds
