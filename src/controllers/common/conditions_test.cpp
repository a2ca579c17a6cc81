#include "controllers/common/conditions.h"

#include <gtest/gtest.h>

#include "controllers/testing.h"
#include "json/write.h"

namespace vg::controllers {
namespace {

json::Document status_of(std::string_view text) { return std::move(*json::Document::parse(text)); }

std::string entries(const json::Document& status) {
  std::string text;
  for (const json::Value& entry : *json::get_array(status.root(), "conditions"))
    text += fmt::format("{}={}/{}/{};", json::get_string_or(entry, "type"), json::get_string_or(entry, "status"),
                        json::get_string_or(entry, "reason"), json::get_string_or(entry, "message"));
  return text;
}

TEST(Conditions, SetAppendsReplacesOrLeavesAlone) {
  auto status = status_of("{}");
  json::Object& object = status.root().get_object();
  EXPECT_TRUE(set_condition(object, {.type = "Failure", .status = "True", .reason = "A", .message = "first"}));
  EXPECT_TRUE(set_condition(object, {.type = "Ready", .status = "False"}));
  EXPECT_FALSE(set_condition(object, {.type = "Failure", .status = "True", .reason = "A", .message = "second"}));
  EXPECT_EQ(entries(status), "Failure=True/A/first;Ready=False//;");
  EXPECT_TRUE(set_condition(object, {.type = "Failure", .status = "True", .reason = "B", .message = "third"}));
  EXPECT_TRUE(set_condition(object, {.type = "Ready", .status = "True"}));
  EXPECT_EQ(entries(status), "Failure=True/B/third;Ready=True//;");
  EXPECT_TRUE(set_condition_and_message(object, {.type = "Failure", .status = "True", .reason = "B", .message = "x"}));
  EXPECT_FALSE(set_condition_and_message(object, {.type = "Failure", .status = "True", .reason = "B", .message = "x"}));
}

TEST(Conditions, ATimeThatIsNotSetIsNull) {
  json::Document memory;
  const json::Value entry =
      condition_value({.type = "A", .status = "True", .last_transition = time_text(test_now)}, memory.storage());
  EXPECT_EQ(json::to_text(entry),
            R"({"type":"A","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-01-02T03:04:05Z"})");
}

TEST(Conditions, DropTakesOneOut) {
  auto status =
      status_of(R"({"conditions":[{"type":"A","status":"True"},{"type":"B","status":"False","reason":"r"}]})");
  json::Object& object = status.root().get_object();
  EXPECT_TRUE(drop_condition(object, "A"));
  EXPECT_FALSE(drop_condition(object, "A"));
  EXPECT_EQ(entries(status), "B=False/r/;");
}

TEST(Conditions, AreReadFromWhatIsThere) {
  const auto status = status_of(R"({"conditions":[{"type":"B","status":"False","reason":"r"}]})");
  const json::Object* object = status.root().if_object();
  EXPECT_TRUE(is_false(object, "B"));
  EXPECT_FALSE(is_true(object, "B"));
  EXPECT_EQ(condition_reason(object, "B"), "r");
  EXPECT_EQ(condition_status(object, "C"), "");
  EXPECT_EQ(find_condition(nullptr, "B"), nullptr);
}

}  // namespace
}  // namespace vg::controllers
