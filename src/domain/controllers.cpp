// DOM-CTRL, and the IO thread of the SCSI controller (DOM-IOT-08).
#include <algorithm>

#include "domain/conversion.h"

namespace vg::domain {
namespace {

using kubevirt::Disk;

bool any_disk(const Vmi& vmi, auto matches) {
  const auto disks = vmi.dev.disks();
  return std::any_of(disks.begin(), disks.end(), matches);
}

// DOM-ARCH-04, DOM-CTRL-02
bool needs_usb(const Conversion& c) {
  if (c.traits.usb != Traits::Usb::when_used) return c.traits.usb == Traits::Usb::always;
  const auto inputs = c.vmi.dev.inputs();
  return std::any_of(inputs.begin(), inputs.end(),
                     [](const kubevirt::Input& input) { return input.bus() == "usb" || input.bus().empty(); }) ||
         any_disk(c.vmi, [](const Disk& disk) { return disk.disk().bus() == "usb"; }) ||
         c.vmi.dev.client_passthrough() || c.context.usb_host_device;
}

Element& add_controller(Conversion& c, std::string_view type, std::string_view model) {
  return c.devices.add("controller").set("type", type).set("index", 0).set("model", model);
}

// DOM-IOT-08
void write_scsi_thread(const Conversion& c, Element& controller) {
  if (c.io_threads.autos == 0 ||
      !any_disk(c.vmi, [](const Disk& disk) { return bus_of(disk) == "scsi" && has_own_io_thread(disk); }))
    return;
  std::uint64_t thread = 1;
  for (const Disk disk : c.vmi.dev.disks())
    if (bus_of(disk) == "virtio" && !has_own_io_thread(disk)) thread = thread % c.io_threads.autos + 1;
  controller.child("driver").set("iothread", thread).set("queues", c.topology.queues());
}

}  // namespace

Result<void> write_controllers(Conversion& c) {
  add_controller(c, "usb", needs_usb(c) ? "qemu-xhci" : "none");  // DOM-CTRL-01
  const auto protect = [&](Element& controller) {                 // DOM-CTRL-06
    if (c.context.iommu_on()) controller.child("driver").set("iommu", "on");
  };
  if (!c.vmi.dev.disable_hotplug() ||
      any_disk(c.vmi, [](const Disk& disk) { return bus_of(disk) == "scsi"; })) {  // DOM-CTRL-03
    Element& scsi = add_controller(c, "scsi", c.traits.scsi_model.empty() ? c.virtio : c.traits.scsi_model);
    protect(scsi);
    write_scsi_thread(c, scsi);
  }
  if (c.traits.pci_hole64_switch && c.vmi.is_true_in_any_case(annotation::disable_pci_hole64))  // DOM-CTRL-04
    add_controller(c, "pci", "pcie-root").child("pcihole64").set("unit", "KiB").set_text(0);
  if (c.vmi.dev.autoattach_serial_console().value_or(true))  // DOM-CTRL-05
    protect(add_controller(c, "virtio-serial", c.virtio));
  return {};
}

}  // namespace vg::domain
