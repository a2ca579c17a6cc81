#include "resources/audit_policy.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/audit_limits.h"

namespace vg::resources {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RequestInfo asked(std::string_view method, std::string_view path) { return *request_info(method, path, ""); }

AuditPolicy policy_of(std::string_view rules) {
  auto policy =
      AuditPolicy::parse(std::string("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n") + std::string(rules));
  EXPECT_TRUE(policy) << (policy ? "" : policy.error().message);
  return policy ? std::move(*policy) : AuditPolicy();
}

AuditLevel level(const AuditPolicy& policy, std::string_view method, std::string_view path,
                 std::string_view user = "ann",
                 const std::vector<std::string>& groups = {"dev", "system:authenticated"}) {
  return policy.decide(asked(method, path), user, groups).level;
}

constexpr std::string_view vm = "/apis/kubevirt.io/v1/namespaces/default/virtualmachines/demo";
constexpr std::string_view pod = "/api/v1/namespaces/default/pods/p";

TEST(AuditPolicy, TheFirstRuleThatFitsDecides) {
  const AuditPolicy policy = policy_of(R"(
- {level: None, users: ["system:kube-proxy"]}
- {level: None, userGroups: ["system:nodes"], verbs: [get]}
- {level: Request, resources: [{group: kubevirt.io, resources: [virtualmachines]}], namespaces: [default]}
- {level: RequestResponse, resources: [{group: "", resources: [pods], resourceNames: [p]}]}
- {level: None, nonResourceURLs: ["/healthz*", "/version"]}
- {level: Metadata}
)");
  struct Row {
    std::string_view method, path, user;
    std::vector<std::string> groups;
    AuditLevel level;
  };
  const Row rows[] = {
      {"GET", vm, "system:kube-proxy", {}, AuditLevel::none},
      {"GET", pod, "n", {"system:nodes"}, AuditLevel::none},
      {"DELETE", pod, "n", {"system:nodes"}, AuditLevel::request_response},
      {"PUT", vm, "ann", {}, AuditLevel::request},
      {"PUT", "/apis/kubevirt.io/v1/namespaces/other/virtualmachines/demo", "ann", {}, AuditLevel::metadata},
      {"GET", "/api/v1/namespaces/default/pods/q", "ann", {}, AuditLevel::metadata},
      {"GET", "/api/v1/namespaces/default/pods/p/log", "ann", {}, AuditLevel::metadata},
      {"GET", "/healthz/ping", "ann", {}, AuditLevel::none},
      {"GET", "/version", "ann", {}, AuditLevel::none},
      {"GET", "/versions", "ann", {}, AuditLevel::metadata},
  };
  for (const Row& row : rows)
    EXPECT_EQ(level(policy, row.method, row.path, row.user, row.groups), row.level) << row.path;
}

TEST(AuditPolicy, WhatNoRuleFitsIsNotRecorded) {
  EXPECT_EQ(level(policy_of("- {level: Request, verbs: [delete]}"), "GET", pod), AuditLevel::none);
}

TEST(AuditPolicy, SubresourcesAreNamedOrMeantByStars) {
  const auto of = [](std::string_view pattern, std::string_view path) {
    return level(policy_of(
                     fmt::format(R"(- {{level: Metadata, resources: [{{group: "", resources: ["{}"]}}]}})", pattern)),
                 "GET", path) == AuditLevel::metadata;
  };
  const std::string log = std::string(pod) + "/log",
                    scale = "/api/v1/namespaces/default/replicationcontrollers/r/scale";
  EXPECT_TRUE(of("pods", pod));
  EXPECT_FALSE(of("pods", log));
  EXPECT_TRUE(of("pods/log", log));
  EXPECT_TRUE(of("pods/*", log));
  EXPECT_FALSE(of("pods/*", pod));
  EXPECT_TRUE(of("*/scale", scale));
  EXPECT_FALSE(of("*/scale", log));
  EXPECT_TRUE(of("*", log));
}

TEST(AuditPolicy, StagesAndManagedFieldsAreOmittedByPolicyOrRule) {
  const auto policy = AuditPolicy::parse(R"({"apiVersion":"audit.k8s.io/v1","kind":"Policy","metadata":{"name":"p"},
      "omitStages":["RequestReceived"],"omitManagedFields":true,
      "rules":[{"level":"Metadata","verbs":["get"],"omitStages":["ResponseComplete"],"omitManagedFields":false},
               {"level":"Metadata"}]})");
  ASSERT_TRUE(policy);
  const auto get = policy->decide(asked("GET", pod), "a", {}), put = policy->decide(asked("PUT", pod), "a", {});
  EXPECT_TRUE(get.omits(AuditStage::request_received) && get.omits(AuditStage::response_complete));
  EXPECT_FALSE(get.omit_managed_fields);
  EXPECT_TRUE(put.omits(AuditStage::request_received) && put.omit_managed_fields);
  EXPECT_FALSE(put.omits(AuditStage::response_complete));
}

// Whatever a policy says, what is a credential has no body.
TEST(AuditPolicy, CredentialsHaveNoBodies) {
  const AuditPolicy policy = policy_of("- {level: RequestResponse}");
  for (const std::string_view path :
       {"/api/v1/namespaces/default/secrets/s", "/api/v1/namespaces/default/configmaps/c",
        "/api/v1/namespaces/default/serviceaccounts/a/token", "/apis/authentication.k8s.io/v1/tokenreviews",
        "/apis/upload.cdi.kubevirt.io/v1beta1/namespaces/default/uploadtokenrequests",
        "/apis/subresources.kubevirt.io/v1/namespaces/default/virtualmachineinstances/demo/sev/injectlaunchsecret"})
    EXPECT_EQ(level(policy, "POST", path), AuditLevel::metadata) << path;
  EXPECT_EQ(level(policy, "PUT", vm), AuditLevel::request_response);
}

TEST(AuditPolicy, RefusesWhatItsAuthorCannotHaveMeant) {
  struct Row {
    std::string_view text, told;
  };
  const Row rows[] = {
      {"", "policy"},
      {"[]", "must be an object"},
      {"{apiVersion: audit.k8s.io/v1beta1, kind: Policy, rules: [{level: None}]}", "policy.apiVersion"},
      {"{apiVersion: audit.k8s.io/v1, kind: Pod, rules: [{level: None}]}", "policy.kind"},
      {"{apiVersion: audit.k8s.io/v1, kind: Policy}", "at least one rule"},
      {"{apiVersion: audit.k8s.io/v1, kind: Policy, rules: []}", "at least one rule"},
      {"{apiVersion: audit.k8s.io/v1, kind: Policy, rule: []}", "unknown field \"rule\""},
      {"{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{}]}", "policy.rules[0].level: is required"},
      {"{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: All}]}", "unsupported value \"All\""},
      {"{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None, user: [a]}]}", "unknown field \"user\""},
      {"{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None, users: a}]}", "must be a list of strings"},
      {"{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None, omitStages: [Later]}]}", "\"Later\""},
      {"{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None, nonResourceURLs: [/a], namespaces: [b]}]}",
       "mutually exclusive"},
      {"{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None, nonResourceURLs: [a]}]}",
       "must begin with /"},
      {"{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None, nonResourceURLs: [/a*b]}]}", "at its end"},
      {"{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None, resources: [{group: a/v1}]}]}",
       "without a version"},
      {"{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None, resources: [{resourceNames: [a]}]}]}",
       "requires resources"},
      {"{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None, level: Request}]}", "twice"},
  };
  for (const Row& row : rows) {
    const auto policy = AuditPolicy::parse(row.text);
    ASSERT_FALSE(policy) << row.text;
    EXPECT_THAT(policy.error().message, HasSubstr(row.told)) << row.text;
  }
}

TEST(RecordedBody, HidesWhatOnlyGuestsAndOwnersKnow) {
  const std::string vm_text = recorded_body(
      R"({"metadata":{"name":"demo","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{word}",
          "kubevirt.io/ignitiondata":"word"},"managedFields":[{"manager":"m"}]},
          "spec":{"template":{"spec":{"volumes":[{"name":"c","cloudInitNoCloud":{"userData":"word","networkData":"word"}}]}},
          "source":{"http":{"url":"https://me:word@host:8080/path/a.img?token=word#word","extraHeaders":["word"]}}}})",
      true);
  EXPECT_THAT(vm_text, Not(HasSubstr("word")));
  EXPECT_THAT(vm_text, Not(HasSubstr("managedFields")));
  EXPECT_THAT(vm_text, HasSubstr(R"("name":"demo")"));
  EXPECT_THAT(vm_text, HasSubstr(R"("url":"https://host:8080/path/a.img")"));
  EXPECT_THAT(vm_text, HasSubstr("\"userData\":\"(left out)\""));
  EXPECT_THAT(recorded_body(R"({"metadata":{"managedFields":[{"manager":"m"}]}})", false), HasSubstr("managedFields"));
}

TEST(RecordedBody, HidesStepsOfPatches) {
  for (
      const std::string_view patch :
      {R"([{"op":"replace","path":"/spec/template/spec/volumes/0/cloudInitNoCloud/userData","value":"word"}])",
       R"([{"op":"add","path":"/spec/template/spec/volumes/-","value":{"cloudInitNoCloud":{"userDataBase64":"word"}}}])",
       R"([{"op":"test","path":"/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration","value":"word"}])",
       "spec:\n  template:\n    spec:\n      volumes:\n      - cloudInitConfigDrive: {userData: word}\n"})
    EXPECT_THAT(recorded_body(patch, false), ::testing::AllOf(HasSubstr("left out"), Not(HasSubstr("word")))) << patch;
}

TEST(RecordedBody, LeavesOutWhatIsNoObjectOrTooLong) {
  EXPECT_EQ(recorded_body("", false), "");
  EXPECT_EQ(recorded_body("just a text", false), "");
  EXPECT_EQ(recorded_body("{\"a\":\"" + std::string(limits::audit_body_bytes_max, 'x') + "\"}", false), "");
  EXPECT_EQ(recorded_body("\x01\xff", false), "");
}

}  // namespace
}  // namespace vg::resources
