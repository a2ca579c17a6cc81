#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "housekeeping/flow_objects.h"
#include "resources/api_test_support.h"
#include "server/health.h"

namespace vg::resources::testing {
namespace {

const std::string root = "/apis/flowcontrol.apiserver.k8s.io/v1/";
const std::string schemas = root + "flowschemas", levels = root + "prioritylevelconfigurations";

class FlowControllerTest : public ApiTest {
 protected:
  ~FlowControllerTest() override {
    on_core([this] { task_.reset(); });
  }
  void start_controller(FlowWrites writes = FlowWrites::all) {
    controller_ = make_flow_controller({.store = *store_, .commits = *commits_, .core = (*cores_)[1], .clock = clock_},
                                       {.classification = api_->flows(), .seats = &nominal_seats(metrics_)}, writes);
    on_core([this] { task_.emplace(controller_->run()); });
  }
  template <class F>
  void on_core(F f) {
    std::promise<void> done;
    (*cores_)[1].post([&] {
      f();
      done.set_value();
    });
    done.get_future().get();
  }

  // Status and reason of the condition.
  std::string dangling(const std::string& name) {
    const Reply reply = get(schemas + "/" + name);
    const auto* conditions = json::find_path(reply.body.root(), {"status", "conditions"});
    if (!conditions || conditions->get_array().size() != 1) return "?";
    const json::Value& one = conditions->get_array().at(0);
    return fmt::format("{} {} {}", json::get_string_or(one, "type"), json::get_string_or(one, "status"),
                       json::get_string_or(one, "reason"));
  }
  template <class F>
  static bool soon(F holds) {
    for (int i = 0; i < 2000; ++i) {
      if (holds()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }
  // `more` of the spec.
  void make_schema(std::string_view name, std::string_view level, std::string_view more = "") {
    const Reply made =
        post(schemas, fmt::format(R"({{"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"FlowSchema","metadata":)"
                                  R"({{"name":"{}"}},"spec":{{"priorityLevelConfiguration":{{"name":"{}"}}{}}}}})",
                                  name, level, more));
    ASSERT_EQ(made.status, 201) << made.text;
  }
  // The schema and the level that the answer says it was classified by, or what it says of that.
  std::string classified(TestExchange& served) {
    start(served).get();
    const std::string_view fields = served.response().prepared;
    for (const std::string_view schema : {"exempt", "global-default", "catch-all", "own"})
      for (const std::string_view level : {"exempt", "global-default", "catch-all", "own-level"})
        if (fields == fields_of(schema, level)) return fmt::format("{} {}", schema, level);
    return std::string(fields);
  }
  std::string fields_of(std::string_view schema, std::string_view level) {
    const ObjectPtr one = store_->get(flow_schemas_key, "", schema),
                    other = store_->get(priority_levels_key, "", level);
    if (!one || !other) return "?";
    return fmt::format("X-Kubernetes-PF-FlowSchema-UID: {}\r\nX-Kubernetes-PF-PriorityLevel-UID: {}\r\n", one->uid(),
                       other->uid());
  }
  std::string classified(std::string method, std::string target, std::vector<Header> headers = {}) {
    return classified(*exchange(std::move(method), std::move(target), {}, std::move(headers)));
  }
  void make_level(std::string_view name) {
    const Reply made = post(
        levels, fmt::format(R"({{"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"PriorityLevelConfiguration",)"
                            R"("metadata":{{"name":"{}"}},"spec":{{"type":"Limited","limited":)"
                            R"({{"limitResponse":{{"type":"Reject"}}}}}}}})",
                            name));
    ASSERT_EQ(made.status, 201) << made.text;
  }

  std::unique_ptr<Controller> controller_;
  std::optional<Background> task_;
};

TEST_F(FlowControllerTest, WhatIsThereFromTheStartIsValid) {
  EXPECT_EQ(store_->count(flow_schemas_key), 11u);
  EXPECT_EQ(store_->count(priority_levels_key), 8u);
  for (const std::string& list : {schemas, levels}) {
    const Reply all = get(list);
    for (const json::Value& item : all.body.root().at("items").get_array()) {
      const std::string path = list + "/" + std::string(item.at("metadata").at("name").get_string());
      const Reply one = get(path);
      const Reply written = call("PUT", path, one.text);
      EXPECT_EQ(written.status, 200) << written.text;
      EXPECT_EQ(json::to_text(written.body.root().at("spec"), {.sort_keys = true}),
                json::to_text(one.body.root().at("spec"), {.sort_keys = true}))
          << "nothing was left to defaults";
    }
  }
  EXPECT_EQ(dangling("probes"), "Dangling False Found");
}

TEST_F(FlowControllerTest, ASchemaTellsWhetherItsLevelIsThere) {
  make_level("before");
  make_schema("found", "before");
  start_controller();
  EXPECT_TRUE(soon([&] { return dangling("found") == "Dangling False Found"; }));
  make_schema("lost", "later");
  EXPECT_TRUE(soon([&] { return dangling("lost") == "Dangling True NotFound"; }));
  make_level("later");
  EXPECT_TRUE(soon([&] { return dangling("lost") == "Dangling False Found"; }));
  EXPECT_EQ(call("DELETE", levels + "/before").status, 200);
  EXPECT_TRUE(soon([&] { return dangling("found") == "Dangling True NotFound"; }));
  EXPECT_EQ(merge(schemas + "/found", R"({"spec":{"priorityLevelConfiguration":{"name":"later"}}})").status, 200);
  EXPECT_TRUE(soon([&] { return dangling("found") == "Dangling False Found"; }));
}

TEST_F(FlowControllerTest, WhatIsThereFromTheStartComesBack) {
  start_controller();
  for (const std::string& path : {schemas + "/catch-all", levels + "/exempt", schemas + "/probes"}) {
    const std::string uid = get(path).at({"metadata", "uid"});
    EXPECT_EQ(call("DELETE", path).status, 200);
    EXPECT_TRUE(soon([&] { return get(path).status == 200 && get(path).at({"metadata", "uid"}) != uid; })) << path;
  }
}

TEST_F(FlowControllerTest, AnswersSayByWhatRequestsAreClassified) {
  const std::string own = R"(,"matchingPrecedence":5,"rules":[{"subjects":[{"kind":"User","user":{"name":"noxu"}}],)"
                          R"("resourceRules":[{"verbs":["list"],"apiGroups":[""],"resources":["nodes"],)"
                          R"("clusterScope":true}]}])";
  const std::vector<Header> noxu = {{"Impersonate-User", "noxu"}};
  EXPECT_EQ(classified("GET", "/api/v1/nodes"), "") << "before the first";
  start_controller();
  EXPECT_TRUE(soon([&] { return classified("GET", "/api/v1/nodes") == "exempt exempt"; }));
  EXPECT_EQ(classified("GET", "/api/v1/nodes", noxu), "global-default global-default");
  make_schema("own", "own-level", own);
  EXPECT_TRUE(soon([&] { return dangling("own") == "Dangling True NotFound"; }));
  EXPECT_EQ(classified("GET", "/api/v1/nodes", noxu), "global-default global-default");
  make_level("own-level");
  EXPECT_TRUE(soon([&] { return dangling("own") == "Dangling False Found"; }));
  // At once: the condition is never ahead.
  EXPECT_EQ(classified("GET", "/api/v1/nodes", noxu), "own own-level");
  EXPECT_EQ(classified("GET", "/api/v1/nodes"), "exempt exempt");
  EXPECT_EQ(classified("GET", "/api/v1/nodes/missing", noxu), "global-default global-default") << "another verb";
  EXPECT_EQ(classified("GET", "/apis", noxu), "global-default global-default");
  EXPECT_EQ(call("DELETE", levels + "/own-level").status, 200);
  EXPECT_TRUE(soon([&] { return classified("GET", "/api/v1/nodes", noxu) == "global-default global-default"; }));
}

TEST_F(FlowControllerTest, RefusalsAndWatchesSayItToo) {
  start_controller();
  ASSERT_TRUE(soon([&] { return classified("GET", "/api/v1/nodes") == "exempt exempt"; }));
  const auto watch = exchange("GET", "/api/v1/nodes?watch=true&timeoutSeconds=1");
  EXPECT_EQ(classified(*watch), "exempt exempt");
  authorizer_.forbidden.insert("list nodes");
  const auto refused = exchange("GET", "/api/v1/nodes");
  EXPECT_EQ(classified(*refused), "exempt exempt");
  EXPECT_EQ(refused->response().status, 403);
  // Nobody can be classified who is not known.
  TestExchange stranger((*cores_)[0], "GET", "/api/v1/nodes", "", {{"Authorization", "Bearer wrong"}});
  EXPECT_EQ(classified(stranger), "");
  EXPECT_EQ(stranger.response().status, 401);
  authorizer_.forbidden.insert("impersonate users");
  const auto other = exchange("GET", "/api/v1/nodes", "", {{"Impersonate-User", "noxu"}});
  EXPECT_EQ(classified(*other), "");
  EXPECT_EQ(other->response().status, 403);
}

TEST_F(FlowControllerTest, WhatIsForEverybodyIsAnsweredToWhoAsks) {
  server::add_version_routes(router_, [this](server::Call& call) { return api_->meet(call); });
  start_controller();
  ASSERT_TRUE(soon([&] { return classified("GET", "/api/v1/nodes") == "exempt exempt"; }));
  EXPECT_EQ(classified("GET", "/version"), "exempt exempt");
  EXPECT_EQ(classified("GET", "/version", {{"Impersonate-User", "noxu"}}), "global-default global-default");
  authorizer_.forbidden.insert("get ");  // of no resource
  EXPECT_EQ(call("GET", "/version").status, 200) << "nobody is asked whether they may";
  TestExchange nobody((*cores_)[0], "GET", "/version", "", {});
  EXPECT_EQ(classified(nobody), "");
  EXPECT_EQ(nobody.response().status, 200);
  TestExchange stranger((*cores_)[0], "GET", "/version", "", {{"Authorization", "Bearer wrong"}});
  EXPECT_EQ(classified(stranger), "");
  EXPECT_EQ(stranger.response().status, 401);
  authorizer_.forbidden.insert("impersonate users");
  EXPECT_EQ(call("GET", "/version", "", {{"Impersonate-User", "noxu"}}).status, 403);
}

TEST_F(FlowControllerTest, SeatsOfLevelsAreShown) {
  start_controller();
  const auto shows = [&](std::string_view series) {
    return soon([&] {
      return metrics_.expose().contains(fmt::format("apiserver_flowcontrol_nominal_limit_seats{}\n", series));
    });
  };
  EXPECT_TRUE(shows(R"({priority_level="workload-low"} 245)"));
  EXPECT_TRUE(shows(R"({priority_level="exempt"} 0)"));
  make_level("own-level");  // 30 shares, as much as "system"
  EXPECT_TRUE(shows(R"({priority_level="own-level"} 66)"));
  EXPECT_TRUE(shows(R"({priority_level="workload-low"} 219)"));
  EXPECT_EQ(call("DELETE", levels + "/own-level").status, 200);
  EXPECT_TRUE(soon([&] { return !metrics_.expose().contains("own-level"); }));
}

TEST_F(FlowControllerTest, WithoutWritingItOnlyClassifies) {
  start_controller(FlowWrites::none);
  make_schema("own", "own-level");
  EXPECT_TRUE(soon([&] { return classified("GET", "/api/v1/nodes") == "exempt exempt"; }));
  EXPECT_EQ(dangling("own"), "?");
  EXPECT_EQ(call("DELETE", schemas + "/exempt").status, 200);
  EXPECT_TRUE(soon([&] { return classified("GET", "/api/v1/nodes") == "global-default global-default"; }));
  EXPECT_EQ(get(schemas + "/exempt").status, 404);
}

}  // namespace
}  // namespace vg::resources::testing
