#include "listen_address.h"

#include <gmock/gmock.h>

namespace vg::cmd {
namespace {

using ::testing::HasSubstr;

TEST(ListenAddressTest, TakesAddressesAndNames) {
  auto address = parse_listen_address("127.0.0.1:6443").value();
  EXPECT_EQ(address.host, "127.0.0.1");
  EXPECT_EQ(address.port, 6443);
  EXPECT_EQ(address.text(), "127.0.0.1:6443");
  EXPECT_EQ(address.url(), "https://127.0.0.1:6443");
  address = parse_listen_address("[::1]:7443").value();
  EXPECT_EQ(address.host, "::1");
  EXPECT_EQ(address.text(), "[::1]:7443");
  EXPECT_EQ(address.url(), "https://[::1]:7443");
  EXPECT_EQ(parse_listen_address("gate.example:1").value().host, "gate.example");
}

TEST(ListenAddressTest, AllAddressesAreReachedOverTheLoopback) {
  EXPECT_EQ(parse_listen_address("0.0.0.0:1").value().url(), "https://127.0.0.1:1");
  EXPECT_EQ(parse_listen_address("[::]:1").value().url(), "https://[::1]:1");
  EXPECT_TRUE(parse_listen_address("[::]:1").value().is_wildcard());
}

TEST(ListenAddressTest, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> bad[] = {{"", "host is required"},
                                                     {":6443", "host is required"},
                                                     {"127.0.0.1", "port is required"},
                                                     {"127.0.0.1:", "port is required"},
                                                     {"::1:6443", "in brackets"},
                                                     {"[::1]", "port is required"},
                                                     {"[::1]6443", "port is required"},
                                                     {"[::1:6443", "not closed"},
                                                     {"[1.2.3.4]:1", "not an IPv6 address"},
                                                     {"[fe80::1%eth0]:1", "not an IPv6"},
                                                     {"a b:1", "neither an address"},
                                                     {"a\n:1", "neither an address"},
                                                     {"h:0", "from 1 to 65535"},
                                                     {"h:65536", "from 1 to 65535"},
                                                     {"h:-1", "from 1 to 65535"},
                                                     {"h:1x", "from 1 to 65535"},
                                                     {"https://h:1", "IPv6 address must"},
                                                     {"h\":1", "neither an address"}};
  for (auto [text, why] : bad) {
    auto address = parse_listen_address(text);
    ASSERT_FALSE(address) << text;
    EXPECT_THAT(address.error(), HasSubstr(why)) << text;
    EXPECT_THAT(address.error(), HasSubstr("127.0.0.1:6443")) << text;
  }
}

}  // namespace
}  // namespace vg::cmd
