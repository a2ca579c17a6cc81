#include "admission/rules/examples.h"

namespace vg::admission {
namespace {

constexpr Example hyperv_example_rows[] = {
    {"HV-01", vmi,
     R"({"object":{"spec":{"domain":{"features":{"hyperv":{"evmcs":{"enabled":true},"vapic":{"enabled":true}}},
         "cpu":{"features":[{"name":"vmx","policy":"require"}]}}}}})",
     R"({"object":{"spec":{"domain":{"features":{"hyperv":{"evmcs":{"enabled":true}}}}}}})",
     "FieldValueInvalid spec.domain.features.hyperv.domain.features.hyperv.evmcs"},
    {"HV-02", vmi,
     R"({"object":{"spec":{"domain":{"features":{"hyperv":{"ipi":{"enabled":true},"vpindex":{"enabled":true}}}}}}})",
     R"({"object":{"spec":{"domain":{"features":{"hyperv":{"ipi":{"enabled":true},"vpindex":{}}}}}}})",
     "FieldValueInvalid spec.domain.features.hyperv.domain.features.hyperv.ipi"},
    {"HV-03", vmi, R"({"object":{"spec":{"domain":{"features":{"hyperv":{"tlbflush":{}}}}}}})",
     R"({"object":{"spec":{"domain":{"features":{"hyperv":{"tlbflush":{"enabled":true},"vpindex":{"enabled":false}}}}}}})",
     "FieldValueInvalid spec.domain.features.hyperv.domain.features.hyperv.tlbflush"},
    {"HV-04", vmi, R"({"object":{"spec":{"domain":{"features":{"hyperv":{"synictimer":{"enabled":false}}}}}}})",
     R"({"object":{"spec":{"domain":{"features":{"hyperv":{"synictimer":{"enabled":true}}}}}}})",
     "FieldValueInvalid spec.domain.features.hyperv.domain.features.hyperv.synictimer"},
    {"HV-05", vmi, R"({"object":{"spec":{"domain":{"features":{"hyperv":{"synic":{"enabled":false}}}}}}})",
     R"({"object":{"spec":{"domain":{"features":{"hyperv":{"synic":{"enabled":true}}}}}}})",
     "FieldValueInvalid spec.domain.features.hyperv.domain.features.hyperv.synic"},
    {"HV-06", vmi, R"({"object":{"spec":{"domain":{"features":{"hyperv":{"evmcs":{"enabled":false}}}}}}})",
     R"({"object":{"spec":{"domain":{"features":{"hyperv":{"evmcs":{}}}}}}})",
     "FieldValueRequired spec.domain.cpu.features"},
    {"HV-07", vmi,
     R"({"object":{"spec":{"domain":{"features":{"hyperv":{"evmcs":{}}},"cpu":{"features":[{"name":"aes"}]}}}}})",
     R"({"object":{"spec":{"domain":{"features":{"hyperv":{"evmcs":{}}},"cpu":{"features":[{"name":"aes"},{"name":"vmx"}]}}}}})",
     "FieldValueInvalid spec.domain.cpu.features[1].policy"},
    {"HV-08", vmi, R"({"object":{"spec":{"domain":{"features":{"hypervPassthrough":{}}}}}})",
     R"({"object":{"spec":{"domain":{"features":{"hyperv":{},"hypervPassthrough":{"enabled":false}}}}}})",
     "FieldValueInvalid spec.domain.features.hyperv"},
};

}  // namespace

std::span<const Example> hyperv_examples() { return hyperv_example_rows; }

}  // namespace vg::admission
