#include "admission/rules/examples.h"

namespace vg::admission {
namespace {

constexpr Example plugin_example_rows[] = {
    {"PL05", "/plugin-validate", R"({"object":{"spec":{"condition":"vmi.Spec.Domain.CPU.Cores > 2u"}}})",
     R"({"object":{"spec":{"condition":"vmi.spec.domain"}}})", "FieldValueInvalid spec.condition"},
    {"PL06", "/plugin-validate", R"({"object":{"spec":{"domainHooks":[{"cel":{"expression":"Domain{Title: 'a'}"}}]}}})",
     R"({"object":{"spec":{"domainHooks":[{"cel":{"expression":"vmi"}}]}}})",
     "FieldValueInvalid spec.domainHooks[0].cel.expression"},
    {"PL07", "/plugin-validate", R"({"object":{"spec":{"domainHooks":[{"condition":"domainSpec.Title == 'a'"}]}}})",
     R"({"object":{"spec":{"domainHooks":[{},{"condition":"vmi.Name"}]}}})",
     "FieldValueInvalid spec.domainHooks[1].condition"},
    {"PL09", "/plugin-validate", R"({"object":{"spec":{"nodeHooks":[{"condition":"vmi.spec.domain.cpu.cores > 2"}]}}})",
     R"({"object":{"spec":{"nodeHooks":[{"condition":"vmi.Name == 'a'"}]}}})",
     "FieldValueInvalid spec.nodeHooks[0].condition"},
};

}  // namespace

std::span<const Example> plugin_examples() { return plugin_example_rows; }

}  // namespace vg::admission
