#include "admission/defaults/vmi_defaults.h"

#include <gmock/gmock.h>

#include <set>

#include "admission/defaults/spec_defaults.h"
#include "admission/defaults/testing.h"

namespace vg::admission::testing {
namespace {

using ::testing::IsEmpty;

// One default: what the spec says, where to look, and what is there afterwards. Every row of both tables has an example
// of the value it gives and one of a value that it leaves alone.
struct Example {
  std::string_view id;
  bool given;  // by the default; false: the default has nothing to do here
  std::string_view spec;
  std::string_view pointer;
  std::string_view expected;
  std::string_view config = "{}";
};

constexpr std::string_view root_on = R"({"developerConfiguration":{"featureGates":["Root"]}})";
constexpr std::string_view request_200m = R"({"cpuRequest":"200m"})";
constexpr std::string_view staged = R"({"vmRolloutStrategy":"Stage"})";

constexpr Example examples[] = {
    {"D01", true, R"({"domain":{"devices":{}}})", "/spec/architecture", R"("amd64")"},
    {"D01", false, R"({"architecture":"s390x","domain":{"devices":{}}})", "/spec/architecture", R"("s390x")"},
    {"D02", true, R"({"architecture":"arm64","domain":{"devices":{}}})", "/spec/domain/machine/type", R"("virt")"},
    {"D02", false, R"({"domain":{"devices":{},"machine":{"type":"pc-q35-9"}}})", "/spec/domain/machine/type",
     R"("pc-q35-9")"},
    {"D03", true, R"({"domain":{"devices":{},"resources":{"limits":{"cpu":"2000m"}}}})",
     "/spec/domain/resources/requests/cpu", R"("2")"},
    {"D03", false, R"({"domain":{"devices":{},"resources":{"limits":{"cpu":"2"},"requests":{"cpu":"1"}}}})",
     "/spec/domain/resources/requests/cpu", R"("1")"},
    {"D04", true, R"({"domain":{"devices":{}}})", "/spec/domain/resources/requests/cpu", R"("200m")", request_200m},
    {"D04", false, R"({"domain":{"devices":{}}})", "/spec/domain/resources/requests/cpu", ""},
    {"D04", false, R"({"domain":{"devices":{},"cpu":{"dedicatedCpuPlacement":true}}})",
     "/spec/domain/resources/requests/cpu", "", request_200m},
    {"D06", true, R"({"domain":{"devices":{},"resources":{"requests":{"memory":"1024Mi"}}}})",
     "/spec/domain/memory/guest", R"("1Gi")"},
    {"D06", true, R"({"domain":{"devices":{},"resources":{"limits":{"memory":"64M"}}}})", "/spec/domain/memory/guest",
     R"("64M")"},
    {"D06", true, R"({"domain":{"devices":{},"memory":{"hugepages":{"pageSize":"2Mi"}}}})", "/spec/domain/memory/guest",
     R"("2Mi")"},
    {"D06", false, R"({"domain":{"devices":{},"resources":{"requests":{"memory":"0"}}}})", "/spec/domain/memory/guest",
     ""},
    {"D06", false, R"({"domain":{"devices":{},"memory":{"guest":"3Gi"},"resources":{"requests":{"memory":"1Gi"}}}})",
     "/spec/domain/memory/guest", R"("3Gi")"},
    {"D07", true, R"({"domain":{"devices":{},"resources":{"requests":{"cpu":"1500m"}}}})", "/spec/domain/cpu/sockets",
     "2"},
    {"D07", true, R"({"domain":{"devices":{},"resources":{"limits":{"cpu":"0"},"requests":{"cpu":"3"}}}})",
     "/spec/domain/cpu/sockets", ""},
    {"D07", false, R"({"domain":{"devices":{},"cpu":{"cores":2}}})", "/spec/domain/cpu/sockets", ""},
    {"D08", true, R"({"domain":{"devices":{}},"volumes":[{"name":"a","containerDisk":{"image":"x"}}]})",
     "/spec/volumes/0/containerDisk/imagePullPolicy", R"("Always")"},
    {"D08", true, R"({"domain":{"devices":{}},"volumes":[{"name":"a","containerDisk":{"image":"h:5000/x"}}]})",
     "/spec/volumes/0/containerDisk/imagePullPolicy", R"("IfNotPresent")"},
    {"D08", false,
     R"({"domain":{"devices":{}},"volumes":[{"name":"a","containerDisk":{"image":"x","imagePullPolicy":"Never"}}]})",
     "/spec/volumes/0/containerDisk/imagePullPolicy", R"("Never")"},
    {"D09", true, R"({"domain":{"devices":{}}})", "/spec/evictionStrategy", R"("LiveMigrate")",
     R"({"evictionStrategy":"LiveMigrate"})"},
    {"D09", false, R"({"domain":{"devices":{}},"evictionStrategy":"External"})", "/spec/evictionStrategy",
     R"("External")"},
    {"D11", true, R"({"domain":{"devices":{}}})", "/spec/domain/devices/interfaces",
     R"([{"name":"default","masquerade":{}}])", R"({"network":{"defaultNetworkInterface":"masquerade"}})"},
    {"D11", true, R"({"domain":{"devices":{}}})", "/spec/networks", R"([{"name":"default","pod":{}}])"},
    {"D11", false, R"({"domain":{"devices":{"autoattachPodInterface":false}}})", "/spec/networks", ""},
    {"D11", false, R"({"domain":{"devices":{}},"networks":[{"name":"n","multus":{"networkName":"m"}}]})",
     "/spec/domain/devices/interfaces", ""},
    {"D13", true, R"({"domain":{"devices":{}},"volumes":[{"name":"a","emptyDisk":{"capacity":"1Gi"}},{"name":"a"}]})",
     "/spec/domain/devices/disks", R"([{"name":"a","disk":{"bus":"sata"}},{"name":"a","disk":{"bus":"sata"}}])"},
    {"D13", false, R"({"domain":{"devices":{"filesystems":[{"name":"a","virtiofs":{}}]}},"volumes":[{"name":"a"}]})",
     "/spec/domain/devices/disks", ""},
    {"D14", true, R"({"architecture":"s390x","domain":{"devices":{}}})", "/spec/domain/features/acpi/enabled", "false"},
    {"D14", false, R"({"architecture":"s390x","domain":{"devices":{},"features":{"acpi":{"enabled":true}}}})",
     "/spec/domain/features/acpi/enabled", "true"},
    {"D15", true, R"({"domain":{"devices":{}}})", "/spec/domain/features", R"({"acpi":{"enabled":true}})"},
    {"D15", false, R"({"domain":{"devices":{},"features":{"acpi":{},"smm":{"enabled":false}}}})",
     "/spec/domain/features/smm/enabled", "false"},
    {"D17", true, R"({"domain":{"devices":{"disks":[{"name":"a"}]}}})", "/spec/domain/devices/disks/0/disk",
     R"({"bus":"sata"})"},
    {"D17", false, R"({"domain":{"devices":{"disks":[{"name":"a","lun":{}}]}}})", "/spec/domain/devices/disks/0/disk",
     ""},
    {"D18", true, R"({"domain":{"devices":{"inputs":[{"name":"a"}]}}})", "/spec/domain/devices/inputs/0",
     R"({"bus":"usb","type":"tablet","name":"a"})"},
    {"D18", false, R"({"domain":{"devices":{"inputs":[{"name":"a","bus":"virtio","type":"keyboard"}]}}})",
     "/spec/domain/devices/inputs/0", R"({"bus":"virtio","type":"keyboard","name":"a"})"},
    {"D19", true, R"({"domain":{"devices":{}},"readinessProbe":{"timeoutSeconds":-1}})", "/spec/readinessProbe",
     R"({"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3})"},
    {"D19", false, R"({"domain":{"devices":{}},"livenessProbe":{"periodSeconds":7}})",
     "/spec/livenessProbe/periodSeconds", "7"},
    {"D20", true, R"({"domain":{"devices":{}}})", "/spec/domain/firmware",
     R"({"uuid":"11111111-2222-4333-8444-555555555555"})"},
    {"D20", false, R"({"domain":{"devices":{},"firmware":{"uuid":"u"}}})", "/spec/domain/firmware/uuid", R"("u")"},
    {"D21", true, R"({"domain":{"devices":{},"clock":{"timer":{"pit":{}}}}})", "/spec/domain/clock/timer",
     R"({"pit":{"present":true}})"},
    {"D21", false, R"({"domain":{"devices":{},"clock":{"timer":{"pit":{"present":false}}}}})",
     "/spec/domain/clock/timer/pit/present", "false"},
    {"D22", true, R"({"domain":{"devices":{},"features":{"apic":{}}}})", "/spec/domain/features/apic",
     R"({"enabled":true})"},
    {"D22", false, R"({"domain":{"devices":{},"features":{"acpi":{"enabled":false}}}})",
     "/spec/domain/features/acpi/enabled", "false"},
    {"D24", true, R"({"domain":{"devices":{},"features":{"hyperv":{"relaxed":{}}}}})", "/spec/domain/features/hyperv",
     R"({"relaxed":{"enabled":true}})"},
    {"D24", false, R"({"domain":{"devices":{},"features":{"hyperv":{"reset":{"enabled":false}}}}})",
     "/spec/domain/features/hyperv/reset/enabled", "false"},
    {"D25", true, R"({"domain":{"devices":{},"features":{"hyperv":{"spinlocks":{}}}}})",
     "/spec/domain/features/hyperv/spinlocks/spinlocks", "4096"},
    {"D25", false, R"({"domain":{"devices":{},"features":{"hyperv":{"spinlocks":{"enabled":false}}}}})",
     "/spec/domain/features/hyperv/spinlocks/spinlocks", ""},
    {"D26", true, R"({"domain":{"devices":{},"features":{"hyperv":{"tlbflush":{"enabled":false,"extended":{}}}}}})",
     "/spec/domain/features/hyperv/tlbflush/extended/enabled", "true"},
    {"D26", false, R"({"domain":{"devices":{},"features":{"hyperv":{"tlbflush":{"enabled":false}}}}})",
     "/spec/domain/features/hyperv/tlbflush/direct", ""},
    {"D27", true, R"({"domain":{"devices":{"disks":[{"name":"a","cdrom":{}}]}}})", "/spec/domain/devices/disks/0/cdrom",
     R"({"bus":"sata","readonly":true,"tray":"closed"})"},
    {"D27", false, R"({"domain":{"devices":{"disks":[{"name":"a","cdrom":{"readonly":false,"tray":"open"}}]}}})",
     "/spec/domain/devices/disks/0/cdrom", R"({"bus":"sata","readonly":false,"tray":"open"})"},
    {"D28", true, R"({"domain":{"devices":{"disks":[{"name":"a","blockSize":{"matchVolume":{}}}]}}})",
     "/spec/domain/devices/disks/0/blockSize/matchVolume/enabled", "true"},
    {"D28", false, R"({"domain":{"devices":{"disks":[{"name":"a","blockSize":{"matchVolume":{"enabled":false}}}]}}})",
     "/spec/domain/devices/disks/0/blockSize/matchVolume/enabled", "false"},
    {"D29", true, R"({"domain":{"devices":{"gpus":[{"name":"g","virtualGPUOptions":{"display":{"ramFB":{}}}}]}}})",
     "/spec/domain/devices/gpus/0/virtualGPUOptions/display/ramFB/enabled", "true"},
    {"D29", false, R"({"domain":{"devices":{"gpus":[{"name":"g","virtualGPUOptions":{"display":{}}}]}}})",
     "/spec/domain/devices/gpus/0/virtualGPUOptions/display/ramFB", ""},
    {"D30", true, R"({"domain":{"devices":{},"features":{"hyperv":{"synictimer":{}}}}})",
     "/spec/domain/features/hyperv/vpindex/enabled", "true"},
    {"D30", true, R"({"domain":{"devices":{},"features":{"hyperv":{"evmcs":{}}}}})", "/spec/domain/cpu/features",
     R"([{"name":"vmx","policy":"require"}])"},
    {"D30", false, R"({"domain":{"devices":{},"features":{"hyperv":{"evmcs":{},"vapic":{"enabled":false}}}}})",
     "/spec/domain/cpu/features", ""},
    {"D31", true, R"({"architecture":"arm64","domain":{"devices":{}}})", "/spec/domain/firmware/bootloader",
     R"({"efi":{"secureBoot":false}})"},
    {"D31", true, R"({"architecture":"s390x","domain":{"devices":{"watchdog":{"name":"w"}}}})",
     "/spec/domain/devices/watchdog", R"({"name":"w","diag288":{"action":"reset"}})"},
    {"D31", false, R"({"architecture":"arm64","domain":{"devices":{},"firmware":{"bootloader":{"bios":{}}}}})",
     "/spec/domain/firmware/bootloader/efi", ""},
    {"D32", true, R"({"domain":{"devices":{}}})", "/spec/domain/cpu/model", R"("Nehalem")",
     R"({"cpuModel":"Nehalem"})"},
    {"D32", true, R"({"domain":{"devices":{}}})", "/spec/domain/cpu/model", R"("host-model")"},
    {"D32", false, R"({"architecture":"arm64","domain":{"devices":{}}})", "/spec/domain/cpu/model",
     R"("host-passthrough")", R"({"cpuModel":"Nehalem"})"},
    {"D33", true, R"({"domain":{"devices":{},"memory":{"guest":"1Gi"}}})", "/status/memory",
     R"({"guestAtBoot":"1Gi","guestCurrent":"1Gi","guestRequested":"1Gi"})"},
    {"D33", false, R"({"domain":{"devices":{}}})", "/status/memory", ""},
    {"D34", true, R"({"domain":{"devices":{},"cpu":{"cores":2}}})", "/status/currentCPUTopology", R"({"cores":2})"},
    {"D34", false, R"({"domain":{"devices":{},"cpu":{"cores":2}}})", "/status/currentCPUTopology/sockets", ""},
    {"D36", true, R"({"domain":{"devices":{},"cpu":{"sockets":32,"cores":2,"threads":3}}})",
     "/spec/domain/cpu/maxSockets", "85"},
    {"D36", true, R"({"domain":{"devices":{},"cpu":{"sockets":9}}})", "/spec/domain/cpu/maxSockets", "9",
     R"({"liveUpdateConfiguration":{"maxCpuSockets":8}})"},
    {"D36", false, R"({"domain":{"devices":{}}})", "/spec/domain/cpu/maxSockets", "", staged},
    {"D36", false, R"({"architecture":"arm64","domain":{"devices":{}}})", "/spec/domain/cpu/maxSockets", ""},
    {"D37", true, R"({"domain":{"devices":{},"memory":{"guest":"1Gi"}}})", "/spec/domain/memory/maxGuest", R"("4Gi")"},
    {"D37", true, R"({"domain":{"devices":{},"memory":{"guest":"2Gi"}}})", "/spec/domain/memory/maxGuest", R"("8Gi")",
     R"({"liveUpdateConfiguration":{"maxGuest":"8Gi"}})"},
    {"D37", false, R"({"domain":{"devices":{},"memory":{"guest":"512Mi"}}})", "/spec/domain/memory/maxGuest", ""},
    {"D37", false, R"({"domain":{"devices":{},"memory":{"guest":"1Gi"},"launchSecurity":{}}})",
     "/spec/domain/memory/maxGuest", ""},
    {"A01", true, R"({"domain":{"devices":{}}})", "/metadata/annotations",
     R"({"kubevirt.io/pci-topology-version":"v3"})"},
    {"A01", false, R"({"architecture":"s390x","domain":{"devices":{}}})", "/metadata/annotations", ""},
    {"A03", true, R"({"domain":{"devices":{},"launchSecurity":{"tdx":{}}}})",
     "/metadata/annotations/kubevirt.io~1qgs-socket-path", R"("/var/run/tdx-qgs/qgs.socket")"},
    {"A03", false, R"({"domain":{"devices":{},"launchSecurity":{"sev":{}}}})",
     "/metadata/annotations/kubevirt.io~1qgs-socket-path", ""},
    {"A04", true, R"({"domain":{"devices":{}}})", "/status/runtimeUser", "107"},
    {"A04", false, R"({"domain":{"devices":{}}})", "/status/runtimeUser", "0", root_on},
};

struct VmiDefaultsTest : DefaultsTest {
  Asked create(std::string_view spec, std::string_view metadata = R"({"name":"m","namespace":"default"})") {
    return ask("/virtualmachineinstances-mutate",
               R"({"metadata":)" + std::string(metadata) + R"(,"spec":)" + std::string(spec) + "}");
  }
};

// The order of members says nothing.
bool same(std::string_view one, std::string_view other) {
  const auto a = json::parse(one, {}), b = json::parse(other, {});
  return a && b ? *a == *b : one == other;
}

TEST_F(VmiDefaultsTest, Examples) {
  for (const Example& example : examples) {
    config = configuration(example.config);
    const Asked asked = create(example.spec);
    EXPECT_TRUE(asked.allowed()) << example.id << " " << example.spec;
    EXPECT_TRUE(same(asked.at(example.pointer), example.expected))
        << asked.at(example.pointer) << " and not " << example.expected << example.id << " " << example.spec;
  }
}

TEST(VmiDefaultsTable, EveryRowHasBothKindsOfExamples) {
  std::set<std::pair<std::string_view, bool>> shown;
  for (const Example& example : examples) shown.emplace(example.id, example.given);
  shown.emplace("A02", true);  // needs an annotation on the KubeVirt object, see below
  shown.emplace("A02", false);
  for (const SpecDefault& row : spec_defaults())
    for (const bool given : {true, false}) EXPECT_TRUE(shown.contains({row.id, given})) << row.id << " " << given;
  for (const VmiDefault& row : vmi_defaults())
    for (const bool given : {true, false}) EXPECT_TRUE(shown.contains({row.id, given})) << row.id << " " << given;
}

TEST_F(VmiDefaultsTest, EmulatorThreadNeedsTheGateAndTheAnnotation) {
  constexpr std::string_view spec = R"({"domain":{"devices":{},"cpu":{"isolateEmulatorThread":true}}})";
  constexpr std::string_view annotation = R"({"alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity":"x"})";
  constexpr std::string_view gate = R"({"developerConfiguration":{"featureGates":["AlignCPUs"]}})";
  constexpr std::string_view at = "/metadata/annotations/alpha.kubevirt.io~1EmulatorThreadCompleteToEvenParity";
  config = configuration(gate, "amd64", annotation);
  EXPECT_EQ(create(spec).at(at), R"("")");
  EXPECT_EQ(create(R"({"domain":{"devices":{}}})").at(at), "");
  config = configuration(gate);
  EXPECT_EQ(create(spec).at(at), "");
  config = configuration("{}", "amd64", annotation);
  EXPECT_EQ(create(spec).at(at), "");
}

TEST_F(VmiDefaultsTest, ADefaultInterfaceThatIsNotPermittedIsRefused) {
  config = configuration(R"({"network":{"permitBridgeInterfaceOnPodNetwork":false}})");
  const Asked bridge = create(R"({"domain":{"devices":{}}})");
  EXPECT_FALSE(bridge.allowed());
  EXPECT_EQ(bridge.code(), 400);
  EXPECT_THAT(bridge.verdict.refusal().reason, IsEmpty());
  config = configuration(R"({"network":{"defaultNetworkInterface":"slirp"}})");
  EXPECT_EQ(create(R"({"domain":{"devices":{}}})").code(), 400);
  EXPECT_TRUE(create(R"({"domain":{"devices":{"autoattachPodInterface":false}}})").allowed());
}

TEST_F(VmiDefaultsTest, TheWorkedExampleOfTheSpecification) {
  const Asked asked = create(R"({"domain":{"memory":{"guest":"1Gi"},"devices":{}}})");
  EXPECT_TRUE(
      same(asked.at("/spec/domain/cpu"), R"({"cores":1,"sockets":1,"maxSockets":4,"threads":1,"model":"host-model"})"));
  EXPECT_EQ(asked.at("/metadata/finalizers"), R"(["kubevirt.io/foregroundDeleteVirtualMachine"])");
  EXPECT_EQ(asked.at("/status/phase"), R"("Pending")");
  EXPECT_EQ(asked.at("/status/phaseTransitionTimestamps"),
            R"([{"phase":"Pending","phaseTransitionTimestamp":"2026-01-02T03:04:05Z"}])");
  ASSERT_EQ(asked.verdict.patch.size(), 3U);
  EXPECT_EQ(asked.verdict.patch[0].path, "/spec");
  EXPECT_EQ(asked.verdict.patch[1].path, "/metadata");
  EXPECT_EQ(asked.verdict.patch[2].path, "/status");
}

// --- who may bring a status along

TEST_F(VmiDefaultsTest, AVmiIsBornWithoutWhatDecidesWhomOthersTalkTo) {
  constexpr std::string_view sent =
      R"({"metadata":{"name":"m"},"spec":{"domain":{"devices":{}}},"status":{"VSOCKCID":7,"migrationMethod":"LiveMigration",)"
      R"("interfaces":[{"ipAddress":"127.0.0.1"}],"migrationState":{"targetNodeAddress":"10.0.0.1"}}})";
  const auto born = [&] {
    const Asked asked = ask("/virtualmachineinstances-mutate", sent);
    EXPECT_TRUE(asked.allowed());
    EXPECT_EQ(asked.at("/status/migrationMethod"), R"("LiveMigration")") << "upstream keeps what nobody acts on";
    return asked.at("/status/VSOCKCID") + asked.at("/status/interfaces/0/ipAddress") +
           asked.at("/status/migrationState/targetNodeAddress");
  };
  EXPECT_EQ(born(), "");
  username = "system:serviceaccount:default:kubevirt-controller";
  EXPECT_EQ(born(), "") << "of another namespace";
  username = "system:serviceaccount:kubevirt:kubevirt-controller";
  EXPECT_EQ(born(), R"(7"127.0.0.1""10.0.0.1")");
}

// --- updates

constexpr std::string_view running = R"({"metadata":{"name":"m"},"spec":{"domain":{"devices":{}}},)"
                                     R"("status":{"phase":"Running","memory":{"guestCurrent":"1Gi"}}})";
constexpr std::string_view failed = R"({"metadata":{"name":"m"},"spec":{"domain":{"devices":{}}},)"
                                    R"("status":{"phase":"Failed","memory":{"guestCurrent":"1Gi"}}})";

TEST_F(VmiDefaultsTest, AUserCannotChangeTheStatus) {
  const Asked asked = ask("/virtualmachineinstances-mutate", failed, running);
  EXPECT_TRUE(asked.allowed());
  EXPECT_EQ(asked.at("/status/phase"), R"("Running")");
  ASSERT_EQ(asked.verdict.patch.size(), 1U);
  EXPECT_EQ(asked.verdict.patch[0].path, "/status");
}

TEST_F(VmiDefaultsTest, KubeVirtItselfCan) {
  username = "system:serviceaccount:kubevirt:kubevirt-handler";
  const Asked asked = ask("/virtualmachineinstances-mutate", failed, running);
  EXPECT_EQ(asked.at("/status/phase"), R"("Failed")");
  EXPECT_THAT(asked.verdict.patch, IsEmpty());
}

TEST_F(VmiDefaultsTest, AnotherSpellingOfTheStatusIsNoChange) {
  const std::string same = R"({"metadata":{"name":"m"},"spec":{"domain":{"devices":{}}},"status":)"
                           R"({"phase":"Running","memory":{"guestCurrent":"1073741824"},"interfaces":[]}})";
  EXPECT_THAT(ask("/virtualmachineinstances-mutate", same, running).verdict.patch, IsEmpty());
}

// --- presets

struct PresetsTest : VmiDefaultsTest {
  void preset(std::string_view name, std::string_view selector, std::string_view domain) {
    known.add_text(R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstancePreset","metadata":{"name":")" +
                   std::string(name) + R"(","namespace":"default"},"spec":{"selector":)" + std::string(selector) +
                   R"(,"domain":)" + std::string(domain) + "}}");
  }
  static constexpr std::string_view labelled = R"({"name":"m","namespace":"default","labels":{"os":"win"}})";
  static constexpr std::string_view bare = R"({"domain":{"devices":{}}})";
};

TEST_F(PresetsTest, AMatchingPresetIsMergedAndWarnedAbout) {
  preset("p", R"({"matchLabels":{"os":"win"}})", R"({"cpu":{"cores":3},"devices":{"watchdog":{"name":"w"}}})");
  preset("other", R"({"matchLabels":{"os":"linux"}})", R"({"cpu":{"cores":8}})");
  const Asked asked = create(bare, labelled);
  EXPECT_EQ(asked.at("/spec/domain/cpu/cores"), "3");
  EXPECT_EQ(asked.at("/spec/domain/devices/watchdog/name"), R"("w")");
  EXPECT_EQ(asked.at("/metadata/annotations/virtualmachinepreset.kubevirt.io~1p"), R"("kubevirt.io/v1")");
  EXPECT_EQ(asked.at("/metadata/annotations/virtualmachinepreset.kubevirt.io~1other"), "");
  EXPECT_EQ(asked.verdict.warnings.size(), 1U);
}

TEST_F(PresetsTest, TheMachineWins) {
  preset("p", "{}", R"({"cpu":{"cores":3}})");
  const Asked asked = create(R"({"domain":{"devices":{},"cpu":{"cores":5}}})", labelled);
  EXPECT_EQ(asked.at("/spec/domain/cpu/cores"), "5");
  EXPECT_EQ(asked.at("/metadata/annotations/virtualmachinepreset.kubevirt.io~1p"), "");
  EXPECT_THAT(asked.verdict.warnings, IsEmpty());
}

TEST_F(PresetsTest, EmptyRequestsLeaveNoRoomForOthers) {
  preset("p", "{}", R"({"resources":{"requests":{"memory":"1Gi"}}})");
  const Asked asked = create(R"({"domain":{"devices":{},"resources":{"requests":{}}}})", labelled);
  EXPECT_EQ(asked.at("/spec/domain/resources"), "{}");
  EXPECT_EQ(asked.at("/metadata/annotations/virtualmachinepreset.kubevirt.io~1p"), "");
  EXPECT_EQ(create(bare, labelled).at("/spec/domain/resources/requests/memory"), R"("1Gi")");
}

TEST_F(PresetsTest, ContradictionsAreRefused) {
  preset("p", "{}", R"({"resources":{"requests":{"memory":"1Gi"}}})");
  preset("q", "{}", R"({"resources":{"requests":{"memory":"2Gi"}}})");
  const Asked asked = create(bare, labelled);
  EXPECT_EQ(asked.code(), 422);
  EXPECT_THAT(asked.verdict.refusal().details.causes, IsEmpty());
}

TEST_F(PresetsTest, AnUnreadableSelectorSpoilsTheNamespace) {
  preset("p", R"({"matchExpressions":[{"key":"os","operator":"Near","values":["a"]}]})", R"({"cpu":{"cores":3}})");
  EXPECT_EQ(create(bare, labelled).code(), 422);
  EXPECT_TRUE(create(bare, R"({"name":"m","namespace":"elsewhere"})").allowed());
}

TEST_F(PresetsTest, AMachineCanOptOut) {
  preset("p", "{}", R"({"cpu":{"cores":3}})");
  const Asked asked = create(bare, R"({"name":"m","namespace":"default","annotations":)"
                                   R"({"virtualmachineinstancepresets.admission.kubevirt.io/exclude":"true"}})");
  EXPECT_EQ(asked.at("/spec/domain/cpu/cores"), "1");
}

TEST_F(PresetsTest, TimersAreTakenEvenWhereTheOffsetIsNot) {
  preset("p", "{}", R"({"clock":{"timezone":"Europe/Berlin","timer":{"hpet":{"present":false}}}})");
  const Asked asked = create(R"({"domain":{"devices":{},"clock":{"utc":{}}}})", labelled);
  EXPECT_EQ(asked.at("/spec/domain/clock"), R"({"utc":{},"timer":{"hpet":{"present":false}}})");
  EXPECT_EQ(asked.at("/metadata/annotations/virtualmachinepreset.kubevirt.io~1p"), R"("kubevirt.io/v1")");
}

}  // namespace
}  // namespace vg::admission::testing
