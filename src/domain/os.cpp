// Machine, firmware and boot: DOM-OS, DOM-SYS.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "domain/conversion.h"
#include "domain/paths.h"
#include "domain/refusal.h"

namespace vg::domain {
namespace {

void write_nvram(const Conversion& c, Element& os, std::string_view attribute_template, bool raw) {
  Element& nvram = os.child("nvram");
  nvram.set_if("template", attribute_template);
  if (raw) nvram.set("format", "raw");
  nvram.set_text(c.context.paths.at(
      Path::nvram,
      {{"namespace", c.vmi.metadata.namespace_()}, {"name", c.vmi.metadata.name()}, {"uid", c.vmi.metadata.uid()}}));
}

void write_efi(const Conversion& c, Element& os) {
  if (!c.vmi.efi() || !c.context.efi) return;  // DOM-OS-09
  const Efi& efi = *c.context.efi;
  if (efi.auto_select) {  // DOM-OS-06
    os.set("firmware", "efi");
    for (const std::string_view feature : {"secure-boot", "enrolled-keys"})
      os.child("firmware").add("feature").set("enabled", "yes").set("name", feature);
    if (c.vmi.spec.architecture() != "arm64") write_nvram(c, os, {}, true);
    return;
  }
  // DOM-OS-07, DOM-OS-08
  const auto security = c.vmi.dom.launch_security();
  const bool rom = security.snp() || security.tdx();
  os.child("loader")
      .set("readonly", "yes")
      .set("secure", yes_no(efi.secure_loader))
      .set("type", rom ? "rom" : "pflash")
      .set_text(efi.code);
  if (!rom) write_nvram(c, os, efi.vars, false);
}

// DOM-OS-11
Result<void> write_boot_file(const Conversion& c, Element& os, Name name, std::string_view path,
                             std::string_view field) {
  if (path.empty()) return {};
  const auto file = base_name(path);
  if (!is_file_name(file)) return refuse("DOM-OS-11", field, fmt::format("{}: must name a file", in_quotes(path)));
  os.child(name).set_text(c.context.paths.at(Path::kernel_boot, {{"file", file}, {"uid", c.vmi.metadata.uid()}}));
  return {};
}

Result<void> write_kernel_boot(const Conversion& c, Element& os) {
  const auto boot = c.vmi.dom.firmware().kernel_boot();
  if (const auto container = boot.container()) {
    const std::string_view place = "spec.domain.firmware.kernelBoot.container";
    if (auto done = write_boot_file(c, os, "kernel", container.kernel_path(), fmt::format("{}.kernelPath", place));
        !done)
      return done;
    if (auto done = write_boot_file(c, os, "initrd", container.initrd_path(), fmt::format("{}.initrdPath", place));
        !done)
      return done;
  }
  // DOM-OS-12
  if (boot && !boot.kernel_args().empty()) os.child("cmdline").set_text(boot.kernel_args());
  return {};
}

Result<void> write_acpi_table(const Conversion& c, Element& acpi, std::string_view type, std::string_view volume_name,
                              std::string_view field) {
  if (volume_name.empty()) return {};
  for (const kubevirt::Volume volume : c.vmi.spec.volumes()) {
    if (volume.name() != volume_name) continue;
    if (!volume.secret())
      return refuse("DOM-OS-13", field, fmt::format("{}: must be a secret volume", in_quotes(volume_name)));
    acpi.add("table")
        .set("type", type)
        .set_text(
            c.context.paths.at(Path::acpi_table, {{"volume", volume_name}, {"file", fmt::format("{}.bin", type)}}));
    return {};
  }
  return refuse("DOM-OS-13", field, fmt::format("{}: spec.volumes has no volume of this name", in_quotes(volume_name)));
}

// DOM-OS-13
Result<void> write_acpi(const Conversion& c, Element& os) {
  const auto acpi = c.vmi.dom.firmware().acpi();
  if (!acpi) return {};
  const std::string_view place = "spec.domain.firmware.acpi";
  if (acpi.slic_name_ref().empty() && acpi.msdm_name_ref().empty())
    return require("DOM-OS-13", place, "slicNameRef or msdmNameRef");
  Element& tables = os.child("acpi");
  if (auto done = write_acpi_table(c, tables, "slic", acpi.slic_name_ref(), fmt::format("{}.slicNameRef", place));
      !done)
    return done;
  return write_acpi_table(c, tables, "msdm", acpi.msdm_name_ref(), fmt::format("{}.msdmNameRef", place));
}

}  // namespace

Result<void> write_os(Conversion& c) {
  Element& os = c.domain.child("os");
  // DOM-OS-01, DOM-OS-02
  const auto machine = c.vmi.dom.machine().type();
  os.child("type")
      .set("arch", c.traits.os_arch)
      .set("machine", machine.empty() ? c.traits.machine : machine)
      .set_text("hvm");
  if (c.traits.smbios) os.child("smbios").set("mode", "sysinfo");  // DOM-OS-03
  if (c.vmi.spec.start_strategy() == "Paused")                     // DOM-OS-04
    os.child("bootmenu").set("enable", "yes").set("timeout", 10000);
  const auto firmware = c.vmi.dom.firmware();
  if (!firmware) return {};  // DOM-OS-05
  write_efi(c, os);
  if (firmware.bootloader().bios().use_serial().value_or(false))  // DOM-OS-10
    os.child("bios").set("useserial", "yes");
  if (auto done = write_kernel_boot(c, os); !done) return done;
  return write_acpi(c, os);
}

namespace {

using Entries = std::initializer_list<std::pair<std::string_view, std::string_view>>;

void write_entries(Element& group, Entries entries) {
  for (const auto& [name, value] : entries) group.add("entry").set("name", name).set_text(value);
}

}  // namespace

Result<void> write_sysinfo(Conversion& c) {
  // DOM-SYS-01, DOM-SYS-04
  Element& sysinfo = c.domain.child("sysinfo").set("type", "smbios");
  Element& system = sysinfo.child("system");
  sysinfo.child("bios");
  sysinfo.child("baseBoard");
  Element& chassis = sysinfo.child("chassis");
  // DOM-SYS-02
  if (const auto firmware = c.vmi.dom.firmware()) {
    write_entries(system, {{"uuid", firmware.uuid()}});
    if (!firmware.serial().empty()) write_entries(system, {{"serial", firmware.serial()}});
  }
  if (const auto& smbios = c.context.smbios)
    write_entries(system, {{"manufacturer", smbios->manufacturer},
                           {"family", smbios->family},
                           {"product", smbios->product},
                           {"sku", smbios->sku},
                           {"version", smbios->version}});
  // DOM-SYS-03
  if (const auto given = c.vmi.dom.chassis())
    write_entries(chassis, {{"manufacturer", given.manufacturer()},
                            {"version", given.version()},
                            {"serial", given.serial()},
                            {"asset", given.asset()},
                            {"sku", given.sku()}});
  return {};
}

}  // namespace vg::domain
