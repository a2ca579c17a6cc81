// Why a VM cannot be moved to another node while it runs (spec vmi-lifecycle LM-01 to LM-24), and what follows from it.
#include <array>

#include "json/document.h"
#include "offline/warnings/look.h"
#include "offline/warnings/tables.h"

namespace vg::offline {
namespace {

constexpr std::string_view bridge_migrates = "kubevirt.io/allow-pod-bridge-network-live-migration";

bool has_mode(const json::Value& modes, std::string_view wanted) {
  return std::ranges::any_of(modes.get_array(),
                             [&](const json::Value& mode) { return json::as_string(&mode) == wanted; });
}

// Whether claims of such a spec (of a claim, a DataVolume or a template of one) can be used on two nodes at once.
// Nothing when it does not say: the storage class decides then.
std::optional<bool> is_shared(const json::Value* spec) {
  for (const std::string_view path : {"accessModes", "storage.accessModes", "pvc.accessModes"}) {
    const json::Value* modes = spec ? at_path(*spec, path) : nullptr;
    if (has_items(modes)) return has_mode(*modes, "ReadWriteMany");
  }
  return std::nullopt;
}

std::optional<bool> is_shared_claim(const Manifest& manifest, std::string_view name) {
  for (const std::string_view resource : {"persistentvolumeclaims", "cdi.kubevirt.io/datavolumes"}) {
    const ObjectPtr claim = manifest.beside.get(resource, manifest.ns, name);
    const auto document = claim ? json::Document::parse(claim->json()) : Result<json::Document>(json::Document());
    if (claim && document) return is_shared(json::find(document->root(), "spec"));
  }
  return std::nullopt;
}

// Calls f(item, field below it, name) for each volume that is a claim.
template <class F>
void for_each_claim(const MachineIn& machine, F&& f) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 2> sources{
      {{"persistentVolumeClaim", "claimName"}, {"dataVolume", "name"}}};
  for_each_item(machine, volumes, [&](const ListItem& volume) {
    for (const auto& [source, member] : sources)
      if (const json::Object* claim = json::get_object(volume.object, source))
        f(volume, fmt::format("{}.{}", source, member), json::get_string_or(*claim, member));
  });
}

void look_at_claims(const Manifest& manifest, Remarks& found) {
  const auto templates = volume_templates(manifest);
  std::map<std::string_view, std::optional<bool>> known;  // a name may stand in any number of volumes
  for_each_claim(manifest.machine, [&](const ListItem& volume, const std::string& below, std::string_view name) {
    if (name.empty()) return;
    const auto [place, fresh] = known.try_emplace(name);
    const auto made = templates.find(name);
    if (fresh) place->second = made != templates.end() ? is_shared(made->second) : is_shared_claim(manifest, name);
    if (place->second == false)
      found.push_back({.field = volume.field(below),
                       .message = fmt::format("the VM cannot live-migrate: {} is not ReadWriteMany", name)});
  });
}

void look_at_host_disks(const Manifest& manifest, Remarks& found) {
  for_each_item(manifest.machine, volumes, [&](const ListItem& volume) {
    const json::Object* disk = json::get_object(volume.object, "hostDisk");
    if (disk && !json::get_bool_or(*disk, "shared", false))
      found.push_back({.field = volume.field("hostDisk"),
                       .message = "the VM cannot live-migrate: the file lies on one node's own disk"});
  });
}

// The name of the pod network; nothing when there is none.
std::optional<std::string_view> pod_network(const MachineIn& machine) {
  std::optional<std::string_view> name;
  for_each_item(machine, "networks", [&](const ListItem& network) {
    if (json::get_object(network.object, "pod")) name = json::get_string_or(network.object, "name");
  });
  return name;
}

// The annotations of the VMI that comes of it.
const json::Value* annotation(const Manifest& manifest, std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> places{
      {{"VirtualMachineInstance", "metadata.annotations"},
       {"VirtualMachine", "spec.template.metadata.annotations"},
       {"VirtualMachineInstanceReplicaSet", "spec.template.metadata.annotations"},
       {"VirtualMachinePool", "spec.virtualMachineTemplate.spec.template.metadata.annotations"}}};
  for (const auto& [kind, path] : places)
    if (const json::Value* all = kind == manifest.kind ? at_path(manifest.object, path) : nullptr)
      return json::find(*all, name);
  return nullptr;
}

void look_at_bridges(const Manifest& manifest, Remarks& found) {
  const auto network = pod_network(manifest.machine);
  if (!network || annotation(manifest, bridge_migrates)) return;
  for_each_item(manifest.machine, interfaces, [&](const ListItem& item) {
    if (json::get_object(item.object, "bridge") && json::get_string(item.object, "name") == network)
      found.push_back({.field = item.field("bridge"),
                       .message = "the VM cannot live-migrate: its address belongs to the pod of one node"});
  });
}

void look_at_host_devices(const Manifest& manifest, Remarks& found) {
  for_each_item(manifest.machine, "domain.devices.hostDevices", [&](const ListItem& item) {
    found.push_back({.field = item.field(), .message = "the VM cannot live-migrate: the device belongs to one node"});
  });
}

void look_at_gpus(const Manifest& manifest, Remarks& found) {
  for_each_item(manifest.machine, "domain.devices.gpus", [&](const ListItem& item) {
    found.push_back({.field = item.field(), .message = "the VM cannot live-migrate: the GPU belongs to one node"});
  });
}

void look_at_encryption(const Manifest& manifest, Remarks& found) {
  if (json::as_object(find_in(manifest.machine, "domain.launchSecurity")))
    tell(found, manifest.machine, "domain.launchSecurity",
         "the VM cannot live-migrate: its memory can be read by one processor only");
}

void look_at_hyperv_passthrough(const Manifest& manifest, Remarks& found) {
  const json::Object* passthrough = json::as_object(find_in(manifest.machine, "domain.features.hypervPassthrough"));
  if (passthrough && json::get_bool_or(*passthrough, "enabled", true))
    tell(found, manifest.machine, "domain.features.hypervPassthrough",
         "the VM cannot live-migrate: it has whatever features its first node has");
}

void look_at_cpu_model(const Manifest& manifest, Remarks& found) {
  if (json::as_string(find_in(manifest.machine, "domain.cpu.model")) == "host-passthrough")
    tell(found, manifest.machine, "domain.cpu.model",
         "the guest may crash after a live migration to a node with another processor");
}

void look_at_node_names(const Manifest& manifest, Remarks& found) {
  const json::Object* selector = json::as_object(find_in(manifest.machine, "nodeSelector"));
  if (selector && selector->contains("kubernetes.io/hostname"))
    tell(found, manifest.machine, "nodeSelector[kubernetes.io/hostname]",
         "the VM runs on this node only: it cannot live-migrate, nor start while the node is down");
}

// Without interfaces the pod network is attached as the cluster's configuration says: by a bridge, unless it is set.
void look_at_default_interface(const Manifest& manifest, Remarks& found) {
  const MachineIn& machine = manifest.machine;
  const bool none = json::as_bool(find_in(machine, "domain.devices.autoattachPodInterface")) == false;
  if (!machine.spec || none || has_preference(manifest) || annotation(manifest, bridge_migrates)) return;
  if (has_items(find_in(machine, "networks")) || has_items(find_in(machine, interfaces))) return;
  tell(found, machine, "domain.devices", "no interface is given, and KubeVirt's default is a bridge");
}

// With evictionStrategy LiveMigrate a VM that cannot live-migrate is not evicted either (spec work-objects L4).
void look_at_evictions(const Manifest& manifest, Remarks& found) {
  if (json::as_string(find_in(manifest.machine, "evictionStrategy")) != "LiveMigrate") return;
  Remarks reasons;
  for (const auto look :
       {look_at_claims, look_at_host_disks, look_at_bridges, look_at_host_devices, look_at_gpus, look_at_encryption,
        look_at_hyperv_passthrough, look_at_node_names, look_at_default_interface}) {
    look(manifest, reasons);
    if (!reasons.empty()) break;
  }
  if (!reasons.empty())
    tell(found, manifest.machine, "evictionStrategy",
         fmt::format("the VM's node cannot be drained while the VM runs: it cannot live-migrate because of {}",
                     reasons.front().field));
}

void look_at_external_evictions(const Manifest& manifest, Remarks& found) {
  if (json::as_string(find_in(manifest.machine, "evictionStrategy")) == "External")
    tell(found, manifest.machine, "evictionStrategy",
         "the VM's node cannot be drained until some other program has moved or stopped the VM");
}

constexpr std::array migration_table = std::to_array<Warning>({
    {.id = "WISE-04",
     .title = "Claims of a VM that is to live-migrate should be ReadWriteMany",
     .field = "spec.template.spec.volumes[].persistentVolumeClaim.claimName",
     .why = "While a VM moves, its volumes are in use on two nodes. With other access modes it has to be stopped when "
            "its node is drained.",
     .advice = "Use storage that can be mounted ReadWriteMany (block mode often can), or silence this for VMs that may "
               "be stopped.",
     .good = vm_with<R"({"runStrategy":"Always","dataVolumeTemplates":[{"metadata":{"name":"root"},"spec":{
       "source":{"blank":{}},"storage":{"accessModes":["ReadWriteMany"],"resources":{"requests":{"storage":"1Gi"}}}}}],
       "template":{"spec":{"domain":{"devices":{},"memory":{"guest":"1Gi"}},"volumes":[
       {"name":"root","dataVolume":{"name":"root"}}]}}})">,
     .bad = vm_with<R"({"runStrategy":"Always","dataVolumeTemplates":[{"metadata":{"name":"root"},"spec":{
       "source":{"blank":{}},"storage":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}}],
       "template":{"spec":{"domain":{"devices":{},"memory":{"guest":"1Gi"}},"volumes":[
       {"name":"root","dataVolume":{"name":"root"}}]}}})">,
     .look = look_at_claims},
    {.id = "WISE-05",
     .title = "Disks of a VM that is to live-migrate should not lie on one node",
     .field = "spec.template.spec.volumes[].hostDisk",
     .why = "The file of a host disk exists on one node. The VM can neither move to another one nor start there.",
     .advice = "Use a claim; or, where the path is on storage that all nodes share, say shared: true.",
     .good = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"1Gi"}},"volumes":[
       {"name":"root","hostDisk":{"path":"/srv/root.img","type":"Disk","shared":true}}]})">,
     .bad = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"1Gi"}},"volumes":[
       {"name":"root","hostDisk":{"path":"/srv/root.img","type":"Disk"}}]})">,
     .look = look_at_host_disks,
     .gate = "HostDisk"},
    {.id = "WISE-06",
     .title = "The pod network should not be attached by a bridge",
     .field = "spec.template.spec.domain.devices.interfaces[].bridge",
     .why = "A bridge gives the pod's own address to the guest. The pod on the other node has another address, so such "
            "a VM does not live-migrate.",
     .advice = "Use masquerade: {}, or the annotation kubevirt.io/allow-pod-bridge-network-live-migration if the guest "
               "can change its address.",
     .good = vm_of<R"({"domain":{"devices":{"interfaces":[{"name":"default","masquerade":{}}]},
       "memory":{"guest":"1Gi"}},"networks":[{"name":"default","pod":{}}]})">,
     .bad = vm_of<R"({"domain":{"devices":{"interfaces":[{"name":"default","bridge":{}}]},
       "memory":{"guest":"1Gi"}},"networks":[{"name":"default","pod":{}}]})">,
     .look = look_at_bridges},
    {.id = "WISE-07",
     .title = "A VM with host devices stays on its node",
     .field = "spec.template.spec.domain.devices.hostDevices[]",
     .why = "A device that is passed through has state that nobody can copy to another node.",
     .advice = "Leave evictionStrategy at None for such VMs and plan their stops, or do without the device.",
     .good = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"1Gi"}}})">,
     .bad = vm_of<R"({"domain":{"devices":{"hostDevices":[{"name":"card","deviceName":"vendor.example/card"}]},
       "memory":{"guest":"1Gi"}}})">,
     .look = look_at_host_devices,
     .gate = "HostDevices"},
    {.id = "WISE-08",
     .title = "A VM with GPUs stays on its node",
     .field = "spec.template.spec.domain.devices.gpus[]",
     .why = "A GPU that is passed through cannot move. Only one mediated device can, and only with the feature gate "
            "VGPULiveMigration.",
     .advice = "Leave evictionStrategy at None for such VMs and plan their stops.",
     .good = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"1Gi"}}})">,
     .bad = vm_of<R"({"domain":{"devices":{"gpus":[{"name":"gpu","deviceName":"vendor.example/gpu"}]},
       "memory":{"guest":"1Gi"}}})">,
     .look = look_at_gpus},
    {.id = "WISE-09",
     .title = "A VM with encrypted memory stays on its node",
     .field = "spec.template.spec.domain.launchSecurity",
     .why = "The key is in the processor of the node, so the memory is worth nothing elsewhere (SEV, SNP, TDX, Secure "
            "Execution).",
     .advice = "Leave evictionStrategy at None for such VMs and plan their stops.",
     .good = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"1Gi"}}})">,
     .bad = vm_of<R"({"architecture":"amd64","domain":{"devices":{},"memory":{"guest":"1Gi"},
       "launchSecurity":{"sev":{}},"firmware":{"bootloader":{"efi":{"secureBoot":false}}}}})">,
     .look = look_at_encryption},
    {.id = "WISE-10",
     .title = "Hyper-V features should be listed, not passed through",
     .field = "spec.template.spec.domain.features.hypervPassthrough",
     .why = "The guest gets what its node has, which another node may not have; so such a VM does not live-migrate.",
     .advice = "Name the features in features.hyperv, or use a preference for Windows.",
     .good = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"1Gi"},"features":{"hyperv":{"relaxed":{}}}}})">,
     .bad = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"1Gi"},
       "features":{"hypervPassthrough":{"enabled":true}}}})">,
     .look = look_at_hyperv_passthrough},
    {.id = "WISE-11",
     .title = "The CPU model should be one that several nodes have",
     .field = "spec.template.spec.domain.cpu.model",
     .why = "host-passthrough shows the guest every feature of its node's processor. KubeVirt migrates it to any node, "
            "also to one that lacks some.",
     .advice = "Use host-model or a named model, or keep the VM on nodes with the same processor by nodeSelector.",
     .good = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"1Gi"},"cpu":{"cores":2,"model":"host-model"}}})">,
     .bad = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"1Gi"},"cpu":{"cores":2,"model":"host-passthrough"}}})">,
     .look = look_at_cpu_model},
    {.id = "WISE-12",
     .title = "A VM should not be tied to one node by its name",
     .field = "spec.template.spec.nodeSelector",
     .why = "No other node fits, so the VM cannot move when the node is drained and does not come back when it fails.",
     .advice = "Select nodes by a label that several of them have.",
     .good = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"1Gi"}},"nodeSelector":{"example.org/rack":"7"}})">,
     .bad = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"1Gi"}},
       "nodeSelector":{"kubernetes.io/hostname":"node-7"}})">,
     .look = look_at_node_names},
    {.id = "WISE-13",
     .title = "A VM that is to be migrated on eviction should be able to live-migrate",
     .field = "spec.template.spec.evictionStrategy",
     .why =
         "With LiveMigrate the VM's pod is never just deleted: as long as the VM cannot move, draining its node does "
         "not end.",
     .advice = "Remove what keeps the VM from migrating, or use LiveMigrateIfPossible or None.",
     .good = vm_of<R"({"evictionStrategy":"LiveMigrate","domain":{"devices":{"interfaces":[
       {"name":"default","masquerade":{}}]},"memory":{"guest":"1Gi"}},"networks":[{"name":"default","pod":{}}]})">,
     .bad = vm_of<R"({"evictionStrategy":"LiveMigrate","domain":{"devices":{"interfaces":[
       {"name":"default","bridge":{}}]},"memory":{"guest":"1Gi"}},"networks":[{"name":"default","pod":{}}]})">,
     .look = look_at_evictions},
    {.id = "WISE-14",
     .title = "Evictions should not wait for somebody else without need",
     .field = "spec.template.spec.evictionStrategy",
     .why = "With External KubeVirt refuses the eviction and leaves the VM alone. Without a program that acts on it, "
            "draining its node does not end.",
     .advice = "Use LiveMigrate, LiveMigrateIfPossible or None, unless such a program runs in the cluster.",
     .good = vm_of<R"({"evictionStrategy":"None","domain":{"devices":{},"memory":{"guest":"1Gi"}}})">,
     .bad = vm_of<R"({"evictionStrategy":"External","domain":{"devices":{},"memory":{"guest":"1Gi"}}})">,
     .look = look_at_external_evictions},
});

}  // namespace

std::span<const Warning> migration_warnings() { return migration_table; }

}  // namespace vg::offline
