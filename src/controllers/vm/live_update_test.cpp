#include "controllers/vm/live_update.h"

#include <gtest/gtest.h>

#include "controllers/vm/testing.h"

namespace vg::controllers::vm {
namespace {

using testing::conditions_of;
using testing::effects_text;
using testing::merged;
using testing::Scene;

std::string of_template(string_view spec) {
  return fmt::format(R"({{"metadata":{{"generation":2}},"spec":{{"template":{{"spec":{}}}}}}})", spec);
}

struct Result {
  std::string vmi_spec;    // what changed of it
  std::string conditions;  // of the VM, but for Ready
};

// The VM was started with `before` in its template, runs as the VMI of `vmi`, and now has `now` in its template.
Result update(string_view before, string_view vmi, string_view now, string_view pointer) {
  Scene scene;
  scene.started_as(of_template(before)).vmi(vmi).vm(of_template(merged(before, now)));
  const json::Value status = scene.status_after();
  const json::Value whole(*scene.world.get(kinds::vmi, "n", "a"));
  const json::Value* found = json::resolve(whole, *json::Pointer::parse(pointer));
  std::string conditions = conditions_of(status);
  if (const std::size_t ready = conditions.find("Ready=True/"); ready != std::string::npos) conditions.erase(ready, 11);
  return {.vmi_spec = found ? json::to_text(*found) : "", .conditions = conditions};
}

TEST(LiveUpdate, Cpu) {
  constexpr string_view before = R"({"domain":{"cpu":{"cores":1,"sockets":2,"threads":1}}})";
  const auto vmi = [](string_view more) {
    return merged(R"({"spec":{"domain":{"cpu":{"cores":1,"sockets":2,"threads":1,"maxSockets":4}}}})", more);
  };
  const auto sockets = [](int number) { return fmt::format(R"({{"domain":{{"cpu":{{"sockets":{}}}}}}})", number); };
  struct Row {
    string_view id;
    std::string vmi, now;
    string_view sockets, conditions;
  };
  const Row rows[] = {
      {"VMC-101a", vmi("{}"), sockets(2), "2", ""},
      {"VMC-101b",
       vmi(R"({"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"HotVCPUChange","status":"True"}]}})"),
       sockets(3), "2", " Failure=True/HotPlugCPUError HotVCPUChange=True/"},
      {"VMC-101c", vmi(R"({"status":{"migrationState":{"startTimestamp":"2026-01-02T03:04:00Z"}}})"), sockets(3), "2",
       " Failure=True/HotPlugCPUError"},
      {"VMC-101d", vmi("{}"), sockets(5), "2", "RestartRequired=True/ "},
      {"VMC-101e", vmi("{}"), sockets(1), "2", "RestartRequired=True/ "},
      {"VMC-101f", vmi("{}"), R"({"architecture":"arm64","domain":{"cpu":{"sockets":3}}})", "2",
       "RestartRequired=True/ "},
      {"VMC-101g", vmi("{}"), sockets(3), "3", ""},
  };
  for (const Row& row : rows) {
    const std::string started =
        row.id == "VMC-101f" ? merged(before, R"({"architecture":"arm64"})") : std::string(before);
    const Result result = update(started, row.vmi, row.now, "/spec/domain/cpu/sockets");
    EXPECT_EQ(result.vmi_spec, row.sockets) << row.id;
    EXPECT_EQ(result.conditions, row.conditions) << row.id;
  }
}

TEST(LiveUpdate, CpuResourcesFollow) {  // VMC-101g
  constexpr string_view resources = R"({"requests":{"cpu":"100m"},"limits":{"cpu":"1"}})";
  const std::string before = fmt::format(R"({{"domain":{{"cpu":{{"sockets":1}},"resources":{}}}}})", resources);
  const std::string vmi =
      fmt::format(R"({{"spec":{{"domain":{{"cpu":{{"sockets":1,"maxSockets":4}},"resources":{}}}}}}})", resources);
  EXPECT_EQ(update(before, vmi, R"({"domain":{"cpu":{"sockets":2}}})", "/spec/domain/resources").vmi_spec,
            R"({"requests":{"cpu":"200m"},"limits":{"cpu":"1100m"}})");
}

TEST(LiveUpdate, ACpuWithoutTopologyIsLeftAlone) {  // spec vm-controller Q-06
  EXPECT_EQ(update(R"({"domain":{"cpu":{"model":"Haswell"}}})",
                   R"({"spec":{"domain":{"cpu":{"model":"Haswell","sockets":1,"cores":1,"threads":1}}}})", "{}",
                   "/spec/domain/cpu/sockets")
                .conditions,
            "");
}

TEST(LiveUpdate, WhereItMayRun) {
  constexpr string_view selector = R"({"nodeSelector":{"a":"b"}})";
  EXPECT_EQ(update("{}", "{}", selector, "/spec/nodeSelector").vmi_spec, R"({"a":"b"})");  // VMC-102
  EXPECT_EQ(update(selector, R"({"spec":{"nodeSelector":{"a":"b"}}})", R"({"nodeSelector":null})", "/spec/nodeSelector")
                .vmi_spec,
            "");
  EXPECT_EQ(update("{}", R"({"status":{"migrationState":{"startTimestamp":"2026-01-02T03:04:00Z"}}})", selector,
                   "/spec/nodeSelector")
                .conditions,
            " Failure=True/AffinityChangeError");
  constexpr string_view tolerations = R"({"tolerations":[{"key":"k","operator":"Exists"}]})";
  EXPECT_EQ(update("{}", "{}", tolerations, "/spec/tolerations/0/key").vmi_spec, R"("k")");  // VMC-103
  EXPECT_EQ(update("{}", R"({"status":{"migrationState":{"startTimestamp":"2026-01-02T03:04:00Z"}}})", tolerations,
                   "/spec/tolerations")
                .conditions,
            " Failure=True/TolerationsChangeError");
}

TEST(LiveUpdate, Memory) {
  constexpr string_view migratable =
      R"({"spec":{"domain":{"memory":{"guest":"1Gi","maxGuest":"4Gi"}}},"status":{"memory":{"guestCurrent":"1Gi","guestAtBoot":"1Gi"},"conditions":[{"type":"Ready","status":"True"},{"type":"LiveMigratable","status":"True"}]}})";
  const auto vmi = [&](string_view more) { return merged(migratable, more); };
  const auto guest = [](string_view amount) {
    return fmt::format(R"({{"domain":{{"memory":{{"guest":"{}"}}}}}})", amount);
  };
  const auto conditions = [](string_view more) {
    return fmt::format(R"({{"status":{{"conditions":[{{"type":"Ready","status":"True"}}{}]}}}})", more);
  };
  struct Row {
    string_view id;
    std::string vmi, now;
    string_view guest, condition;  // of the VM
  };
  const Row rows[] = {
      {"VMC-104a", vmi(R"({"status":{"memory":null}})"), guest("2Gi"), "1Gi", ""},
      {"VMC-104b", vmi(conditions(R"(,{"type":"HotMemoryChange","status":"False"})")), guest("1Gi"), "1Gi",
       "RestartRequired=True/"},
      {"VMC-104c", vmi("{}"), guest("1024Mi"), "1Gi", ""},
      {"VMC-104d", vmi(conditions("")), guest("2Gi"), "1Gi", "RestartRequired=True/"},
      {"VMC-104e", vmi(R"({"spec":{"domain":{"memory":{"maxGuest":null}}}})"), guest("2Gi"), "1Gi",
       "RestartRequired=True/"},
      {"VMC-104f",
       vmi(conditions(R"(,{"type":"LiveMigratable","status":"True"},{"type":"HotMemoryChange","status":"True"})")),
       guest("2Gi"), "1Gi", "Failure=True/HotPlugMemoryError"},
      {"VMC-104g", vmi(R"({"status":{"migrationState":{"startTimestamp":"2026-01-02T03:04:00Z"}}})"), guest("2Gi"),
       "1Gi", "Failure=True/HotPlugMemoryError"},
      {"VMC-104h", vmi("{}"), guest("8Gi"), "1Gi", "RestartRequired=True/"},
      {"VMC-104i", vmi(R"({"status":{"memory":{"guestAtBoot":"3Gi"}}})"), guest("2Gi"), "1Gi", "RestartRequired=True/"},
      {"VMC-104j", vmi("{}"), guest("2Gi"), "2Gi", ""},
  };
  for (const Row& row : rows) {
    const Result result = update(R"({"architecture":"amd64"})", row.vmi, row.now, "/spec/domain/memory/guest");
    EXPECT_EQ(result.vmi_spec, fmt::format("\"{}\"", row.guest)) << row.id;
    EXPECT_TRUE(result.conditions.contains(row.condition)) << row.id << result.conditions;
    const bool marked = result.conditions.contains("RestartRequired") || result.conditions.contains("Failure");
    EXPECT_EQ(marked, !row.condition.empty()) << row.id;
  }
}

TEST(LiveUpdate, MemoryResourcesFollow) {
  const auto resources = [](string_view vm, string_view vmi) {
    const std::string before = fmt::format(R"({{"architecture":"amd64","domain":{{"resources":{}}}}})", vm);
    const std::string running = fmt::format(
        R"({{"spec":{{"domain":{{"resources":{},"memory":{{"maxGuest":"4Gi"}}}}}},"status":{{"memory":{{"guestCurrent":"1Gi","guestAtBoot":"1Gi"}},"conditions":[{{"type":"Ready","status":"True"}},{{"type":"LiveMigratable","status":"True"}}]}}}})",
        vmi);
    return update(before, running, R"({"domain":{"memory":{"guest":"2Gi"}}})", "/spec/domain/resources").vmi_spec;
  };
  EXPECT_EQ(resources("{}", R"({"requests":{"memory":"1Gi"}})"), R"({"requests":{"memory":"2Gi"}})");
  EXPECT_EQ(resources(R"({"limits":{"memory":"1Gi"}})", R"({"requests":{"memory":"1Gi"},"limits":{"memory":"1Gi"}})"),
            R"({"requests":{"memory":"2Gi"},"limits":{"memory":"2Gi"}})");
  // spec vm-controller Q-13
  EXPECT_EQ(resources(R"({"limits":{"memory":"1Gi"}})", R"({"requests":{"memory":"512Mi"},"limits":{"memory":"1Gi"}})"),
            R"({"requests":{"memory":"2Gi"},"limits":{"memory":"1Gi"}})");
}

TEST(LiveUpdate, NothingIsWrittenWhereNothingDiffers) {
  Scene scene;
  scene.started_as().vm().vmi();
  scene.status_after();
  EXPECT_EQ(effects_text(scene.pass()), "");
}

}  // namespace
}  // namespace vg::controllers::vm
