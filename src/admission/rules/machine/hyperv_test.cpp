#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <vector>

#include "admission/rules/example.h"
#include "admission/rules/machine/testing.h"

namespace vg::admission {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const bool added = add_examples({
    {"HV-01", vmi,
     R"({"object":{"spec":{"domain":{"features":{"hyperv":{"evmcs":{"enabled":true},"vapic":{"enabled":true}}},
         "cpu":{"features":[{"name":"vmx","policy":"require"}]}}}}})",
     R"({"object":{"spec":{"domain":{"features":{"hyperv":{"evmcs":{"enabled":true}}}}}}})",
     "FieldValueInvalid spec.domain.features.hyperv.domain.features.hyperv.evmcs"},
    {"HV-02", vmi,
     R"({"object":{"spec":{"domain":{"features":{"hyperv":{"ipi":{"enabled":true},"vpindex":{"enabled":true}}}}}}})",
     R"({"object":{"spec":{"domain":{"features":{"hyperv":{"ipi":{"enabled":true},"vpindex":{}}}}}}})",
     "FieldValueInvalid spec.domain.features.hyperv.domain.features.hyperv.ipi"},
    {"HV-03", vmi, R"({"object":{"spec":{"domain":{"features":{"hyperv":{"tlbflush":{}}}}}}})",
     R"({"object":{"spec":{"domain":{"features":{"hyperv":{"tlbflush":{"enabled":true},"vpindex":{"enabled":false}}}}}}})",
     "FieldValueInvalid spec.domain.features.hyperv.domain.features.hyperv.tlbflush"},
    {"HV-04", vmi, R"({"object":{"spec":{"domain":{"features":{"hyperv":{"synictimer":{"enabled":false}}}}}}})",
     R"({"object":{"spec":{"domain":{"features":{"hyperv":{"synictimer":{"enabled":true}}}}}}})",
     "FieldValueInvalid spec.domain.features.hyperv.domain.features.hyperv.synictimer"},
    {"HV-05", vmi, R"({"object":{"spec":{"domain":{"features":{"hyperv":{"synic":{"enabled":false}}}}}}})",
     R"({"object":{"spec":{"domain":{"features":{"hyperv":{"synic":{"enabled":true}}}}}}})",
     "FieldValueInvalid spec.domain.features.hyperv.domain.features.hyperv.synic"},
    {"HV-06", vmi, R"({"object":{"spec":{"domain":{"features":{"hyperv":{"evmcs":{"enabled":false}}}}}}})",
     R"({"object":{"spec":{"domain":{"features":{"hyperv":{"evmcs":{}}}}}}})",
     "FieldValueRequired spec.domain.cpu.features"},
    {"HV-07", vmi,
     R"({"object":{"spec":{"domain":{"features":{"hyperv":{"evmcs":{}}},"cpu":{"features":[{"name":"aes"}]}}}}})",
     R"({"object":{"spec":{"domain":{"features":{"hyperv":{"evmcs":{}}},"cpu":{"features":[{"name":"aes"},{"name":"vmx"}]}}}}})",
     "FieldValueInvalid spec.domain.cpu.features[1].policy"},
    {"HV-08", vmi, R"({"object":{"spec":{"domain":{"features":{"hypervPassthrough":{}}}}}})",
     R"({"object":{"spec":{"domain":{"features":{"hyperv":{},"hypervPassthrough":{"enabled":false}}}}}})",
     "FieldValueInvalid spec.domain.features.hyperv"},
});

std::vector<std::string> told(std::string_view hyperv, std::string_view cpu = "{}") {
  return testing::told_by(
      hyperv_family,
      fmt::format(R"({{"domain":{{"devices":{{}},"features":{{"hyperv":{}}},"cpu":{}}}}})", hyperv, cpu));
}

TEST(HypervRulesTest, OnlyWhatIsSwitchedOnInSoManyWordsNeedsOthers) {
  EXPECT_THAT(told(R"({"ipi":{},"tlbflush":{},"synic":{},"synictimer":{}})"), IsEmpty());
  // What a feature needs may need something itself.
  EXPECT_THAT(told(R"({"synictimer":{"enabled":true},"synic":{"enabled":true}})"),
              ElementsAre("Invalid spec.domain.features.hyperv.domain.features.hyperv.synic"));
}

TEST(HypervRulesTest, EvmcsIsOnForTheProcessorWhereItIsNamed) {
  EXPECT_THAT(told(R"({"evmcs":{"enabled":true}})"),
              ElementsAre("Invalid spec.domain.features.hyperv.domain.features.hyperv.evmcs",
                          "Required spec.domain.cpu.features"));
  EXPECT_THAT(told(R"({"evmcs":{}})", R"({"features":[{"name":"vmx","policy":"forbid"},{"name":"vmx"}]})"),
              ElementsAre("Invalid spec.domain.cpu.features[0].policy", "Invalid spec.domain.cpu.features[1].policy"));
  EXPECT_THAT(told(R"({"evmcs":{}})", R"({"features":[{"name":"vmx","policy":"require"}]})"), IsEmpty());
  EXPECT_THAT(told(R"({"evmcs":{"enabled":false}})", R"({"features":[{"name":"vmx"}]})"), IsEmpty());
}

}  // namespace
}  // namespace vg::admission
