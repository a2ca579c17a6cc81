// The answers to reviews, over the store, the roles and the tokens that a server has.
#include <gmock/gmock.h>

#include <fstream>

#include "auth/reviews.h"
#include "auth/static_tokens.h"
#include "base/test_files.h"
#include "local/bootstrap_roles.h"
#include "local/rbac.h"
#include "local/rbac_test_support.h"
#include "local/service_account_tokens.h"

namespace vg::local {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct ReviewsTest : ::testing::Test, TestStore {
  ManualClock clock{std::chrono::sys_days(std::chrono::year(2026) / 1 / 2)};
  Rbac rbac{*store, at_once};
  std::shared_ptr<ServiceAccountTokens> tokens =
      ServiceAccountTokens::open(folder.file("sa.key"), lookup_in(*store), clock).value();
  auth::Identifier identifier{
      {std::make_shared<auth::StaticTokens>(std::vector<auth::StaticToken>{
           {.token = "s3cret", .user = {.name = "jane", .uid = "u", .groups = {"dev"}, .extra = {}}}}),
       tokens}};
  auth::ReviewParts parts{
      .authorizer = rbac, .rules = rbac, .identifier = identifier, .issuer = *tokens, .store = *store, .clock = clock};
  User asking = user("jane", {"dev", "system:authenticated"});

  Result<json::Value> ask(std::string_view kind, std::string_view object, std::string_view ns = "",
                          std::string_view name = "") {
    return run(auth::answer_review(kind, json::Value(parse(object).root(), json::StoragePtr()),
                                   {.core = idle_core(), .user = asking, .ns = ns, .name = name}, parts));
  }
  std::string text(std::string_view kind, std::string_view object, std::string_view ns = "",
                   std::string_view name = "") {
    const auto answer = ask(kind, object, ns, name);
    return answer ? json::to_text(*answer) : answer.error().message;
  }
  // "code reason:field reason:field"
  std::string refusal(std::string_view kind, std::string_view object, std::string_view ns = "",
                      std::string_view name = "") {
    const auto answer = ask(kind, object, ns, name);
    if (answer) return json::to_text(*answer);
    std::string out = std::to_string(answer.error().code);
    for (const StatusCause& cause : answer.error().details.causes)
      out += fmt::format(" {}:{}", cause.reason, cause.field);
    return out;
  }
};

TEST_F(ReviewsTest, SubjectAccessReviewEchoesTheQuestion) {
  const auto done = bootstrap_roles(*store, clock, simple_draft);
  ASSERT_TRUE(done);
  EXPECT_EQ(text("SubjectAccessReview", R"({"spec":{"user":"x","groups":["system:authenticated"],"unknown":1,
      "resourceAttributes":{"verb":"list","group":"kubevirt.io","resource":"kubevirts","namespace":"a"}},
      "status":{"allowed":false}})"),
            R"({"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{},"spec":{)"
            R"("resourceAttributes":{"namespace":"a","verb":"list","group":"kubevirt.io","resource":"kubevirts"},)"
            R"("user":"x","groups":["system:authenticated"]},"status":{"allowed":true,)"
            R"("reason":"RBAC: allowed by ClusterRoleBinding \"kubevirt.io:default\" of ClusterRole )"
            R"(\"kubevirt.io:default\" to Group \"system:authenticated\""}})");
  // Nothing is implied: who is not said to be authenticated is not.
  EXPECT_THAT(text("SubjectAccessReview", R"({"spec":{"user":"x","resourceAttributes":
      {"verb":"list","group":"kubevirt.io","resource":"kubevirts"}}})"),
              HasSubstr(R"("status":{"allowed":false})"));
  EXPECT_THAT(text("SubjectAccessReview", R"({"spec":{"groups":["system:unauthenticated"],"nonResourceAttributes":
      {"verb":"get","path":"/version"}}})"),
              HasSubstr(R"("allowed":true)"));
}

TEST_F(ReviewsTest, AReviewThatCannotBeDecidedAllowsNothing) {
  struct Away final : Authorizer {
    Task<Result<AccessDecision>> authorize(Core&, const User&, const AccessAttributes&) override {
      co_return fail(Status::unavailable("the roles are away"));
    }
  } away;
  const auth::ReviewParts without{
      .authorizer = away, .rules = rbac, .identifier = identifier, .issuer = *tokens, .store = *store, .clock = clock};
  const auto answer = run(auth::answer_review(
      "SelfSubjectAccessReview",
      json::Value(parse(R"({"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}})").root(),
                  json::StoragePtr()),
      {.core = idle_core(), .user = asking, .ns = {}, .name = {}}, without));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(json::to_text(answer->at("status")), R"({"allowed":false,"evaluationError":"the roles are away"})");
}

TEST_F(ReviewsTest, SelfReviewsAreAboutTheAskingUser) {
  put(roles_resource, R"({"metadata":{"name":"r","namespace":"a"},
      "rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"],"resourceNames":["p"]}]})");
  put(role_bindings_resource, R"({"metadata":{"name":"b","namespace":"a"},"subjects":[{"kind":"Group","name":"dev"}],
      "roleRef":{"kind":"Role","name":"r"}})");
  EXPECT_THAT(text("SelfSubjectAccessReview", R"({"spec":{"resourceAttributes":
      {"namespace":"a","verb":"get","resource":"pods","name":"p"}}})"),
              HasSubstr(R"("allowed":true)"));
  EXPECT_EQ(text("SelfSubjectRulesReview", R"({"spec":{"namespace":"a"}})"),
            R"({"kind":"SelfSubjectRulesReview","apiVersion":"authorization.k8s.io/v1","metadata":{},"spec":{},)"
            R"("status":{"resourceRules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"],)"
            R"("resourceNames":["p"]}],"nonResourceRules":[],"incomplete":false}})");
  EXPECT_EQ(refusal("SelfSubjectRulesReview", R"({"spec":{}})"), "400");
  asking.uid = "u1";
  asking.extra["k"] = {"v"};
  EXPECT_EQ(text("SelfSubjectReview", R"({})"),
            R"({"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1","metadata":{)"
            R"("creationTimestamp":"2026-01-02T00:00:00Z"},"status":{"userInfo":{"username":"jane","uid":"u1",)"
            R"("groups":["dev","system:authenticated"],"extra":{"k":["v"]}}}})");
}

TEST_F(ReviewsTest, RefusesWhatKubernetesRefuses) {
  constexpr std::string_view resource = R"("resourceAttributes":{"verb":"get","resource":"pods"})";
  const auto spec = [&](std::string_view content) { return fmt::format(R"({{"spec":{{{}}}}})", content); };
  EXPECT_EQ(refusal("SubjectAccessReview", spec(resource)), "422 FieldValueInvalid:spec.user");
  EXPECT_EQ(refusal("SubjectAccessReview", spec(R"("user":"x")")), "422 FieldValueInvalid:spec.resourceAttributes");
  EXPECT_EQ(refusal("SelfSubjectAccessReview", R"({})"), "422 FieldValueInvalid:spec.resourceAttributes");
  EXPECT_EQ(refusal("SelfSubjectAccessReview",
                    spec(fmt::format(R"({},"nonResourceAttributes":{{"path":"/","verb":"get"}})", resource))),
            "422 FieldValueInvalid:spec.nonResourceAttributes");
  EXPECT_EQ(refusal("SelfSubjectAccessReview", fmt::format(R"({{"metadata":{{"name":"x"}},"spec":{{{}}}}})", resource)),
            "422 FieldValueInvalid:metadata");
  EXPECT_EQ(refusal("SelfSubjectAccessReview", spec(R"("resourceAttributes":{"labelSelector":{},"fieldSelector":
      {"rawSelector":"a=b","requirements":[{"key":"","operator":"In"},{"key":"a","operator":"Exists","values":["x"]}]}})")),
            "422 FieldValueInvalid:spec.resourceAttributes.fieldSelector.rawSelector "
            "FieldValueRequired:spec.resourceAttributes.fieldSelector.requirements[0].values "
            "FieldValueRequired:spec.resourceAttributes.fieldSelector.requirements[0].key "
            "FieldValueForbidden:spec.resourceAttributes.fieldSelector.requirements[1].values "
            "FieldValueRequired:spec.resourceAttributes.labelSelector.requirements");
  EXPECT_EQ(refusal("SelfSubjectAccessReview", spec(R"("resourceAttributes":{"labelSelector":
      {"requirements":[{"key":"a","operator":"In","values":["b","c d"]}]}})")),
            "422 FieldValueInvalid:spec.resourceAttributes.labelSelector.requirements[0].values[1]");
  EXPECT_EQ(refusal("SubjectAccessReview", spec(R"("user":7)")), "400");
  EXPECT_THAT(text("SelfSubjectAccessReview", spec(R"("resourceAttributes":{"labelSelector":{"rawSelector":"a in"}})")),
              HasSubstr("evaluationError"));
}

TEST_F(ReviewsTest, LocalReviewsStayInTheirNamespace) {
  constexpr std::string_view in_a = R"({"spec":{"user":"x","resourceAttributes":{"namespace":"a","verb":"get"}}})";
  EXPECT_THAT(text("LocalSubjectAccessReview", in_a, "a"), HasSubstr(R"("metadata":{"namespace":"a"})"));
  EXPECT_EQ(refusal("LocalSubjectAccessReview", in_a, "b"), "422 FieldValueInvalid:spec.resourceAttributes.namespace");
  EXPECT_EQ(
      refusal("LocalSubjectAccessReview",
              R"({"metadata":{"namespace":"a"},"spec":{"user":"x","resourceAttributes":{"namespace":"a"}}})", "b"),
      "400");
  EXPECT_EQ(refusal("LocalSubjectAccessReview", R"({"spec":{"user":"x","nonResourceAttributes":{"path":"/"}}})", "b"),
            "422 FieldValueInvalid:spec.nonResourceAttributes");
}

TEST_F(ReviewsTest, TokenReviewSaysWhoseTokenItIs) {
  EXPECT_EQ(text("TokenReview", R"({"spec":{"token":"s3cret"}})"),
            R"({"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","metadata":{},"spec":{"token":"s3cret"},)"
            R"("status":{"authenticated":true,"user":{"username":"jane","uid":"u","groups":["dev",)"
            R"("system:authenticated"]},"audiences":["https://kubernetes.default.svc.cluster.local"]}})");
  const std::string unknown = text("TokenReview", R"({"spec":{"token":"other"}})");
  EXPECT_THAT(unknown, HasSubstr(R"("status":{"user":{},"error":)"));
  EXPECT_THAT(text("TokenReview", R"({"spec":{"token":"s3cret","audiences":["vault"]}})"), HasSubstr(R"("error")"));
  EXPECT_EQ(refusal("TokenReview", R"({"spec":{}})"), "400");
}

TEST_F(ReviewsTest, TokenRequestMakesATokenThatWorks) {
  put("serviceaccounts", R"({"metadata":{"name":"bot","namespace":"a","uid":"u1"}})");
  const auto answer = ask("TokenRequest", R"({"spec":{"audiences":[]}})", "a", "bot").value();
  EXPECT_EQ(json::to_text(answer.at("metadata")),
            R"({"name":"bot","namespace":"a","uid":"u1","creationTimestamp":"2026-01-02T00:00:00Z"})");
  EXPECT_EQ(
      json::to_text(answer.at("spec")),
      R"({"audiences":["https://kubernetes.default.svc.cluster.local"],"expirationSeconds":3600,"boundObjectRef":null})");
  EXPECT_EQ(answer.at("status").at("expirationTimestamp").as_string(), "2026-01-02T01:00:00Z");
  const std::string token(answer.at("status").at("token").as_string());
  EXPECT_EQ(identifier.identify_token(token)->user.name, "system:serviceaccount:a:bot");
  EXPECT_THAT(identifier.identify_token(token)->user.groups,
              ElementsAre("system:serviceaccounts", "system:serviceaccounts:a", "system:authenticated"));
  remove("serviceaccounts", "a", "bot");
  EXPECT_THAT(identifier.identify_token(token).error().message, HasSubstr("deleted"));
}

TEST_F(ReviewsTest, TokenRequestsAreChecked) {
  put("serviceaccounts", R"({"metadata":{"name":"bot","namespace":"a","uid":"u1"}})");
  put("pods",
      R"({"metadata":{"name":"p","namespace":"a","uid":"pu"},"spec":{"serviceAccountName":"bot","nodeName":"n"}})");
  put("pods", R"({"metadata":{"name":"q","namespace":"a","uid":"qu"},"spec":{"serviceAccountName":"other"}})");
  const auto refused = [&](std::string_view object, std::string_view name = "bot") {
    return refusal("TokenRequest", object, "a", name);
  };
  EXPECT_EQ(refused(R"({"spec":{}})", "nobody"), "404");
  EXPECT_EQ(refused(R"({"spec":{"expirationSeconds":599}})"), "422 FieldValueInvalid:spec.expirationSeconds");
  EXPECT_EQ(refused(R"({"spec":{"expirationSeconds":4294967297}})"), "422 FieldValueInvalid:spec.expirationSeconds");
  EXPECT_EQ(refused(R"({"metadata":{"name":"x"}})"), "422 FieldValueInvalid:metadata.name");
  EXPECT_EQ(refused(R"({"metadata":{"namespace":"x"}})"), "422 FieldValueInvalid:metadata.namespace");
  EXPECT_EQ(refused(R"({"metadata":{"uid":"x"}})"), "409");
  const auto bound = [](std::string_view reference) {
    return fmt::format(R"({{"spec":{{"boundObjectRef":{{{}}}}}}})", reference);
  };
  EXPECT_EQ(refused(bound(R"("kind":"Pod","apiVersion":"v1","name":"none")")), "404");
  EXPECT_EQ(refused(bound(R"("kind":"Pod","apiVersion":"v1","name":"q")")), "400");
  EXPECT_EQ(refused(bound(R"("kind":"Pod","apiVersion":"v1","name":"p","uid":"x")")), "409");
  EXPECT_EQ(refused(bound(R"("kind":"Deployment","apiVersion":"apps/v1","name":"p")")), "400");
  const auto good = ask("TokenRequest", bound(R"("kind":"Pod","apiVersion":"v1","name":"p","uid":"pu")"), "a", "bot");
  ASSERT_TRUE(good) << good.error().message;
  const std::string token(good->at("status").at("token").as_string());
  EXPECT_THAT(identifier.identify_token(token)->user.extra.at("authentication.kubernetes.io/node-name"),
              ElementsAre("n"));
}

// Every recorded review, body for body; reasons and times are each server's own.
TEST_F(ReviewsTest, AgreesWithEveryRecordedReview) {
  ASSERT_TRUE(bootstrap_roles(*store, clock, simple_draft));
  std::ifstream file(test_files::recording("rest.jsonl"));
  std::size_t reviews = 0;
  for (std::string line; std::getline(file, line);) {
    const auto scenario = parse(line);
    for (const json::Value& step : scenario.root().at("steps").as_array()) {
      const json::Value* body = json::find(step, "body");
      const json::Object* object = body ? body->if_object() : nullptr;
      if (!object || step.at("expect").at("status") != 201) continue;
      const std::string_view kind = json::get_string_or(*object, "kind");
      const std::string_view target = step.at("path").as_string();
      if (kind == "Role" || kind == "RoleBinding") {
        json::Object stored(*object, json::StoragePtr());
        const std::string_view ns = target.substr(target.find("/namespaces/") + 12);
        stored["metadata"].as_object()["namespace"] = ns.substr(0, ns.find('/'));
        put(kind == "Role" ? roles_resource : role_bindings_resource, stored);
      }
      const std::string_view version = json::get_string_or(*object, "apiVersion");
      if (!auth::is_review(version.substr(0, version.find('/')), kind)) continue;
      User who = user("kubernetes-admin", {"system:masters", "system:authenticated"});
      if (const json::Value* headers = json::find(step, "headers"))
        who = user(std::string(json::get_string_or(*headers, "Impersonate-User")),
                   {std::string(json::get_string_or(*headers, "Impersonate-Group")), "system:authenticated"});
      auto answer = run(auth::answer_review(kind, json::Value(*object, json::StoragePtr()),
                                            {.core = idle_core(), .user = who, .ns = {}, .name = {}}, parts));
      ASSERT_TRUE(answer) << answer.error().message;
      json::erase(answer->at("status").as_object(), "reason");
      json::erase(answer->at("metadata").as_object(), "creationTimestamp");
      EXPECT_EQ(*answer, step.at("expect").at("body")) << json::to_text(*answer);
      ++reviews;
    }
  }
  EXPECT_GT(reviews, 140u);
  RecordProperty("reviews", static_cast<int>(reviews));
}

}  // namespace
}  // namespace vg::local
