#include "handler/sync/guest_loop.h"

#include <gmock/gmock.h>

#include <stdexcept>

#include "base/base64.h"
#include "handler/sync/testing.h"
#include "hypervisor/testing.h"
#include "json/access.h"
#include "simulated/testing.h"

namespace vg::handler {
namespace {

using hypervisor::State;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::string_view vmi_text = R"({
  "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
  "metadata": {"name": "vm1", "namespace": "default", "uid": "u-1", "labels": {"kubevirt.io/nodeName": "node01"}},
  "spec": {
    "architecture": "amd64", "terminationGracePeriodSeconds": 10,
    "domain": {
      "cpu": {"cores": 1, "sockets": 1, "threads": 1, "model": "host-model"},
      "memory": {"guest": "128Mi"}, "machine": {"type": "q35"}, "features": {"acpi": {"enabled": true}},
      "firmware": {"uuid": "5d307ca9-b3ef-428c-8861-06e72d69f223"}, "resources": {},
      "devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}],
                  "interfaces": [{"name": "default", "masquerade": {}, "ports": [{"port": 2222}]}]}},
    "networks": [{"name": "default", "pod": {}}],
    "volumes": [{"name": "root", "containerDisk": {"image": "i"}}]},
  "status": {"phase": "Scheduled", "nodeName": "node01", "runtimeUser": 107,
             "volumeStatus": [{"name": "root", "target": ""}]}
})";

const Key key{.ns = "default", .name = "vm1"};

// What a node is told of a VMI that it has no part in.
Status forbidden() {
  return Status::forbidden("kubevirt.io", "virtualmachineinstances", "vm1", "it is not placed here");
}

class GuestLoopTest : public ::testing::Test {
 protected:
  GuestLoopTest() { begin(); }
  ~GuestLoopTest() override { loop->stop(); }

  // As a process that was just started.
  void begin() {
    records.emplace(kept, [this](Core&, std::string text) -> Task<Result<void>> {
      if (throws > 0 && throws-- > 0) throw std::runtime_error("a record of another shape");
      kept = std::move(text);
      co_return Result<void>();
    });
    loop.emplace(LoopParts{.core = core,
                           .api = api,
                           .hypervisor = hypervisor,
                           .files = files,
                           .records = *records,
                           .clock = clock,
                           .node = "node01",
                           .paths = {.state = "/state/nodes/node01", .sockets = "/run/node01"},
                           .address = "127.0.0.1",
                           .other_node = [](std::string_view node) -> OtherNode {
                             return {.uri = fmt::format("to-{}", node),
                                     .paths = {.state = fmt::format("/state/nodes/{}", node),
                                               .sockets = fmt::format("/run/{}", node)}};
                           }});
    controllers::NodeInfo info;
    info.labels.emplace("host-model-cpu.node.kubevirt.io/Nehalem", "true");
    loop->set_host(false, std::move(info));
    loop->start();
  }
  void start_anew() {
    loop->stop();
    loop.reset();
    core.forget();
    begin();
    settle();
  }
  void settle(std::chrono::nanoseconds time = milliseconds(200)) { core.advance(time); }
  void run_guest(std::string_view text = vmi_text) {
    api.put_vmi(text);
    settle();
    ASSERT_EQ(api.phase(key), "Running");
    api.events.clear();
    hypervisor.forget_calls();
  }
  void remove_vmi_object() {
    api.change_vmi(key, [](json::Object& vmi) {
      (*json::get_object(vmi, "metadata"))["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    });
    settle();
  }

  ManualClock clock{Clock::Wall(seconds(1'700'000'000)), Clock::Steady(seconds(1000))};
  ManualCore core{clock};
  testing::FakeApi api{core};
  hypervisor::FakeHypervisor hypervisor;
  testing::FakeFiles files;
  std::string kept;
  int throws = 0;  // how many times writing records fails so
  std::optional<Records> records;
  std::optional<GuestLoop> loop;
};

TEST_F(GuestLoopTest, StartsWhatIsScheduledHere) {
  api.put_vmi(vmi_text);
  settle();
  EXPECT_EQ(api.phase(key), "Running");
  EXPECT_THAT(api.events, ElementsAre("Created", "Started"));
  EXPECT_THAT(hypervisor.calls(), Contains("start default_vm1"));
  EXPECT_THAT(hypervisor.calls(), Contains(HasSubstr("forward_port default_vm1 ua-default tcp 127.")));
  EXPECT_THAT(*hypervisor.find("default_vm1")->xml, HasSubstr("<uid>u-1</uid>"));
  EXPECT_EQ(api.condition(key, "LiveMigratable"), "True/");
  EXPECT_EQ(api.condition(key, "Ready"), "True/");
  EXPECT_THAT(kept, HasSubstr(R"("uid":"u-1")"));
  EXPECT_EQ(api.text_at(key, {"status", "machine", "type"}), "q35");
}

TEST_F(GuestLoopTest, WritesNothingOnceAllIsSaid) {
  run_guest();
  const int before = api.updates;
  settle(seconds(900));
  EXPECT_EQ(api.updates, before);
  EXPECT_THAT(hypervisor.calls(), IsEmpty());
}

TEST_F(GuestLoopTest, WaitsForImagesAndGoesOnWhenTheyCome) {
  files.images_are_there = false;
  api.put_vmi(vmi_text);
  settle();
  EXPECT_EQ(api.phase(key), "Scheduled");
  EXPECT_EQ(api.condition(key, "Synchronized"), "");
  files.waits_for = {.reason = "ImagePulling", .message = "the image x is being pulled"};
  settle(seconds(2));
  EXPECT_EQ(api.condition(key, "Synchronized"), "False/ImagePulling");
  EXPECT_THAT(api.events, Not(Contains("SyncFailed")));
  files.images_are_there = true;
  files.came();
  settle();
  EXPECT_EQ(api.phase(key), "Running");
}

TEST_F(GuestLoopTest, AGuestThatIsGoneWaitsForNoImages) {
  files.images_are_there = false;
  api.put_vmi(vmi_text);
  settle(seconds(2));
  EXPECT_THAT(files.forgotten, IsEmpty());
  api.remove_vmi(key);
  settle(seconds(2));
  EXPECT_THAT(files.forgotten, ElementsAre("u-1"));
}

TEST_F(GuestLoopTest, AGuestThatEndsBeforeItStartedWaitsForNoImages) {
  files.images_are_there = false;
  api.put_vmi(vmi_text);
  settle(seconds(2));
  api.change_vmi(key, [](json::Object& vmi) {
    (*json::get_object(vmi, "metadata"))["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  });
  settle(seconds(2));
  EXPECT_THAT(files.forgotten, Contains("u-1"));
}

TEST_F(GuestLoopTest, SaysThatAnImageCannotBeHad) {
  files.images_fail = Status::internal_error("no such image");
  api.put_vmi(vmi_text);
  settle(seconds(1));
  EXPECT_EQ(api.phase(key), "Scheduled");
  EXPECT_EQ(api.condition(key, "Synchronized"), "False/Synchronizing with the Domain failed.");
  EXPECT_THAT(api.events, Contains("SyncFailed"));
  files.images_fail.reset();
  settle(seconds(60));
  EXPECT_EQ(api.phase(key), "Running");
  EXPECT_EQ(api.condition(key, "Synchronized"), "");
}

TEST_F(GuestLoopTest, WaitsForASecretThatIsMissing) {
  files.secrets_wanted = {"keys"};
  api.put_vmi(vmi_text);
  settle(seconds(1));
  EXPECT_EQ(api.phase(key), "Scheduled");
  EXPECT_EQ(api.condition(key, "Synchronized"), "False/Synchronizing with the Domain failed.");
  api.objects["secrets/keys"] = R"({"kind":"Secret"})";
  settle(seconds(60));
  EXPECT_EQ(api.phase(key), "Running");
}

TEST_F(GuestLoopTest, AStartThatFailsLeavesNoDomain) {
  hypervisor.fail_next("start", Status::internal_error("LibvirtError(Code=1, Domain=10, Message='x')"));
  api.put_vmi(vmi_text);
  settle(milliseconds(1));
  EXPECT_THAT(hypervisor.calls(), Contains("undefine default_vm1"));
  settle(seconds(60));
  EXPECT_EQ(api.phase(key), "Running");
}

TEST_F(GuestLoopTest, APowerOffInTheGuestEndsIt) {  // STP-20
  run_guest();
  hypervisor.set_state("default_vm1", State::shutoff, "Shutdown");
  settle();
  EXPECT_EQ(api.phase(key), "Succeeded");
  EXPECT_THAT(api.events, ElementsAre("Deleted", "Stopped"));
  EXPECT_EQ(hypervisor.find("default_vm1"), nullptr);
  EXPECT_THAT(files.cleared, ElementsAre("/guests/u-1"));
  EXPECT_THAT(kept, Not(HasSubstr("u-1")));
}

TEST_F(GuestLoopTest, ACrashFailsIt) {  // STP-23, STP-24
  run_guest();
  hypervisor.emit({.kind = hypervisor::Event::Kind::panicked, .name = "default_vm1", .detail = "0x1 0x2"});
  hypervisor.set_state("default_vm1", State::shutoff, "Crashed");
  settle();
  EXPECT_EQ(api.phase(key), "Failed");
  EXPECT_THAT(api.events, ElementsAre("GuestPanicked", "Deleted", "Stopped"));
}

TEST_F(GuestLoopTest, AWatchdogThatFiresIsToldAndEndsNothingByItself) {
  run_guest();
  hypervisor.emit({.kind = hypervisor::Event::Kind::watchdog, .name = "default_vm1", .detail = "reset"});
  settle();
  EXPECT_EQ(api.phase(key), "Running");
  EXPECT_THAT(api.events, ElementsAre("WatchdogFired"));
  settle(seconds(600));
  EXPECT_THAT(api.events, ElementsAre("WatchdogFired"));  // once
}

TEST_F(GuestLoopTest, AWatchdogThatEndsQemuFailsIt) {  // VMI-F20
  run_guest();
  hypervisor.emit({.kind = hypervisor::Event::Kind::watchdog, .name = "default_vm1", .detail = "poweroff"});
  hypervisor.set_state("default_vm1", State::shutoff, "Crashed");
  settle();
  EXPECT_EQ(api.phase(key), "Failed");
  EXPECT_THAT(api.events, ElementsAre("WatchdogFired", "Deleted", "Stopped"));
}

TEST_F(GuestLoopTest, AVanishedDomainFailsIt) {  // VMI-F04
  run_guest();
  hypervisor.remove("default_vm1");
  settle();
  EXPECT_EQ(api.phase(key), "Failed");
}

TEST_F(GuestLoopTest, ADeletedVmiIsShutDown) {
  run_guest();
  remove_vmi_object();
  EXPECT_EQ(api.phase(key), "Succeeded");
  EXPECT_THAT(api.events, ElementsAre("ShuttingDown", "Deleted", "Stopped"));
  EXPECT_THAT(hypervisor.calls(), ElementsAre("shut_down default_vm1", "undefine default_vm1"));
}

TEST_F(GuestLoopTest, AGuestThatIgnoresItIsKilledInTheEnd) {
  run_guest();
  for (int i = 0; i < 8; ++i) hypervisor.fail_next("shut_down", Status::internal_error("it does not listen"));
  remove_vmi_object();
  settle(seconds(6));
  EXPECT_THAT(hypervisor.calls(), ElementsAre("shut_down default_vm1", "shut_down default_vm1"));
  EXPECT_EQ(api.phase(key), "Running");
  settle(seconds(5));
  EXPECT_THAT(hypervisor.calls(), Contains("destroy default_vm1"));
  EXPECT_EQ(api.phase(key), "Failed");
}

// STP-04, STP-05
TEST_F(GuestLoopTest, AnAgentThatKeepsSilentDelaysNoEnd) {
  run_guest();
  hypervisor.hold("shut_down");
  hypervisor.fail_next("press_button", Status::internal_error("it does not listen"));
  remove_vmi_object();
  EXPECT_THAT(hypervisor.calls(), ElementsAre("shut_down default_vm1"));
  settle(seconds(5));
  EXPECT_THAT(hypervisor.calls(), ElementsAre("shut_down default_vm1", "press_button default_vm1"));
  EXPECT_EQ(api.phase(key), "Running");
  settle(seconds(5));
  EXPECT_THAT(hypervisor.calls(), Contains("destroy default_vm1"));
  EXPECT_EQ(api.phase(key), "Failed");
  hypervisor.release("shut_down");
  settle();
}

TEST_F(GuestLoopTest, ANodeThatWasKilledTakesItsGuestsOver) {
  run_guest();
  start_anew();
  EXPECT_EQ(api.phase(key), "Running");
  EXPECT_THAT(hypervisor.calls(), ElementsAre("forwarded_ports default_vm1"));
  hypervisor.set_state("default_vm1", State::shutoff, "Shutdown");
  settle();
  EXPECT_EQ(api.phase(key), "Succeeded");
}

TEST_F(GuestLoopTest, ANodeThatWasAwayLearnsWhatHappened) {
  run_guest();
  loop->stop();
  loop.reset();
  core.forget();
  hypervisor.on_event({});
  hypervisor.set_state("default_vm1", State::shutoff, "Crashed");
  begin();
  settle();
  EXPECT_EQ(api.phase(key), "Failed");
}

TEST_F(GuestLoopTest, APassThatThrowsIsRunAgain) {
  throws = 3;
  api.put_vmi(vmi_text);
  settle(seconds(600));
  EXPECT_EQ(throws, 0);
  EXPECT_EQ(api.phase(key), "Running");
}

TEST_F(GuestLoopTest, ALostRaceIsRunAgain) {
  api.copies_follow = false;
  api.put_vmi(vmi_text);
  api.catch_up();
  settle(milliseconds(0));
  api.change_vmi(key, [](json::Object& vmi) { json::ensure_path(vmi, {"metadata", "annotations"})["a"] = "b"; });
  settle(milliseconds(100));
  api.copies_follow = true;
  api.catch_up();
  settle(seconds(1));
  EXPECT_EQ(api.phase(key), "Running");
  EXPECT_EQ(api.text_at(key, {"metadata", "annotations", "a"}), "b");
  EXPECT_EQ(std::ranges::count(hypervisor.calls(), "start default_vm1"), 1);
}

TEST_F(GuestLoopTest, AnOldCopyIsNotBelievedOverWhatWasWritten) {
  api.put_vmi(vmi_text);
  settle(milliseconds(0));
  api.copies_follow = false;
  settle();
  ASSERT_EQ(api.phase(key), "Running");
  hypervisor.set_state("default_vm1", State::paused, "User");
  loop->note_pause(key, true);
  settle();
  EXPECT_EQ(api.condition(key, "Paused"), "True/PausedByUser");
  EXPECT_EQ(api.conflicts, 0);
}

TEST_F(GuestLoopTest, NothingIsConcludedWithoutTheHypervisor) {  // VMI-H07
  run_guest();
  hypervisor.set_connected(false);
  hypervisor.remove("default_vm1");
  settle(seconds(30));
  EXPECT_EQ(api.phase(key), "Running");
  hypervisor.set_connected(true);
  settle();
  EXPECT_EQ(api.phase(key), "Failed");
}

TEST_F(GuestLoopTest, AUsersPauseStaysAlsoWhenTheNodeStartsAnew) {  // RUN-SYN-02
  run_guest();
  loop->note_pause(key, true);
  hypervisor.set_state("default_vm1", State::paused, "User");
  settle();
  EXPECT_EQ(api.condition(key, "Paused"), "True/PausedByUser");
  start_anew();
  EXPECT_THAT(hypervisor.calls(), Not(Contains("resume default_vm1")));
  loop->note_pause(key, false);
  settle();
  EXPECT_EQ(api.condition(key, "Paused"), "");
}

TEST_F(GuestLoopTest, APauseThatAKilledNodeCouldNotWriteDownStays) {  // RUN-SYN-02
  run_guest();
  loop->stop();
  loop.reset();
  core.forget();
  hypervisor.on_event({});
  hypervisor.set_state("default_vm1", State::paused, "User");
  begin();
  settle();
  EXPECT_THAT(hypervisor.calls(), Not(Contains("resume default_vm1")));
  EXPECT_EQ(api.condition(key, "Paused"), "True/PausedByUser");
}

// It comes before the first look of a process that just began: what is seen then is older than the request.
TEST_F(GuestLoopTest, APauseThatIsAskedForBeforeTheFirstLookStays) {  // RUN-SYN-02
  run_guest();
  api.is_synced = false;
  start_anew();
  loop->note_pause(key, true);
  api.is_synced = true;
  settle(seconds(1));
  hypervisor.set_state("default_vm1", State::paused, "User");
  settle(seconds(5));
  EXPECT_THAT(hypervisor.calls(), Not(Contains("resume default_vm1")));
  EXPECT_EQ(api.condition(key, "Paused"), "True/PausedByUser");
}

// Likewise of a hypervisor that comes back while it is asked.
TEST_F(GuestLoopTest, APauseThatIsAskedForBeforeAHypervisorIsBackStays) {  // RUN-SYN-02
  run_guest();
  hypervisor.set_connected(false);
  loop->note_pause(key, true);
  hypervisor.set_connected(true);
  settle(seconds(1));
  hypervisor.set_state("default_vm1", State::paused, "User");
  settle(seconds(5));
  EXPECT_THAT(hypervisor.calls(), Not(Contains("resume default_vm1")));
  EXPECT_EQ(api.condition(key, "Paused"), "True/PausedByUser");
}

TEST_F(GuestLoopTest, ADiskThatFailsIsTriedAgainWithBackOff) {  // spec vmi-lifecycle 3.9
  run_guest();
  const auto fail_disk = [&] {
    hypervisor.emit(
        {.kind = hypervisor::Event::Kind::io_error, .name = "default_vm1", .detail = "ua-root", .reason = "enospc"});
    hypervisor.set_state("default_vm1", State::paused, "IOError");
    settle();
  };
  fail_disk();
  EXPECT_THAT(hypervisor.calls(), ElementsAre("resume default_vm1"));
  fail_disk();
  EXPECT_THAT(hypervisor.calls(), ElementsAre("resume default_vm1"));
  EXPECT_EQ(api.condition(key, "Paused"), "True/PausedIOError");
  EXPECT_THAT(api.events, Contains("IOerror"));
  settle(seconds(10));
  EXPECT_THAT(hypervisor.calls(), ElementsAre("resume default_vm1", "resume default_vm1"));
  EXPECT_EQ(api.condition(key, "Paused"), "");
}

TEST_F(GuestLoopTest, AVmiOfTheSameNameWaitsForTheEndOfTheOther) {  // VMI-H01
  run_guest();
  std::string other(vmi_text);
  other.replace(other.find("u-1"), 3, "u-2");
  api.put_vmi(other);
  settle(seconds(5));
  EXPECT_EQ(api.phase(key), "Running");
  EXPECT_THAT(*hypervisor.find("default_vm1")->xml, HasSubstr("<uid>u-2</uid>"));
  EXPECT_THAT(files.cleared, ElementsAre("/guests/u-1"));
}

TEST_F(GuestLoopTest, AVmiThatIsGoneTakesItsGuestWithIt) {  // VMI-D02
  run_guest();
  api.remove_vmi(key);
  settle(seconds(1));
  EXPECT_EQ(hypervisor.find("default_vm1"), nullptr);
  EXPECT_THAT(files.cleared, ElementsAre("/guests/u-1"));
}

// Whatever a single answer says: a server that begins, a role that is made anew, a proxy that knows nobody.
TEST_F(GuestLoopTest, NoGuestEndsByAnAnswerThatNothingConfirms) {
  const Status refusals[] = {forbidden(), Status::not_found("", "", "vm1"), Status::internal_error("no"),
                             Status::unauthorized("who?")};
  for (const Status& refusal : refusals) {
    SCOPED_TRACE(refusal.code);
    run_guest();
    api.refuse_reads = api.refuse_lists = refusal;
    api.remove_vmi(key);
    settle(seconds(40));
    EXPECT_NE(hypervisor.find("default_vm1"), nullptr);
    EXPECT_THAT(hypervisor.calls(), IsEmpty());
    api.refuse_reads = api.refuse_lists = std::nullopt;
    hypervisor.remove("default_vm1");
    settle(seconds(1));
  }
}

// The VMI is still this node's, which the copies do not show and a refusal does not say.
TEST_F(GuestLoopTest, NoGuestEndsWhoseVmiIsListedHere) {
  run_guest();
  for (const Status& refusal : {forbidden(), Status::not_found("", "", "vm1")}) {
    api.refuse_reads = refusal;
    api.lists = 0;
    api.lose_copy(key);
    settle(seconds(40));
    EXPECT_GT(api.lists, 1);
    EXPECT_THAT(hypervisor.calls(), IsEmpty()) << refusal.code;
  }
}

// A node that was away so long that its VMI was made anew elsewhere: two guests of one name must not go on.
TEST_F(GuestLoopTest, AGuestOfAVmiThatIsMadeAnewElsewhereEnds) {
  run_guest();
  api.refuse_reads = forbidden();
  api.remove_vmi(key);
  settle(seconds(4));
  EXPECT_THAT(hypervisor.calls(), IsEmpty());
  settle(seconds(3));
  EXPECT_THAT(hypervisor.calls(), Contains("shut_down default_vm1"));
  EXPECT_EQ(hypervisor.find("default_vm1"), nullptr);
  EXPECT_THAT(files.cleared, ElementsAre("/guests/u-1"));
}

// The time begins anew with every answer that says otherwise.
TEST_F(GuestLoopTest, AGuestWhoseVmiIsRefusedNowAndThenGoesOn) {
  run_guest();
  for (int times = 0; times < 5; ++times) {
    api.refuse_reads = forbidden();
    api.is_listed = false;
    api.lists = 0;
    api.lose_copy(key);
    settle(seconds(4));
    EXPECT_GT(api.lists, 3);
    api.refuse_reads = std::nullopt;
    api.is_listed = true;
    loop->wake(key);
    settle();
  }
  EXPECT_THAT(hypervisor.calls(), IsEmpty());
}

// A libvirtd that was killed remembers the definition, and not that the guest has left.
TEST_F(GuestLoopTest, ADefinitionOfAnothersVmiGoes) {
  run_guest();
  api.refuse_reads = forbidden();
  api.remove_vmi(key);
  hypervisor.set_state("default_vm1", State::shutoff, "Unknown");
  settle(seconds(1));
  EXPECT_EQ(hypervisor.find("default_vm1"), nullptr);
  EXPECT_THAT(files.cleared, ElementsAre("/guests/u-1"));
}

TEST_F(GuestLoopTest, NothingIsDoneBeforeTheCopiesAreWhole) {
  loop->stop();
  loop.reset();
  core.forget();
  api.is_synced = false;
  hypervisor.put({.name = "default_vm1", .uuid = "", .state = State::running});
  begin();
  settle(seconds(2));
  EXPECT_NE(hypervisor.find("default_vm1"), nullptr);
  api.is_synced = true;
  settle(seconds(40));
  EXPECT_EQ(hypervisor.find("default_vm1"), nullptr);
}

TEST_F(GuestLoopTest, AClaimThatGrowsIsADiskThatGrows) {  // RUN-GRW-04
  run_guest();
  const auto show = [&](std::string_view capacity) {
    api.change_vmi(key, [&](json::Object& vmi) {
      json::Value& entry = json::get_object(vmi, "status")->at("volumeStatus").as_array().front();
      json::ensure_object(json::ensure_object(entry.as_object(), "persistentVolumeClaimInfo"), "capacity")["storage"] =
          capacity;
    });
    settle();
  };
  show("64Mi");
  EXPECT_THAT(hypervisor.calls(), Contains("resize_disk default_vm1 vda 67108864"));
  hypervisor.forget_calls();
  show("64Mi");
  loop->wake(key);
  settle();
  EXPECT_THAT(hypervisor.calls(), Not(Contains(HasSubstr("resize_disk"))));
}

TEST_F(GuestLoopTest, AccessCredentialsFollowTheirSecrets) {  // RUN-ACC-02, RUN-ACC-03, RUN-ACC-06
  std::string text(vmi_text);
  text.insert(text.find("\"architecture\""), R"("accessCredentials": [{"sshPublicKey": {
    "source": {"secret": {"secretName": "keys"}}, "propagationMethod": {"qemuGuestAgent": {"users": ["ann"]}}}}], )");
  const auto put = [&](std::string_view key_text) {
    api.objects["secrets/keys"] = fmt::format(R"({{"data":{{"one":"{}"}}}})", base64_encode(key_text));
  };
  put("first");
  hypervisor.answer_agent("guest-ssh-add-authorized-keys", R"({"return":{}})");
  run_guest(text);
  loop->wake(key);
  settle();
  EXPECT_EQ(api.condition(key, "AccessCredentialsSynchronized"), "False/");
  hypervisor.connect_agent("default_vm1", true);
  settle();
  EXPECT_EQ(api.condition(key, "AccessCredentialsSynchronized"), "True/");
  EXPECT_THAT(api.events, Contains("AccessCredentialsSyncSuccess"));
  EXPECT_THAT(hypervisor.calls(), Contains(HasSubstr("first")));
  hypervisor.forget_calls();
  settle(seconds(40));
  EXPECT_THAT(hypervisor.calls(), Not(Contains(HasSubstr("guest-ssh"))));
  put("second");
  settle(seconds(20));
  EXPECT_THAT(hypervisor.calls(), Contains(HasSubstr("second")));
}

TEST_F(GuestLoopTest, StartsPausedWhereItShould) {  // RUN-STA-03
  std::string text(vmi_text);
  text.replace(text.find("\"architecture\""), 0, "\"startStrategy\": \"Paused\", ");
  api.put_vmi(text);
  settle();
  EXPECT_THAT(hypervisor.calls(), Contains("start_paused default_vm1"));
  EXPECT_THAT(hypervisor.calls(), Not(Contains("resume default_vm1")));
  EXPECT_EQ(api.condition(key, "Paused"), "True/PausedByUser");
}

// --- live migration (spec migration-and-fleets 3, 4)
// --------------------------------------------------------------------

class MoveTest : public GuestLoopTest {
 protected:
  void hand_over(std::string_view source, std::string_view target) {
    api.change_vmi(key, [&](json::Object& vmi) {
      json::ensure_path(vmi, {"metadata", "labels"})["kubevirt.io/migrationTargetNodeName"] = target;
      json::ensure_path(vmi, {"status"})["migrationState"] =
          json::Object({{"migrationUid", "m-1"}, {"sourceNode", source}, {"targetNode", target}});
    });
    settle();
  }
  void target_is_ready() {
    api.change_vmi(key, [](json::Object& vmi) {
      json::Object& state = json::ensure_path(vmi, {"status", "migrationState"});
      state["targetNodeAddress"] = "127.0.0.1";
      json::ensure_object(state, "targetDirectMigrationNodePorts")["49152"] = 0;
    });
    settle();
  }
  static std::string on_another_node() {
    std::string text(vmi_text);
    for (std::size_t at = text.find("node01"); at != text.npos; at = text.find("node01", at))
      text.replace(at, 6, "node00");
    return text.replace(text.find("Scheduled"), 9, "Running");
  }
  void incoming(State state, std::string_view reason) {
    hypervisor.put(
        {.name = "default_vm1",
         .uuid = "",
         .state = state,
         .reason = reason,
         .xml = std::make_shared<const std::string>(
             "<domain><metadata><kubevirt><uid>u-1</uid></kubevirt></metadata><os><type machine='m'/></os></domain>")});
    settle();
  }
  void stand_still() {
    run_guest();
    hypervisor.hold("migrate");
    hand_over("node01", "node02");
    target_is_ready();
    hypervisor.set_state("default_vm1", State::paused, "Migration");
  }
  std::string state(std::string_view member) { return api.text_at(key, {"status", "migrationState", member}); }
  bool flag(std::string_view member) {
    const json::Document document = api.read(key);
    return json::as_bool(json::find_path(document.root(), {"status", "migrationState", member})).value_or(false);
  }
};

TEST_F(MoveTest, TheSourceWaitsForTheTargetAndSends) {  // MIG-R13, MIG-R14
  run_guest();
  hypervisor.hold("migrate");
  hand_over("node01", "node02");
  EXPECT_THAT(hypervisor.calls(), Not(Contains(HasSubstr("migrate"))));
  target_is_ready();
  EXPECT_THAT(hypervisor.calls(), Contains(HasSubstr("migrate default_vm1 to-node02")));
  EXPECT_NE(state("startTimestamp"), "");
  EXPECT_EQ(state("mode"), "PreCopy");
  EXPECT_THAT(api.events, Contains("Migrating"));
  hypervisor.release("migrate");
  settle(seconds(2));
  EXPECT_EQ(api.phase(key), "Running");  // what the source says; the rest is the target's to write
  EXPECT_FALSE(flag("failed"));
}

TEST_F(MoveTest, AFailureIsTold) {  // MIG-R21
  run_guest();
  hypervisor.fail_next("migrate", Status::internal_error("LibvirtError(Code=1, Domain=10, Message='no')"));
  hand_over("node01", "node02");
  target_is_ready();
  settle(seconds(2));
  EXPECT_TRUE(flag("failed"));
  EXPECT_TRUE(flag("completed"));
  EXPECT_THAT(state("failureReason"), HasSubstr("Message='no'"));
  EXPECT_THAT(api.events, Contains("Migrated"));
  EXPECT_EQ(api.phase(key), "Running");
}

TEST_F(MoveTest, AnAbortEndsIt) {  // MIG-R11
  run_guest();
  hypervisor.hold("migrate");
  hand_over("node01", "node02");
  target_is_ready();
  api.change_vmi(
      key, [](json::Object& vmi) { json::ensure_path(vmi, {"status", "migrationState"})["abortRequested"] = true; });
  settle(seconds(2));
  EXPECT_THAT(hypervisor.calls(), Contains("abort_job default_vm1"));
  EXPECT_EQ(state("failureReason"), "Live migration has been aborted");
  EXPECT_EQ(state("abortStatus"), "Succeeded");
}

TEST_F(MoveTest, OneThatTakesTooLongIsEnded) {  // MIG-X15
  run_guest();
  hypervisor.hold("migrate");
  hand_over("node01", "node02");
  target_is_ready();
  settle(seconds(149));
  EXPECT_FALSE(flag("failed"));
  settle(seconds(5));
  EXPECT_TRUE(flag("failed"));
}

// 5.2, as the hypervisor sees it: 128 MiB may take 150 s.
TEST_F(MoveTest, OneThatTakesTooLongGoesOnOtherwise) {
  struct Row {
    std::string_view id, options;
    std::uint64_t total;  // 0: nothing is counted
    seconds after;
    std::string_view expected_calls, expected_mode;
    bool is_failed;
  };
  constexpr std::string_view postcopy = R"({"allowPostCopy":true})", disturbing = R"({"allowWorkloadDisruption":true})";
  const Row rows[] = {
      {"MIG-X11: not yet", postcopy, 0, seconds(149), "", "PreCopy", false},
      {"MIG-X11", postcopy, 0, seconds(152), "start_postcopy", "PostCopy", false},
      {"MIG-X10: it is never ended", postcopy, 7, seconds(10'000), "start_postcopy", "PostCopy", false},
      {"MIG-X13", disturbing, 0, seconds(152), "suspend", "Paused", false},
      {"MIG-X13: as long again", disturbing, 0, seconds(299), "suspend", "Paused", false},
      {"MIG-X13: and no longer", disturbing, 0, seconds(302), "suspend, abort_job, resume", "Paused", true},
      {"MIG-X14: not yet", R"({"progressTimeout":20})", 7, seconds(19), "", "PreCopy", false},
      {"MIG-X14", R"({"progressTimeout":20})", 7, seconds(22), "abort_job", "PreCopy", true},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.id);
    run_guest();
    hypervisor.hold("migrate");
    hypervisor.progress.total = hypervisor.progress.remaining = row.total;
    hand_over("node01", "node02");
    const auto options = json::Document::parse(row.options);
    api.change_vmi(key, [&](json::Object& vmi) {
      json::ensure_path(vmi, {"status", "migrationState"})["migrationConfiguration"] = options->root();
    });
    target_is_ready();
    hypervisor.forget_calls();
    settle(row.after);
    std::string calls;
    for (const std::string& call : hypervisor.calls())
      if (!call.starts_with("job ") && !call.starts_with("release_"))
        calls += (calls.empty() ? "" : ", ") + call.substr(0, call.find(' '));
    EXPECT_EQ(calls, row.expected_calls);
    EXPECT_EQ(state("mode"), row.expected_mode);
    EXPECT_EQ(flag("failed"), row.is_failed);
    hypervisor.release("migrate");
    hypervisor.remove("default_vm1");
    api.remove_vmi(key);
    settle(seconds(1));
    hypervisor.elsewhere.clear();
  }
}

TEST_F(MoveTest, AnAbortThatFailsIsTriedAgain) {  // MIG-X31
  run_guest();
  hypervisor.hold("migrate");
  hand_over("node01", "node02");
  target_is_ready();
  hypervisor.fail_next("abort_job", Status::internal_error("LibvirtError(Code=55, Domain=10, Message='no job')"));
  api.change_vmi(
      key, [](json::Object& vmi) { json::ensure_path(vmi, {"status", "migrationState"})["abortRequested"] = true; });
  settle(milliseconds(300));
  EXPECT_EQ(std::ranges::count(hypervisor.calls(), "abort_job default_vm1"), 1) << "not at once";
  EXPECT_EQ(state("abortStatus"), "");
  settle(milliseconds(300));
  EXPECT_EQ(std::ranges::count(hypervisor.calls(), "abort_job default_vm1"), 2);
  EXPECT_EQ(state("abortStatus"), "Succeeded");
}

TEST_F(MoveTest, WhatGoesWrongIsToldAndTriedAgain) {
  struct Row {
    std::string_view id, source, target, then;
  };
  const Row rows[] = {
      {"MIG-R04", "node01", "node02", "Migrating"},
      {"MIG-D07", "node00", "node01", "PreparingTarget"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.id);
    run_guest();
    hypervisor.hold("migrate");
    const bool is_source = row.source == "node01";
    if (!is_source) {
      hypervisor.remove("default_vm1");
      files.images_fail = Status::internal_error("no such image");
      api.change_vmi(key, [&](json::Object& vmi) {
        json::ensure_path(vmi, {"status"})["nodeName"] = row.source;
        json::ensure_path(vmi, {"status"})["phase"] = "Running";
        json::ensure_path(vmi, {"metadata", "labels"})["kubevirt.io/nodeName"] = row.source;
      });
    }
    hypervisor.fail_next("job", Status::internal_error("LibvirtError(Code=38, Domain=10, Message='no')"));
    hand_over(row.source, row.target);
    if (is_source) target_is_ready();
    settle(milliseconds(1));
    EXPECT_THAT(api.events, Contains("SyncFailed"));
    files.images_fail.reset();
    settle(seconds(60));
    EXPECT_THAT(api.events, Contains(std::string(row.then)));
    EXPECT_FALSE(flag("failed"));
    hypervisor.release("migrate");
    settle(seconds(1));
    api.remove_vmi(key);
    hypervisor.remove("default_vm1");
    settle(seconds(1));
  }
}

TEST_F(MoveTest, ASourceThatWasKilledSaysThatItFailed) {
  run_guest();
  hypervisor.hold("migrate");
  hand_over("node01", "node02");
  target_is_ready();
  ASSERT_NE(state("startTimestamp"), "");
  start_anew();
  settle(seconds(2));
  EXPECT_TRUE(flag("failed"));
  EXPECT_EQ(api.phase(key), "Running");
}

// libvirtd goes on with a migration when the process that asked for it was killed.
TEST_F(MoveTest, AMigrationOfAKilledSourceGoesOn) {
  run_guest();
  hypervisor.hold("migrate");
  hand_over("node01", "node02");
  target_is_ready();
  hypervisor.progress.active = true;
  start_anew();
  settle(seconds(2));
  EXPECT_FALSE(flag("failed"));
  hypervisor.elsewhere["default_vm1"] = {.name = "default_vm1", .uuid = "", .state = State::running};
  hypervisor.progress.active = false;
  hypervisor.set_state("default_vm1", State::shutoff, "Migrated");
  settle(seconds(2));
  EXPECT_FALSE(flag("failed"));
  EXPECT_EQ(hypervisor.find("default_vm1"), nullptr);
}

// A hypervisor that was killed when it had sent all does not know whether the guest runs on the target.
TEST_F(MoveTest, AGuestThatStandsStillHasArrived) {
  stand_still();
  hypervisor.elsewhere["default_vm1"] = {.name = "", .uuid = "", .state = State::running};
  start_anew();
  settle(seconds(2));
  EXPECT_EQ(hypervisor.find("default_vm1"), nullptr);
  EXPECT_FALSE(flag("failed"));
}
TEST_F(MoveTest, AGuestThatStandsStillHasNotArrived) {
  stand_still();
  start_anew();
  settle(seconds(2));
  EXPECT_EQ(hypervisor.find("default_vm1")->state, State::running);
  EXPECT_TRUE(flag("failed"));
}

// QEMU never ends a migration that was cancelled at the wrong moment, and libvirt lets nobody else have the guest.
TEST_F(MoveTest, AGuestThatCannotGoOnIsEnded) {
  stand_still();
  const Status held = Status::internal_error(
      "LibvirtError(Code=68, Domain=0, Message='Timed out during operation: cannot acquire state change lock (held by "
      "monitor=init-default_vm1)')");
  for (int times = 0; times < 100; ++times) hypervisor.fail_next("job", held);
  start_anew();
  settle(seconds(40));
  EXPECT_THAT(hypervisor.calls(), Contains("restart").Times(1));
  EXPECT_THAT(hypervisor.calls(), Not(Contains("destroy default_vm1")));
  settle(seconds(60));
  EXPECT_THAT(hypervisor.calls(), Contains("destroy default_vm1"));
}
// A hypervisor that began anew has ended the migration, and the guest goes on.
TEST_F(MoveTest, AGuestThatTheHypervisorKeepsIsRescued) {
  stand_still();
  hypervisor.fail_next("job", Status::internal_error("cannot acquire state change lock (held by monitor=init-x)"));
  start_anew();
  settle(seconds(120));
  EXPECT_THAT(hypervisor.calls(), Contains("restart"));
  EXPECT_THAT(hypervisor.calls(), Not(Contains("destroy default_vm1")));
  EXPECT_EQ(hypervisor.find("default_vm1")->state, State::running);
  EXPECT_TRUE(flag("failed"));
}
// QEMU that was told to cancel when it had just stopped the guest goes on only if somebody says so.
TEST_F(MoveTest, AGuestThatIsStoppedIsReleased) {
  stand_still();
  settle(seconds(1));
  EXPECT_THAT(hypervisor.calls(), Contains("release_cancelled default_vm1"));
  hypervisor.forget_calls();
  start_anew();
  settle(seconds(2));
  const auto calls = hypervisor.calls();
  const auto release = std::ranges::find(calls, "release_cancelled default_vm1");
  EXPECT_NE(std::find(release, calls.end(), "resume default_vm1"), calls.end());
}
// The same refusal of a guest that runs, or of something else, ends nothing.
TEST_F(MoveTest, AGuestThatOthersKeepIsLeft) {
  stand_still();
  for (int times = 0; times < 100; ++times)
    hypervisor.fail_next("job", Status::internal_error("cannot acquire state change lock (held by monitor=remoteX)"));
  start_anew();
  settle(seconds(200));
  EXPECT_THAT(hypervisor.calls(), Not(Contains("destroy default_vm1")));
}

// Its QEMU was killed before anything was sent.
TEST_F(MoveTest, AGuestThatDiesBeforeItIsSentHasFailed) {
  run_guest();
  hand_over("node01", "node02");
  hypervisor.set_state("default_vm1", State::shutoff, "Crashed");
  target_is_ready();
  settle(seconds(2));
  EXPECT_TRUE(flag("failed"));
  EXPECT_EQ(api.phase(key), "Failed");
}

TEST_F(MoveTest, TheTargetPreparesAndTakesTheGuest) {  // MIG-D06, MIG-D11, MIG-D20
  api.put_vmi(on_another_node());
  settle();
  hand_over("node00", "node01");
  EXPECT_EQ(state("targetNodeAddress"), "127.0.0.1");
  EXPECT_THAT(hypervisor.calls(), Not(Contains("define default_vm1")));
  incoming(State::paused, "Migration");
  EXPECT_TRUE(flag("targetNodeDomainDetected"));
  EXPECT_EQ(api.text_at(key, {"status", "nodeName"}), "node00");
  incoming(State::running, "Unknown");
  EXPECT_EQ(api.text_at(key, {"status", "nodeName"}), "node01");
  EXPECT_EQ(api.text_at(key, {"metadata", "labels", "kubevirt.io/nodeName"}), "node01");
  EXPECT_EQ(api.text_at(key, {"metadata", "labels", "kubevirt.io/migrationTargetNodeName"}), "");
  EXPECT_NE(state("startTimestamp"), "") << "whose source was killed before it said that it began";
  EXPECT_TRUE(flag("completed"));
  EXPECT_EQ(api.text_at(key, {"status", "machine", "type"}), "m");  // from here on it is this node's
  EXPECT_THAT(hypervisor.calls(), Contains(HasSubstr("forward_port default_vm1 ua-default tcp 127.")));
}

// A process that is killed while it makes files, or removes them, leaves a record of whose they are.
TEST_F(MoveTest, FilesAreWrittenDownBeforeTheyAreMade) {
  api.put_vmi(on_another_node());
  files.carry_out_fails = Status::internal_error("no");
  hand_over("node00", "node01");
  EXPECT_THAT(kept, HasSubstr("u-1"));
}

// A VMI of the same name that came while the node was away.
TEST_F(MoveTest, FilesOfAnEarlierVmiAreCleared) {
  records->of(key).uid = "u-0";
  run_guest();
  EXPECT_THAT(files.cleared, ElementsAre("/guests/u-0"));
  EXPECT_EQ(records->find(key)->uid, "u-1");
}

// libvirt that begins anew ends a guest that came paused, and whose migration it had not ended: the source keeps it
// then.
TEST_F(MoveTest, AGuestThatComesPausedHasArrivedWhenItsJobIsOver) {  // MIG-X32
  api.put_vmi(on_another_node());
  hand_over("node00", "node01");
  for (int times = 0; times < 3; ++times)
    hypervisor.fail_next("job", Status::internal_error("LibvirtError(Code=55, Domain=10, Message='incoming')"));
  incoming(State::paused, "User");
  EXPECT_FALSE(flag("completed"));
  settle(seconds(1));
  EXPECT_TRUE(flag("completed"));
  EXPECT_EQ(api.text_at(key, {"status", "nodeName"}), "node01");
}

TEST_F(MoveTest, TheTargetCleansUpAfterAFailure) {  // MIG-D40, MIG-D42
  api.put_vmi(on_another_node());
  hand_over("node00", "node01");
  api.change_vmi(key, [](json::Object& vmi) {
    json::Object& state = json::ensure_path(vmi, {"status", "migrationState"});
    state["failed"] = true;
    state["completed"] = true;
  });
  settle();
  EXPECT_THAT(files.cleared, ElementsAre("/guests/u-1"));
  EXPECT_EQ(api.text_at(key, {"metadata", "labels", "kubevirt.io/migrationTargetNodeName"}), "");
  EXPECT_THAT(kept, Not(HasSubstr("u-1")));
}

// The source died, its VMI with it, and the next one is another node's: nobody else clears what waits here.
TEST_F(MoveTest, AGuestThatWillNeverComeIsCleared) {
  api.put_vmi(on_another_node());
  settle();
  hand_over("node00", "node01");
  incoming(State::paused, "Migration");
  ASSERT_TRUE(flag("targetNodeDomainDetected"));
  api.refuse_reads = forbidden();
  api.remove_vmi(key);
  settle(seconds(3));
  EXPECT_THAT(hypervisor.calls(), Contains("destroy default_vm1"));
  EXPECT_THAT(hypervisor.calls(), Not(Contains("shut_down default_vm1")));
  EXPECT_EQ(hypervisor.find("default_vm1"), nullptr);
  EXPECT_THAT(files.cleared, ElementsAre("/guests/u-1"));
  EXPECT_THAT(kept, Not(HasSubstr("default")));
}
// A server that does not know the node for a moment says the same of a guest that is on its way.
TEST_F(MoveTest, AGuestThatIsOnItsWayStaysWhileTheNodeIsRefused) {
  api.put_vmi(on_another_node());
  settle();
  hand_over("node00", "node01");
  incoming(State::paused, "Migration");
  api.lose_copy(key);
  api.refuse_reads = api.refuse_lists = forbidden();
  settle(seconds(40));
  EXPECT_THAT(hypervisor.calls(), Not(Contains("destroy default_vm1")));
  EXPECT_NE(hypervisor.find("default_vm1"), nullptr);
}

TEST_F(MoveTest, WhatWentAwayLeavesNothingHere) {  // VMI-H02
  run_guest();
  api.refuse_reads = forbidden();
  api.remove_vmi(key);
  hypervisor.set_state("default_vm1", State::shutoff, "Migrated");
  settle(seconds(1));
  EXPECT_EQ(hypervisor.find("default_vm1"), nullptr);
  EXPECT_THAT(files.cleared, ElementsAre("/guests/u-1"));
}

// Whether libvirt's event or the end of the call comes first.
TEST_F(MoveTest, NobodyWatchesAGuestThatHasLeft) {
  for (const bool event_is_first : {true, false}) {
    run_guest();
    hypervisor.hold("migrate");
    hand_over("node01", "node02");
    target_is_ready();
    if (!event_is_first) hypervisor.release("migrate");
    hypervisor.set_state("default_vm1", State::shutoff, "Migrated");
    settle(seconds(1));
    hypervisor.release("migrate");
    settle(seconds(400));
    EXPECT_THAT(hypervisor.calls(), Not(Contains(HasSubstr("abort_job")))) << event_is_first;
    api.remove_vmi(key);
    settle(seconds(1));
  }
}

}  // namespace
}  // namespace vg::handler
