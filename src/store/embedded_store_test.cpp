#include "store/embedded_store.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <array>
#include <filesystem>
#include <map>
#include <string>

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

// Packing is for memory alone: whatever a build does there, every other build reads its file.
TEST(EmbeddedStore, the_file_has_objects_as_they_are) {
  const TemporaryFolder folder;
  std::map<std::string, std::string> texts;
  {
    Options options;
    options.path = folder.file("store.db");
    const auto store = must_open(std::move(options));
    for (int i = 0; i < 100; ++i) {
      Write write{.kind = WriteKind::create, .key = {"things", "default", fmt::format("thing-{}", i)}};
      write.object.uid = fmt::format("6f9619ff-8b86-d011-b42d-{:012}", i);
      write.object.json = fmt::format(R"({{"uid":"{}","spec":{{"all":"{:x>500}"}}}})", write.object.uid, i);
      write.object.revision_offset = 1;
      texts.emplace(write.key.name, write.object.json);
      Transaction transaction;
      transaction.writes.push_back(std::move(write));
      store->submit(std::move(transaction), [](Result<CommitOutcome> outcome) { EXPECT_TRUE(outcome.has_value()); });
    }
  }
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open_v2(folder.file("store.db").c_str(), &db, SQLITE_OPEN_READWRITE, nullptr), SQLITE_OK);
  std::map<std::string, std::string> found;
  const auto take = [](void* into, int, char** columns, char**) {
    static_cast<std::map<std::string, std::string>*>(into)->emplace(columns[0], columns[1]);
    return 0;
  };
  EXPECT_EQ(sqlite3_exec(db, "SELECT name, json FROM versions", take, &found, nullptr), SQLITE_OK);
  sqlite3_close(db);
  EXPECT_EQ(found, texts);
}

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
