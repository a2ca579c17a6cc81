#include "controllers/common/owners.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "json/document.h"
#include "json/write.h"

namespace vg::controllers {
namespace {

json::Document object_of(std::string_view text) { return std::move(*json::Document::parse(text)); }

TEST(Owners, OnlyOneWhoSaysSoControls) {
  const auto object = object_of(
      R"({"metadata":{"ownerReferences":[{"uid":"a"},{"uid":"b","controller":false},{"uid":"c","controller":true}]}})");
  EXPECT_EQ(controller_uid(object.root().get_object()), "c");
  const auto nobodys = object_of(R"({"metadata":{"ownerReferences":[{"uid":"a"}]}})");
  EXPECT_EQ(controller_reference(nobodys.root().get_object()), nullptr);
}

// A uid alone proves nothing: what a reference says of kind and name is what its writer was asked about.
TEST(Owners, AreNamedByKindAndNameToo) {
  const auto owner = object_of(R"({"kind":"VirtualMachinePool","metadata":{"name":"web","uid":"u"}})");
  const auto is_own = [&](std::string_view reference) {
    const auto object = object_of(fmt::format(R"({{"metadata":{{"ownerReferences":[{}]}}}})", reference));
    return is_controlled_by(object.root().get_object(), owner.root().get_object());
  };
  EXPECT_TRUE(is_own(R"({"kind":"VirtualMachinePool","name":"web","uid":"u","controller":true})"));
  EXPECT_FALSE(is_own(R"({"kind":"VirtualMachinePool","name":"web","uid":"u"})"));
  EXPECT_FALSE(is_own(R"({"kind":"VirtualMachinePool","name":"web","uid":"v","controller":true})"));
  EXPECT_FALSE(is_own(R"({"kind":"VirtualMachinePool","name":"other","uid":"u","controller":true})"));
  EXPECT_FALSE(is_own(R"({"kind":"Anything","name":"web","uid":"u","controller":true})"));
  EXPECT_FALSE(is_own(R"({"uid":"u","controller":true})"));
}

TEST(Owners, ReferenceNamesTheWholeOwner) {
  const auto owner =
      object_of(R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"web","uid":"u1"}})");
  json::Document memory;
  EXPECT_EQ(
      json::to_text(controller_reference_to(owner_of(owner.root().get_object()), memory.storage())),
      R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","name":"web","uid":"u1","controller":true,"blockOwnerDeletion":true})");
}

TEST(Owners, FinalizersComeAndGo) {
  const auto object = object_of(R"({"metadata":{"finalizers":["a","b"],"labels":{"l":"1"},"annotations":{"n":"2"}}})");
  const json::Object& read = object.root().get_object();
  json::Document memory;
  EXPECT_TRUE(has_finalizer(read, "a"));
  EXPECT_FALSE(has_finalizer(read, "c"));
  EXPECT_EQ(json::to_text(finalizers_without(read, "a", memory.storage())), R"(["b"])");
  EXPECT_EQ(json::to_text(finalizers_with(read, "a", memory.storage())), R"(["b","a"])");
  EXPECT_EQ(label_of(read, "l"), "1");
  EXPECT_EQ(annotation_of(read, "n"), "2");
  EXPECT_EQ(annotation_of(read, "l"), "");
  EXPECT_FALSE(is_being_deleted(read));
  EXPECT_TRUE(
      is_being_deleted(object_of(R"({"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z"}})").root().get_object()));
}

}  // namespace
}  // namespace vg::controllers
