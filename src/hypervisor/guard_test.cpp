#include "hypervisor/guard.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "base/random.h"
#include "hypervisor/preload/loopback.h"

namespace vg::hypervisor {
namespace {

bool is_refused(const char* text) {
  sockaddr_storage storage{};
  auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
  const bool is_v6 = std::strchr(text, ':') != nullptr;
  storage.ss_family = is_v6 ? AF_INET6 : AF_INET;
  EXPECT_EQ(::inet_pton(storage.ss_family, text, is_v6 ? static_cast<void*>(&v6->sin6_addr) : &v4->sin_addr), 1);
  return is_loopback(reinterpret_cast<const sockaddr*>(&storage), is_v6 ? sizeof *v6 : sizeof *v4);
}

TEST(LoopbackGuard, KnowsEverySpelling) {
  for (const char* own : {"127.0.0.1", "127.64.1.2", "127.255.255.255", "0.0.0.0", "0.1.2.3", "::1",
                          "::", "::ffff:127.0.0.1", "::ffff:127.9.9.9", "::127.0.0.1", "::ffff:0.0.0.0"})
    EXPECT_TRUE(is_refused(own)) << own;
  for (const char* other : {"10.0.2.2", "128.0.0.1", "126.255.255.255", "8.8.8.8", "255.255.255.255", "fe80::1",
                            "2001:db8::1", "::ffff:10.0.0.1", "1::", "::2:127.0.0.1"})
    EXPECT_FALSE(is_refused(other)) << other;
}

TEST(LoopbackGuard, LeavesOtherFamiliesAndShortAddressesAlone) {
  sockaddr_in short_one{};
  short_one.sin_family = AF_INET;
  EXPECT_FALSE(is_loopback(nullptr, 0));
  EXPECT_FALSE(is_loopback(reinterpret_cast<const sockaddr*>(&short_one), 1));
  EXPECT_FALSE(is_loopback(reinterpret_cast<const sockaddr*>(&short_one), sizeof short_one - 1));
  sockaddr unix_one{.sa_family = AF_UNIX, .sa_data = {}};
  EXPECT_FALSE(is_loopback(&unix_one, sizeof unix_one));
}

TEST(LoopbackGuard, KnowsTheHostsResolver) {
  const char* text = "# comment\nnameserver 127.0.0.53\noptions edns0\nnameserver\t::1 \nnameservers 127.0.0.9\n";
  EXPECT_TRUE(names_server(text, "127.0.0.53"));
  EXPECT_TRUE(names_server(text, "::1"));
  for (const char* other : {"127.0.0.5", "127.0.0.531", "127.0.0.9", "127.0.0.1", "edns0"})
    EXPECT_FALSE(names_server(text, other)) << other;
  EXPECT_TRUE(names_server("nameserver 127.0.0.1", "127.0.0.1"));
  EXPECT_FALSE(names_server("", "127.0.0.1"));
  EXPECT_FALSE(names_server(" nameserver", "127.0.0.1"));
}

TEST(LoopbackGuard, IsPutWhereItCanBeLoadedFrom) {
  namespace fs = std::filesystem;
  const std::string base = fs::temp_directory_path() / ("vg-guard-" + uuid_v4());
  fs::create_directories(base + "/with space");
  fs::create_directories(base + "/good");
  const auto path = install_guard({base + "/with space", base + "/good"});
  ASSERT_TRUE(path) << path.error().message;
  EXPECT_EQ(*path, base + "/good/loopback_guard.so");
  EXPECT_EQ(fs::status(*path).permissions(), fs::perms::owner_read | fs::perms::owner_exec);
  const auto refused = install_guard({base + "/with space"});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("space"));
  fs::remove_all(base);
}

}  // namespace
}  // namespace vg::hypervisor
