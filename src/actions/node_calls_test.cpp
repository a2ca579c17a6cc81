#include <fmt/format.h>
#include <gmock/gmock.h>

#include "actions/testing.h"

namespace vg::actions {
namespace {

using ::testing::HasSubstr;
using testing::in_phase;
using testing::instance_action;
using testing::machine_action;

constexpr std::string_view conflict = "409 virtualmachineinstance";
constexpr std::string_view other_phases[] = {"",          "Pending", "Scheduling", "Scheduled",
                                             "Succeeded", "Failed",  "Unknown"};

std::string with_condition(std::string_view type, std::string_view status = "True",
                           std::string_view phase = "Running") {
  return in_phase(phase, fmt::format(R"(,"conditions":[{{"type":"{}","status":"{}"}}])", type, status));
}
std::string with_spec(std::string_view spec, std::string_view more = "") {
  return fmt::format(R"({{"spec":{},"status":{{"phase":"Running","nodeName":"node01"{}}}}})", spec, more);
}

TEST(NodeCalls, NeedARunningGuest) {
  for (std::string_view name : {"pause", "unpause", "freeze", "unfreeze", "softreboot", "backup", "guestosinfo",
                                "userlist", "filesystemlist", "vnc/screenshot"})
    for (std::string_view phase : other_phases)
      EXPECT_EQ(instance_action(name).instance(in_phase(phase)).outcome(), conflict) << name << " " << phase;
}

TEST(NodeCalls, GoToTheNode) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"freeze", "PUT freeze with the body"},  {"unfreeze", "PUT unfreeze with the body"},
      {"reset", "PUT reset with the body"},    {"softreboot", "PUT softreboot with the body"},
      {"backup", "PUT backup with the body"},  {"pause", "PUT pause"},
      {"vnc/screenshot", "GET vnc/screenshot"}};
  for (const auto& [name, outcome] : rows)
    EXPECT_EQ(instance_action(name).instance(in_phase("Running")).outcome(), outcome);
}

TEST(Pause, RefusesWhatIsPausedOrProbed) {
  EXPECT_EQ(instance_action("pause").instance(with_condition("Paused")).outcome(), conflict);
  EXPECT_EQ(instance_action("pause").instance(with_condition("Paused", "False")).outcome(), conflict);
  EXPECT_EQ(instance_action("pause").instance(with_spec(R"({"livenessProbe":{"httpGet":{"port":80}}})")).outcome(),
            "403 virtualmachineinstance");
  EXPECT_EQ(instance_action("pause").instance(with_spec(R"({"livenessProbe":{"guestAgentPing":{}}})")).outcome(),
            "PUT pause");
  EXPECT_EQ(instance_action("pause").instance(in_phase("Running")).body("{bad").outcome(), "400");
}

TEST(Pause, TakesADryRunByItsFirstWord) {
  EXPECT_EQ(instance_action("pause").instance(in_phase("Running")).body(R"({"dryRun":["All"]})").outcome(),
            "PUT pause dry run");
  EXPECT_EQ(instance_action("pause").instance(in_phase("Running")).body(R"({"dryRun":["bogus"]})").outcome(),
            "PUT pause");
}

TEST(Unpause, NeedsAPausedGuestAndNoSnapshot) {
  EXPECT_EQ(instance_action("unpause").instance(in_phase("Running")).outcome(), conflict);
  EXPECT_EQ(instance_action("unpause").instance(with_condition("Paused")).outcome(), "PUT unpause");
  EXPECT_EQ(instance_action("unpause").machine("{}").instance(with_condition("Paused")).outcome(), "PUT unpause");
  EXPECT_EQ(instance_action("unpause")
                .machine(R"({"status":{"snapshotInProgress":"s"}})")
                .instance(with_condition("Paused"))
                .body("{bad")
                .outcome(),
            "409 virtualmachine");
  EXPECT_EQ(instance_action("unpause").instance(with_condition("Paused")).body("{bad").outcome(), "400");
}

TEST(Reset, WorksFromScheduledOnAndExplainsItself) {
  EXPECT_EQ(instance_action("reset").instance(in_phase("Scheduled")).outcome(), "PUT reset with the body");
  for (std::string_view phase : {"", "Pending", "Succeeded", "Unknown"}) {
    EXPECT_EQ(instance_action("reset").instance(in_phase(phase)).outcome(), "400") << phase;
    EXPECT_THAT(instance_action("reset").instance(in_phase(phase)).message(), HasSubstr("not Running: "));
  }
}

TEST(SoftReboot, NeedsAWayToAskTheGuest) {
  constexpr std::string_view no_acpi = R"({"domain":{"features":{"acpi":{"enabled":false}}}})";
  EXPECT_EQ(instance_action("softreboot").instance(with_condition("Paused")).outcome(), conflict);
  EXPECT_EQ(instance_action("softreboot").instance(with_condition("Paused", "False")).outcome(),
            "PUT softreboot with the body");
  EXPECT_EQ(instance_action("softreboot").instance(with_spec(no_acpi)).outcome(), conflict);
  EXPECT_EQ(instance_action("softreboot")
                .instance(with_spec(no_acpi, R"(,"conditions":[{"type":"AgentConnected","status":"True"}])"))
                .outcome(),
            "PUT softreboot with the body");
}

TEST(RedefineCheckpoint, NeedsTrackedBlocks) {
  EXPECT_EQ(instance_action("redefine-checkpoint").instance(in_phase("Running")).outcome(), conflict);
  const std::string_view tracked = R"(,"changedBlockTracking":{"state":"Enabled"})";
  EXPECT_EQ(instance_action("redefine-checkpoint").instance(in_phase("Running", tracked)).outcome(),
            "PUT redefine-checkpoint with the body");
  EXPECT_EQ(instance_action("redefine-checkpoint").instance(in_phase("Pending", tracked)).outcome(), "400");
}

TEST(GuestInfo, NeedsTheAgent) {
  EXPECT_EQ(instance_action("userlist").instance(in_phase("Running")).outcome(), conflict);
  EXPECT_EQ(instance_action("userlist").instance(with_condition("AgentConnected")).outcome(), "GET userlist");
  EXPECT_EQ(instance_action("guestosinfo").instance(with_condition("AgentConnected")).outcome(), "GET guestosinfo");
}

TEST(Screenshot, NeedsADisplay) {
  EXPECT_EQ(instance_action("vnc/screenshot")
                .instance(with_spec(R"({"domain":{"devices":{"autoattachGraphicsDevice":false}}})"))
                .outcome(),
            "400");
}

// --- SEV
// ---------------------------------------------------------------------------------------------------------------

constexpr std::string_view attested = R"({"domain":{"launchSecurity":{"sev":{"attestation":{}}}}})";

std::string sev_instance(std::string_view phase, std::string_view spec = attested, std::string_view more = "") {
  return fmt::format(R"({{"spec":{},"status":{{"phase":"{}","nodeName":"node01"{}}}}})", spec, phase, more);
}

TEST(Sev, CertificatesOfTheProcessor) {
  for (std::string_view phase : {"Scheduled", "Running"})
    EXPECT_EQ(instance_action("sev/fetchcertchain").instance(sev_instance(phase)).outcome(), "GET sev/fetchcertchain");
  EXPECT_EQ(instance_action("sev/fetchcertchain").instance(sev_instance("Pending")).outcome(), conflict);
  EXPECT_EQ(instance_action("sev/fetchcertchain").instance(sev_instance("Running", "{}")).outcome(), conflict);
  EXPECT_EQ(
      instance_action("sev/fetchcertchain")
          .instance(sev_instance("Running", R"({"domain":{"launchSecurity":{"sev":{"attestation":{}},"snp":{}}}})"))
          .outcome(),
      conflict);
}

TEST(Sev, MeasuresAndInjectsWhilePaused) {
  constexpr std::string_view paused = R"(,"conditions":[{"type":"Paused","status":"True"}])";
  EXPECT_EQ(instance_action("sev/querylaunchmeasurement").instance(sev_instance("Running", attested, paused)).outcome(),
            "GET sev/querylaunchmeasurement");
  EXPECT_EQ(instance_action("sev/injectlaunchsecret").instance(sev_instance("Running", attested, paused)).outcome(),
            "PUT sev/injectlaunchsecret with the body");
  for (std::string_view name : {"sev/querylaunchmeasurement", "sev/injectlaunchsecret"}) {
    EXPECT_EQ(instance_action(name).instance(sev_instance("Running")).outcome(), conflict) << name;
    EXPECT_EQ(instance_action(name).instance(sev_instance("Scheduled", attested, paused)).outcome(), conflict) << name;
    EXPECT_EQ(instance_action(name).instance(sev_instance("Running", "{}", paused)).outcome(), conflict) << name;
  }
}

TEST(Sev, SessionIsSetOnce) {
  constexpr std::string_view session = R"({"session":"A","dhCert":"B"})";
  EXPECT_EQ(instance_action("sev/setupsession").instance(sev_instance("Scheduled")).body(session).outcome(),
            R"(patch virtualmachineinstances [{"op":"test","path":"/spec/domain/launchSecurity/sev",)"
            R"("value":{"attestation":{}}},{"op":"replace","path":"/spec/domain/launchSecurity/sev",)"
            R"("value":{"attestation":{},"session":"A","dhCert":"B"}}])");
  EXPECT_EQ(instance_action("sev/setupsession").instance(sev_instance("Running")).body(session).outcome(), conflict);
  EXPECT_EQ(instance_action("sev/setupsession").instance(sev_instance("Scheduled", "{}")).body(session).outcome(),
            conflict);
  EXPECT_EQ(instance_action("sev/setupsession")
                .instance(sev_instance("Scheduled",
                                       R"({"domain":{"launchSecurity":{"sev":{"attestation":{},"session":"X"}}}})"))
                .body(session)
                .outcome(),
            conflict);
  for (std::string_view body : {"", R"({"session":""})", R"({"session":"A"})", R"({"dhCert":"B"})"})
    EXPECT_EQ(instance_action("sev/setupsession").instance(sev_instance("Scheduled")).body(body).outcome(), "400");
}

// --- evacuation
// --------------------------------------------------------------------------------------------------------

TEST(EvacuateCancel, CallsOffWhatIsUnderWay) {
  constexpr std::string_view leaving = R"(,"evacuationNodeName":"node01")";
  EXPECT_EQ(instance_action("evacuate/cancel").instance(in_phase("Running")).body("{bad").outcome(), "reply 200 null");
  EXPECT_EQ(instance_action("evacuate/cancel").instance(in_phase("Running", leaving)).body("{bad").outcome(), "400");
  EXPECT_EQ(instance_action("evacuate/cancel")
                .instance(in_phase("Running", leaving))
                .body(R"({"evacuationNodeName":"node01","dryRun":["All"]})")
                .outcome(),
            R"(patch virtualmachineinstances [{"op":"test","path":"/status/evacuationNodeName","value":"node01"},)"
            R"({"op":"remove","path":"/status/evacuationNodeName"}] dry run)");
}

TEST(EvacuateCancel, NeedsANode) {
  constexpr std::string_view nowhere = R"({"status":{"phase":"Pending"}})";
  EXPECT_EQ(instance_action("evacuate/cancel").instance(nowhere).outcome(), "500");
  EXPECT_EQ(instance_action("evacuate/cancel")
                .configuration(R"({"migrations":{"nodeDrainTaintKey":""}})")
                .instance(nowhere)
                .outcome(),
            "500");
  EXPECT_EQ(instance_action("evacuate/cancel")
                .instance(in_phase("Running", R"(,"evacuationNodeName":"node01")"))
                .body(R"({"dryRun":["x"]})")
                .outcome(),
            "500");
}

TEST(EvacuateCancel, NotFromANodeThatIsDrained) {
  constexpr std::string_view drained = R"({"spec":{"taints":[{"key":"kubevirt.io/drain","effect":"NoSchedule"}]}})";
  EXPECT_EQ(machine_action("evacuate/cancel").machine("{}").instance(in_phase("Running")).node(drained).outcome(),
            "400");
  EXPECT_EQ(instance_action("evacuate/cancel")
                .instance(in_phase("Running"))
                .node(R"({"spec":{"taints":[{"key":"kubevirt.io/drain","effect":"NoExecute"}]}})")
                .outcome(),
            "reply 200 null");
  EXPECT_EQ(instance_action("evacuate/cancel")
                .configuration(R"({"migrations":{"nodeDrainTaintKey":"mine"}})")
                .instance(in_phase("Running"))
                .node(drained)
                .outcome(),
            "reply 200 null");
}

// --- streams
// -----------------------------------------------------------------------------------------------------------

TEST(Streams, LeadToTheNode) {
  const std::string at = "stream node01 /v1/namespaces/ns/virtualmachineinstances/demo/";
  EXPECT_EQ(instance_action("console").instance(in_phase("Running")).outcome(), at + "console");
  EXPECT_EQ(instance_action("vnc").instance(in_phase("Running")).outcome(), at + "vnc?preserveSession=false");
  EXPECT_EQ(instance_action("vnc").instance(in_phase("Running")).query("preserveSession=t").outcome(),
            at + "vnc?preserveSession=true");
  EXPECT_EQ(instance_action("vnc").instance(in_phase("Running")).query("preserveSession=yes").outcome(),
            at + "vnc?preserveSession=false");
  EXPECT_EQ(instance_action("vnc").instance(in_phase("Running")).query("shared=true&preserveSession=true").outcome(),
            at + "vnc?preserveSession=true&shared=true");
  EXPECT_EQ(instance_action("vnc").instance(in_phase("Running")).query("shared=some%26x=1").outcome(),
            at + "vnc?preserveSession=false");
  EXPECT_EQ(
      instance_action("usbredir").instance(with_spec(R"({"domain":{"devices":{"clientPassthrough":{}}}})")).outcome(),
      at + "usbredir");
  const std::string vsock = with_spec(R"({"domain":{"devices":{"autoattachVSOCK":true}}})");
  EXPECT_EQ(instance_action("vsock").instance(vsock).query("port=22").outcome(), at + "vsock?port=22&tls=true");
  EXPECT_EQ(instance_action("vsock").instance(vsock).query("port=22&tls=false").outcome(),
            at + "vsock?port=22&tls=false");
  EXPECT_EQ(instance_action("vsock").instance(vsock).outcome(), at + "vsock?port=&tls=true");
  EXPECT_EQ(instance_action("vsock").instance(vsock).query("port=22%26x=1&tls=a%20b").outcome(),
            at + "vsock?port=22%26x%3D1&tls=a%20b");
}

TEST(Streams, RefuseWhatTheMachineDoesNotHave) {
  EXPECT_EQ(instance_action("console")
                .instance(with_spec(R"({"domain":{"devices":{"autoattachSerialConsole":false}}})"))
                .outcome(),
            "400");
  EXPECT_EQ(instance_action("vnc")
                .instance(with_spec(R"({"domain":{"devices":{"autoattachGraphicsDevice":false}}})"))
                .outcome(),
            "400");
  EXPECT_EQ(instance_action("usbredir").instance(in_phase("Running")).outcome(), conflict);
  EXPECT_EQ(instance_action("usbredir")
                .instance(with_spec(R"({"architecture":"s390x","domain":{"devices":{"clientPassthrough":{}}}})"))
                .outcome(),
            conflict);
  EXPECT_EQ(instance_action("vsock").instance(in_phase("Running")).query("port=1").outcome(), "400");
}

// Clients try a console again while they get 400.
TEST(Streams, AConsoleThatFailedIsOver) {
  for (std::string_view phase : {"", "Pending", "Scheduling", "Scheduled", "Succeeded", "Unknown"})
    EXPECT_EQ(instance_action("console").instance(in_phase(phase)).outcome(), "400") << phase;
  EXPECT_EQ(instance_action("console").instance(in_phase("Failed")).outcome(), conflict);
}

TEST(Streams, PortsOfTheGuest) {
  const auto at = [](std::string_view address) {
    return in_phase("Scheduled", fmt::format(R"(,"interfaces":[{{"ipAddress":"{}"}}])", address));
  };
  EXPECT_EQ(instance_action("portforward").instance(at("10.0.0.5")).port("22").outcome(), "stream tcp 10.0.0.5 22");
  EXPECT_EQ(instance_action("portforward").instance(at("fd00::5")).port("53", "udp").outcome(),
            "stream udp fd00::5 53");
  EXPECT_EQ(instance_action("portforward").instance(at("10.0.0.5")).port("22", "unix").outcome(), "500");
  // With a pod, the guest's own word does not count for more than the pod's addresses.
  const auto pod = [](std::string_view node, std::string_view owner, std::string_view phase = "Running") {
    return fmt::format(R"({{"metadata":{{"ownerReferences":[{{"uid":"{}"}}]}},"spec":{{"nodeName":"{}"}},
        "status":{{"phase":"{}","podIP":"10.0.0.9","podIPs":[{{"ip":"10.0.0.9"}},{{"ip":"fd00::9"}}]}}}})",
                       owner, node, phase);
  };
  const auto dialled = [&](std::string_view shown, const std::string& launcher) {
    return instance_action("portforward").instance(at(shown)).pod(launcher).port("22").outcome();
  };
  EXPECT_EQ(dialled("10.96.0.1", pod("node01", "U")), "stream tcp 10.0.0.9 22");
  EXPECT_EQ(dialled("", pod("node01", "U")), "stream tcp 10.0.0.9 22");
  EXPECT_EQ(dialled("10.0.0.9", pod("node01", "U")), "stream tcp 10.0.0.9 22");
  EXPECT_EQ(dialled("fd00:0::9", pod("node01", "U")), "stream tcp fd00:0::9 22");
  EXPECT_EQ(dialled("10.0.0.5", pod("node02", "U")), "stream tcp 10.0.0.5 22");
  EXPECT_EQ(dialled("10.0.0.5", pod("node01", "other")), "stream tcp 10.0.0.5 22");
  EXPECT_EQ(dialled("10.0.0.5", pod("node01", "U", "Failed")), "stream tcp 10.0.0.5 22");
  const auto in_cluster = [&](const std::string& launcher) {
    return instance_action("portforward")
        .guests_have_pods()
        .instance(at("10.0.0.5"))
        .pod(launcher)
        .port("22")
        .outcome();
  };
  EXPECT_EQ(in_cluster(pod("node01", "U")), "stream tcp 10.0.0.9 22");
  EXPECT_EQ(in_cluster(pod("node01", "other")), "500");
  for (std::string_view address : {"", "0.0.0.0", "::", "guest"})
    EXPECT_EQ(instance_action("portforward").instance(at(address)).port("22").outcome(), "400") << address;
  EXPECT_EQ(instance_action("portforward").instance(in_phase("Running")).port("22").outcome(), "400");
  EXPECT_EQ(instance_action("portforward").instance(with_condition("Paused", "False")).port("22").outcome(), conflict);
}

}  // namespace
}  // namespace vg::actions
