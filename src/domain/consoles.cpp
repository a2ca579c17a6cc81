// Console, channels, display and input: DOM-CON, DOM-CHN, DOM-GFX, DOM-VID, DOM-INP.
#include <fmt/format.h>

#include <algorithm>

#include "domain/conversion.h"
#include "domain/refusal.h"

namespace vg::domain {
namespace {

std::string private_path(const Conversion& c, Path path) {
  return c.context.paths.at(
      path,
      {{"uid", c.vmi.metadata.uid()}, {"namespace", c.vmi.metadata.namespace_()}, {"name", c.vmi.metadata.name()}});
}

}  // namespace

Result<void> write_console(Conversion& c) {
  if (!c.vmi.dev.autoattach_serial_console().value_or(true)) return {};  // DOM-CON-01
  // DOM-CON-02
  Element& serial = c.devices.add("serial").set("type", "unix");
  serial.child("target").set("port", 0);
  serial.child("source").set("mode", "bind").set("path", private_path(c, Path::serial));
  if (c.context.serial_log)  // DOM-CON-03
    serial.child("log").set("file", private_path(c, Path::serial_log)).set("append", "on");
  c.devices.add("console").set("type", "pty").child("target").set("type", "serial").set("port", 0);
  return {};
}

Result<void> write_channels(Conversion& c) {
  // DOM-CHN-01
  c.devices.add("channel")
      .set("type", "unix")
      .child("target")
      .set("name", "org.qemu.guest_agent.0")
      .set("type", "virtio");
  if (!c.vmi.dev.downward_metrics()) return {};
  // DOM-CHN-02
  Element& metrics = c.devices.add("channel").set("type", "unix");
  metrics.child("source").set("mode", "bind").set("path", private_path(c, Path::downward_metrics_channel));
  metrics.child("target").set("name", "org.github.vhostmd.1").set("type", "virtio");
  return {};
}

Result<void> write_graphics(Conversion& c) {
  if (!c.vmi.dev.autoattach_graphics_device().value_or(true) || c.context.cross_arch) return {};  // DOM-GFX-01
  // DOM-GFX-02
  c.devices.add("graphics")
      .set("type", "vnc")
      .child("listen")
      .set("type", "socket")
      .set("socket", private_path(c, Path::vnc));
  Element& model = c.devices.add("video").child("model").set("heads", 1);
  constexpr int vram = 16384;
  if (const auto video = c.vmi.dev.video())  // DOM-VID-01
    model.set("type", video.type()).set("vram", vram);
  else if (!c.traits.vga)  // DOM-VID-03
    model.set("type", "virtio");
  else if (c.vmi.efi() && c.context.bochs_for_efi)  // DOM-VID-02
    model.set("type", "bochs");
  else
    model.set("type", "vga").set("vram", vram);
  return {};
}

Result<void> write_inputs(Conversion& c) {
  const auto inputs = c.vmi.dev.inputs();
  bool has_tablet = false;
  for (std::size_t at = 0; at < inputs.size(); ++at) {  // DOM-INP-01
    const auto given = inputs[at];
    const std::string field = fmt::format("spec.domain.devices.inputs[{}]", at);
    const auto bus = given.bus().empty() ? "usb" : given.bus();
    if (bus != "usb" && bus != "virtio")
      return refuse("DOM-INP-01", fmt::format("{}.bus", field),
                    fmt::format("{}: supported values: usb, virtio", in_quotes(bus)));
    if (given.type() != "tablet")
      return refuse("DOM-INP-01", fmt::format("{}.type", field),
                    fmt::format("{}: supported values: tablet", in_quotes(given.type())));
    Element& input = c.devices.add("input").set("type", "tablet").set("bus", bus);
    if (bus == "virtio") input.set("model", "virtio");
    set_alias(input, given.name());
    has_tablet = true;
  }
  // DOM-INP-02
  if (!c.vmi.dev.autoattach_graphics_device().value_or(true)) return {};
  if (!c.traits.extra_tablet.empty() && !has_tablet)
    c.devices.add("input").set("type", "tablet").set("bus", c.traits.extra_tablet);
  if (!c.traits.extra_keyboard.empty())
    c.devices.add("input").set("type", "keyboard").set("bus", c.traits.extra_keyboard);
  return {};
}

}  // namespace vg::domain
