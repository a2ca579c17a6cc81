// Networks and interfaces: what a single example of a rule does not show.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <string_view>

#include "admission/rules/machine/testing.h"

namespace vg::admission {
namespace {

using std::string_view;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::told_by;

// A spec with these two lists, and more members if need be.
std::string spec(string_view networks, string_view interfaces, string_view more = "") {
  return fmt::format(R"({{"networks":{},"domain":{{"devices":{{"interfaces":{}}}}}{}}})", networks, interfaces, more);
}

constexpr string_view pod = R"([{"name":"n","pod":{}}])";
constexpr string_view multus = R"([{"name":"n","multus":{"networkName":"x"}}])";
constexpr string_view claimed = R"([{"name":"n","resourceClaim":{"claimName":"c","requestName":"r"}}])";
constexpr string_view bridge = R"([{"name":"n","bridge":{}}])";
constexpr string_view masquerade = R"([{"name":"n","masquerade":{}}])";
constexpr string_view sriov = R"([{"name":"n","sriov":{}}])";
constexpr string_view claims = R"(,"resourceClaims":[{"name":"c","resourceClaimName":"of-a-nic"}])";

constexpr string_view with_dra = R"({"developerConfiguration":{"featureGates":["NetworkDevicesWithDRA"]}})";
constexpr string_view with_ranges = R"({"developerConfiguration":{"featureGates":["PortRangesSpec"]}})";

std::string ports(string_view list) { return fmt::format(R"([{{"name":"n","masquerade":{{}},"ports":{}}}])", list); }
std::string ranges(string_view list) {
  return fmt::format(R"([{{"name":"n","masquerade":{{}},"portRanges":{}}}])", list);
}
// A bridge interface with one more member.
std::string having(string_view member) { return fmt::format(R"([{{"name":"n","bridge":{{}},{}}}])", member); }
std::string dhcp(string_view options) { return having(fmt::format(R"("dhcpOptions":{})", options)); }

std::vector<std::string> told(string_view networks, string_view interfaces, string_view configured = "{}",
                              string_view more = "") {
  return told_by(network_family, spec(networks, interfaces, more), configured);
}

TEST(NetworkTest, NothingIsAskedOfAMachineWithoutNetworks) {
  EXPECT_THAT(told_by(network_family, R"({"domain":{"devices":{}}})"), IsEmpty());
  EXPECT_THAT(told_by(discontinued_binding_family, R"({"domain":{"devices":{}}})"), IsEmpty());
}

TEST(NetworkTest, CausesComeInTheOrderOfThePass) {
  EXPECT_THAT(
      told(R"([{"name":"a","pod":{}},{"name":"b","pod":{},"multus":{"networkName":"","default":true}},{"name":"a"}])",
           R"([{"name":"c","state":"x","model":"x"}])"),
      ElementsAre("Duplicate spec.interfaces",                        // NET-01
                  "Invalid spec.networks",                            // NET-03
                  "Required spec.networks[1]",                        // NET-05
                  "Required spec.networks[2]",                        // NET-04
                  "Required spec.networks[1]",                        // NET-06
                  "Invalid spec.domain.devices.interfaces[0].state",  // IFS-01
                  "Invalid spec.domain.devices.interfaces[0]",        // IFB-01
                  "Duplicate spec.networks[2].name",                  // NET-07
                  "Required spec.networks[0].name",                   // NET-08
                  "Required spec.networks[1].name"));                 // NET-08; the rest is cut
}

TEST(NetworkTest, OnlyTheFirstUnnamedMultusNetworkIsTold) {
  EXPECT_THAT(told(R"([{"name":"a","multus":{"networkName":""}},{"name":"b","multus":{"networkName":""}}])",
                   R"([{"name":"a","bridge":{}},{"name":"b","bridge":{}}])"),
              ElementsAre("Required spec.networks[0]"));
}

TEST(NetworkTest, TheLastNetworkOfANameCounts) {
  EXPECT_THAT(told(R"([{"name":"n","multus":{"networkName":"x"}},{"name":"n","pod":{}}])", masquerade),
              ElementsAre("Duplicate spec.networks[1].name"));
  EXPECT_THAT(told(R"([{"name":"n","pod":{}},{"name":"n","multus":{"networkName":"x"}}])", masquerade),
              ElementsAre("Invalid spec.domain.devices.interfaces[0].name", "Duplicate spec.networks[1].name"));
}

TEST(NetworkTest, AnInterfaceWithoutNetworkIsOnNoPodNetwork) {
  EXPECT_THAT(told("[]", masquerade), ElementsAre("Invalid spec.domain.devices.interfaces[0].name",    // IFB-02
                                                  "Invalid spec.domain.devices.interfaces[0].name"));  // NET-10
}

TEST(NetworkTest, StateOfInterfaces) {
  for (const string_view state : {"up", "down", "absent"})
    EXPECT_THAT(told(multus, fmt::format(R"([{{"name":"n","sriov":{{}},"state":"{}"}}])", state)),
                ElementsAre("Invalid spec.domain.devices.interfaces[0].state"))
        << state;
  EXPECT_THAT(told(pod, R"([{"name":"n","masquerade":{},"state":"absent"}])"),
              ElementsAre("Invalid spec.domain.devices.interfaces[0].state",
                          "Invalid spec.domain.devices.interfaces[0].state"));
  EXPECT_THAT(told(R"([{"name":"n","multus":{"networkName":"x","default":true}}])", having(R"("state":"absent")")),
              ElementsAre("Invalid spec.domain.devices.interfaces[0].state"));
}

TEST(NetworkTest, DiscontinuedBindingsDoNotCount) {
  EXPECT_THAT(told(pod, R"([{"name":"n","slirp":{}}])"), ElementsAre("Invalid spec.domain.devices.interfaces[0]"));
  EXPECT_THAT(told(pod, R"([{"name":"n","slirp":{},"bridge":{}}])"), IsEmpty());
  EXPECT_THAT(told(pod, R"([{"name":"n","bridge":{},"masquerade":{}}])"),
              ElementsAre("Invalid spec.domain.devices.interfaces[0]"));
  EXPECT_THAT(told_by(discontinued_binding_family,
                      spec(pod, R"([{"name":"n","slirp":{},"macvtap":{}},{"name":"m","passt":{}}])")),
              ElementsAre("Invalid spec.domain.devices.interfaces[0].slirp",
                          "Invalid spec.domain.devices.interfaces[0].macvtap",
                          "Invalid spec.domain.devices.interfaces[1].passt"));
}

TEST(NetworkTest, TheReservedMacIsComparedAsText) {
  EXPECT_THAT(told(pod, R"([{"name":"n","masquerade":{},"macAddress":"02-00-00-00-00-00"}])"), IsEmpty());
  EXPECT_THAT(told(pod, having(R"("macAddress":"02:00:00:00:00:00")")), IsEmpty());
}

TEST(NetworkTest, ClaimedNetworks) {
  EXPECT_THAT(told(claimed, bridge), ElementsAre("Invalid spec.networks"));  // the gate ends it
  EXPECT_THAT(told(claimed, "[]", with_dra, claims), ElementsAre("Required spec.networks[0].name"));
  EXPECT_THAT(told(claimed, bridge, with_dra), ElementsAre("Invalid spec.domain.devices.interfaces",
                                                           "NotFound spec.networks[0].resourceClaim.claimName"));
  EXPECT_THAT(told(R"([{"name":"n","resourceClaim":{}}])", sriov, with_dra),
              ElementsAre("Required spec.networks[0].resourceClaim.claimName",
                          "Required spec.networks[0].resourceClaim.requestName"));
  EXPECT_THAT(told(claimed, R"([{"name":"n","binding":{"name":"plug"}}])", with_dra, claims), IsEmpty());
}

TEST(NetworkTest, NamesOfInterfaces) {
  EXPECT_THAT(told(R"([{"name":"","pod":{}}])", R"([{"name":"","bridge":{}}])"),
              ElementsAre("Invalid spec.domain.devices.interfaces[0].name"));
  const std::string longest(300, 'a');
  EXPECT_THAT(told(fmt::format(R"([{{"name":"{}","pod":{{}}}}])", longest),
                   fmt::format(R"([{{"name":"{}","bridge":{{}}}}])", longest)),
              IsEmpty());
}

TEST(NetworkTest, MacAddresses) {
  for (const string_view good : {"de:ad:00:00:be:af", "DE-AD-00-00-BE-AF", "dead.0000.beaf", ""})
    EXPECT_THAT(told(pod, having(fmt::format(R"("macAddress":"{}")", good))), IsEmpty()) << good;
  for (const string_view bad : {"de:ad:00:00:be", "de:ad:00:00:be:af:be:af", "de-ad:00:00:be:af", "x"})
    EXPECT_THAT(told(pod, having(fmt::format(R"("macAddress":"{}")", bad))),
                ElementsAre("Invalid spec.domain.devices.interfaces[0].macAddress"))
        << bad;
}

TEST(NetworkTest, NamesOfAllPortsComeBeforeTheirNumbers) {
  EXPECT_THAT(
      told(pod, ports(R"([{"name":"a","port":0,"protocol":"x"},{"name":"a","port":-1},{"name":"--","port":1}])")),
      ElementsAre("Duplicate spec.domain.devices.interfaces[0].ports[1].name",
                  "Invalid spec.domain.devices.interfaces[0].ports[2].name",
                  "Required spec.domain.devices.interfaces[0].ports[0].port",
                  "Invalid spec.domain.devices.interfaces[0].ports[0].protocol",
                  "Invalid spec.domain.devices.interfaces[0].ports[1].port"));
}

TEST(NetworkTest, PortsCountOnThePodNetworkOnly) {
  EXPECT_THAT(told(multus, ports(R"([{"port":0}])")), ElementsAre("Invalid spec.domain.devices.interfaces[0].name"));
  EXPECT_THAT(told(multus, ranges("[{}]"), with_ranges), ElementsAre("Invalid spec.domain.devices.interfaces[0].name"));
}

TEST(NetworkTest, APortRangeTellsItsFirstFault) {
  EXPECT_THAT(told(pod, ranges("[{}]"), with_ranges),
              ElementsAre("Invalid spec.domain.devices.interfaces[0].portRanges[0].protocol"));
  EXPECT_THAT(told(pod, ranges(R"([{"protocol":"TCP","start":70000,"end":0}])"), with_ranges),
              ElementsAre("Invalid spec.domain.devices.interfaces[0].portRanges[0].start"));
  EXPECT_THAT(told(pod, ranges(R"([{"protocol":"TCP","start":70000,"end":0}])")),
              ElementsAre("Invalid spec.domain.devices.interfaces[0].name"));  // the gate ends it
}

TEST(NetworkTest, EachOverlapOfNeighboursIsTold) {
  EXPECT_THAT(told(pod, ranges(R"([{"protocol":"UDP","start":5,"end":9},{"protocol":"TCP","start":9,"end":12},
                              {"protocol":"UDP","start":1,"end":5},{"protocol":"TCP","start":1,"end":9},
                              {"protocol":"TCP","start":13,"end":13}])"),
                   with_ranges),
              ElementsAre("Invalid spec.domain.devices.interfaces[0].portRanges",
                          "Invalid spec.domain.devices.interfaces[0].portRanges"));
}

TEST(NetworkTest, DhcpOptions) {
  EXPECT_THAT(told(pod, dhcp(R"({"privateOptions":[{"option":255,"value":"a"},{"option":255,"value":"a"},
                                                   {"option":255,"value":"a"}]})")),
              ElementsAre("Invalid spec", "Invalid spec", "Invalid spec", "Invalid spec"));
  EXPECT_THAT(told(pod, dhcp(R"({"ntpServers":["::1","1.2.3.4","host"]})")),
              ElementsAre("Invalid spec.domain.devices.interfaces[0].dhcpOptions.ntpServers[0]",
                          "Invalid spec.domain.devices.interfaces[0].dhcpOptions.ntpServers[2]"));
}

// Looking names up must not cost the square of the lists.
TEST(NetworkTest, LongListsAreNoProblem) {
  std::string networks = "[", interfaces = "[";
  for (int i = 0; i < 20000; ++i) {
    networks += fmt::format(R"({}{{"name":"n{}","multus":{{"networkName":"x"}}}})", i ? "," : "", i);
    interfaces += fmt::format(R"({}{{"name":"n{}","bridge":{{}},"state":"absent"}})", i ? "," : "", i);
  }
  EXPECT_THAT(told(networks + "]", interfaces + "]"), IsEmpty());
}

}  // namespace
}  // namespace vg::admission
