#include "config/stored_config.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <utility>

#include "base/log.h"

namespace vg::config {
namespace {

// Holds KubeVirt objects, and counts how often somebody looks at them.
class SmallStore final : public ObjectStore {
 public:
  void put(std::string ns, std::string name, std::string_view json) {
    ++revision_;
    const std::string facts = pack_facts(ObjectDraft());
    objects_[{ns, name}] = StoredObject::make({.resource = "kubevirt.io/kubevirts",
                                               .ns = ns,
                                               .name = name,
                                               .facts = facts,
                                               .json = json,
                                               .stamp = {.revision = revision_}});
  }
  void remove(const std::string& ns, const std::string& name) {
    ++revision_;
    objects_.erase({ns, name});
  }
  void change_elsewhere() { ++revision_; }
  mutable int looks = 0;

  Revision revision() const override { return revision_; }
  Result<ListPage> list(const ListQuery& query) const override {
    ++looks;
    ListPage page;
    page.revision = revision_;
    std::vector<ObjectPtr> found;
    for (const auto& [key, object] : objects_)
      if (query.resource == object->resource() && (query.ns.empty() || query.ns == key.first)) found.push_back(object);
    page.objects = ObjectList(std::move(found));
    return page;
  }

  void submit(Transaction, Completion) override {}
  ObjectPtr get(std::string_view, std::string_view, std::string_view) const override { return nullptr; }
  ObjectList owned_by(std::string_view) const override { return {}; }
  std::vector<std::string> resources() const override { return {}; }
  std::size_t count(std::string_view) const override { return 0; }
  Revision oldest_revision(std::string_view) const override { return 0; }
  Result<std::unique_ptr<Watch>> watch(WatchQuery, Waker) override { return fail(Status::internal_error("none")); }
  StoreHealth health() const override { return {}; }

 private:
  Revision revision_ = 1;
  std::map<std::pair<std::string, std::string>, ObjectPtr> objects_;
};

std::string kubevirt(std::string_view strategy) {
  return fmt::format(R"({{"spec":{{"configuration":{{"evictionStrategy":"{}"}}}},"status":{{"phase":"Deployed"}}}})",
                     strategy);
}

struct StoredConfigTest : ::testing::Test {
  SmallStore store;
  StoredConfig config{store, "kubevirt", "amd64"};
  log::Capture captured;
  std::string_view strategy() { return (kept = config.current())->eviction_strategy(); }
  ConfigPtr kept;
};

TEST_F(StoredConfigTest, FollowsTheKubeVirtObject) {
  EXPECT_EQ(strategy(), "None");
  EXPECT_EQ(config.current()->default_architecture(), "amd64");
  store.put("kubevirt", "kubevirt", kubevirt("LiveMigrate"));
  EXPECT_EQ(strategy(), "LiveMigrate");
  EXPECT_EQ(config.current()->resource_version(), "2");
  store.put("kubevirt", "kubevirt", kubevirt("External"));
  EXPECT_EQ(strategy(), "External");
  EXPECT_EQ(config.current()->resource_version(), "3");
}

TEST_F(StoredConfigTest, LooksOnlyWhenSomethingChanged) {
  store.put("kubevirt", "kubevirt", kubevirt("LiveMigrate"));
  const ConfigPtr before = config.current();
  const int looks = store.looks;
  EXPECT_EQ(config.current(), before);
  EXPECT_EQ(store.looks, looks);
  store.change_elsewhere();
  EXPECT_EQ(config.current(), before) << "the same object is not read again";
  EXPECT_EQ(store.looks, looks + 1);
}

TEST_F(StoredConfigTest, KeepsTheLastValidOne) {
  store.put("kubevirt", "kubevirt", kubevirt("LiveMigrate"));
  EXPECT_EQ(strategy(), "LiveMigrate");
  store.put("kubevirt", "kubevirt",
            R"({"spec":{"configuration":{"imagePullPolicy":"Maybe"}},"status":{"phase":"Deployed"}})");
  EXPECT_EQ(strategy(), "LiveMigrate");
  EXPECT_EQ(config.current()->resource_version(), "2") << "not the version that is not in use";
  store.remove("kubevirt", "kubevirt");
  EXPECT_EQ(strategy(), "LiveMigrate");
}

TEST_F(StoredConfigTest, ObjectsThatDoNotCount) {
  store.put("kubevirt", "a", R"({"spec":{"configuration":{"evictionStrategy":"External"}}})");
  EXPECT_EQ(strategy(), "None") << "without a phase";
  store.put("kubevirt", "b",
            R"({"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z"},"status":{"phase":"Deployed"},)"
            R"("spec":{"configuration":{"evictionStrategy":"External"}}})");
  EXPECT_EQ(strategy(), "None") << "on its way out";
  store.put("elsewhere", "kubevirt", kubevirt("External"));
  EXPECT_EQ(strategy(), "None") << "in another namespace";
}

}  // namespace
}  // namespace vg::config
