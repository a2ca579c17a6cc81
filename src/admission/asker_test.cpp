#include "admission/asker.h"

#include <gmock/gmock.h>

#include "json/document.h"

namespace vg::admission {
namespace {

using testing::ElementsAre;

json::Object marked(json::Document& document, std::string_view text) {
  return json::Object({{"metadata", {{"annotations", {{asker_annotation, text}}}}}}, document.storage());
}

TEST(AskerTest, WhoeverIsWrittenDownIsReadAgain) {
  json::Document document;
  const User user{.name = "a \"b\"\n", .uid = "u", .groups = {"x", "system:authenticated"}, .extra = {{"k", {"v"}}}};
  const auto read = asker_of(marked(document, print_asker(user, "ns/claim")), "ns/claim");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->name, user.name);
  EXPECT_THAT(read->groups, ElementsAre("x", "system:authenticated"));
}

TEST(AskerTest, TheRecordIsForOneClaim) {
  json::Document document;
  const User user{.name = "a", .uid = {}, .groups = {}, .extra = {}};
  EXPECT_FALSE(asker_of(marked(document, print_asker(user, "ns/claim")), "ns/other"));
  EXPECT_FALSE(asker_of(marked(document, print_asker(user, "ns/claim")), ""));
  EXPECT_FALSE(asker_of(marked(document, print_asker(user, "")), "ns/claim"));
}

TEST(AskerTest, WhatCannotBeReadIsNobody) {
  json::Document document;
  for (const std::string_view text :
       {"", "{", "[]", "null", "{}", R"({"groups":["system:masters"]})", R"({"user":""})"})
    EXPECT_FALSE(asker_of(marked(document, text), "")) << text;
  EXPECT_FALSE(asker_of(json::Object(), ""));
}

}  // namespace
}  // namespace vg::admission
