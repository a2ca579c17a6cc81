#include "handler/agent/answers.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/handler_limits.h"

namespace vg::handler {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(AgentAnswers, WithoutDataTheAnswerIsStillOne) {  // RUN-GA-10
  EXPECT_EQ(guest_os_info(nullptr), R"({"os":{},"timezone":", 0","fsInfo":{"disks":null}})");
  EXPECT_EQ(user_list(nullptr), R"({"metadata":{},"items":[]})");
  EXPECT_EQ(file_system_list(nullptr), R"({"metadata":{},"items":[]})");
}

TEST(AgentAnswers, AreReadAsTheProtocolHasThem) {
  AgentKnown known;
  EXPECT_TRUE(take_info(
      R"({"return":{"version":"7.2","supported_commands":[{"name":"guest-ping","enabled":true},{"name":"x"}]}})",
      known));
  EXPECT_TRUE(take_os(R"({"return":{"id":"debian","pretty-name":"Debian","kernel-release":"6.1","odd":"x"}})", known));
  EXPECT_TRUE(take_host_name(R"({"return":{"host-name":"demo"}})", known));
  EXPECT_TRUE(take_time_zone(R"({"return":{"zone":"CET","offset":3600}})", known));
  EXPECT_TRUE(take_interfaces(
      R"({"return":[{"name":"lo"},{"name":"eth0","hardware-address":"02:00","ip-addresses":[{"ip-address":"10.0.2.15"}]}]})",
      known));
  EXPECT_TRUE(take_users(R"({"return":[{"user":"jane","login-time":1.5}]})", known));
  EXPECT_TRUE(take_file_systems(
      R"({"return":[{"name":"vda1","mountpoint":"/","type":"ext4","used-bytes":1,"total-bytes":2,
                     "disk":[{"serial":"s","bus-type":"virtio"}]}]})",
      known));
  EXPECT_TRUE(take_freeze_status(R"({"return":"frozen"})", known));
  EXPECT_THAT(known.facts.os,
              ElementsAre(Pair("id", "debian"), Pair("kernelRelease", "6.1"), Pair("prettyName", "Debian")));
  ASSERT_EQ(known.facts.interfaces.size(), 1u);  // RUN-GA-09: not lo
  EXPECT_THAT(known.facts.interfaces[0].addresses, ElementsAre("10.0.2.15"));
  EXPECT_EQ(
      guest_os_info(&known),
      R"({"guestAgentVersion":"7.2","supportedCommands":[{"name":"guest-ping","enabled":true},{"name":"x"}],)"
      R"("hostname":"demo","os":{"id":"debian","kernelRelease":"6.1","prettyName":"Debian"},"timezone":"CET, 3600",)"
      R"("userList":[{"userName":"jane","loginTime":1.5}],"fsInfo":{"disks":[{"diskName":"vda1","mountPoint":"/",)"
      R"("fileSystemType":"ext4","usedBytes":1,"totalBytes":2,"disk":[{"serial":"s","busType":"virtio"}]}]},)"
      R"("fsFreezeStatus":"frozen"})");
}

// A guest answers what it likes.
TEST(AgentAnswers, OfAHostileGuestChangeNothing) {
  std::string deep = R"({"return":)", large = R"({"return":{"host-name":")";
  for (int i = 0; i < 5000; ++i) deep += "[";
  large += std::string(limits::agent_answer_bytes_max, 'x') + R"("}})";
  for (const TakeAnswer take : {take_info, take_os, take_host_name, take_time_zone, take_interfaces, take_users,
                                take_file_systems, take_freeze_status}) {
    AgentKnown known;
    for (const std::string_view answer :
         {std::string_view(""), std::string_view("{"), std::string_view("null"), std::string_view("[]"),
          std::string_view(R"({"return":7})"), std::string_view(R"({"return":"melted"})"), std::string_view(deep),
          std::string_view(large)})
      EXPECT_FALSE(take(answer, known)) << answer.substr(0, 40);
    EXPECT_EQ(guest_os_info(&known), guest_os_info(nullptr));
  }
}

TEST(AgentAnswers, DoNotTalkToTerminals) {
  const auto host_name = [](std::string_view text) {
    AgentKnown known;
    EXPECT_TRUE(take_host_name(fmt::format(R"({{"return":{{"host-name":"{}"}}}})", text), known)) << text;
    return known.host_name;
  };
  for (const std::string_view text :
       {"a\\u001b[2J", "a\\u007f", "a\\u0080", "a\\u009b2J", "\\u009f", "a\\u2028b", "a\\u2029", "a\\u202ab", "\\u202e",
        "a\\u2066b", "a\\u2069", "a\xc2\x9b", "a\xe2\x80\xae"})
    EXPECT_EQ(host_name(text), "") << text;
  for (const std::string_view text :
       {"b\xc3\xbcro", "a\xc2\xa0z", "\xe2\x80\xa7", "\xe2\x80\xaf", "\xe2\x81\xa5", "\xe2\x81\xaa"})
    EXPECT_EQ(host_name(text), text);
}

TEST(AgentAnswers, OnlyAddressesAreAddresses) {
  AgentKnown known;
  EXPECT_TRUE(take_interfaces(
      R"({"return":[{"name":"eth0","ip-addresses":[{"ip-address":"10.0.2.15"},{"ip-address":"<b>example.com</b>"},
          {"ip-address":"10.0.2.15/24"},{"ip-address":""},{},{"ip-address":"fe80::1"}]}]})",
      known));
  ASSERT_EQ(known.facts.interfaces.size(), 1u);
  EXPECT_THAT(known.facts.interfaces[0].addresses, ElementsAre("10.0.2.15", "fe80::1"));
}

TEST(AgentAnswers, AreOnlySoLong) {
  AgentKnown known;
  std::string many = R"({"return":[)";
  for (std::size_t i = 0; i < limits::agent_list_max + 100; ++i)
    many += fmt::format(R"({}{{"user":"u{}"}})", i == 0 ? "" : ",", i);
  EXPECT_TRUE(take_users(many + "]}", known));
  EXPECT_EQ(known.users.size(), limits::agent_list_max);
  const std::string info = guest_os_info(&known);
  EXPECT_NE(info.find("u9"), std::string::npos);
  EXPECT_EQ(info.find("u10"), std::string::npos);  // RUN-GA-10: ten are told
  const std::string name(limits::agent_text_bytes_max + 1, 'x');
  EXPECT_TRUE(take_host_name(fmt::format(R"({{"return":{{"host-name":"{}"}}}})", name), known));
  EXPECT_EQ(known.host_name, "");
  // Of other types than they should be: nothing.
  EXPECT_TRUE(take_interfaces(R"({"return":[7,{"name":3,"ip-addresses":{"a":1}}]})", known));
  ASSERT_EQ(known.facts.interfaces.size(), 1u);
  EXPECT_EQ(known.facts.interfaces[0].name, "");
}

}  // namespace
}  // namespace vg::handler
