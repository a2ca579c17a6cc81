#include "admission/semantic_equal.h"

#include <gtest/gtest.h>

#include "api/canonical.h"
#include "json/access.h"
#include "json/document.h"

namespace vg::admission {
namespace {

const api::Field& vm_spec() { return *member_at(*api::find_kind("kubevirt.io", "", "VirtualMachine")->type, {"spec"}); }

// Both sides are specs of a VirtualMachine.
bool equal(std::string_view left, std::string_view right) {
  auto a = json::Document::parse(left), b = json::Document::parse(right);
  EXPECT_TRUE(a && b) << left << right;
  EXPECT_TRUE(api::canonicalize(a->root(), *vm_spec().type)) << left;
  EXPECT_TRUE(api::canonicalize(b->root(), *vm_spec().type)) << right;
  return semantically_equal(&a->root(), &b->root(), vm_spec());
}

std::string with_domain(std::string_view domain) {
  return R"({"template":{"spec":{"domain":)" + std::string(domain) + "}}}";
}

TEST(SemanticEqualTest, QuantitiesCountByTheirValue) {
  EXPECT_TRUE(equal(with_domain(R"({"devices":{},"memory":{"guest":"1Gi"}})"),
                    with_domain(R"({"devices":{},"memory":{"guest":"1073741824"}})")));
  EXPECT_FALSE(equal(with_domain(R"({"devices":{},"memory":{"guest":"1Gi"}})"),
                     with_domain(R"({"devices":{},"memory":{"guest":"1G"}})")));
}

TEST(SemanticEqualTest, AnEmptyListIsNone) {
  EXPECT_TRUE(equal(with_domain(R"({"devices":{"disks":[]}})"), with_domain(R"({"devices":{}})")));
  EXPECT_FALSE(equal(with_domain(R"({"devices":{"disks":[{"name":"a"}]}})"), with_domain(R"({"devices":{}})")));
  EXPECT_FALSE(equal(with_domain(R"({"devices":{"disks":[{"name":"a"}]}})"),
                     with_domain(R"({"devices":{"disks":[{"name":"b"}]}})")));
}

TEST(SemanticEqualTest, AnEmptyMapIsNone) {
  EXPECT_TRUE(equal(R"({"template":{"metadata":{"labels":{}}}})", R"({"template":{"metadata":{}}})"));
  EXPECT_FALSE(
      equal(R"({"template":{"metadata":{"labels":{"a":"b"}}}})", R"({"template":{"metadata":{"labels":{"a":"c"}}}})"));
  EXPECT_FALSE(
      equal(R"({"template":{"metadata":{"labels":{"a":"b"}}}})", R"({"template":{"metadata":{"labels":{"c":"b"}}}})"));
}

TEST(SemanticEqualTest, APointerToNothingIsNotNothing) {
  EXPECT_FALSE(equal(with_domain(R"({"devices":{"rng":{}}})"), with_domain(R"({"devices":{}})")));
  EXPECT_FALSE(equal(R"({"running":false})", "{}"));
  EXPECT_TRUE(equal(R"({"running":false})", R"({"running":false})"));
}

TEST(SemanticEqualTest, FindsMembers) {
  const api::Type& type = *api::find_kind("kubevirt.io", "", "VirtualMachine")->type;
  EXPECT_NE(member_at(type, {"spec", "template", "spec", "volumes"}), nullptr);
  EXPECT_EQ(member_at(type, {"spec", "nowhere"}), nullptr);
  EXPECT_EQ(member_at(type, {"kind", "x"}), nullptr);
}

}  // namespace
}  // namespace vg::admission
