#include "objects/deletion.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "json/access.h"
#include "json/document.h"
#include "objects/draft.h"

namespace vg::resources {
namespace {

constexpr std::int64_t now = 1'800'000'000;

struct DeletionTest : ::testing::Test {
  json::Document memory;

  static ObjectPtr object(std::string_view key, std::string_view text, Revision revision = 5) {
    const auto document = json::Document::parse(text);
    const auto draft = make_draft(document->root().get_object(), *find_resource(key));
    return unstored_object({std::string(key), "default", "a"}, draft, revision);
  }
  Result<DeletionPlan> plan(std::string_view key, std::string_view text, const DeleteOptions& options = {}) {
    return plan_deletion(*object(key, text), *find_resource(key), options, now, memory.storage());
  }
  static json::Document marked(const DeletionPlan& deletion) {
    return std::move(*json::Document::parse(deletion.marked.json));
  }
  static DeleteOptions with(Propagation propagation) {
    DeleteOptions options;
    options.propagation = propagation;
    return options;
  }
};

constexpr std::string_view vms = "kubevirt.io/virtualmachines";

TEST_F(DeletionTest, WithoutFinalizersItGoesAtOnce) {
  EXPECT_EQ(plan(vms, R"({"metadata":{"name":"a"}})")->removal, Removal::remove);
  EXPECT_EQ(plan(vms, R"({"metadata":{"name":"a"}})", with(Propagation::background))->removal, Removal::remove);
}

TEST_F(DeletionTest, FinalizersHoldIt) {
  const auto deletion = plan(vms, R"({"metadata":{"name":"a","generation":3,"finalizers":["x/y"]}})");
  ASSERT_TRUE(deletion);
  EXPECT_EQ(deletion->removal, Removal::mark);
  const auto document = marked(*deletion);
  const auto& metadata = document.root().at("metadata");
  EXPECT_EQ(json::get_string_or(metadata, "deletionTimestamp"), "2027-01-15T08:00:00Z");
  EXPECT_EQ(json::get_int_or(metadata, "generation", 0), 4);
  EXPECT_TRUE(deletion->marked.deleting);
  const char* waiting = R"({"metadata":{"name":"a","deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["x/y"]}})";
  EXPECT_EQ(plan(vms, waiting)->removal, Removal::keep);
  EXPECT_EQ(plan(vms, waiting, with(Propagation::foreground))->removal, Removal::mark);
}

TEST_F(DeletionTest, PropagationBecomesAFinalizer) {
  const auto foreground = plan(vms, R"({"metadata":{"name":"a"}})", with(Propagation::foreground));
  EXPECT_NE(foreground->marked.json.find(R"("finalizers":["foregroundDeletion"])"), std::string::npos);
  const auto orphan =
      plan(vms, R"({"metadata":{"name":"a","finalizers":["foregroundDeletion"]}})", with(Propagation::orphan));
  EXPECT_NE(orphan->marked.json.find(R"("finalizers":["orphan"])"), std::string::npos);
  EXPECT_EQ(plan(vms, R"({"metadata":{"name":"a","finalizers":["orphan"]}})", with(Propagation::background))->removal,
            Removal::remove);
}

TEST_F(DeletionTest, PreconditionsMustHold) {
  DeleteOptions options;
  options.uid = "other";
  EXPECT_EQ(plan(vms, R"({"metadata":{"name":"a","uid":"u"}})", options).error().code, 409);
  options.uid = "u";
  options.revision = 4;
  EXPECT_EQ(plan(vms, R"({"metadata":{"name":"a","uid":"u"}})", options).error().code, 409);
  options.revision = 5;
  EXPECT_TRUE(plan(vms, R"({"metadata":{"name":"a","uid":"u"}})", options));
}

TEST_F(DeletionTest, ANamespaceIsEmptiedFirst) {
  const char* active = R"({"metadata":{"name":"a"},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}})";
  const auto deletion = plan("namespaces", active);
  ASSERT_EQ(deletion->removal, Removal::mark);
  EXPECT_NE(deletion->marked.json.find(R"("phase":"Terminating")"), std::string::npos);
  EXPECT_EQ(plan("namespaces", deletion->marked.json).error().code, 409);
  EXPECT_EQ(plan("namespaces", R"({"metadata":{"name":"a"}})")->removal, Removal::remove);
  ObjectDraft draft;
  draft.json = R"({"metadata":{"name":"default"}})";
  const auto named = unstored_object({"namespaces", "", "default"}, draft, 1);
  EXPECT_EQ(plan_deletion(*named, *find_resource("namespaces"), {}, now, memory.storage()).error().code, 403);
}

TEST_F(DeletionTest, APodOnANodeGetsTime) {
  const char* running = R"({"metadata":{"name":"a"},"spec":{"nodeName":"n","terminationGracePeriodSeconds":7}})";
  EXPECT_NE(plan("pods", running)->marked.json.find(R"("deletionGracePeriodSeconds":7)"), std::string::npos);
  DeleteOptions at_once;
  at_once.grace_period_seconds = 0;
  EXPECT_EQ(plan("pods", running, at_once)->removal, Removal::remove);
  EXPECT_EQ(plan("pods", R"({"metadata":{"name":"a"},"spec":{}})")->removal, Removal::remove);
  EXPECT_EQ(plan("pods", R"({"metadata":{"name":"a"},"spec":{"nodeName":"n"},"status":{"phase":"Failed"}})")->removal,
            Removal::remove);
}

TEST_F(DeletionTest, TheLastFinalizerCompletesIt) {
  const auto completes = [](std::string_view key, std::string_view text) {
    const auto document = json::Document::parse(text);
    return deletion_completes(document->root().get_object(), *find_resource(key));
  };
  EXPECT_TRUE(completes(vms, R"({"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}})"));
  EXPECT_FALSE(completes(vms, R"({"metadata":{}})"));
  EXPECT_FALSE(completes(vms, R"({"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["a"]}})"));
  EXPECT_FALSE(completes("namespaces", R"({"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"},
                                           "spec":{"finalizers":["kubernetes"]}})"));
  EXPECT_FALSE(completes("pods", R"({"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z",
                                     "deletionGracePeriodSeconds":30}})"));
}

TEST_F(DeletionTest, APodThatGoesTellsWhen) {
  const auto deletion = plan("pods", R"({"metadata":{"name":"a","generation":1},"spec":{}})");
  ASSERT_TRUE(deletion);
  EXPECT_EQ(deletion->removal, Removal::remove);
  const auto document = marked(*deletion);
  const auto& metadata = document.root().at("metadata");
  EXPECT_EQ(json::get_string_or(metadata, "deletionTimestamp"), "2027-01-15T08:00:00Z");
  EXPECT_EQ(json::get_int(metadata, "deletionGracePeriodSeconds"), 0);
  EXPECT_EQ(json::get_int_or(metadata, "generation", 0), 2);
}

TEST_F(DeletionTest, PreconditionsComeFirst) {
  DeleteOptions options;
  options.uid = "";
  EXPECT_EQ(plan(vms, R"({"metadata":{"name":"a","uid":"u"}})", options).error().code, 409);
  options.uid = "other";
  const auto text = json::Document::parse(R"({"metadata":{"name":"default","uid":"u"}})");
  const Resource& namespaces = *find_resource("namespaces");
  const auto ns = unstored_object({"namespaces", "", "default"}, make_draft(text->root().get_object(), namespaces), 5);
  const auto refused = plan_deletion(*ns, namespaces, options, now, memory.storage());
  EXPECT_EQ(refused.error().code, 409);
  EXPECT_EQ(refused.error().details.kind, "namespaces");
  EXPECT_EQ(plan_deletion(*ns, namespaces, {}, now, memory.storage()).error().code, 403);
}

}  // namespace
}  // namespace vg::resources
