// Which firmware an EFI guest gets (DOM-CTX-06, and the table of ROMs in spec domain 1.5).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "domain/derive.h"
#include "domain/refusal.h"

namespace vg::domain {
namespace {

enum class Kind : std::uint8_t { none, sev, snp, tdx };

struct Rom {
  Kind kind;
  bool secure_boot;
  std::string_view code, vars;
};

// The first row whose code file is there counts.
constexpr std::array x86_roms = std::to_array<Rom>({
    {Kind::none, true, "OVMF_CODE.secboot.fd", "OVMF_VARS.secboot.fd"},
    {Kind::none, false, "OVMF_CODE.secboot.fd", "OVMF_VARS.fd"},
    {Kind::none, false, "OVMF_CODE.fd", "OVMF_VARS.fd"},
    {Kind::sev, false, "OVMF_CODE.cc.fd", "OVMF_VARS.fd"},
    {Kind::snp, false, "OVMF.amdsev.fd", ""},
    {Kind::tdx, false, "OVMF.inteltdx.fd", ""},
    {Kind::tdx, true, "OVMF.inteltdx.secboot.fd", ""},
});
constexpr Rom arm_rom{Kind::none, false, "AAVMF_CODE.fd", "AAVMF_VARS.fd"};

Kind kind_of(const kubevirt::LaunchSecurity& security) {
  if (security.snp()) return Kind::snp;
  if (security.sev()) return Kind::sev;
  return security.tdx() ? Kind::tdx : Kind::none;
}

constexpr std::string_view field = "spec.domain.firmware.bootloader.efi";

}  // namespace

Result<std::optional<Efi>> select_firmware(const Vmi& vmi, std::string_view architecture, const Settings& settings) {
  if (!vmi.efi()) return std::optional<Efi>();
  const bool secure_boot = vmi.dom.firmware().bootloader().efi().secure_boot().value_or(true);
  const Kind kind = kind_of(vmi.dom.launch_security());
  // DOM-CTX-06a
  if (secure_boot && kind == Kind::none && settings.firmware_auto_selection)
    return Efi{.code = {}, .vars = {}, .secure_loader = true, .auto_select = true};
  if (architecture == "s390x") return refuse("DOM-CTX-06a", field, "must not be set: EFI is not supported on s390x");
  const bool arm = architecture == "arm64";
  const std::string folder = !settings.rom_folder.empty() ? settings.rom_folder
                             : arm                        ? "/usr/share/AAVMF"
                                                          : "/usr/share/edk2/ovmf";
  const auto in_folder = [&](std::string_view file) {
    return file.empty() ? std::string() : fmt::format("{}/{}", folder, file);
  };
  const auto fits = [&](const Rom& rom) {
    return (arm || rom.kind == kind) && rom.secure_boot == secure_boot &&
           (!settings.rom_exists || (settings.rom_exists(in_folder(rom.code)) &&
                                     (rom.vars.empty() || settings.rom_exists(in_folder(rom.vars)))));
  };
  const Rom* found = nullptr;
  if (arm) {
    if (fits(arm_rom)) found = &arm_rom;
  } else if (const auto* row = std::ranges::find_if(x86_roms, fits); row != x86_roms.end()) {
    found = row;
  }
  if (!found)
    return refuse("DOM-CTX-06a", field,
                  fmt::format("no firmware for EFI with secure boot {} and this launch security is in {}",
                              secure_boot ? "on" : "off", folder));
  return Efi{.code = in_folder(found->code),
             .vars = in_folder(found->vars),
             .secure_loader = secure_boot && kind != Kind::tdx,
             .auto_select = false};
}

}  // namespace vg::domain
