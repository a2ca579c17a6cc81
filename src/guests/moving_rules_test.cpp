// The rows of spec migration-and-fleets 3 to 5 that a node carries out, one by one.
#include <gmock/gmock.h>

#include <span>

#include "controllers/testing.h"
#include "guests/moving.h"
#include "guests/testing.h"
#include "json/access.h"
#include "json/patch.h"
#include "json/write.h"

namespace vg::guests {
namespace {

using hypervisor::State;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::Given;
using testing::Made;

constexpr std::string_view act_names[] = {"none",    "wait",    "abort",    "send",   "tell",
                                          "prepare", "receive", "clean_up", "settle", "leave"};
std::string_view name_of(MoveAct act) { return act_names[static_cast<std::size_t>(act)]; }

// A VMI that is handed over from one node to another; this one is node01.
struct Role {
  std::string_view source, target, on;
};
constexpr Role as_source{.source = "node01", .target = "node02", .on = "node01"};
constexpr Role as_target{.source = "node00", .target = "node01", .on = "node00"};

Made handed_over(const Role& role, std::string_view state, std::string_view vmi_patch,
                 std::optional<State> domain = State::running, std::string_view reason = "Unknown") {
  Made made({.state = domain, .reason = reason});
  const std::string patch = fmt::format(
      R"({{"metadata":{{"labels":{{"kubevirt.io/migrationTargetNodeName":"{}"}}}},"status":{{"nodeName":"{}",
      "migrationState":{{"migrationUid":"m-1","sourceNode":"{}","targetNode":"{}"{}}}}}}})",
      role.target, role.on, role.source, role.target, state);
  for (const std::string_view text : {std::string_view(patch), vmi_patch})
    if (!json::apply_merge_patch(made.vmi->root(), Made::read(std::string(text)).root()))
      throw std::invalid_argument(std::string(text));
  made.one->vmi = made.vmi->root().if_object();
  return made;
}

struct MoveRow {
  std::string_view id, state, vmi_patch;  // more of the migrationState, and of the VMI
  Move move = {};
  std::string_view act, rule;
};

constexpr std::string_view ready = R"(,"targetDirectMigrationNodePorts":{"49152":0})";
constexpr std::string_view final_vmi = R"({"status":{"phase":"Succeeded"}})";
constexpr std::string_view deleted_vmi = R"({"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z"}})";

TEST(DecideMove, TheSourcesRows) {
  const Move sending{.uid = "m-1", .began = testing::noon};
  const Move aborting{.uid = "m-1", .began = testing::noon, .is_aborting = true};
  const Move in_postcopy{.uid = "m-1", .began = testing::noon, .mode = "PostCopy"};
  constexpr std::string_view running = R"(,"startTimestamp":"2026-01-02T03:04:05Z","mode":"PreCopy")";
  const std::string unwanted = std::string(running) + R"(,"abortRequested":true)";
  const MoveRow rows[] = {
      {"MIG-R01: being deleted", ready, deleted_vmi, {}, "none", ""},
      {"MIG-R01: final", ready, final_vmi, {}, "none", ""},
      {"MIG-R01: no state", "", R"({"status":{"migrationState":null}})", {}, "none", ""},
      {"MIG-R01: no migration", ready, R"({"status":{"migrationState":{"migrationUid":null}}})", {}, "none", ""},
      {"MIG-R02: completed", R"(,"completed":true,"endTimestamp":"t")", "{}", sending, "none", ""},
      {"MIG-R02: failed", R"(,"failed":true,"endTimestamp":"t")", "{}", sending, "none", ""},
      {"MIG-R03: another source", ready, R"({"status":{"migrationState":{"sourceNode":"x"}}})", {}, "none", ""},
      {"MIG-R03: it is elsewhere", ready, R"({"status":{"nodeName":"x"}})", {}, "none", ""},
      {"MIG-R04: otherwise something is done", ready, "{}", {}, "settle", "MIG-R21"},
      {"MIG-R11", R"(,"abortRequested":true)", "{}", sending, "abort", "MIG-R11"},
      {"MIG-R12: in progress", running, "{}", sending, "wait", "MIG-R12"},
      {"MIG-R13: nobody listens yet", "", "{}", {}, "wait", "MIG-R13"},
      {"MIG-R20: it began", ready, "{}", sending, "tell", "MIG-R20"},
      {"MIG-R20: its mode changed", running, "{}", in_postcopy, "tell", "MIG-R20"},
      {"MIG-X31: an abort is not repeated", unwanted, "{}", aborting, "wait", "MIG-R12"},
  };
  for (const MoveRow& row : rows) {
    const Made made = handed_over(as_source, row.state, row.vmi_patch);
    const MoveDecision decision = decide_move(*made.one, row.move);
    EXPECT_EQ(name_of(decision.act), row.act) << row.id;
    EXPECT_EQ(decision.rule, row.rule) << row.id;
  }
  const Made no_vmi({.phase = ""});
  EXPECT_EQ(decide_move(*no_vmi.one, sending).act, MoveAct::none) << "MIG-R01: no VMI";
}

TEST(DecideMove, TheTargetsRows) {
  struct Row : MoveRow {
    std::optional<State> domain = {};
    std::string_view reason = "Unknown";
  };
  const Move prepared{.uid = "m-1", .is_prepared = true};
  const Move for_another{.uid = "m-0", .is_prepared = true};
  constexpr std::string_view shown = R"(,"targetNodeAddress":"127.0.0.1")";
  constexpr std::string_view seen = R"(,"targetNodeAddress":"127.0.0.1","targetNodeDomainDetected":true)";
  constexpr std::string_view sent = R"(,"targetNodeAddress":"a","startTimestamp":"t","endTimestamp":"t")";
  const Row rows[] = {
      {{"MIG-D01: failed", R"(,"failed":true,"endTimestamp":"t")", "{}", prepared, "clean_up", "MIG-D40"}},
      {{"MIG-D01: completed", R"(,"completed":true,"endTimestamp":"t")", "{}", prepared, "clean_up", "MIG-D40"},
       State::running},
      {{"MIG-D03: all was sent, and it runs", sent, "{}", prepared, "receive", "MIG-D11"}, State::running},
      {{"MIG-D03: all was sent, and it is paused", sent, "{}", prepared, "receive", "MIG-D11"}, State::paused, "User"},
      {{"MIG-D04: it listens", shown, "{}", prepared, "wait", "MIG-D04"}},
      {{"MIG-D04: it comes", seen, "{}", prepared, "wait", "MIG-D04"}, State::paused, "Migration"},
      {{"MIG-D06", "", "{}", {}, "prepare", "MIG-D06"}},
      {{"MIG-D06: for this one", shown, "{}", for_another, "prepare", "MIG-D06"}},
      {{"MIG-D10: the domain is there", shown, "{}", prepared, "receive", "MIG-D10"}, State::paused, "Migration"},
      {{"MIG-D10: since before this process", shown, "{}", {}, "receive", "MIG-D10"}, State::paused, "Migration"},
      {{"MIG-D11", seen, "{}", prepared, "receive", "MIG-D11"}, State::running},
      {{"MIG-D15: it must be told where it listens", "", "{}", prepared, "receive", "MIG-D15"}},
      {{"MIG-D40: the VMI is over", shown, final_vmi, prepared, "clean_up", "MIG-D40"}},
      {{"MIG-D40: the VMI goes", shown, deleted_vmi, prepared, "clean_up", "MIG-D40"}},
  };
  for (const Row& row : rows) {
    const Made made = handed_over(as_target, row.state, row.vmi_patch, row.domain, row.reason);
    const MoveDecision decision = decide_move(*made.one, row.move);
    EXPECT_EQ(name_of(decision.act), row.act) << row.id;
    EXPECT_EQ(decision.rule, row.rule) << row.id;
  }
}

// --- what the VMI shows ----------------------------------------------------------------------------------------------

using Show = void (*)(controllers::vmi::Draft& draft);

struct Shown {
  json::Value vmi;
  std::vector<std::string> events;

  std::string at(const std::vector<std::string_view>& path) const {
    const json::Value* found = &vmi;
    for (const std::string_view member : path) {
      found = found->is_object() ? json::find(*found, member) : nullptr;
      if (!found) return "(none)";
    }
    return json::to_text(*found);
  }
};

Shown show(const Made& made, Show what) {
  const controllers::TestWorld world;
  const controllers::Key key{.ns = "default", .name = "vm1"};
  json::Document memory;
  const controllers::Turn turn{.world = world,
                               .key = key,
                               .config = world.config(),
                               .now = testing::noon,
                               .random = 0,
                               .storage = memory.storage()};
  controllers::vmi::Draft draft(turn, *made.one->vmi);
  what(draft);
  Shown shown{.vmi = json::Value(draft.object(), json::StoragePtr()), .events = {}};
  for (const controllers::Told& told : draft.pass.events)
    shown.events.push_back(fmt::format("{} {} {}", told.event.reason,
                                       told.event.type == controllers::EventType::normal ? "Normal" : "Warning",
                                       told.event.message));
  return shown;
}

struct ShowRow {
  std::string_view id, state, vmi_patch;
  Show show;
  std::vector<std::string_view> path;
  std::string_view expected;
};

constexpr std::string_view noon_text = R"("2023-11-14T22:13:20Z")";

void begins(controllers::vmi::Draft& draft) { show_begin(draft, "PreCopy"); }
void goes_on_in_postcopy(controllers::vmi::Draft& draft) { show_begin(draft, "PostCopy"); }
void listens(controllers::vmi::Draft& draft) { show_target(draft, "127.0.0.7", {{"40001", 0}, {"40002", 49152}}); }
void arrives(controllers::vmi::Draft& draft) { show_arrival(draft, {}); }
void fails(controllers::vmi::Draft& draft) { show_failure(draft, "boom", false); }
void is_aborted(controllers::vmi::Draft& draft) { show_failure(draft, migration_aborted, false); }

void expect_shown(const Role& role, std::span<const ShowRow> rows) {
  for (const ShowRow& row : rows) {
    const Shown shown = show(handed_over(role, row.state, row.vmi_patch), row.show);
    EXPECT_EQ(shown.at(row.path), row.expected) << row.id << " " << row.path.back();
  }
}

TEST(ShowMove, TheSource) {
  constexpr std::string_view early = R"(,"startTimestamp":"2020-01-01T00:00:00Z","mode":"PreCopy")";
  const auto state = [](std::string_view name) {
    return std::vector<std::string_view>{"status", "migrationState", name};
  };
  const ShowRow rows[] = {
      {"MIG-X02", "", "{}", begins, state("startTimestamp"), noon_text},
      {"MIG-X02", "", "{}", begins, state("mode"), R"("PreCopy")"},
      {"MIG-R20: it began then", early, "{}", goes_on_in_postcopy, state("startTimestamp"),
       R"("2020-01-01T00:00:00Z")"},
      {"MIG-R20", early, "{}", goes_on_in_postcopy, state("mode"), R"("PostCopy")"},
      {"MIG-X30", early, "{}", fails, state("failed"), "true"},
      {"MIG-X30", early, "{}", fails, state("completed"), "true"},
      {"MIG-X30", early, "{}", fails, state("failureReason"), R"("boom")"},
      {"MIG-X30", early, "{}", fails, state("endTimestamp"), noon_text},
      {"MIG-X30: nobody aborted it", early, "{}", fails, state("abortStatus"), "(none)"},
      {"MIG-X31", early, "{}", is_aborted, state("abortStatus"), R"("Succeeded")"},
      {"MIG-X31", early, "{}", is_aborted, state("failureReason"), R"("Live migration has been aborted")"},
  };
  expect_shown(as_source, rows);
  EXPECT_THAT(show(handed_over(as_source, "", "{}"), begins).events,
              ElementsAre("Migrating Normal VirtualMachineInstance is migrating."))
      << "MIG-X02, MIG-R14";
  EXPECT_THAT(show(handed_over(as_source, early, "{}"), goes_on_in_postcopy).events, ElementsAre()) << "MIG-R20";
}

TEST(ShowMove, TheTarget) {
  constexpr std::string_view overhead = R"(,"targetMemoryOverhead":"300Mi","startTimestamp":"2020-01-01T00:00:00Z")";
  constexpr std::string_view much = R"({"metadata":{"labels":{"kubevirt.io/outdatedLauncherImage":"","stays":"x"},
      "annotations":{"kubevirt.io/eviction-source":"descheduler","stays":"x"}},
    "status":{"evacuationNodeName":"node00","launcherContainerImageVersion":"i","memory":{"memoryOverhead":"1Mi"},
      "migratedVolumes":[{"volumeName":"v"}],"conditions":[{"type":"VolumesChange","status":"True"},
      {"type":"MigrationRequired","status":"True"}],"changedBlockTracking":{"state":"Enabled"}}})";
  const auto in_state = [](std::string_view name) {
    return std::vector<std::string_view>{"status", "migrationState", name};
  };
  const auto in_status = [](std::string_view name) { return std::vector<std::string_view>{"status", name}; };
  const auto label = [](std::string_view name) { return std::vector<std::string_view>{"metadata", "labels", name}; };
  const ShowRow rows[] = {
      {"MIG-D10", overhead, much, arrives, in_state("targetNodeDomainDetected"), "true"},
      {"MIG-D11", overhead, much, arrives, in_state("targetNodeDomainReadyTimestamp"), noon_text},
      {"MIG-D11, MIG-D33", overhead, much, arrives, in_status("conditions"), "[]"},
      {"MIG-D12", overhead, much, arrives, in_state("endTimestamp"), noon_text},
      {"MIG-D12", overhead, much, arrives, in_status("nodeName"), R"("node01")"},
      {"MIG-D15", "", "{}", listens, in_state("targetNodeAddress"), R"("127.0.0.7")"},
      {"MIG-D15", "", "{}", listens, in_state("targetDirectMigrationNodePorts"), R"({"40001":0,"40002":49152})"},
      {"MIG-D20", overhead, much, arrives, label("kubevirt.io/nodeName"), R"("node01")"},
      {"MIG-D20", overhead, much, arrives, in_state("startTimestamp"), R"("2020-01-01T00:00:00Z")"},
      {"MIG-D20", overhead, much, arrives, in_status("evacuationNodeName"), "(none)"},
      {"MIG-D20", overhead, much, arrives, in_status("launcherContainerImageVersion"), "(none)"},
      {"MIG-D20", overhead, much, arrives, in_status("migrationTransport"), R"("Unix")"},
      {"MIG-D21", overhead, much, arrives, label("kubevirt.io/outdatedLauncherImage"), "(none)"},
      {"MIG-D21", overhead, much, arrives, label("stays"), R"("x")"},
      {"MIG-D21", overhead, much, arrives, {"metadata", "annotations"}, R"({"stays":"x"})"},
      {"MIG-D21", overhead, much, arrives, {"status", "memory", "memoryOverhead"}, R"("300Mi")"},
      {"MIG-D21: not known", "", much, arrives, {"status", "memory", "memoryOverhead"}, R"("1Mi")"},
      {"MIG-D33", overhead, much, arrives, in_status("migratedVolumes"), "(none)"},
      {"MIG-D33", overhead, much, arrives, {"status", "changedBlockTracking", "state"}, R"("Initializing")"},
      {"MIG-D33: not tracked",
       overhead,
       R"({"status":{"changedBlockTracking":{"state":"Disabled"}}})",
       arrives,
       {"status", "changedBlockTracking", "state"},
       R"("Disabled")"},
      {"MIG-D33", overhead, much, arrives, in_state("completed"), "true"},
      {"MIG-D42", overhead, much, arrives, label("kubevirt.io/migrationTargetNodeName"), "(none)"},
  };
  expect_shown(as_target, rows);
  EXPECT_THAT(show(handed_over(as_target, overhead, much), arrives).events,
              ElementsAre("Migrated Normal the VMI runs on node node01 now"))
      << "MIG-D21";
  EXPECT_THAT(show(handed_over(as_target, "", "{}"), listens).events,
              ElementsAre("PreparingTarget Normal VirtualMachineInstance Migration Target Prepared.",
                          "PreparingTarget Normal node node01 listens at 127.0.0.7"))
      << "MIG-D07, MIG-D15";
}

// --- 5.2: watching the engine ----------------------------------------------------------------------------------------

TEST(Transfer, FirstRowThatApplies) {
  struct Row {
    std::string_view id;
    TransferRules rules;
    seconds at;
    std::string_view mode;
    Transfer::Next next;
    std::string_view rule;
  };
  using enum Transfer::Next;
  const TransferRules plain{.limit = seconds(100), .patience = seconds(50)};
  const TransferRules disturbing{.limit = seconds(100), .patience = seconds(500), .may_disturb = true};
  const TransferRules posting{
      .limit = seconds(100), .patience = seconds(500), .may_disturb = true, .may_postcopy = true};
  const TransferRules gentle_post{.limit = seconds(100), .patience = seconds(500), .may_postcopy = true};
  const TransferRules endless{};
  const Row rows[] = {
      {"MIG-X10: never ended", plain, seconds(1000), "PostCopy", nothing, "MIG-X10"},
      {"MIG-X10: nor begun again", posting, seconds(1000), "PostCopy", nothing, "MIG-X10"},
      {"MIG-X11", posting, seconds(101), "PreCopy", postcopy, "MIG-X11"},
      {"MIG-X11: in time", posting, seconds(100), "PreCopy", nothing, ""},
      {"MIG-X11: only where guests may be disturbed", gentle_post, seconds(101), "PreCopy", cancel, "MIG-X15"},
      {"MIG-X13", disturbing, seconds(101), "PreCopy", suspend, "MIG-X13"},
      {"MIG-X13: once", disturbing, seconds(101), "Paused", cancel, "MIG-X15"},
      {"MIG-X14", plain, seconds(51), "PreCopy", cancel, "MIG-X14"},
      {"MIG-X14: not yet", plain, seconds(50), "PreCopy", nothing, ""},
      {"MIG-X14: also of one that is paused",
       {.limit = seconds(100), .patience = seconds(50), .may_disturb = true},
       seconds(60),
       "Paused",
       cancel,
       "MIG-X14"},
      {"MIG-X15", {.limit = seconds(100)}, seconds(101), "PreCopy", cancel, "MIG-X15"},
      {"MIG-X15: no limits", endless, seconds(100'000), "PreCopy", nothing, ""},
  };
  for (const Row& row : rows) {
    const Transfer::Decision decision = Transfer(row.rules).decide(row.at, row.mode);
    EXPECT_EQ(decision.next, row.next) << row.id;
    EXPECT_EQ(decision.rule, row.rule) << row.id;
  }
}

TEST(Transfer, ASuspendedGuestHasAsLongAgain) {  // MIG-X13, 12.5
  Transfer transfer({.limit = seconds(750), .may_disturb = true});
  EXPECT_EQ(transfer.decide(seconds(751), "PreCopy").next, Transfer::Next::suspend);
  transfer.extend();
  EXPECT_EQ(transfer.decide(seconds(1500), "Paused").next, Transfer::Next::nothing);
  EXPECT_EQ(transfer.decide(seconds(1501), "Paused").next, Transfer::Next::cancel);
}

// MIG-X14, spec migration-and-fleets Q11
TEST(Transfer, AnyDipIsProgress) {
  struct Row {
    std::string_view id;
    std::vector<std::uint64_t> remaining;  // every 10 s
    std::uint64_t total;
    bool is_stuck;  // 25 s are too long
  };
  const Row rows[] = {
      {"MIG-X14: falls", {100, 90, 80, 70, 60, 50}, 100, false},
      {"MIG-X14: stays", {100, 90, 90, 90, 90}, 100, true},
      {"MIG-X14: rises", {100, 50, 60, 70, 80}, 100, true},
      {"MIG-X14: dips, though never below what was least", {100, 10, 90, 80, 90, 80}, 100, false},
      {"MIG-X14: disks are copied, which is not counted", {0, 0, 0, 0, 0, 0}, 0, false},
  };
  for (const Row& row : rows) {
    Transfer transfer({.patience = seconds(25)});
    seconds at(0);
    for (const std::uint64_t remaining : row.remaining) transfer.see(at += seconds(10), row.total, remaining);
    EXPECT_EQ(transfer.decide(at, "PreCopy").next == Transfer::Next::cancel, row.is_stuck) << row.id;
  }
}

TEST(Transfer, RulesOfTheVmi) {  // MIG-X11, MIG-X14
  const auto rules = [](std::string_view options) {
    const Made made =
        handed_over(as_source, options.empty() ? "" : fmt::format(R"(,"migrationConfiguration":{})", options),
                    R"({"spec":{"domain":{"memory":{"guest":"4Gi"}}}})");
    const TransferRules found = transfer_rules(*made.one->vmi);
    return fmt::format("{} {} {} {}", found.limit / seconds(1), found.patience / seconds(1), found.may_disturb,
                       found.may_postcopy);
  };
  EXPECT_EQ(rules(""), "750 150 false false") << "12.5";
  EXPECT_EQ(rules(R"({"completionTimeoutPerGiB":10,"progressTimeout":20})"), "50 20 false false");
  EXPECT_EQ(rules(R"({"completionTimeoutPerGiB":0,"progressTimeout":0})"), "0 0 false false");
  EXPECT_EQ(rules(R"({"completionTimeoutPerGiB":-1,"progressTimeout":-1})"), "0 0 false false");
  EXPECT_EQ(rules(R"({"allowPostCopy":true})"), "750 150 true true") << "as the options have it";
  EXPECT_EQ(rules(R"({"allowPostCopy":true,"allowWorkloadDisruption":false})"), "750 150 false true");
  EXPECT_EQ(rules(R"({"allowWorkloadDisruption":true})"), "750 150 true false");
}

TEST(Transfer, WhyItFailed) {  // MIG-X30
  struct Row {
    std::string_view id, message;
    bool is_aborting;
    std::string_view expected;
  };
  const Row rows[] = {
      {"MIG-X30", "no route", false, "no route"},
      {"MIG-X30", "operation aborted: job 'migration out' canceled by client", false, migration_aborted},
      {"MIG-X30: whatever libvirt says of it", "no route", true, migration_aborted},
  };
  for (const Row& row : rows) EXPECT_EQ(failure_text(row.message, row.is_aborting), row.expected) << row.id;
}

}  // namespace
}  // namespace vg::guests
