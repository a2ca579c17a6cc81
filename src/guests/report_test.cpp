#include "guests/report.h"

#include <gmock/gmock.h>

#include "controllers/testing.h"
#include "guests/live_migratable.h"
#include "guests/testing.h"
#include "json/write.h"

namespace vg::guests {
namespace {

using hypervisor::State;
using ::testing::ElementsAre;
using testing::Given;
using ::testing::IsEmpty;
using testing::Made;

// What becomes of the VMI, and the reasons of what is told.
struct Reported {
  json::Document document;
  std::vector<std::string> told;
  std::string at(std::initializer_list<std::string_view> path) const {
    const json::Value* found = json::find_path(document.root(), path);
    return !found ? std::string() : found->if_string() ? std::string(found->get_string()) : json::to_text(*found);
  }
  std::string condition(std::string_view type) const {
    const json::Array* all = json::as_array(json::find_path(document.root(), {"status", "conditions"}));
    if (all)
      for (const json::Value& one : *all)
        if (json::get_string_or(one, "type") == type)
          return fmt::format("{}/{}", json::get_string_or(one, "status"), json::get_string_or(one, "reason"));
    return {};
  }
};

Reported reported(const Given& given, const std::function<void(Seen&)>& change = {}) {
  const Made made(given);
  const controllers::TestWorld world;
  const controllers::Key key{.ns = "default", .name = "vm1"};
  const controllers::NodeInfo node;
  Reported result;
  const controllers::Turn turn{.world = world,
                               .key = key,
                               .config = world.config(),
                               .now = given.now,
                               .random = 0,
                               .storage = result.document.storage()};
  controllers::vmi::Draft draft(turn, *made.one->vmi);
  Seen seen{.node = node};
  if (change) change(seen);
  report(draft, *made.one, seen);
  result.document.root() = json::Value(draft.object(), result.document.storage());
  for (const controllers::Told& told : draft.pass.events) result.told.push_back(told.event.reason);
  return result;
}

TEST(Report, AGuestThatRunsIsShown) {
  const Reported shown = reported({.phase = "Scheduled", .remembered = {.uid = "u-1", .address = "127.9.9.9"}});
  EXPECT_EQ(shown.at({"status", "phase"}), "Running");
  EXPECT_EQ(shown.at({"status", "machine", "type"}), "pc-q35-7.2");
  EXPECT_EQ(shown.at({"status", "memory", "guestCurrent"}), "512Mi");
  EXPECT_EQ(shown.at({"status", "selinuxContext"}), "none");
  EXPECT_EQ(shown.condition("AgentConnected"), "True/");
  EXPECT_EQ(shown.condition("Ready"), "True/");
  EXPECT_EQ(shown.condition("Paused"), "");
  EXPECT_THAT(shown.told, ElementsAre("Started"));
}

TEST(Report, PausesAreNamedOnce) {
  EXPECT_EQ(reported({.state = State::paused, .reason = "User"}).condition("Paused"), "True/PausedByUser");
  const std::string paused = R"(,"conditions":[{"type":"Paused","status":"True","reason":"PausedByUser"}])";
  EXPECT_EQ(reported({.more_status = paused, .state = State::paused, .reason = "IOError"}).condition("Paused"),
            "True/PausedByUser");
  EXPECT_EQ(reported({.more_status = paused}).condition("Paused"), "");
  EXPECT_EQ(reported({.state = State::paused, .reason = "Save"}).condition("Paused"), "");
}

TEST(Report, EachDiskThatFailedIsTold) {
  const Reported shown = reported({.state = State::paused, .reason = "IOError"}, [](Seen& seen) {
    seen.disk_failures = {{.volume = "root", .no_space = true}, {.volume = "more"}};
  });
  EXPECT_EQ(shown.condition("Paused"), "True/PausedIOError");
  EXPECT_THAT(shown.told, ElementsAre("IOerror", "IOerror"));
}

TEST(Report, ErrorsComeAndGo) {
  const Reported wrong = reported({}, [](Seen& seen) { seen.error = "no disk"; });
  EXPECT_EQ(wrong.condition("Synchronized"), "False/Synchronizing with the Domain failed.");
  const std::string before = R"(,"conditions":[{"type":"Synchronized","status":"False","reason":"x"}])";
  EXPECT_EQ(reported({.more_status = before}).condition("Synchronized"), "");
  EXPECT_EQ(reported({.phase = "Scheduled", .state = std::nullopt}, [](Seen& seen) { seen.is_hopeless = true; })
                .at({"status", "phase"}),
            "Failed");
}

TEST(Report, AnAgentWithoutWhatIsNeededIsNotSupported) {
  AgentFacts agent;
  const auto with = [&](Seen& seen) { seen.agent = &agent; };
  EXPECT_EQ(reported({}, with).condition("AgentVersionNotSupported"), "");  // spec vmi-lifecycle Q6
  agent.version = "1";
  EXPECT_EQ(reported({}, with).condition("AgentVersionNotSupported"),
            "True/the guest agent does not support guest-ping");
  for (const char* command :
       {"guest-ping", "guest-get-time", "guest-info", "guest-shutdown", "guest-network-get-interfaces",
        "guest-get-fsinfo", "guest-get-host-name", "guest-get-users", "guest-get-timezone", "guest-get-osinfo"})
    agent.commands.emplace_back(command, true);
  EXPECT_EQ(reported({}, with).condition("AgentVersionNotSupported"), "");
  agent.os = {{"name", "Debian"}, {"version", "12"}, {"id", ""}};
  agent.freeze_status = "frozen";
  EXPECT_EQ(reported({}, with).at({"status", "guestOSInfo"}), R"({"name":"Debian","version":"12"})");
  EXPECT_EQ(reported({}, with).at({"status", "fsFreezeStatus"}), "frozen");
}

// --- spec launch 8.2
// -----------------------------------------------------------------------------------------------------

std::string interfaces(const AgentFacts* agent, std::string_view address, const Given& given = {}) {
  const Made made(given);
  return json::to_text(json::Value(interfaces_of(*made.one->vmi, made.facts, agent, address, {})));
}

TEST(Interfaces, TheDomainsOnesComeWithThePrimaryFirst) {  // UNET-01, UNET-02, UNET-06
  EXPECT_EQ(interfaces(nullptr, "127.9.9.9"),
            R"([{"infoSource":"domain","ipAddress":"127.9.9.9","ipAddresses":["127.9.9.9"],"linkState":"up",)"
            R"("mac":"02:00:00:00:00:01","name":"default","podInterfaceName":"eth0","queueCount":1},)"
            R"({"infoSource":"domain","linkState":"down","mac":"02:00:00:00:00:02","name":"second","queueCount":4}])");
}

TEST(Interfaces, TheAgentsAreMergedByMac) {  // UNET-03 to UNET-05
  AgentFacts agent;
  agent.interfaces = {{.name = "eth0", .mac = "02:00:00:00:00:01", .addresses = {"10.0.2.15", "fe80::1"}},
                      {.name = "eth1", .mac = "02:00:00:00:00:02", .addresses = {"fe80::2", "192.168.1.2"}},
                      {.name = "docker0", .mac = "02:42:00:00:00:01", .addresses = {"172.17.0.1"}}};
  EXPECT_EQ(interfaces(&agent, "127.9.9.9"),
            R"([{"interfaceName":"eth0","infoSource":"domain, guest-agent","ipAddress":"127.9.9.9",)"
            R"("ipAddresses":["127.9.9.9"],"linkState":"up","mac":"02:00:00:00:00:01","name":"default",)"
            R"("podInterfaceName":"eth0","queueCount":1},)"
            R"({"interfaceName":"eth1","infoSource":"domain, guest-agent","ipAddress":"192.168.1.2",)"
            R"("ipAddresses":["192.168.1.2","fe80::2"],"linkState":"down","mac":"02:00:00:00:00:02","name":"second",)"
            R"("queueCount":4},)"
            R"({"infoSource":"guest-agent","interfaceName":"docker0","ipAddress":"172.17.0.1",)"
            R"("ipAddresses":["172.17.0.1"],"mac":"02:42:00:00:00:01"}])");
}

TEST(Interfaces, AnAgentWithoutAFamilyTakesItAway) {  // UNET-03
  AgentFacts agent;
  agent.interfaces = {{.name = "eth0", .mac = "02:00:00:00:00:01", .addresses = {}}};
  EXPECT_THAT(interfaces(&agent, "127.9.9.9"), ::testing::Not(::testing::HasSubstr("127.9.9.9")));
}

TEST(Interfaces, AGuestCannotShowAnyNumberOfThem) {  // UNET-05
  AgentFacts agent;
  for (int i = 0; i < 1000; ++i)
    agent.interfaces.push_back({.name = fmt::format("veth{}", i), .mac = "", .addresses = {}});
  const std::string shown = interfaces(&agent, "");
  EXPECT_THAT(shown, ::testing::HasSubstr("veth9"));
  EXPECT_THAT(shown, ::testing::Not(::testing::HasSubstr("veth10")));
}

TEST(Report, APersistentTpmKeepsAGuestWhereItIs) {  // RUN-TPM-01
  const auto judged = [](std::string_view devices, TpmState tpm) {
    const auto vmi = json::Document::parse(fmt::format(R"({{"spec":{{"domain":{{"devices":{}}}}}}})", devices));
    return judge_migration(vmi->root().get_object(), {}, *config::ClusterConfig::defaults("amd64"), tpm).reason;
  };
  EXPECT_EQ(judged(R"({"tpm":{"persistent":true}})", TpmState::stays), "PersistentTPMNotLiveMigratable");
  EXPECT_EQ(judged(R"({"tpm":{"persistent":true}})", TpmState::moves), "");
  EXPECT_EQ(judged(R"({"tpm":{}})", TpmState::stays), "");
  EXPECT_EQ(judged(R"({"tpm":{"persistent":true,"enabled":false}})", TpmState::stays), "");
}

}  // namespace
}  // namespace vg::guests
