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
        fmt::format("launch security is there on amd64 and s390x, not on {}; set architecture to one of them",
                    api::in_words(machine.spec.architecture())));
}

void is_one_kind(const Machine& machine, Causes& causes) {
  constexpr std::array<string_view, 3> kinds = {"sev", "snp", "tdx"};
  const auto is_set = [&](string_view kind) { return static_cast<bool>(api::View(security(machine).get(kind))); };
  if (std::ranges::count_if(kinds, is_set) != 1)
    causes.forbidden(machine.place.field(field),
                     fmt::format("launch security on amd64 is exactly one of {}", fmt::join(kinds, ", ")));
}

void is_switched_on(const Machine& machine, Causes& causes) {
  const Gate gate = security(machine).tdx() ? Gate::workload_encryption_tdx : Gate::workload_encryption_sev;
  if (!machine.enabled(gate))
    causes.invalid(machine.place.field(field), needs_gate("this launch security needs", gate));
}

void tdx_goes_without_smm(const Machine& machine, Causes& causes) {
  const api::kubevirt::FeatureState smm = machine.spec.domain().features().smm();
  if (security(machine).tdx() && smm && smm.enabled().value_or(true))
    causes.invalid(machine.place.field(field), "TDX does not work with system management mode; disable features.smm");
}

void boots_by_efi(const Machine& machine, Causes& causes) {
  if (!efi(machine))
    causes.invalid(machine.place.field(field), "an encrypted machine boots by EFI; set firmware.bootloader.efi");
}

void amd_goes_without_secure_boot(const Machine& machine, Causes& causes) {
  if (!security(machine).tdx() && efi(machine) && efi(machine).secure_boot().value_or(true))
    causes.invalid(machine.place.field(field),
                   "SEV does not work with Secure Boot, which EFI has unless told otherwise; set "
                   "firmware.bootloader.efi.secureBoot to false");
}

void efi_is_not_persistent(const Machine& machine, Causes& causes) {
  if (!security(machine).sev() && efi(machine).persistent().value_or(false))
    causes.invalid(machine.place.field(field),
                   "SEV-SNP and TDX do not work with persistent EFI variables; leave out "
                   "firmware.bootloader.efi.persistent");
}

void attestation_waits(const Machine& machine, Causes& causes) {
  if (security(machine).sev().attestation() && machine.spec.start_strategy() != "Paused")
    causes.invalid(machine.place.field(field),
                   "attestation comes before the machine runs; set startStrategy to Paused");
}

void interfaces_do_not_boot(const Machine& machine, Causes& causes) {
  for (const api::kubevirt::Interface interface : machine.spec.domain().devices().interfaces())
    if (interface.boot_order())
      causes.invalid(machine.place.field(field),
                     fmt::format("an encrypted machine cannot boot from the network; remove bootOrder from interface "
                                 "{}",
                                 api::in_words(interface.name())));
}

constexpr MachineRule kind_rows[] = {
    {"LS-01", "the architecture knows launch security", "architecture", architecture_can_encrypt},
    {"LS-02", "launch security is of one kind", field, is_one_kind},
    {"LS-03", "the feature gate of this launch security is on", field, is_switched_on},
};
constexpr MachineRule rows[] = {
    {"LS-04", "TDX goes without system management mode", field, tdx_goes_without_smm},
    {"LS-05", "an encrypted machine boots by EFI", field, boots_by_efi},
    {"LS-06", "SEV and SEV-SNP go without Secure Boot", field, amd_goes_without_secure_boot},
    {"LS-07", "SEV-SNP and TDX go without persistent EFI variables", field, efi_is_not_persistent},
    {"LS-08", "a machine with attestation starts paused", field, attestation_waits},
    {"LS-09", "an encrypted machine does not boot from the network", field, interfaces_do_not_boot},
};

void check_launch_security(const Machine& machine, Causes& causes) {
  if (!security(machine) || machine.spec.architecture() == "s390x") return;
  if (ask_until_broken<kind_rows>(machine, causes)) ask_all<rows>(machine, causes);
}

}  // namespace

const MachineFamily launch_security_family = {.check = check_launch_security, .list = list_rows<kind_rows, rows>};

}  // namespace vg::admission
