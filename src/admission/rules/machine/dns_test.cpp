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

std::vector<std::string> told(std::string_view policy, std::string_view config) {
  return testing::told_by(
      dns_family, fmt::format(R"({{"domain":{{"devices":{{}}}},"dnsPolicy":"{}","dnsConfig":{}}})", policy, config));
}

// The schema of the webhook lets no other policy through, so no review can show it.
TEST(DnsRulesTest, AnUnknownPolicyStopsNothing) {
  EXPECT_THAT(told("Mine", R"({"nameservers":["x"]})"),
              ElementsAre("NotSupported spec.dnsPolicy", "Invalid nameservers"));
  EXPECT_THAT(told("", "null"), IsEmpty());
}

TEST(DnsRulesTest, WithoutClusterDnsWhatIsMissingEndsIt) {
  EXPECT_THAT(told("None", "null"), ElementsAre("Required spec.dnsConfig"));
  EXPECT_THAT(told("None", R"({"searches":["!"],"options":[{}]})"), ElementsAre("Required nameservers"));
}

TEST(DnsRulesTest, EveryDefectCounts) {
  EXPECT_THAT(told("", R"({"nameservers":["a","b"],"options":[{},{"name":"x"},{}]})"),
              ElementsAre("Invalid nameservers", "Invalid nameservers", "Invalid options", "Invalid options"));
  // Too long and of the wrong shape.
  EXPECT_THAT(told("", fmt::format(R"({{"searches":["{}"]}})", std::string(254, 'A'))),
              ElementsAre("Invalid searchDomains", "Invalid searchDomains"));
}

TEST(DnsRulesTest, SearchDomainsTakeAtMost256BytesWithTheirBlanks) {
  const auto told_of = [](std::size_t first, std::size_t second) {
    return told("", fmt::format(R"({{"searches":["{}","{}"]}})", std::string(first, 'a'), std::string(second, 'b')));
  };
  EXPECT_THAT(told_of(128, 127), IsEmpty());
  EXPECT_THAT(told_of(128, 128), ElementsAre("Invalid searchDomains"));
}

}  // namespace
}  // namespace vg::admission
