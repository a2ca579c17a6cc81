#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

#include "admission/rules/example.h"
#include "admission/rules/machine/testing.h"

namespace vg::admission {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::told_by;

const bool added = add_examples({
    {"RES-01", vmi, R"({"object":{"spec":{"domain":{"resources":{"requests":{"cpu":"500m"}}}}}})",
     R"({"object":{"spec":{"domain":{"resources":{"requests":{"cpu":"-200m"}}}}}})",
     "FieldValueInvalid spec.domain.resources.requests.cpu"},
    {"RES-02", vmi, R"({"object":{"spec":{"domain":{"resources":{"limits":{"cpu":"2"}}}}}})",
     R"({"object":{"spec":{"domain":{"resources":{"limits":{"cpu":"-3"}}}}}})",
     "FieldValueInvalid spec.domain.resources.limits.cpu"},
    {"RES-03", vmi, R"({"object":{"spec":{"domain":{"resources":{"requests":{"cpu":"2"},"limits":{"cpu":"2"}}}}}})",
     R"({"object":{"spec":{"domain":{"resources":{"requests":{"cpu":"2500m"},"limits":{"cpu":"500m"}}}}}})",
     "FieldValueInvalid spec.domain.resources.requests.cpu"},
    {"PIN-01", vmi,
     R"({"object":{"spec":{"domain":{"cpu":{"dedicatedCpuPlacement":true,"cores":2},"memory":{"guest":"1Gi"},"resources":null}}}})",
     R"({"object":{"spec":{"domain":{"cpu":{"dedicatedCpuPlacement":true,"cores":2},"memory":{"guest":"0"},"resources":null}}}})",
     "FieldValueInvalid spec.domain.resources.limits.memory"},
    {"PIN-02", vmi,
     R"({"object":{"spec":{"domain":{"cpu":{"dedicatedCpuPlacement":true},"resources":{"requests":{"cpu":"2"}}}}}})",
     R"({"object":{"spec":{"domain":{"cpu":{"dedicatedCpuPlacement":true},"resources":{"requests":{"cpu":"800m"}}}}}})",
     "FieldValueInvalid spec.domain.resources.requests.cpu"},
    {"PIN-03", vmi,
     R"({"object":{"spec":{"domain":{"cpu":{"dedicatedCpuPlacement":true},"resources":{"limits":{"cpu":"2"}}}}}})",
     R"({"object":{"spec":{"domain":{"cpu":{"dedicatedCpuPlacement":true},"resources":{"limits":{"cpu":"800m"}}}}}})",
     "FieldValueInvalid spec.domain.resources.limits.cpu"},
    {"PIN-04", vmi,
     R"({"object":{"spec":{"domain":{"cpu":{"dedicatedCpuPlacement":true,"cores":1},"resources":{"limits":{"memory":"1Gi"}}}}}})",
     R"({"object":{"spec":{"domain":{"cpu":{"dedicatedCpuPlacement":true,"cores":1},"resources":{"limits":{"memory":"2Gi"}}}}}})",
     "FieldValueInvalid spec.domain.resources.requests.memory"},
    {"PIN-05", vmi, R"({"object":{"spec":{"domain":{"cpu":{"dedicatedCpuPlacement":true,"sockets":2}}}}})",
     R"({"object":{"spec":{"domain":{"cpu":{"dedicatedCpuPlacement":true,"maxSockets":2}}}}})",
     "FieldValueInvalid spec.domain.cpu.dedicatedCpuPlacement"},
    {"PIN-06", vmi,
     R"({"object":{"spec":{"domain":{"cpu":{"dedicatedCpuPlacement":true},"resources":{"requests":{"cpu":"4"},"limits":{"cpu":"4"}}}}}})",
     R"({"object":{"spec":{"domain":{"cpu":{"dedicatedCpuPlacement":true},"resources":{"requests":{"cpu":"2"},"limits":{"cpu":"4"}}}}}})",
     "FieldValueInvalid spec.domain.cpu.dedicatedCpuPlacement"},
    {"PIN-07", vmi,
     R"({"object":{"spec":{"domain":{"cpu":{"dedicatedCpuPlacement":true,"cores":2},"resources":{"limits":{"cpu":"2"}}}}}})",
     R"({"object":{"spec":{"domain":{"cpu":{"dedicatedCpuPlacement":true,"cores":4},"resources":{"limits":{"cpu":"2"}}}}}})",
     "FieldValueInvalid spec.domain.cpu.dedicatedCpuPlacement"},
    {"PIN-08", vmi,
     R"({"object":{"spec":{"architecture":"arm64","domain":{"machine":{"type":"virt"},"cpu":{"threads":2}}}}})",
     R"({"object":{"spec":{"architecture":"arm64","domain":{"machine":{"type":"virt"},"cpu":{"dedicatedCpuPlacement":true,"threads":2}}}}})",
     "FieldValueInvalid spec.architecture"},
    {"PIN-09", vmi, R"({"object":{"spec":{"domain":{"cpu":{"dedicatedCpuPlacement":true,"threads":2}}}}})",
     R"({"object":{"spec":{"domain":{"cpu":{"dedicatedCpuPlacement":true,"threads":3}}}}})",
     "FieldValueInvalid spec.domain.cpu.dedicatedCpuPlacement"},
    {"NUM-02", vmi,
     R"({"object":{"spec":{"domain":{"cpu":{"dedicatedCpuPlacement":true,"cores":2,"numa":{"guestMappingPassthrough":{}}},"memory":{"hugepages":{"pageSize":"2Mi"}}}}}})",
     R"({"object":{"spec":{"domain":{"cpu":{"numa":{"guestMappingPassthrough":{}}},"memory":{"hugepages":{"pageSize":"2Mi"}}}}}})",
     "FieldValueInvalid spec.domain.cpu.numa.guestMappingPassthrough"},
    {"NUM-03", vmi, R"({"object":{"spec":{"domain":{"cpu":{"dedicatedCpuPlacement":true,"cores":2,"numa":{}}}}}})",
     R"({"object":{"spec":{"domain":{"cpu":{"dedicatedCpuPlacement":true,"cores":2,"numa":{"guestMappingPassthrough":{}}}}}}})",
     "FieldValueInvalid spec.domain.cpu.numa.guestMappingPassthrough"},
    {"CPU-01", vmi,
     R"({"object":{"spec":{"domain":{"cpu":{"dedicatedCpuPlacement":true,"cores":2,"isolateEmulatorThread":true}}}}})",
     R"({"object":{"spec":{"domain":{"cpu":{"isolateEmulatorThread":true}}}}})",
     "FieldValueInvalid spec.domain.cpu.isolateEmulatorThread"},
    {"CPU-02", vmi,
     R"({"object":{"spec":{"domain":{"cpu":{"features":[{"name":"aes"},{"name":"vmx","policy":"forbid"}]}}}}})",
     R"({"object":{"spec":{"domain":{"cpu":{"features":[{"name":"aes"},{"name":"vmx","policy":"Require"}]}}}}})",
     "FieldValueNotSupported spec.domain.cpu.features[1].policy"},
    {"CPU-03", vmi, R"({"object":{"spec":{"domain":{"cpu":{"maxSockets":8,"sockets":8}}}}})",
     R"({"object":{"spec":{"domain":{"cpu":{"maxSockets":8,"sockets":16}}}}})",
     "FieldValueInvalid spec.domain.cpu.sockets"},
    {"RT-01", vmi,
     R"({"object":{"spec":{"domain":{"cpu":{"dedicatedCpuPlacement":true,"cores":2,"realtime":{},"numa":{"guestMappingPassthrough":{}}},"memory":{"hugepages":{"pageSize":"2Mi"}}}}}})",
     R"({"object":{"spec":{"domain":{"cpu":{"realtime":{}}}}}})",
     "FieldValueRequired spec.domain.cpu.dedicatedCpuPlacement"},
    {"RT-02", vmi, "{}",
     R"({"object":{"spec":{"domain":{"cpu":{"dedicatedCpuPlacement":true,"cores":2,"realtime":{}}}}}})",
     "FieldValueRequired spec.domain.cpu.numa.guestMappingPassthrough"},
});

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
