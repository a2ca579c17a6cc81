#include "admission/defaults/spec_defaults.h"

#include <array>
#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

#include "admission/defaults/edit.h"

namespace vg::admission {
namespace {

using json::Object;
using json::Value;
using std::string_view;

// D03: who limits the CPU and says nothing else wants to have what the limit allows.
void default_cpu_request_from_limit(SpecTarget& target) {
  Object& resources = json::ensure_object(target.domain(), "resources");
  const auto limit = edit::nonzero_quantity(edit::child(&resources, "limits"), "cpu");
  if (!limit || edit::nonzero_quantity(edit::child(&resources, "requests"), "cpu")) return;
  edit::set_quantity(json::ensure_object(resources, "requests"), "cpu", *limit);
}

// D04. Upstream leaves its own default of 100m to the controller, so only another value is written.
void default_cpu_request_from_configuration(SpecTarget& target) {
  static const Quantity usual = Quantity::from_milli(100);
  const Quantity& configured = target.config.cpu_request();
  if (configured == usual) return;
  Object& domain = target.domain();
  const Object* cpu = edit::child(&domain, "cpu");
  if (cpu && json::get_bool_or(*cpu, "dedicatedCpuPlacement", false)) return;
  if (const Object* requests = edit::descend(domain, {"resources", "requests"}); requests && requests->contains("cpu"))
    return;
  edit::set_quantity(json::ensure_path(domain, {"resources", "requests"}), "cpu", configured);
}

// D05 and D06: nothing that says how much leaves the guest without an amount; a rule refuses that later.
void default_guest_memory(SpecTarget& target) {
  Object& memory = json::ensure_object(target.domain(), "memory");
  if (edit::has(memory, "guest")) return;
  const Object* resources = edit::child(&target.domain(), "resources");
  auto amount = edit::nonzero_quantity(edit::child(resources, "requests"), "memory");
  if (!amount) amount = edit::nonzero_quantity(edit::child(resources, "limits"), "memory");
  if (!amount) amount = edit::quantity(edit::child(&memory, "hugepages"), "pageSize");
  if (amount) edit::set_quantity(memory, "guest", *amount);
}

// D07: a limit counts by its presence, so that a limit of 0 gives 0 sockets, as upstream has it.
std::uint32_t sockets_from_resources(const Object& domain) {
  for (const string_view source : {"limits", "requests"})
    if (const auto amount = edit::quantity(edit::descend(domain, {"resources", source}), "cpu"))
      return static_cast<std::uint32_t>(amount->value());
  return 1;
}

// D07: whoever gave one of the three numbers keeps the zeros of the others.
void default_cpu_topology(SpecTarget& target) {
  Object& domain = target.domain();
  const Object* cpu = edit::child(&domain, "cpu");
  if (edit::number(cpu, "sockets") || edit::number(cpu, "cores") || edit::number(cpu, "threads")) return;
  const std::uint32_t sockets = sockets_from_resources(domain);
  Object& into = json::ensure_object(domain, "cpu");
  edit::set_number(into, "sockets", sockets);
  edit::set_number(into, "cores", 1);
  edit::set_number(into, "threads", 1);
}

// D08: the port of a registry is taken for a tag (K43); clients rely on what they get.
void default_image_pull_policies(SpecTarget& target) {
  edit::each(target.spec, "volumes", [](Object& volume) {
    Object* disk = edit::child(&volume, "containerDisk");
    if (!disk) return;
    const string_view image = json::get_string_or(*disk, "image");
    const bool moves = image.ends_with(":latest") || image.find_first_of(":@") == string_view::npos;
    edit::set_text_if_empty(*disk, "imagePullPolicy", moves ? "Always" : "IfNotPresent");
  });
}

// D09
void default_eviction_strategy(SpecTarget& target) {
  if (!edit::has(target.spec, "evictionStrategy"))
    edit::set_text(target.spec, "evictionStrategy", target.config.eviction_strategy());
}

// D11: why the configured default cannot be given.
std::optional<std::string> interface_refusal(const config::ClusterConfig& config) {
  if (config.default_network_interface() == "slirp")
    return "the default network interface of the cluster is slirp, which is not supported any more; set networks and "
           "interfaces in the spec, or network.defaultNetworkInterface of the KubeVirt object to bridge or masquerade";
  if (config.default_network_interface() == "bridge" && !config.permit_bridge_on_pod_network())
    return "the default network interface of the cluster is bridge, which is not permitted on the pod network; set "
           "networks and interfaces in the spec, for example masquerade";
  return std::nullopt;
}

constexpr std::array spec_default_table = std::to_array<SpecDefault>({
    {"D01", default_architecture},
    {"D02", default_machine_type},
    {"D03", default_cpu_request_from_limit},
    {"D04", default_cpu_request_from_configuration},
    {"D06", default_guest_memory},
    {"D07", default_cpu_topology},
    {"D08", default_image_pull_policies},
    {"D09", default_eviction_strategy},
    {"D11", default_interfaces},
    {"D13", default_disks},
});

}  // namespace

Object& SpecTarget::domain() { return json::ensure_object(spec, "domain"); }
Object& SpecTarget::devices() { return json::ensure_object(domain(), "devices"); }

void default_architecture(SpecTarget& target) {
  const string_view cluster = target.config.default_architecture();
  if (!cluster.empty()) edit::set_text_if_empty(target.spec, "architecture", cluster);
}

void default_machine_type(SpecTarget& target) {
  const string_view type = target.config.machine_type(json::get_string_or(target.spec, "architecture"));
  edit::set_text_if_empty(json::ensure_object(target.domain(), "machine"), "type", type);
}

// D10 to D12
void default_interfaces(SpecTarget& target) {
  Object& devices = target.devices();
  if (!json::get_bool_or(devices, "autoattachPodInterface", true)) return;
  if (edit::has_items(target.spec, "networks") || edit::has_items(devices, "interfaces")) return;
  target.refusal = interface_refusal(target.config);
  if (target.refusal) return;
  Object& interface = edit::append_object(json::ensure_array(devices, "interfaces"));
  edit::set_text(interface, "name", "default");
  interface[target.config.default_network_interface()].emplace_object();
  Object& network = edit::append_object(json::ensure_array(target.spec, "networks"));
  edit::set_text(network, "name", "default");
  network["pod"].emplace_object();
}

// D13: which names are taken is settled before the first disk is added, so that two volumes of one name get two disks.
void default_disks(SpecTarget& target) {
  std::unordered_set<string_view> taken;
  const auto take = [&](const Object& device) { taken.insert(json::get_string_or(device, "name")); };
  edit::each(std::as_const(target.devices()), "disks", take);
  edit::each(std::as_const(target.devices()), "filesystems", take);
  std::vector<string_view> missing;
  edit::each(std::as_const(target.spec), "volumes", [&](const Object& volume) {
    const string_view name = json::get_string_or(volume, "name");
    if (!taken.contains(name)) missing.push_back(name);
  });
  if (missing.empty()) return;
  json::Array& disks = json::ensure_array(target.devices(), "disks");
  for (const string_view name : missing) edit::set_text(edit::append_object(disks), "name", name);
}

bool wants_pci_topology(string_view architecture, string_view machine_type) {
  const bool has_pci = architecture.empty() || architecture == "amd64" || architecture == "arm64";
  return has_pci && (machine_type.contains("q35") || machine_type.starts_with("virt"));
}

std::span<const SpecDefault> spec_defaults() { return spec_default_table; }

Result<void> apply_spec_defaults(Object& spec, const config::ClusterConfig& config) {
  SpecTarget target{.spec = spec, .config = config};
  for (const SpecDefault& row : spec_default_table) {
    row.apply(target);
    if (target.refusal)
      return fail(Status{.code = 400, .reason = {}, .message = std::move(*target.refusal), .details = {}});
  }
  return {};
}

}  // namespace vg::admission
