#include "objects/json_path.h"

#include <gtest/gtest.h>

#include <string>

#include "json/document.h"
#include "json/write.h"

namespace vg::resources {
namespace {

constexpr std::string_view machine = R"({
  "metadata": {"name": "a", "labels": {"kubevirt.io/os": "linux", "x": "1"}},
  "spec": {"replicas": 3},
  "status": {
    "interfaces": [{"ipAddress": "10.0.0.1", "ips": ["10.0.0.1", "fd00::1"]}, {"ips": []}, {"ipAddress": "10.0.0.2"}],
    "conditions": [
      {"type": "Paused", "status": "False", "count": 1},
      {"type": "Ready", "status": "True", "count": 2, "by": {"name": "x"}},
      {"status": "Odd"}, null, 7
    ]
  }})";

// The results, one after the other with '|' between them, or "no path".
std::string results(std::string_view path, std::string_view document = machine) {
  const auto parsed = JsonPath::parse(path);
  if (!parsed) return "no path";
  const auto root = json::Document::parse(document);
  if (!root) return "no document";
  std::string out;
  for (const json::Value* value : parsed->find_all(root->root())) {
    if (!out.empty()) out.push_back('|');
    json::write(*value, out);
  }
  return out;
}

TEST(JsonPath, Members) {
  EXPECT_EQ(results(".metadata.name"), R"("a")");
  EXPECT_EQ(results("{.metadata.name}"), R"("a")");
  EXPECT_EQ(results("$.metadata.name"), R"("a")");
  EXPECT_EQ(results("spec.replicas"), "3");
  EXPECT_EQ(results("['spec']['replicas']"), "3");
  EXPECT_EQ(results(R"(.spec["replicas"])"), "3");
  EXPECT_EQ(results(R"(.metadata.labels.kubevirt\.io/os)"), R"("linux")");
  EXPECT_EQ(results(".metadata.labels['kubevirt.io/os']"), R"("linux")");
  EXPECT_EQ(results(".metadata.labels.*"), R"("linux"|"1")");
}

TEST(JsonPath, WhatIsNotThereIsNoResult) {
  EXPECT_EQ(results(".metadata.nope"), "");
  EXPECT_EQ(results(".metadata.name.further"), "");
  EXPECT_EQ(results(".spec.replicas[0]"), "");
  EXPECT_EQ(results(".status.interfaces.ipAddress"), "");
  EXPECT_EQ(results(".status.interfaces[3].ipAddress"), "");
  EXPECT_EQ(results(".status.interfaces[-4].ipAddress"), "");
  EXPECT_EQ(results(".metadata[?(@.x)]"), R"({"kubevirt.io/os":"linux","x":"1"})");
}

TEST(JsonPath, Elements) {
  EXPECT_EQ(results(".status.interfaces[0].ipAddress"), R"("10.0.0.1")");
  EXPECT_EQ(results(".status.interfaces[-1].ipAddress"), R"("10.0.0.2")");
  EXPECT_EQ(results(".status.interfaces[*].ipAddress"), R"("10.0.0.1"|"10.0.0.2")");
  EXPECT_EQ(results(".status.interfaces[*].ips[*]"), R"("10.0.0.1"|"fd00::1")");
}

TEST(JsonPath, Filters) {
  EXPECT_EQ(results(".status.conditions[?(@.type=='Ready')].status"), R"("True")");
  EXPECT_EQ(results(R"(.status.conditions[?( @.type == "Ready" )].status)"), R"("True")");
  EXPECT_EQ(results(".status.conditions[?(@['type']=='Ready')].status"), R"("True")");
  EXPECT_EQ(results(".status.conditions[?(@.type=='Nope')].status"), "");
  EXPECT_EQ(results(".status.conditions[?(@.type!='Ready')].status"), R"("False")");
  EXPECT_EQ(results(".status.conditions[?(@.type)].type"), R"("Paused"|"Ready")");
  EXPECT_EQ(results(".status.conditions[?(@.count>1)].type"), R"("Ready")");
  EXPECT_EQ(results(".status.conditions[?(@.count<=1)].type"), R"("Paused")");
  EXPECT_EQ(results(".status.conditions[?(@.by.name=='x')].type"), R"("Ready")");
  EXPECT_EQ(results(".status.conditions[?(@.count=='2')].type"), "") << "a number is no string";
  EXPECT_EQ(results("[?(@==7)]", "[1,7,\"7\"]"), "7");
  EXPECT_EQ(results("[?(@.a==true)].b", R"([{"a":false,"b":1},{"a":true,"b":2}])"), "2");
}

TEST(JsonPath, TheDocumentItself) {
  EXPECT_EQ(results("", "[1]"), "[1]");
  EXPECT_EQ(results("{}", "[1]"), "[1]");
  EXPECT_EQ(results(".", "[1]"), "[1]");
  EXPECT_EQ(results("$", "[1]"), "[1]");
}

TEST(JsonPath, RefusesWhatItDoesNotKnow) {
  for (const std::string_view text : {"..a",
                                      ".a..b",
                                      ".a.",
                                      ".a[",
                                      ".a[]",
                                      ".a[x]",
                                      ".a[0",
                                      ".a['x]",
                                      ".a['x'",
                                      ".a[?(",
                                      ".a[?()]",
                                      ".a[?(@.x=='y'",
                                      ".a[?(@.x='y')]",
                                      ".a[?(@.x==)]",
                                      ".a[?(@.x==y)]",
                                      ".a[?(@.x==''&&@.y=='')]",
                                      ".a[1:2]",
                                      ".a[1,2]",
                                      ".a b",
                                      ".a[99999999999999999999]",
                                      ".a\\",
                                      "{.a",
                                      ".a}",
                                      "'a'",
                                      ".a[?(x)]",
                                      ".[",
                                      "[?(@..x)]"}) {
    EXPECT_FALSE(JsonPath::parse(text)) << text;
  }
  EXPECT_FALSE(JsonPath::parse(std::string(JsonPath::text_bytes_max + 1, 'a')));
  std::string deep;
  for (std::size_t i = 0; i < JsonPath::steps_max; ++i) deep += ".a";
  EXPECT_TRUE(JsonPath::parse(deep));
  EXPECT_FALSE(JsonPath::parse(deep + ".a"));
}

// Every cut and every change of one byte of a path must be read or refused, never more.
TEST(JsonPath, SurvivesDamage) {
  const std::string path = R"({.status.conditions[?(@.type=='Ready')]['a\'b'][-1].*[*].c\.d[?(@.x>=1.5)]})";
  const auto root = json::Document::parse(machine);
  ASSERT_TRUE(root);
  for (std::size_t i = 0; i <= path.size(); ++i) {
    if (const auto cut = JsonPath::parse(std::string_view(path).substr(0, i))) cut->find_all(root->root());
    for (const char c : {'[', ']', '\'', '.', '\\', '(', '\0', '9'}) {
      std::string changed = path;
      if (i < path.size()) changed[i] = c;
      if (const auto parsed = JsonPath::parse(changed)) parsed->find_all(root->root());
    }
  }
}

TEST(JsonPath, StopsAtTheLimit) {
  const auto root = json::Document::parse("[1,2,3,4]");
  const auto path = JsonPath::parse("[*]");
  ASSERT_TRUE(root && path);
  EXPECT_EQ(path->find_all(root->root(), 2).size(), 2u);
  EXPECT_EQ(path->find_all(root->root(), 0).size(), 0u);
  EXPECT_EQ(path->find_first(root->root())->as_int64(), 1);
}

}  // namespace
}  // namespace vg::resources
