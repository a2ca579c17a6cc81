#include "objects/policies/judge.h"

#include <gmock/gmock.h>

#include <map>
#include <string>

#include "json/access.h"
#include "json/document.h"
#include "json/parse.h"

namespace vg::resources::policies {
namespace {

using std::string_view;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class FakeWorld final : public World {
 public:
  std::map<std::string, json::Value, std::less<>> namespaces, params;
  const json::Value* namespace_object(string_view name) override {
    const auto found = namespaces.find(name);
    return found == namespaces.end() ? nullptr : &found->second;
  }
  Result<const json::Value*> get(const Resource&, string_view ns, string_view name) override {
    const auto found = params.find(fmt::format("{}/{}", ns, name));
    return found == params.end() ? nullptr : &found->second;
  }
  Result<std::vector<const json::Value*>> list(const Resource&, string_view, const LabelSelector&) override {
    std::vector<const json::Value*> all;
    for (const auto& [name, object] : params) all.push_back(&object);
    return all;
  }
};

struct JudgeTest : ::testing::Test {
  json::Document memory;
  FakeWorld world;
  User user{.name = "jane", .uid = {}, .groups = {"devs"}, .extra = {}};
  Answers answers;
  json::Value object = parsed(R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","namespace":"ns",
                                  "labels":{"app":"a"}},"spec":{"replicas":1}})");

  JudgeTest() { world.namespaces["ns"] = parsed(R"({"metadata":{"name":"ns","labels":{"env":"prod"}}})"); }

  json::Value parsed(string_view text) { return *json::parse(text, memory.storage()); }

  // `spec` is a policy's without matchConstraints and validations; `rest` is added to the binding's.
  PolicySet set(string_view validations, string_view spec = "{}", string_view match = "{}", string_view rest = "{}") {
    json::Value policy = parsed(R"({"metadata":{"name":"p"}})"), binding = parsed(R"({"metadata":{"name":"b"}})");
    json::Value wanted = parsed(spec), constraints = parsed(match), bound = parsed(rest);
    if (!constraints.get_object().contains("resourceRules"))
      constraints.get_object()["resourceRules"] =
          parsed(R"([{"apiGroups":["apps"],"apiVersions":["v1"],"operations":["*"],"resources":["deployments"]}])");
    wanted.get_object()["matchConstraints"] = std::move(constraints);
    wanted.get_object()["validations"] = parsed(validations);
    policy.get_object()["spec"] = std::move(wanted);
    bound.get_object()["policyName"] = "p";
    if (!bound.get_object().contains("validationActions"))
      bound.get_object()["validationActions"] = parsed(R"(["Deny"])");
    binding.get_object()["spec"] = std::move(bound);
    return {{.policy = std::make_shared<const Policy>(read_policy(policy.get_object())),
             .bindings = {std::make_shared<const Binding>(read_binding(binding.get_object()))}}};
  }

  Subject subject(string_view operation = "CREATE") {
    const Resource& resource = *find_resource("apps", "v1", "deployments");
    return {.operation = operation,
            .resource = resource,
            .requested = {.group = "apps", .version = "v1", .resource = &resource},
            .subresource = {},
            .ns = "ns",
            .name = "d",
            .object = operation == "DELETE" ? nullptr : &object,
            .old_object = operation == "CREATE" ? nullptr : &object};
  }

  Verdict judged(const PolicySet& policies, const Subject& subject) {
    return judge(policies, subject, world, {.user = user, .answers = answers}, memory.storage());
  }
  std::string refusal(const PolicySet& policies) { return refusal(policies, subject()); }
  std::string refusal(const PolicySet& policies, const Subject& subject) {
    const auto verdict = judged(policies, subject);
    return verdict.refusal ? verdict.refusal->details.causes.front().message : "";
  }
};

TEST_F(JudgeTest, RefusesInTheWordsThatProgramsLookFor) {
  const auto policies = set(R"([{"expression":"object.spec.replicas > 1"}])");
  const auto verdict = judged(policies, subject());
  ASSERT_TRUE(verdict.refusal);
  EXPECT_EQ(verdict.refusal->code, 422);
  EXPECT_EQ(verdict.refusal->reason, "Invalid");
  EXPECT_EQ(
      verdict.refusal->message,
      "deployments.apps \"d\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed "
      "expression: object.spec.replicas > 1");
  object.at("spec").at("replicas") = 2;
  EXPECT_FALSE(judged(policies, subject()).refusal);
}

TEST_F(JudgeTest, TheNamespaceSelectorAsksTheNamespace) {
  const string_view no = R"([{"expression":"false"}])";
  EXPECT_NE(refusal(set(no, "{}", R"({"namespaceSelector":{"matchLabels":{"env":"prod"}}})")), "");
  EXPECT_EQ(refusal(set(no, "{}", R"({"namespaceSelector":{"matchLabels":{"env":"test"}}})")), "");
  world.namespaces.clear();
  EXPECT_THAT(refusal(set(no, "{}", R"({"namespaceSelector":{"matchLabels":{"env":"prod"}}})")),
              EndsWith("failed to configure policy: namespaces \"ns\" not found"));
}

TEST_F(JudgeTest, RulesMatchByEveryPart) {
  struct Case {
    string_view rule;
    bool matches;
  };
  constexpr Case cases[] = {
      {R"({"apiGroups":["*"],"apiVersions":["*"],"operations":["*"],"resources":["*"]})", true},
      {R"({"apiGroups":["*"],"apiVersions":["*"],"operations":["*"],"resources":["*/*"]})", true},
      {R"({"apiGroups":["*"],"apiVersions":["*"],"operations":["*"],"resources":["*/status"]})", false},
      {R"({"apiGroups":[""],"apiVersions":["v1"],"operations":["*"],"resources":["deployments"]})", false},
      {R"({"apiGroups":["apps"],"apiVersions":["v2"],"operations":["*"],"resources":["deployments"]})", false},
      {R"({"apiGroups":["apps"],"apiVersions":["v1"],"operations":["UPDATE"],"resources":["deployments"]})", false},
      {R"({"apiGroups":["apps"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["deployments"],"scope":"Cluster"})",
       false},
      {R"({"apiGroups":["apps"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["deployments"],
           "scope":"Namespaced"})",
       true},
      {R"({"apiGroups":["apps"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["deployments"],
           "resourceNames":["e"]})",
       false},
  };
  for (const auto& [rule, matches] : cases) {
    const std::string rules = fmt::format(R"({{"resourceRules":[{}]}})", rule);
    EXPECT_EQ(refusal(set(R"([{"expression":"false"}])", "{}", rules)) != "", matches) << rule;
  }
}

TEST_F(JudgeTest, ADeletionHasOnlyAnOldObject) {
  const auto policies = set(R"([{"expression":"object == null && oldObject.spec.replicas == 2"}])");
  EXPECT_NE(refusal(policies, subject("DELETE")), "");
  object.at("spec").at("replicas") = 2;
  EXPECT_EQ(refusal(policies, subject("DELETE")), "");
}

TEST_F(JudgeTest, ConditionsThatAreFalseEndItAndErrorsCountOnlyOtherwise) {
  const string_view no = R"([{"expression":"false"}])";
  const string_view conditions =
      R"({{"failurePolicy":"{}","matchConditions":[{{"name":"e","expression":"object.x == 1"}},
                                    {{"name":"c","expression":"{}"}}]}})";
  const auto with = [&](string_view policy, string_view second) {
    return refusal(set(no, fmt::format(fmt::runtime(conditions), policy, second)));
  };
  EXPECT_EQ(with("Fail", "false"), "");
  EXPECT_THAT(with("Fail", "true"), HasSubstr("resulted in error: no such key: x"));
  EXPECT_EQ(with("Ignore", "true"), "");
}

TEST_F(JudgeTest, FailuresAreIgnoredWhereThePolicySaysSo) {
  const string_view broken = R"([{"expression":"object.x == 1"},{"expression":"object.spec.replicas > 1"}])";
  EXPECT_THAT(refusal(set(broken)), HasSubstr("expression 'object.x == 1' resulted in error: no such key: x"));
  EXPECT_THAT(refusal(set(broken, R"({"failurePolicy":"Ignore"})")),
              HasSubstr("failed expression: object.spec.replicas"));
}

TEST_F(JudgeTest, TheFirstMessageThatCanBeToldIsTold) {
  const auto told = [&](string_view more) {
    return refusal(set(fmt::format(R"([{{"expression":"false"{}}}])", more)));
  };
  EXPECT_THAT(told(R"(,"messageExpression":"'is ' + object.metadata.name","message":"m")"), EndsWith("request: is d"));
  EXPECT_THAT(told(R"(,"messageExpression":"object.x","message":" m ")"), EndsWith("request: m"));
  EXPECT_THAT(told(R"(,"messageExpression":"'a\\nb'")"), EndsWith("request: failed expression: false"));
  EXPECT_THAT(told(R"(,"messageExpression":"' '")"), EndsWith("request: failed expression: false"));
}

TEST_F(JudgeTest, WarningsAndRecordsDoNotRefuse) {
  const auto verdict = judged(set(R"([{"expression":"true"},{"expression":"false"}])",
                                  R"({"auditAnnotations":[{"key":"k","valueExpression":"request.userInfo.username"}]})",
                                  "{}", R"({"validationActions":["Warn","Audit"]})"),
                              subject());
  EXPECT_FALSE(verdict.refusal);
  EXPECT_THAT(verdict.warnings,
              ::testing::ElementsAre("Validation failed for ValidatingAdmissionPolicy 'p' with binding "
                                     "'b': failed expression: false"));
  ASSERT_EQ(verdict.annotations.size(), 2u);
  EXPECT_EQ(verdict.annotations[0].second,
            R"([{"message":"failed expression: false","policy":"p","binding":"b","expressionIndex":1,)"
            R"("validationActions":["Warn","Audit"]}])");
  EXPECT_EQ(verdict.annotations[1], (std::pair<std::string, std::string>("p/k", "jane")));
}

TEST_F(JudgeTest, ParametersAreEachEvaluated) {
  const string_view kind = R"({"paramKind":{"apiVersion":"v1","kind":"ConfigMap"}})";
  const string_view at_least = R"j([{"expression":"object.spec.replicas >= int(params.data.min)"}])j";
  const string_view by_name = R"({"paramRef":{"name":"c","parameterNotFoundAction":"Deny"}})";
  EXPECT_THAT(refusal(set(at_least, kind, "{}", by_name)), HasSubstr("no params found for policy binding with `Deny`"));
  EXPECT_EQ(refusal(set(at_least, kind, "{}", R"({"paramRef":{"name":"c","parameterNotFoundAction":"Allow"}})")), "");
  world.params["ns/c"] = parsed(R"({"data":{"min":"1"}})");
  EXPECT_EQ(refusal(set(at_least, kind, "{}", by_name)), "");
  world.params["ns/d"] = parsed(R"({"data":{"min":"2"}})");
  EXPECT_NE(refusal(set(at_least, kind, "{}", R"({"paramRef":{"selector":{},"parameterNotFoundAction":"Deny"}})")), "");
  EXPECT_THAT(refusal(set(at_least, R"({"paramKind":{"apiVersion":"v1","kind":"Nothing"}})", "{}", by_name)),
              HasSubstr("not known"));
  EXPECT_THAT(refusal(set(at_least, R"({"paramKind":{"apiVersion":"v1","kind":"Node"}})", "{}",
                          R"({"paramRef":{"name":"c","namespace":"x","parameterNotFoundAction":"Deny"}})")),
              HasSubstr("cluster-scoped"));
}

TEST_F(JudgeTest, QuestionsAreAskedOneAfterTheOther) {
  const auto policies = set(R"j([{"expression":"authorizer.group('').resource('pods').check('list').allowed()"}])j");
  try {
    judged(policies, subject());
    FAIL() << "nothing was asked";
  } catch (const Unanswered& unanswered) {
    EXPECT_EQ(unanswered.question.verb, "list");
    EXPECT_EQ(unanswered.question.resource, "pods");
    answers[unanswered.question] = {.allowed = true, .reason = {}, .error = {}};
  }
  EXPECT_EQ(refusal(policies), "");
}

TEST_F(JudgeTest, AllPoliciesTogetherAreBounded) {
  PolicySet many;
  for (int i = 0; i < 80; ++i)
    many.push_back(set(R"j([{"expression":"lists.range(150000).all(x, x >= 0)"}])j").front());
  EXPECT_THAT(refusal(many), HasSubstr("running out of cost budget"));
}

}  // namespace
}  // namespace vg::resources::policies
