#include "objects/priority_classes.h"

#include <gtest/gtest.h>

#include "json/document.h"
#include "json/write.h"

namespace vg::resources {
namespace {

// The spec that comes of it, or why the pod is forbidden.
std::string applied(std::string_view spec, std::string_view priority_class) {
  auto pod = json::Document::parse(std::string(R"({"spec":)") + std::string(spec) + "}").value();
  auto given = priority_class.empty() ? json::Document() : json::Document::parse(priority_class).value();
  const auto why = apply_priority_class(pod.root().get_object(), given.root().if_object());
  return why ? *why : json::to_text(pod.root().at("spec"), {.sort_keys = true});
}

constexpr const char* named = R"({"priorityClassName":"high"})";
constexpr const char* high = R"({"value":7,"preemptionPolicy":"Never"})";

TEST(PriorityClasses, MustBeThere) {
  EXPECT_EQ(applied("{}", ""), "{}");
  EXPECT_EQ(applied(named, ""), "no PriorityClass with name high was found");
}

TEST(PriorityClasses, SetPriorityAndPolicy) {
  const std::string done = R"({"preemptionPolicy":"Never","priority":7,"priorityClassName":"high"})";
  EXPECT_EQ(applied(named, high), done);
  EXPECT_EQ(applied(done, high), done);
  EXPECT_EQ(applied(named, R"({"value":1})"),
            R"({"preemptionPolicy":"PreemptLowerPriority","priority":1,"priorityClassName":"high"})");
}

TEST(PriorityClasses, PodsDoNotSayOtherwise) {
  EXPECT_EQ(applied(R"({"priorityClassName":"high","priority":8})", high),
            "priority 8 differs from 7, the value of PriorityClass high; remove it");
  EXPECT_EQ(applied(R"({"priorityClassName":"high","preemptionPolicy":"PreemptLowerPriority"})", high),
            "preemptionPolicy PreemptLowerPriority differs from Never, that of PriorityClass high; remove it");
}

}  // namespace
}  // namespace vg::resources
