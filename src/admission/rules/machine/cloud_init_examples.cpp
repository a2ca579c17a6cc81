#include <fmt/format.h>

#include <deque>
#include <string>

#include "admission/rules/examples.h"

namespace vg::admission {
namespace {

using std::string_view;

constexpr string_view source_field = "FieldValueInvalid spec.volumes[0].cloudInitNoCloud";

// A machine with one disk that holds this.
string_view no_cloud(string_view source) {
  static std::deque<std::string> kept;  // examples refer to their texts
  return kept.emplace_back(fmt::format(
      R"({{"object":{{"spec":{{"domain":{{"devices":{{"disks":[{{"name":"a","disk":{{"bus":"virtio"}}}}]}}}},
          "volumes":[{{"name":"a","cloudInitNoCloud":{}}}]}}}}}})",
      source));
}

// Made when somebody asks: their texts are put together.
std::vector<Example> make_cloud_init_examples() {
  return {
      {"CLI-01", vmi, no_cloud(R"({"userDataBase64":"YQ=="})"), no_cloud(R"({"userDataBase64":"YQ"})"),
       "FieldValueInvalid spec.volumes[0].cloudInitNoCloud.userDataBase64"},
      {"CLI-02", vmi, no_cloud(R"({"userData":"a","networkData":"b"})"),
       no_cloud(R"({"userData":"a","secretRef":{"name":"s"}})"), source_field},
      {"CLI-03", vmi, no_cloud(fmt::format(R"({{"userData":"{}"}})", std::string(2048, 'u'))),
       no_cloud(fmt::format(R"({{"userData":"{}"}})", std::string(2049, 'u'))), source_field},
      {"CLI-04", vmi, no_cloud(R"({"networkDataBase64":"Y\nQ=="})"), no_cloud(R"({"networkDataBase64":"%%%"})"),
       "FieldValueInvalid spec.volumes[0].cloudInitNoCloud.networkDataBase64"},
      {"CLI-05", vmi, no_cloud(R"({"networkDataSecretRef":{"name":"s"}})"),
       no_cloud(R"({"networkData":"a","networkDataBase64":"YQ=="})"), source_field},
      {"CLI-06", vmi, no_cloud(fmt::format(R"({{"networkData":"{}"}})", std::string(2048, 'n'))),
       no_cloud(fmt::format(R"({{"networkData":"{}"}})", std::string(2049, 'n'))), source_field},
      {"CLI-07", vmi, no_cloud(R"({"secretRef":{"name":"s"}})"), no_cloud(R"({"secretRef":{"name":""}})"),
       source_field},
  };
}

}  // namespace

std::span<const Example> cloud_init_examples() {
  static const std::vector<Example> rows = make_cloud_init_examples();
  return rows;
}

}  // namespace vg::admission
