#include "admission/store_lookups.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

#include "admission/lookup_allowance.h"
#include "base/limits.h"
#include "json/access.h"
#include "json/document.h"

namespace vg::admission {
namespace {

using ::testing::HasSubstr;

// Holds a number of objects, and nothing else.
class ListedObjects final : public ObjectStore {
 public:
  std::vector<ObjectPtr> objects;

  void add(std::string_view name, std::size_t bytes, std::string_view label = {}) {
    ObjectDraft draft;
    if (!label.empty()) draft.labels.emplace_back("a", label);
    const std::string facts = pack_facts(draft);
    const std::string json = fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":"{:x>{}}"}})", name, "", bytes);
    objects.push_back(
        StoredObject::make({.resource = "things", .ns = "default", .name = name, .facts = facts, .json = json}));
  }

  ObjectPtr get(std::string_view, std::string_view, std::string_view name) const override {
    for (const ObjectPtr& object : objects)
      if (object->name() == name) return object;
    return nullptr;
  }
  Result<ListPage> list(const ListQuery& query) const override {
    std::vector<ObjectPtr> found;
    for (const ObjectPtr& object : objects)
      if (!query.matches || query.matches(*object)) found.push_back(object);
    ListPage page;
    page.objects = ObjectList(std::move(found));
    return page;
  }
  void submit(Transaction, Completion done) override { done(fail(Status::internal_error("only to be read"))); }
  Revision revision() const override { return 1; }
  ObjectList owned_by(std::string_view) const override { return {}; }
  std::vector<std::string> resources() const override { return {}; }
  std::size_t count(std::string_view) const override { return objects.size(); }
  Revision oldest_revision(std::string_view) const override { return 1; }
  Result<std::unique_ptr<Watch>> watch(WatchQuery, Waker) override {
    return fail(Status::internal_error("only to be read"));
  }
  StoreHealth health() const override { return {}; }
};

struct StoreLookupsTest : ::testing::Test {
  ListedObjects store;
  StoreLookups lookups{store};
  json::Document memory;
};

TEST_F(StoreLookupsTest, FindsByNameAndByLabel) {
  store.add("one", 1, "x");
  store.add("two", 1, "y");
  const auto one = lookups.get("things", "default", "one", memory.storage());
  ASSERT_TRUE(one && *one);
  EXPECT_EQ(json::as_string(json::find_path(**one, {"metadata", "name"})), "one");
  EXPECT_EQ(json::as_string(json::find_path(**one, {"metadata", "resourceVersion"})), "0") << "as clients see it";
  EXPECT_EQ(lookups.get("things", "default", "none", memory.storage()), nullptr);
  EXPECT_EQ(lookups.list("things", "default", memory.storage())->size(), 2u);
  const auto labelled = lookups.list_labelled("things", "default", "a", "y", memory.storage());
  ASSERT_EQ(labelled->size(), 1u);
  EXPECT_EQ(json::as_string(json::find_path(*labelled->front(), {"metadata", "name"})), "two");
}

TEST_F(StoreLookupsTest, NamesThatCannotBeAskedForAreRefused) {
  for (const std::string_view name : {"", ".", "..", "a/b", "a%2f"})
    EXPECT_FALSE(lookups.get("things", "default", name, memory.storage())) << name;
}

TEST_F(StoreLookupsTest, ListsAreBounded) {
  for (int i = 0; i < 16; ++i) store.add(fmt::format("n{}", i), limits::mib, i == 0 ? "first" : "other");
  const auto all = lookups.list("things", "default", memory.storage());
  ASSERT_FALSE(all);
  EXPECT_THAT(all.error().message, HasSubstr("16 things"));
  EXPECT_EQ(lookups.list_labelled("things", "default", "a", "first", memory.storage())->size(), 1u);
}

TEST_F(StoreLookupsTest, OnAnEventLoopOnlyLittleIsLookedUp) {
  store.add("small", 100, "x");
  const auto small = [&] { return lookups.get("things", "default", "small", memory.storage()).has_value(); };
  const LookupAllowance allowance(limits::kib);
  EXPECT_TRUE(small());
  EXPECT_EQ(lookups.list("things", "default", memory.storage())->size(), 1u);
  store.add("large", limits::kib, "x");
  EXPECT_THROW((void)lookups.get("things", "default", "large", memory.storage()), LookupTooLarge);
  EXPECT_THROW((void)lookups.list("things", "default", memory.storage()), LookupTooLarge);
  // Those that do not have the label have to be opened too.
  EXPECT_THROW((void)lookups.list_labelled("things", "default", "a", "none", memory.storage()), LookupTooLarge);
  {
    const LookupAllowance more(limits::mib);
    EXPECT_EQ(lookups.list("things", "default", memory.storage())->size(), 2u);
  }
  EXPECT_THROW(while (small()){}, LookupTooLarge) << "many small ones are much as well";
}

}  // namespace
}  // namespace vg::admission
