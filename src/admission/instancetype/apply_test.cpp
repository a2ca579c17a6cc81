#include "admission/instancetype/apply.h"

#include <gmock/gmock.h>

#include "admission/instancetype/testing.h"

namespace vg::admission::testing {
namespace {

struct Applied {
  json::Document vm;
  std::string at(std::string_view pointer) { return text_at(template_of(vm), pointer); }
};

Applied apply(std::string_view type, std::string_view machine = R"({"domain":{"devices":{}}})",
              const TopologyChoice& topology = {}) {
  const json::Document sizing = instancetype(type);
  Applied applied{vm_of(machine)};
  MachineTemplate target = MachineTemplate::in(template_of(applied.vm));
  apply_instancetype(spec_of(sizing), topology, target);
  return applied;
}

TEST(ApplyInstancetypeTest, AllOfIt) {
  Applied applied = apply(
      R"({"nodeSelector":{"a":"b"},"schedulerName":"s","cpu":{"guest":4,"model":"m","dedicatedCPUPlacement":true,
          "isolateEmulatorThread":true,"numa":{"guestMappingPassthrough":{}},"realtime":{"mask":"0-1"},"maxSockets":8},
          "memory":{"guest":"2Gi","hugepages":{"pageSize":"2Mi"},"maxGuest":"8Gi"},"ioThreadsPolicy":"auto",
          "ioThreads":{"supplementalPoolThreadCount":3},"launchSecurity":{"sev":{}},
          "gpus":[{"name":"g","deviceName":"d"}],"hostDevices":[{"name":"h","deviceName":"d"}],"annotations":{"k":"v"}})",
      R"({"domain":{"devices":{},"cpu":{"maxSockets":2}}})", {.topology = Topology::cores});
  EXPECT_EQ(applied.at("/spec/nodeSelector"), R"({"a":"b"})");
  EXPECT_EQ(applied.at("/spec/schedulerName"), R"("s")");
  EXPECT_EQ(applied.at("/spec/domain/cpu/cores"), "4");
  EXPECT_EQ(applied.at("/spec/domain/cpu/sockets"), "1");
  EXPECT_EQ(applied.at("/spec/domain/cpu/model"), R"("m")");
  EXPECT_EQ(applied.at("/spec/domain/cpu/dedicatedCpuPlacement"), "true");
  EXPECT_EQ(applied.at("/spec/domain/cpu/isolateEmulatorThread"), "true");
  EXPECT_EQ(applied.at("/spec/domain/cpu/numa"), R"({"guestMappingPassthrough":{}})");
  EXPECT_EQ(applied.at("/spec/domain/cpu/realtime"), R"({"mask":"0-1"})");
  EXPECT_EQ(applied.at("/spec/domain/cpu/maxSockets"), "8") << "silently in place of the machine's (K10)";
  EXPECT_EQ(applied.at("/spec/domain/memory/guest"), R"("2Gi")");
  EXPECT_EQ(applied.at("/spec/domain/memory/hugepages"), R"({"pageSize":"2Mi"})");
  EXPECT_EQ(applied.at("/spec/domain/memory/maxGuest"), R"("8Gi")");
  EXPECT_EQ(applied.at("/spec/domain/ioThreadsPolicy"), R"("auto")");
  EXPECT_EQ(applied.at("/spec/domain/ioThreads/supplementalPoolThreadCount"), "3");
  EXPECT_EQ(applied.at("/spec/domain/launchSecurity"), R"({"sev":{}})");
  EXPECT_EQ(applied.at("/spec/domain/devices/gpus/0/name"), R"("g")");
  EXPECT_EQ(applied.at("/spec/domain/devices/hostDevices/0/name"), R"("h")");
  EXPECT_EQ(applied.at("/metadata/annotations/k"), R"("v")");
  EXPECT_EQ(applied.at("/spec/domain/resources/requests"), "") << "nothing is overcommitted";
}

TEST(ApplyInstancetypeTest, TheLeastOfIt) {
  Applied applied = apply(R"({"cpu":{"guest":1},"memory":{"guest":"1Gi"}})");
  EXPECT_EQ(applied.at("/spec/domain/cpu"), R"({"sockets":1,"cores":1,"threads":1})");
  EXPECT_EQ(applied.at("/spec/domain/memory"), R"({"guest":"1Gi"})");
  EXPECT_EQ(applied.at("/spec/domain/ioThreads"), "");
  EXPECT_EQ(applied.at("/spec/nodeSelector"), "");
  EXPECT_EQ(applied.at("/metadata/annotations"), "");
}

TEST(ApplyInstancetypeTest, OvercommitIsComputedInSinglePrecision) {
  struct Row {
    const char *guest, *percent, *request;
  };
  constexpr Row rows[] = {{"512000000", "15", "\"435200k\""},
                          {"512000000", "80", "\"102399992\""},
                          {"1073741824", "15", "\"912680576\""},
                          {"4294967296", "15", "\"3650722304\""},
                          {"8589934592", "33", "\"5755255808\""},
                          {"2147483648", "100", "\"0\""},
                          {"1Gi", "50", "\"512Mi\""},
                          {"512M", "15", "\"435200k\""}};
  for (const Row& row : rows) {
    Applied applied = apply(R"({"cpu":{"guest":1},"memory":{"guest":")" + std::string(row.guest) +
                            R"(","overcommitPercent":)" + row.percent + "}}");
    EXPECT_EQ(applied.at("/spec/domain/resources/requests/memory"), row.request) << row.guest << " " << row.percent;
  }
}

TEST(ApplyInstancetypeTest, AbsurdPercentagesDoNoHarm) {
  Applied applied = apply(R"({"cpu":{"guest":1},"memory":{"guest":"8Ei","overcommitPercent":2000000000}})");
  EXPECT_NE(applied.at("/spec/domain/resources/requests/memory"), "");
}

}  // namespace
}  // namespace vg::admission::testing
