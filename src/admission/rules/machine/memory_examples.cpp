#include "admission/rules/examples.h"

namespace vg::admission {
namespace {

using std::string_view;

constexpr std::string_view staged = R"({"vmRolloutStrategy":"Stage"})";

constexpr Example memory_example_rows[] = {
    {"MEM-01", vmi,
     R"({"object":{"spec":{"domain":{"memory":{"guest":"1Gi"},"resources":{"requests":{"memory":"0"}}}}}})",
     R"({"object":{"spec":{"domain":{"resources":{"requests":{"memory":"-64Mi"}}}}}})",
     "FieldValueInvalid spec.domain.resources.requests.memory"},
    {"MEM-02", vmi, R"({"object":{"spec":{"domain":{"resources":{"requests":{"memory":"1M"}}}}}})",
     R"({"object":{"spec":{"domain":{"resources":{"requests":{"memory":"64m"}}}}}})",
     "FieldValueInvalid spec.domain.resources.requests.memory"},
    {"MEM-03", vmi, R"({"object":{"spec":{"domain":{"resources":{"limits":{"memory":"2Gi"}}}}}})",
     R"({"object":{"spec":{"domain":{"resources":{"limits":{"memory":"-1Gi"}}}}}})",
     "FieldValueInvalid spec.domain.resources.limits.memory"},
    {"MEM-04", vmi, R"({"object":{"spec":{"domain":{"resources":{"limits":{"memory":"1Gi"}}}}}})",
     R"({"object":{"spec":{"domain":{"resources":{"limits":{"memory":"64Mi"}}}}}})",
     "FieldValueInvalid spec.domain.resources.requests.memory"},
    {"MEM-05", vmi, R"({"object":{"spec":{"domain":{"memory":{"hugepages":{"pageSize":"2Mi"}}}}}})",
     R"({"object":{"spec":{"domain":{"memory":{"hugepages":{"pageSize":"2ab"}}}}}})",
     "FieldValueInvalid spec.domain.memory.hugepages.pageSize"},
    {"Q-08", vmi, R"({"object":{"spec":{"domain":{"memory":{"hugepages":{"pageSize":"1Gi"}}}}}})",
     R"({"object":{"spec":{"domain":{"memory":{"hugepages":{"pageSize":"0"}}}}}})",
     "FieldValueInvalid spec.domain.memory.hugepages.pageSize"},
    {"Q-10", vmi,
     R"({"object":{"spec":{"domain":{"memory":{"guest":"1Gi","hugepages":{"pageSize":"2Mi"}},"resources":{"requests":null}}}}})",
     R"({"object":{"spec":{"domain":{"memory":{"hugepages":{"pageSize":"2Mi"}},"resources":{"requests":null}}}}})",
     "FieldValueRequired spec.domain.memory.guest"},
    {"MEM-06", vmi, R"({"object":{"spec":{"domain":{"memory":{"hugepages":{"pageSize":"1Gi"}}}}}})",
     R"({"object":{"spec":{"domain":{"memory":{"hugepages":{"pageSize":"2Gi"}}}}}})",
     "FieldValueInvalid spec.domain.resources.requests.memory"},
    {"MEM-07", vmi, R"({"object":{"spec":{"domain":{"memory":{"hugepages":{"pageSize":"64Ki"}}}}}})",
     R"({"object":{"spec":{"domain":{"memory":{"hugepages":{"pageSize":"10Mi"}}}}}})",
     "FieldValueInvalid spec.domain.resources.requests.memory"},
    {"MEM-08", vmi,
     R"({"object":{"spec":{"domain":{"memory":{"guest":"1Gi"},"resources":{"limits":{"memory":"1Gi"}}}}}})",
     R"({"object":{"spec":{"domain":{"memory":{"guest":"2Gi"},"resources":{"limits":{"memory":"1Gi"}}}}}})",
     "FieldValueInvalid spec.domain.memory.guest", staged},
    {"MEM-09", vmi, R"({"object":{"spec":{"domain":{"memory":{"guest":"1Gi"},"resources":null}}}})",
     R"({"object":{"spec":{"domain":{"memory":{"maxGuest":"1Gi"},"resources":null}}}})", "FieldValueRequired "},
    {"MEM-10", vmi, "{}", R"({"object":{"spec":{"domain":{"memory":{"reservedOverhead":{}}}}}})",
     "FieldValueInvalid spec.domain.memory.reservedOverhead"},
};

}  // namespace

std::span<const Example> memory_examples() { return memory_example_rows; }

}  // namespace vg::admission
