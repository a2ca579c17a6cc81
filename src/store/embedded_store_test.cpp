#include "store/embedded_store.h"

#include <filesystem>

#include "ports/object_store_contract.h"
#include "store/testing.h"

namespace vg::store {
namespace {

using namespace vg::testing;

class EmbeddedUnderTest final : public StoreUnderTest {
 public:
  explicit EmbeddedUnderTest(std::size_t window_changes) : window_changes_(window_changes) { reopen(); }
  ObjectStore& store() override { return *store_; }
  void reopen() override {
    store_.reset();
    Options options;
    options.path = folder_.file("store.db");
    options.log_changes_max = window_changes_;
    store_ = must_open(std::move(options));
  }

 private:
  const std::size_t window_changes_;
  TemporaryFolder folder_;
  std::unique_ptr<EmbeddedStore> store_;
};

}  // namespace
}  // namespace vg::store

namespace vg::testing {
INSTANTIATE_TEST_SUITE_P(Embedded, ObjectStoreContract, ::testing::Values(StoreMaker([](std::size_t window_changes) {
                           return std::make_unique<store::EmbeddedUnderTest>(window_changes);
                         })),
                         [](const auto&) { return "embedded"; });
}  // namespace vg::testing
