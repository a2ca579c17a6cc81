#include "controllers/claims.h"

#include <gmock/gmock.h>

#include "json/document.h"

namespace vg::controllers {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ClaimsTest, EveryKindOfVolumeThatIsAClaim) {
  const auto vmi = json::Document::parse(R"({"spec":{"volumes":[
      {"name":"a","persistentVolumeClaim":{"claimName":"one"}},{"name":"b","dataVolume":{"name":"two"}},
      {"name":"c","memoryDump":{"claimName":"three"}},{"name":"d","emptyDisk":{}},"nonsense"],
      "utilityVolumes":[{"name":"e","claimName":"four"}]}})");
  EXPECT_THAT(claims_of(vmi->root().get_object()), ElementsAre("one", "two", "three", "four"));
}

TEST(ClaimsTest, UsersAreThoseOfTheLastVersion) {
  ClaimUsers users;
  users.put("ns", "a", {"x", "y"});
  users.put("ns", "b", {"x"});
  users.put("other", "c", {"x"});
  EXPECT_THAT(users.of("ns", "x"), ElementsAre("a", "b"));
  users.put("ns", "a", {"y", "y"});
  EXPECT_THAT(users.of("ns", "x"), ElementsAre("b"));
  EXPECT_THAT(users.of("ns", "y"), ElementsAre("a"));
  users.forget("ns", "a");
  EXPECT_THAT(users.of("ns", "y"), IsEmpty());
}

}  // namespace
}  // namespace vg::controllers
