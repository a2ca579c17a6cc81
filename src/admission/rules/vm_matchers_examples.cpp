#include "admission/rules/examples.h"

namespace vg::admission {
namespace {

using std::string_view;

constexpr std::string_view vm = "/virtualmachines-mutate";

#define UPDATED(now, before) R"({"operation":"UPDATE","object":{"spec":)" now R"(},"oldObject":{"spec":)" before "}}"

constexpr Example vm_matchers_example_rows[] = {
    {"M01", vm,
     UPDATED(R"({"instancetype":{"name":"b","revisionName":"s"}})",
             R"({"instancetype":{"name":"a","revisionName":"r"}})"),
     UPDATED(R"({"instancetype":{"name":"b","revisionName":"r"}})",
             R"({"instancetype":{"name":"a","revisionName":"r"}})"),
     "FieldValueInvalid spec.instancetype.revisionName"},
    {"M02", vm,
     UPDATED(R"({"preference":{"name":"b","revisionName":"s"}})", R"({"preference":{"name":"a","revisionName":"r"}})"),
     UPDATED(R"({"preference":{"name":"b","revisionName":"r"}})", R"({"preference":{"name":"a","revisionName":"r"}})"),
     "FieldValueInvalid spec.preference.revisionName"},
    {"M03", vm, R"({"object":{"spec":{"instancetype":{"name":"a"}}}})",
     R"({"object":{"spec":{"instancetype":{"kind":"VirtualMachineInstancetype"}}}})",
     "FieldValueNotFound spec.instancetype"},
    {"M04", vm, R"({"object":{"spec":{"instancetype":{"name":"a"}}}})",
     R"({"object":{"spec":{"instancetype":{"name":"a","inferFromVolume":"v"}}}})",
     "FieldValueNotSupported spec.instancetype.name"},
    {"M05", vm, R"({"object":{"spec":{"instancetype":{"name":"a","kind":"VirtualMachineInstancetype"}}}})",
     R"({"object":{"spec":{"instancetype":{"kind":"VirtualMachineInstancetype","inferFromVolume":"v"}}}})",
     "FieldValueNotSupported spec.instancetype.kind"},
    {"M06", vm, R"({"object":{"spec":{"instancetype":{"name":"a","inferFromVolumeFailurePolicy":"Ignore"}}}})",
     R"({"object":{"spec":{"instancetype":{"name":"a","inferFromVolumeFailurePolicy":"Guess"}}}})",
     "FieldValueInvalid spec.instancetype.inferFromVolumeFailurePolicy"},
    {"M07", vm, R"({"object":{"spec":{"preference":{"name":"a"}}}})", R"({"object":{"spec":{"preference":{}}}})",
     "FieldValueNotFound spec.preference"},
    {"M08", vm, R"({"object":{"spec":{"preference":{"name":"a"}}}})",
     R"({"object":{"spec":{"preference":{"name":"a","inferFromVolume":"v"}}}})",
     "FieldValueNotSupported spec.preference.name"},
    {"M09", vm, R"({"object":{"spec":{"preference":{"name":"a","kind":"VirtualMachinePreference"}}}})",
     R"({"object":{"spec":{"preference":{"kind":"VirtualMachinePreference","inferFromVolume":"v"}}}})",
     "FieldValueNotSupported spec.preference.kind"},
    {"M10", vm, R"({"object":{"spec":{"preference":{"name":"a","inferFromVolumeFailurePolicy":"Reject"}}}})",
     R"({"object":{"spec":{"preference":{"name":"a","inferFromVolumeFailurePolicy":""}}}})",
     "FieldValueInvalid spec.preference.inferFromVolumeFailurePolicy"},
};

}  // namespace

std::span<const Example> vm_matchers_examples() { return vm_matchers_example_rows; }

}  // namespace vg::admission
