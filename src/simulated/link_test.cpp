#include "simulated/link.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "admission/admit.h"
#include "auth/policy_rule.h"
#include "base/background.h"
#include "controllers/common/conditions.h"
#include "json/access.h"
#include "json/document.h"
#include "objects/draft.h"
#include "simulated/testing.h"

namespace vg::simulated {
namespace {

using controllers::Effect;
using controllers::Verb;
using testing::HasSubstr;

class AllowAll final : public Authorizer {
  Task<Result<AccessDecision>> authorize(Core&, const User&, const AccessAttributes&) override {
    co_return AccessDecision{.allowed = true, .reason = {}};
  }
};
class AllRules final : public auth::RuleResolver {
  std::vector<auth::PolicyRule> rules_for(const User&, std::string_view) const override { return {}; }
  Result<std::vector<auth::PolicyRule>> rules_of_role(std::string_view, std::string_view,
                                                      std::string_view) const override {
    return std::vector<auth::PolicyRule>{};
  }
};
class NoQuotas final : public resources::Quotas {
  std::optional<Status> find_problem(const ObjectKey&, const json::Object*, const json::Object&) const override {
    return std::nullopt;
  }
  Task<void> counted(Core&, ObjectKey) override { co_return; }
};

// Says which of its functions was called.
class OtherLink final : public NodeLink {
 public:
  Task<Result<NodeAddress>> find(Core&, std::string_view node) override {
    co_return NodeAddress{.host = std::string(node), .port = 1};
  }
  Task<Result<NodeAnswer>> call(Core&, const NodeAddress&, NodeRequest) override {
    co_return NodeAnswer{.status = 299, .phrase = {}, .body = "another"};
  }
  Task<Result<NodeStream>> open(Core&, const NodeAddress&, std::string_view) override {
    NodeStream refused;
    refused.refusal = {.status = 599, .phrase = {}, .body = "another"};
    co_return refused;
  }
};

class LinkTest : public testing::Test {
 protected:
  LinkTest() {
    put("namespaces", R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}})");
    put(controllers::kinds::node, R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"ours",
        "labels":{"simulated.virtgate.io/node":"true"}}})");
    put(controllers::kinds::node, R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"theirs"}})");
    put(controllers::kinds::vmi, R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance",
        "metadata":{"name":"a","namespace":"n"},"spec":{"domain":{"devices":{}}},
        "status":{"phase":"Running","nodeName":"ours"}})");
  }

  template <class T>
  T run(Task<T> task) {
    std::optional<T> result;
    const Background running([](Task<T> work, std::optional<T>& into) -> Task<void> { into.emplace(co_await work); }(
                                                                          std::move(task), result));
    for (int step = 0; step < 1000 && !result && core_.step(); ++step) {
    }
    if (!result) throw std::runtime_error("the task does not end");
    return std::move(*result);
  }
  // As it is stored: nobody judges it.
  void put(std::string_view resource, std::string_view text) {
    auto parsed = json::Document::parse(text);
    const json::Value& metadata = *json::find(parsed->root(), "metadata");
    json::ensure_object(parsed->root().get_object(), "metadata")["uid"] = "u";
    const resources::Resource& kind = *resources::find_resource(resource);
    Transaction transaction;
    transaction.writes.push_back({.kind = WriteKind::create,
                                  .key = {.resource = std::string(resource),
                                          .ns = std::string(json::get_string_or(metadata, "namespace")),
                                          .name = std::string(json::get_string_or(metadata, "name"))},
                                  .object = resources::make_draft(parsed->root().get_object(), kind)});
    bool stored = false;
    store_.submit(std::move(transaction), [&](const Result<CommitOutcome>& outcome) { stored = outcome.has_value(); });
    while (core_.step()) {
    }
    ASSERT_TRUE(stored);
  }
  Result<NodeAnswer> call(std::string_view what, std::string_view name = "a",
                          std::string_view node = "simulated:ours") {
    const std::string target = fmt::format("/v1/namespaces/n/virtualmachineinstances/{}/{}", name, what);
    return run(link_.call(core_, {.host = std::string(node), .port = 0},
                          {.method = "PUT", .target = target, .timeout = std::chrono::seconds(1)}));
  }
  std::string condition(std::string_view type) {
    json::Document memory;
    const json::Value vmi = resources::load_object(*store_.get(controllers::kinds::vmi, "n", "a"), memory.storage());
    return std::string(controllers::condition_status(json::get_object(vmi, "status"), type));
  }

  ManualClock clock_;
  ManualCore core_{clock_};
  ModelStore store_{core_};
  resources::Commits commits_{store_};
  AllowAll authorizer_;
  AllRules rules_;
  NoQuotas quotas_;
  resources::AdmissionPolicies policies_{store_};
  resources::Backend backend_{.store = store_,
                              .commits = commits_,
                              .authorizer = authorizer_,
                              .clock = clock_,
                              .admission = admission::offline_environment(),
                              .rules = rules_,
                              .quotas = quotas_,
                              .policies = policies_};
  OtherLink others_;
  SimulatedLink link_{backend_, others_};
};

TEST_F(LinkTest, FindsItsOwnNodesAndAsksForOthers) {
  EXPECT_EQ(run(link_.find(core_, "ours"))->host, "simulated:ours");
  EXPECT_EQ(run(link_.find(core_, "theirs"))->host, "theirs");
  EXPECT_EQ(run(link_.find(core_, "unknown"))->host, "unknown");
}

TEST_F(LinkTest, CallsOfOtherNodesAreHandedOn) {
  EXPECT_EQ(call("pause", "a", "theirs")->status, 299);
  EXPECT_EQ(run(link_.open(core_, {.host = "theirs", .port = 1}, "/x"))->refusal.status, 599);
}

TEST_F(LinkTest, ACallIsWrittenBeforeItIsAnswered) {
  const auto answer = call("pause");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 202);
  EXPECT_EQ(condition("Paused"), "True");
  EXPECT_EQ(store_.count("events"), 1U);
  ASSERT_TRUE(call("unpause"));
  EXPECT_NE(condition("Paused"), "True");
}

TEST_F(LinkTest, AVmiThatIsElsewhereIsNotFound) {
  EXPECT_EQ(call("pause", "b")->status, 404);
  EXPECT_EQ(call("pause", "a", "simulated:other")->status, 404);
  EXPECT_THAT(call("pause", "b")->body, HasSubstr("not on this node"));
  EXPECT_EQ(run(link_.call(core_, {.host = "simulated:ours", .port = 0},
                           {.target = "/nonsense", .timeout = std::chrono::seconds(1)}))
                ->status,
            404);
}

TEST_F(LinkTest, AConsoleOpensAndNothingElse) {
  const auto open = [&](std::string_view name, std::string_view what) {
    const std::string target = fmt::format("/v1/namespaces/n/virtualmachineinstances/{}/{}", name, what);
    return run(link_.open(core_, {.host = "simulated:ours", .port = 0}, target));
  };
  EXPECT_TRUE(open("a", "console")->stream);
  EXPECT_EQ(open("a", "vnc")->refusal.status, 501);
  EXPECT_EQ(open("b", "console")->refusal.status, 404);
}

}  // namespace
}  // namespace vg::simulated
