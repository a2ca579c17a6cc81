// Encrypted machines (spec vmi-compute 2.16). Asked only of machines with launchSecurity, and not on s390x, where an
// empty one stands for secure execution and nothing in it matters.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "admission/rules/machine/families.h"
#include "admission/rules/words.h"
#include "api/canonical_words.h"
#include "api/views/vmi_devices.h"
#include "api/views/vmi_domain.h"
#include "api/views/vmi_network.h"
#include "base/joined.h"

namespace vg::admission {
namespace {

using config::Gate;
using std::string_view;

// Upstream leaves the domain out of the field.
constexpr string_view field = "launchSecurity";

api::kubevirt::LaunchSecurity security(const Machine& machine) { return machine.spec.domain().launch_security(); }
api::kubevirt::EFI efi(const Machine& machine) { return machine.spec.domain().firmware().bootloader().efi(); }

// The cluster's default does not count here, unlike elsewhere.
void architecture_can_encrypt(const Machine& machine, Causes& causes) {
  if (machine.spec.architecture() != "amd64")
    causes.invalid(
        machine.place.field("architecture"),
        fmt::format("launchSecurity is supported on amd64 and s390x, not on {}; set architecture to one of them",
                    api::in_words(machine.spec.architecture())));
}

void is_one_kind(const Machine& machine, Causes& causes) {
  constexpr std::array<string_view, 3> kinds = {"sev", "snp", "tdx"};
  const auto is_set = [&](string_view kind) { return static_cast<bool>(api::View(security(machine).get(kind))); };
  if (std::ranges::count_if(kinds, is_set) != 1)
    causes.forbidden(machine.place.field(field),
                     fmt::format("exactly one of {} is required on amd64", joined(kinds, ", ")));
}

void is_switched_on(const Machine& machine, Causes& causes) {
  const Gate gate = security(machine).tdx() ? Gate::workload_encryption_tdx : Gate::workload_encryption_sev;
  if (!machine.enabled(gate))
    causes.invalid(machine.place.field(field), needs_gate("this launchSecurity requires", gate));
}

void tdx_goes_without_smm(const Machine& machine, Causes& causes) {
  const api::kubevirt::FeatureState smm = machine.spec.domain().features().smm();
  if (security(machine).tdx() && smm && smm.enabled().value_or(true))
    causes.invalid(machine.place.field(field),
                   "TDX is mutually exclusive with system management mode; disable features.smm");
}

void boots_by_efi(const Machine& machine, Causes& causes) {
  if (!efi(machine))
    causes.invalid(machine.place.field(field), "launchSecurity requires EFI; set firmware.bootloader.efi");
}

void amd_goes_without_secure_boot(const Machine& machine, Causes& causes) {
  if (!security(machine).tdx() && efi(machine) && efi(machine).secure_boot().value_or(true))
    causes.invalid(machine.place.field(field),
                   "SEV is mutually exclusive with Secure Boot, the default of efi; set "
                   "firmware.bootloader.efi.secureBoot to false");
}

void efi_is_not_persistent(const Machine& machine, Causes& causes) {
  if (!security(machine).sev() && efi(machine).persistent().value_or(false))
    causes.invalid(machine.place.field(field),
                   "SEV-SNP and TDX are mutually exclusive with persistent EFI variables; remove "
                   "firmware.bootloader.efi.persistent");
}

void attestation_waits(const Machine& machine, Causes& causes) {
  if (security(machine).sev().attestation() && machine.spec.start_strategy() != "Paused")
    causes.invalid(machine.place.field(field), "attestation requires startStrategy Paused");
}

void interfaces_do_not_boot(const Machine& machine, Causes& causes) {
  for (const api::kubevirt::Interface interface : machine.spec.domain().devices().interfaces())
    if (interface.boot_order())
      causes.invalid(
          machine.place.field(field),
          fmt::format("launchSecurity is mutually exclusive with network boot; remove bootOrder from interface "
                      "{}",
                      api::in_words(interface.name())));
}

constexpr MachineRule kind_rows[] = {
    {"LS-01", "launchSecurity must be supported by the architecture", "architecture", architecture_can_encrypt},
    {"LS-02", "exactly one kind of launchSecurity is required", field, is_one_kind},
    {"LS-03", "the kind of launchSecurity requires its feature gate", field, is_switched_on},
};
constexpr MachineRule launch_security_rows[] = {
    {"LS-04", "TDX and features.smm are mutually exclusive", field, tdx_goes_without_smm},
    {"LS-05", "launchSecurity requires EFI", field, boots_by_efi},
    {"LS-06", "SEV and SEV-SNP are mutually exclusive with Secure Boot", field, amd_goes_without_secure_boot},
    {"LS-07", "SEV-SNP and TDX are mutually exclusive with persistent EFI variables", field, efi_is_not_persistent},
    {"LS-08", "attestation requires startStrategy Paused", field, attestation_waits},
    {"LS-09", "launchSecurity and network boot are mutually exclusive", field, interfaces_do_not_boot},
};

void check_launch_security(const Machine& machine, Causes& causes) {
  if (!security(machine) || machine.spec.architecture() == "s390x") return;
  if (ask_until_broken<kind_rows>(machine, causes)) ask_all<launch_security_rows>(machine, causes);
}

}  // namespace

const MachineFamily launch_security_family = {.check = check_launch_security,
                                              .list = list_rows<kind_rows, launch_security_rows>};

}  // namespace vg::admission
