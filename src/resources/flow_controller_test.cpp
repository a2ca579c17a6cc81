#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "housekeeping/flow_objects.h"
#include "resources/api_test_support.h"

namespace vg::resources::testing {
namespace {

const std::string root = "/apis/flowcontrol.apiserver.k8s.io/v1/";
const std::string schemas = root + "flowschemas", levels = root + "prioritylevelconfigurations";

class FlowControllerTest : public ApiTest {
 protected:
  ~FlowControllerTest() override {
    on_core([this] { task_.reset(); });
  }
  void start_controller() {
    controller_ = make_flow_controller({.store = *store_, .commits = *commits_, .core = (*cores_)[1], .clock = clock_});
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
  void make_schema(std::string_view name, std::string_view level) {
    const Reply made =
        post(schemas, fmt::format(R"({{"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"FlowSchema","metadata":)"
                                  R"({{"name":"{}"}},"spec":{{"priorityLevelConfiguration":{{"name":"{}"}}}}}})",
                                  name, level));
    ASSERT_EQ(made.status, 201) << made.text;
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

}  // namespace
}  // namespace vg::resources::testing
