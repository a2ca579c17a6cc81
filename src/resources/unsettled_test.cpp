// What is read while nobody knows whether a write has happened.
#include <gmock/gmock.h>

#include "resources/api_test_support.h"
#include "store/fault_vfs.h"

namespace vg::resources::testing {
namespace {

using ::testing::HasSubstr;

struct HangingDisk {
  store::FaultVfs disk{"virtgate-api-fault"};

  store::Options options() {
    store::Options options;
    options.vfs = disk.name();
    options.stall_answer_max = std::chrono::seconds(2);  // more than a disk that works may need
    return options;
  }
};

class UnsettledTest : protected HangingDisk, public ApiTest {
 protected:
  UnsettledTest() : ApiTest(HangingDisk::options()) {}
  ~UnsettledTest() override { disk.release_syncs(); }
};

TEST_F(UnsettledTest, AnObjectIsNotSaidToBeAbsentBeforeThatIsKnown) {
  EXPECT_EQ(post(config_maps, config_map("other")).status, 201);
  disk.hold_syncs();
  const auto created = post(config_maps, config_map("late"));
  EXPECT_EQ(created.status, 504);
  EXPECT_THAT(created.text, HasSubstr("the outcome of this write is unknown"));

  const std::string late = std::string(config_maps) + "/late";
  const std::vector<std::pair<std::string, std::string>> asked{
      {"GET", late}, {"GET", config_maps}, {"GET", "/api/v1/configmaps"}, {"DELETE", late}, {"DELETE", config_maps}};
  for (const auto& [method, target] : asked) {
    const auto refused = call(method, target);
    EXPECT_EQ(refused.status, 503) << method << ' ' << target;
    EXPECT_THAT(refused.text, HasSubstr("not known yet whether a write"));
    EXPECT_THAT(refused.headers, ::testing::Contains(std::pair<std::string, std::string>("Retry-After", "1")));
  }
  EXPECT_EQ(merge(late, R"({"data":{"a":"b"}})").status, 503);
  EXPECT_EQ(get(std::string(config_maps) + "/other").status, 200) << "what is known is served";
  EXPECT_EQ(get("/api/v1/namespaces/kube-system/configmaps").status, 200);
  EXPECT_EQ(get(vms).status, 200);

  disk.release_syncs();
  while (store_->unsettled("configmaps", "default", "late")) std::this_thread::yield();
  EXPECT_EQ(get(late).status, 200) << "it has happened";
  EXPECT_EQ(get(config_maps).status, 200);
}

}  // namespace
}  // namespace vg::resources::testing
