#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "objects/core_kinds/pod.h"
#include "objects/core_kinds/quantities.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::array<std::string_view, 3> protocols = {"SCTP", "TCP", "UDP"};
constexpr std::array<std::string_view, 3> pull_policies = {"Always", "IfNotPresent", "Never"};
constexpr std::array<std::string_view, 2> message_policies = {"File", "FallbackToLogsOnError"};
constexpr std::array<std::string_view, 3> propagations = {"Bidirectional", "HostToContainer", "None"};
constexpr std::array<std::string_view, 3> recursions = {"Disabled", "Enabled", "IfPossible"};
constexpr std::array<std::string_view, 3> restart_policies = {"Always", "Never", "OnFailure"};

using Names = std::set<std::string_view>;

void check_ports(FieldCauses& causes, const Place& at, const json::Array& ports) {
  Names names;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const json::Object& port = members(ports[i]);
    const Place place = at.item(i);
    if (const std::string_view name = text(port, "name"); !name.empty()) {
      const Defects defects = port_name_defects(name);
      causes.defects(place.field("name"), name, defects);
      if (defects.empty() && !names.insert(name).second) causes.duplicate(place.field("name"), name);
    }
    const std::int64_t inside = json::get_int_or(port, "containerPort", 0);
    if (inside == 0)
      causes.required(place.field("containerPort"), "the port of the container");
    else
      check_port_number(causes, place.field("containerPort"), inside);
    if (const std::int64_t outside = json::get_int_or(port, "hostPort", 0); outside != 0)
      check_port_number(causes, place.field("hostPort"), outside);
    check_choice(causes, place.field("protocol"), text(port, "protocol"), protocols);
  }
}

Defects variable_name_defects(std::string_view name) {
  const bool plain = std::ranges::all_of(name, [](char c) { return c >= ' ' && c <= '~' && c != '='; });
  return plain ? Defects() : Defects{"must contain only printable ASCII characters other than '='"};
}

void check_key_ref(FieldCauses& causes, const Place& at, const json::Object& ref) {
  causes.defects(at.field("name"), text(ref, "name"), dns1123_subdomain_defects(text(ref, "name")));
  const std::string_view key = text(ref, "key");
  if (key.empty())
    causes.required(at.field("key"), "the key of the value");
  else
    causes.defects(at.field("key"), key, data_key_defects(key));
}

void check_file_key_ref(FieldCauses& causes, const Place& at, const json::Object& ref) {
  for (const std::string_view member : {"key", "path", "volumeName"})
    if (text(ref, member).empty()) causes.required(at.field(member), "required for a value from a file");
  check_descending_path(causes, at.field("path"), text(ref, "path"));
}

void check_variable_source(FieldCauses& causes, const Place& at, const json::Object& variable) {
  const json::Object& from = members(variable, "valueFrom");
  std::size_t count = 0;
  const auto each = [&](std::string_view member, auto&& check) {
    if (!has(from, member)) return;
    ++count;
    check(at.field(member), members(from, member));
  };
  each("fieldRef",
       [&](const Place& place, const json::Object& ref) { check_field_ref(causes, place, ref, FieldUse::variable); });
  each("resourceFieldRef", [&](const Place& place, const json::Object& ref) {
    check_resource_field_ref(causes, place, ref, FieldUse::variable);
  });
  for (const std::string_view member : {"configMapKeyRef", "secretKeyRef"})
    each(member, [&](const Place& place, const json::Object& ref) { check_key_ref(causes, place, ref); });
  each("fileKeyRef", [&](const Place& place, const json::Object& ref) { check_file_key_ref(causes, place, ref); });
  if (count == 0)
    causes.invalid(at, "the source of the value, for example configMapKeyRef or secretKeyRef");
  else if (!text(variable, "value").empty())
    causes.invalid(at, "mutually exclusive with value; remove one of them");
  else if (count > 1)
    causes.invalid(at, "exactly one source is required");
}

void check_variables(FieldCauses& causes, const Place& at, const json::Array& variables) {
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const json::Object& variable = members(variables[i]);
    const Place place = at.item(i);
    const std::string_view name = text(variable, "name");
    if (name.empty())
      causes.required(place.field("name"), "the name of the variable");
    else
      causes.defects(place.field("name"), name, variable_name_defects(name));
    if (has(variable, "valueFrom")) check_variable_source(causes, place.field("valueFrom"), variable);
  }
}

// The place of a missing or second source is the whole list: so it is upstream.
void check_variable_lists(FieldCauses& causes, const Place& at, const json::Array& lists) {
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const json::Object& list = members(lists[i]);
    const Place place = at.item(i);
    causes.defects(place.field("prefix"), text(list, "prefix"), variable_name_defects(text(list, "prefix")));
    std::size_t count = 0;
    for (const std::string_view member : {"configMapRef", "secretRef"}) {
      if (!has(list, member)) continue;
      ++count;
      const Place ref = place.field(member);
      const std::string_view name = text(members(list, member), "name");
      if (name.empty())
        causes.required(ref.field("name"), "the name of the ConfigMap or Secret");
      else
        causes.defects(ref.field("name"), name, dns1123_subdomain_defects(name));
    }
    if (count == 0) causes.invalid(at, "configMapRef or secretRef is required");
    if (count > 1) causes.invalid(at, "configMapRef is mutually exclusive with secretRef");
  }
}

// Places of what a mount says about its path are those of the list: upstream leaves the number out.
void check_mount_options(FieldCauses& causes, const Place& list, const Place& at, const json::Object& mount,
                         const json::Object& container) {
  const std::string_view sub_path = text(mount, "subPath");
  const std::string_view expression = text(mount, "subPathExpr");
  check_descending_path(causes, list.field("subPath"), sub_path);
  if (!expression.empty() && !sub_path.empty())
    causes.invalid(at.field("subPathExpr"), "subPathExpr is mutually exclusive with subPath; remove one of them");
  check_descending_path(causes, list.field("subPathExpr"), expression);
  const std::string_view propagation = text(mount, "mountPropagation");
  if (has(mount, "mountPropagation"))
    check_supported(causes, list.field("mountPropagation"), propagation, propagations);
  if (propagation == "Bidirectional" && !json::get_bool_or(members(container, "securityContext"), "privileged", false))
    causes.forbidden(list.field("mountPropagation"), "Bidirectional requires a privileged container");
  if (!has(mount, "recursiveReadOnly")) return;
  const Place recursive = list.field("recursiveReadOnly");
  const std::string_view recursion = text(mount, "recursiveReadOnly");
  check_supported(causes, recursive, recursion, recursions);
  if (recursion != "Enabled" && recursion != "IfPossible") return;
  if (!json::get_bool_or(mount, "readOnly", false)) causes.forbidden(recursive, "requires readOnly");
  if (!propagation.empty() && propagation != "None")
    causes.forbidden(recursive, "mutually exclusive with mountPropagation");
}

Names values_of(const json::Array& list, std::string_view member) {
  Names values;
  for (const json::Value& one : list) values.insert(text(one, member));
  return values;
}

void check_mounts(FieldCauses& causes, const Place& at, const json::Object& container, const Volumes& volumes) {
  const json::Array& mounts = items(container, "volumeMounts");
  const Names devices = values_of(items(container, "volumeDevices"), "name");
  const Names device_paths = values_of(items(container, "volumeDevices"), "devicePath");
  Names paths;
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    const json::Object& mount = members(mounts[i]);
    const Place place = at.item(i);
    const std::string_view name = text(mount, "name");
    const std::string_view path = text(mount, "mountPath");
    if (name.empty()) causes.required(place.field("name"), "the name of the volume");
    if (!volumes.contains(name)) causes.not_found(place.field("name"), name, "add it to spec.volumes");
    if (path.empty()) causes.required(place.field("mountPath"), "the path of the mount");
    if (!paths.insert(path).second) causes.invalid(place.field("mountPath"), "mountPath must be unique");
    if (devices.contains(name))
      causes.invalid(place.field("name"), "the volume is already used as a device in this container");
    if (device_paths.contains(path)) causes.invalid(place.field("mountPath"), "the path is already used by a device");
    check_mount_options(causes, at, place, mount, container);
  }
}

void check_devices(FieldCauses& causes, const Place& at, const json::Object& container, const Volumes& volumes) {
  const json::Array& devices = items(container, "volumeDevices");
  const Names mounts = values_of(items(container, "volumeMounts"), "name");
  const Names mount_paths = values_of(items(container, "volumeMounts"), "mountPath");
  Names names;
  Names paths;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const json::Object& device = members(devices[i]);
    const Place place = at.item(i);
    const std::string_view name = text(device, "name");
    const std::string_view path = text(device, "devicePath");
    const auto volume = volumes.find(name);
    if (name.empty()) causes.required(place.field("name"), "the name of the volume");
    if (names.contains(name)) causes.invalid(place.field("name"), "the volume is already used as a device");
    if (volume == volumes.end())
      causes.not_found(place.field("name"), name, "add it to spec.volumes");
    else if (!volume->second)
      causes.invalid(place.field("name"), "a device requires a persistentVolumeClaim volume");
    if (path.empty()) causes.required(place.field("devicePath"), "the path of the device");
    if (paths.contains(path)) causes.invalid(place.field("devicePath"), "devicePath must be unique");
    if (has_backsteps(path))
      causes.invalid(place.field("devicePath"), "must not contain '..'");
    else
      paths.insert(path);
    if (mounts.contains(name)) causes.invalid(place.field("name"), "the volume is already mounted in this container");
    if (mount_paths.contains(path)) causes.invalid(place.field("devicePath"), "the path is already used by a mount");
    if (!name.empty()) names.insert(name);
  }
}

void check_container(FieldCauses& causes, const Place& at, const json::Object& container, const PodFacts& facts) {
  const std::string_view name = text(container, "name");
  if (name.empty())
    causes.required(at.field("name"), "the name of the container");
  else
    causes.defects(at.field("name"), name, dns1123_label_defects(name));
  if (text(container, "image").empty()) causes.required(at.field("image"), "the image of the container");
  check_choice(causes, at.field("terminationMessagePolicy"), text(container, "terminationMessagePolicy"),
               message_policies);
  check_ports(causes, at.field("ports"), items(container, "ports"));
  check_variables(causes, at.field("env"), items(container, "env"));
  check_variable_lists(causes, at.field("envFrom"), items(container, "envFrom"));
  check_mounts(causes, at.field("volumeMounts"), container, facts.volumes);
  check_devices(causes, at.field("volumeDevices"), container, facts.volumes);
  check_choice(causes, at.field("imagePullPolicy"), text(container, "imagePullPolicy"), pull_policies);
  check_requirements(causes, at.field("resources"), members(container, "resources"));
  check_container_security(causes, at.field("securityContext"), members(container, "securityContext"));
}

void check_restart_policy(FieldCauses& causes, const Place& at, const json::Object& container) {
  if (has(container, "restartPolicy"))
    check_supported(causes, at.field("restartPolicy"), text(container, "restartPolicy"), restart_policies);
  else if (!items(container, "restartPolicyRules").empty())
    causes.required(at.field("restartPolicy"), "restartPolicyRules requires restartPolicy");
}

class HostPorts {
 public:
  void take(FieldCauses& causes, const Place& container_place, const json::Object& container) {
    const json::Array& ports = items(container, "ports");
    const Place list = container_place.field("ports");
    for (std::size_t i = 0; i < ports.size(); ++i) {
      const std::int64_t number = json::get_int_or(ports[i], "hostPort", 0);
      if (number == 0) continue;
      std::string key = fmt::format("{}/{}/{}", text(ports[i], "protocol"), text(ports[i], "hostIP"), number);
      if (taken_.contains(key))
        causes.duplicate(list.item(i).field("hostPort"), key);
      else
        taken_.insert(std::move(key));
    }
  }

 private:
  std::set<std::string> taken_;
};

void check_regular(FieldCauses& causes, const Place& at, const json::Array& containers, const PodFacts& facts,
                   Names& names) {
  if (containers.empty()) return causes.required(at, "at least one container");
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const json::Object& container = members(containers[i]);
    const Place place = at.item(i);
    check_container(causes, place, container, facts);
    if (!names.insert(text(container, "name")).second) causes.duplicate(place.field("name"), text(container, "name"));
    check_probes(causes, place, container, facts.grace_seconds);
    check_restart_policy(causes, place, container);
  }
  HostPorts ports;
  for (std::size_t i = 0; i < containers.size(); ++i) ports.take(causes, at.item(i), members(containers[i]));
}

// An init container has ended before anybody could probe it, unless it is a sidecar.
void check_init_probes(FieldCauses& causes, const Place& at, const json::Object& container, const PodFacts& facts) {
  if (text(container, "restartPolicy") == "Always") return check_probes(causes, at, container, facts.grace_seconds);
  for (const std::string_view member : {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"})
    if (has(container, member))
      causes.forbidden(at.field(member), "restartPolicy Always is required for this field in an init container");
}

void check_init(FieldCauses& causes, const Place& at, const json::Array& containers, const PodFacts& facts,
                Names& names) {
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const json::Object& container = members(containers[i]);
    const Place place = at.item(i);
    check_container(causes, place, container, facts);
    check_restart_policy(causes, place, container);
    const std::string_view name = text(container, "name");
    if (!name.empty() && !names.insert(name).second) causes.duplicate(place.field("name"), name);
    HostPorts().take(causes, at.item(0), container);  // each alone, and so the first: they run one after the other
    check_init_probes(causes, place, container, facts);
  }
}

void check_ephemeral(FieldCauses& causes, const Place& at, const json::Array& containers, const PodFacts& facts,
                     Names& names) {
  const Names others = names;
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const json::Object& container = members(containers[i]);
    const Place place = at.item(i);
    check_container(causes, place, container, facts);
    const std::string_view name = text(container, "name");
    if (!names.insert(name).second) causes.duplicate(place.field("name"), name);
    const std::string_view target = text(container, "targetContainerName");
    if (!target.empty() && !others.contains(target))
      causes.not_found(place.field("targetContainerName"), target, "the pod has no such container");
    for (const std::string_view member :
         {"ports", "resources", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"})
      if (const auto* value = json::find(container, member); !same(value, nullptr))
        causes.forbidden(place.field(member), "not supported for ephemeral containers");
  }
}

}  // namespace

void check_containers(FieldCauses& causes, const Place& spec_place, const json::Object& spec, const PodFacts& facts) {
  Names names;
  check_regular(causes, spec_place.field("containers"), items(spec, "containers"), facts, names);
  check_init(causes, spec_place.field("initContainers"), items(spec, "initContainers"), facts, names);
  check_ephemeral(causes, spec_place.field("ephemeralContainers"), items(spec, "ephemeralContainers"), facts, names);
}

}  // namespace vg::resources::core_kinds
