#include "api/field_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/journal_limits.h"
#include "json/document.h"

namespace vg::api {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<record::Change> changes(std::string_view type, std::string_view before, std::string_view after) {
  const auto one = json::Document::parse(before), other = json::Document::parse(after);
  std::vector<record::Change> found;
  add_field_changes(&one->root(), &other->root(), *find_type(type), {}, found);
  return found;
}

TEST(FieldChanges, ValuesOfNumbersSwitchesAndFixedWords) {
  EXPECT_THAT(changes("kubevirt.VirtualMachine",
                      R"({"spec":{"runStrategy":"Halted","template":{"spec":{"domain":{"cpu":{"cores":1}}}}}})",
                      R"({"spec":{"runStrategy":"Always","template":{"spec":{"domain":{"cpu":{"cores":2}}}}}})"),
              ElementsAre(record::Change{"spec.runStrategy", "Always"},
                          record::Change{"spec.template.spec.domain.cpu.cores", "2"}));
}

TEST(FieldChanges, TextsAndKeysOfUsersStayOut) {
  EXPECT_THAT(
      changes("kubevirt.VirtualMachine",
              R"({"metadata":{"annotations":{"a":"b"}},"spec":{"template":{"spec":{"hostname":"old"}}}})",
              R"({"metadata":{"annotations":{"secret":"c"}},"spec":{"template":{"spec":{"hostname":"new"}}}})"),
      ElementsAre(record::Change{"metadata.annotations", ""}, record::Change{"spec.template.spec.hostname", ""}));
  EXPECT_THAT(changes("k8s.Secret", R"({"data":{"k":"b2xk"}})", R"({"data":{"password":"bmV3"},"type":"word"})"),
              ElementsAre(record::Change{"data", ""}, record::Change{"type", ""}));
}

TEST(FieldChanges, ListsAreComparedByPlaceOrCounted) {
  EXPECT_THAT(
      changes("kubevirt.VirtualMachineInstance", R"({"spec":{"volumes":[{"name":"a"}],"networks":[{"name":"n"}]}})",
              R"({"spec":{"volumes":[{"name":"a"},{"name":"b"}],"networks":[{"name":"m"}]}})"),
      ::testing::UnorderedElementsAre(record::Change{"spec.volumes", "2 entries, before 1"},
                                      record::Change{"spec.networks[0].name", ""}));
}

TEST(FieldChanges, WhatTheServerKeepsIsNobodysChange) {
  EXPECT_THAT(
      changes("kubevirt.VirtualMachine", R"({"metadata":{"resourceVersion":"1","generation":1,"managedFields":[]}})",
              R"({"metadata":{"resourceVersion":"2","generation":2,"managedFields":[{"manager":"m"}]}})"),
      IsEmpty());
}

TEST(FieldChanges, AreBounded) {
  std::string before = R"({"spec":{"volumes":[)", after = before;
  for (int i = 0; i < 100; ++i) {
    before += R"({"name":"a"},)";
    after += R"({"name":"b"},)";
  }
  before.back() = after.back() = ']';
  EXPECT_THAT(changes("kubevirt.VirtualMachineInstance", before + "}}", after + "}}"),
              SizeIs(limits::record_changes_max));
}

}  // namespace
}  // namespace vg::api
