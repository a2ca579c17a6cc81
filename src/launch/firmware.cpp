// Firmware for EFI under the names that spec domain 1.5 looks for. Distributions have their own; a folder of links
// brings the two together.
#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "launch/launch.h"

namespace vg::launch {
namespace {

struct Rom {
  std::string_view name, file;
};
// Code and variables of one build belong together, so that a folder is of one set. The first whose files are all there.
using RomSet = std::array<Rom, 4>;
constexpr std::array rom_sets = std::to_array<RomSet>({
    // Debian and Ubuntu
    {{{"OVMF_CODE.fd", "/usr/share/OVMF/OVMF_CODE_4M.fd"},
      {"OVMF_VARS.fd", "/usr/share/OVMF/OVMF_VARS_4M.fd"},
      {"OVMF_CODE.secboot.fd", "/usr/share/OVMF/OVMF_CODE_4M.secboot.fd"},
      {"OVMF_VARS.secboot.fd", "/usr/share/OVMF/OVMF_VARS_4M.ms.fd"}}},
    // Fedora and its relatives
    {{{"OVMF_CODE.fd", "/usr/share/edk2/ovmf/OVMF_CODE.fd"},
      {"OVMF_VARS.fd", "/usr/share/edk2/ovmf/OVMF_VARS.fd"},
      {"OVMF_CODE.secboot.fd", "/usr/share/edk2/ovmf/OVMF_CODE.secboot.fd"},
      {"OVMF_VARS.secboot.fd", "/usr/share/edk2/ovmf/OVMF_VARS.secboot.fd"}}},
    // Machines of ARM have no Secure Boot here.
    {{{"AAVMF_CODE.fd", "/usr/share/AAVMF/AAVMF_CODE.fd"},
      {"AAVMF_VARS.fd", "/usr/share/AAVMF/AAVMF_VARS.fd"},
      {},
      {}}},
});

bool is_whole(const RomSet& set, const std::string& root) {
  for (const Rom& rom : set)
    if (!rom.name.empty() && ::access(fmt::format("{}{}", root, rom.file).c_str(), R_OK) != 0) return false;
  return true;
}

}  // namespace

Result<std::string> provide_firmware(const std::string& folder, const std::string& root) {
  for (const RomSet& set : rom_sets) {
    if (!is_whole(set, root)) continue;
    std::vector<Step> steps{{.kind = Step::Kind::make_folder, .path = folder}};
    for (const Rom& rom : set)
      if (!rom.name.empty())
        steps.push_back({.kind = Step::Kind::link,
                         .path = fmt::format("{}/{}", folder, rom.name),
                         .backing = fmt::format("{}{}", root, rom.file)});
    if (auto made = carry_out(steps); !made) return fail(std::move(made.error()));
    return folder;
  }
  return std::string();
}

}  // namespace vg::launch
