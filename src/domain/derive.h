// The context of a VMI, from the VMI itself and a few settings (spec domain 1.3: DOM-CTX, DOM-PRE).
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "domain/context.h"
#include "domain/vmi.h"

namespace vg::domain {

// What the cluster says. The defaults are those of a KubeVirt object without configuration.
struct Settings {
  bool free_page_reporting_disabled = false;
  bool serial_log_disabled = false;
  bool firmware_auto_selection = false;
  ByName<std::string> plugin_attachments;              // domain attachment type of network binding plugins
  std::string rom_folder;                              // empty: that of the architecture
  std::function<bool(const std::string&)> rom_exists;  // empty: every file is there
};

// Fails where the launcher fails while it prepares: firmware that does not exist, a claim without room for a disk.
Result<DomainContext> derive(const Vmi& vmi, const Settings& settings = {});

// DOM-CTX-06; nothing without an EFI boot loader.
Result<std::optional<Efi>> select_firmware(const Vmi& vmi, std::string_view architecture, const Settings& settings);

}  // namespace vg::domain
