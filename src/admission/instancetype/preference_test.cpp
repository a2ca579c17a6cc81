#include "admission/instancetype/preference.h"

#include <gmock/gmock.h>

#include "admission/instancetype/testing.h"

namespace vg::admission::testing {
namespace {

struct Filled {
  json::Document vm;
  std::string at(std::string_view pointer) { return text_at(template_of(vm), pointer); }
};

Filled fill_in(std::string_view preferred, std::string_view machine = R"({"domain":{"devices":{}}})",
               std::string_view annotations = "{}") {
  const json::Document document = preference(preferred);
  Filled filled{vm_of(machine, annotations)};
  MachineTemplate target = MachineTemplate::in(template_of(filled.vm));
  apply_preference(spec_of(document), target);
  return filled;
}

// `devices` of the preference and of the machine, both as members.
Filled with_devices(std::string_view preferred, std::string_view devices, std::string_view networks = "[]") {
  return fill_in(
      R"({"devices":{)" + std::string(preferred) + "}}",
      R"({"networks":)" + std::string(networks) + R"(,"domain":{"devices":{)" + std::string(devices) + "}}}");
}

TEST(PreferenceTest, CpuFeaturesAreAddedByName) {
  Filled filled =
      fill_in(R"({"cpu":{"preferredCPUFeatures":[{"name":"a","policy":"require"},{"name":"b"},{"name":"b"}]}})",
              R"({"domain":{"devices":{},"cpu":{"features":[{"name":"a"}]}}})");
  EXPECT_EQ(filled.at("/spec/domain/cpu/features"), R"([{"name":"a"},{"name":"b"},{"name":"b"}])");
  EXPECT_EQ(fill_in(R"({"cpu":{"preferredCPUFeatures":[{"name":"a"}]}})").at("/spec/domain/cpu/features"),
            R"([{"name":"a"}])")
      << "a machine without cpu crashes upstream (K19)";
  EXPECT_EQ(fill_in(R"({"cpu":{"preferredCPUTopology":"cores"}})").at("/spec/domain/cpu"), "");
}

TEST(PreferenceTest, DevicesAreFilledInWhereTheMachineSaysNothing) {
  constexpr std::string_view preferred =
      R"("preferredUseVirtioTransitional":true,"preferredBlockMultiQueue":true,"preferredNetworkInterfaceMultiQueue":true,
         "preferredDisableHotplug":false,"preferredRng":{},"preferredTPM":{"persistent":true},"preferredVideoType":"vga",
         "preferredAutoattachGraphicsDevice":false,"preferredAutoattachMemBalloon":false,
         "preferredAutoattachPodInterface":false,"preferredAutoattachSerialConsole":false,
         "preferredAutoattachInputDevice":true,"preferredSoundModel":"ich9")";
  Filled filled = with_devices(preferred, R"("sound":{"name":"s"})");
  for (const char* set :
       {"useVirtioTransitional", "blockMultiQueue", "networkInterfaceMultiqueue", "autoattachInputDevice"})
    EXPECT_EQ(filled.at("/spec/domain/devices/" + std::string(set)), "true") << set;
  for (const char* off :
       {"autoattachGraphicsDevice", "autoattachMemBalloon", "autoattachPodInterface", "autoattachSerialConsole"})
    EXPECT_EQ(filled.at("/spec/domain/devices/" + std::string(off)), "false") << off;
  EXPECT_EQ(filled.at("/spec/domain/devices/rng"), "{}");
  EXPECT_EQ(filled.at("/spec/domain/devices/tpm"), R"({"persistent":true})");
  EXPECT_EQ(filled.at("/spec/domain/devices/video/type"), R"("vga")");
  EXPECT_EQ(filled.at("/spec/domain/devices/sound/model"), R"("ich9")");

  filled = with_devices(preferred, R"("blockMultiQueue":false,"tpm":{"enabled":false},"disableHotplug":true,
                                      "video":{"type":"virtio"})");
  EXPECT_EQ(filled.at("/spec/domain/devices/blockMultiQueue"), "false");
  EXPECT_EQ(filled.at("/spec/domain/devices/tpm"), R"({"enabled":false})");
  EXPECT_EQ(filled.at("/spec/domain/devices/disableHotplug"), "false") << "overwritten (K24)";
  EXPECT_EQ(filled.at("/spec/domain/devices/video/type"), R"("virtio")");
  EXPECT_EQ(filled.at("/spec/domain/devices/sound"), "") << "only for who wants sound";
}

TEST(PreferenceTest, DisksByTheirTarget) {
  constexpr std::string_view preferred =
      R"("preferredDiskBus":"virtio","preferredCdromBus":"sata","preferredLunBus":"scsi","preferredDiskCache":"none",
         "preferredDiskIO":"native","preferredDiskBlockSize":{"matchVolume":{}},"preferredDiskDedicatedIoThread":true)";
  Filled filled = with_devices(preferred, R"("disks":[{"name":"a"},{"name":"b","cdrom":{}},{"name":"c","lun":{}},
      {"name":"d","disk":{"bus":"sata"},"cache":"writeback","io":"threads"},
      {"name":"e","disk":{},"dedicatedIOThread":false}])");
  EXPECT_EQ(filled.at("/spec/domain/devices/disks/0"),
            R"({"name":"a","disk":{"bus":"virtio"},"blockSize":{"matchVolume":{}},"cache":"none","io":"native",)"
            R"("dedicatedIOThread":true})");
  EXPECT_EQ(filled.at("/spec/domain/devices/disks/1"), R"({"name":"b","cdrom":{"bus":"sata"}})");
  EXPECT_EQ(filled.at("/spec/domain/devices/disks/2"), R"({"name":"c","lun":{"bus":"scsi"}})");
  EXPECT_EQ(filled.at("/spec/domain/devices/disks/3/cache"), R"("writeback")");
  EXPECT_EQ(filled.at("/spec/domain/devices/disks/3/io"), R"("threads")");
  EXPECT_EQ(filled.at("/spec/domain/devices/disks/3/dedicatedIOThread"), "") << "only on virtio";
  EXPECT_EQ(filled.at("/spec/domain/devices/disks/4/dedicatedIOThread"), "false");
}

TEST(PreferenceTest, ASectionForDevicesGivesDisksATarget) {
  EXPECT_EQ(with_devices("", R"("disks":[{"name":"a"}])").at("/spec/domain/devices/disks/0/disk"), "{}");
  EXPECT_EQ(fill_in("{}", R"({"domain":{"devices":{"disks":[{"name":"a"}]}}})").at("/spec/domain/devices/disks/0/disk"),
            "");
}

TEST(PreferenceTest, MasqueradeIsForUnboundInterfacesOfThePodNetwork) {
  constexpr std::string_view preferred = R"("preferredInterfaceMasquerade":{},"preferredInterfaceModel":"e1000")";
  Filled filled = with_devices(preferred, R"("interfaces":[{"name":"pod"},{"name":"multus"},{"name":"none"},
      {"name":"bound","bridge":{}},{"name":"plugin","binding":{"name":"x"}},{"name":"twice"}])",
                               R"([{"name":"pod","pod":{}},{"name":"multus","multus":{"networkName":"n"}},
      {"name":"bound","pod":{}},{"name":"plugin","pod":{}},{"name":"twice"},{"name":"twice","pod":{}}])");
  EXPECT_EQ(filled.at("/spec/domain/devices/interfaces/0/masquerade"), "{}");
  for (const char* other : {"1", "2", "3", "4", "5"})
    EXPECT_EQ(filled.at("/spec/domain/devices/interfaces/" + std::string(other) + "/masquerade"), "") << other;
  EXPECT_EQ(filled.at("/spec/domain/devices/interfaces/3/model"), R"("e1000")");
}

TEST(PreferenceTest, InputsAndPanicDevices) {
  Filled filled = with_devices(
      R"("preferredInputBus":"usb","preferredInputType":"tablet","preferredPanicDeviceModel":"hyperv")",
      R"("inputs":[{"name":"a"},{"name":"b","bus":"virtio"}],"panicDevices":[{},{"model":"isa"},{"model":""}])");
  EXPECT_EQ(filled.at("/spec/domain/devices/inputs/0/bus"), R"("usb")");
  EXPECT_EQ(filled.at("/spec/domain/devices/inputs/1/bus"), R"("virtio")");
  EXPECT_EQ(filled.at("/spec/domain/devices/inputs/1/type"), R"("tablet")");
  EXPECT_EQ(filled.at("/spec/domain/devices/panicDevices"), R"([{"model":"hyperv"},{"model":"isa"},{"model":""}])");
  EXPECT_EQ(with_devices(R"("preferredPanicDeviceModel":"isa")", "").at("/spec/domain/devices/panicDevices"),
            R"([{"model":"isa"}])");
}

TEST(PreferenceTest, Features) {
  constexpr std::string_view preferred = R"({"features":{"preferredAcpi":{"enabled":false},"preferredSmm":{},
      "preferredKvm":{"hidden":true},"preferredHyperv":{"relaxed":{},"vapic":{"enabled":false},"vendorid":{"vendorid":"v"}}}})";
  Filled filled = fill_in(preferred, R"({"domain":{"devices":{},"features":{"acpi":{"enabled":true},
      "kvm":{"hidden":false},"hyperv":{"vapic":{}}}}})");
  EXPECT_EQ(filled.at("/spec/domain/features/acpi"), R"({"enabled":false})") << "overwritten (K24)";
  EXPECT_EQ(filled.at("/spec/domain/features/smm"), "{}");
  EXPECT_EQ(filled.at("/spec/domain/features/kvm"), "{}") << "the machine's own";
  EXPECT_EQ(filled.at("/spec/domain/features/hyperv/relaxed"), "{}");
  EXPECT_EQ(filled.at("/spec/domain/features/hyperv/vapic"), "{}");
  EXPECT_EQ(filled.at("/spec/domain/features/hyperv/vendorid"), R"({"vendorid":"v"})");
  EXPECT_EQ(fill_in(R"({"features":{}})").at("/spec/domain/features"), "{}");
  EXPECT_EQ(fill_in(R"({"features":{"preferredHyperv":{}}})").at("/spec/domain/features/hyperv"), "{}");
}

TEST(PreferenceTest, Firmware) {
  const auto bootloader = [](std::string_view preferred, std::string_view own = "{}") {
    return fill_in(R"({"firmware":{)" + std::string(preferred) + "}}",
                   R"({"domain":{"devices":{},"firmware":{"bootloader":)" + std::string(own) + "}}}")
        .at("/spec/domain/firmware/bootloader");
  };
  EXPECT_EQ(bootloader(""), "{}");
  EXPECT_EQ(fill_in(R"({"firmware":{}})").at("/spec/domain/firmware"), R"({"bootloader":{}})") << "K25";
  EXPECT_EQ(bootloader(R"("preferredUseBios":true,"preferredUseBiosSerial":true,"preferredUseEfi":true)"),
            R"({"bios":{"useSerial":true}})");
  EXPECT_EQ(bootloader(R"("preferredUseBiosSerial":true)", R"({"bios":{"useSerial":false}})"),
            R"({"bios":{"useSerial":false}})");
  EXPECT_EQ(bootloader(R"("preferredUseEfi":true,"preferredUseSecureBoot":true)"), R"({"efi":{"secureBoot":true}})");
  EXPECT_EQ(bootloader(R"("preferredEfi":{"persistent":true},"preferredUseSecureBoot":true)"),
            R"({"efi":{"persistent":true}})")
      << "the newer one ends it";
  EXPECT_EQ(bootloader(R"("preferredEfi":{"persistent":true},"preferredUseSecureBoot":false)", R"({"efi":{}})"),
            R"({"efi":{"secureBoot":false}})")
      << "also for an efi that the machine brought";
  EXPECT_EQ(bootloader(R"("preferredEfi":{})", R"({"bios":{}})"), R"({"bios":{}})");
}

TEST(PreferenceTest, ClockAndTheRest) {
  constexpr std::string_view preferred = R"({"clock":{"preferredClockOffset":{"utc":{}},"preferredTimer":{"hpet":{}}},
      "machine":{"preferredMachineType":"q35"},"preferredSubdomain":"sub","preferredArchitecture":"arm64",
      "preferredTerminationGracePeriodSeconds":0,"preferredLaunchSecurity":{"sev":{}},"annotations":{"a":"1","b":"2"}})";
  Filled filled = fill_in(preferred, R"({"domain":{"devices":{}}})", R"({"b":"own"})");
  EXPECT_EQ(filled.at("/spec/domain/clock/utc"), "{}");
  EXPECT_EQ(filled.at("/spec/domain/clock/timer"), R"({"hpet":{}})");
  EXPECT_EQ(filled.at("/spec/domain/machine/type"), R"("q35")");
  EXPECT_EQ(filled.at("/spec/subdomain"), R"("sub")");
  EXPECT_EQ(filled.at("/spec/architecture"), R"("arm64")");
  EXPECT_EQ(filled.at("/spec/terminationGracePeriodSeconds"), "0");
  EXPECT_EQ(filled.at("/spec/domain/launchSecurity"), R"({"sev":{}})");
  EXPECT_EQ(filled.at("/metadata/annotations"), R"({"b":"own","a":"1"})");

  filled = fill_in(preferred, R"({"architecture":"amd64","subdomain":"own","terminationGracePeriodSeconds":5,
      "domain":{"devices":{},"machine":{"type":"pc"},"clock":{"timezone":"Europe/Berlin","timer":{}},"launchSecurity":{}}})");
  EXPECT_EQ(filled.at("/spec/domain/clock"), R"({"timezone":"Europe/Berlin","timer":{}})");
  EXPECT_EQ(filled.at("/spec/domain/machine/type"), R"("pc")");
  EXPECT_EQ(filled.at("/spec/subdomain"), R"("own")");
  EXPECT_EQ(filled.at("/spec/architecture"), R"("amd64")");
  EXPECT_EQ(filled.at("/spec/terminationGracePeriodSeconds"), "5");
  EXPECT_EQ(filled.at("/spec/domain/launchSecurity"), "{}");
}

}  // namespace
}  // namespace vg::admission::testing
