// The names that a machine goes by.
#include <fmt/format.h>

#include "admission/rules/machine/families.h"
#include "api/canonical_words.h"
#include "api/views/vmi_volumes.h"
#include "base/joined.h"
#include "base/names.h"

namespace vg::admission {
namespace {

using api::in_words;
using std::string_view;

// No name is fine. All that is wrong with one makes one cause.
void check_name(string_view name, Defects (*defects_of)(string_view), const Place& place, Causes& causes) {
  if (name.empty()) return;
  if (const Defects defects = defects_of(name); !defects.empty())
    causes.invalid(place, fmt::format("{} {}: {}", place.name, in_words(name), joined(defects, "; ")));
}

void hostname_is_a_label(const Machine& machine, Causes& causes) {
  check_name(machine.spec.hostname(), dns1123_label_defects, machine.place.field("hostname"), causes);
}

void subdomain_is_one(const Machine& machine, Causes& causes) {
  check_name(machine.spec.subdomain(), dns1123_subdomain_defects, machine.place.field("subdomain"), causes);
}

void account_has_a_name(const Machine& machine, Causes& causes) {
  check_name(machine.spec.service_account_name(), dns1123_subdomain_defects, machine.place.field("serviceAccountName"),
             causes);
}

// A pod runs as one account, and the volume shows the token of that one.
void account_is_that_of_its_volume(const Machine& machine, Causes& causes) {
  const string_view account = machine.spec.service_account_name();
  if (account.empty()) return;
  for (const api::kubevirt::Volume volume : machine.spec.volumes()) {
    const auto source = volume.service_account();
    if (!source || source.service_account_name() == account) continue;
    return causes.invalid(
        machine.place.field("serviceAccountName"),
        fmt::format("the VM has service account {}, but its volume {} has service account {}; use one "
                    "service account in both places",
                    in_words(account), in_words(volume.name()), in_words(source.service_account_name())));
  }
}

constexpr MachineRule name_rows[] = {
    {"ID-01", "hostname must be a DNS label", "hostname", hostname_is_a_label},
    {"ID-02", "subdomain must be a DNS subdomain", "subdomain", subdomain_is_one},
};

constexpr MachineRule account_rows[] = {
    {"ID-03", "serviceAccountName must be a DNS subdomain", "serviceAccountName", account_has_a_name},
    {"ID-04", "a serviceAccount volume must have the service account of the VM", "serviceAccountName",
     account_is_that_of_its_volume},
};

}  // namespace

const MachineFamily name_family = family_of<name_rows>;
const MachineFamily service_account_family = family_of<account_rows>;

}  // namespace vg::admission
