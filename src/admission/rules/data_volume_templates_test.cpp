#include "admission/rules/data_volume_templates.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

#include "admission/rules/machine/testing.h"

namespace vg::admission {
namespace {

using std::string_view;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr string_view vm = "/virtualmachines-validate";

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
  const Case judged{
      .context = context, .review = review, .webhook = *find_webhook(vm), .object = nullptr, .old_object = nullptr};
  const Place root, base = root.field("S");
  Causes causes;
  check_data_volume_templates(judged, &document.root(), base, causes);
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
