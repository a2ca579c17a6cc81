#include "handler/sync/networking.h"

#include <gmock/gmock.h>

#include "base/clock.h"
#include "handler/sync/records.h"
#include "handler/sync/testing.h"
#include "hypervisor/testing.h"
#include "json/document.h"
#include "simulated/testing.h"

namespace vg::handler {
namespace {

using std::string_view;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr string_view vmi_of =
    R"({{"metadata":{{"name":"vm1","namespace":"ns","uid":"u-1"}},"spec":{{"domain":{{"devices":{{
  "interfaces":[{{"name":"default","masquerade":{{}},"ports":[{{"port":81}},{{"port":8080}},{{"port":53,"protocol":"UDP"}}]}}{}]}}}},
  "networks":[{{"name":"default","pod":{{}}}}{}]}}}})";

class NetworkingTest : public ::testing::Test {
 protected:
  NetworkingTest() { hypervisor.put({.name = "ns_vm1", .uuid = "u", .state = hypervisor::State::running}); }
  void set_vmi(string_view interfaces = "", string_view networks = "") {
    vmi = *json::Document::parse(fmt::format(fmt::runtime(vmi_of), interfaces, networks));
  }
  void set_vmi_ports(string_view ports) {
    vmi = *json::Document::parse(
        fmt::format(R"({{"metadata":{{"uid":"u-1"}},"spec":{{"domain":{{"devices":{{"interfaces":[{{"name":"default",
        "masquerade":{{}},"ports":[{}]}}]}}}},"networks":[{{"name":"default","pod":{{}}}}]}}}})",
                    ports));
    remembered.ports_forwarded = false;
  }
  Work work() {
    return {.key = key,
            .vmi = vmi.root(),
            .uid = "u-1",
            .domain = "ns_vm1",
            .remembered = remembered,
            .storage = vmi.storage()};
  }
  template <class T>
  T run(Task<T> task) {
    std::optional<T> result;
    const auto keep = [](Task<T> inner, std::optional<T>& out) -> Task<void> { out = co_await std::move(inner); };
    spawn(keep(std::move(task), result));
    core.advance(seconds(1));
    return std::move(*result);
  }
  void run(Task<void> task) {
    spawn(std::move(task));
    core.advance(seconds(1));
  }

  const Key key{.ns = "ns", .name = "vm1"};
  ManualClock clock{Clock::Wall(seconds(1'700'000'000)), Clock::Steady(seconds(1000))};
  ManualCore core{clock};
  testing::FakeApi api{core};
  testing::FakeFiles files;
  hypervisor::FakeHypervisor hypervisor;
  Records records{"", [](Core&, std::string) -> Task<Result<void>> { co_return Result<void>(); }};
  LoopParts parts{.core = core,
                  .api = api,
                  .hypervisor = hypervisor,
                  .files = files,
                  .records = records,
                  .clock = clock,
                  .node = "node01"};
  Networking networking{parts};
  json::Document vmi;
  guests::Remembered remembered{.uid = "u-1", .address = "127.70.1.1"};
};

TEST_F(NetworkingTest, PortsThatCannotBeHadAreTold) {  // UNET-12, UNET-13
  set_vmi();
  hypervisor.fail_next("forward_port", Status::internal_error("no"));
  Outcome outcome;
  run(networking.forward_ports(work(), outcome));
  EXPECT_THAT(hypervisor.calls(), ElementsAre("forward_port ns_vm1 ua-default tcp 127.70.1.1:81 81",
                                              "forward_port ns_vm1 ua-default tcp 127.70.1.1:8080 8080",
                                              "forward_port ns_vm1 ua-default udp 127.70.1.1:53 53"));
  ASSERT_EQ(outcome.events.size(), 1u);
  EXPECT_EQ(outcome.events[0].reason, "PortsNotForwarded");
  EXPECT_THAT(outcome.events[0].message, ::testing::AllOf(HasSubstr("81/tcp"), HasSubstr("ip_unprivileged_port_start"),
                                                          ::testing::Not(HasSubstr("8080"))));
  EXPECT_FALSE(outcome.error);
  EXPECT_TRUE(remembered.ports_forwarded);
}

TEST_F(NetworkingTest, PortsThatAnotherNodeStillHasAreAwaited) {
  const auto attempt = [&] {
    Outcome outcome;
    run(networking.forward_ports(work(), outcome));
    return outcome;
  };
  const auto refuse = [&] { hypervisor.fail_next("forward_port", Status::internal_error("taken")); };
  set_vmi_ports(R"({"port":8080})");
  refuse();
  Outcome first = attempt();
  EXPECT_FALSE(remembered.ports_forwarded);
  EXPECT_TRUE(first.again);
  EXPECT_THAT(first.events, ::testing::IsEmpty());
  hypervisor.forget_calls();
  const Outcome second = attempt();
  EXPECT_THAT(hypervisor.calls(),
              ElementsAre("forwarded_ports ns_vm1", "forward_port ns_vm1 ua-default tcp 127.70.1.1:8080 8080"));
  EXPECT_TRUE(remembered.ports_forwarded);
  EXPECT_THAT(second.events, ::testing::IsEmpty());
  unsigned attempts = 0;
  remembered.ports_forwarded = false;
  do {
    refuse();
    first = attempt();
  } while (!remembered.ports_forwarded && ++attempts < 100);
  EXPECT_LT(attempts, 100u);
  ASSERT_EQ(first.events.size(), 1u) << "told in the end";
}

TEST_F(NetworkingTest, PortsOfAnEndedProcessAreClosed) {
  set_vmi();
  hypervisor.open_ports = {{.protocol = "tcp", .address = "127.70.1.1", .port = 8080, .guest_port = 8080},
                           {.protocol = "tcp", .address = "127.70.1.1", .port = 40001, .guest_port = 8080},
                           {.protocol = "udp", .address = "127.70.1.1", .port = 8080, .guest_port = 8080}};
  run(networking.tidy_ports(work()));
  EXPECT_THAT(hypervisor.calls(),
              ElementsAre("forwarded_ports ns_vm1", "stop_forwarding ns_vm1 ua-default tcp 127.70.1.1:40001",
                          "stop_forwarding ns_vm1 ua-default udp 127.70.1.1:8080"));
  EXPECT_TRUE(remembered.ports_tidied);
}

TEST_F(NetworkingTest, ASecondaryNetworkIsABridgeOfTheHost) {
  set_vmi(R"(,{"name":"blue","bridge":{}})", R"(,{"name":"blue","multus":{"networkName":"office"}})");
  const auto why = [&] {
    const auto found = run(networking.bridges(work()));
    return found ? "bridge " + found->at("blue") : found.error().message;
  };
  EXPECT_THAT(why(), HasSubstr("ns/office: it does not exist"));
  api.objects["network-attachment-definitions/office"] = R"({"spec":{"config":"{\"type\":\"macvlan\"}"}})";
  EXPECT_THAT(why(), HasSubstr("type bridge"));
  api.objects["network-attachment-definitions/office"] = R"({"spec":{}})";
  EXPECT_THAT(why(), HasSubstr("JSON object"));
  api.objects["network-attachment-definitions/office"] =
      R"({"spec":{"config":"{\"type\":\"bridge\",\"bridge\":\"br0\"}"}})";
  EXPECT_EQ(why(), "bridge br0");
  parts.host.bridge_problem = [](const std::string& bridge) { return bridge + " is not for guests"; };
  EXPECT_THAT(why(), HasSubstr("br0 is not for guests"));
}

TEST_F(NetworkingTest, NicsComeGoAndAreUnplugged) {  // RUN-NIC-01 to RUN-NIC-03
  set_vmi(R"(,{"name":"blue","bridge":{}},{"name":"old","bridge":{},"state":"absent"})",
          R"(,{"name":"blue","multus":{"networkName":"office"}},{"name":"old","multus":{"networkName":"other"}})");
  api.objects["network-attachment-definitions/office"] =
      R"({"spec":{"config":"{\"type\":\"bridge\",\"bridge\":\"br0\"}"}})";
  guests::DomainFacts live;
  live.nics = {{.alias = "default",
                .mac = {},
                .target = {},
                .link = "down",
                .xml = "<interface><link state='down'/></interface>"},
               {.alias = "old", .mac = {}, .target = {}, .xml = "<interface old=''/>"}};
  const Networking::Build build = [](const guests::Bridges& bridges) -> Result<guests::Built> {
    guests::Built built{.document = domain::Element("domain")};
    domain::Element& nic = built.document.child("devices").add("interface");
    nic.child("alias").set("name", "ua-blue");
    nic.child("source").set("bridge", bridges.at("blue"));
    return built;
  };
  Outcome outcome;
  const auto done = run(networking.change_nics(work(), live, build, outcome));
  EXPECT_TRUE(done) << done.error().message;
  ASSERT_EQ(hypervisor.calls().size(), 3u);
  EXPECT_THAT(hypervisor.calls()[0],
              ::testing::AllOf(HasSubstr("change_device"), HasSubstr("ua-blue"), HasSubstr("br0")));
  EXPECT_THAT(hypervisor.calls()[1], HasSubstr("<interface old=''/>"));
  EXPECT_THAT(hypervisor.calls()[2], HasSubstr("up"));
}

}  // namespace
}  // namespace vg::handler
