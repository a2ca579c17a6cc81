#include "flowcontrol/table.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>

#include "base/controller_limits.h"

namespace vg::flowcontrol {
namespace {

// Takes every request of that user; "*" of anybody.
Schema schema(std::string name, std::int64_t precedence, std::string level, const std::string& who) {
  Schema made{.name = name, .uid = "uid-" + name, .level = std::move(level), .precedence = precedence};
  Rule rule;
  rule.marks = ~std::uint64_t{0};
  rule.subjects.push_back({.kind = who == "*" ? Subject::Kind::anybody : Subject::Kind::user, .name = who});
  rule.resources.push_back({.verbs = {.any = true},
                            .groups = {.any = true},
                            .namespaces = {.any = true},
                            .resources = {.any = true},
                            .cluster_scope = true});
  made.rules.push_back(std::move(rule));
  return made;
}

Level level(const std::string& name, std::int64_t shares) {
  return {.name = name, .uid = "uid-" + name, .shares = shares};
}

std::string schema_for(const Table& table, const std::string& name) {
  AccessAttributes request{};
  request.verb = "get";
  request.resource = "pods";
  const std::string_view fields =
      table.headers_for({.name = name, .uid = {}, .groups = {"system:authenticated"}, .extra = {}}, request);
  constexpr std::string_view begin = "X-Kubernetes-PF-FlowSchema-UID: uid-";
  if (!fields.starts_with(begin)) return std::string(fields);
  return std::string(fields.substr(begin.size(), fields.find('\r') - begin.size()));
}

TEST(FlowTable, FieldsNameSchemaAndLevel) {
  TableBuilder builder;
  builder.add(schema("s", 1, "l", "a"));
  builder.add(level("l", 1));
  const auto table = std::move(builder).build();
  AccessAttributes request{};
  request.resource = "pods";
  EXPECT_EQ(table->headers_for({.name = "a", .uid = {}, .groups = {}, .extra = {}}, request),
            "X-Kubernetes-PF-FlowSchema-UID: uid-s\r\nX-Kubernetes-PF-PriorityLevel-UID: uid-l\r\n");
}

TEST(FlowTable, TheLowestPrecedenceIsAskedFirstThenTheName) {
  TableBuilder builder;
  builder.add(level("l", 1));
  builder.add(schema("b", 10, "l", "*"));
  builder.add(schema("a", 10, "l", "*"));
  builder.add(schema("z", 9, "l", "early"));
  builder.add(schema("lost", 1, "no-such-level", "*"));
  const auto table = std::move(builder).build();
  EXPECT_EQ(schema_for(*table, "early"), "z");
  EXPECT_EQ(schema_for(*table, "late"), "a");
}

TEST(FlowTable, WhatNoSchemaTakesIsCaughtByTheLast) {
  TableBuilder builder;
  builder.add(level("l", 1));
  builder.add(schema("a", 1, "l", "a"));
  EXPECT_EQ(schema_for(*std::move(builder).build(), "b"), "");
  TableBuilder other;
  other.add(level("l", 1));
  other.add(schema(std::string(catch_all), 10'000, "l", "somebody"));  // whatever its rules say
  EXPECT_EQ(schema_for(*std::move(other).build(), "b"), "catch-all");
}

TEST(FlowTable, SeatsAreSharedOutAndRoundedUp) {
  TableBuilder builder;
  builder.add(level("exempt", 0));
  builder.add(level("low", 100));
  builder.add(level("high", 40));
  builder.add(level("rest", 105));
  const auto table = std::move(builder).build();
  std::string shown;
  for (const auto& [name, seats] : table->nominal_limits()) shown += name + "=" + std::to_string(seats) + " ";
  EXPECT_EQ(shown, "exempt=0 high=98 low=245 rest=258 ");
  TableBuilder nothing;
  nothing.add(level("exempt", 0));
  EXPECT_EQ(std::move(nothing).build()->nominal_limits().front().seats, 0);
}

TEST(FlowTable, WhatIsTooMuchIsLeftOutFromTheEnd) {
  TableBuilder builder;
  builder.add(level("l", 1));
  Schema large = schema("large", 500, "l", "large");
  large.texts = limits::flow_schema_texts_max - 10;
  builder.add(std::move(large));
  builder.add(schema("first", 2, "l", "first"));
  EXPECT_FALSE(builder.left_some_out());
  for (int i = 0; i < 20; ++i) builder.add(schema("s" + std::to_string(i), 1000 + i, "l", "s" + std::to_string(i)));
  EXPECT_TRUE(builder.left_some_out());
  builder.add(schema(std::string(catch_all), 10'000, "l", "*"));
  const auto table = std::move(builder).build();
  EXPECT_EQ(schema_for(*table, "first"), "first");
  EXPECT_EQ(schema_for(*table, "large"), "large");
  EXPECT_EQ(schema_for(*table, "s0"), "s0");
  EXPECT_EQ(schema_for(*table, "s19"), "catch-all");
}

TEST(FlowTable, LevelsHaveALimit) {
  TableBuilder builder;
  for (std::size_t i = 0; i <= limits::priority_levels_max; ++i) builder.add(level("l" + std::to_string(i), 1));
  EXPECT_TRUE(builder.left_some_out());
  EXPECT_EQ(std::move(builder).build()->nominal_limits().size(), limits::priority_levels_max);
}

TEST(FlowTable, EveryThreadSeesWhatWasPublishedLast) {
  const auto with = [](const char* name) {
    TableBuilder builder;
    builder.add(level("l", 1));
    builder.add(schema(name, 1, "l", "*"));
    return std::move(builder).build();
  };
  Classification current, other;
  EXPECT_EQ(current.get(), nullptr);
  current.publish(with("one"));
  other.publish(with("other"));
  EXPECT_EQ(schema_for(*current.get(), "a"), "one");
  EXPECT_EQ(schema_for(*other.get(), "a"), "other");
  EXPECT_EQ(schema_for(*current.get(), "a"), "one");
  std::jthread([&] {
    EXPECT_EQ(schema_for(*current.get(), "a"), "one");
    current.publish(with("two"));
    EXPECT_EQ(schema_for(*current.get(), "a"), "two");
  }).join();
  EXPECT_EQ(schema_for(*current.get(), "a"), "two");
}

}  // namespace
}  // namespace vg::flowcontrol
