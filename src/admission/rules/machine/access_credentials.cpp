// Keys and passwords that are brought into a machine (spec vmi-compute 2.18).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "admission/rules/machine/families.h"
#include "api/views/vmi_volumes.h"

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
                 fmt::format("{} brings the key in a volume with {}, and the machine has none; add such a volume, or "
                             "choose another method",
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
  causes.invalid(inside.field("users"), "the guest agent adds the key for users; name at least one");
}

void key_has_a_source(const CredentialAt& at, Causes& causes) {
  if (!at.key() || at.key().source().secret()) return;
  const Place key = at.place.field("sshPublicKey");
  causes.invalid(key.field("source"), "say where the key comes from: set source.secret.secretName");
}

void key_has_one_way(const CredentialAt& at, Causes& causes) {
  constexpr std::array<string_view, 3> ways = {"noCloud", "configDrive", "qemuGuestAgent"};
  const auto is_set = [&](string_view way) {
    return static_cast<bool>(api::View(at.key().propagation_method().get(way)));
  };
  if (!at.key() || std::ranges::count_if(ways, is_set) == 1) return;
  const Place key = at.place.field("sshPublicKey");
  causes.invalid(key.field("propagationMethod"),
                 fmt::format("a key is brought in one way: set one of {}", fmt::join(ways, ", ")));
}

void password_has_a_source(const CredentialAt& at, Causes& causes) {
  if (!at.password() || at.password().source().secret()) return;
  const Place password = at.place.field("userPassword");
  causes.invalid(password.field("source"), "say where the passwords come from: set source.secret.secretName");
}

void password_comes_by_agent(const CredentialAt& at, Causes& causes) {
  if (!at.password() || at.password().propagation_method().qemu_guest_agent()) return;
  const Place password = at.place.field("userPassword");
  causes.invalid(password.field("propagationMethod"), "only the guest agent sets passwords: set qemuGuestAgent");
}

void is_one_kind(const CredentialAt& at, Causes& causes) {
  if (static_cast<bool>(at.key()) == static_cast<bool>(at.password()))
    causes.invalid(at.place,
                   "an access credential is either a key or a password: set one of sshPublicKey, userPassword");
}

constexpr RuleOn<CredentialAt> rows[] = {
    {"ACR-01", "a key through noCloud needs such a volume", "accessCredentials[].sshPublicKey.propagationMethod",
     no_cloud_has_its_volume},
    {"ACR-02", "a key through configDrive needs such a volume", "accessCredentials[].sshPublicKey.propagationMethod",
     config_drive_has_its_volume},
    {"ACR-03", "a key through the guest agent names users",
     "accessCredentials[].sshPublicKey.propagationMethod.qemuGuestAgent.users", agent_knows_the_users},
    {"ACR-04", "a key comes from a secret", "accessCredentials[].sshPublicKey.source", key_has_a_source},
    {"ACR-05", "a key is brought in exactly one way", "accessCredentials[].sshPublicKey.propagationMethod",
     key_has_one_way},
    {"ACR-06", "a password comes from a secret", "accessCredentials[].userPassword.source", password_has_a_source},
    {"ACR-07", "a password is set by the guest agent", "accessCredentials[].userPassword.propagationMethod",
     password_comes_by_agent},
    {"ACR-08", "a credential is a key or a password", "accessCredentials[]", is_one_kind},
};

void check_credentials(const Machine& machine, Causes& causes) {
  const auto credentials = machine.spec.access_credentials();
  if (credentials.empty()) return;
  const CloudInit cloud_init = cloud_init_of(machine);
  const Place list = machine.place.field("accessCredentials");
  for (std::size_t i = 0; i < credentials.size(); ++i) {
    const Place place = list.item(i);
    ask_all<rows>(CredentialAt{.credential = credentials[i], .cloud_init = cloud_init, .place = place}, causes);
  }
}

}  // namespace

const MachineFamily access_credential_family = {.check = check_credentials, .list = list_rows<rows>};

}  // namespace vg::admission
