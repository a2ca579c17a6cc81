#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

#include "admission/rules/machine/testing.h"

namespace vg::admission {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::told_by;

constexpr const char* placement = "Invalid spec.domain.cpu.dedicatedCpuPlacement";

// A machine with dedicated CPUs; `cpu`: further members of domain.cpu, `request` and `limit` are of CPUs.
std::string pinned(std::string_view cpu, std::string_view request, std::string_view limit,
                   std::string_view architecture = "") {
  const auto resource = [](std::string_view amount) {
    return amount.empty() ? std::string() : fmt::format(R"("cpu":"{}")", amount);
  };
  return fmt::format(
      R"({{"architecture":"{}","domain":{{"devices":{{}},"cpu":{{"dedicatedCpuPlacement":true{}}},
          "resources":{{"requests":{{"memory":"1Gi"{}{}}},"limits":{{{}}}}}}}}})",
      architecture, cpu, request.empty() ? "" : ",", resource(request), resource(limit));
}

TEST(CpuTest, AmountsAreComparedByThousandths) {
  const auto told = [](std::string_view request, std::string_view limit) {
    return told_by(
        cpu_resources_family,
        fmt::format(
            R"({{"domain":{{"devices":{{}},"resources":{{"requests":{{"cpu":"{}"}},"limits":{{"cpu":"{}"}}}}}}}})",
            request, limit));
  };
  EXPECT_THAT(told("500m", "500m"), IsEmpty());
  EXPECT_THAT(told("4", "0"), IsEmpty());
  EXPECT_THAT(told("501m", "0.5"), ElementsAre("Invalid spec.domain.resources.requests.cpu"));
  EXPECT_THAT(told("500001u", "501m"), IsEmpty());
  EXPECT_THAT(told("-1m", "-1n"),
              ElementsAre("Invalid spec.domain.resources.requests.cpu", "Invalid spec.domain.resources.limits.cpu"));
}

TEST(CpuTest, DedicatedCpusAreWhole) {
  EXPECT_THAT(told_by(cpu_family, pinned("", "2000m", "2")), IsEmpty());
  EXPECT_THAT(told_by(cpu_family, pinned("", "999999u", "")), IsEmpty()) << "rounded up, that is 1 CPU";
  EXPECT_THAT(told_by(cpu_family, pinned("", "1.5", "1500m")),
              ElementsAre("Invalid spec.domain.resources.requests.cpu", "Invalid spec.domain.resources.limits.cpu"));
}

TEST(CpuTest, TheNumberOfDedicatedCpusIsSaidOnce) {
  EXPECT_THAT(told_by(cpu_family, pinned("", "", "")), ElementsAre(placement));
  EXPECT_THAT(told_by(cpu_family, pinned(R"(,"cores":2,"sockets":3)", "6", "")), IsEmpty());
  EXPECT_THAT(told_by(cpu_family, pinned(R"(,"cores":2,"sockets":3)", "5", "")), ElementsAre(placement));
  EXPECT_THAT(told_by(cpu_family, pinned(R"(,"cores":2)", "2", "4")), ElementsAre(placement))
      << "the guest has one of them";
  EXPECT_THAT(told_by(cpu_family, pinned(R"(,"cores":3)", "2", "4")), ElementsAre(placement, placement));
  EXPECT_THAT(told_by(cpu_family, pinned(R"(,"cores":4294967295,"sockets":4294967295,"threads":2)", "1", "")),
              ElementsAre(placement));
  EXPECT_THAT(told_by(cpu_family, pinned(R"(,"cores":65536,"sockets":65536)", "", "")), IsEmpty());
}

TEST(CpuTest, ThreadsOfDedicatedCores) {
  EXPECT_THAT(told_by(cpu_family, pinned(R"(,"threads":2)", "", "")), IsEmpty());
  EXPECT_THAT(told_by(cpu_family, pinned(R"(,"threads":3)", "", "", "arm64")),
              ElementsAre("Invalid spec.architecture", placement));
  EXPECT_THAT(told_by(cpu_family, pinned(R"(,"threads":2)", "", ""), "{}", "arm64"),
              ElementsAre("Invalid spec.architecture"))
      << "the cluster's architecture counts";
  EXPECT_THAT(told_by(cpu_family, R"({"architecture":"arm64","domain":{"devices":{},"cpu":{"threads":4}}})"),
              IsEmpty());
}

TEST(CpuTest, DedicatedCpusNeedMemory) {
  const auto told = [](std::string_view rest) {
    return told_by(
        cpu_family,
        fmt::format(R"({{"domain":{{"devices":{{}},"cpu":{{"dedicatedCpuPlacement":true,"cores":1}}{}}}}})", rest));
  };
  const auto wanted = ElementsAre("Invalid spec.domain.resources.limits.memory");
  EXPECT_THAT(told(""), wanted);
  EXPECT_THAT(told(R"(,"memory":{"guest":"0"})"), wanted);
  EXPECT_THAT(told(R"(,"memory":{"maxGuest":"1Gi"})"), wanted);
  EXPECT_THAT(told(R"(,"memory":{"hugepages":{}})"), IsEmpty());
  EXPECT_THAT(told(R"(,"memory":{"guest":"1"})"), IsEmpty());
  EXPECT_THAT(told(R"(,"resources":{"limits":{"memory":"1n"}})"), IsEmpty());
}

TEST(CpuTest, TheOrderOfCauses) {
  EXPECT_THAT(
      told_by(cpu_family, R"({"domain":{"devices":{},"cpu":{"numa":{"guestMappingPassthrough":{}},
    "isolateEmulatorThread":true,"features":[{"name":"a","policy":"x"},{"name":"b","policy":"y"}],"sockets":2,"maxSockets":1}}})"),
      ElementsAre("Invalid spec.domain.cpu.numa.guestMappingPassthrough",
                  "Invalid spec.domain.cpu.numa.guestMappingPassthrough",
                  "Invalid spec.domain.cpu.isolateEmulatorThread", "NotSupported spec.domain.cpu.features[0].policy",
                  "NotSupported spec.domain.cpu.features[1].policy", "Invalid spec.domain.cpu.sockets"));
  EXPECT_THAT(told_by(realtime_family, R"({"domain":{"devices":{},"cpu":{"realtime":{"mask":"whatever"}}}})"),
              ElementsAre("Required spec.domain.cpu.dedicatedCpuPlacement",
                          "Required spec.domain.cpu.numa.guestMappingPassthrough"));
}

}  // namespace
}  // namespace vg::admission
