#include <fmt/format.h>

#include <deque>
#include <string>

#include "admission/rules/examples.h"

namespace vg::admission {
namespace {

using std::string_view;

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

// Made when somebody asks: their texts are put together.
std::vector<Example> make_network_examples() {
  return {
      {"DISC-01", vmi, with(pod, bridge), with(pod, R"([{"name":"n","slirp":{}}])"),
       "FieldValueInvalid spec.domain.devices.interfaces[0].slirp"},
      {"DISC-02", vmi, with(pod, bridge), with(pod, R"([{"name":"n","passt":{}}])"),
       "FieldValueInvalid spec.domain.devices.interfaces[0].passt"},
      {"DISC-03", vmi, with(pod, bridge), with(pod, R"([{"name":"n","macvtap":{}}])"),
       "FieldValueInvalid spec.domain.devices.interfaces[0].macvtap"},

      {"NET-01", vmi, with(pod, bridge),
       with(R"([{"name":"a","pod":{}},{"name":"b","pod":{}}])",
            R"([{"name":"a","bridge":{}},{"name":"b","bridge":{}}])"),
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
      {"NET-10", vmi, with(pod, bridge), with("[]", bridge),
       "FieldValueInvalid spec.domain.devices.interfaces[0].name"},

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
      {"IFB-04", vmi, with(multus, bridge), with(pod, bridge),
       "FieldValueInvalid spec.domain.devices.interfaces[0].name", without_bridge},
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
      {"PRNG-02", vmi, with(pod, ranges("[]")),
       with(pod, R"([{"name":"n","masquerade":{},"ports":[],"portRanges":[]}])"),
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
  };
}

}  // namespace

std::span<const Example> network_examples() {
  static const std::vector<Example> rows = make_network_examples();
  return rows;
}

}  // namespace vg::admission
