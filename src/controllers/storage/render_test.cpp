// The tables of spec storage 3.1 and 6, on the functions that follow a source and make a claim.
#include "controllers/storage/render.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controllers/storage/storage_testing.h"
#include "json/write.h"

namespace vg::controllers::storage {
namespace {

using testing::HasSubstr;

// Classes: local (the default), fast (known, without a profile), block and large, whose profiles offer what they say.
void put_classes(StorageWorld& world) {
  for (const std::string_view name : {"fast", "block", "large"})
    world.put(
        kinds::storage_class,
        fmt::format(R"({{"metadata":{{"name":"{}","creationTimestamp":"2025-01-01T00:00:00Z"}},"provisioner":"x"}})",
                    name));
  world.put("cdi.kubevirt.io/storageprofiles", R"({"metadata":{"name":"block"},"status":{"claimPropertySets":[
      {"accessModes":["ReadWriteMany"],"volumeMode":"Block"},{"accessModes":["ReadWriteOnce"],"volumeMode":"Filesystem"}]}})");
  world.put("cdi.kubevirt.io/storageprofiles",
            R"({"metadata":{"name":"large","annotations":{"cdi.kubevirt.io/minimumSupportedPvcSize":"4Gi"}},
      "status":{"claimPropertySets":[{"accessModes":["ReadWriteOnce"],"volumeMode":"Filesystem"}]}})");
}

void put_config(StorageWorld& world, std::string_view overhead) {
  world.put(cdi_configs,
            fmt::format(R"({{"metadata":{{"name":"config"}},"status":{{"filesystemOverhead":{{"global":"{}"}}}}}})",
                        overhead));
}

// The spec of the claim as text, or the reason and whether it only waits.
std::string rendered(StorageWorld& world, std::string_view spec) {
  data_volume(world, spec);
  json::Document memory;
  const TestWorld& inside = world;
  const Turn turn{.world = inside,
                  .key = test_key,
                  .config = inside.config(),
                  .now = test_now,
                  .random = 7,
                  .storage = memory.storage()};
  const json::Object& dv = world.stored(kinds::data_volume);
  const auto claim = render_claim(turn, dv, source_of(inside, dv));
  if (!claim) return fmt::format("{} {}", claim.error().reason, claim.error().wait ? "waits" : "again");
  return json::to_text(*json::find(*claim, "spec"));
}

TEST(Render, TheClaimIsWhatWasAskedForCompleted) {
  static constexpr const char* size = R"("resources":{"requests":{"storage":"1G"}})";
  const auto blank = [](std::string_view form, std::string_view members) {
    return fmt::format(R"({{"source":{{"blank":{{}}}},"{}":{{{}{}}}}})", form, size, members);
  };
  const auto upload = [](std::string_view form, std::string_view members) {
    return fmt::format(R"({{"source":{{"upload":{{}}}},"contentType":"archive","{}":{{{}{}}}}})", form, size, members);
  };
  struct Row {
    const char* id;
    std::string spec, claim;
  };
  const Row rows[] = {
      {"DV-31, spec.pvc as it is", blank("pvc", R"(,"accessModes":["ReadWriteMany"])"),
       R"({"resources":{"requests":{"storage":"1G"}},"accessModes":["ReadWriteMany"]})"},
      {"DV-31, spec.storage completed", blank("storage", ""),
       R"({"resources":{"requests":{"storage":"954Mi"}},"storageClassName":"local","volumeMode":"Filesystem","accessModes":["ReadWriteOnce"]})"},
      {"DV-32", upload("storage", R"(,"storageClassName":"block")"),
       R"({"resources":{"requests":{"storage":"954Mi"}},"storageClassName":"block","volumeMode":"Filesystem","accessModes":["ReadWriteOnce"]})"},
      {"DV-32, DV-39", upload("storage", R"(,"volumeMode":"Block")"), "ErrClaimNotValid again"},
      {"DV-32, DV-39", upload("pvc", R"(,"volumeMode":"Block","accessModes":["ReadWriteOnce"])"),
       "ErrClaimNotValid again"},
      {"DV-34, neither", blank("storage", R"(,"storageClassName":"block")"),
       R"({"resources":{"requests":{"storage":"1000000000"}},"storageClassName":"block","volumeMode":"Block","accessModes":["ReadWriteMany"]})"},
      {"DV-34, only the volume mode", blank("storage", R"(,"storageClassName":"block","volumeMode":"Filesystem")"),
       R"({"resources":{"requests":{"storage":"954Mi"}},"storageClassName":"block","volumeMode":"Filesystem","accessModes":["ReadWriteOnce"]})"},
      {"DV-34, only the access mode",
       blank("storage", R"(,"storageClassName":"block","accessModes":["ReadWriteOnce"])"),
       R"({"resources":{"requests":{"storage":"954Mi"}},"storageClassName":"block","accessModes":["ReadWriteOnce"],"volumeMode":"Filesystem"})"},
      {"DV-35, DV-39", blank("storage", R"(,"storageClassName":"fast")"), "ErrClaimNotValid again"},
      {"DV-35, given", blank("storage", R"(,"storageClassName":"fast","accessModes":["ReadWriteOnce"])"),
       R"({"resources":{"requests":{"storage":"954Mi"}},"storageClassName":"fast","accessModes":["ReadWriteOnce"]})"},
      {"DV-36, the least of the profile", blank("storage", R"(,"storageClassName":"large")"),
       R"({"resources":{"requests":{"storage":"4Gi"}},"storageClassName":"large","volumeMode":"Filesystem","accessModes":["ReadWriteOnce"]})"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.id);
    StorageWorld world;
    put_classes(world);
    EXPECT_EQ(rendered(world, row.spec), row.claim);
  }
}

TEST(Render, WithoutAnyClassItWaits) {  // DV-39
  StorageWorld world;
  world.remove(kinds::storage_class, "", "local");
  EXPECT_EQ(rendered(world, blank_spec), "ErrClaimNotValid waits");
}

TEST(Render, AClaimWithoutASizeTakesThatOfItsSource) {
  struct Row {
    const char* id;
    std::int64_t capacity, image;
    const char* overhead;
    const char* size;
  };
  for (const Row& row : {Row{"DV-103, the image", 3 * gib, 2 * gib, "0", "2Gi"},
                         Row{"DV-103, no image: the capacity", 3 * gib, 0, "0", "3Gi"},
                         Row{"DV-103, then GROW", 3 * gib, gib, "0.06", "1138166334"}}) {
    SCOPED_TRACE(row.id);
    StorageWorld world;
    put_config(world, row.overhead);
    world.put(kinds::claim, R"({"metadata":{"name":"b","namespace":"ns","uid":"ub"},"spec":{}})");
    world.fake_disks.claims[{.ns = "ns", .name = "b"}] = {
        .uid = "ub", .capacity = row.capacity, .image_size = row.image};
    EXPECT_THAT(rendered(world, R"({"source":{"pvc":{"name":"b"}},"storage":{}})"),
                HasSubstr(fmt::format(R"("storage":"{}")", row.size)));
  }
}

TEST(Render, ADataSourceIsFollowedAtEachPass) {
  struct Row {
    const char* id;
    const char* reference;
    const char* data_source;  // empty: there is none
    const char* source;       // kind, namespace/name
  };
  constexpr const char* named = R"({"kind":"DataSource","name":"s"})";
  const Row rows[] = {
      {"DV-100", named, R"({"spec":{"source":{"pvc":{"name":"b","namespace":"other"}}}})", "pvc other/b"},
      {"DV-100, its own namespace", named, R"({"spec":{"source":{"pvc":{"name":"b"}}}})", "pvc ns/b"},
      {"DV-100, no namespace", R"({"kind":"DataSource","name":"s","namespace":""})",
       R"({"spec":{"source":{"pvc":{"name":"b"}}}})", "pvc ns/b"},
      {"DV-100, a reference to another DataSource", named,
       R"({"spec":{"source":{"dataSource":{"name":"t"}}},"status":{"source":{"pvc":{"name":"c","namespace":"ns"}}}})",
       "pvc ns/c"},
      {"DV-100, one that is not resolved yet", named, R"({"spec":{"source":{"dataSource":{"name":"t"}}},"status":{}})",
       " /"},
      {"DV-100, without source", named, R"({"spec":{}})", " /"},
      {"DV-100, deleted", named, "", " /"},
      {"DV-100, in another namespace", R"({"kind":"DataSource","name":"s","namespace":"other"})",
       R"({"spec":{"source":{"pvc":{"name":"b"}}}})", " /"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.id);
    StorageWorld world;
    data_volume(world, fmt::format(R"({{"sourceRef":{},"storage":{{}}}})", row.reference));
    if (*row.data_source) {
      auto object = json::Document::parse(row.data_source);
      object->root().get_object()["metadata"] = json::Object{{"name", "s"}, {"namespace", "ns"}};
      world.put(kinds::data_source, json::to_text(object->root()));
    }
    const TestWorld& inside = world;
    const Source source = source_of(inside, world.stored(kinds::data_volume));
    EXPECT_EQ(fmt::format("{} {}/{}", source.kind, source.pvc_ns, source.pvc_name), row.source);
  }
  // spec storage Q-03: without a source the condition tells it, and no claim is made.
  StorageWorld world;
  data_volume(world, R"({"sourceRef":{"kind":"DataSource","name":"s"},"storage":{}})");
  EXPECT_EQ(shown(world).bound, "False NotFound");
  EXPECT_FALSE(world.get(kinds::claim, "ns", "a"));
}

// SHRINK: what is left of a claim when the file system has taken its part.
TEST(Render, AnImageIsAsLargeAsItsClaimLeavesRoomFor) {
  struct Row {
    const char* id;
    const char* request;
    double overhead;
    std::int64_t bytes;
  };
  for (const Row& row : {Row{"DV-89, all of it without overhead", "1G", 0, 1000341504},
                         Row{"DV-89, as asked for in spec.storage", "1138166334", 0.06, gib},
                         Row{"DV-89, less than asked for in spec.pvc", "1Gi", 0.06, 1012924416},
                         Row{"DV-107, the same for clones", "11381663335", 0.06, 10 * gib}}) {
    SCOPED_TRACE(row.id);
    const auto claim = json::Document::parse(
        fmt::format(R"({{"spec":{{"resources":{{"requests":{{"storage":"{}"}}}}}}}})", row.request));
    const json::Object& object = claim->root().get_object();
    EXPECT_EQ(image_bytes(object, request_of(object), row.overhead), row.bytes);
  }
}

}  // namespace
}  // namespace vg::controllers::storage
