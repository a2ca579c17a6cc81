// /virt-launcher-pod-mutate (spec work-objects 2.3): a volume that another webhook mounts into the launcher, such as a
// cloud's token, is shown to the guest by one more container. Whatever does not fit leaves the pod as it is.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "admission/defaults/completion.h"
#include "admission/defaults/edit.h"
#include "api/canonical.h"
#include "api/schema.h"

namespace vg::admission {
namespace {

using json::Array;
using json::Object;
using json::Value;
using std::string_view;

constexpr string_view sockets_volume = "virtiofs-containers";
constexpr string_view sockets_folder = "/var/run/kubevirt/virtiofs-containers";
constexpr string_view data_folder = "/virtiofs-data";
constexpr std::uint32_t qemu_user = 107;

// Row 4
Object* find_owner(const Object& pod, const Context& context) {
  const Object* metadata = edit::child(&pod, "metadata");
  const Array* owners = metadata ? json::get_array(*metadata, "ownerReferences") : nullptr;
  if (!owners) return nullptr;
  const auto is_vmi = [](const Value& owner) {
    return json::get_string_or(owner, "kind") == "VirtualMachineInstance" &&
           json::get_string_or(owner, "apiVersion") == "kubevirt.io/v1";
  };
  const Value* owner = std::ranges::find_if(*owners, is_vmi);
  if (owner == owners->end()) return nullptr;
  auto found = context.lookups.get("kubevirt.io/virtualmachineinstances", json::text_in(metadata, "namespace"),
                                   json::get_string_or(*owner, "name"), context.storage);
  static const api::Kind* kind = api::find_kind("kubevirt.io", "", "VirtualMachineInstance");
  if (!found || !*found || !api::canonicalize(**found, *kind->type)) return nullptr;
  return (*found)->if_object();
}

// Row 5. Names are gathered first: lists may be long, and users choose how long.
std::vector<const Object*> missing_volumes(const Object& vmi, const Object& pod_spec) {
  std::unordered_set<string_view> shared, present;
  std::vector<const Object*> missing;
  const Object* spec = edit::child(&vmi, "spec");
  const Object* devices = spec ? edit::descend(*spec, {"domain", "devices"}) : nullptr;
  if (!devices) return missing;
  edit::each(*devices, "filesystems", [&](const Object& filesystem) {
    if (edit::has(filesystem, "virtiofs")) shared.insert(json::text_in(&filesystem, "name"));
  });
  edit::each(pod_spec, "containers",
             [&](const Object& container) { present.insert(json::text_in(&container, "name")); });
  edit::each(*spec, "volumes", [&](const Object& volume) {
    const string_view name = json::text_in(&volume, "name");
    if (!edit::has(volume, "containerPath") || !shared.contains(name)) return;
    if (!present.contains(fmt::format("virtiofs-{}", name))) missing.push_back(&volume);
  });
  return missing;
}

struct Source {
  const Object* volume;  // of the pod
  std::string sub_path;
};

struct Mount {
  string_view name, path;
};

// The mount at the path itself, else the longest one above it. Where the mount's own sub path points is not looked at
// (spec work-objects Q38).
std::optional<Mount> covering_mount(const Object& compute, string_view path) {
  std::optional<Mount> best;
  edit::each(compute, "volumeMounts", [&](const Object& item) {
    const Mount mount{.name = json::text_in(&item, "name"), .path = json::text_in(&item, "mountPath")};
    const bool exact = mount.path == path;
    const bool above = path.starts_with(mount.path) && path.substr(mount.path.size()).starts_with('/');
    if ((exact || above) && (!best || mount.path.size() > best->path.size())) best = mount;
  });
  return best;
}

// Row 7: only what is read-only, and only kinds that another webhook adds.
std::optional<Source> find_source(const Object& pod_spec, const Object& compute, const Object& vmi_volume) {
  const Object* wanted = edit::child(&vmi_volume, "containerPath");
  if (!wanted || !json::get_bool_or(*wanted, "readOnly", false)) return std::nullopt;
  const string_view path = json::text_in(wanted, "path");
  const auto mount = covering_mount(compute, path);
  const Object* volume = mount ? edit::named_item(pod_spec, "volumes", mount->name) : nullptr;
  if (!volume) return std::nullopt;
  for (const string_view kind : {"configMap", "secret", "projected", "downwardAPI", "emptyDir"})
    if (edit::has(*volume, kind)) {
      const string_view rest = path.substr(mount->path.size());
      return Source{.volume = volume, .sub_path = std::string(rest.empty() ? rest : rest.substr(1))};
    }
  return std::nullopt;
}

bool holds_token(const Object& volume) {
  const Object* projected = edit::child(&volume, "projected");
  bool found = false;
  if (projected)
    edit::each(*projected, "sources", [&](const Object& one) { found |= edit::has(one, "serviceAccountToken"); });
  return found;
}

// --- resources

// The first amount that an administrator gives for such containers.
Quantity configured(const config::ClusterConfig& config, string_view list, string_view resource,
                    const Quantity& usual) {
  std::optional<Quantity> amount;
  edit::each(config.configuration(), "supportContainerResources", [&](const Object& entry) {
    if (amount || json::text_in(&entry, "type") != "virtiofs") return;
    amount = edit::nonzero_quantity(edit::descend(entry, {"resources", list}), resource);
  });
  return amount.value_or(usual);
}

bool requests_its_limit(const Object* resources, string_view resource) {
  const auto request = edit::nonzero_quantity(edit::child(resources, "requests"), resource);
  const auto limit = edit::quantity(edit::child(resources, "limits"), resource);
  return request && limit && *request == *limit;
}

struct Guarantee {
  bool cpu, memory;
};

// A pod keeps its quality of service only when every container of it asks for its limits.
Guarantee guarantee_for(const Object& vmi) {
  const Object* domain = edit::descend(vmi, {"spec", "domain"});
  const Object* cpu = edit::child(domain, "cpu");
  const Object* resources = edit::child(domain, "resources");
  const bool dedicated = cpu && json::get_bool_or(*cpu, "dedicatedCpuPlacement", false);
  const bool only_limit = !edit::nonzero_quantity(edit::child(resources, "requests"), "memory") &&
                          edit::nonzero_quantity(edit::child(resources, "limits"), "memory").has_value();
  const bool memory = only_limit || requests_its_limit(resources, "memory");
  const bool guaranteed = dedicated || (memory && requests_its_limit(resources, "cpu"));
  return {.cpu = guaranteed, .memory = guaranteed};
}

void set_resources(Object& container, const Object& vmi, const config::ClusterConfig& config) {
  static const Quantity cpu_request = Quantity::from_milli(10), cpu_limit = Quantity::from_milli(100);
  static const Quantity memory_request = Quantity::from_int(1'000'000), memory_limit = Quantity::from_int(80'000'000);
  const Guarantee guarantee = guarantee_for(vmi);
  const Quantity most_cpu = configured(config, "limits", "cpu", cpu_limit);
  const Quantity most_memory = configured(config, "limits", "memory", memory_limit);
  Object& resources = json::ensure_object(container, "resources");
  Object& limits = json::ensure_object(resources, "limits");
  edit::set_quantity(limits, "cpu", most_cpu);
  edit::set_quantity(limits, "memory", most_memory);
  Object& requests = json::ensure_object(resources, "requests");
  edit::set_quantity(requests, "cpu", guarantee.cpu ? most_cpu : configured(config, "requests", "cpu", cpu_request));
  edit::set_quantity(requests, "memory",
                     guarantee.memory ? most_memory : configured(config, "requests", "memory", memory_request));
}

// --- the container

void set_arguments(Object& container, string_view volume, bool token) {
  edit::append_text(json::ensure_array(container, "command"), "/usr/libexec/virtiofsd");
  Array& args = json::ensure_array(container, "args");
  edit::append_text(args, fmt::format("--socket-path={}/{}.sock", sockets_folder, volume));
  edit::append_text(args, fmt::format("--shared-dir={}/{}", data_folder, volume));
  for (const string_view arg :
       {"--sandbox=none", "--cache=auto", "--migration-on-error=guest-error", "--migration-mode=find-paths"})
    edit::append_text(args, arg);
  // A token belongs to the user of the container; the guest's root is who reads it.
  if (token) edit::append_text(args, "--translate-uid=host:107:0:1");
}

void set_mounts(Object& container, string_view volume, const Source& source) {
  Array& mounts = json::ensure_array(container, "volumeMounts");
  Object& sockets = edit::append_object(mounts);
  edit::set_text(sockets, "name", sockets_volume);
  edit::set_text(sockets, "mountPath", sockets_folder);
  Object& data = edit::append_object(mounts);
  edit::set_text(data, "name", json::text_in(source.volume, "name"));
  data["readOnly"] = true;
  edit::set_text(data, "mountPath", fmt::format("{}/{}", data_folder, volume));
  if (!source.sub_path.empty()) edit::set_text(data, "subPath", source.sub_path);
}

void set_security(Object& container) {
  Object& security = json::ensure_object(container, "securityContext");
  edit::set_number(security, "runAsUser", qemu_user);
  edit::set_number(security, "runAsGroup", qemu_user);
  security["runAsNonRoot"] = true;
  security["allowPrivilegeEscalation"] = false;
  edit::append_text(json::ensure_array(json::ensure_object(security, "capabilities"), "drop"), "ALL");
}

struct Addition {
  std::string volume, image;
  Source source;
};

void fill_container(Object& container, const Addition& addition, const Object& vmi, const Context& context) {
  edit::set_text(container, "name", fmt::format("virtiofs-{}", addition.volume));
  edit::set_text(container, "image", addition.image);
  edit::set_text(container, "imagePullPolicy", "IfNotPresent");
  set_arguments(container, addition.volume, holds_token(*addition.source.volume));
  set_mounts(container, addition.volume, addition.source);
  set_security(container);
  set_resources(container, vmi, context.config);
}

std::vector<Addition> find_additions(const Object& vmi, const Object& pod_spec) {
  std::vector<Addition> additions;
  const Object* compute = edit::named_item(pod_spec, "containers", "compute");  // row 6
  if (!compute) return additions;
  for (const Object* volume : missing_volumes(vmi, pod_spec))
    if (auto source = find_source(pod_spec, *compute, *volume))
      additions.push_back({.volume = std::string(json::text_in(volume, "name")),
                           .image = std::string(json::text_in(compute, "image")),
                           .source = std::move(*source)});
  return additions;
}

}  // namespace

Verdict complete_launcher_pod(const Case& judged) {
  static const api::Kind* kind = api::find_kind("", "", "Pod");
  if (!judged.object || !judged.object->is_object() || !api::canonicalize(*judged.object, *kind->type)) return {};
  Object& pod = judged.object->get_object();
  Object* spec = edit::child(&pod, "spec");
  if (!spec || judged.review.resource.resource != "pods" || !is_launcher_pod(*judged.object)) return {};
  const Object* vmi = find_owner(pod, judged.context);
  if (!vmi) return {};
  const std::vector<Addition> additions = find_additions(*vmi, *spec);
  if (additions.empty()) return {};
  Array& containers = json::ensure_array(*spec, "containers");
  const std::size_t before = containers.size();
  for (const Addition& addition : additions)
    fill_container(edit::append_object(containers), addition, *vmi, judged.context);
  Verdict completed = replace_members(judged, {});
  const Array* now = json::as_array(json::find_path(*judged.object, {"spec", "containers"}));
  for (std::size_t i = before; now && i < now->size(); ++i)
    completed.patch.push_back({.op = "add", .path = "/spec/containers/-", .value = &(*now)[i]});
  return completed;
}

}  // namespace vg::admission
