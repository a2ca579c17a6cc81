#include "controllers/storage/storage_profile.h"

#include <gmock/gmock.h>

#include "controllers/common/conditions.h"
#include "controllers/testing_effects.h"
#include "json/write.h"

namespace vg::controllers {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view profiles = "cdi.kubevirt.io/storageprofiles";
const Key key{.ns = "", .name = "fast"};

TestPass pass_of(TestWorld& world) { return sync(storage_profile_controller(), world, key); }

// spec storage 10
TEST(StorageProfile, IsThereAsLongAsItsClass) {
  TestWorld world;
  EXPECT_THAT(effects_of(pass_of(world)), IsEmpty());
  world.put(kinds::storage_class, R"({"metadata":{"name":"fast"},"provisioner":"example.com/x"})");
  EXPECT_THAT(effects_of(pass_of(world)), ElementsAre("create storageprofiles fast"));
  world.put(profiles, R"({"metadata":{"name":"fast","uid":"u"},"spec":{}})");
  EXPECT_THAT(effects_of(pass_of(world)), ElementsAre("update_status storageprofiles fast"));
  world.remove(kinds::storage_class, "", "fast");
  EXPECT_THAT(effects_of(pass_of(world)), ElementsAre("remove storageprofiles fast"));
  world.remove(profiles, "", "fast");
  EXPECT_THAT(effects_of(pass_of(world)), IsEmpty());
}

struct Row {
  const char* storage_class;
  const char* spec;
  const char* recognized;
  const char* sets;  // null: none
  const char* strategy;
};

TEST(StorageProfile, SaysWhatIsKnownOfTheClass) {
  const char* own = R"([{"accessModes":["ReadWriteOnce"],"volumeMode":"Filesystem"}])";
  const char* named = R"([{"accessModes":["ReadWriteMany"],"volumeMode":"Block"}])";
  const std::string spec = fmt::format(R"({{"claimPropertySets":{},"cloneStrategy":"csi-clone"}})", named);
  const char* annotated =
      R"({"metadata":{"name":"fast","annotations":{"cdi.kubevirt.io/clone-strategy":"snapshot"}},"provisioner":"x"})";
  for (const Row& row :
       {Row{R"({"metadata":{"name":"fast"},"provisioner":"virtgate.io/local"})", "{}", "True", own, "copy"},
        Row{R"({"metadata":{"name":"fast"},"provisioner":"x"})", "{}", "False", nullptr, "copy"},
        Row{R"({"metadata":{"name":"fast"},"provisioner":"x"})", spec.c_str(), "False", named, "csi-clone"},
        Row{annotated, "{}", "False", nullptr, "snapshot"}}) {
    SCOPED_TRACE(row.storage_class);
    TestWorld world;
    world.put(kinds::storage_class, row.storage_class);
    world.put(profiles, fmt::format(R"({{"metadata":{{"name":"fast"}},"spec":{}}})", row.spec));
    const TestPass pass = pass_of(world);
    ASSERT_EQ(pass.pass.effects.size(), 1);
    EXPECT_EQ(pass.pass.effects[0].verb, Verb::update_status);
    const json::Object& made = pass.pass.effects[0].document.get_object();
    const json::Object* status = json::get_object(made, "status");
    EXPECT_EQ(condition_status(status, "Recognized"), row.recognized);
    EXPECT_EQ(json::get_string_or(*status, "cloneStrategy"), row.strategy);
    const json::Value* sets = json::find(*status, "claimPropertySets");
    EXPECT_EQ(sets ? json::to_text(*sets) : "", row.sets ? row.sets : "");
    world.put(profiles, json::to_text(json::Value(made)));
    EXPECT_THAT(effects_of(pass_of(world)), IsEmpty());
  }
}

}  // namespace
}  // namespace vg::controllers
