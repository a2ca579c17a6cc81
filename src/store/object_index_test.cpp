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
  auto position = snapshot.begin();
  for (const auto& [key, revision] : model) {
    ASSERT_NE(position, snapshot.end());
    EXPECT_EQ(snapshot.at(position)->ns(), key.first);
    EXPECT_EQ(snapshot.at(position)->name(), key.second);
    EXPECT_EQ(snapshot.at(position)->revision(), revision);
    position = snapshot.next(position);
  }
  EXPECT_EQ(position, snapshot.end());
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
  for (int i = 0; i < 2000; i += 7) {
    const auto name = fmt::format("{}", i);
    const auto lower = model.lower_bound({"n1", name});
    const auto position = snapshot.lower_bound({"n1", name});
    ASSERT_EQ(position == snapshot.end(), lower == model.end());
    if (position != snapshot.end()) {
      EXPECT_EQ(snapshot.at(position)->revision(), lower->second);
      EXPECT_EQ(snapshot.distance(snapshot.begin(), position),
                static_cast<std::size_t>(std::distance(model.begin(), lower)));
    }
    const auto upper = model.upper_bound({"n1", name});
    EXPECT_EQ(snapshot.distance(snapshot.upper_bound({"n1", name}), snapshot.end()),
              static_cast<std::size_t>(std::distance(upper, model.end())));
    EXPECT_EQ(snapshot.find({"n1", name}) != nullptr, model.contains({"n1", name}));
  }
  for (const auto* ns : {"", "n0", "n1", "n11", "n2", "n3"}) {
    const auto expected =
        std::count_if(model.begin(), model.end(), [&](const auto& item) { return item.first.first <= ns; });
    EXPECT_EQ(snapshot.distance(snapshot.begin(), snapshot.namespace_end(ns)), static_cast<std::size_t>(expected));
  }
}

TEST(ObjectIndex, an_empty_one_answers_too) {
  ObjectIndex index;
  const auto snapshot = index.snapshot();
  EXPECT_EQ(snapshot.begin(), snapshot.end());
  EXPECT_EQ(snapshot.lower_bound({"a", "b"}), snapshot.end());
  EXPECT_EQ(snapshot.upper_bound({"a", "b"}), snapshot.end());
  EXPECT_EQ(snapshot.namespace_end("a"), snapshot.end());
  EXPECT_EQ(snapshot.find({"a", "b"}), nullptr);
  EXPECT_EQ(index.get({"a", "b"}), nullptr);
  EXPECT_EQ(index.erase({"a", "b"}), nullptr);
  index.put(object("a", "b", 1));
  EXPECT_EQ(index.erase({"a", "b"})->revision(), 1u);
  EXPECT_EQ(index.size(), 0u);
  EXPECT_EQ(ObjectIndex::Snapshot().size(), 0u);
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
