#include "admission/rules/data_volume_templates.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <deque>
#include <string>

#include "admission/rules/example.h"
#include "admission/rules/machine/testing.h"

namespace vg::admission {
namespace {

using std::string_view;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

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

const bool added = add_examples({
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
});

// What is told of these templates; the machine's volumes use data volume d and claim c.
std::vector<std::string> told(string_view templates) {
  json::Document document = testing::parsed(fmt::format(R"({{"dataVolumeTemplates":{},"template":{{"spec":{{"volumes":[
                       {{"name":"a","dataVolume":{{"name":"d"}}}},
                       {{"name":"b","persistentVolumeClaim":{{"claimName":"c"}}}},{{"name":"e"}}]}}}}}})",
                                                        templates));
  const config::ConfigPtr config = testing::configuration("{}");
  const testing::KnownObjects known;
  const Context context{.config = *config,
                        .lookups = known,
                        .randomness = system_randomness(),
                        .own_namespace = "kubevirt",
                        .now = {},
                        .storage = document.storage()};
  const Review review;
  const Case about{
      .context = context, .review = review, .webhook = *find_webhook(vm), .object = nullptr, .old_object = nullptr};
  const Place root, base = root.field("S");
  Causes causes;
  check_data_volume_templates(about, &document.root(), base, causes);
  return testing::told(causes);
}

TEST(DataVolumeTemplatesTest, FirstDefectOfEachIsTold) {
  EXPECT_THAT(told(R"([{"metadata":{}},{"metadata":{"name":"x"}},{"metadata":{"name":"x"},"spec":{"pvc":{},"source":{
                        "blank":{}}}},{"metadata":{"name":"c"},"spec":{"pvc":{},"source":{"blank":{}}}}])"),
              ElementsAre("Required S.dataVolumeTemplate[0].name", "Invalid S.dataVolumeTemplate[1].PVC.Storage",
                          "Required S.dataVolumeTemplate[2]"));
}

TEST(DataVolumeTemplatesTest, OriginsOfClaims) {
  const auto of = [](string_view spec) {
    return told(fmt::format(R"([{{"metadata":{{"name":"d"}},"spec":{}}}])", spec));
  };
  EXPECT_THAT(of(R"({"pvc":{"dataSourceRef":{"kind":"k","name":"n"}}})"), IsEmpty());
  EXPECT_THAT(of(R"({"pvc":{"dataSourceRef":{"kind":"k","name":"n"}},"sourceRef":{"kind":"k","name":"n"}})"),
              ElementsAre("Invalid S.dataVolumeTemplate[0].source"));
  EXPECT_THAT(of(R"({"storage":{},"source":{}})"), ElementsAre("Invalid S.dataVolumeTemplate[0].source"));
  EXPECT_THAT(of(R"({"storage":{}})"), ElementsAre("Invalid S.dataVolumeTemplate[0].source.sourceRef"));
  for (const char* kind : {"http", "s3", "gcs", "registry", "pvc", "upload", "blank", "imageio", "vddk", "snapshot"})
    EXPECT_THAT(of(fmt::format(R"({{"storage":{{}},"source":{{"{}":{{}}}}}})", kind)), IsEmpty()) << kind;
}

}  // namespace
}  // namespace vg::admission
