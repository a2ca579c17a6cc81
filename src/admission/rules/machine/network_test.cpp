// Networks and interfaces: an example for every rule, then what a single example does not show.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <deque>
#include <string>
#include <string_view>

#include "admission/rules/example.h"
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

// The same as a change to the base of examples. Examples live as long as the program.
string_view with(string_view networks, string_view interfaces, string_view more = "") {
  static std::deque<std::string> kept;
  return kept.emplace_back(fmt::format(R"({{"object":{{"spec":{}}}}})", spec(networks, interfaces, more)));
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
constexpr string_view without_passt = R"({"developerConfiguration":{"disabledFeatureGates":["PasstBinding"]}})";
constexpr string_view without_bridge = R"({"network":{"permitBridgeInterfaceOnPodNetwork":false}})";

std::string ports(string_view list) { return fmt::format(R"([{{"name":"n","masquerade":{{}},"ports":{}}}])", list); }
std::string ranges(string_view list) {
  return fmt::format(R"([{{"name":"n","masquerade":{{}},"portRanges":{}}}])", list);
}
std::string many_ranges(int count) {
  std::string list;
  for (int i = 0; i < count; ++i)
    list += fmt::format(R"({}{{"protocol":"TCP","start":{},"end":{}}})", i ? "," : "", 10 * i + 1, 10 * i + 9);
  return ranges("[" + list + "]");
}
// A bridge interface with one more member.
std::string having(string_view member) { return fmt::format(R"([{{"name":"n","bridge":{{}},{}}}])", member); }
std::string dhcp(string_view options) { return having(fmt::format(R"("dhcpOptions":{})", options)); }

const bool added = add_examples({
    {"DISC-01", vmi, with(pod, bridge), with(pod, R"([{"name":"n","slirp":{}}])"),
     "FieldValueInvalid spec.domain.devices.interfaces[0].slirp"},
    {"DISC-02", vmi, with(pod, bridge), with(pod, R"([{"name":"n","passt":{}}])"),
     "FieldValueInvalid spec.domain.devices.interfaces[0].passt"},
    {"DISC-03", vmi, with(pod, bridge), with(pod, R"([{"name":"n","macvtap":{}}])"),
     "FieldValueInvalid spec.domain.devices.interfaces[0].macvtap"},

    {"NET-01", vmi, with(pod, bridge),
     with(R"([{"name":"a","pod":{}},{"name":"b","pod":{}}])", R"([{"name":"a","bridge":{}},{"name":"b","bridge":{}}])"),
     "FieldValueDuplicate spec.interfaces"},
    {"NET-02", vmi, with(R"([{"name":"n","multus":{"networkName":"x","default":true}}])", bridge),
     with(R"([{"name":"a","multus":{"networkName":"x","default":true}},
              {"name":"b","multus":{"networkName":"y","default":true}}])",
          R"([{"name":"a","bridge":{}},{"name":"b","bridge":{}}])"),
     "FieldValueInvalid spec.networks"},
    {"NET-03", vmi,
     with(R"([{"name":"a","pod":{}},{"name":"b","multus":{"networkName":"x"}}])",
          R"([{"name":"a","bridge":{}},{"name":"b","bridge":{}}])"),
     with(R"([{"name":"a","pod":{}},{"name":"b","multus":{"networkName":"x","default":true}}])",
          R"([{"name":"a","bridge":{}},{"name":"b","bridge":{}}])"),
     "FieldValueInvalid spec.networks"},
    {"NET-04", vmi, with(multus, bridge), with(R"([{"name":"n"}])", bridge), "FieldValueRequired spec.networks[0]"},
    {"NET-05", vmi, with(multus, bridge), with(R"([{"name":"n","pod":{},"multus":{"networkName":"x"}}])", bridge),
     "FieldValueRequired spec.networks[0]"},
    {"NET-06", vmi, with(multus, bridge), with(R"([{"name":"n","multus":{"networkName":""}}])", bridge),
     "FieldValueRequired spec.networks[0]"},
    {"NET-07", vmi, with(multus, bridge),
     with(R"([{"name":"n","multus":{"networkName":"x"}},{"name":"n","multus":{"networkName":"y"}}])", bridge),
     "FieldValueDuplicate spec.networks[1].name"},
    {"NET-08", vmi, with(pod, bridge), with(pod, "[]"), "FieldValueRequired spec.networks[0].name"},
    {"NET-09", vmi, with(pod, bridge), with(pod, R"([{"name":"n","bridge":{}},{"name":"n","bridge":{}}])"),
     "FieldValueDuplicate spec.domain.devices.interfaces[1].name"},
    {"NET-10", vmi, with(pod, bridge), with("[]", bridge), "FieldValueInvalid spec.domain.devices.interfaces[0].name"},

    {"IFS-01", vmi, with(pod, having(R"("state":"down")")), with(pod, having(R"("state":"off")")),
     "FieldValueInvalid spec.domain.devices.interfaces[0].state"},
    {"IFS-02", vmi, with(multus, sriov), with(multus, R"([{"name":"n","sriov":{},"state":"up"}])"),
     "FieldValueInvalid spec.domain.devices.interfaces[0].state"},
    {"IFS-03", vmi, with(multus, having(R"("state":"absent")")),
     with(multus, R"([{"name":"n","sriov":{},"state":"absent"}])"),
     "FieldValueInvalid spec.domain.devices.interfaces[0].state"},
    {"IFS-04", vmi, with(multus, having(R"("state":"absent")")), with(pod, having(R"("state":"absent")")),
     "FieldValueInvalid spec.domain.devices.interfaces[0].state"},

    {"IFB-01", vmi, with(pod, bridge), with(pod, R"([{"name":"n"}])"),
     "FieldValueInvalid spec.domain.devices.interfaces[0]"},
    {"IFB-02", vmi, with(pod, masquerade), with(multus, masquerade),
     "FieldValueInvalid spec.domain.devices.interfaces[0].name"},
    {"IFB-03", vmi, with(pod, R"([{"name":"n","masquerade":{},"macAddress":"02:00:00:00:00:01"}])"),
     with(pod, R"([{"name":"n","masquerade":{},"macAddress":"02:00:00:00:00:00"}])"),
     "FieldValueInvalid spec.domain.devices.interfaces[0].macAddress"},
    {"IFB-04", vmi, with(multus, bridge), with(pod, bridge), "FieldValueInvalid spec.domain.devices.interfaces[0].name",
     without_bridge},
    {"IFB-05", vmi, with(pod, masquerade), with(pod, R"([{"name":"n","passtBinding":{}}])"),
     "FieldValueInvalid spec.domain.devices.interfaces[0].name", without_passt},
    {"IFB-06", vmi, with(pod, R"([{"name":"n","passtBinding":{}}])"),
     with(multus, R"([{"name":"n","passtBinding":{}}])"), "FieldValueInvalid spec.domain.devices.interfaces[0].name"},

    {"NDRA-01", vmi, with(multus, sriov), with(claimed, sriov, claims), "FieldValueInvalid spec.networks"},
    {"NDRA-02", vmi, with(claimed, sriov, claims),
     with(
         R"([{"name":"n","resourceClaim":{"claimName":"c","requestName":"r"}},{"name":"m","multus":{"networkName":"x"}}])",
         R"([{"name":"n","sriov":{}},{"name":"m","bridge":{}}])", claims),
     "FieldValueInvalid spec.networks", with_dra},
    {"NDRA-03", vmi, with(claimed, sriov, claims), with(claimed, bridge, claims),
     "FieldValueInvalid spec.domain.devices.interfaces", with_dra},
    {"NDRA-04", vmi, with(claimed, sriov, claims),
     with(R"([{"name":"n","resourceClaim":{"claimName":"c"}}])", sriov, claims),
     "FieldValueRequired spec.networks[0].resourceClaim.requestName", with_dra},
    {"NDRA-05", vmi, with(claimed, sriov, claims), with(claimed, sriov),
     "FieldValueNotFound spec.networks[0].resourceClaim.claimName", with_dra},
    {"NDRA-06", vmi, with(claimed, sriov, claims),
     with(R"([{"name":"n","resourceClaim":{"claimName":"c","requestName":"r"}},
              {"name":"m","resourceClaim":{"claimName":"c","requestName":"r"}}])",
          R"([{"name":"n","sriov":{}},{"name":"m","sriov":{}}])", claims),
     "FieldValueDuplicate spec.networks[1]", with_dra},

    {"IF-01", vmi, with(R"([{"name":"A_b-1","pod":{}}])", R"([{"name":"A_b-1","bridge":{}}])"),
     with(R"([{"name":"a.b","pod":{}}])", R"([{"name":"a.b","bridge":{}}])"),
     "FieldValueInvalid spec.domain.devices.interfaces[0].name"},
    {"IF-02", vmi, with(pod, having(R"("model":"e1000")")), with(pod, having(R"("model":"ne2000")")),
     "FieldValueNotSupported spec.domain.devices.interfaces[0].model"},
    {"IF-03", vmi, with(pod, having(R"("macAddress":"DE-AD-00-00-BE-AF")")),
     with(pod, having(R"("macAddress":"de:ad:00:00:be")")),
     "FieldValueInvalid spec.domain.devices.interfaces[0].macAddress"},
    {"IF-04", vmi, with(pod, having(R"("pciAddress":"0000:81:11.1")")),
     with(pod, having(R"("pciAddress":"0000:81:11.8")")),
     "FieldValueInvalid spec.domain.devices.interfaces[0].pciAddress"},

    {"PORT-01", vmi, with(pod, ports(R"([{"name":"a","port":80},{"name":"b","port":80}])")),
     with(pod, ports(R"([{"name":"a","port":80},{"name":"a","port":81}])")),
     "FieldValueDuplicate spec.domain.devices.interfaces[0].ports[1].name"},
    {"PORT-02", vmi, with(pod, ports(R"([{"name":"test","port":80}])")),
     with(pod, ports(R"([{"name":"Test","port":80}])")),
     "FieldValueInvalid spec.domain.devices.interfaces[0].ports[0].name"},
    {"PORT-03", vmi, with(pod, ports(R"([{"port":1}])")), with(pod, ports(R"([{"port":0}])")),
     "FieldValueRequired spec.domain.devices.interfaces[0].ports[0].port"},
    {"PORT-04", vmi, with(pod, ports(R"([{"port":65535}])")), with(pod, ports(R"([{"port":80000}])")),
     "FieldValueInvalid spec.domain.devices.interfaces[0].ports[0].port"},
    {"PORT-05", vmi, with(pod, ports(R"([{"port":80,"protocol":"UDP"}])")),
     with(pod, ports(R"([{"port":80,"protocol":"udp"}])")),
     "FieldValueInvalid spec.domain.devices.interfaces[0].ports[0].protocol"},

    {"PRNG-01", vmi, with(pod, masquerade), with(pod, ranges(R"([{"protocol":"TCP","start":1,"end":2}])")),
     "FieldValueInvalid spec.domain.devices.interfaces[0].name"},
    {"PRNG-02", vmi, with(pod, ranges(R"([{"protocol":"TCP","start":22,"end":22}])")),
     with(pod, R"([{"name":"n","masquerade":{},"ports":[{"port":80}],
                    "portRanges":[{"protocol":"TCP","start":1,"end":2}]}])"),
     "FieldValueInvalid spec.domain.devices.interfaces[0].name", with_ranges},
    // A list counts by being there, whatever it holds.
    {"PRNG-01", vmi, with(pod, R"([{"name":"n","masquerade":{},"ports":[]}])"), with(pod, ranges("[]")),
     "FieldValueInvalid spec.domain.devices.interfaces[0].name"},
    {"PRNG-02", vmi, with(pod, ranges("[]")), with(pod, R"([{"name":"n","masquerade":{},"ports":[],"portRanges":[]}])"),
     "FieldValueInvalid spec.domain.devices.interfaces[0].name", with_ranges},
    {"PRNG-03", vmi, with(multus, having(R"("portRanges":[{"protocol":"TCP","start":1,"end":2}])")),
     with(pod, having(R"("portRanges":[{"protocol":"TCP","start":1,"end":2}])")),
     "FieldValueInvalid spec.domain.devices.interfaces[0].name", with_ranges},
    {"PRNG-04", vmi, with(pod, many_ranges(10)), with(pod, many_ranges(11)),
     "FieldValueInvalid spec.domain.devices.interfaces[0].portRanges", with_ranges},
    {"PRNG-05", vmi, with(pod, ranges(R"([{"protocol":"UDP","start":1,"end":2}])")),
     with(pod, ranges(R"([{"protocol":"","start":1,"end":2}])")),
     "FieldValueInvalid spec.domain.devices.interfaces[0].portRanges[0].protocol", with_ranges},
    {"PRNG-06", vmi, with(pod, ranges(R"([{"protocol":"TCP","start":1,"end":2}])")),
     with(pod, ranges(R"([{"protocol":"TCP","start":0,"end":2}])")),
     "FieldValueInvalid spec.domain.devices.interfaces[0].portRanges[0].start", with_ranges},
    {"PRNG-07", vmi, with(pod, ranges(R"([{"protocol":"TCP","start":1,"end":65535}])")),
     with(pod, ranges(R"([{"protocol":"TCP","start":1,"end":65536}])")),
     "FieldValueInvalid spec.domain.devices.interfaces[0].portRanges[0].end", with_ranges},
    {"PRNG-08", vmi, with(pod, ranges(R"([{"protocol":"TCP","start":2,"end":2}])")),
     with(pod, ranges(R"([{"protocol":"TCP","start":3,"end":2}])")),
     "FieldValueInvalid spec.domain.devices.interfaces[0].portRanges[0].start", with_ranges},
    {"PRNG-09", vmi,
     with(pod, ranges(R"([{"protocol":"TCP","start":80,"end":200},{"protocol":"UDP","start":150,"end":300}])")),
     with(pod, ranges(R"([{"protocol":"TCP","start":80,"end":200},{"protocol":"TCP","start":150,"end":300}])")),
     "FieldValueInvalid spec.domain.devices.interfaces[0].portRanges", with_ranges},

    {"DHCP-01", vmi, with(pod, dhcp(R"({"privateOptions":[{"option":240,"value":"a"},{"option":241,"value":"a"}]})")),
     with(pod, dhcp(R"({"privateOptions":[{"option":240,"value":"a"},{"option":240,"value":"b"}]})")),
     "FieldValueInvalid spec"},
    {"DHCP-02", vmi, with(pod, dhcp(R"({"privateOptions":[{"option":224,"value":"a"},{"option":254,"value":"a"}]})")),
     with(pod, dhcp(R"({"privateOptions":[{"option":223,"value":"a"}]})")), "FieldValueInvalid spec"},
    {"DHCP-03", vmi, with(pod, dhcp(R"({"ntpServers":["010.0.0.1","::ffff:1.2.3.4"]})")),
     with(pod, dhcp(R"({"ntpServers":["::1"]})")),
     "FieldValueInvalid spec.domain.devices.interfaces[0].dhcpOptions.ntpServers[0]"},
});

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
