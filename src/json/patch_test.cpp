#include "json/patch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "json/arena.h"
#include "json/document.h"
#include "json/write.h"

namespace vg::json {
namespace {

using testing::HasSubstr;

struct Outcome {
  std::string text;
  Status status{.code = 200, .reason = {}, .message = {}, .details = {}};
};

Outcome applied(std::string_view document_text, std::string_view patch_text) {
  Document document = *Document::parse(document_text);
  const Document patch = *Document::parse(patch_text);
  const std::string before = to_text(document.root());
  const auto result = apply_json_patch(document.root(), patch.root());
  EXPECT_EQ(*document.root().storage(), *document.storage());
  if (result) return {.text = to_text(document.root())};
  EXPECT_EQ(to_text(document.root()), before) << "a refused patch changed the document";
  return {.text = before, .status = result.error()};
}

void expect_patched(std::string_view document, std::string_view patch, std::string_view expected) {
  const Outcome outcome = applied(document, patch);
  EXPECT_EQ(outcome.status.code, 200) << patch << ": " << outcome.status.message;
  EXPECT_EQ(outcome.text, expected) << patch;
}

void expect_refused(std::string_view document, std::string_view patch, std::string_view words = "", int code = 422) {
  const Outcome outcome = applied(document, patch);
  EXPECT_EQ(outcome.status.code, code) << patch;
  EXPECT_EQ(outcome.status.reason, code == 422 ? "Invalid" : "BadRequest") << patch;
  EXPECT_THAT(outcome.status.message, HasSubstr(std::string(words))) << patch;
}

TEST(JsonPatch, Add) {
  expect_patched(R"({"a":1})", R"([{"op":"add","path":"/b","value":[2]}])", R"({"a":1,"b":[2]})");
  expect_patched(R"({"a":1})", R"([{"op":"add","path":"/a","value":null}])", R"({"a":null})");
  expect_patched(R"({"a":[1,3]})", R"([{"op":"add","path":"/a/1","value":2}])", R"({"a":[1,2,3]})");
  expect_patched(R"({"a":[1]})", R"([{"op":"add","path":"/a/1","value":2}])", R"({"a":[1,2]})");
  expect_patched(R"({"a":[1]})", R"([{"op":"add","path":"/a/-","value":2}])", R"({"a":[1,2]})");
  expect_patched(R"([1])", R"([{"op":"add","path":"/0","value":0}])", R"([0,1])");
  expect_patched(R"({})", R"([{"op":"add","path":"/","value":1}])", R"({"":1})");
  expect_patched(R"({})", R"([{"op":"add","path":"/a"}])", R"({"a":null})");
  expect_refused(R"({"a":[1]})", R"([{"op":"add","path":"/a/2","value":2}])", "the list has 1 elements");
  expect_refused(R"({"a":[1]})", R"([{"op":"add","path":"/a/x","value":2}])");
  expect_refused(R"({"a":[1]})", R"([{"op":"add","path":"/a/01","value":2}])");
  expect_refused(R"({})", R"([{"op":"add","path":"/a/b","value":2}])", "does not exist");
  expect_refused(R"({"a":1})", R"([{"op":"add","path":"/a/b","value":2}])", "does not exist");
  expect_refused(R"({"a":null})", R"([{"op":"add","path":"/a/b","value":2}])", "does not exist");
  expect_refused(R"({})", R"([{"op":"add","path":"","value":{}}])", "whole document");
}

TEST(JsonPatch, Remove) {
  expect_patched(R"({"a":1,"b":2,"c":3})", R"([{"op":"remove","path":"/a"}])", R"({"b":2,"c":3})");
  expect_patched(R"({"a":[1,2,3]})", R"([{"op":"remove","path":"/a/1"}])", R"({"a":[1,3]})");
  expect_refused(R"({})", R"([{"op":"remove","path":"/a"}])", "does not exist");
  expect_refused(R"({"a":[1]})", R"([{"op":"remove","path":"/a/1"}])", "does not exist");
  expect_refused(R"({"a":[1]})", R"([{"op":"remove","path":"/a/-"}])", "does not exist");
  expect_refused(R"({"a":1})", R"([{"op":"remove","path":""}])", "whole document");
}

TEST(JsonPatch, Replace) {
  expect_patched(R"({"a":1})", R"([{"op":"replace","path":"/a","value":2}])", R"({"a":2})");
  expect_patched(R"({"s":{}})", R"([{"op":"replace","path":"/s/running","value":true}])", R"({"s":{"running":true}})");
  expect_patched(R"({"a":[1,2]})", R"([{"op":"replace","path":"/a/0","value":9}])", R"({"a":[9,2]})");
  expect_patched(R"({"a":1})", R"([{"op":"replace","path":"","value":{"b":2}}])", R"({"b":2})");
  expect_refused(R"({"a":[1]})", R"([{"op":"replace","path":"/a/1","value":9}])", "does not exist");
  expect_refused(R"({})", R"([{"op":"replace","path":"/s/running","value":true}])", "does not exist");
  expect_refused(R"({})", R"([{"op":"replace","path":"","value":3}])", "an object or a list");
  expect_refused(R"({})", R"([{"op":"replace","path":""}])", "an object or a list");
}

TEST(JsonPatch, Move) {
  expect_patched(R"({"a":1,"b":{}})", R"([{"op":"move","from":"/a","path":"/b/c"}])", R"({"b":{"c":1}})");
  expect_patched(R"({"a":[1,2,3]})", R"([{"op":"move","from":"/a/0","path":"/a/2"}])", R"({"a":[2,3,1]})");
  expect_patched(R"({"a":{"x":[1]}})", R"([{"op":"move","from":"/a/x","path":"/a"}])", R"({"a":[1]})");
  expect_refused(R"({"a":{"b":1}})", R"([{"op":"move","from":"/a","path":"/a/b"}])", "does not exist");
  expect_refused(R"({})", R"([{"op":"move","from":"/a","path":"/b"}])", "the value does not exist (from)");
  expect_refused(R"({})", R"([{"op":"move","path":"/b"}])", "\"from\"");
  expect_refused(R"({"a":1})", R"([{"op":"move","from":"","path":"/b"}])", "whole document");
}

TEST(JsonPatch, Copy) {
  expect_patched(R"({"a":[1]})", R"([{"op":"copy","from":"/a","path":"/b"}])", R"({"a":[1],"b":[1]})");
  expect_patched(R"({"a":{"b":1}})", R"([{"op":"copy","from":"/a","path":"/a/c"}])", R"({"a":{"b":1,"c":{"b":1}}})");
  expect_patched(R"({})", R"([{"op":"copy","from":"/a","path":"/b"}])", R"({"b":null})");
  expect_refused(R"({"a":[]})", R"([{"op":"copy","from":"/a/0","path":"/b"}])", "the value does not exist (from)");
  expect_refused(R"({})", R"([{"op":"copy","from":"/a/x","path":"/b"}])", "does not exist");
  expect_refused(R"({})", R"([{"op":"copy","from":"","path":"/b"}])", "whole document");
}

TEST(JsonPatch, Test) {
  const char* document = R"({"a":{"x":1,"y":[2]},"n":null,"l":[null]})";
  for (const char* passing :
       {R"({"op":"test","path":"/a","value":{"y":[2],"x":1}})", R"({"op":"test","path":"/a/y/0","value":2})",
        R"({"op":"test","path":"/n","value":null})", R"({"op":"test","path":"/absent","value":null})",
        R"({"op":"test","path":"/absent"})", R"({"op":"test","path":"/l/0","value":null})",
        R"({"op":"test","path":"","value":{"a":{"x":1,"y":[2]},"n":null,"l":[null]}})"}) {
    expect_patched(document, "[" + std::string(passing) + "]", document);
  }
  for (const char* failing : {R"({"op":"test","path":"/a/x","value":2})", R"({"op":"test","path":"/a/x","value":1.0})",
                              R"({"op":"test","path":"/a/x","value":null})", R"({"op":"test","path":"/a/x"})",
                              R"({"op":"test","path":"/n","value":1})", R"({"op":"test","path":"/absent","value":1})",
                              R"({"op":"test","path":"/absent/deeper","value":null})",
                              R"({"op":"test","path":"/l/1","value":null})", R"({"op":"test","path":"","value":{}})"}) {
    expect_refused(document, "[" + std::string(failing) + "]");
  }
}

TEST(JsonPatch, NegativeIndexesCountFromTheEnd) {
  expect_patched("[1,2,3]", R"([{"op":"replace","path":"/-1","value":9}])", "[1,2,9]");
  expect_patched("[1,2,3]", R"([{"op":"remove","path":"/-3"}])", "[2,3]");
  expect_patched("[1,2,3]", R"([{"op":"add","path":"/-1","value":4}])", "[1,2,3,4]");
  expect_patched("[1,2,3]", R"([{"op":"add","path":"/-4","value":0}])", "[0,1,2,3]");
  expect_refused("[1,2,3]", R"([{"op":"remove","path":"/-4"}])");
  expect_refused("[1,2,3]", R"([{"op":"remove","path":"/-0"}])");
  expect_refused("[1,2,3]", R"([{"op":"add","path":"/-5","value":0}])");
}

TEST(JsonPatch, NothingChangesWhenALaterOperationFails) {
  expect_refused(
      R"({"a":1,"b":{"c":[1,2]}})",
      R"([{"op":"remove","path":"/a"},{"op":"add","path":"/b/c/0","value":0},{"op":"test","path":"/b","value":1}])",
      "operation 2 of the patch (test at \"/b\")");
}

TEST(JsonPatch, RefusesMalformedPatches) {
  expect_refused("{}", R"({"op":"add"})", "list of objects", 400);
  expect_refused("{}", R"([1])", "list of objects", 400);
  expect_refused("{}", "null", "list of objects", 400);
  expect_refused("{}", R"([{"op":"merge","path":"/a"}])", "operation 0 of the patch (merge at \"/a\")");
  expect_refused("{}", R"([{"op":1,"path":"/a"}])", "\"op\" must be");
  expect_refused("{}", R"([{"path":"/a"}])", "\"op\" must be");
  expect_refused("{}", R"([{"op":"add","value":1}])", "\"path\" must be a string");
  expect_refused("{}", R"([{"op":"add","path":"a","value":1}])", "start with \"/\"");
  expect_refused("{}", R"([{"op":"add","path":"/~x","value":1}])", "\"~0\"");
  expect_patched(R"({"a":1})", "[]", R"({"a":1})");
}

TEST(JsonPatch, BoundsTheNumberOfOperations) {
  std::string patch = "[";
  for (std::size_t i = 0; i < limits::patch_operations_max; ++i) patch += R"({"op":"test","path":"/a"},)";
  EXPECT_EQ(applied("{}", patch.substr(0, patch.size() - 1) + "]").status.code, 200);
  EXPECT_EQ(applied("{}", patch + R"({"op":"test","path":"/a"}])").status.code, 413);
}

TEST(JsonPatch, BoundsWhatCopiesAdd) {
  // Every operation doubles the list.
  std::string patch = "[";
  for (int i = 0; i < 30; ++i) patch += R"({"op":"copy","from":"/a","path":"/a/-"},)";
  patch.back() = ']';
  expect_refused(R"({"a":[1,2,3]})", patch, "copies more than");
}

TEST(JsonPatch, BoundsTheDepth) {
  std::string nested;
  for (int i = 0; i < 100; ++i) nested += R"({"a":)";
  const std::string deep = nested + "{}" + std::string(100, '}');
  std::string path;
  for (int i = 0; i < 60; ++i) path += "/a";
  const std::string patch = R"([{"op":"add","path":")" + path + R"(","value":)" + deep + "}]";
  expect_refused(deep, patch, "nested deeper than 128");
  expect_refused(R"({"a":)" + deep + R"(,"b":{"b":)" + deep + "}}",
                 R"([{"op":"move","from":"/a","path":"/b)" + path.substr(0, 2) + R"("},)" +
                     R"({"op":"copy","from":"/b","path":"/b/b)" + path + R"("}])",
                 "nested deeper than 128");
}

TEST(JsonPatch, BoundsTheWorkOnHugeLists) {
  std::string list = "[";
  for (int i = 0; i < 20'000; ++i) list += "0,";
  list.back() = ']';
  std::string patch = "[";
  for (int i = 0; i < 1000; ++i) patch += R"({"op":"add","path":"/0","value":1},)";
  patch.back() = ']';
  expect_refused(list, patch, "send it in parts");
}

TEST(JsonPatch, ThePatchesOfTheServerItself) {
  expect_patched(R"({"status":{"startFailure":{}}})",
                 R"([{"op":"test","path":"/status/stateChangeRequests","value":null},
                     {"op":"add","path":"/status/stateChangeRequests","value":[{"action":"Start"}]},
                     {"op":"remove","path":"/status/startFailure"}])",
                 R"({"status":{"stateChangeRequests":[{"action":"Start"}]}})");
}

std::string merged(std::string_view document_text, std::string_view patch_text) {
  Document document = *Document::parse(document_text);
  const Document patch = *Document::parse(patch_text);
  const auto result = apply_merge_patch(document.root(), patch.root());
  EXPECT_EQ(*document.root().storage(), *document.storage());
  return result ? to_text(document.root()) : std::to_string(result.error().code);
}

TEST(MergePatch, TheExamplesOfTheRfc) {
  EXPECT_EQ(merged(R"({"a":"b"})", R"({"a":"c"})"), R"({"a":"c"})");
  EXPECT_EQ(merged(R"({"a":"b"})", R"({"b":"c"})"), R"({"a":"b","b":"c"})");
  EXPECT_EQ(merged(R"({"a":"b"})", R"({"a":null})"), R"({})");
  EXPECT_EQ(merged(R"({"a":"b","b":"c"})", R"({"a":null})"), R"({"b":"c"})");
  EXPECT_EQ(merged(R"({"a":["b"]})", R"({"a":"c"})"), R"({"a":"c"})");
  EXPECT_EQ(merged(R"({"a":"c"})", R"({"a":["b"]})"), R"({"a":["b"]})");
  EXPECT_EQ(merged(R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})"), R"({"a":{"b":"d"}})");
  EXPECT_EQ(merged(R"({"a":[{"b":"c"}]})", R"({"a":[1]})"), R"({"a":[1]})");
  EXPECT_EQ(merged(R"({"e":null})", R"({"a":1})"), R"({"e":null,"a":1})");
  EXPECT_EQ(merged(R"([1,2])", R"({"a":"b","c":null})"), R"({"a":"b"})");
  EXPECT_EQ(merged(R"({})", R"({"a":{"bb":{"ccc":null}}})"), R"({"a":{"bb":{}}})");
}

TEST(MergePatch, AddedListsLoseTheNullsOfTheirObjectsOnly) {
  EXPECT_EQ(merged(R"({"a":[9]})", R"({"a":[null,{"x":null,"y":[{"z":null}]}]})"), R"({"a":[null,{"y":[{}]}]})");
}

TEST(MergePatch, RefusesWhatIsNoObject) {
  for (const char* patch : {"null", "1", "\"x\"", "[]"}) EXPECT_EQ(merged(R"({"a":1})", patch), "400");
}

TEST(PatchBuilder, MakesTheOperationsInOrder) {
  Arena arena;
  PatchBuilder builder(arena.storage());
  EXPECT_TRUE(builder.empty());
  builder.test("/spec/running", nullptr)
      .add("/spec/list", Value({1, 2}, arena.storage()))
      .replace("/spec/running", true)
      .remove("/status/x");
  EXPECT_FALSE(builder.empty());
  std::string text;
  write(builder.operations(), text);
  EXPECT_EQ(text,
            R"([{"op":"test","path":"/spec/running","value":null},{"op":"add","path":"/spec/list","value":[1,2]},)"
            R"({"op":"replace","path":"/spec/running","value":true},{"op":"remove","path":"/status/x"}])");
  EXPECT_EQ(*builder.operations().at(1).at("value").storage(), *arena.storage());

  Document document = *Document::parse(R"({"spec":{},"status":{"x":1}})");
  ASSERT_TRUE(apply_json_patch(document.root(), Value(builder.take())));
  EXPECT_EQ(to_text(document.root()), R"({"spec":{"list":[1,2],"running":true},"status":{}})");
}

}  // namespace
}  // namespace vg::json
