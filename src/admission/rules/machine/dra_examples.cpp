#include "admission/rules/examples.h"

namespace vg::admission {
namespace {

using std::string_view;

constexpr std::string_view good = R"({"object":{"spec":{
    "resourceClaims":[{"name":"c","resourceClaimName":"rc"},{"name":"d","resourceClaimTemplateName":"t.x"}],
    "domain":{"devices":{"gpus":[{"name":"g","claimName":"c","requestName":"r"},
                                 {"name":"h","claimName":"c","requestName":"s"}]}}}}})";
constexpr std::string_view good_plain =
    R"({"object":{"spec":{"domain":{"devices":{"gpus":[{"name":"g","deviceName":"d/g"}]}}}}})";
constexpr std::string_view hosts_on = R"({"developerConfiguration":{"featureGates":["HostDevices"]}})";

constexpr Example dra_example_rows[] = {
    {"DRA-01", vmi, good, R"({"object":{"spec":{"resourceClaims":[{"name":"","resourceClaimName":"rc"}]}}})",
     "FieldValueRequired spec.resourceClaims[0].name"},
    {"DRA-02", vmi, good,
     R"({"object":{"spec":{"resourceClaims":[{"name":"c","resourceClaimName":"a"},{"name":"c","resourceClaimName":"b"}]}}})",
     "FieldValueDuplicate spec.resourceClaims[1].name"},
    {"DRA-03", vmi, good, R"({"object":{"spec":{"resourceClaims":[{"name":"-c","resourceClaimName":"rc"}]}}})",
     "FieldValueInvalid spec.resourceClaims[0].name"},
    {"DRA-04", vmi, good,
     R"({"object":{"spec":{"resourceClaims":[{"name":"c","resourceClaimName":"a","resourceClaimTemplateName":"b"}]}}})",
     "FieldValueInvalid spec.resourceClaims[0]"},
    {"DRA-05", vmi, good, R"({"object":{"spec":{"resourceClaims":[{"name":"c"}]}}})",
     "FieldValueInvalid spec.resourceClaims[0]"},
    {"DRA-06", vmi, good, R"({"object":{"spec":{"resourceClaims":[{"name":"c","resourceClaimName":""}]}}})",
     "FieldValueInvalid spec.resourceClaims[0].resourceClaimName"},
    {"DRA-07", vmi, good, R"({"object":{"spec":{"resourceClaims":[{"name":"c","resourceClaimTemplateName":"T"}]}}})",
     "FieldValueInvalid spec.resourceClaims[0].resourceClaimTemplateName"},
    {"DRA-08", vmi, good,
     R"({"object":{"spec":{"domain":{"devices":{"gpus":[{"name":"g","claimName":"c","requestName":"r"},
         {"name":"h","deviceName":"d"}]}}}}})",
     "FieldValueInvalid spec.domain.devices.gpus"},
    {"DRA-09", vmi, good_plain, R"({"object":{"spec":{"domain":{"devices":{"gpus":[{"name":"g"}]}}}}})",
     "FieldValueRequired spec.domain.devices.gpus"},
    {"DRA-10", vmi, good_plain,
     R"({"object":{"spec":{"domain":{"devices":{"gpus":[{"name":"g","deviceName":"d","claimName":""}]}}}}})",
     "FieldValueInvalid spec.domain.devices.gpus"},
    {"DRA-11", vmi, good_plain, good, "FieldValueInvalid spec.domain.devices.gpus",
     R"({"developerConfiguration":{"disabledFeatureGates":["GPUsWithDRA"]}})"},
    {"DRA-12", vmi, good, R"({"object":{"spec":{"domain":{"devices":{"gpus":[{"name":"g","requestName":"r"}]}}}}})",
     "FieldValueRequired spec.domain.devices.gpus[0].claimName"},
    {"DRA-13", vmi, good, R"({"object":{"spec":{"domain":{"devices":{"gpus":[{"name":"g","claimName":""}]}}}}})",
     "FieldValueRequired spec.domain.devices.gpus[0].requestName"},
    {"DRA-14", vmi, good,
     R"({"object":{"spec":{"domain":{"devices":{"gpus":[{"name":"g","claimName":"c","requestName":"r"},
         {"name":"h","claimName":"c","requestName":"r"}]}}}}})",
     "FieldValueDuplicate spec.domain.devices.gpus[1]"},
    {"DRA-15", vmi, good,
     R"({"object":{"spec":{"domain":{"devices":{"gpus":[{"name":"g","claimName":"c","requestName":"r"}],
         "hostDevices":[{"name":"x","deviceName":"d"},{"name":"h","claimName":"c","requestName":"r"}]}}}}})",
     "FieldValueDuplicate spec.domain.devices.hostDevices[1]", hosts_on},
    {"DRA-16", vmi, good,
     R"({"object":{"spec":{"domain":{"devices":{"gpus":[{"name":"g","claimName":"c","requestName":"r"}]}}}}})",
     "FieldValueInvalid spec.resourceClaims"},
};

}  // namespace

std::span<const Example> dra_examples() { return dra_example_rows; }

}  // namespace vg::admission
