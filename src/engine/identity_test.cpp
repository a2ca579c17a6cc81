// For whom controllers act, where it counts: what is written down of it, what is asked, and what they take for others.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "admission/asker.h"
#include "engine/testing.h"
#include "ports/disk_agent_testing.h"

namespace vg::engine {
namespace {

using controllers::Identity;
namespace kinds = controllers::kinds;

struct MoveRow {
  std::string_view id;
  DiskWork work;
  std::string_view account, refused;
  bool begins;
};

// DV-25: whoever a job is for is asked about when it would begin, whatever was asked when its object was made.
TEST_F(EngineTest, DataOfAnotherNamespaceMovesOnlyForWhoeverMayHaveIt) {
  constexpr std::string_view account = "system:serviceaccount:ns:robot";
  const CopyClaim own{.from = {.ns = "ns", .name = "p"}}, foreign{.from = {.ns = "other", .name = "p"}};
  const MoveRow rows[] = {
      {"own namespace", own, "", account, true},
      {"another namespace", foreign, "robot", "", true},
      {"another namespace, not allowed", foreign, "robot", account, false},
      {"another namespace, for nobody", foreign, "", "", false},
      {"a record", CopyFromRecord{.record = "ns.r"}, "", account, true},
      {"a record of another namespace", CopyFromRecord{.record = "other.r"}, "robot", account, false},
      {"a copy of a record", StageRecord{.record = "ns.r", .as = "ns.r.staged"}, "", account, true},
      {"a copy of a record of another namespace", StageRecord{.record = "other.r", .as = "ns.r"}, "", "", false},
      {"blank", MakeBlankImage{.size = 1}, "", account, true},
  };
  for (const MoveRow& row : rows) {
    SCOPED_TRACE(row.id);
    authorizer_.refused = row.refused;
    const json::Value machine({{"serviceAccountName", row.account}});
    Pass pass;
    pass.jobs.push_back(
        {.identity = row.account.empty() ? Identity::own() : Identity::machine("ns", &machine.get_object()),
         .job = {.id = "j", .claim = {.ns = "ns", .name = "c"}, .work = row.work}});
    EventRecorder events;
    Carrier carrier({.backend = *backend_, .core = core(), .events = events});
    const Done done = http::test::run_on(core(), carrier.carry_out(pass, {}, {.component = "test"}));
    EXPECT_EQ(done.carried.error ? done.carried.error->reason : "", row.begins ? "" : controllers::job_not_allowed);
  }
}

TEST_F(EngineTest, ARefusedJobIsNotBegun) {
  create("a");
  FakeDisks disks;  // on the core alone
  toy_.sync = [](const Turn& turn) {
    Pass pass;
    for (const char* ns : {"ns", "other"})
      pass.jobs.push_back({.identity = Identity::own(),
                           .job = {.id = ns,
                                   .claim = {.ns = "ns", .name = "c"},
                                   .work = CopyClaim{.from = {.ns = ns, .name = std::string(turn.key.name)}}}});
    return pass;
  };
  start({&toy_row, 1}, &disks);
  ASSERT_TRUE(toy_.await_calls("a", 2));  // it is tried again
  stop();
  EXPECT_TRUE(disks.jobs.empty());
}

// The permission was taken back while it waited for its turn.
TEST_F(EngineTest, ARefusedJobThatWaitsIsTakenBack) {
  create("a");
  FakeDisks disks;  // on the core alone
  disks.jobs["j"] = {.state = DiskJobState::waiting};
  disks.jobs["runs"] = {.state = DiskJobState::running};
  toy_.sync = [](const Turn&) {
    Pass pass;
    pass.jobs.push_back(
        {.identity = Identity::own(),
         .job = {
             .id = "j", .claim = {.ns = "ns", .name = "c"}, .work = CopyClaim{.from = {.ns = "other", .name = "p"}}}});
    return pass;
  };
  start({&toy_row, 1}, &disks);
  ASSERT_TRUE(toy_.await_calls("a", 2));
  stop();
  EXPECT_FALSE(disks.jobs.contains("j"));
  EXPECT_TRUE(disks.jobs.contains("runs"));
}

constexpr std::string_view robot = R"({"user":"system:serviceaccount:ns:robot","groups":["system:serviceaccounts",)"
                                   R"("system:serviceaccounts:ns","system:authenticated"])";
constexpr std::string_view forged = R"({\"user\":\"admin\",\"groups\":[\"system:masters\"],\"from\":\"other/p\"})";

// Nobody writes down who asked but the server, and on a claim also what they asked for.
TEST_F(EngineTest, WhoAskedForDataOfAnotherNamespaceIsWrittenDown) {
  backend_->fills_data_volumes = true;
  constexpr std::string_view volume =
      R"({{"apiVersion":"cdi.kubevirt.io/v1beta1","kind":"DataVolume","metadata":{{"name":"{}","namespace":"ns","annotations":{{"a":"b","virtgate.io/clone-asker":"{}"{}}}}},"spec":{{"source":{{{}}},"storage":{{"resources":{{"requests":{{"storage":"8Mi"}}}}}}}}}})";
  constexpr std::string_view claim =
      R"({{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{{"name":"{}","namespace":"ns","annotations":{{"a":"b","virtgate.io/clone-asker":"{}"{}}}}},"spec":{{"accessModes":["ReadWriteOnce"],"resources":{{"requests":{{"storage":"8Mi"}}}}}}}})";
  const auto volume_of = [&](std::string_view source, std::string_view more = "") {
    return [=](std::string_view name) { return fmt::format(volume, name, forged, more, source); };
  };
  const auto claim_of = [&](std::string_view from) {
    const std::string more = from.empty() ? "" : fmt::format(R"(,"k8s.io/CloneRequest":"{}")", from);
    return [=](std::string_view name) { return fmt::format(claim, name, forged, more); };
  };
  constexpr std::string_view foreign = R"("pvc":{"name":"p","namespace":"other"})";
  constexpr std::string_view full = R"(,"cdi.kubevirt.io/storage.prePopulated":"x")";
  struct Row {
    std::string_view id, resource;
    std::function<std::string(std::string_view)> text;
    bool own;
    std::string record;
  };
  const std::string plain = std::string(robot) + "}", bound = std::string(robot) + R"(,"from":"other/p"})";
  const Row rows[] = {
      {"of another namespace", kinds::data_volume, volume_of(foreign), false, plain},
      {"of its own", kinds::data_volume, volume_of(R"("pvc":{"name":"p","namespace":"ns"})"), false, "(absent)"},
      {"blank", kinds::data_volume, volume_of(R"("blank":{})"), false, "(absent)"},
      {"full already, for nobody", kinds::data_volume, volume_of(foreign, full), true, "(absent)"},
      {"a claim of another namespace", kinds::claim, claim_of("other/p"), false, bound},
      {"a claim of its own namespace", kinds::claim, claim_of("ns/p"), false, "(absent)"},
      {"a claim for nobody", kinds::claim, claim_of("other/p"), true, "(absent)"},
      {"a claim with nothing", kinds::claim, claim_of(""), false, "(absent)"},
  };
  const json::Value machine({{"serviceAccountName", "robot"}});
  int number = 0;
  for (const Row& row : rows) {
    SCOPED_TRACE(row.id);
    const std::string name = fmt::format("o-{}", ++number);
    const auto identity = [&] { return row.own ? Identity::own() : Identity::machine("ns", &machine.get_object()); };
    const auto recorded = [&] {
      return text_at(row.resource, name, {"metadata", "annotations", admission::asker_annotation});
    };
    const Done made = write({.verb = Verb::create,
                             .resource = row.resource,
                             .ns = "ns",
                             .name = name,
                             .identity = identity(),
                             .document = object(row.text(name))});
    ASSERT_FALSE(made.hard) << made.hard->message;
    EXPECT_EQ(recorded(), row.record);
    const std::string change = fmt::format(
        R"([{{"op":"add","path":"/metadata/annotations","value":{{"c":"d","virtgate.io/clone-asker":"{}"}}}}])",
        forged);
    const Done changed = write({.verb = Verb::patch,
                                .resource = row.resource,
                                .ns = "ns",
                                .name = name,
                                .identity = identity(),
                                .document = object(change)});
    ASSERT_FALSE(changed.hard) << changed.hard->message;
    EXPECT_EQ(text_at(row.resource, name, {"metadata", "annotations", "c"}), "d");
    EXPECT_EQ(recorded(), row.record) << "it stays";
  }
}

// Nothing is taken for an owner that is being deleted, however long ago a controller has looked at it.
TEST_F(EngineTest, NothingIsAdoptedForAnOwnerThatGoes) {
  create_object(kinds::vm,
                R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"v","namespace":"ns",
      "finalizers":["kubevirt.io/x"]},"spec":{"runStrategy":"Halted","template":{"spec":{"domain":{"devices":{}}}}}})");
  create_object(kinds::claim,
                R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"c","namespace":"ns"},
      "spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"8Mi"}}}})");
  const std::string uid(store_->get(kinds::vm, "ns", "v")->uid());
  const auto adopt = [&](std::string_view owner) {
    return write(
        {.verb = Verb::patch,
         .resource = kinds::claim,
         .ns = "ns",
         .name = "c",
         .identity = Identity::own(),
         .document = object(fmt::format(
             R"([{{"op":"add","path":"/metadata/ownerReferences","value":[{{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","name":"v","uid":"{}","controller":true}}]}}])",
             owner))});
  };
  const auto owners = [&] { return text_at(kinds::claim, "c", {"metadata", "ownerReferences"}); };
  EXPECT_TRUE(adopt("another").hard) << "it is not the one that was seen";
  EXPECT_FALSE(adopt(uid).hard);
  EXPECT_EQ(owners(), "(no text)");
  EXPECT_FALSE(write({.verb = Verb::patch,
                      .resource = kinds::claim,
                      .ns = "ns",
                      .name = "c",
                      .identity = Identity::own(),
                      .document = object(R"([{"op":"remove","path":"/metadata/ownerReferences"}])")})
                   .hard);
  EXPECT_FALSE(
      write({.verb = Verb::remove, .resource = kinds::vm, .ns = "ns", .name = "v", .identity = Identity::own()}).hard);
  const Done late = adopt(uid);
  ASSERT_TRUE(late.hard);
  EXPECT_TRUE(is_lost_race(*late.hard)) << late.hard->message;
  EXPECT_EQ(owners(), "(absent)");
}

}  // namespace
}  // namespace vg::engine
