#include "guests/networks.h"

#include <gmock/gmock.h>

#include "domain/xml.h"
#include "guests/hotplug.h"
#include "guests/testing.h"
#include "json/document.h"

namespace vg::guests {
namespace {

using std::string_view;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

json::Document vmi_with(string_view interfaces, string_view networks) {
  return *json::Document::parse(fmt::format(
      R"({{"metadata":{{"name":"vm1","namespace":"ns","uid":"u-1"}},"spec":{{"domain":{{"devices":{{"interfaces":[{}]}}}},"networks":[{}]}}}})",
      interfaces, networks));
}

constexpr string_view pod = R"({"name":"default","pod":{}})";

TEST(Networks, ABridgeIsNamedByTheConfiguration) {
  struct {
    string_view config, bridge, refused;
  } const rows[] = {
      {R"({"type":"bridge","bridge":"br0"})", "br0", ""},
      {R"({"cniVersion":"1.0.0","plugins":[{"type":"tuning"},{"type":"cnv-bridge","bridge":"br.1_x-y"}]})", "br.1_x-y",
       ""},
      {R"({"type":"bridge","bridge":"br0","vlan":0,"macspoofchk":false,"vlanTrunk":[],"ipam":{}})", "br0", ""},
      {R"({"type":"bridge","bridge":"br0","vlan":5})", "", "vlan"},
      {R"({"type":"bridge","bridge":"br0","vlanTrunk":[{"id":3}]})", "", "vlanTrunk"},
      {R"({"type":"bridge","bridge":"br0","macspoofchk":true})", "", "macspoofchk"},
      {R"({"type":"macvlan","master":"eth0"})", "", "type bridge"},
      {R"({"plugins":[]})", "", "type bridge"},
      {R"({"type":"bridge"})", "", "name a bridge"},
      {R"({"type":"bridge","bridge":"../../x"})", "", "name a bridge"},
      {R"({"type":"bridge","bridge":".."})", "", "name a bridge"},
      {R"({"type":"bridge","bridge":"a-name-of-16-byt"})", "", "name a bridge"},
      {R"({"type":"bridge","bridge":"b'r<"})", "", "name a bridge"},
      {"", "", "JSON object"},
      {"[1]", "", "JSON object"},
      {"{", "", "JSON object"},
  };
  for (const auto& row : rows) {
    const auto found = bridge_of(row.config);
    EXPECT_EQ(found ? *found : "", row.bridge) << row.config;
    if (!row.refused.empty()) {
      ASSERT_FALSE(found) << row.config;
      EXPECT_THAT(found.error().message, HasSubstr(row.refused)) << row.config;
    }
  }
  EXPECT_FALSE(bridge_of(std::string(1 << 20, ' ')));
}

TEST(Networks, SecondaryOnesAreOfTheOwnNamespaceOrEverybodys) {
  const auto names = [](string_view network, string_view binding = "bridge") {
    const auto vmi = vmi_with(fmt::format(R"({{"name":"a","{}":{{}}}})", binding),
                              fmt::format(R"({{"name":"a","multus":{{"networkName":"{}"}}}})", network));
    const auto found = secondary_networks(vmi.root().get_object(), "ns");
    if (!found) return found.error().message;
    return found->empty() ? std::string() : fmt::format("{}/{}", found->front().ns, found->front().name);
  };
  EXPECT_EQ(names("blue"), "ns/blue");
  EXPECT_EQ(names("ns/blue"), "ns/blue");
  EXPECT_EQ(names("default/blue"), "default/blue");
  EXPECT_THAT(names("other/blue"), HasSubstr("another namespace"));
  EXPECT_THAT(names("blue", "sriov"), HasSubstr("binding bridge"));
  EXPECT_THAT(names("blue", "masquerade"), HasSubstr("binding bridge"));
  const auto gone =
      vmi_with(R"({"name":"a","sriov":{},"state":"absent"})", R"({"name":"a","multus":{"networkName":"x"}})");
  EXPECT_THAT(*secondary_networks(gone.root().get_object(), "ns"), IsEmpty());
  const auto none = vmi_with(R"({"name":"default","masquerade":{}})", pod);
  EXPECT_THAT(*secondary_networks(none.root().get_object(), "ns"), IsEmpty());
}

std::string placed(string_view network, const Bridges& bridges, string_view mac = "") {
  domain::Element nic("interface");
  nic.set("type", "vhostuser");
  nic.child("source").set("dev", "eth0");
  nic.child("backend").set("type", "passt");
  nic.child("driver").set("name", "vhost");
  nic.add("portForward").set("proto", "tcp");
  nic.child("alias").set("name", "ua-a");
  if (!mac.empty()) nic.child("mac").set("address", mac);
  place_interface(nic, vmi_with(R"({"name":"a"})", network).root().get_object(), bridges);
  return domain::to_xml(nic);
}

TEST(Networks, AnInterfaceBecomesWhatThisHostHas) {  // UNET-10, UNET-15, UNET-18
  const std::string user = placed(R"({"name":"a","pod":{}})", {});
  EXPECT_THAT(user, HasSubstr(R"(<interface type="user">)"));
  EXPECT_THAT(user, HasSubstr(R"(<mac address="02:)"));
  for (const char* gone : {"source", "backend", "portForward", "driver", "<ip"})
    EXPECT_THAT(user, ::testing::Not(HasSubstr(gone)));
  EXPECT_THAT(placed(R"({"name":"a","pod":{"vmNetworkCIDR":"10.11.12.13/24"}})", {}, "02:00:00:00:00:09"),
              ::testing::AllOf(HasSubstr(R"(<ip family="ipv4" address="10.11.12.0" prefix="24">)"),
                               HasSubstr(R"(<mac address="02:00:00:00:00:09">)")));
  const std::string bridged = placed(R"({"name":"a","multus":{"networkName":"x"}})", {{"a", "br0"}});
  EXPECT_THAT(bridged, HasSubstr(R"(<interface type="bridge">)"));
  EXPECT_THAT(bridged, HasSubstr(R"(bridge="br0")"));
  EXPECT_THAT(bridged, ::testing::Not(HasSubstr("driver")));
}

TEST(Networks, PortsAreThoseOfThePodNetwork) {  // UNET-12
  const auto vmi = vmi_with(
      R"({"name":"default","masquerade":{},"ports":[{"port":80},{"port":53,"protocol":"UDP"},{"port":0},{"port":70000}]},
         {"name":"b","bridge":{},"ports":[{"port":22}]})",
      R"({"name":"default","pod":{}},{"name":"b","multus":{"networkName":"x"}})");
  std::vector<std::string> found;
  for (const DeclaredPort& one : declared_ports(vmi.root().get_object()))
    found.push_back(fmt::format("{} {}/{}", one.network, one.port, one.protocol));
  EXPECT_THAT(found, ElementsAre("default 80/tcp", "default 53/udp"));
}

TEST(Networks, WhatIsOtherThanAskedIsSaid) {  // UNET-16
  const auto told = [](string_view interface, string_view network) {
    return other_than_asked(vmi_with(interface, network).root().get_object());
  };
  EXPECT_EQ(told(R"({"name":"default","masquerade":{}})", pod), "");
  EXPECT_THAT(told(R"({"name":"default","bridge":{}})", pod), HasSubstr("binding bridge"));
  EXPECT_THAT(told(R"({"name":"default","passtBinding":{}})", pod), HasSubstr("binding passtBinding"));
  EXPECT_EQ(told(R"({"name":"b","bridge":{}})", R"({"name":"b","multus":{"networkName":"x"}})"), "");
  for (const string_view range : {"10.0.0.0/30", "fd00::/64", "10.0.0.0", "10.0.0.0/x", "10.0.0.0/4"})
    EXPECT_THAT(told(R"({"name":"default","masquerade":{}})",
                     fmt::format(R"({{"name":"default","pod":{{"vmNetworkCIDR":"{}"}}}})", range)),
                HasSubstr("cannot have the range"))
        << range;
}

TEST(Networks, NicsComeAndGo) {                                  // RUN-NIC-01, RUN-NIC-02
  const DomainFacts live = *read_facts(testing::live_document);  // has "default" and "second"
  const auto vmi = vmi_with(
      R"({"name":"default","masquerade":{},"state":"absent"},{"name":"second","bridge":{},"state":"absent"},
         {"name":"new","bridge":{}},{"name":"never","bridge":{},"state":"absent"},{"name":"plugin","binding":{"name":"x"}})",
      R"({"name":"default","pod":{}},{"name":"second","multus":{"networkName":"x"}},
         {"name":"new","multus":{"networkName":"y"}},{"name":"never","multus":{"networkName":"z"}},
         {"name":"plugin","multus":{"networkName":"p"}})");
  const json::Object& object = vmi.root().get_object();
  domain::Element wanted("domain");
  for (const char* name : {"ua-default", "ua-new", "ua-plugin"})
    wanted.child("devices").add("interface").child("alias").set("name", name);
  ASSERT_TRUE(has_nics_to_plug(live, object));
  const auto plugged = plugged_nics(live, object, wanted);
  ASSERT_EQ(plugged.size(), 1u);
  EXPECT_EQ(plugged[0].name, "new");
  EXPECT_EQ(plugged[0].change, hypervisor::Change::attach);
  const auto unplugged = unplugged_nics(live, object);
  ASSERT_EQ(unplugged.size(), 1u) << "the pod network stays";
  EXPECT_EQ(unplugged[0].name, "second");
  EXPECT_THAT(unplugged[0].xml, HasSubstr("02:00:00:00:00:02"));
  EXPECT_FALSE(has_nics_to_plug(live, testing::Made({}).vmi->root().get_object()));
}

}  // namespace
}  // namespace vg::guests
