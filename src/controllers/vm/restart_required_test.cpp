#include "controllers/vm/restart_required.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "controllers/vm/testing.h"

namespace vg::controllers::vm {
namespace {

using testing::conditions_of;
using testing::parsed;
using testing::Scene;

constexpr string_view hotplugged = R"({"name":"h","persistentVolumeClaim":{"claimName":"x","hotpluggable":true}})";
constexpr string_view other_hotplugged =
    R"({"name":"h","persistentVolumeClaim":{"claimName":"y","hotpluggable":true}})";
constexpr string_view permanent = R"({"name":"p","persistentVolumeClaim":{"claimName":"x"}})";
constexpr string_view other_permanent = R"({"name":"p","persistentVolumeClaim":{"claimName":"y"}})";
constexpr string_view dump = R"({"name":"d","memoryDump":{"claimName":"x","hotpluggable":true}})";
constexpr string_view config_map = R"({"name":"p","configMap":{"name":"x"}})";
constexpr string_view other_config_map = R"({"name":"p","configMap":{"name":"y"}})";

bool live_volumes(string_view now, string_view before, bool migrates = false) {
  const auto cur = parsed(fmt::format(R"({{"volumes":[{}]}})", now));
  const auto last = parsed(fmt::format(R"({{"volumes":[{}]}})", before));
  return volumes_are_live(cur.root().get_object(), last.root().get_object(), migrates);
}

TEST(RestartRequired, VolumesThatCanBeHotplugged) {  // LV
  EXPECT_TRUE(live_volumes(other_hotplugged, hotplugged));
  EXPECT_TRUE(live_volumes(hotplugged, ""));
  EXPECT_TRUE(live_volumes("", hotplugged));
  EXPECT_TRUE(live_volumes(dump, ""));
  EXPECT_TRUE(live_volumes(permanent, permanent));
  EXPECT_FALSE(live_volumes(other_permanent, permanent));
  EXPECT_FALSE(live_volumes(permanent, ""));
  EXPECT_FALSE(live_volumes("", permanent));
  EXPECT_TRUE(live_volumes(other_permanent, permanent, true));
  EXPECT_FALSE(live_volumes(permanent, "", true));
  EXPECT_FALSE(live_volumes(other_config_map, config_map, true));
}

bool live_disks(string_view now, string_view before) {
  const auto cur = parsed(now), last = parsed(before);
  return disks_are_live(cur.root().get_object(), last.root().get_object());
}

std::string machine(string_view volumes, string_view disks) {
  return fmt::format(R"({{"volumes":[{}],"domain":{{"devices":{{"disks":[{}]}}}}}})", volumes, disks);
}

TEST(RestartRequired, DisksThatCanBeHotplugged) {  // LD
  constexpr string_view disk = R"({"name":"h","disk":{"bus":"scsi"}})",
                        changed = R"({"name":"h","disk":{"bus":"sata"}})";
  constexpr string_view cdrom = R"({"name":"h","cdrom":{"bus":"sata"}})";
  EXPECT_TRUE(live_disks(machine(hotplugged, disk), machine("", "")));
  EXPECT_TRUE(live_disks(machine(hotplugged, changed), machine(hotplugged, disk)));
  EXPECT_FALSE(live_disks(machine("", changed), machine("", disk)));
  EXPECT_FALSE(live_disks(machine("", disk), machine("", "")));
  EXPECT_TRUE(live_disks(machine("", ""), machine(hotplugged, disk)));
  EXPECT_FALSE(live_disks(machine("", ""), machine(R"({"name":"h","configMap":{"name":"x"}})", disk)));
  EXPECT_TRUE(live_disks(machine("", cdrom), machine(hotplugged, cdrom)));
  EXPECT_TRUE(live_disks(machine(hotplugged, cdrom), machine("", cdrom)));
  EXPECT_FALSE(live_disks(machine("", ""), machine("", cdrom)));
}

TEST(RestartRequired, NetworksThatNeedIt) {
  struct Row {
    string_view wanted, running;
    bool needed;
  };
  const std::string one =
      R"({"domain":{"devices":{"interfaces":[{"name":"a","bridge":{}}]}},"networks":[{"name":"a","multus":{"networkName":"x"}}]})";
  const std::string renamed =
      R"({"domain":{"devices":{"interfaces":[{"name":"a","bridge":{},"state":"down"}]}},"networks":[{"name":"a","multus":{"networkName":"y"}}]})";
  const std::string changed =
      R"({"domain":{"devices":{"interfaces":[{"name":"a","bridge":{},"model":"e1000"}]}},"networks":[{"name":"a","multus":{"networkName":"x"}}]})";
  const std::string more =
      R"({"domain":{"devices":{"interfaces":[{"name":"a","bridge":{}},{"name":"b","bridge":{}}]}},"networks":[{"name":"a","multus":{"networkName":"x"}},{"name":"b","multus":{"networkName":"x"}}]})";
  const std::string pod =
      R"({"domain":{"devices":{"interfaces":[{"name":"a","bridge":{}},{"name":"b","bridge":{}}]}},"networks":[{"name":"a","multus":{"networkName":"x"}},{"name":"b","pod":{}}]})";
  const Row rows[] = {{one, one, false}, {renamed, one, false}, {changed, one, true}, {more, one, false},
                      {one, more, true}, {pod, one, true},      {pod, pod, false},    {"{}", one, true}};
  for (const Row& row : rows) {
    const auto wanted = parsed(row.wanted), running = parsed(row.running);
    EXPECT_EQ(network_needs_restart(wanted.root().get_object(), running.root().get_object()), row.needed)
        << row.wanted << row.running;
  }
}

// The VM was started as `started`, and has become generation 2 by this change of its spec.
std::string restart_after(string_view change, string_view configuration, string_view started = "{}") {
  Scene scene;
  scene.configure(configuration)
      .started_as(started)
      .vmi()
      .vm(testing::merged(change, R"({"metadata":{"generation":2}})"));
  const std::string conditions = conditions_of(scene.status_after());
  return conditions.contains("RestartRequired=True/") ? "needed" : "";
}

std::string of_template(string_view spec) { return fmt::format(R"({{"spec":{{"template":{{"spec":{}}}}}}})", spec); }

struct CompareRow {
  string_view id;
  std::string change;
  string_view needed;  // with rollout LiveUpdate
  string_view staged;  // with rollout Stage
  std::string started = "{}";
};

std::vector<CompareRow> compare_rows() {
  const std::string disk = R"({"name":"h","disk":{"bus":"scsi"}})";
  const std::string nic = R"("domain":{"devices":{"interfaces":[{"name":"a","bridge":{}}]}})";
  const std::string net = R"("networks":[{"name":"a","multus":{"networkName":"x"}}])";
  const std::string no_uuid = of_template(R"({"domain":{"firmware":{"uuid":null}}})");
  return {
      {"VMC-100b", of_template(fmt::format(R"({{"volumes":[{}]}})", hotplugged)), "", ""},
      {"VMC-100b", of_template(fmt::format(R"({{"volumes":[{}]}})", permanent)), "needed", "needed"},
      {"VMC-100c", of_template(machine(hotplugged, disk)), "", ""},
      {"VMC-100c", of_template(machine("", disk)), "needed", "needed"},
      {"VMC-100d", of_template(R"({"nodeSelector":{"a":"b"}})"), "", "needed"},
      {"VMC-100d", of_template(R"({"tolerations":[{"key":"a"}]})"), "", "needed"},
      {"VMC-100d", of_template(R"({"affinity":{"nodeAffinity":{}}})"), "", "needed"},
      {"VMC-100e", of_template(fmt::format("{{{},{}}}", nic, net)), "", ""},
      {"VMC-100e", of_template(R"({"networks":[{"name":"a","pod":{}}]})"), "needed", "needed"},
      {"VMC-100f", "{}", "", "", no_uuid},
      {"VMC-100f", of_template(R"({"domain":{"firmware":{"uuid":"other"}}})"), "needed", "needed"},
      {"VMC-100g", of_template(R"({"hostname":"x"})"), "needed", "needed"},
      {"VMC-100h", "{}", "", ""},
      {"VMC-100h", R"({"spec":{"runStrategy":"Manual"}})", "", ""},
      {"VMC-100h", R"({"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}})", "", ""},
  };
}

TEST(RestartRequired, ComparesTheTemplate) {
  for (const CompareRow& row : compare_rows()) {
    SCOPED_TRACE(fmt::format("{} {}", row.id, row.change));
    EXPECT_EQ(restart_after(row.change, "{}", row.started), row.needed);
    EXPECT_EQ(restart_after(row.change, R"({"vmRolloutStrategy":"Stage"})", row.started), row.staged);
  }
}

TEST(RestartRequired, GoesWhenTheChangeIsUndone) {
  Scene scene;
  scene.started_as().vmi().vm(
      R"({"metadata":{"generation":3},"status":{"conditions":[{"type":"RestartRequired","status":"True"}]}})");
  EXPECT_EQ(conditions_of(scene.status_after()), "Ready=True/");
}

TEST(RestartRequired, AnEqualMarkKeepsItsTime) {  // spec vm-controller Q-03
  Scene scene;
  scene.started_as().vmi().vm(
      R"({"metadata":{"generation":2},"spec":{"template":{"spec":{"hostname":"x"}}},"status":{"conditions":[{"type":"RestartRequired","status":"True","lastTransitionTime":"2025-01-01T00:00:00Z"}]}})");
  const json::Value status = scene.status_after();
  EXPECT_EQ(json::get_string_or(status.at("conditions").at(0), "lastTransitionTime"), "2025-01-01T00:00:00Z");
}

// VMC-74: which revision is the last start. The VM has host name "x" now; what it was started as decides.
TEST(RestartRequired, TheLastStartCounts) {
  constexpr string_view here = R"({"spec":{"template":{"spec":{"hostname":"x"}}}})";
  constexpr string_view unreadable =
      R"({"metadata":{"name":"revision-start-vm-vm-uid-4","namespace":"n","ownerReferences":[{"kind":"VirtualMachine","uid":"vm-uid"}]},"revision":4,"data":{"spec":{"template":"x"}}})";
  constexpr string_view of_another =
      R"({"metadata":{"name":"revision-start-vm-vm-uid-11","namespace":"n","ownerReferences":[{"kind":"VirtualMachine","uid":"other"}]},"revision":11,"data":{"spec":{}}})";
  struct Row {
    string_view what;
    std::vector<std::pair<string_view, int>> starts;
    std::vector<string_view> others;
    string_view needed;
  };
  const Row rows[] = {
      {"VMC-74 none", {}, {}, ""},
      {"VMC-74 one", {{"{}", 1}}, {}, "needed"},
      {"VMC-74 the highest number, not the last name", {{"{}", 9}, {here, 10}}, {}, ""},
      {"VMC-74 the highest number, not the last name", {{here, 9}, {"{}", 10}}, {}, "needed"},
      {"VMC-74 of this VM", {{here, 10}}, {of_another}, ""},
      {"VMC-74 unreadable", {{"{}", 1}}, {unreadable}, ""},
  };
  for (const Row& row : rows) {
    Scene scene;
    for (const auto& [vm, number] : row.starts) scene.started_as(vm, number);
    for (const string_view other : row.others) scene.put(kinds::revision, other);
    scene.vmi().vm(testing::merged(here, R"({"metadata":{"generation":12}})"));
    const std::string conditions = conditions_of(scene.status_after());
    EXPECT_EQ(conditions, row.needed.empty() ? "Ready=True/" : "RestartRequired=True/ Ready=True/") << row.what;
  }
}

}  // namespace
}  // namespace vg::controllers::vm
