#include "guests/live_migratable.h"

#include <gtest/gtest.h>

#include "controllers/testing.h"
#include "json/document.h"
#include "json/patch.h"

namespace vg::guests {
namespace {

constexpr std::string_view plain_vmi =
    R"({"metadata":{"name":"a","namespace":"n"},"spec":{"architecture":"amd64","domain":{"devices":{"disks":[],"interfaces":[]}},"volumes":[]},"status":{"phase":"Running"}})";

json::Document vmi_of(std::string_view change) {
  auto vmi = json::Document::parse(plain_vmi);
  const auto patch = json::Document::parse(change);
  if (!patch) throw std::invalid_argument(std::string(change));
  if (!json::apply_merge_patch(vmi->root(), patch->root())) throw std::invalid_argument(std::string(change));
  return std::move(*vmi);
}

controllers::NodeInfo usual_node() {
  controllers::NodeInfo node;
  node.labels.emplace("host-model-cpu.node.kubevirt.io/Haswell", "true");
  return node;
}

Migratable judged(std::string_view change, std::string_view configuration = "{}",
                  const controllers::NodeInfo& node = usual_node()) {
  controllers::TestWorld world;
  world.configure(configuration);
  const json::Document vmi = vmi_of(change);
  return judge_migration(vmi.root().get_object(), node, world.config());
}

// --- the guest

struct GuestRow {
  std::string_view id;
  std::string change;
  std::string_view reason;    // empty: it can be moved
  bool keeps_volumes = true;  // with a reason: its volumes cannot be moved either
  std::string_view configuration = "{}";
};

std::string with_network(std::string_view interface, std::string_view annotations = "{}") {
  return fmt::format(
      R"({{"metadata":{{"annotations":{}}},"spec":{{"domain":{{"devices":{{"interfaces":[{}]}}}},"networks":[{{"name":"m","multus":{{"networkName":"x"}}}},{{"name":"d","pod":{{}}}}]}}}})",
      annotations, interface);
}
std::string with_devices(std::string_view devices) {
  return fmt::format(R"({{"spec":{{"domain":{{"devices":{}}}}}}})", devices);
}
std::string with_domain(std::string_view members) { return fmt::format(R"({{"spec":{{"domain":{}}}}})", members); }

TEST(LiveMigratable, EveryGuestRow) {
  constexpr std::string_view gpu = R"({"gpus":[{"name":"g","deviceName":"nvidia.com/x"}]})";
  constexpr std::string_view vgpu_gate = R"({"developerConfiguration":{"featureGates":["VGPULiveMigration"]}})";
  constexpr std::string_view vgpu_permitted =
      R"({"developerConfiguration":{"featureGates":["VGPULiveMigration"]},"permittedHostDevices":{"mediatedDevices":[{"mdevNameSelector":"x","resourceName":"nvidia.com/x"}]}})";
  constexpr std::string_view permitted_only =
      R"({"permittedHostDevices":{"mediatedDevices":[{"mdevNameSelector":"x","resourceName":"nvidia.com/x"}]}})";
  constexpr std::string_view plugins =
      R"({"network":{"binding":{"moves":{"migration":{"method":"link-refresh"}},"stays":{}}}})";
  constexpr std::string_view interface_reason = "InterfaceNotLiveMigratable";
  constexpr std::string_view device_reason = "HostDeviceNotLiveMigratable";
  const std::string bridge = R"({"name":"d","bridge":{}})";
  const std::string allowed = R"({"kubevirt.io/allow-pod-bridge-network-live-migration":""})";
  const std::string s390x = R"({"spec":{"architecture":"s390x","domain":{"launchSecurity":{}}}})";
  const std::string enlightened = with_domain(R"({"features":{"hyperv":{"reenlightenment":{"enabled":true}}}})");
  const GuestRow rows[] = {
      {"LM-01 bridge", with_network(bridge), interface_reason},
      {"LM-01 SR-IOV", with_network(R"({"name":"d","sriov":{}})"), interface_reason},
      {"LM-01 no NIC for it", with_network(R"({"name":"m","masquerade":{}})"), interface_reason},
      {"LM-01 a plugin that stays", with_network(R"({"name":"d","binding":{"name":"stays"}})"), interface_reason, true,
       plugins},
      {"LM-02", with_domain(R"({"cpu":{"model":"host-model"}})"), ""},
      {"LM-03 a device", with_devices(R"({"hostDevices":[{"name":"h","deviceName":"x"}]})"), device_reason},
      {"LM-03 two GPUs",
       with_devices(R"({"gpus":[{"name":"g","deviceName":"nvidia.com/x"},{"name":"h","deviceName":"nvidia.com/x"}]})"),
       device_reason, true, vgpu_permitted},
      {"LM-03 without the gate", with_devices(gpu), device_reason, true, permitted_only},
      {"LM-03 no mediated device", with_devices(gpu), device_reason, true, vgpu_gate},
      {"LM-03 a vGPU", with_devices(gpu), "", true, vgpu_permitted},
      {"LM-04", with_domain(R"({"launchSecurity":{"sev":{}}})"), "SEVNotLiveMigratable"},
      {"LM-04", with_domain(R"({"launchSecurity":{"snp":{}}})"), "SEVNotLiveMigratable"},
      {"LM-04", with_domain(R"({"launchSecurity":{"tdx":{}}})"), "TDXNotLiveMigratable"},
      {"LM-05", s390x, "SecureExecutionNotLiveMigratable", false},
      {"LM-06", enlightened, "NoTSCFrequencyNotLiveMigratable"},
      {"LM-07", with_domain(R"({"features":{"hypervPassthrough":{"enabled":true}}})"),
       "HypervPassthroughNotLiveMigratable"},
      {"LM-07", with_domain(R"({"features":{"hypervPassthrough":{}}})"), "HypervPassthroughNotLiveMigratable"},
      {"LM-08", R"({"spec":{"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}]}})",
       "DisksNotLiveMigratable", false},
      {"LM-09 masquerade", with_network(R"({"name":"d","masquerade":{}})"), ""},
      {"LM-09 passt", with_network(R"({"name":"d","passtBinding":{}})"), ""},
      {"LM-09 a bridge that may", with_network(bridge, allowed), ""},
      {"LM-09 a plugin that moves", with_network(R"({"name":"d","binding":{"name":"moves"}})"), "", true, plugins},
      {"LM-09 no pod network", with_devices(R"({"interfaces":[{"name":"x","sriov":{}}]})"), ""},
      {"LM-09 a frequency",
       R"({"spec":{"domain":{"features":{"hyperv":{"reenlightenment":{"enabled":true}}}}},"status":{"topologyHints":{"tscFrequency":1}}})",
       ""},
      {"LM-09 no passthrough", with_domain(R"({"features":{"hypervPassthrough":{"enabled":false}}})"), ""},
      {"LM-09", "{}", ""},
      // The first one is the reason.
      {"LM-01 before LM-03",
       R"({"spec":{"domain":{"devices":{"hostDevices":[{"name":"h"}],"interfaces":[{"name":"d","bridge":{}}]}},"networks":[{"name":"d","pod":{}}]}})",
       interface_reason},
  };
  for (const GuestRow& row : rows) {
    const Migratable verdict = judged(row.change, row.configuration);
    EXPECT_EQ(verdict.reason, row.reason) << row.id;
    EXPECT_EQ(verdict.storage_reasons.contains(row.reason) && !row.reason.empty(),
              row.keeps_volumes && !row.reason.empty())
        << row.id << verdict.storage_reasons;
  }
}

TEST(LiveMigratable, HostModelNeedsANodeThatTellsIts) {  // LM-02
  const std::string model = with_domain(R"({"cpu":{"model":"host-model"}})");
  EXPECT_EQ(judged(model, "{}", {}).reason, "CPUModeLiveMigratable");
  EXPECT_EQ(judged(model).reason, "");
  EXPECT_EQ(judged(with_domain(R"({"cpu":{"model":"Haswell"}})"), "{}", {}).reason, "");
}

TEST(LiveMigratable, AReservationKeepsVolumesOnly) {  // spec vmi-lifecycle 3.7
  const Migratable verdict = judged(with_devices(R"({"disks":[{"name":"l","lun":{"reservation":true}}]})"));
  EXPECT_EQ(verdict.reason, "");
  EXPECT_TRUE(verdict.storage_reasons.starts_with("PersistentReservationNotLiveMigratable: "));
  EXPECT_EQ(judged(with_devices(R"({"disks":[{"name":"l","lun":{}}]})")).storage_reasons, "");
}

// --- its volumes

struct VolumeRow {
  std::string_view id;
  std::string_view volume;      // its source
  std::string_view modes = "";  // access modes of its claim, if one is known
  std::string_view devices = "{}";
  bool moves = true;
  std::string_view method = "LiveMigration";
  std::string_view migrated = "";  // a volume of status.migratedVolumes
};

TEST(LiveMigratable, EveryVolumeRow) {
  constexpr std::string_view shared = R"(["ReadWriteOnce","ReadWriteMany"])", own = R"(["ReadWriteOnce"])";
  constexpr std::string_view claim = R"("persistentVolumeClaim":{"claimName":"c"})";
  constexpr std::string_view block = "BlockMigration";
  constexpr std::string_view cdrom = R"({"disks":[{"name":"v","cdrom":{"bus":"sata"}}]})";
  constexpr std::string_view writable = R"({"disks":[{"name":"v","cdrom":{"bus":"sata","readonly":false}}]})";
  constexpr std::string_view filesystem = R"({"filesystems":[{"name":"v","virtiofs":{}}]})";
  const VolumeRow rows[] = {
      {"LM-20 nothing known", claim, "", "{}", false, block},
      {"LM-20 one writer", claim, own, "{}", false, block},
      {"LM-20 DataVolume", R"("dataVolume":{"name":"c"})", own, "{}", false, block},
      {"LM-20 shared", claim, shared},
      {"LM-20 shared", R"("dataVolume":{"name":"c"})", shared},
      {"LM-20 is migrated itself", claim, own, "{}", true, block, "v"},
      {"LM-21", R"("hostDisk":{"path":"/x","type":"Disk"})", "", "{}", false, block},
      {"LM-21 shared", R"("hostDisk":{"path":"/x","type":"Disk","shared":true})"},
      {"LM-21 a claim's", R"("hostDisk":{"path":"/x","type":"Disk"})", shared},
      {"LM-21 a claim's", R"("hostDisk":{"path":"/x","type":"Disk","shared":true})", own, "{}", false, block},
      {"LM-22", R"("configMap":{"name":"c"})", "", filesystem},
      {"LM-22 but a claim", claim, own, filesystem, false, block},
      {"LM-23", R"("containerDisk":{"image":"i"})", "", cdrom},
      {"LM-24 a disk", R"("containerDisk":{"image":"i"})", "", R"({"disks":[{"name":"v","disk":{}}]})", true, block},
      {"LM-24 a CD that is written", R"("emptyDisk":{"capacity":"1Gi"})", "", writable, true, block},
      {"LM-24 without a disk", R"("cloudInitNoCloud":{"userData":"x"})", "", "{}", true, block},
      {"LM-25", claim, shared, "{}", true, block, "another"},
  };
  for (const VolumeRow& row : rows) {
    SCOPED_TRACE(row.id);
    const std::string info =
        row.modes.empty() ? "" : fmt::format(R"(,"persistentVolumeClaimInfo":{{"accessModes":{}}})", row.modes);
    const std::string moved =
        row.migrated.empty() ? "" : fmt::format(R"(,"migratedVolumes":[{{"volumeName":"{}"}}])", row.migrated);
    const Migratable verdict = judged(fmt::format(
        R"({{"spec":{{"volumes":[{{"name":"v",{}}}],"domain":{{"devices":{}}}}},"status":{{"volumeStatus":[{{"name":"v","target":"vda"{}}}]{}}}}})",
        row.volume, row.devices, info, moved));
    EXPECT_EQ(verdict.reason, row.moves ? "" : "DisksNotLiveMigratable");
    EXPECT_EQ(verdict.block ? "BlockMigration" : "LiveMigration", row.method);
    EXPECT_EQ(verdict.storage_reasons, "") << "volumes that can be migrated may be such";
  }
}

// --- what is shown

TEST(LiveMigratable, TheConditionsSayIt) {  // LM-09
  const auto shown = [](std::string_view change) {
    const controllers::TestWorld world;
    const controllers::Key key{.ns = "n", .name = "a"};
    const json::Document vmi = vmi_of(change);
    json::Document memory;
    const controllers::Turn turn{.world = world,
                                 .key = key,
                                 .config = world.config(),
                                 .now = controllers::test_now,
                                 .random = 0,
                                 .storage = memory.storage()};
    controllers::vmi::Draft draft(turn, vmi.root().get_object());
    show_migratable(draft, usual_node());
    std::string text;
    for (const json::Value& one : *json::get_array(draft.status(), "conditions"))
      text += fmt::format("{}={}/{} ", json::get_string_or(one, "type"), json::get_string_or(one, "status"),
                          json::get_string_or(one, "reason"));
    return text + std::string(json::get_string_or(draft.status(), "migrationMethod"));
  };
  EXPECT_EQ(shown("{}"), "LiveMigratable=True/ StorageLiveMigratable=True/ LiveMigration");
  EXPECT_EQ(shown(with_domain(R"({"launchSecurity":{"sev":{}}})")),
            "LiveMigratable=False/SEVNotLiveMigratable StorageLiveMigratable=False/NotMigratable LiveMigration");
  EXPECT_EQ(shown(R"({"spec":{"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}]}})"),
            "LiveMigratable=False/DisksNotLiveMigratable StorageLiveMigratable=True/ BlockMigration");
}

}  // namespace
}  // namespace vg::guests
