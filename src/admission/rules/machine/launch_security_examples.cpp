#include "admission/rules/examples.h"

namespace vg::admission {
namespace {

using std::string_view;

constexpr std::string_view tdx_on = R"({"developerConfiguration":{"featureGates":["WorkloadEncryptionTDX"]}})";
constexpr std::string_view sev_off = R"({"developerConfiguration":{"disabledFeatureGates":["WorkloadEncryptionSEV"]}})";
constexpr std::string_view refused = "FieldValueInvalid spec.launchSecurity";
constexpr std::string_view good_sev = R"({"object":{"spec":{"domain":{"launchSecurity":{"sev":{}},
    "firmware":{"bootloader":{"efi":{"secureBoot":false}}}}}}})";
constexpr std::string_view good_tdx = R"({"object":{"spec":{"domain":{"launchSecurity":{"tdx":{}},
    "firmware":{"bootloader":{"efi":{}}}}}}})";

constexpr Example launch_security_example_rows[] = {
    {"LS-01", vmi, good_sev,
     R"({"object":{"spec":{"architecture":"arm64","domain":{"machine":{"type":"virt"},"launchSecurity":{"sev":{}}}}}})",
     "FieldValueInvalid spec.architecture"},
    {"LS-02", vmi,
     R"({"object":{"spec":{"architecture":"s390x","domain":{"machine":{"type":"s390-ccw-virtio"},"launchSecurity":{}}}}})",
     R"({"object":{"spec":{"domain":{"launchSecurity":{}}}}})", "FieldValueForbidden spec.launchSecurity"},
    {"LS-03", vmi, "{}", good_sev, refused, sev_off},
    {"LS-04", vmi, good_tdx,
     R"({"object":{"spec":{"domain":{"launchSecurity":{"tdx":{}},"features":{"smm":{}},
         "firmware":{"bootloader":{"efi":{}}}}}}})",
     refused, tdx_on},
    {"LS-05", vmi, good_sev, R"({"object":{"spec":{"domain":{"launchSecurity":{"sev":{}}}}}})", refused},
    {"LS-06", vmi, good_sev,
     R"({"object":{"spec":{"domain":{"launchSecurity":{"snp":{}},"firmware":{"bootloader":{"efi":{}}}}}}})", refused},
    {"LS-07", vmi,
     R"({"object":{"spec":{"domain":{"launchSecurity":{"sev":{}},
         "firmware":{"bootloader":{"efi":{"secureBoot":false,"persistent":true}}}}}}})",
     R"({"object":{"spec":{"domain":{"launchSecurity":{"snp":{}},
         "firmware":{"bootloader":{"efi":{"secureBoot":false,"persistent":true}}}}}}})",
     refused},
    {"LS-08", vmi,
     R"({"object":{"spec":{"startStrategy":"Paused","domain":{"launchSecurity":{"sev":{"attestation":{}}},
         "firmware":{"bootloader":{"efi":{"secureBoot":false}}}}}}})",
     R"({"object":{"spec":{"domain":{"launchSecurity":{"sev":{"attestation":{}}},
         "firmware":{"bootloader":{"efi":{"secureBoot":false}}}}}}})",
     refused},
    {"LS-09", vmi, good_sev,
     R"({"object":{"spec":{"networks":[{"name":"n","pod":{}}],"domain":{"launchSecurity":{"sev":{}},
         "firmware":{"bootloader":{"efi":{"secureBoot":false}}},
         "devices":{"interfaces":[{"name":"n","masquerade":{},"bootOrder":1}]}}}}})",
     refused},
};

}  // namespace

std::span<const Example> launch_security_examples() { return launch_security_example_rows; }

}  // namespace vg::admission
