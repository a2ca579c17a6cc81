#include "json/access.h"

#include <gtest/gtest.h>

#include "json/arena.h"
#include "json/document.h"
#include "json/write.h"

namespace vg::json {
namespace {

Document sample() {
  return *Document::parse(R"({"name":"vm","count":3,"big":18446744073709551615,"ratio":1.0,"on":true,"none":null,
                              "spec":{"disks":[1,2]}})");
}

TEST(Access, ReadsMembersOfTheirType) {
  const Document document = sample();
  const Value& root = document.root();
  EXPECT_EQ(get_string(root, "name"), "vm");
  EXPECT_EQ(get_int(root, "count"), 3);
  EXPECT_EQ(get_bool(root, "on"), true);
  ASSERT_NE(get_object(root, "spec"), nullptr);
  ASSERT_NE(get_array(*get_object(root, "spec"), "disks"), nullptr);
  EXPECT_EQ(get_array(*get_object(root, "spec"), "disks")->size(), 2u);
}

TEST(Access, AbsentNullAndOtherTypesReadAsNotThere) {
  const Document document = sample();
  const Value& root = document.root();
  EXPECT_EQ(get_string(root, "absent"), std::nullopt);
  EXPECT_EQ(get_string(root, "none"), std::nullopt);
  EXPECT_EQ(get_string(root, "count"), std::nullopt);
  EXPECT_EQ(get_int(root, "ratio"), std::nullopt);
  EXPECT_EQ(get_int(root, "big"), std::nullopt);
  EXPECT_EQ(get_bool(root, "name"), std::nullopt);
  EXPECT_EQ(get_object(root, "name"), nullptr);
  EXPECT_EQ(get_array(root, "spec"), nullptr);
  EXPECT_EQ(get_string_or(root, "absent", "fallback"), "fallback");
  EXPECT_EQ(get_string_or(root, "absent"), "");
  EXPECT_EQ(get_int_or(root, "absent", 7), 7);
  EXPECT_TRUE(get_bool_or(root, "absent", true));
  EXPECT_EQ(find(*find(root, "name"), "x"), nullptr);
}

TEST(Access, FollowsAPath) {
  const Document document = sample();
  ASSERT_NE(find_path(document.root(), {"spec", "disks"}), nullptr);
  EXPECT_TRUE(find_path(document.root(), {"spec", "disks"})->is_array());
  EXPECT_EQ(find_path(document.root(), {"spec", "cpu", "cores"}), nullptr);
  EXPECT_EQ(find_path(document.root(), {}), &document.root());
}

TEST(Access, EnsureMakesWhatIsMissingInTheSameArena) {
  Arena arena;
  Value root(boost::json::object_kind, arena.storage());
  Object& object = root.get_object();
  object["scalar"] = 1;
  ensure_path(object, {"metadata", "labels"})["a"] = "b";
  ensure_path(object, {"metadata", "labels"})["c"] = "d";
  ensure_object(object, "scalar");
  ensure_array(object, "list").emplace_back(1);
  ensure_array(object, "list").emplace_back(2);
  EXPECT_EQ(to_text(root), R"({"scalar":{},"metadata":{"labels":{"a":"b","c":"d"}},"list":[1,2]})");
  EXPECT_EQ(*ensure_path(object, {"metadata", "labels"}).storage(), *arena.storage());
}

TEST(Access, EraseKeepsTheOrderOfSmallObjects) {
  Document document = *Document::parse(R"({"a":1,"b":2,"c":3})");
  EXPECT_TRUE(erase(document.root().get_object(), "a"));
  EXPECT_FALSE(erase(document.root().get_object(), "a"));
  EXPECT_EQ(to_text(document.root()), R"({"b":2,"c":3})");
}

TEST(Access, EraseFindsEveryMemberOfALargeObject) {
  Object object;
  for (int i = 0; i < 1000; ++i) object[std::to_string(i)] = i;
  for (int i = 0; i < 1000; i += 2) EXPECT_TRUE(erase(object, std::to_string(i)));
  EXPECT_EQ(object.size(), 500u);
  for (int i = 1; i < 1000; i += 2) EXPECT_EQ(get_int(object, std::to_string(i)), i);
}

}  // namespace
}  // namespace vg::json
