#include "store/embedded_store.h"

#include <array>
#include <filesystem>

#include "ports/object_store_contract.h"
#include "store/testing.h"

namespace vg::store {
namespace {

using namespace vg::testing;

class EmbeddedUnderTest final : public StoreUnderTest {
 public:
  EmbeddedUnderTest(std::size_t window_changes, std::size_t recent_bytes_max)
      : window_changes_(window_changes), recent_bytes_max_(recent_bytes_max) {
    reopen();
  }
  ObjectStore& store() override { return *store_; }
  void reopen() override {
    store_.reset();
    Options options;
    options.path = folder_.file("store.db");
    options.log_changes_max = window_changes_;
    options.recent_bytes_max = recent_bytes_max_;
    store_ = must_open(std::move(options));
  }

 private:
  const std::size_t window_changes_;
  const std::size_t recent_bytes_max_;
  TemporaryFolder folder_;
  std::unique_ptr<EmbeddedStore> store_;
};

}  // namespace
}  // namespace vg::store

namespace vg::testing {
StoreMaker with_recent(std::size_t bytes) {
  return
      [bytes](std::size_t window_changes) { return std::make_unique<store::EmbeddedUnderTest>(window_changes, bytes); };
}

std::string how_open(const ::testing::TestParamInfo<StoreMaker>& instance) {
  return std::array{"recent_open", "some_open", "all_packed"}[instance.index];
}

// What a watch reads is open already, or partly, or has to be opened: it must not show.
INSTANTIATE_TEST_SUITE_P(Embedded, ObjectStoreContract,
                         ::testing::Values(with_recent(store::Options().recent_bytes_max), with_recent(500),
                                           with_recent(0)),
                         how_open);
}  // namespace vg::testing
