#include "handler/server/target.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "handler/server/live_domain.h"

namespace vg::handler {
namespace {

TEST(Target, ReadsWhatHandlersAreAskedFor) {
  const auto target = read_target("/v1/namespaces/ns/virtualmachineinstances/a.b/vnc/screenshot", "x=1");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->ns, "ns");
  EXPECT_EQ(target->name, "a.b");
  EXPECT_EQ(target->what, "vnc/screenshot");
  EXPECT_EQ(target->query, "x=1");
  EXPECT_EQ(target->domain(), "ns_a.b");
}

TEST(Target, RefusesOtherPaths) {
  for (const std::string_view path :
       {"", "/", "/v1", "/v1/namespaces/ns/virtualmachineinstances/a", "/v1/namespaces/ns/virtualmachineinstances/a/",
        "/v2/namespaces/ns/virtualmachineinstances/a/pause", "/v1/namespaces//virtualmachineinstances/a/pause",
        "/v1/namespaces/ns/virtualmachineinstances//pause", "/v1/namespaces/n_s/virtualmachineinstances/a/pause",
        "/v1/namespaces/../virtualmachineinstances/a/pause", "/v1/namespaces/ns/virtualmachineinstances/%61/pause",
        "/v1/namespaces/ns/virtualmachines/a/pause"})
    EXPECT_FALSE(read_target(path, "")) << path;
}

TEST(Target, ReadsPorts) {
  EXPECT_EQ(read_forward("portforward/22")->port, 22);
  EXPECT_EQ(read_forward("portforward/22")->protocol, "tcp");
  EXPECT_EQ(read_forward("portforward/53/udp")->protocol, "udp");
  for (const std::string_view what : {"portforward", "portforward/", "portforward/0", "portforward/65536",
                                      "portforward/22/", "portforward/22/sctp", "portforward/x/tcp", "console"})
    EXPECT_FALSE(read_forward(what)) << what;
}

TEST(Target, ReadsFlags) {
  EXPECT_TRUE(is_true_value("a=1&preserveSession=true", "preserveSession"));
  EXPECT_FALSE(is_true_value("preserveSession=yes", "preserveSession"));
  EXPECT_FALSE(is_true_value("preserveSession", "preserveSession"));
  EXPECT_FALSE(is_true_value("", "preserveSession"));
}

TEST(Target, ReadsVsockPorts) {
  EXPECT_EQ(read_vsock("port=4294967295&tls=true")->port, 4294967295U);
  EXPECT_TRUE(read_vsock("tls=T&port=1")->tls);
  EXPECT_FALSE(read_vsock("port=22")->tls);
  EXPECT_FALSE(read_vsock("port=22&tls=0")->tls);
  for (const std::string_view query : {"", "port=", "port=-1", "port=+1", "port=0x1", "port=4294967296", "port=1 ",
                                       "port=%31", "tls=true", "port=1&tls=yes", "port=1&tls=%74"})
    EXPECT_FALSE(read_vsock(query)) << query;
}

constexpr std::string_view xml = R"(<domain type='qemu' id='1'>
  <devices>
    <interface type='bridge'><alias name='ua-other'/></interface>
    <interface type='user'>
      <mac address='02:00:00:00:00:01'/>
      <alias name='ua-default'/>
    </interface>
    <serial type='unix'>
      <source mode='bind' path='/run/n/guests/u/virt-serial0'/>
    </serial>
    <channel type='unix'><source mode='bind' path='/elsewhere/virt-usbredir-0'/></channel>
    <channel type='unix'><source mode='bind' path='/run/n/../x/virt-usbredir-1'/></channel>
    <disk type='file' device='disk'><source file='/state/guests/u/vhostmd0' index='1'/></disk>
    <disk type='file' device='disk'><source file='/other/vhostmd1' index='1'/></disk>
    <vsock model='virtio-non-transitional'>
      <cid auto='no' address='4294967294'/>
      <address type='pci' domain='0x0000' bus='0x07' slot='0x00' function='0x0'/>
    </vsock>
    <graphics type='vnc' socket='/run/n/guests/u/virt-vnc'/>
  </devices>
</domain>)";

TEST(LiveDomain, FindsSocketsOfTheNodeAlone) {
  EXPECT_EQ(find_socket(xml, "/run/n", "virt-serial0"), "/run/n/guests/u/virt-serial0");
  EXPECT_EQ(find_socket(xml, "/run/n", "virt-vnc"), "/run/n/guests/u/virt-vnc");
  EXPECT_EQ(find_socket(xml, "/run/n", "virt-usbredir-0"), std::nullopt);
  EXPECT_EQ(find_socket(xml, "/run/n", "virt-usbredir-1"), std::nullopt);
  EXPECT_EQ(find_socket(xml, "/run/m", "virt-vnc"), std::nullopt);
}

TEST(LiveDomain, FindsImagesOfTheNodeAlone) {
  EXPECT_EQ(find_image(xml, "/state/guests", "vhostmd0"), "/state/guests/u/vhostmd0");
  EXPECT_EQ(find_image(xml, "/state/guests", "vhostmd1"), std::nullopt);
  EXPECT_EQ(find_image(xml, "/run/n", "virt-serial0"), std::nullopt);
}

TEST(LiveDomain, FindsTheVsockOfTheGuestAndNotOfTheHost) {
  EXPECT_EQ(vsock_cid(xml), 4294967294U);
  EXPECT_EQ(vsock_cid("<domain/>"), std::nullopt);
  EXPECT_EQ(vsock_cid("<vsock><cid auto='yes'/></vsock><x address='7'/>"), std::nullopt);
  // The host itself, and every guest.
  for (const std::string_view reserved : {"0", "1", "2", "4294967295", "-1", "x", ""})
    EXPECT_EQ(vsock_cid(fmt::format("<vsock><cid auto='no' address='{}'/></vsock>", reserved)), std::nullopt);
}

TEST(LiveDomain, FindsTheNicOfTheUserModeNetwork) {
  EXPECT_EQ(user_nic_alias(xml), "ua-default");
  EXPECT_EQ(user_nic_alias("<interface type='bridge'><alias name='x'/></interface>"), "");
  EXPECT_EQ(user_nic_alias("<interface type='user'"), "");
}

}  // namespace
}  // namespace vg::handler
