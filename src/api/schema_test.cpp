#include "api/schema.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace vg::api {
namespace {

TEST(Schema, FindsATypeByItsNameOnly) {
  const Type* disk = find_type("kubevirt.Disk");
  ASSERT_NE(disk, nullptr);
  EXPECT_EQ(disk->short_name(), "Disk");
  EXPECT_EQ(disk->go_name, "core/v1.Disk");
  EXPECT_EQ(disk->openapi_name, "v1.Disk");
  EXPECT_EQ(find_type("Disk"), nullptr);
  EXPECT_EQ(find_type("kubevirt.Disc"), nullptr);
  EXPECT_EQ(find_type(""), nullptr);
}

TEST(Schema, FindsEveryFieldOfEveryTypeAndNothingElse) {
  for (const Type& type : types()) {
    for (const Field& field : type.fields) {
      EXPECT_EQ(type.find(field.name), &field) << type.name << "." << field.name;
      EXPECT_EQ(type.find(std::string(field.name) + "x"), nullptr);
      EXPECT_EQ(type.find(field.name.substr(1)) == &field, false);
    }
    EXPECT_EQ(type.find(""), nullptr);
    EXPECT_EQ(type.find(std::string(300, 'a')), nullptr);
  }
}

TEST(Schema, EveryTypeHasAPerfectHash) {
  for (const Type& type : types()) {
    if (!type.fields.empty()) {
      EXPECT_NE(type.hash_multiplier, 0u) << type.name;
    }
  }
}

TEST(Schema, FoldsNamesAsGoDoes) {
  const Type* disk = find_type("kubevirt.Disk");
  ASSERT_NE(disk, nullptr);
  EXPECT_EQ(disk->find("BOOTORDER"), nullptr);
  ASSERT_NE(disk->find_fold("BOOTORDER"), nullptr);
  EXPECT_EQ(disk->find_fold("BOOTORDER")->name, "bootOrder");
  // U+017F and U+212A fold to s and k.
  EXPECT_EQ(disk->find_fold("\xc5\xbf"
                            "erial"),
            disk->find("serial"));
  EXPECT_EQ(disk->find_fold("dis\xe2\x84\xaa"), disk->find("disk"));
  EXPECT_EQ(disk->find_fold("seria"), nullptr);
  EXPECT_EQ(disk->find_fold(""), nullptr);
}

TEST(Schema, EmbeddedFieldsStandWhereGoWritesThem) {
  const Type* disk = find_type("kubevirt.Disk");
  ASSERT_NE(disk, nullptr);
  ASSERT_EQ(disk->embeds.size(), 1u);
  const Embed& embed = disk->embeds[0];
  EXPECT_EQ(embed.type, find_type("kubevirt.DiskDevice"));
  EXPECT_FALSE(embed.pointer);
  EXPECT_EQ(embed.first, 1);
  EXPECT_EQ(embed.count, embed.type->fields.size());
  EXPECT_EQ(disk->fields[embed.first].name, embed.type->fields[0].name);
  const Type* gpu = find_type("kubevirt.GPU");
  ASSERT_NE(gpu, nullptr);
  ASSERT_EQ(gpu->embeds.size(), 1u);
  EXPECT_TRUE(gpu->embeds[0].pointer);
}

TEST(Schema, FieldsCarryWhatTheDescriptionSays) {
  const Field* boot_order = find_type("kubevirt.Disk")->find("bootOrder");
  ASSERT_NE(boot_order, nullptr);
  EXPECT_EQ(boot_order->shape, Shape::uint_);
  EXPECT_TRUE(boot_order->pointer);
  EXPECT_EQ(boot_order->omission, Omission::empty);
  EXPECT_FALSE(boot_order->required);
  EXPECT_FALSE(boot_order->description.empty());

  const Field* modes = find_type("k8s.PersistentVolumeClaimSpec")->find("accessModes");
  ASSERT_NE(modes, nullptr);
  ASSERT_EQ(modes->shape, Shape::list);
  EXPECT_EQ(modes->list_type, ListType::atomic);
  ASSERT_NE(modes->element->openapi, nullptr);
  EXPECT_EQ(modes->element->openapi->enumeration.size(), 4u);

  const Field* path = find_type("kubevirt.ContainerPathVolumeSource")->find("path");
  ASSERT_NE(path, nullptr);
  ASSERT_NE(path->crd, nullptr);
  EXPECT_EQ(path->crd->length.max, 4096);
  EXPECT_FALSE(path->crd->length.has_min());
  ASSERT_EQ(path->crd->rules.size(), 2u);
  EXPECT_EQ(path->crd->rules[0]->name, "absolute-path");

  EXPECT_EQ(find_type("meta.ObjectMeta")->find("creationTimestamp")->omission, Omission::zero);
  EXPECT_TRUE(find_type("meta.ObjectMeta")->crd_opaque);
  EXPECT_TRUE(find_type("kubevirt.VirtualMachineStatus")->openapi_nullable);
}

TEST(Schema, FindsKindsByKindAndByResource) {
  const Kind* vm = find_kind("kubevirt.io", "v1", "VirtualMachine");
  ASSERT_NE(vm, nullptr);
  EXPECT_EQ(vm, find_resource("kubevirt.io", "v1alpha3", "virtualmachines"));
  EXPECT_EQ(vm, find_kind("kubevirt.io", "", "VirtualMachine"));
  EXPECT_EQ(vm->type, find_type("kubevirt.VirtualMachine"));
  EXPECT_EQ(vm->list_type, find_type("kubevirt.VirtualMachineList"));
  EXPECT_EQ(vm->storage_version().name, "v1");
  EXPECT_TRUE(vm->version("v1alpha3")->deprecated);
  EXPECT_FALSE(vm->version("v1alpha3")->warning.empty());
  EXPECT_EQ(find_kind("kubevirt.io", "v2", "VirtualMachine"), nullptr);
  EXPECT_EQ(find_kind("example.com", "v1", "VirtualMachine"), nullptr);
  EXPECT_EQ(find_resource("kubevirt.io", "v1", "virtualmachine"), nullptr);
}

TEST(Schema, NodesAreWhole) {
  for (const Type& type : types()) {
    for (const Field& field : type.fields) {
      for (const Node* node = &field; node; node = node->element) {
        EXPECT_EQ(node->shape == Shape::structure, node->type != nullptr) << type.name << "." << field.name;
        EXPECT_EQ(node->shape == Shape::list || node->shape == Shape::map, node->element != nullptr);
      }
    }
  }
}

TEST(Schema, NamesAreUnique) {
  std::set<std::string_view> seen;
  for (const Type& type : types()) EXPECT_TRUE(seen.insert(type.name).second) << type.name;
}

}  // namespace
}  // namespace vg::api
