#include "ui/questions.h"

#include <gmock/gmock.h>

#include <string>

#include "config/cluster_config.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"

namespace vg::ui {
namespace {

using ::testing::HasSubstr;

json::Document parsed(std::string_view text) { return std::move(*json::Document::parse(text)); }

TEST(Questions, ChecksAreRead) {
  const json::Document body = parsed(R"({"checks":[{"verb":"update","group":"subresources.kubevirt.io",
      "resource":"virtualmachines","subresource":"start","namespace":"ns","name":"vm"},{"verb":"list","resource":"nodes"}]})");
  const auto checks = read_checks(body.root());
  ASSERT_TRUE(checks);
  ASSERT_EQ(checks->size(), 2U);
  EXPECT_EQ((*checks)[0].subresource, "start");
  EXPECT_EQ((*checks)[0].ns, "ns");
  EXPECT_TRUE((*checks)[1].resource_request);
  EXPECT_EQ((*checks)[1].group, "");
  for (const char* wrong : {"{}", "[]", R"({"checks":{}})", R"({"checks":[1]})", R"({"checks":[{"verb":"get"}]})",
                            R"({"checks":[{"resource":"x"}]})"})
    EXPECT_FALSE(read_checks(parsed(wrong).root())) << wrong;
  std::string many = R"({"checks":[)";
  for (int i = 0; i < 201; ++i) many += R"({"verb":"get","resource":"x"},)";
  many.back() = ']';
  EXPECT_FALSE(read_checks(parsed(many + "}").root()));
}

TEST(Questions, PathsOfStoriesAreRead) {
  const auto target = read_story_target("namespaces/ns/virtualmachineinstancemigrations/m");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->subject, story::Subject::migration);
  EXPECT_EQ(target->ns, "ns");
  EXPECT_EQ(target->name, "m");
  for (const char* wrong : {"", "namespaces", "namespaces/ns/virtualmachines", "namespaces/ns/virtualmachines/",
                            "namespaces//virtualmachines/a", "namespaces/ns/pods/a", "x/ns/virtualmachines/a",
                            "namespaces/ns/virtualmachines/a/b"})
    EXPECT_FALSE(read_story_target(wrong)) << wrong;
}

TEST(Questions, AStoryHasAVerdict) {
  const json::Document facts =
      parsed(R"({"vm":{"metadata":{"name":"a"},"spec":{"runStrategy":"Halted"},"status":{}}})");
  const json::Value told = tell_story(story::Subject::vm, facts.root(), {}, {"nodes"});
  EXPECT_FALSE(json::get_string_or(*json::find(told, "verdict"), "text").empty());
  EXPECT_EQ(json::get_string_or(json::get_array(told, "verdicts")->at(0), "id"),
            json::get_string_or(*json::find(told, "verdict"), "id"));
  EXPECT_EQ(json::to_text(*json::find(told, "unread")), R"(["nodes"])");
}

TEST(Questions, ATextIsCheckedAsTheServerWould) {
  const SystemClock clock;
  const config::FixedConfig config(config::ClusterConfig::defaults("amd64"));
  const std::string text =
      "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: a}\nspec:\n  template:\n    spec:\n"
      "      domain:\n        devices:\n          disks:\n          - name: x\n";
  const json::Value told = check_text(text, config, clock);
  EXPECT_THAT(json::to_text(told), HasSubstr(R"("line":10,"column":)"));
  EXPECT_THAT(json::to_text(told), HasSubstr(R"("rule":"MAP-01","severity":"error")"));
  EXPECT_THAT(json::to_text(check_text("a: [", config, clock)), HasSubstr(R"("severity":"error")"));
  std::string many = "apiVersion: v1\nkind: List\nitems:\n";
  for (int i = 0; i < 5000; ++i) many += "- {apiVersion: kubevirt.io/v1, kind: VirtualMachine}\n";
  const json::Value of_many = check_text(many, config, clock);
  EXPECT_LE(json::get_array(of_many, "findings")->size(), 500U);
  EXPECT_EQ(json::to_text(check_text("", config, clock)), R"({"findings":[],"notChecked":[]})");
}

TEST(Questions, OnlyRunningGuestsHaveCounters) {
  EXPECT_EQ(node_of_guest(parsed(R"({"status":{"phase":"Running","nodeName":"n"}})").root()), "n");
  for (const char* other :
       {"{}", R"({"status":{"phase":"Scheduled","nodeName":"n"}})", R"({"status":{"phase":"Running"}})"})
    EXPECT_EQ(node_of_guest(parsed(other).root()).error().code, 409) << other;
}

}  // namespace
}  // namespace vg::ui
