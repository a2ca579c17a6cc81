#include "admission/rules/examples.h"

namespace vg::admission {
namespace {

constexpr Example identity_example_rows[] = {
    {"ID-01", vmi, R"({"object":{"spec":{"hostname":"web-1"}}})", R"({"object":{"spec":{"hostname":"test+bad"}}})",
     "FieldValueInvalid spec.hostname"},
    {"ID-02", vmi, R"({"object":{"spec":{"subdomain":"db.internal"}}})",
     R"({"object":{"spec":{"subdomain":"bad+domain"}}})", "FieldValueInvalid spec.subdomain"},
    {"ID-03", vmi, R"({"object":{"spec":{"serviceAccountName":"robot"}}})",
     R"({"object":{"spec":{"serviceAccountName":"Robot"}}})", "FieldValueInvalid spec.serviceAccountName"},
    {"ID-04", vmi,
     R"({"object":{"spec":{"serviceAccountName":"robot","domain":{"devices":{"disks":[{"name":"token","disk":{}}]}},
         "volumes":[{"name":"token","serviceAccount":{"serviceAccountName":"robot"}}]}}})",
     R"({"object":{"spec":{"serviceAccountName":"robot","domain":{"devices":{"disks":[{"name":"token","disk":{}}]}},
         "volumes":[{"name":"token","serviceAccount":{"serviceAccountName":"other"}}]}}})",
     "FieldValueInvalid spec.serviceAccountName"},
};

}  // namespace

std::span<const Example> identity_examples() { return identity_example_rows; }

}  // namespace vg::admission
