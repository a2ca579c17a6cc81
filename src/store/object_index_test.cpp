#include "store/object_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "ports/object_store_testing.h"

namespace vg::store {
namespace {

KeptPtr object(const std::string& ns, const std::string& name, Revision revision) {
  const auto made = StoredObject::make({.resource = "r", .ns = ns, .name = name});
  return KeptObject::make(*made, {.revision = revision, .created_revision = revision}, {.bytes = made->image()});
}

using Model = std::map<std::pair<std::string, std::string>, Revision>;

void expect_equal(const ObjectIndex::Snapshot& snapshot, const Model& model) {
  ASSERT_EQ(snapshot.size(), model.size());
  auto range = snapshot.all();
  EXPECT_EQ(range.size(), model.size());
  for (const auto& [key, revision] : model) {
    ASSERT_FALSE(range.empty());
    EXPECT_EQ(range.front()->ns(), key.first);
    EXPECT_EQ(range.front()->name(), key.second);
    EXPECT_EQ(range.front()->revision(), revision);
    range.pop_front();
  }
  EXPECT_TRUE(range.empty());
}

TEST(ObjectIndex, agrees_with_a_map_and_leaves_snapshots_alone) {
  std::mt19937 random(3);
  ObjectIndex index;
  Model model;
  std::vector<std::pair<ObjectIndex::Snapshot, Model>> taken;
  for (Revision step = 1; step <= 20'000; ++step) {
    const auto ns = fmt::format("n{}", random() % 3);
    const auto name = fmt::format("{}", random() % 2000);
    // Waves of growing and shrinking, so that chunks split, empty and merge.
    if (random() % 100 < (step / 4000 % 2 == 0 ? 75u : 25u)) {
      const auto before = index.put(object(ns, name, step));
      const auto known = model.find({ns, name});
      EXPECT_EQ(before ? before->revision() : 0, known == model.end() ? 0 : known->second);
      model[{ns, name}] = step;
    } else {
      const auto before = index.erase({ns, name});
      EXPECT_EQ(before != nullptr, model.erase({ns, name}) == 1);
    }
    if (step % 500 == 0) taken.emplace_back(index.snapshot(), model);
    if (step % 100 == 0) EXPECT_EQ(index.get({ns, name}) != nullptr, model.contains({ns, name}));
  }
  for (const auto& [snapshot, then] : taken) expect_equal(snapshot, then);

  const auto snapshot = index.snapshot();
  for (const auto* ns : {"", "n0", "n1", "n11", "n2", "n3"}) {
    const auto inside = [&](const auto& item) { return item.first.first == ns; };
    const auto range = snapshot.of_namespace(ns);
    EXPECT_EQ(range.size(), static_cast<std::size_t>(std::count_if(model.begin(), model.end(), inside)));
    // Names of every other namespace too: they cut nothing, or everything.
    for (const auto* other : {"", "a", "n0", "n1", "n10", "n2", "zz"}) {
      for (int i = 0; i < 2000; i += 37) {
        const auto name = fmt::format("{}", i);
        const auto behind = [&](const auto& item) {
          return inside(item) && item.first > std::pair(std::string(other), name);
        };
        auto rest = range.behind({other, name});
        ASSERT_EQ(rest.size(), static_cast<std::size_t>(std::count_if(model.begin(), model.end(), behind)));
        if (!rest.empty()) {
          const auto first = std::find_if(model.begin(), model.end(), behind);
          EXPECT_EQ(name_of(*rest.front()), (NameView{first->first.first, first->first.second}));
        }
        EXPECT_EQ(range.find({other, name}) != nullptr, ns == std::string_view(other) && model.contains({ns, name}));
      }
    }
  }
}

TEST(ObjectIndex, a_range_cannot_be_left) {
  ObjectIndex index;
  for (const auto* ns : {"a", "b", "c"}) {
    for (int i = 0; i < 100; ++i) index.put(object(ns, fmt::format("{:03}", i), 1));
  }
  const auto range = index.snapshot().of_namespace("b");
  EXPECT_EQ(range.behind({"c", "050"}).size(), 0u);
  EXPECT_TRUE(range.behind({"zz", "zz"}).empty());
  EXPECT_EQ(range.behind({"a", "050"}).size(), 100u);
  EXPECT_EQ(range.behind({"", ""}).size(), 100u);
  EXPECT_EQ(range.behind({"b", "098"}).size(), 1u);
  EXPECT_EQ(range.behind({"b", "098"}).behind({"a", "000"}).size(), 1u) << "a range only becomes smaller";
  EXPECT_EQ(range.behind({"b", "099"}).size(), 0u);
  auto rest = range;
  for (int i = 0; i < 1000; ++i) rest.pop_front();
  EXPECT_TRUE(rest.empty());
  EXPECT_EQ(rest.size(), 0u);
  for (std::size_t i = 0; i <= 100; ++i) {
    const auto left = range.without_first(i);
    ASSERT_EQ(left.size(), 100 - i);
    if (!left.empty()) EXPECT_EQ(left.front()->name(), fmt::format("{:03}", i));
  }
  EXPECT_TRUE(range.without_first(101).empty());
  EXPECT_TRUE(range.without_first(SIZE_MAX).empty());
}

TEST(ObjectIndex, an_empty_one_answers_too) {
  ObjectIndex index;
  const auto snapshot = index.snapshot();
  EXPECT_TRUE(snapshot.all().empty());
  EXPECT_TRUE(snapshot.of_namespace("a").empty());
  EXPECT_TRUE(snapshot.all().behind({"a", "b"}).empty());
  EXPECT_EQ(snapshot.all().find({"a", "b"}), nullptr);
  EXPECT_EQ(index.get({"a", "b"}), nullptr);
  EXPECT_EQ(index.erase({"a", "b"}), nullptr);
  index.put(object("a", "b", 1));
  EXPECT_EQ(index.erase({"a", "b"})->revision(), 1u);
  EXPECT_EQ(index.size(), 0u);
  EXPECT_EQ(ObjectIndex::Snapshot().size(), 0u);
  EXPECT_TRUE(ObjectIndex::Snapshot().all().empty());
  EXPECT_EQ(ObjectIndex::Snapshot().of_namespace("a").size(), 0u);
  EXPECT_EQ(ObjectIndex::Range().without_first(3).find({"a", "b"}), nullptr);
}

TEST(StoredObject, puts_the_revision_where_it_belongs) {
  const auto shown = [](std::string_view json, std::string_view before) {
    const auto made = StoredObject::make(
        {.json = json, .revision_offset = static_cast<std::uint32_t>(json.find(before)), .stamp = {.revision = 42}});
    std::string out = "[";
    append_with_revision(out, *made);
    return out;
  };
  EXPECT_EQ(shown(R"({"metadata":{"name":"a","uid":"u"}})", R"("uid")"),
            R"([{"metadata":{"name":"a","resourceVersion":"42","uid":"u"}})");
  EXPECT_EQ(shown(R"({"metadata":{"name":"a"}})", "}}"), R"([{"metadata":{"name":"a","resourceVersion":"42"}})");
  EXPECT_EQ(shown(R"({"metadata":{}})", "}}"), R"([{"metadata":{"resourceVersion":"42"}})");
  const auto made =
      StoredObject::make({.json = R"({"metadata":{}})", .revision_offset = 13, .stamp = {.revision = 42}});
  std::string out;
  append_with_revision(out, *made, 43);
  EXPECT_EQ(out, R"({"metadata":{"resourceVersion":"43"}})");
}

TEST(StoredObject, damaged_facts_are_never_read_past_their_end) {
  ObjectDraft draft;
  draft.labels = {{"app", "web"}, {std::string(200, 'k'), "v"}};
  draft.owner_uids = {"one", "two"};
  const auto facts = pack_facts(draft);
  for (std::size_t size = 0; size <= facts.size(); ++size) {
    const auto made = StoredObject::make({.facts = std::string_view(facts).substr(0, size)});
    std::size_t owners = 0;
    made->for_each_owner([&](std::string_view) { ++owners; });
    EXPECT_LE(owners, 2u);
    (void)made->label("app");
    (void)made->deleting();
  }
  const auto wild =
      StoredObject::make({.facts = std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 12)});
  EXPECT_FALSE(wild->owned_by("x"));
}

}  // namespace
}  // namespace vg::store
