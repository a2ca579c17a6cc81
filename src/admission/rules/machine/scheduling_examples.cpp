#include "admission/rules/examples.h"

namespace vg::admission {
namespace {

using std::string_view;

#define REQUIRED_NODES(terms)                                                                                                       \
  R"({"object":{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)" terms \
  R"(]}}}}}})"
#define PREFERRED_NODES(weight)                                                                                                            \
  R"({"object":{"spec":{"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"preference":{},"weight":)" weight \
  R"(}]}}}}})"
#define REQUIRED_PODS(term) \
  R"({"object":{"spec":{"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)" term R"(]}}}}})"
#define PREFERRED_PODS(weight)                                                                                                                                         \
  R"({"object":{"spec":{"affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"podAffinityTerm":{"topologyKey":"zone"},"weight":)" weight \
  R"(}]}}}}})"
#define SPREAD(constraints) R"({"object":{"spec":{"topologySpreadConstraints":[)" constraints R"(]}}})"
#define TERMS "spec.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
#define PODS "spec.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
#define CONSTRAINTS "spec.topologySpreadConstraints"

constexpr Example scheduling_example_rows[] = {
    {"AFF-01", vmi, REQUIRED_NODES("{}"), REQUIRED_NODES(""), "FieldValueInvalid " TERMS},
    {"AFF-02", vmi, REQUIRED_NODES(R"({"matchExpressions":[{"key":"a","operator":"In","values":["b"]}]})"),
     REQUIRED_NODES(R"({"matchExpressions":[{"key":"a","operator":"In"}]})"),
     "FieldValueInvalid " TERMS "[0].matchExpressions[0].values"},
    {"AFF-03", vmi, REQUIRED_NODES(R"({"matchExpressions":[{"key":"a","operator":"Exists"}]})"),
     REQUIRED_NODES(R"({"matchExpressions":[{"key":"a","operator":"Exists","values":["b"]}]})"),
     "FieldValueInvalid " TERMS "[0].matchExpressions[0].values"},
    {"AFF-04", vmi, REQUIRED_NODES(R"({"matchExpressions":[{"key":"a","operator":"Gt","values":["x"]}]})"),
     REQUIRED_NODES(R"({"matchExpressions":[{"key":"a","operator":"Gt","values":["1","2"]}]})"),
     "FieldValueInvalid " TERMS "[0].matchExpressions[0].values"},
    {"AFF-05", vmi, REQUIRED_NODES(R"({"matchExpressions":[{"key":"a","operator":"DoesNotExist"}]})"),
     REQUIRED_NODES(R"({"matchExpressions":[{"key":"a"}]})"),
     "FieldValueInvalid " TERMS "[0].matchExpressions[0].operator"},
    {"AFF-06", vmi, REQUIRED_NODES(R"({"matchExpressions":[{"key":"a.b/c","operator":"Exists"}]})"),
     REQUIRED_NODES(R"({"matchExpressions":[{"key":"a b","operator":"Exists"}]})"),
     "FieldValueInvalid " TERMS "[0].matchExpressions[0].key"},
    {"AFF-07", vmi, REQUIRED_NODES(R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["n"]}]})"),
     REQUIRED_NODES(R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["n","m"]}]})"),
     "FieldValueInvalid " TERMS "[0].matchFields[0].values"},
    {"AFF-08", vmi, REQUIRED_NODES(R"({"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["n"]}]})"),
     REQUIRED_NODES(R"({"matchFields":[{"key":"metadata.name","operator":"Exists"}]})"),
     "FieldValueInvalid " TERMS "[0].matchFields[0].operator"},
    {"AFF-09", vmi, "{}", REQUIRED_NODES(R"({"matchFields":[{"key":"metadata.uid","operator":"In","values":["n"]}]})"),
     "FieldValueInvalid " TERMS "[0].matchFields[0].key"},
    {"AFF-10", vmi, "{}", REQUIRED_NODES(R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["N"]}]})"),
     "FieldValueInvalid " TERMS "[0].matchFields[0].values[0]"},
    {"AFF-11", vmi, PREFERRED_NODES("100"), PREFERRED_NODES("101"),
     "FieldValueInvalid spec.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight"},
    {"AFF-12", vmi, PREFERRED_PODS("1"), PREFERRED_PODS("255"),
     "FieldValueInvalid spec.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight"},
    {"AFF-13", vmi, REQUIRED_PODS(R"({"topologyKey":"zone","labelSelector":{"matchLabels":{"a":"b"}}})"),
     REQUIRED_PODS(R"({"topologyKey":"zone","labelSelector":{"matchLabels":{"a":"b c"}}})"),
     "FieldValueInvalid " PODS ".labelSelector.matchLabels", "{}", "LSL-02"},
    {"AFF-14", vmi, REQUIRED_PODS(R"({"topologyKey":"zone","namespaceSelector":{}})"),
     REQUIRED_PODS(R"({"topologyKey":"zone","namespaceSelector":{"matchLabels":{"a b":"c"}}})"),
     "FieldValueInvalid " PODS ".namespaceSelector.matchLabels", "{}", "LSL-01"},
    {"AFF-15", vmi, REQUIRED_PODS(R"({"topologyKey":"zone","namespaces":["prod"]})"),
     REQUIRED_PODS(R"({"topologyKey":"zone","namespaces":["prod","Test"]})"), "FieldValueInvalid " PODS ".namespace"},
    {"AFF-16", vmi, REQUIRED_PODS(R"({"topologyKey":"kubernetes.io/hostname"})"), REQUIRED_PODS("{}"),
     "FieldValueInvalid " PODS ".topologyKey"},
    {"AFF-17", vmi, REQUIRED_PODS(R"({"topologyKey":"zone"})"), REQUIRED_PODS(R"({"topologyKey":"zone=a"})"),
     "FieldValueInvalid " PODS ".topologyKey"},
    {"LSL-01", vmi, "{}", REQUIRED_PODS(R"({"topologyKey":"zone","labelSelector":{"matchLabels":{"a/b/c":"d"}}})"),
     "FieldValueInvalid " PODS ".labelSelector.matchLabels"},
    {"LSL-02", vmi, REQUIRED_PODS(R"({"topologyKey":"zone","labelSelector":{"matchLabels":{"a":""}}})"),
     REQUIRED_PODS(R"({"topologyKey":"zone","labelSelector":{"matchLabels":{"a":"-"}}})"),
     "FieldValueInvalid " PODS ".labelSelector.matchLabels"},
    {"LSL-03", vmi,
     REQUIRED_PODS(
         R"({"topologyKey":"zone","labelSelector":{"matchExpressions":[{"key":"a","operator":"NotIn","values":[""]}]}})"),
     REQUIRED_PODS(R"({"topologyKey":"zone","labelSelector":{"matchExpressions":[{"key":"a","operator":"NotIn"}]}})"),
     "FieldValueInvalid " PODS ".labelSelector.matchExpressions[0].values"},
    {"LSL-04", vmi, "{}",
     REQUIRED_PODS(
         R"({"topologyKey":"zone","labelSelector":{"matchExpressions":[{"key":"a","operator":"Exists","values":["b"]}]}})"),
     "FieldValueInvalid " PODS ".labelSelector.matchExpressions[0].values"},
    {"LSL-05", vmi, "{}",
     REQUIRED_PODS(
         R"({"topologyKey":"zone","labelSelector":{"matchExpressions":[{"key":"a","operator":"Gt","values":["1"]}]}})"),
     "FieldValueInvalid " PODS ".labelSelector.matchExpressions[0].operator"},
    {"LSL-06", vmi, "{}",
     REQUIRED_PODS(R"({"topologyKey":"zone","labelSelector":{"matchExpressions":[{"key":"","operator":"Exists"}]}})"),
     "FieldValueInvalid " PODS ".labelSelector.matchExpressions[0].key"},
    {"LSL-07", vmi, "{}",
     REQUIRED_PODS(
         R"({"topologyKey":"zone","labelSelector":{"matchExpressions":[{"key":"a","operator":"In","values":["b","c d"]}]}})"),
     "FieldValueInvalid " PODS ".labelSelector.matchExpressions[0].values[1]"},
    {"TSC-01", vmi, SPREAD(R"({"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"})"),
     SPREAD(R"({"maxSkew":0,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"})"),
     "FieldValueInvalid " CONSTRAINTS "[0].maxSkew"},
    {"TSC-02", vmi, "{}", SPREAD(R"({"maxSkew":1,"topologyKey":"","whenUnsatisfiable":"DoNotSchedule"})"),
     "FieldValueInvalid " CONSTRAINTS "[0].topologyKey"},
    {"TSC-03", vmi, SPREAD(R"({"maxSkew":1,"topologyKey":"a.b/zone","whenUnsatisfiable":"DoNotSchedule"})"),
     SPREAD(R"({"maxSkew":1,"topologyKey":"a b","whenUnsatisfiable":"DoNotSchedule"})"),
     "FieldValueInvalid " CONSTRAINTS "[0].topologyKey"},
    {"TSC-04", vmi, SPREAD(R"({"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway"})"),
     SPREAD(R"({"maxSkew":1,"topologyKey":"zone"})"), "FieldValueInvalid " CONSTRAINTS "[0].whenUnsatisfiable"},
    {"TSC-05", vmi, "{}",
     SPREAD(
         R"({"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"a":"b c"}}})"),
     "FieldValueInvalid " CONSTRAINTS ".labelSelector.matchLabels", "{}", "LSL-02"},
    {"TSC-06", vmi,
     SPREAD(
         R"({"maxSkew":1,"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule"},{"maxSkew":1,"topologyKey":"a","whenUnsatisfiable":"ScheduleAnyway"})"),
     SPREAD(
         R"({"maxSkew":1,"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule"},{"maxSkew":2,"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule"})"),
     "FieldValueInvalid " CONSTRAINTS "[0].{topologyKey, whenUnsatisfiable}"},
};

}  // namespace

std::span<const Example> scheduling_examples() { return scheduling_example_rows; }

}  // namespace vg::admission
