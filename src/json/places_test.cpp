#include "json/places.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

#include "json/arena.h"
#include "json/yaml.h"

namespace vg::json {
namespace {

// "line:column" of a field, with a question mark where only something above it was found.
std::string place(std::string_view text, std::string_view path) {
  const auto places = places_of_yaml(text);
  if (!places) return places.error().message;
  const auto found = places->find(path);
  const auto at = TextLines(text).position(found.at);
  return fmt::format("{}:{}{}", at.line, at.column, found.exact ? "" : "?");
}

constexpr std::string_view nested =
    "# a comment\n"
    "kind: VirtualMachine\n"
    "spec:\n"
    "  disks:\n"
    "  - name: root\n"
    "    disk: {bus: virtio,  cache: none}\n"
    "  -\n"
    "    name: data\n"
    "  ports: [[1, 2], [3, {a: b}]]\n"
    "  text: |\n"
    "    name: not a field\n"
    "  labels:\n"
    "    a.b/c: d\n"
    "    'quoted key': e\n";

TEST(Places, AreThoseOfKeysAndItems) {
  EXPECT_EQ(place(nested, "kind"), "2:1");
  EXPECT_EQ(place(nested, "spec.disks"), "4:3");
  EXPECT_EQ(place(nested, "spec.disks[0]"), "5:5");
  EXPECT_EQ(place(nested, "spec.disks[0].name"), "5:5");
  EXPECT_EQ(place(nested, "spec.disks[0].disk.cache"), "6:26");
  EXPECT_EQ(place(nested, "spec.disks[1].name"), "8:5");
  EXPECT_EQ(place(nested, "spec.ports[1][0]"), "9:20");
  EXPECT_EQ(place(nested, "spec.ports[1][1].a"), "9:24");
  EXPECT_EQ(place(nested, "spec.text"), "10:3");
  EXPECT_EQ(place(nested, "spec.labels[a.b/c]"), "13:5");
  EXPECT_EQ(place(nested, "spec.labels.a.b/c"), "13:5");
  EXPECT_EQ(place(nested, "spec.labels.quoted key"), "14:5");
}

TEST(Places, OfWhatIsNotThereAreThoseAboveIt) {
  EXPECT_EQ(place(nested, "spec.disks[0].disk.size"), "6:5?");
  EXPECT_EQ(place(nested, "spec.disks[7].name"), "4:3?");
  EXPECT_EQ(place(nested, "metadata.name"), "2:1?");
  EXPECT_EQ(place(nested, ""), "2:1");
}

TEST(Places, OfAnItemThatIsNamedALevelTooDeepAreItsOwn) {
  EXPECT_EQ(place("spec:\n  domain:\n    devices: {}\n  volumes:\n  - name: a\n", "spec.domain.volumes[0]"), "5:5");
}

TEST(Places, BelowAliasesAreThoseOfTheAnchor) {
  constexpr std::string_view text =
      "base: &base\n"
      "  cores: 2\n"
      "  limits: {cpu: 1}\n"
      "a: *base\n"
      "b:\n"
      "  <<: *base\n"
      "  cores: 3\n"
      "c:\n"
      "  <<: [*base]\n";
  EXPECT_EQ(place(text, "a"), "4:1");
  EXPECT_EQ(place(text, "a.cores"), "2:3");
  EXPECT_EQ(place(text, "b.cores"), "7:3");
  EXPECT_EQ(place(text, "b.limits.cpu"), "3:12");
  EXPECT_EQ(place(text, "c.cores"), "2:3");
}

TEST(Places, OfJsonAreTheSame) {
  constexpr std::string_view text =
      "{\n\t\"kind\": \"VM\",\n\t\"spec\": {\"a\\u002eb\": [1, {\"x\": \"\\\"}{\"}, [null, true]],\n"
      "  \"\\ud83d\\ude00\": 1.5e3}}\n";
  EXPECT_EQ(place(text, "kind"), "2:2");
  EXPECT_EQ(place(text, "spec.a.b[1].x"), "3:28");
  EXPECT_EQ(place(text, "spec.a.b[2][1]"), "3:49");
  EXPECT_EQ(place(text, "spec.\xF0\x9F\x98\x80"), "4:3");
}

TEST(Places, CountCharactersAndEveryEndOfLine) {
  EXPECT_EQ(place("a: 1\r\nb:\r\n  c: 2\r\n", "b.c"), "3:3");
  EXPECT_EQ(place("a: 1\rb: 2\r", "b"), "2:1");
  EXPECT_EQ(place("\xEF\xBB\xBF# bom\na: {\xC3\xA4: 1, b: 2}\n", "a.b"), "2:11");
  EXPECT_EQ(place("a:\t1\nb:\t{\tc: 2}\n", "b.c"), "2:6");
}

TEST(Places, OfRepeatedMembersAreRemembered) {
  const auto places = places_of_yaml("a: 1\nb: {c: 1, c: 2}\na: 3\n");
  ASSERT_TRUE(places);
  ASSERT_EQ(places->repeated().size(), 2u);
  EXPECT_EQ(places->repeated()[0].key, "c");
  EXPECT_EQ(TextLines("a: 1\nb: {c: 1, c: 2}\na: 3\n").position(places->repeated()[1].at).line, 3u);
  EXPECT_EQ(place("a: 1\nb: 2\na: 3\n", "a"), "3:1");
}

TEST(Places, NamesThatCanBeReadInManyWaysEnd) {
  std::string text = "x:\n", path = "x";
  for (int i = 1; i < 60; ++i) {
    text += std::string(static_cast<std::size_t>(2 * i), ' ');
    text += "a:\n";
    path += ".a";
  }
  EXPECT_EQ(place(text, path + ".b"), "60:119?");
}

TEST(Places, AreFoundAmongMany) {
  std::string text = "data:\n";
  for (int i = 0; i < 50'000; ++i) text += fmt::format("  k{}: v\n", i);
  text += "list:\n";
  for (int i = 0; i < 50'000; ++i) text += "- x\n";
  EXPECT_EQ(place(text, "data.k49999"), "50001:3");
  EXPECT_EQ(place(text, "list[49999]"), "100002:3");
}

TEST(Places, ProblemsSayWhere) {
  const auto problem = [](std::string_view text) {
    TextProblem found;
    Arena arena;
    EXPECT_FALSE(parse_yaml(text, arena.storage(), YamlOptions{.problem = &found}));
    return fmt::format("{}:{}", found.line, found.column);
  };
  EXPECT_EQ(problem("a: 1\nb: [1, 2\nc: 3\n"), "3:2");
  EXPECT_EQ(problem("a: 1\n\tb: 2\n"), "2:1");
  EXPECT_EQ(problem("a: \"\\q\"\n"), "1:5");
  EXPECT_EQ(problem("a: b\nc: \x80\n"), "2:4");
  EXPECT_EQ(problem("a: *nothing\n"), "1:4");
}

}  // namespace
}  // namespace vg::json
