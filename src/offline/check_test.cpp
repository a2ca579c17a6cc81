#include "offline/check.h"

#include <gmock/gmock.h>

#include <string>

#include "base/offline_limits.h"
#include "offline/catalogue.h"
#include "offline/testing.h"

namespace vg::offline::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string vm(const std::string& name, const std::string& more = "") {
  return "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: " + name +
         "}\nspec:\n  runStrategy: Always\n" + more +
         "  template:\n    spec:\n      domain:\n        memory: {guest: 1Gi}\n        devices: {}\n";
}
const std::string small_type =
    "apiVersion: instancetype.kubevirt.io/v1beta1\nkind: VirtualMachineInstancetype\nmetadata: {name: small}\n"
    "spec: {cpu: {guest: 2}, memory: {guest: 1Gi}}\n";
const std::string typed_vm =
    "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: typed}\nspec:\n  runStrategy: Always\n"
    "  instancetype: {name: small, kind: VirtualMachineInstancetype}\n  template:\n    spec:\n"
    "      domain: {devices: {}}\n";

std::vector<std::string> told(const std::string& text, CheckOptions options = {}) {
  SmallWorld world;
  return SmallWorld::lines(world.check({{"f.yaml", text}}, std::move(options)));
}

TEST(Check, SaysNothingOfWhatTheServerTakes) {
  SmallWorld world;
  const Outcome outcome = world.check({{"a.yaml", vm("a")}, {"b.yaml", "---\n# only a comment\n---\n" + vm("b")}});
  EXPECT_THAT(SmallWorld::lines(outcome), IsEmpty());
  EXPECT_EQ(outcome.objects, 2u);
  EXPECT_EQ(outcome.files, 2u);
}

TEST(Check, NamesTheRuleAndTheFieldsPlace) {
  EXPECT_THAT(told("# a VM\n" + vm("a", "  running: true\n")), Contains(HasSubstr(":3 refused")));
  SmallWorld world;
  const Outcome outcome = world.check({{"f.yaml", "---\n" + vm("a") + "---\n" + vm("B")}});
  ASSERT_EQ(outcome.findings.size(), 1u);
  const Finding& finding = outcome.findings.front();
  EXPECT_EQ(finding.line, 15u);
  EXPECT_EQ(finding.column, 12u);
  EXPECT_EQ(finding.field, "metadata.name");
  EXPECT_EQ(finding.source, "metadata: {name: B}");
  EXPECT_EQ(finding.object, "VirtualMachine default/B");
  EXPECT_EQ(outcome.verdicts.front().code, 422);
}

TEST(Check, AFileThatIsBrokenDoesNotStopTheOthers) {
  SmallWorld world;
  const Outcome outcome =
      world.check({{"a.yaml", "a: [1\n"}, {"b.yaml", "x: 1\n---\n\tkind: y\n---\n" + vm("B")}, {"c.yaml", vm("c")}});
  EXPECT_THAT(SmallWorld::lines(outcome), ElementsAre("1:6 refused FILE-01", "1:1 refused FILE-02",
                                                      "3:1 refused FILE-01", HasSubstr("7:12 refused")));
  EXPECT_EQ(outcome.findings[2].file, "b.yaml");
}

TEST(Check, UnknownFieldsAreFindings) {
  const std::string text = vm("a", "  runStrateg: Always\n  memory: 1Gi\n");
  EXPECT_THAT(told(text), ElementsAre("6:3 refused FIELD-01 spec.runStrateg", "7:3 refused FIELD-01 spec.memory"));
  EXPECT_THAT(told(text, {.validation = resources::FieldValidation::warn}),
              ElementsAre("6:3 warning FIELD-01 spec.runStrateg", "7:3 warning FIELD-01 spec.memory"));
  EXPECT_THAT(told(text, {.validation = resources::FieldValidation::ignore}), IsEmpty());
  EXPECT_THAT(told(vm("a") + "kind: VirtualMachine\n"), ElementsAre("11:1 refused FIELD-02 kind"));
}

TEST(Check, ObjectsOfTheSameFilesExistWhateverTheirOrder) {
  for (const std::size_t threads : {1, 3}) {
    SmallWorld world;
    EXPECT_THAT(SmallWorld::lines(world.check({{"a", typed_vm}, {"b", small_type}}, {.threads = threads})), IsEmpty());
    SmallWorld other;
    EXPECT_THAT(SmallWorld::lines(other.check({{"b", small_type + "---\n" + typed_vm}}, {.threads = threads})),
                IsEmpty());
  }
}

TEST(Check, WhatNothingAnswersIsAWarningUnlessTheFilesAreComplete) {
  EXPECT_THAT(told(typed_vm), ElementsAre("6:18 warning REF-01 spec.instancetype.name"));
  EXPECT_THAT(told(typed_vm, {.complete = true}), ElementsAre(HasSubstr("refused")));
  const std::string elsewhere = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: lab}\n";
  EXPECT_THAT(told(elsewhere), ElementsAre("3:21 warning REF-01 metadata.namespace"));
  EXPECT_THAT(told(elsewhere, {.complete = true}), ElementsAre("3:21 refused REF-01 metadata.namespace"));
  EXPECT_THAT(told(elsewhere + "---\n" + elsewhere, {}),
              ElementsAre("3:21 warning REF-01 metadata.namespace", "7:12 warning FILE-03 metadata.name"));
  EXPECT_THAT(told("apiVersion: v1\nkind: Namespace\nmetadata: {name: lab}\n---\n" + elsewhere), IsEmpty());
}

TEST(Check, TheSecondOfTwoIsTheOneThatStandsBehind) {
  // The first is the one that takes longer to read.
  const std::string long_one = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n";
  std::string data;
  for (int i = 0; i < 2'000; ++i) data += fmt::format("  k{}: v\n", i);
  for (int round = 0; round < 5; ++round)
    EXPECT_THAT(told(long_one + data + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", {.threads = 4}),
                ElementsAre("2008:12 warning FILE-03 metadata.name"));
}

TEST(Check, WhatIsWrongWhateverTheMissingObjectIsIsStillRefused) {
  const std::string text = typed_vm + "      volumes:\n      - name: a\n        emptyDisk: {capacity: 1Gi}\n" +
                           "      - name: a\n        emptyDisk: {capacity: 1Gi}\n";
  EXPECT_THAT(told(text), Contains(HasSubstr("refused VOL-01 spec.template.spec.volumes[1].name")));
}

TEST(Check, KindsThatAreNotKnownAreCountedAndNamed) {
  SmallWorld world;
  const std::string text = "apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: a}\n";
  const Outcome outcome = world.check({{"f.yaml", text + "---\n" + text}});
  EXPECT_THAT(SmallWorld::lines(outcome), ElementsAre("2:1 note KIND-01 kind", "6:1 note KIND-01 kind"));
  EXPECT_THAT(outcome.unknown_kinds, ElementsAre(std::pair<const std::string, std::size_t>("example.org/v1 Thing", 2)));
  EXPECT_THAT(told(text, {.strict = true}), ElementsAre("2:1 refused KIND-01 kind"));
  EXPECT_THAT(told("apiVersion: kubevirt.io/v9\nkind: VirtualMachine\nmetadata: {name: a}\n"),
              ElementsAre("1:1 refused KIND-02 apiVersion"));
}

TEST(Check, ListsAreTheObjectsInThem) {
  SmallWorld world;
  const Outcome outcome = world.check(
      {{"f.yaml",
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Namespace\n  metadata: {name: good}\n"
        "- apiVersion: v1\n  kind: Namespace\n  metadata:\n    name: Bad\n    labls: {}\n"}});
  EXPECT_EQ(outcome.objects, 2u);
  EXPECT_THAT(SmallWorld::lines(outcome),
              ElementsAre("10:5 refused SERVER-02 metadata.name", "11:5 refused FIELD-01 metadata.labls"));
  EXPECT_EQ(outcome.findings.front().object, "Namespace Bad");
}

TEST(Check, JsonHasPlacesToo) {
  EXPECT_THAT(told("{\r\n  \"apiVersion\": \"v1\", \"kind\": \"Namespace\",\r\n\t\"metadata\": {\"nam\": \"x\"}}\r\n"),
              Contains("3:15 refused FIELD-01 metadata.nam"));
}

TEST(Check, JsonValuesBehindOneAnotherAreDocuments) {
  const std::string space = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}})";
  SmallWorld world;
  const Outcome outcome =
      world.check({{"f.json", space + R"( {"apiVersion":"v1","kind":"Namespace","metadata":{"nam":"b","name":"b"}})"}});
  EXPECT_EQ(outcome.objects, 2u);
  EXPECT_THAT(SmallWorld::lines(outcome), ElementsAre("1:114 refused FIELD-01 metadata.nam"));
}

TEST(Check, WarningsCanBeSilencedAndRefusalsCannot) {
  const std::string volumes = "      volumes:\n      - name: a\n        containerDisk: {image: x}";
  const std::string text = vm("a") + volumes + "\n";
  EXPECT_THAT(told(text), ElementsAre(HasSubstr("warning WISE-01")));
  EXPECT_THAT(told(text, {.strict = true}), ElementsAre(HasSubstr("refused WISE-01")));
  EXPECT_THAT(told(text, {.skip = {"WISE-01"}}), IsEmpty());
  EXPECT_THAT(told(vm("a") + volumes + "  # virtgate: skip WISE-01\n"), IsEmpty());
  EXPECT_THAT(told("# virtgate: skip REF-01, WISE-01\n" + text), IsEmpty());
  EXPECT_THAT(told(vm("a") + "      volumes:\n      - name: a\n        # virtgate: skip WISE-01\n"
                             "        containerDisk: {image: x}\n"),
              IsEmpty());
  EXPECT_THAT(told("# virtgate: skip FIELD-01\n" + vm("a", "  runStrateg: Always # virtgate: skip FIELD-01\n")),
              ElementsAre("7:3 refused FIELD-01 spec.runStrateg"));
}

TEST(Check, NothingGrowsWithoutEnd) {
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 12; ++i) {
    bomb += fmt::format("a{}: &a{} [", i, i);
    for (int k = 0; k < 10; ++k) bomb += fmt::format("{}*a{}", k ? "," : "", i - 1);
    bomb += "]\n";
  }
  EXPECT_THAT(told(bomb), ElementsAre(HasSubstr("refused FILE-01")));
  EXPECT_THAT(told(std::string(100'000, '[')), ElementsAre(HasSubstr("refused FILE-01")));
  EXPECT_THAT(
      told("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: \"" + std::string(4 << 20, 'x') + "\"}\n"),
      ElementsAre(HasSubstr("refused FILE-04")));
  std::string volumes = "      volumes:\n";
  for (int i = 0; i < 5'000; ++i) volumes += fmt::format("      - {{name: v{}, containerDisk: {{image: x}}}}\n", i);
  EXPECT_LE(told(vm("a") + volumes).size(), 10 + limits::warnings_of_object_max);
  std::string many;
  for (int i = 0; i < 25'000; ++i) many += "---\nx\n";
  SmallWorld world;
  const Outcome outcome = world.check({{"f.yaml", many}});
  EXPECT_LE(outcome.findings.size(), limits::findings_max);
  EXPECT_EQ(outcome.findings.size() + outcome.left_out, 25'000u);
  EXPECT_TRUE(outcome.refused_left_out);
}

TEST(Check, EveryFindingCanBeExplained) {
  SmallWorld world;
  const Outcome outcome = world.check({{"f.yaml", "a: [\n---\nx\n---\n" + vm("B", "  x: y\n") + "---\n" + typed_vm}});
  EXPECT_GE(outcome.findings.size(), 5u);
  for (const Finding& finding : outcome.findings) EXPECT_TRUE(find_entry(finding.id)) << finding.id;
}

}  // namespace
}  // namespace vg::offline::testing
