#include "admission/rules/examples.h"

namespace vg::admission {
namespace {

constexpr Example lifecycle_example_rows[] = {
    {"STR-01", vmi, R"({"object":{"spec":{"startStrategy":"Paused"}}})",
     R"({"object":{"spec":{"startStrategy":"Later"}}})", "FieldValueInvalid spec.startStrategy"},
    {"STR-02", vmi, R"({"object":{"spec":{"livenessProbe":{"guestAgentPing":{}}}}})",
     R"({"object":{"spec":{"startStrategy":"Paused","livenessProbe":{"guestAgentPing":{}}}}})",
     "FieldValueInvalid spec.startStrategy"},
    {"EVI-01", vmi, R"({"object":{"spec":{"evictionStrategy":"LiveMigrateIfPossible"}}})",
     R"({"object":{"spec":{"evictionStrategy":"fantasy"}}})", "FieldValueInvalid spec.evictionStrategy"},
    {"RBT-01", vmi, "{}", R"({"object":{"spec":{"domain":{"rebootPolicy":"Terminate"}}}})",
     "FieldValueInvalid spec.domain.rebootPolicy",
     R"({"developerConfiguration":{"disabledFeatureGates":["RebootPolicy"]}})"},
};

}  // namespace

std::span<const Example> lifecycle_examples() { return lifecycle_example_rows; }

}  // namespace vg::admission
