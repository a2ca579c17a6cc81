#include "offline/list_items.h"

#include <gmock/gmock.h>

#include <random>
#include <string>
#include <vector>

#include "offline/examine.h"
#include "offline/testing.h"

namespace vg::offline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> texts_of(const std::string& list) {
  const Piece piece{.text = list};
  std::vector<std::string> texts;
  if (auto items = ListItems::of(piece))
    while (const auto item = items->next()) texts.push_back(item->text);
  return texts;
}

// Of a list that is read as a whole.
Outcome whole(const std::string& text) {
  SmallWorld world;
  const World surroundings{.known = world.known, .config = world.config, .clock = world.clock, .complete = false};
  const CheckOptions options;
  const Piece piece{.text = text};
  Outcome outcome;
  const Examination how{.world = surroundings, .options = options, .learns = &world.known};
  const auto objects = examine({.file = "f", .piece = piece, .document = 1}, how, [&](Order, ObjectReport report) {
    outcome.silenced += report.silenced;
    std::ranges::move(report.findings, std::back_inserter(outcome.findings));
  });
  outcome.objects = objects.value_or(SIZE_MAX);
  return outcome;
}

const std::string head = "apiVersion: v1\nkind: List\nitems:\n";
// Two items with something to tell about each, at an indentation.
std::string two_items(const std::string& indent) {
  const std::string good = indent + "- apiVersion: v1\n" + indent + "  kind: Namespace\n" + indent + "  metadata:\n" +
                           indent + "    name: Bad\n" + indent + "    labls: {}\n";
  return good + indent + "- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {é: 1}, x: y}\n";
}

TEST(ListItems, AreDividedByIndentation) {
  EXPECT_THAT(texts_of(head + "- a: 1\n  b: 2\n- c: 3\n"), ElementsAre("- a: 1\n  b: 2\n", "- c: 3\n"));
  EXPECT_THAT(texts_of(head + "  -\n    a: 1\n  - c: 3"), ElementsAre("  -\n    a: 1\n", "  - c: 3"));
  EXPECT_THAT(texts_of("---\nitems: # two\n- a: |\n    - x\n    # no comment\n- b: 1\nkind: VirtualMachineList\n"),
              ElementsAre("- a: |\n    - x\n    # no comment\n", "- b: 1\n"));
  EXPECT_THAT(texts_of(head + "- a: 1\n# of b\n\n# also\n- b: 1\n# end\n"),
              ElementsAre("- a: 1\n# of b\n\n", "# also\n- b: 1\n# end\n"));
}

TEST(ListItems, AreDividedByBraces) {
  EXPECT_THAT(texts_of(R"({"kind":"List","items":[{"a":"}\"]"},{"b":[{}]} ],"x":[1]})"),
              ElementsAre(R"({"a":"}\"]"})", R"({"b":[{}]})"));
  EXPECT_THAT(texts_of(R"({"items":[{"a":1}],"kind":"List"})"), ElementsAre(R"({"a":1})"));
}

TEST(ListItems, WhatCannotBeDividedIsLeftAlone) {
  for (const std::string text : {"",
                                 "items:",
                                 "items:\n- a\n",
                                 "kind: Thing\nitems:\n- a: 1\n",
                                 "kind: List\nitems: []\n",
                                 "kind: List\nitems:#\n- a: 1\n",
                                 "kind: List\nitems: [{a: 1}]\n",
                                 "kind: List\nitems:\n  a: 1\n",
                                 "kind: List\nitems:\n- a: 1\nitems:\n- b: 1\n",
                                 "kind: List\nitems:\n  - a: 1\n - b: 1\n",
                                 "kind: List\nitems:\n  - a: 1\n  b: 1\n",
                                 "kind: List\nx: {\nitems:\n- a\n",
                                 "{\"kind\":\"List\",\"items\":[]}",
                                 "{\"kind\":\"List\",\"items\":[1]}",
                                 "{\"kind\":\"List\",\"items\":[{}",
                                 "{\"kind\":\"List\",\"items\":[{\"a\":\"}]}",
                                 "{\"items\":[{}]}",
                                 "{\"kind\":\"List\",\"kind\":\"List\",\"items\":[{}]}",
                                 "{",
                                 "{\"",
                                 "{\"a\\"})
    EXPECT_THAT(texts_of(text), IsEmpty()) << text;
}

TEST(ListItems, AreFoundWhereTheWholeListHasThem) {
  const std::string json =
      R"({"kind":"List","apiVersion":"v1","items":[{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"é","x":1}},
        {"apiVersion":"v1","kind":"Namespace","metadata":{"name":"b","x":1,"x":2}}]})";
  std::string windows = head + two_items("");
  for (std::size_t at = 0; (at = windows.find('\n', at)) != windows.npos; at += 2) windows.replace(at, 1, "\r\n");
  const std::string quoted =
      "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: q}\n  data: {a: \"x\n- y\"}\n  z: 1\n";
  const std::string anchors =
      "- apiVersion: v1\n  kind: ConfigMap\n  metadata: &m {name: q, x: 1}\n- {apiVersion: v1, kind: Secret, metadata: "
      "*m}\n";
  for (const std::string& text :
       {head + two_items(""), head + two_items("  "), "---\n# é\n" + head + "# a\n" + two_items(" ") + "metadata: {}\n",
        windows, json, head + quoted, head + anchors, head + two_items("") + "- [\n", head + "- 1\n- a: 1\n",
        head + two_items("") + two_items("") + "- {kind: A, kind: B}\n", json.substr(0, json.size() - 3) + "]}",
        "# virtgate: skip REF-01\n" + head +
            "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: lab}}\n"}) {
    for (const std::size_t threads : {1, 3}) {
      SmallWorld world;
      const Outcome got = world.check({{"f", text}}, {.threads = threads});
      const Outcome want = whole(text);
      // Fields that are there twice are told with their item, and not with the list.
      EXPECT_THAT(SmallWorld::lines(got), ::testing::UnorderedElementsAreArray(SmallWorld::lines(want))) << text;
      EXPECT_EQ(got.objects, want.objects) << text;
      EXPECT_EQ(got.silenced, want.silenced) << text;
      EXPECT_EQ(got.documents, 1u) << text;
    }
  }
}

// Whatever the text is, dividing it must not change what is found.
TEST(ListItems, AreFoundInTextsWithAnyMistake) {
  const std::vector<std::string> bases{
      head + two_items(""), "# a\n" + head + two_items("  ") + "metadata: {a: b}\n",
      head + "- kind: A\n  x: |\n    - b\n    # c\n  y: 'd\n\n    e'\n# f\n- kind: B\n",
      R"({"kind":"List","items":[{"kind":"A","x":[1,"a}"]},{"kind":"B"}],"apiVersion":"v1"})"};
  const std::vector<std::string> pieces{
      "\n",      "\n- ", "- ", "\n  - ", "  ",          "\"", "'", "{",        "}",    "[", "]",
      ",",       ": ",   "#",  " # x",   "&a ",         "*a", "|", "\nitems:", "\t",   "é", "---\n",
      "\n...\n", "\r\n", "a",  "\\",     "\nkind: C\n", "? ", ">", "!!str ",   "<<: ", "%", "\""};
  std::minstd_rand random(7);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same texts every time
  for (int round = 0; round < 1500; ++round) {
    std::string text = bases[random() % bases.size()];
    for (std::size_t changes = 1 + random() % 4; changes > 0; --changes) {
      const std::size_t at = random() % (text.size() + 1);
      if (random() % 4 == 0)
        text.erase(at, random() % 8);
      else
        text.insert(at, pieces[random() % pieces.size()]);
    }
    if (texts_of(text).empty()) continue;
    SmallWorld world;
    const Outcome got = world.check({{"f", text}}, {.threads = 1});
    if (got.documents != 1) continue;
    const Outcome want = whole(text);
    ASSERT_THAT(SmallWorld::lines(got), ::testing::UnorderedElementsAreArray(SmallWorld::lines(want))) << text;
    ASSERT_EQ(got.objects, want.objects) << text;
  }
}

TEST(ListItems, AreJudgedAgainWhenWhatTheyNameComesLater) {
  const std::string vm =
      "- apiVersion: kubevirt.io/v1\n  kind: VirtualMachine\n  metadata: {name: a}\n  spec:\n    runStrategy: Always\n"
      "    instancetype: {name: small, kind: VirtualMachineInstancetype}\n    template: {spec: {domain: {devices: "
      "{}}}}\n";
  const std::string type =
      "- apiVersion: instancetype.kubevirt.io/v1beta1\n  kind: VirtualMachineInstancetype\n  metadata: {name: small}\n"
      "  spec: {cpu: {guest: 2}, memory: {guest: 1Gi}}\n";
  SmallWorld world;
  EXPECT_THAT(SmallWorld::lines(world.check({{"f", head + vm + type}})), IsEmpty());
  SmallWorld other;
  EXPECT_THAT(SmallWorld::lines(other.check({{"f", head + vm}})),
              ElementsAre("9:20 warning REF-01 spec.instancetype.name"));
}

}  // namespace
}  // namespace vg::offline::testing
