#include <string>

#include "objects/core_kinds/testing.h"

namespace vg::resources::core_kinds {
namespace {

std::string claim(const std::string& spec, const std::string& rest = "") {
  return R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"c","namespace":"n"},"spec":{)" +
         spec + "}" + rest + "}";
}
std::string sized(const std::string& size, const std::string& more = "", const std::string& rest = "") {
  return claim(R"("accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":")" + size + "\"}}" + more, rest);
}

// A claim that is bound to a volume of this size.
json::Document bound(const std::string& size, const std::string& capacity) {
  Outcome made = create(sized(size));
  json::Object& status = made.object.root().as_object()["status"].as_object();
  status["phase"] = "Bound";
  status["capacity"] = {{"storage", capacity}};
  return std::move(made.object);
}

TEST(CoreKindsClaim, IsCompletedOnCreate) {
  const Outcome made = create(sized("1Gi", "", R"(,"status":{"phase":"Bound"})"));
  EXPECT_EQ(made.causes, CauseList());
  EXPECT_EQ(made.at("/spec/volumeMode"), R"("Filesystem")");
  EXPECT_EQ(made.at("/status"), R"({"phase":"Pending"})");
}

TEST(CoreKindsClaim, NeedsModesAndSize) {
  EXPECT_EQ(create(claim("")).causes,
            (CauseList{{"Required", "spec.accessModes"}, {"Required", "spec.resources[storage]"}}));
  EXPECT_EQ(create(sized("0")).causes, one("Invalid", "spec.resources[storage]"));
  EXPECT_EQ(create(claim(R"("accessModes":["Always"],"resources":{"requests":{"storage":"1"}})")).causes,
            one("NotSupported", "spec.accessModes"));
  EXPECT_EQ(
      create(claim(R"("accessModes":["ReadWriteOnce","ReadWriteOncePod"],"resources":{"requests":{"storage":"1"}})"))
          .causes,
      one("Forbidden", "spec.accessModes"));
}

TEST(CoreKindsClaim, NamesAndModes) {
  EXPECT_EQ(create(sized("1", R"(,"storageClassName":"Fast","volumeMode":"Tape")")).causes,
            (CauseList{{"Invalid", "spec.storageClassName"}, {"NotSupported", "spec.volumeMode"}}));
  EXPECT_EQ(create(sized("1", R"(,"storageClassName":"")")).causes, CauseList());
  EXPECT_EQ(create(sized("1", R"(,"selector":{"matchExpressions":[{"key":"a","operator":"In"}]})")).causes,
            one("Required", "spec.selector.matchExpressions[0].values"));
}

TEST(CoreKindsClaim, DataSourcesAgree) {
  const Outcome older = create(sized("1", R"(,"dataSource":{"kind":"PersistentVolumeClaim","name":"x"})"));
  EXPECT_EQ(older.at("/spec/dataSourceRef"), R"({"apiGroup":null,"kind":"PersistentVolumeClaim","name":"x"})");
  const Outcome newer = create(sized("1", R"(,"dataSourceRef":{"apiGroup":"example.com","kind":"Image","name":"x"})"));
  EXPECT_EQ(newer.at("/spec/dataSource"), R"({"apiGroup":"example.com","kind":"Image","name":"x"})");
  EXPECT_EQ(newer.causes, CauseList());
  const Outcome dropped = create(sized("1", R"(,"dataSource":{"apiGroup":"example.com","kind":"Image","name":"x"})"));
  EXPECT_EQ(dropped.at("/spec/dataSource"), "");
  EXPECT_EQ(create(sized("1", R"(,"dataSource":{"kind":"PersistentVolumeClaim","name":"x"},
                                  "dataSourceRef":{"kind":"PersistentVolumeClaim","name":"y"})"))
                .causes,
            one("Invalid", "spec"));
  EXPECT_EQ(create(sized("1", R"(,"dataSourceRef":{"kind":"Image","name":""})")).causes,
            (CauseList{{"Required", "spec.dataSource.name"},
                       {"Invalid", "spec.dataSource"},
                       {"Required", "spec.dataSourceRef.name"},
                       {"Invalid", "spec.dataSourceRef"}}));
}

TEST(CoreKindsClaim, SpecStays) {
  EXPECT_EQ(update(sized("1Gi"), sized("2Gi")).causes, one("Forbidden", "spec"));
  EXPECT_EQ(update(sized("1Gi"), sized("1Gi", R"(,"volumeMode":"Block")")).causes,
            (CauseList{{"Forbidden", "spec"}, {"Invalid", "volumeMode"}}));
  EXPECT_EQ(update(sized("1Gi"), sized("1024Mi")).causes, CauseList());
}

TEST(CoreKindsClaim, VolumeAndClassMayComeLater) {
  EXPECT_EQ(update(sized("1Gi"), sized("1Gi", R"(,"volumeName":"v","storageClassName":"fast")")).causes, CauseList());
  EXPECT_EQ(update(sized("1Gi", R"(,"volumeName":"v")"), sized("1Gi", R"(,"volumeName":"w")")).causes,
            one("Forbidden", "spec"));
  EXPECT_EQ(update(sized("1Gi", R"(,"storageClassName":"a")"), sized("1Gi", R"(,"storageClassName":"b")")).causes,
            one("Forbidden", "spec"));
}

TEST(CoreKindsClaim, BoundClaimsGrow) {
  const json::Document old = bound("1Gi", "1Gi");
  EXPECT_EQ(write_object(sized("2Gi"), &old).causes, CauseList());
  EXPECT_EQ(write_object(sized("1Gi", R"(,"volumeAttributesClassName":"gold")"), &old).causes, CauseList());
  EXPECT_EQ(write_object(sized("512Mi"), &old).causes, one("Forbidden", "spec.resources.requests.storage"));
  const json::Document failed = bound("4Gi", "1Gi");  // asked for more than it got
  EXPECT_EQ(write_object(sized("2Gi"), &failed).causes, CauseList());
  EXPECT_EQ(write_object(sized("1Gi"), &failed).causes, one("Forbidden", "spec.resources.requests.storage"));
}

TEST(CoreKindsClaim, StatusAmounts) {
  EXPECT_EQ(
      update(sized("1Gi"), sized("1Gi", "", R"(,"status":{"phase":"Bound","capacity":{"storage":"-1"}})"), "status")
          .causes,
      one("Invalid", "status.capacity[storage]"));
}

}  // namespace
}  // namespace vg::resources::core_kinds
