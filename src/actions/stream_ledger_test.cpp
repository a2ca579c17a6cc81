#include "actions/stream_ledger.h"

#include <gmock/gmock.h>

#include <vector>

namespace vg::actions {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct StreamLedgerTest : ::testing::Test {
  metrics::Registry registry;
  ManualClock clock{Clock::Wall(std::chrono::seconds(1000))};
  StreamLedger ledger{registry, clock};
};

TEST_F(StreamLedgerTest, CountsWhatIsOpenAndForgetsTheRest) {
  {
    const auto first = ledger.enter({.action = "console", .ns = "a", .name = "vm"});
    auto second = ledger.enter({.action = "console", .ns = "a", .name = "vm"});
    const auto port = ledger.enter({.action = "portforward", .ns = "a", .name = "vm"});
    EXPECT_EQ(ledger.open(), 3U);
    EXPECT_THAT(registry.expose(), HasSubstr(R"(kubevirt_console_active_connections{namespace="a",vmi="vm"} 2)"));
    EXPECT_THAT(registry.expose(), HasSubstr(R"(kubevirt_portforward_active_tunnels{namespace="a",vmi="vm"} 1)"));
    const auto moved = std::move(second);
    second.reset();
    EXPECT_THAT(registry.expose(), HasSubstr(R"(kubevirt_console_active_connections{namespace="a",vmi="vm"} 2)"));
    EXPECT_THAT(registry.expose(), Not(HasSubstr("last_api_connection")));
  }
  EXPECT_EQ(ledger.open(), 0U);
  EXPECT_THAT(registry.expose(), Not(HasSubstr("_active_")));
  EXPECT_THAT(registry.expose(),
              HasSubstr(R"(kubevirt_vmi_last_api_connection_timestamp_seconds{namespace="a",vmi="vm"} 1000)"));
}

TEST_F(StreamLedgerTest, VsockIsOnlyCountedForTheLimit) {
  {
    const auto entry = ledger.enter({.action = "vsock", .ns = "a", .name = "vm"});
    EXPECT_EQ(ledger.open(), 1U);
    EXPECT_THAT(registry.expose(), Not(HasSubstr("vm")));
  }
  EXPECT_THAT(registry.expose(), Not(HasSubstr("vm")));
}

TEST_F(StreamLedgerTest, ThereIsALimit) {
  std::vector<StreamLedger::Entry> entries;
  for (std::size_t i = 0; i < limits::streams_max; ++i)
    entries.push_back(std::move(*ledger.enter({.action = "vnc", .ns = "a", .name = "vm"})));
  EXPECT_FALSE(ledger.enter({.action = "vnc", .ns = "b", .name = "vm"}));
  EXPECT_THAT(registry.expose(), Not(HasSubstr(R"(namespace="b")")));
  entries.pop_back();
  EXPECT_TRUE(ledger.enter({.action = "vnc", .ns = "b", .name = "vm"}));
}

TEST_F(StreamLedgerTest, TimesOfLongAgoMakeRoom) {
  for (int i = 0; i <= 10000; ++i) {
    const std::string name = "vm-" + std::to_string(i);
    ledger.enter({.action = "vnc", .ns = "a", .name = name});
    if (i == 0) continue;
    ledger.enter({.action = "vnc", .ns = "a", .name = "vm-0"});  // always the latest
  }
  EXPECT_THAT(registry.expose(), HasSubstr("\"vm-0\""));
  EXPECT_THAT(registry.expose(), Not(HasSubstr("\"vm-1\"")));
  EXPECT_THAT(registry.expose(), HasSubstr("\"vm-10000\""));
}

}  // namespace
}  // namespace vg::actions
