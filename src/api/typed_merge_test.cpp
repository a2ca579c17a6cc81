#include "api/typed_merge.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <ctime>

#include "json/access.h"
#include "json/document.h"
#include "json/parse.h"
#include "json/write.h"

namespace vg::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Kind& machine() { return *find_kind("kubevirt.io", "v1", "VirtualMachine"); }
const Kind& pod() { return *find_kind("", "v1", "Pod"); }

class TypedMerge : public ::testing::Test {
 protected:
  json::Value read(std::string_view text) {
    auto value = json::parse(text, document_.storage());
    EXPECT_TRUE(value) << text;
    return *value;
  }
  std::string fields(std::string_view text, const Kind& kind) {
    const auto found = fields_of(read(text), kind);
    return found ? json::to_text(found->to_fields_v1(document_.storage())) : found.error().message;
  }
  std::string merged(std::string_view live, std::string_view wanted, const Kind& kind) {
    return json::to_text(merge_objects(read(live), read(wanted), kind, document_.storage()));
  }
  FieldSet set(std::string_view text) {
    auto made = FieldSet::from_fields_v1(read(text));
    EXPECT_TRUE(made) << text;
    return *made;
  }
  json::Document document_{1 << 16};
};

TEST_F(TypedMerge, FieldSetsSurviveBeingWritten) {
  for (const std::string_view text : {R"({"f:metadata":{"f:labels":{".":{},"f:app":{}}}})",
                                      R"({"f:spec":{"f:x":{"k:{\"name\":\"a\"}":{"f:y":{}}}}})", "{}"})
    EXPECT_EQ(json::to_text(set(text).to_fields_v1(document_.storage())), text);
  EXPECT_FALSE(FieldSet::from_fields_v1(read(R"({"spec":{}})")));
  EXPECT_FALSE(FieldSet::from_fields_v1(read(R"({"f:spec":3})")));
}

TEST_F(TypedMerge, SetsCombine) {
  const FieldSet one = set(R"({"f:a":{"f:x":{},"f:y":{}},"f:b":{}})"), two = set(R"({"f:a":{"f:y":{}},"f:c":{}})");
  EXPECT_THAT(one.united_with(two).paths(), ElementsAre(".a.x", ".a.y", ".b", ".c"));
  EXPECT_THAT(one.without(two).paths(), ElementsAre(".a.x", ".b"));
  EXPECT_THAT(one.common_with(two).paths(), ElementsAre(".a.y"));
  EXPECT_TRUE(one.without(one).empty());
}

TEST_F(TypedMerge, PathsReadLikeKubernetes) {
  EXPECT_THAT(
      set(R"({"f:spec":{"f:p":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{}}},"f:s":{"v:\"x\"":{},"i:3":{}}})").paths(),
      ElementsAre(".s[3]", R"(.s[="x"])", R"(.spec.p[port=80,protocol="TCP"])"));
}

TEST_F(TypedMerge, AnObjectSaysItsLeaves) {
  EXPECT_EQ(fields(R"({"spec":{"runStrategy":"Halted","template":{"spec":{"domain":{"devices":{}}}}}})", machine()),
            R"({"f:spec":{"f:runStrategy":{},"f:template":{"f:spec":{"f:domain":{"f:devices":{}}}}}})");
  // A list that no rule of the kind splits up is one leaf.
  EXPECT_EQ(fields(R"({"spec":{"template":{"spec":{"tolerations":[{"key":"a"}]}}}})", machine()),
            R"({"f:spec":{"f:template":{"f:spec":{"f:tolerations":{}}}}})");
  // One whose elements have keys is not, and a key that was left out has its default.
  EXPECT_EQ(fields(R"({"spec":{"containers":[{"name":"c","ports":[{"containerPort":80}]}]}})", pod()),
            R"({"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:name":{},)"
            R"("f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}}}}})");
  // Without elements it says nothing.
  EXPECT_EQ(fields(R"({"spec":{"containers":[{"name":"c","ports":[]}]}})", pod()),
            R"({"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:name":{}}}}})");
  EXPECT_EQ(fields(R"({"metadata":{"finalizers":["a/b"],"labels":{"x":"y"}}})", machine()),
            R"({"f:metadata":{"f:finalizers":{"v:\"a/b\"":{}},"f:labels":{"f:x":{}}}})");
}

TEST_F(TypedMerge, WhatTheKindDoesNotKnowIsRefused) {
  EXPECT_THAT(fields(R"({"spec":{"runstrategy":"Halted"}})", machine()), HasSubstr(".spec.runstrategy"));
  EXPECT_THAT(fields(R"({"spec":{"containers":["image"]}})", pod()), HasSubstr(".spec.containers[0]"));
}

TEST_F(TypedMerge, ComparisonTellsAddedChangedAndRemoved) {
  const auto difference =
      compare_objects(read(R"({"metadata":{"labels":{"a":"1","b":"1"}},"spec":{"running":true}})"),
                      read(R"({"metadata":{"labels":{"a":"2","c":"1"}},"spec":{"running":true}})"), machine());
  EXPECT_THAT(difference.added.paths(), ElementsAre(".metadata.labels.c"));
  EXPECT_THAT(difference.changed.paths(), ElementsAre(".metadata.labels.a"));
  EXPECT_THAT(difference.removed.paths(), ElementsAre(".metadata.labels.b"));
}

TEST_F(TypedMerge, ElementsAreComparedByTheirKeys) {
  const auto difference =
      compare_objects(read(R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b"}]}})"),
                      read(R"({"spec":{"containers":[{"name":"b"},{"name":"a","image":"2"}]}})"), pod());
  EXPECT_THAT(difference.changed.paths(), ElementsAre(R"(.spec.containers[name="a"].image)"));
  EXPECT_THAT(difference.added.paths(), IsEmpty());
  EXPECT_THAT(difference.removed.paths(), IsEmpty());
}

TEST_F(TypedMerge, MergingTakesWhatIsWantedAndKeepsTheRest) {
  EXPECT_EQ(merged(R"({"metadata":{"labels":{"a":"1","b":"1"}},"spec":{"running":true}})",
                   R"({"metadata":{"labels":{"b":"2"}},"spec":{"runStrategy":"Manual"}})", machine()),
            R"({"metadata":{"labels":{"a":"1","b":"2"}},"spec":{"running":true,"runStrategy":"Manual"}})");
  EXPECT_EQ(merged(R"({"metadata":{"labels":{"a":"1"}}})", R"({"metadata":{"labels":{}}})", machine()),
            R"({"metadata":{"labels":{"a":"1"}}})");
}

TEST_F(TypedMerge, MergedElementsStandInTheOrderOfTheWantedOnes) {
  EXPECT_EQ(merged(R"({"spec":{"containers":[{"name":"x"},{"name":"a","image":"1"},{"name":"b"}]}})",
                   R"({"spec":{"containers":[{"name":"b"},{"name":"n"},{"name":"a","tty":true}]}})", pod()),
            R"({"spec":{"containers":[{"name":"x"},{"name":"b"},{"name":"n"},{"name":"a","image":"1","tty":true}]}})");
}

TEST_F(TypedMerge, RemovingTheLastMemberRemovesTheObject) {
  const auto rest = remove_fields(read(R"({"metadata":{"name":"n","labels":{"a":"1"}},"spec":{"running":true}})"),
                                  set(R"({"f:metadata":{"f:labels":{"f:a":{}}}})"), machine(), document_.storage());
  EXPECT_EQ(json::to_text(rest), R"({"metadata":{"name":"n"},"spec":{"running":true}})");
}

TEST_F(TypedMerge, StructMembersOnTheWayAreNamed) {
  const auto named = with_named_fields(set(R"({"f:spec":{"f:template":{"f:spec":{"f:hostname":{}}}}})"), machine());
  EXPECT_THAT(named.paths(),
              ElementsAre(".spec", ".spec.template", ".spec.template.spec", ".spec.template.spec.hostname"));
}

// Sizes that took a square of their number before: seconds each, and now some tens of milliseconds.
class LargeMerge : public TypedMerge {
 protected:
  static constexpr int many = 40'000;
  static constexpr std::clock_t bound = 5 * CLOCKS_PER_SEC;  // of CPU time, for a sanitized build

  // From last to first, so that each would be inserted in front of all others.
  std::string machine_with_finalizers(int step) {
    std::string text = R"({"metadata":{"finalizers":[)";
    for (int i = many; i > 0; i -= step) text += fmt::format(R"({}"a/{}")", i == many ? "" : ",", i + 100'000);
    return text + "]}}";
  }
  void TearDown() override { EXPECT_LT(std::clock() - began_, bound); }

 private:
  std::clock_t began_ = std::clock();
};

TEST_F(LargeMerge, SetsOfManyElements) {
  const json::Value all = read(machine_with_finalizers(1)), some = read(machine_with_finalizers(2));
  EXPECT_EQ(fields_of(all, machine())->find("f:metadata")->find("f:finalizers")->children.size(), std::size_t{many});
  const Difference difference = compare_objects(some, all, machine());
  EXPECT_EQ(difference.added.find("f:metadata")->find("f:finalizers")->children.size(), std::size_t{many / 2});
  EXPECT_TRUE(difference.removed.empty());
  const json::Value together = merge_objects(some, all, machine(), document_.storage());
  EXPECT_EQ(json::find_path(together, {"metadata", "finalizers"})->get_array().size(), std::size_t{many});
  EXPECT_TRUE(FieldSet::from_fields_v1(difference.added.to_fields_v1(document_.storage())));
}

TEST_F(LargeMerge, ManyProblemsBelowOneLongName) {
  std::string text = R"({"spec":{")" + std::string(500'000, 'x') + R"(":{)";
  for (int i = 0; i < many; ++i) text += fmt::format(R"({}"{}":1)", i == 0 ? "" : ",", i);
  const auto refused = fields_of(read(text + "}}}"), machine());
  ASSERT_FALSE(refused);
  EXPECT_LT(refused.error().message.size(), 1'000'000u);
}

TEST_F(LargeMerge, ManySetsBecomeOne) {
  std::vector<FieldSet> sets(many);
  std::vector<const FieldSet*> all;
  for (int i = 0; i < many; ++i) {
    sets[static_cast<std::size_t>(i)].at(fmt::format("f:{}", i)).member = true;
    all.push_back(&sets[static_cast<std::size_t>(i)]);
  }
  const FieldSet united = FieldSet::union_of(all);
  EXPECT_EQ(united.children.size(), std::size_t{many});
  for (const FieldSet& set : sets) ASSERT_TRUE(set.without(united).empty());
  EXPECT_EQ(united.paths(10).size(), 10u);
}

TEST_F(TypedMerge, TakingAwayInPlaceIsTheSame) {
  std::string many = "{", every_third = "{";
  for (int i = 0; i < 300; ++i) {
    many += fmt::format(R"("f:a{:03}":{{".":{{}},"f:x":{{}}}},)", i);
    if (i % 3 == 0) every_third += fmt::format(R"("f:a{:03}":{{"f:x":{{}}}},)", i);
  }
  const std::string last = R"("f:b":{}})";
  const FieldSet large = set(many + last), third = set(every_third + R"("f:c":{}})");
  const FieldSet few = set(R"({"f:a007":{},"f:a299":{"f:x":{}},"f:zz":{}})");
  for (const auto& [from, what] : {std::pair(&large, &third), {&third, &large}, {&large, &few}, {&few, &large}}) {
    FieldSet left = *from;
    left.subtract(*what);
    EXPECT_EQ(left, from->without(*what));
    EXPECT_TRUE(left.common_with(*what).empty());
    EXPECT_EQ(left.united_with(from->common_with(*what)), *from);
  }
}

}  // namespace
}  // namespace vg::api
