// Keys and passwords that are brought into a machine (spec vmi-compute 2.18).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "admission/rules/machine/families.h"
#include "api/views/vmi_volumes.h"
#include "base/joined.h"
#include "base/phrases.h"

namespace vg::admission {
namespace {

using std::string_view;

// What cloud-init can bring is decided by the volumes of the whole machine, so it is found out once.
struct CloudInit {
  bool no_cloud, config_drive;
};

CloudInit cloud_init_of(const Machine& machine) {
  CloudInit found{};
  for (const api::kubevirt::Volume volume : machine.spec.volumes()) {
    found.no_cloud = found.no_cloud || volume.cloud_init_no_cloud();
    found.config_drive = found.config_drive || volume.cloud_init_config_drive();
  }
  return found;
}

struct CredentialAt {
  api::kubevirt::AccessCredential credential;
  const CloudInit& cloud_init;
  const Place& place;

  api::kubevirt::SSHPublicKeyAccessCredential key() const { return credential.ssh_public_key(); }
  api::kubevirt::UserPasswordAccessCredential password() const { return credential.user_password(); }
};

void check_way(const CredentialAt& at, bool wanted, bool there, string_view way, string_view volume, Causes& causes) {
  if (!wanted || there) return;
  const Place key = at.place.field("sshPublicKey");
  causes.invalid(key.field("propagationMethod"),
                 fmt::format("{} propagates the key in a volume of type {}, and the VM has no such volume; add one, or "
                             "use another propagation method",
                             way, volume));
}

void no_cloud_has_its_volume(const CredentialAt& at, Causes& causes) {
  check_way(at, static_cast<bool>(at.key().propagation_method().no_cloud()), at.cloud_init.no_cloud, "noCloud",
            "cloudInitNoCloud", causes);
}

void config_drive_has_its_volume(const CredentialAt& at, Causes& causes) {
  check_way(at, static_cast<bool>(at.key().propagation_method().config_drive()), at.cloud_init.config_drive,
            "configDrive", "cloudInitConfigDrive", causes);
}

void agent_knows_the_users(const CredentialAt& at, Causes& causes) {
  const auto agent = at.key().propagation_method().qemu_guest_agent();
  if (!agent || !agent.users().empty()) return;
  const Place key = at.place.field("sshPublicKey"), method = key.field("propagationMethod"),
              inside = method.field("qemuGuestAgent");
  causes.invalid(inside.field("users"), phrases::missing("qemuGuestAgent.users must name at least one user"));
}

void key_has_a_source(const CredentialAt& at, Causes& causes) {
  if (!at.key() || at.key().source().secret()) return;
  const Place key = at.place.field("sshPublicKey");
  causes.invalid(key.field("source"), phrases::missing("source.secret.secretName"));
}

void key_has_one_way(const CredentialAt& at, Causes& causes) {
  constexpr std::array<string_view, 3> ways = {"noCloud", "configDrive", "qemuGuestAgent"};
  const auto is_set = [&](string_view way) {
    return static_cast<bool>(api::View(at.key().propagation_method().get(way)));
  };
  if (!at.key() || std::ranges::count_if(ways, is_set) == 1) return;
  const Place key = at.place.field("sshPublicKey");
  causes.invalid(key.field("propagationMethod"),
                 fmt::format("exactly one propagation method is required: {}", joined(ways, ", ")));
}

void password_has_a_source(const CredentialAt& at, Causes& causes) {
  if (!at.password() || at.password().source().secret()) return;
  const Place password = at.place.field("userPassword");
  causes.invalid(password.field("source"), phrases::missing("source.secret.secretName"));
}

void password_comes_by_agent(const CredentialAt& at, Causes& causes) {
  if (!at.password() || at.password().propagation_method().qemu_guest_agent()) return;
  const Place password = at.place.field("userPassword");
  causes.invalid(password.field("propagationMethod"),
                 phrases::missing("qemuGuestAgent, the only propagation method for passwords"));
}

void is_one_kind(const CredentialAt& at, Causes& causes) {
  if (static_cast<bool>(at.key()) == static_cast<bool>(at.password()))
    causes.invalid(at.place, "exactly one of sshPublicKey and userPassword is required");
}

constexpr RuleOn<CredentialAt> access_credentials_rows[] = {
    {"ACR-01", "propagation by noCloud requires a cloudInitNoCloud volume",
     "accessCredentials[].sshPublicKey.propagationMethod", no_cloud_has_its_volume},
    {"ACR-02", "propagation by configDrive requires a cloudInitConfigDrive volume",
     "accessCredentials[].sshPublicKey.propagationMethod", config_drive_has_its_volume},
    {"ACR-03", "propagation by qemuGuestAgent requires users",
     "accessCredentials[].sshPublicKey.propagationMethod.qemuGuestAgent.users", agent_knows_the_users},
    {"ACR-04", "a key must come from a Secret", "accessCredentials[].sshPublicKey.source", key_has_a_source},
    {"ACR-05", "a key must have exactly one propagation method", "accessCredentials[].sshPublicKey.propagationMethod",
     key_has_one_way},
    {"ACR-06", "a password must come from a Secret", "accessCredentials[].userPassword.source", password_has_a_source},
    {"ACR-07", "a password must be propagated by qemuGuestAgent", "accessCredentials[].userPassword.propagationMethod",
     password_comes_by_agent},
    {"ACR-08", "a credential must be an sshPublicKey or a userPassword", "accessCredentials[]", is_one_kind},
};

void check_credentials(const Machine& machine, Causes& causes) {
  const auto credentials = machine.spec.access_credentials();
  if (credentials.empty()) return;
  const CloudInit cloud_init = cloud_init_of(machine);
  const Place list = machine.place.field("accessCredentials");
  for (std::size_t i = 0; i < credentials.size(); ++i) {
    const Place place = list.item(i);
    ask_all<access_credentials_rows>(
        CredentialAt{.credential = credentials[i], .cloud_init = cloud_init, .place = place}, causes);
  }
}

}  // namespace

const MachineFamily access_credential_family = {.check = check_credentials, .list = list_rows<access_credentials_rows>};

}  // namespace vg::admission
