// What each architecture has and has not (spec vmi-compute 2.21). New VMIs only, and by their own architecture: the
// cluster's default was filled in before, or does not count.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <string>
#include <utility>

#include "admission/rules/machine/families.h"
#include "admission/rules/words.h"
#include "api/canonical_words.h"
#include "api/views/vmi_devices.h"
#include "api/views/vmi_domain.h"
#include "base/joined.h"

namespace vg::admission {
namespace {

using api::in_words;
using std::string_view;

api::kubevirt::Devices devices(const Machine& machine) { return machine.spec.domain().devices(); }

void refuse_watchdog(const Machine& machine, std::string message, Causes& causes) {
  const Place domain = machine.place.field("domain"), inside = domain.field("devices");
  causes.not_supported(inside.field("watchdog"), std::move(message));
}

void check_video(const Machine& machine, std::span<const string_view> types, Causes& causes) {
  const auto video = devices(machine).video();
  if (!video || is_one_of(video.type(), types)) return;
  const Place domain = machine.place.field("domain"), inside = domain.field("devices"), place = inside.field("video");
  causes.not_supported(place.field("type"),
                       fmt::format("{2}: supported values on {0}: {1}", machine.spec.architecture(),
                                   joined(types, ", "), in_words(video.type())));
}

// --- amd64 -----------------------------------------------------------------------------------------------------------

void amd64_watchdog_fits(const Machine& machine, Causes& causes) {
  const auto watchdog = devices(machine).watchdog();
  if (watchdog && (!watchdog.i6300esb() || watchdog.diag288()))
    refuse_watchdog(machine, "only i6300esb is supported on amd64; set i6300esb and remove the others", causes);
}

void amd64_video_fits(const Machine& machine, Causes& causes) {
  constexpr std::array<string_view, 5> types = {"vga", "cirrus", "virtio", "ramfb", "bochs"};
  check_video(machine, types, causes);
}

constexpr MachineRule amd64_rows[] = {
    {"AMD-01", "a watchdog on amd64 must be i6300esb", "domain.devices.watchdog", amd64_watchdog_fits},
    {"AMD-02", "the video type on amd64 must be supported", "domain.devices.video.type", amd64_video_fits},
};

// --- arm64 -----------------------------------------------------------------------------------------------------------

void arm64_boots_by_efi(const Machine& machine, Causes& causes) {
  if (!machine.spec.domain().firmware().bootloader().bios()) return;
  const Place domain = machine.place.field("domain"), firmware = domain.field("firmware"),
              loader = firmware.field("bootloader");
  causes.not_supported(loader.field("bios"), "BIOS is not supported on arm64; use efi");
}

void arm64_has_the_hosts_cpu(const Machine& machine, Causes& causes) {
  constexpr std::array<string_view, 2> models = {"", "host-passthrough"};
  const string_view model = machine.spec.domain().cpu().model();
  if (is_one_of(model, models)) return;
  const Place domain = machine.place.field("domain"), cpu = domain.field("cpu");
  causes.not_supported(cpu.field("model"), fmt::format("{}: must be host-passthrough on arm64", in_words(model)));
}

void check_arm64_disk(const api::kubevirt::Disk& disk, const Place& place, Causes& causes) {
  constexpr std::array<string_view, 3> targets = {"disk", "cdrom", "lun"}, buses = {"", "virtio", "scsi"};
  for (const string_view name : targets) {
    const string_view bus = api::Read<string_view>::or_zero(api::View(disk.get(name)).get("bus"));
    if (is_one_of(bus, buses)) continue;
    const Place target = place.field(name);
    causes.not_supported(target.field("bus"),
                         fmt::format("{1}: a {0} on arm64 must be on bus virtio or scsi", name, in_words(bus)));
  }
}

void arm64_buses_fit(const Machine& machine, Causes& causes) {
  const auto disks = devices(machine).disks();
  const Place domain = machine.place.field("domain"), inside = domain.field("devices"), list = inside.field("disks");
  for (std::size_t i = 0; i < disks.size(); ++i) check_arm64_disk(disks[i], list.item(i), causes);
}

void arm64_has_no_watchdog(const Machine& machine, Causes& causes) {
  if (devices(machine).watchdog())
    refuse_watchdog(machine, "watchdogs are not supported on arm64; remove the watchdog", causes);
}

void arm64_has_no_sound(const Machine& machine, Causes& causes) {
  if (!devices(machine).sound()) return;
  const Place domain = machine.place.field("domain"), inside = domain.field("devices");
  causes.not_supported(inside.field("sound"), "sound devices are not supported on arm64; remove the sound device");
}

void arm64_video_fits(const Machine& machine, Causes& causes) {
  constexpr std::array<string_view, 2> types = {"virtio", "ramfb"};
  check_video(machine, types, causes);
}

constexpr MachineRule arm64_rows[] = {
    {"ARM-01", "BIOS is not supported on arm64", "domain.firmware.bootloader.bios", arm64_boots_by_efi},
    {"ARM-02", "the CPU model on arm64 must be host-passthrough", "domain.cpu.model", arm64_has_the_hosts_cpu},
    {"ARM-03", "disks on arm64 must be on bus virtio or scsi", "domain.devices.disks[].disk.bus", arm64_buses_fit},
    {"ARM-04", "watchdogs are not supported on arm64", "domain.devices.watchdog", arm64_has_no_watchdog},
    {"ARM-05", "sound devices are not supported on arm64", "domain.devices.sound", arm64_has_no_sound},
    {"ARM-06", "the video type on arm64 must be supported", "domain.devices.video.type", arm64_video_fits},
};

// --- s390x -----------------------------------------------------------------------------------------------------------

void s390x_watchdog_fits(const Machine& machine, Causes& causes) {
  const auto watchdog = devices(machine).watchdog();
  if (watchdog && (!watchdog.diag288() || watchdog.i6300esb()))
    refuse_watchdog(machine, "only diag288 is supported on s390x; set diag288 and remove the others", causes);
}

void s390x_video_fits(const Machine& machine, Causes& causes) {
  constexpr std::array<string_view, 1> types = {"virtio"};
  check_video(machine, types, causes);
}

constexpr MachineRule s390x_rows[] = {
    {"S39-01", "a watchdog on s390x must be diag288", "domain.devices.watchdog", s390x_watchdog_fits},
    {"S39-02", "the video type on s390x must be supported", "domain.devices.video.type", s390x_video_fits},
};

// --- all -------------------------------------------------------------------------------------------------------------

struct Architecture {
  string_view name;
  std::span<const MachineRule> rules;
};
constexpr Architecture architectures[] = {{"amd64", amd64_rows}, {"arm64", arm64_rows}, {"s390x", s390x_rows}};

const Architecture* architecture_of(const Machine& machine) {
  const auto found = std::ranges::find(architectures, machine.spec.architecture(), &Architecture::name);
  return found == std::end(architectures) ? nullptr : found;
}

void architecture_is_known(const Machine& machine, Causes& causes) {
  if (!architecture_of(machine))
    causes.invalid(machine.place.field("architecture"),
                   fmt::format("{}: supported values: amd64, arm64, s390x", in_words(machine.spec.architecture())));
}

constexpr MachineRule known_rows[] = {
    {"ARC-01", "the architecture must be amd64, arm64 or s390x", "architecture", architecture_is_known},
};

void check_architecture(const Machine& machine, Causes& causes) {
  ask_all<known_rows>(machine, causes);
  if (const Architecture* own = architecture_of(machine))
    for (const MachineRule& rule : own->rules) ask(rule, machine, causes);
}

}  // namespace

const MachineFamily architecture_family = {.check = check_architecture,
                                           .list = list_rows<known_rows, amd64_rows, arm64_rows, s390x_rows>};

}  // namespace vg::admission
