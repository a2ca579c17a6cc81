#include "api/webhook_schema.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "json/document.h"

namespace vg::api {
namespace {

using List = std::vector<std::string>;

List messages(const std::vector<StatusCause>& causes) {
  List result;
  for (const StatusCause& cause : causes) {
    EXPECT_TRUE(cause.reason.empty() && cause.field.empty()) << cause.message;
    result.push_back(cause.message);
  }
  return result;
}

List mistakes(std::string_view kind, std::string_view text) {
  const auto document = json::Document::parse(text);
  EXPECT_TRUE(document) << text;
  return messages(check_webhook_schema(kind, document->root()));
}

std::string vmi(std::string_view spec, std::string_view status = "") {
  return R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":{"anything":[1]},"spec":)" +
         std::string(spec) + (status.empty() ? "" : ",\"status\":" + std::string(status)) + "}";
}

TEST(WebhookSchema, AcceptsWhatFits) {
  EXPECT_EQ(mistakes("VirtualMachineInstance", vmi(R"({"domain":{"devices":{}}})")), List{});
  EXPECT_EQ(
      mistakes(
          "VirtualMachineInstance",
          vmi(R"({"domain":{"devices":{"disks":[{"name":"a"}]},"resources":{"requests":{"cpu":1.5,"memory":"1Gi"}}}})")),
      List{});
}

TEST(WebhookSchema, KnowsTheTopLevel) {
  EXPECT_EQ(mistakes("VirtualMachineInstance", R"({"spec":{"domain":{"devices":{}}},"very":1,"$schema":2})"),
            (List{"very: unknown field", "$schema: unknown field"}));
  EXPECT_EQ(mistakes("VirtualMachineInstance", "{}"),
            (List{"spec: Required value", "spec: must be an object, not null"}));
  EXPECT_EQ(mistakes("VirtualMachineInstance", "[]"), (List{": must be an object, not a list"}));
}

TEST(WebhookSchema, ChecksOnlyTheTopLevelOfKindsWithoutDefinitions) {
  EXPECT_EQ(mistakes("VirtualMachinePool", R"({"spec":{"nonsense":1},"status":3})"), List{});
  EXPECT_EQ(mistakes("virtualmachineinstancetypes", R"({"more":1})"),
            (List{"more: unknown field", "spec: Required value"}));
}

TEST(WebhookSchema, ForbidsUnknownFieldsInASpecButNotInAStatus) {
  EXPECT_EQ(mistakes("VirtualMachineInstance",
                     vmi(R"({"domain":{"devices":{"disks":[{"name":"a","x":1,"id":2}]}},"y":1})", R"({"z":1})")),
            (List{"spec.domain.devices.disks.0.x: unknown field", "spec.y: unknown field"}));
  // Names have one spelling here.
  EXPECT_EQ(mistakes("VirtualMachineInstance", vmi(R"({"Domain":{},"domain":{"devices":{}}})")),
            (List{"spec.Domain: unknown field"}));
}

TEST(WebhookSchema, FreeFormObjectsAreNeverKnown) {
  EXPECT_EQ(
      mistakes(
          "VirtualMachine",
          R"({"spec":{"template":{"metadata":{"managedFields":[{"fieldsV1":{"f:x":{}}}]},"spec":{"domain":{"devices":{}}}}}})"),
      (List{"spec.template.metadata.managedFields.0.fieldsV1.f:x: unknown field"}));
}

TEST(WebhookSchema, DemandsOnlyWhatHasNoDefault) {
  EXPECT_EQ(mistakes("VirtualMachineInstance", vmi("{}")), (List{"spec.domain: Required value"}));
  EXPECT_EQ(mistakes("VirtualMachineInstance", vmi(R"({"domain":{}})")), (List{"spec.domain.devices: Required value"}));
  // The name of a disk is demanded too, but a string has a default.
  EXPECT_EQ(mistakes("VirtualMachineInstance", vmi(R"({"domain":{"devices":{"disks":[{}]}}})")), List{});
  EXPECT_EQ(
      mistakes("VirtualMachineInstance",
               vmi(R"({"domain":{"devices":{}},"volumes":[{"emptyDisk":{}}],"readinessProbe":{"tcpSocket":{}}})")),
      (List{"spec.volumes.0.emptyDisk.capacity: Required value",
            "spec.readinessProbe.tcpSocket.port: Required value"}));
}

TEST(WebhookSchema, NullFitsOnlyWhereItIsNamed) {
  EXPECT_EQ(mistakes("VirtualMachineInstance", vmi(R"({"domain":{"devices":{}},"hostname":null})")),
            (List{"spec.hostname: must be a string, not null"}));
  EXPECT_EQ(mistakes("VirtualMachineInstance", vmi(R"({"domain":{"devices":{}}})", "null")), List{});
  EXPECT_EQ(
      mistakes("VirtualMachineInstance", vmi(R"({"domain":{"devices":{}}})",
                                             R"({"conditions":[{"lastProbeTime":null,"type":"a","status":"b"}]})")),
      List{});
  EXPECT_EQ(
      mistakes("VirtualMachine",
               R"({"spec":{"template":{"metadata":{"creationTimestamp":null},"spec":{"domain":{"devices":{}}}}}})"),
      List{});
}

TEST(WebhookSchema, IntegersAreWholeNumbersOfAnySpelling) {
  const auto with_cores = [](std::string_view cores) {
    return mistakes("VirtualMachineInstance",
                    vmi(R"({"domain":{"devices":{},"cpu":{"cores":)" + std::string(cores) + "}}}"));
  };
  for (const char* good : {"1", "1.0", "1e3", "-1", "9007199254740991"}) EXPECT_EQ(with_cores(good), List{}) << good;
  EXPECT_EQ(with_cores("1.5"), (List{"spec.domain.cpu.cores: must be a whole number, not 1.5"}));
  EXPECT_EQ(with_cores("9007199254740992"),
            (List{"spec.domain.cpu.cores: must be a whole number, not 9007199254740992"}));
  EXPECT_EQ(with_cores("\"1\""), (List{R"(spec.domain.cpu.cores: must be a whole number, not "1")"}));
}

TEST(WebhookSchema, ChecksEnumerationsAndTimes) {
  EXPECT_EQ(mistakes("VirtualMachineInstance", vmi(R"({"domain":{"devices":{}},"dnsPolicy":"x"})")).size(), 1u);
  EXPECT_EQ(mistakes("VirtualMachineInstance", vmi(R"({"domain":{"devices":{}},"dnsPolicy":"Default"})")), List{});
  EXPECT_EQ(
      mistakes("VirtualMachineInstance", vmi(R"({"domain":{"devices":{}}})",
                                             R"({"phaseTransitionTimestamps":[{"phaseTransitionTimestamp":"x"}]})")),
      (List{R"(status.phaseTransitionTimestamps.0.phaseTransitionTimestamp: must be a time such as )"
            R"(2026-01-02T03:04:05Z, not "x")"}));
}

TEST(WebhookSchema, PortsAreNumbersOrStrings) {
  const auto with_port = [](std::string_view port) {
    return mistakes("VirtualMachineInstance", vmi(R"({"domain":{"devices":{}},"readinessProbe":{"tcpSocket":{"port":)" +
                                                  std::string(port) + "}}}"));
  };
  EXPECT_EQ(with_port("80"), List{});
  EXPECT_EQ(with_port("\"http\""), List{});
  EXPECT_EQ(with_port("true"), (List{"spec.readinessProbe.tcpSocket.port: must be a string or a number, not true"}));
}

TEST(WebhookSchema, StatusAlone) {
  const auto document = json::Document::parse(R"({"nonsense":1,"status":{"ready":1}})");
  EXPECT_EQ(messages(check_webhook_status_schema("VirtualMachine", document->root())),
            (List{"status.ready: must be true or false, not 1"}));
  EXPECT_EQ(messages(check_webhook_status_schema("NoSuchKind", document->root())), List{});
}

TEST(WebhookSchema, StopsAtSoManyCauses) {
  std::string list = "[1";
  for (std::size_t count = 0; count < 2 * limits::causes_max; ++count) list += ",1";
  EXPECT_EQ(mistakes("VirtualMachineInstance", vmi(R"({"domain":{"devices":{}},"volumes":)" + list + "]}")).size(),
            limits::causes_max);
}

}  // namespace
}  // namespace vg::api
