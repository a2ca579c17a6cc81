#include <fmt/format.h>

#include <deque>
#include <string>

#include "admission/rules/examples.h"

namespace vg::admission {
namespace {

using std::string_view;

constexpr string_view vm = "/virtualmachines-validate";

// A VM with this template of a data volume, and a volume that uses data volume d.
string_view vm_with(string_view data_volume_template) {
  static std::deque<std::string> kept;  // examples refer to their texts
  return kept.emplace_back(fmt::format(
      R"({{"object":{{"spec":{{"dataVolumeTemplates":[{}],
          "template":{{"spec":{{"volumes":[{{"name":"a","dataVolume":{{"name":"d"}}}}]}}}}}}}}}})",
      data_volume_template));
}

string_view vm_with_spec(string_view spec) {
  return vm_with(fmt::format(R"({{"metadata":{{"name":"d"}},"spec":{}}})", spec));
}

// Made when somebody asks: their texts are put together.
std::vector<Example> make_data_volume_templates_examples() {
  return {
      {"DVT-03", vm, vm_with_spec(R"({"storage":{},"source":{"blank":{}}})"),
       vm_with(R"({"metadata":{},"spec":{"storage":{},"source":{"blank":{}}}})"),
       "FieldValueRequired spec.dataVolumeTemplate[0].name"},
      {"DVT-04", vm, vm_with_spec(R"({"pvc":{},"source":{"blank":{}}})"), vm_with_spec(R"({"source":{"blank":{}}})"),
       "FieldValueInvalid spec.dataVolumeTemplate[0].PVC.Storage"},
      {"DVT-05", vm, vm_with_spec(R"({"pvc":{},"source":{"blank":{}}})"),
       vm_with_spec(R"({"pvc":{},"storage":{},"source":{"blank":{}}})"),
       "FieldValueInvalid spec.dataVolumeTemplate[0].PVC.Storage"},
      {"DVT-06", vm, vm_with_spec(R"({"storage":{"dataSource":{"kind":"PersistentVolumeClaim","name":"p"}}})"),
       vm_with_spec(R"({"storage":{"dataSource":{"kind":"PersistentVolumeClaim","name":"p"}},"source":{"blank":{}}})"),
       "FieldValueInvalid spec.dataVolumeTemplate[0].source"},
      {"DVT-07", vm, vm_with_spec(R"({"storage":{},"sourceRef":{"kind":"DataSource","name":"s"}})"),
       vm_with_spec(R"({"storage":{}})"), "FieldValueInvalid spec.dataVolumeTemplate[0].source.sourceRef"},
      {"DVT-08", vm, vm_with_spec(R"({"storage":{},"source":{"http":{"url":"u"}}})"),
       vm_with_spec(R"({"storage":{},"source":{"http":{"url":"u"},"blank":{}}})"),
       "FieldValueInvalid spec.dataVolumeTemplate[0].source"},
      {"DVT-09", vm, vm_with_spec(R"({"storage":{},"source":{"blank":{}}})"),
       vm_with(R"({"metadata":{"name":"e"},"spec":{"storage":{},"source":{"blank":{}}}})"),
       "FieldValueRequired spec.dataVolumeTemplate[0]"},
  };
}

}  // namespace

std::span<const Example> data_volume_templates_examples() {
  static const std::vector<Example> rows = make_data_volume_templates_examples();
  return rows;
}

}  // namespace vg::admission
