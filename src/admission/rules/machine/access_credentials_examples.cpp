#include "admission/rules/examples.h"

namespace vg::admission {
namespace {

using std::string_view;

constexpr std::string_view good_key = R"({"object":{"spec":{"accessCredentials":[{"sshPublicKey":{
    "source":{"secret":{"secretName":"s"}},"propagationMethod":{"qemuGuestAgent":{"users":["u"]}}}}]}}})";
constexpr std::string_view good_password = R"({"object":{"spec":{"accessCredentials":[{"userPassword":{
    "source":{"secret":{"secretName":""}},"propagationMethod":{"qemuGuestAgent":{}}}}]}}})";

constexpr Example access_credentials_example_rows[] = {
    {"ACR-01", vmi, good_key,
     R"({"object":{"spec":{"accessCredentials":[{"sshPublicKey":{"source":{"secret":{"secretName":"s"}},
         "propagationMethod":{"noCloud":{}}}}]}}})",
     "FieldValueInvalid spec.accessCredentials[0].sshPublicKey.propagationMethod"},
    {"ACR-02", vmi, good_key,
     R"({"object":{"spec":{"accessCredentials":[{"sshPublicKey":{"source":{"secret":{"secretName":"s"}},
         "propagationMethod":{"configDrive":{}}}}]}}})",
     "FieldValueInvalid spec.accessCredentials[0].sshPublicKey.propagationMethod"},
    {"ACR-03", vmi, good_key,
     R"({"object":{"spec":{"accessCredentials":[{"sshPublicKey":{"source":{"secret":{"secretName":"s"}},
         "propagationMethod":{"qemuGuestAgent":{"users":[]}}}}]}}})",
     "FieldValueInvalid spec.accessCredentials[0].sshPublicKey.propagationMethod.qemuGuestAgent.users"},
    {"ACR-04", vmi, good_key,
     R"({"object":{"spec":{"accessCredentials":[{"sshPublicKey":{"source":{},
         "propagationMethod":{"qemuGuestAgent":{"users":["u"]}}}}]}}})",
     "FieldValueInvalid spec.accessCredentials[0].sshPublicKey.source"},
    {"ACR-05", vmi, good_key,
     R"({"object":{"spec":{"accessCredentials":[{"sshPublicKey":{"source":{"secret":{"secretName":"s"}},
         "propagationMethod":{}}}]}}})",
     "FieldValueInvalid spec.accessCredentials[0].sshPublicKey.propagationMethod"},
    {"ACR-06", vmi, good_password,
     R"({"object":{"spec":{"accessCredentials":[{"userPassword":{"source":{},
         "propagationMethod":{"qemuGuestAgent":{}}}}]}}})",
     "FieldValueInvalid spec.accessCredentials[0].userPassword.source"},
    {"ACR-07", vmi, good_password,
     R"({"object":{"spec":{"accessCredentials":[{"userPassword":{"source":{"secret":{"secretName":"s"}},
         "propagationMethod":{}}}]}}})",
     "FieldValueInvalid spec.accessCredentials[0].userPassword.propagationMethod"},
    {"ACR-08", vmi, good_key, R"({"object":{"spec":{"accessCredentials":[{}]}}})",
     "FieldValueInvalid spec.accessCredentials[0]"},
};

}  // namespace

std::span<const Example> access_credentials_examples() { return access_credentials_example_rows; }

}  // namespace vg::admission
