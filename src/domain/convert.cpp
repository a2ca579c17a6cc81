#include "domain/convert.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/domain_limits.h"
#include "domain/conversion.h"
#include "domain/paths.h"
#include "domain/refusal.h"
#include "domain/xml.h"

namespace vg::domain {
namespace {

using ConversionStep = Result<void> (*)(Conversion&);

// spec domain 1.2: which error is told first, and who reads what others have written.
constexpr std::array steps = std::to_array<ConversionStep>({
    check_names,
    write_identity,
    write_interfaces,
    write_tpm,
    write_vsock,
    write_launch_security,
    write_channels,
    write_clock,
    write_rng,
    write_inputs,
    write_balloon,
    write_graphics,
    write_sound,
    write_host_devices,
    write_watchdog,
    write_console,
    write_panic_devices,
    write_features,
    write_sysinfo,
    write_os,
    write_filesystems,
    write_usb_redirection,
    write_controllers,
    write_qemu_arguments,
    write_cpu,
    write_io_threads,
    write_memory,
    write_reboot_policy,
    write_iommufd,
    write_hypervisor,
    write_memory_backing,
    write_disks,
    check_grace,
    pin_cpus,
    map_numa_cells,
    place_grace_devices,
    place_devices_by_numa,
    place_devices_on_root_complex,
});

}  // namespace

Conversion::Conversion(const Vmi& vmi_, const DomainContext& context_, IoThreads threads)
    : vmi(vmi_),
      context(context_),
      traits(traits_of(context_.architecture)),
      virtio(virtio_model(traits, vmi_.dev.use_virtio_transitional().value_or(false))),
      topology(topology_of(vmi_)),
      io_threads(threads),
      devices(domain.child("devices")) {}

Result<void> Conversion::take_numbered(std::uint64_t count, std::string_view field) {
  numbered_ += count;
  if (numbered_ <= limits::domain_numbered_elements_max) return {};
  return refuse("", field,
                fmt::format("too large: a domain has {} vCPUs and IO threads in lists at most",
                            limits::domain_numbered_elements_max));
}

void set_alias(Element& element, std::string_view name) {
  element.child("alias").set("name", fmt::format("ua-{}", name));
}

// Names become parts of paths. Validation has refused such names long before; offline nobody has.
Result<void> check_names(Conversion& c) {
  const auto leads_elsewhere = [](std::string_view name) { return !name.empty() && !is_file_name(name); };
  const auto refused = [](std::string_view field) {
    return refuse("", field, "must not be empty, \".\" or \"..\" or contain a slash: it becomes part of a path");
  };
  const auto& metadata = c.vmi.metadata;
  if (leads_elsewhere(metadata.name())) return refused("metadata.name");
  if (leads_elsewhere(metadata.namespace_())) return refused("metadata.namespace");
  if (leads_elsewhere(metadata.uid())) return refused("metadata.uid");
  for (std::size_t at = 0; at < c.vmi.spec.volumes().size(); ++at)
    if (!is_file_name(c.vmi.spec.volumes()[at].name())) return refused(fmt::format("spec.volumes[{}].name", at));
  for (std::size_t at = 0; at < c.vmi.dev.filesystems().size(); ++at)
    if (!is_file_name(c.vmi.dev.filesystems()[at].name()))
      return refused(fmt::format("spec.domain.devices.filesystems[{}].name", at));
  return {};
}

Result<Element> convert(const Vmi& vmi, const DomainContext& context) {
  const auto threads = io_threads_of(vmi);
  if (!threads) return fail(threads.error());
  Conversion conversion(vmi, context, *threads);
  for (const ConversionStep step : steps)
    if (auto done = step(conversion); !done) return fail(std::move(done.error()));
  if (const auto place = unwritable(conversion.domain))
    return refuse("", fmt::format("{} would hold a control character, which XML cannot carry", *place));
  return std::move(conversion.domain);
}

}  // namespace vg::domain
