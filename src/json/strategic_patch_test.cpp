#include "json/strategic_patch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <map>

#include "json/document.h"
#include "json/write.h"

namespace vg::json {
namespace {

using testing::HasSubstr;
using Strategy = MergeRule::Strategy;

class Table : public MergeRules {
 public:
  explicit Table(std::map<std::string_view, MergeRule> fields) : fields_(std::move(fields)) {}
  MergeRule field(std::string_view name) const override {
    const auto found = fields_.find(name);
    return found == fields_.end() ? MergeRule{} : found->second;
  }

 private:
  std::map<std::string_view, MergeRule> fields_;
};

// The shape of a Pod, as far as it matters for merging.
const Table container({{"ports", {.strategy = Strategy::merge, .merge_key = "containerPort"}},
                       {"env", {.strategy = Strategy::merge, .merge_key = "name"}}});
const Table metadata({{"finalizers", {.strategy = Strategy::merge}}});
const Table spec({{"containers", {.strategy = Strategy::merge, .merge_key = "name", .inside = &container}},
                  {"selector", {.strategy = Strategy::replace}},
                  {"keyless", {.strategy = Strategy::merge}}});
const Table pod({{"metadata", {.inside = &metadata}}, {"spec", {.inside = &spec}}});

struct Outcome {
  std::string text;
  int code = 200;
  std::string message = {};
};

Outcome applied(std::string_view document_text, std::string_view patch_text) {
  Document document = *Document::parse(document_text);
  const Document patch = *Document::parse(patch_text);
  const std::string before = to_text(document.root());
  const auto result = apply_strategic_patch(document.root(), patch.root(), pod);
  EXPECT_EQ(*document.root().storage(), *document.storage());
  if (result) return {.text = to_text(document.root())};
  EXPECT_EQ(to_text(document.root()), before) << "a refused patch changed the document";
  return {.text = before, .code = result.error().code, .message = result.error().message};
}

void expect_patched(std::string_view document, std::string_view patch, std::string_view expected) {
  const Outcome outcome = applied(document, patch);
  EXPECT_EQ(outcome.code, 200) << outcome.message;
  EXPECT_EQ(outcome.text, expected) << patch;
}

void expect_refused(std::string_view document, std::string_view patch, int code, std::string_view words) {
  const Outcome outcome = applied(document, patch);
  EXPECT_EQ(outcome.code, code) << patch;
  EXPECT_THAT(outcome.message, HasSubstr(std::string(words))) << patch;
}

TEST(StrategicPatch, ObjectsMergeAndNullRemoves) {
  expect_patched(R"({"metadata":{"labels":{"a":"1","b":"2"}},"x":1})",
                 R"({"metadata":{"labels":{"a":null,"c":"3","d":null}},"x":{"y":null,"z":1}})",
                 R"({"metadata":{"labels":{"b":"2","c":"3"}},"x":{"z":1}})");
}

TEST(StrategicPatch, ListsWithoutARuleAreReplaced) {
  expect_patched(R"({"spec":{"other":[1,2]}})", R"({"spec":{"other":[3]}})", R"({"spec":{"other":[3]}})");
}

TEST(StrategicPatch, ListsOfObjectsMergeByTheirKey) {
  expect_patched(R"({"spec":{"containers":[{"name":"a","image":"1","x":1},{"name":"b","image":"2"}]}})",
                 R"({"spec":{"containers":[{"name":"a","image":"9","x":null}]}})",
                 R"({"spec":{"containers":[{"name":"a","image":"9"},{"name":"b","image":"2"}]}})");
  // Keys of another type, and rules inside of list elements.
  expect_patched(
      R"({"spec":{"containers":[{"name":"a","ports":[{"containerPort":80,"p":1},{"containerPort":81}]}]}})",
      R"({"spec":{"containers":[{"name":"a","ports":[{"containerPort":81,"p":2}]}]}})",
      R"({"spec":{"containers":[{"name":"a","ports":[{"containerPort":80,"p":1},{"containerPort":81,"p":2}]}]}})");
}

TEST(StrategicPatch, NewElementsStandFirstAsInKubernetes) {
  expect_patched(R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
                 R"({"spec":{"containers":[{"name":"c","x":null},{"name":"b","y":1}]}})",
                 R"({"spec":{"containers":[{"name":"c"},{"name":"a"},{"name":"b","y":1}]}})");
}

TEST(StrategicPatch, TheSameNewElementTwiceIsMerged) {
  expect_patched(R"({"spec":{"containers":[{"name":"a"}]}})",
                 R"({"spec":{"containers":[{"name":"c","x":1},{"name":"c","y":2}]}})",
                 R"({"spec":{"containers":[{"name":"c","x":1,"y":2},{"name":"a"}]}})");
}

TEST(StrategicPatch, DeletesAndReplacesElements) {
  expect_patched(R"({"spec":{"containers":[{"name":"a"},{"name":"b"},{"name":"a"}]}})",
                 R"({"spec":{"containers":[{"name":"a","$patch":"delete"}]}})",
                 R"({"spec":{"containers":[{"name":"b"}]}})");
  expect_patched(R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
                 R"({"spec":{"containers":[{"$patch":"replace"},{"name":"z","x":null},{"name":"y"}]}})",
                 R"({"spec":{"containers":[{"name":"z"},{"name":"y"}]}})");
  expect_patched(R"({"spec":{"containers":[{"name":"a"}]}})", R"({"spec":{"containers":[{"$patch":"replace"}]}})",
                 R"({"spec":{"containers":[]}})");
}

TEST(StrategicPatch, DirectivesOfObjects) {
  expect_patched(R"({"metadata":{"a":1,"b":2}})", R"({"metadata":{"$patch":"replace","c":3,"d":null}})",
                 R"({"metadata":{"c":3}})");
  expect_patched(R"({"metadata":{"a":1},"x":1})", R"({"metadata":{"$patch":"delete"}})", R"({"metadata":{},"x":1})");
  expect_patched(R"({"metadata":{"a":1}})", R"({"metadata":{"$patch":"merge","b":2}})",
                 R"({"metadata":{"a":1,"b":2}})");
  expect_refused(R"({"metadata":{"a":1}})", R"({"metadata":{"$patch":"remove"}})", 400, "in metadata: \"$patch\"");
  expect_refused(R"({"metadata":{"a":1}})", R"({"metadata":{"$patch":1}})", 400, "\"$patch\"");
  expect_patched(R"({"spec":{"selector":{"a":1}}})", R"({"spec":{"selector":{"b":2}}})",
                 R"({"spec":{"selector":{"b":2}}})");
}

TEST(StrategicPatch, DirectivesNeverReachTheDocument) {
  expect_patched(R"({})",
                 R"({"spec":{"$retainKeys":["containers"],"$setElementOrder/containers":[{"name":"a"}],
                     "containers":[{"name":"a","env":[{"name":"x","$patch":"delete"}]},{"name":"b","$patch":"delete"}],
                     "gone":{"$patch":"delete"},"$deleteFromPrimitiveList/f":[1]}})",
                 R"({"spec":{"containers":[{"name":"a","env":[]}]}})");
}

TEST(StrategicPatch, ScalarsMergeAsASet) {
  expect_patched(R"({"metadata":{"finalizers":["a","b"]}})", R"({"metadata":{"finalizers":["b","c","c"]}})",
                 R"({"metadata":{"finalizers":["a","b","c"]}})");
  expect_patched(R"({"metadata":{"finalizers":["a","b","c"]}})",
                 R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a","x"],"finalizers":["c"]}})",
                 R"({"metadata":{"finalizers":["b","c"]}})");
  expect_patched(R"({"metadata":{}})", R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a"]}})",
                 R"({"metadata":{}})");
}

TEST(StrategicPatch, SetElementOrder) {
  expect_patched(R"({"spec":{"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]}})",
                 R"({"spec":{"$setElementOrder/containers":[{"name":"c"},{"name":"a"}]}})",
                 R"({"spec":{"containers":[{"name":"b"},{"name":"c"},{"name":"a"}]}})");
  expect_patched(R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
                 R"({"spec":{"$setElementOrder/containers":[{"name":"a"},{"name":"b"},{"name":"n"}],)"
                 R"("containers":[{"name":"n","image":"i"}]}})",
                 R"({"spec":{"containers":[{"name":"a"},{"name":"b"},{"name":"n","image":"i"}]}})");
  expect_patched(R"({"metadata":{"finalizers":["a","b","c"]}})",
                 R"({"metadata":{"$setElementOrder/finalizers":["c","d","b"],"finalizers":["d"]}})",
                 R"({"metadata":{"finalizers":["a","c","d","b"]}})");
  expect_patched(
      R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
      R"({"spec":{"$setElementOrder/containers":[{"name":"b"}],"containers":[{"name":"a","$patch":"delete"}]}})",
      R"({"spec":{"containers":[{"name":"b"}]}})");
  expect_patched(R"({"spec":{"containers":[{"name":"a"}]}})",
                 R"({"spec":{"$setElementOrder/containers":[{"name":"a"}],"containers":null}})", R"({"spec":{}})");
  expect_patched(R"({"spec":{}})", R"({"spec":{"$setElementOrder/containers":[{"name":"a"}]}})", R"({"spec":{}})");
}

TEST(StrategicPatch, SetElementOrderMustAgreeWithThePatch) {
  const char* document = R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})";
  expect_refused(document, R"({"spec":{"$setElementOrder/containers":[{"name":"a"}],"containers":[{"name":"b"}]}})",
                 400, "in spec.containers");
  expect_refused(document,
                 R"({"spec":{"$setElementOrder/containers":[{"name":"a"},{"name":"b"}],)"
                 R"("containers":[{"name":"b"},{"name":"a"}]}})",
                 400, "same order");
  expect_refused(document, R"({"spec":{"$setElementOrder/containers":{}}})", 400, "must name a field");
  expect_refused(document, R"({"spec":{"$setElementOrder":[]}})", 400, "must name a field");
}

TEST(StrategicPatch, RetainKeys) {
  expect_patched(R"({"spec":{"strategy":{"type":"Rolling","rolling":{"x":1},"keep":1}}})",
                 R"({"spec":{"strategy":{"$retainKeys":["type","keep"],"type":"Recreate","gone":null}}})",
                 R"({"spec":{"strategy":{"type":"Recreate","keep":1}}})");
  expect_refused(R"({"spec":{"strategy":{"type":"Rolling"}}})",
                 R"({"spec":{"strategy":{"$retainKeys":["type"],"other":1}}})", 400, "does not name other");
  expect_refused(R"({"spec":{}})", R"({"spec":{"$retainKeys":"type"}})", 400, "list of member names");
}

TEST(StrategicPatch, RefusesListsThatCannotBeMerged) {
  const char* document =
      R"({"metadata":{"finalizers":["a"]},"spec":{"containers":[{"name":"a"}],"keyless":[{"x":1}]}})";
  expect_refused(document, R"({"spec":{"containers":[{"image":"x"}]}})", 422, "no \"name\"");
  expect_refused(document, R"({"spec":{"containers":[{"$patch":"delete"}]}})", 422, "no \"name\"");
  expect_refused(document, R"({"spec":{"containers":[1]}})", 422, "only objects or only scalars");
  expect_refused(document, R"({"spec":{"containers":[{"name":"a","$patch":"merge"}]}})", 400, "replace or delete");
  expect_refused(document, R"({"spec":{"keyless":[{"x":2}]}})", 422, "no merge key");
  expect_refused(document, R"({"metadata":{"finalizers":[["x"]]}})", 422, "only objects or only scalars");
  expect_refused(R"({"metadata":{"finalizers":[[1]]}})", R"({"metadata":{"finalizers":["x"]}})", 422, "lists of lists");
  expect_refused(document, R"({"metadata":{"$deleteFromPrimitiveList/finalizers":"a"}})", 400, "list scalars");
  expect_refused(document, R"({"metadata":{"$deleteFromPrimitiveList/finalizers":[{}]}})", 400, "list scalars");
  expect_refused(document, "[]", 400, "must be an object");
}

// Each mention of the element goes over the whole list below it.
TEST(StrategicPatch, RefusesToGoOverOneListAgainAndAgain) {
  std::string document = R"({"spec":{"containers":[{"name":"a","ports":[)";
  for (int i = 0; i < 10'000; ++i) document += fmt::format(R"({}{{"containerPort":{}}})", i == 0 ? "" : ",", i);
  document += "]}]}}";
  std::string patch = R"({"spec":{"containers":[)";
  for (int i = 0; i < 10'000; ++i) patch += fmt::format(R"({}{{"name":"a","ports":[]}})", i == 0 ? "" : ",");
  patch += "]}}";
  const std::clock_t began = std::clock();  // CPU time: a busy machine is no defect
  expect_refused(document.c_str(), patch.c_str(), 422, "too many list elements");
  EXPECT_LT(std::clock() - began, 10 * CLOCKS_PER_SEC);
}

}  // namespace
}  // namespace vg::json
