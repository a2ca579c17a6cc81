#include "admission/rules/examples.h"

namespace vg::admission {
namespace {

constexpr Example metadata_example_rows[] = {
    {"META-01", vmi,
     R"({"userInfo":{"username":"system:serviceaccount:kubevirt:kubevirt-handler"},
         "object":{"metadata":{"labels":{"kubevirt.io/nodeName":"n"}}}})",
     R"({"userInfo":{"username":"system:serviceaccount:kubevirt:kubevirt-operator"},
         "object":{"metadata":{"labels":{"kubevirt.io/nodeName":""}}}})",
     "FieldValueNotSupported metadata.labels"},
    // Only the keys themselves are kept back, not what begins like them.
    {"META-01", vmi, R"({"object":{"metadata":{"labels":{"kubevirt.io/node":"n"}}}})",
     R"({"object":{"metadata":{"labels":{"kubevirt.io/created-by":"me"}}}})", "FieldValueNotSupported metadata.labels"},
    {"META-02", vmi, R"({"object":{"metadata":{"annotations":{"kubevirt.io/ignitiondata":""}}}})",
     R"({"object":{"metadata":{"annotations":{"kubevirt.io/ignitiondata":"{}"}}}})",
     "FieldValueInvalid metadata.annotations"},
    {"META-02", vmi, R"({"object":{"metadata":{"annotations":{"hooks.kubevirt.io/hookSidecars":"no JSON"}}}})",
     R"({"object":{"metadata":{"annotations":{"hooks.kubevirt.io/hookSidecars":"x","kubevirt.io/ignitiondata":"y"}}}})",
     "FieldValueInvalid metadata.annotations", R"({"developerConfiguration":{"featureGates":["Sidecar"]}})"},
    {"META-03", vmi, "{}", R"({"object":{"metadata":{"annotations":{"hooks.kubevirt.io/hookSidecars":"[]"}}}})",
     "FieldValueInvalid metadata.annotations"},
};

}  // namespace

std::span<const Example> metadata_examples() { return metadata_example_rows; }

}  // namespace vg::admission
