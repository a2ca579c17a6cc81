#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <vector>

#include "admission/rules/machine/testing.h"

namespace vg::admission {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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
