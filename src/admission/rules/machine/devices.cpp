// Devices that stand for themselves (spec vmi-compute 2.14): input, I/O threads, GPUs, sound, VSOCK, metrics, display.
// Several fields name a place that is not there in the object; upstream has them so, and clients match on them.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "admission/rules/machine/families.h"
#include "admission/rules/words.h"
#include "api/canonical_words.h"
#include "api/views/vmi_devices.h"
#include "api/views/vmi_domain.h"
#include "base/joined.h"
#include "base/phrases.h"

namespace vg::admission {
namespace {

using api::in_words;
using config::Gate;
using std::string_view;

api::kubevirt::Devices devices(const Machine& machine) { return machine.spec.domain().devices(); }

// --- input -----------------------------------------------------------------------------------------------------------

struct InputAt {
  api::kubevirt::Input input;
  const Place& place;
};

void bus_is_known(const InputAt& at, Causes& causes) {
  constexpr std::array<string_view, 3> buses = {"", "virtio", "usb"};
  if (!is_one_of(at.input.bus(), buses))
    causes.invalid(at.place.field("bus"), fmt::format("{}: supported values: virtio, usb", in_words(at.input.bus())));
}

void is_a_tablet(const InputAt& at, Causes& causes) {
  if (at.input.type() != "tablet")
    causes.invalid(at.place.field("type"), fmt::format("{}: supported values: tablet", in_words(at.input.type())));
}

constexpr RuleOn<InputAt> input_rows[] = {
    {"INP-01", "the bus of an input device must be virtio or usb", "domain.devices.inputs[].bus", bus_is_known},
    {"INP-02", "the type of an input device must be tablet", "domain.devices.inputs[].type", is_a_tablet},
};

void check_inputs(const Machine& machine, Causes& causes) {
  const auto inputs = devices(machine).inputs();
  const Place domain = machine.place.field("domain"), inside = domain.field("devices"), list = inside.field("inputs");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Place place = list.item(i);
    ask_all<input_rows>(InputAt{.input = inputs[i], .place = place}, causes);
  }
}

// --- I/O threads -----------------------------------------------------------------------------------------------------

constexpr string_view pool_policy = "supplementalPool";

void thread_policy_is_known(const Machine& machine, Causes& causes) {
  constexpr std::array<string_view, 3> policies = {"shared", "auto", pool_policy};
  const auto policy = machine.spec.domain().io_threads_policy();
  if (!policy || is_one_of(*policy, policies)) return;
  const Place domain = machine.place.field("domain");
  causes.invalid(domain.field("ioThreadsPolicy"),
                 fmt::format("{1}: supported values: {0}", joined(policies, ", "), in_words(*policy)));
}

void pool_has_threads(const Machine& machine, Causes& causes) {
  const api::kubevirt::DomainSpec spec = machine.spec.domain();
  if (spec.io_threads_policy() != pool_policy || spec.io_threads().supplemental_pool_thread_count().value_or(0) > 0)
    return;
  const Place domain = machine.place.field("domain"), threads = domain.field("ioThreads");
  causes.invalid(threads.field("count"), fmt::format("policy {} requires "
                                                     "ioThreads.supplementalPoolThreadCount of 1 or more",
                                                     pool_policy));
}

constexpr MachineRule io_thread_rows[] = {
    {"IOT-01", "ioThreadsPolicy must be supported", "domain.ioThreadsPolicy", thread_policy_is_known},
    {"IOT-02", "a supplemental pool of I/O threads must have at least one thread", "domain.ioThreads.count",
     pool_has_threads},
};

// --- GPUs and host devices -------------------------------------------------------------------------------------------

// A display is on unless it is switched off; its frame buffer is on, too, unless it is mentioned and not enabled.
bool has_boot_display(const api::kubevirt::GPU& gpu) {
  const auto display = gpu.virtual_gpu_options().display();
  return display && display.enabled().value_or(true) &&
         (!display.ram_fb() || display.ram_fb().enabled().value_or(false));
}

void one_gpu_shows_the_boot(const Machine& machine, Causes& causes) {
  const auto gpus = devices(machine).gpus();
  if (std::ranges::count_if(gpus.begin(), gpus.end(), has_boot_display) > 1)
    causes.invalid(machine.place.field("GPUs"),
                   "only one virtual GPU can have ramFB; disable virtualGPUOptions.display.ramFB of the others");
}

// An empty list is asked for, too.
void host_devices_are_on(const Machine& machine, Causes& causes) {
  if (devices(machine).host_devices() && !machine.enabled(Gate::host_devices))
    causes.invalid(machine.place.field("HostDevices"), needs_gate("host devices require", Gate::host_devices));
}

constexpr MachineRule gpu_rows[] = {
    {"GPU-01", "at most one virtual GPU must have ramFB", "GPUs", one_gpu_shows_the_boot},
    MachineRule{"HDV-01", "host devices require their feature gate", "HostDevices", host_devices_are_on}.of_gate(
        Gate::host_devices),
};

// --- sound -----------------------------------------------------------------------------------------------------------

void sound_model_is_known(const Machine& machine, Causes& causes) {
  constexpr std::array<string_view, 3> models = {"", "ich9", "ac97"};
  if (const string_view model = devices(machine).sound().model(); !is_one_of(model, models))
    causes.invalid(machine.place.field("Sound"), fmt::format("{}: supported values: ich9, ac97", in_words(model)));
}

void sound_has_a_name(const Machine& machine, Causes& causes) {
  if (const auto sound = devices(machine).sound(); sound && sound.name().empty())
    causes.invalid(machine.place.field("Sound"), phrases::missing("devices.sound.name"));
}

constexpr MachineRule sound_rows[] = {
    {"SND-01", "the model of a sound device must be supported", "Sound", sound_model_is_known},
    {"SND-02", "a sound device must have a name", "Sound", sound_has_a_name},
};

// --- VSOCK, downward metrics -----------------------------------------------------------------------------------------

void vsock_is_on(const Machine& machine, Causes& causes) {
  if (!devices(machine).autoattach_vsock().value_or(false) || machine.enabled(Gate::vsock)) return;
  const Place domain = machine.place.field("domain"), inside = domain.field("devices");
  causes.invalid(inside.field("autoattachVSOCK"), needs_gate("VSOCK requires", Gate::vsock));
}

constexpr MachineRule vsock_rows[] = {
    MachineRule{"VSK-01", "VSOCK requires its feature gate", "domain.devices.autoattachVSOCK", vsock_is_on}.of_gate(
        Gate::vsock),
};

void downward_metrics_are_on(const Machine& machine, Causes& causes) {
  if (!devices(machine).downward_metrics() || machine.enabled(Gate::downward_metrics)) return;
  const Place domain = machine.place.field("domain"), inside = domain.field("devices");
  causes.invalid(inside.field("downwardMetrics"), needs_gate("downward metrics require", Gate::downward_metrics));
}

constexpr MachineRule downward_metrics_rows[] = {
    MachineRule{"DWM-01", "downward metrics require their feature gate", "domain.devices.downwardMetrics",
                downward_metrics_are_on}
        .of_gate(Gate::downward_metrics),
};

// --- display, panic --------------------------------------------------------------------------------------------------

void video_has_a_display(const Machine& machine, Causes& causes) {
  if (devices(machine).video() && !devices(machine).autoattach_graphics_device().value_or(true))
    causes.invalid(machine.place.field("video"),
                   "video is mutually exclusive with autoattachGraphicsDevice: false; remove one of them");
}

void architecture_can_panic(const Machine& machine, Causes& causes) {
  if (devices(machine).panic_devices().empty() || machine.architecture() != "s390x") return;
  const Place domain = machine.place.field("domain"), inside = domain.field("devices");
  causes.invalid(inside.field("panicDevices"), "panic devices are not supported on s390x; remove them");
}

void panic_models_are_known(const Machine& machine, Causes& causes) {
  constexpr std::array<string_view, 3> models = {"hyperv", "isa", "pvpanic"};
  const auto all = devices(machine).panic_devices();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto model = all[i].model();
    if (!model || is_one_of(*model, models)) continue;
    const Place domain = machine.place.field("domain"), inside = domain.field("devices"),
                list = inside.field("panicDevices"), place = list.item(i);
    causes.invalid(place.field("model"),
                   fmt::format("{1}: supported values: {0}", joined(models, ", "), in_words(*model)));
  }
}

constexpr MachineRule display_rows[] = {
    {"VID-01", "video and autoattachGraphicsDevice: false are mutually exclusive", "video", video_has_a_display},
    {"PAN-01", "panic devices must be supported by the architecture", "domain.devices.panicDevices",
     architecture_can_panic},
    {"PAN-02", "the model of a panic device must be supported", "domain.devices.panicDevices[].model",
     panic_models_are_known},
};

}  // namespace

const MachineFamily input_family = {.check = check_inputs, .list = list_rows<input_rows>};
const MachineFamily io_thread_family = family_of<io_thread_rows>;
const MachineFamily gpu_family = family_of<gpu_rows>;
const MachineFamily sound_family = family_of<sound_rows>;
const MachineFamily vsock_family = family_of<vsock_rows>;
const MachineFamily downward_metrics_family = family_of<downward_metrics_rows>;
const MachineFamily display_family = family_of<display_rows>;

}  // namespace vg::admission
