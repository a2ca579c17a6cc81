#include "base/guest_address.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace vg {
namespace {

using std::string_view;

bool may_be(string_view address, string_view networks = "", const std::vector<IpAddress>& local = {}) {
  return !why_no_guest(*parse_ip(address), local, *parse_networks(networks));
}

TEST(GuestAddress, WhatLeadsIntoANetworkThroughAnotherAddress) {
  const auto leads = [](string_view address, string_view networks) {
    return leads_into(*parse_ip(address), *parse_networks(networks));
  };
  for (const string_view address :
       {"10.1.2.3", "::ffff:10.1.2.3", "::10.1.2.3", "::ffff:0:10.1.2.3", "64:ff9b::10.1.2.3", "64:ff9b:1::5",
        "2002:a01:203::", "2001:0:9:9:9:9:f5fe:fdfc"}) {
    EXPECT_TRUE(leads(address, "10.0.0.0/8")) << address;
    EXPECT_FALSE(leads(address, "fd00::/8,2001:db8::/32")) << address;
  }
  for (const string_view address : {"11.1.2.3", "64:ff9b::11.1.2.3", "2002:b01:203::", "2001:db8::10.1.2.3"})
    EXPECT_FALSE(leads(address, "10.0.0.0/8")) << address;
  EXPECT_TRUE(leads("64:ff9b::1", "64:ff9b::/96"));
}

TEST(GuestAddress, WhereGuestsAreAndWhereTheyNeverAre) {
  struct Row {
    string_view address;
    bool may_be;
  };
  const Row rows[] = {
      {"10.0.0.5", true},
      {"10.244.1.7", true},
      {"192.168.122.10", true},
      {"172.16.0.1", true},
      {"100.64.3.4", true},
      {"8.8.8.8", true},
      {"fd00::5", true},
      {"2a00:1450:4001::1", true},
      {"128.0.0.1", true},
      {"126.255.255.255", true},
      {"169.253.255.255", true},
      {"223.255.255.255", true},
      {"febf::1", false},
      {"fec0::1", true},
      // this host
      {"127.0.0.1", false},
      {"127.255.255.254", false},
      {"::1", false},
      {"0.0.0.0", false},
      {"0.1.2.3", false},
      {"::", false},
      // nobody that is a guest
      {"169.254.169.254", false},
      {"fe80::1", false},
      {"224.0.0.1", false},
      {"239.255.255.250", false},
      {"ff02::1", false},
      {"240.0.0.1", false},
      {"255.255.255.255", false},
      {"fd00:ec2::254", false},
      // IPv4 in the dress of IPv6
      {"::ffff:127.0.0.1", false},
      {"::ffff:7f00:1", false},
      {"::ffff:169.254.169.254", false},
      {"::ffff:10.0.0.5", true},
      {"::127.0.0.1", false},
      {"::10.0.0.5", true},
      {"::ffff:0:127.0.0.1", false},
      {"::ffff:0:10.0.0.5", true},
      {"64:ff9b::127.0.0.1", false},
      {"64:ff9b::169.254.169.254", false},
      {"64:ff9b::10.0.0.5", true},
      {"64:ff9b:1::a00:5", false},
      {"2002:7f00:1::", false},
      {"2002:a9fe:a9fe::1", false},
      {"2002:a00:5::1", true},
      {"2001:0:a00:1::80ff:fffe", false},  // Teredo to 127.0.0.1
      {"2001:0:a00:1::f5ff:fffa", true},   // Teredo to 10.0.0.5
  };
  for (const Row& row : rows) EXPECT_EQ(may_be(row.address), row.may_be) << row.address;
}

TEST(GuestAddress, OwnAddressesAreNoGuests) {
  const std::vector<IpAddress> local = {*parse_ip("10.0.0.5"), *parse_ip("fd00::5")};
  for (const string_view own :
       {"10.0.0.5", "::ffff:10.0.0.5", "::10.0.0.5", "64:ff9b::10.0.0.5", "2002:a00:5::", "fd00::5"})
    EXPECT_FALSE(may_be(own, "", local)) << own;
  EXPECT_TRUE(may_be("10.0.0.6", "", local));
  EXPECT_TRUE(may_be("10.0.0.5", "10.0.0.0/24", local)) << "the operator said so";
}

TEST(GuestAddress, NetworksOfTheOperatorAreTheOnlyOnes) {
  EXPECT_TRUE(may_be("127.0.0.1", "127.0.0.0/8"));
  EXPECT_TRUE(may_be("::ffff:127.0.0.1", "127.0.0.0/8"));
  EXPECT_FALSE(may_be("::1", "127.0.0.0/8"));
  EXPECT_FALSE(may_be("64:ff9b::127.0.0.1", "127.0.0.0/8"));
  EXPECT_FALSE(may_be("10.0.0.5", "127.0.0.0/8"));
  EXPECT_TRUE(may_be("10.0.0.5", "fd00::/8,10.0.0.0/30,10.0.0.4/30"));
  EXPECT_FALSE(may_be("10.0.0.8", "fd00::/8,10.0.0.0/30,10.0.0.4/30"));
  EXPECT_TRUE(may_be("fdff::1", "fd00::/8"));
  EXPECT_TRUE(may_be("10.1.2.3", "0.0.0.0/0"));
  EXPECT_FALSE(may_be("fd00::1", "0.0.0.0/0"));
}

TEST(GuestAddress, NetworksAreReadFromAList) {
  ASSERT_TRUE(parse_networks(""));
  EXPECT_TRUE(parse_networks("")->empty());
  EXPECT_EQ(parse_networks("10.0.0.0/8,fd00::/8")->size(), 2U);
  EXPECT_EQ(parse_networks("metadata")->size(), parse_networks(metadata_networks)->size());
  EXPECT_TRUE(leads_into(*parse_ip("::ffff:169.254.169.254"), *parse_networks("10.0.0.0/8,metadata")));
  for (const string_view bad : {"10.0.0.0", "10.0.0.0/33", ",", "10.0.0.0/8,,fd00::/8", "a/8", " 10.0.0.0/8"})
    EXPECT_FALSE(parse_networks(bad)) << bad;
}

TEST(GuestAddress, TheKernelTellsOurOwn) {
  const auto own = local_addresses();
  ASSERT_TRUE(own);
  EXPECT_NE(std::ranges::find(*own, *parse_ip("127.0.0.1")), own->end());
}

}  // namespace
}  // namespace vg
