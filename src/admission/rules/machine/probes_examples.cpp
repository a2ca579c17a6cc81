#include "admission/rules/examples.h"

namespace vg::admission {
namespace {

constexpr Example probes_example_rows[] = {
    {"PRB-01", vmi, R"({"object":{"spec":{"livenessProbe":{"exec":{"command":["true"]}}}}})",
     R"({"object":{"spec":{"livenessProbe":{"exec":{"command":["true"]},"guestAgentPing":{}}}}})",
     "FieldValueInvalid spec.livenessProbe"},
    {"PRB-02", vmi, R"({"object":{"spec":{"readinessProbe":{"guestAgentPing":{}}}}})",
     R"({"object":{"spec":{"readinessProbe":{"periodSeconds":5}}}})", "FieldValueRequired spec.readinessProbe"},
    {"PRB-03", vmi,
     R"({"object":{"spec":{"readinessProbe":{"httpGet":{"port":80}},"networks":[{"name":"n","pod":{}}],
         "domain":{"devices":{"interfaces":[{"name":"n","masquerade":{}}]}}}}})",
     R"({"object":{"spec":{"readinessProbe":{"httpGet":{"port":80}}}}})",
     "FieldValueInvalid spec.readinessProbe.httpGet"},
    {"PRB-04", vmi,
     R"({"object":{"spec":{"livenessProbe":{"tcpSocket":{"port":80}},"networks":[{"name":"n","pod":{}}],
         "domain":{"devices":{"interfaces":[{"name":"n","masquerade":{}}]}}}}})",
     R"({"object":{"spec":{"livenessProbe":{"tcpSocket":{"port":80}}}}})",
     "FieldValueInvalid spec.livenessProbe.tcpSocket"},
};

}  // namespace

std::span<const Example> probes_examples() { return probes_example_rows; }

}  // namespace vg::admission
