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
    {"DNS-02", vmi, R"({"object":{"spec":{"dnsPolicy":"None","dnsConfig":{"nameservers":["10.0.0.1"]}}}})",
     R"({"object":{"spec":{"dnsPolicy":"None"}}})", "FieldValueRequired spec.dnsConfig"},
    {"DNS-03", vmi, R"({"object":{"spec":{"dnsPolicy":"Default","dnsConfig":{}}}})",
     R"({"object":{"spec":{"dnsPolicy":"None","dnsConfig":{"searches":["a"]}}}})", "FieldValueRequired nameservers"},
    {"DNS-04", vmi, R"({"object":{"spec":{"dnsConfig":{"nameservers":["::1","1.1.1.1","8.8.8.8"]}}}})",
     R"({"object":{"spec":{"dnsConfig":{"nameservers":["::1","1.1.1.1","8.8.8.8","9.9.9.9"]}}}})",
     "FieldValueInvalid nameservers"},
    {"DNS-05", vmi, R"({"object":{"spec":{"dnsConfig":{"nameservers":["010.001.002.003"]}}}})",
     R"({"object":{"spec":{"dnsConfig":{"nameservers":["fe80::1%eth0"]}}}})", "FieldValueInvalid nameservers"},
    {"DNS-06", vmi, R"({"object":{"spec":{"dnsConfig":{"searches":["a","b","c","d","e","f"]}}}})",
     R"({"object":{"spec":{"dnsConfig":{"searches":["a","b","c","d","e","f","g"]}}}})",
     "FieldValueInvalid searchDomains"},
    {"DNS-07", vmi, R"({"object":{"spec":{"dnsConfig":{"searches":["example.com"]}}}})",
     R"({"object":{"spec":{"dnsConfig":{"searches":[
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
         "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"]}}}})",
     "FieldValueInvalid searchDomains"},
    {"DNS-08", vmi, R"({"object":{"spec":{"dnsConfig":{"searches":["svc.cluster.local"]}}}})",
     R"({"object":{"spec":{"dnsConfig":{"searches":["a."]}}}})", "FieldValueInvalid searchDomains"},
    {"DNS-09", vmi, R"({"object":{"spec":{"dnsConfig":{"options":[{"name":"ndots"}]}}}})",
     R"({"object":{"spec":{"dnsConfig":{"options":[{"value":"2"}]}}}})", "FieldValueInvalid options"},
});

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
