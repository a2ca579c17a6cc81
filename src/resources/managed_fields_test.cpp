#include "resources/managed_fields.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "json/access.h"
#include "json/document.h"
#include "json/parse.h"
#include "json/write.h"

namespace vg::resources {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view early = "2026-01-01T00:00:00Z", late = "2026-01-02T00:00:00Z";

class ManagedFields : public ::testing::Test {
 protected:
  const api::Kind& kind_ = *api::find_kind("kubevirt.io", "v1", "VirtualMachine");
  json::Document document_{1 << 16};

  json::Value read(std::string_view text) {
    auto value = json::parse(text, document_.storage());
    EXPECT_TRUE(value) << text;
    return *value;
  }
  static FieldWriter writer(std::string_view manager, std::string_view now = early, std::string_view subresource = "") {
    return {.manager = manager, .api_version = "kubevirt.io/v1", .subresource = subresource, .now = now};
  }
  Result<Applied> apply(const json::Value& live, std::string_view configuration, const FieldWriter& who,
                        bool force = false) {
    return apply_configuration(live, read(configuration), kind_, who, force, document_.storage());
  }
  // As it would be stored.
  json::Value stored(Applied applied) {
    json::ensure_object(applied.object.get_object(), "metadata")["managedFields"] = std::move(applied.managed_fields);
    return std::move(applied.object);
  }
  json::Value applied(const json::Value& live, std::string_view configuration, const FieldWriter& who,
                      bool force = false) {
    auto outcome = apply(live, configuration, who, force);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? stored(std::move(*outcome)) : json::Value();
  }
  // manager/operation@day: fields
  std::vector<std::string> owners(const json::Value& managed_fields) {
    std::vector<std::string> lines;
    for (const json::Value& entry : managed_fields.get_array())
      lines.push_back(fmt::format("{}/{}@{}: {}", json::get_string_or(entry, "manager"),
                                  json::get_string_or(entry, "operation"),
                                  json::get_string_or(entry, "time", "0000-00-never").substr(8, 2),
                                  json::to_text(*json::find(entry, "fieldsV1"))));
    return lines;
  }
  std::vector<std::string> owners_of(const json::Value& object) {
    return owners(*json::find_path(object, {"metadata", "managedFields"}));
  }
  json::Value nothing_ = json::Value(json::Object(document_.storage()));
};

TEST_F(ManagedFields, TheFirstApplyOwnsWhatItSays) {
  const auto object =
      applied(nothing_, R"({"metadata":{"name":"a","labels":{"x":"1"}},"spec":{"running":true}})", writer("one"));
  EXPECT_THAT(owners_of(object),
              ElementsAre(R"(one/Apply@01: {"f:metadata":{"f:labels":{"f:x":{}}},"f:spec":{"f:running":{}}})"));
}

TEST_F(ManagedFields, AnotherManagerMayNotChangeWhatIsOwned) {
  const auto object = applied(nothing_, R"({"spec":{"runStrategy":"Halted"}})", writer("one"));
  const auto refused = apply(object, R"({"spec":{"runStrategy":"Manual"}})", writer("two"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 409);
  EXPECT_EQ(refused.error().reason, "Conflict");
  ASSERT_EQ(refused.error().details.causes.size(), 1u);
  EXPECT_EQ(refused.error().details.causes.front().reason, "FieldManagerConflict");
  EXPECT_EQ(refused.error().details.causes.front().field, ".spec.runStrategy");
  EXPECT_THAT(refused.error().details.causes.front().message, HasSubstr("\"one\""));
}

TEST_F(ManagedFields, TheSameValueIsSharedAndForceTakesOver) {
  const auto object = applied(nothing_, R"({"spec":{"runStrategy":"Halted"}})", writer("one"));
  EXPECT_THAT(owners_of(applied(object, R"({"spec":{"runStrategy":"Halted"}})", writer("two"))),
              ElementsAre(R"(two/Apply@ne: {"f:spec":{"f:runStrategy":{}}})",  // it changed nothing
                          R"(one/Apply@01: {"f:spec":{"f:runStrategy":{}}})"));
  const auto taken = applied(object, R"({"spec":{"runStrategy":"Manual"}})", writer("two", late), true);
  EXPECT_THAT(owners_of(taken), ElementsAre(R"(two/Apply@02: {"f:spec":{"f:runStrategy":{}}})"));
  EXPECT_EQ(json::as_string(json::find_path(taken, {"spec", "runStrategy"})), "Manual");
}

TEST_F(ManagedFields, WhatAManagerNoLongerSaysGoes) {
  auto object =
      applied(nothing_, R"({"metadata":{"labels":{"a":"1","b":"1"}},"spec":{"running":true}})", writer("one"));
  object = applied(object, R"({"metadata":{"labels":{"b":"1"}}})", writer("two"));
  object = applied(object, R"({"metadata":{"labels":{"c":"1"}},"spec":{"running":true}})", writer("one", late));
  EXPECT_EQ(json::to_text(*json::find_path(object, {"metadata", "labels"})), R"({"b":"1","c":"1"})");
}

TEST_F(ManagedFields, ConfigurationsThatOnlyNameTheObjectKeepItsIdentity) {
  constexpr std::string_view named = R"({"metadata":{"name":"a"}})";
  auto object =
      applied(nothing_, R"({"metadata":{"name":"a","labels":{"x":"1"}},"spec":{"running":true}})", writer("one"));
  json::ensure_object(object.get_object(), "metadata")["uid"] = "u";
  object = applied(object, named, writer("one", late));
  EXPECT_EQ(json::to_text(*json::find_path(object, {"metadata", "uid"})), "\"u\"");
  EXPECT_EQ(json::to_text(*json::find_path(object, {"metadata", "name"})), "\"a\"");
  EXPECT_EQ(json::find_path(object, {"metadata", "labels"}), nullptr);
  EXPECT_EQ(json::find_path(object, {"spec"}), nullptr);
}

TEST_F(ManagedFields, WhatWasThereBeforeTheFirstApplyIsNotTakenSilently) {
  const auto live = read(R"({"metadata":{"name":"a"},"spec":{"running":true}})");
  EXPECT_FALSE(apply(live, R"({"spec":{"running":false}})", writer("one")));
  EXPECT_THAT(owners_of(applied(live, R"({"metadata":{"labels":{"x":"1"}}})", writer("one"))),
              ElementsAre(R"(one/Apply@01: {"f:metadata":{"f:labels":{"f:x":{}}}})",
                          R"(before-first-apply/Update@01: {"f:spec":{".":{},"f:running":{}}})"));
}

TEST_F(ManagedFields, ApplyingTheSameAgainChangesNothing) {
  constexpr std::string_view configuration = R"({"spec":{"running":true}})";
  const auto object = applied(nothing_, configuration, writer("one"));
  EXPECT_EQ(applied(object, configuration, writer("one", late)), object);
}

TEST_F(ManagedFields, AnUpdateTakesOverWhatItChanges) {
  const auto object = applied(nothing_, R"({"spec":{"running":true},"metadata":{"labels":{"x":"1"}}})", writer("one"));
  json::Value changed(object, document_.storage());
  json::find_path(changed, {"spec"})->get_object()["running"] = false;
  const auto managed = track_change(object, changed, kind_, writer("kubectl-edit", late), document_.storage());
  ASSERT_TRUE(managed);
  EXPECT_THAT(owners(*managed), ElementsAre(R"(one/Apply@01: {"f:metadata":{"f:labels":{"f:x":{}}}})",
                                            R"(kubectl-edit/Update@02: {"f:spec":{"f:running":{}}})"));
}

TEST_F(ManagedFields, NoNotesAreKeptBeforeTheFirstApplyOrAfterAReset) {
  const auto live = read(R"({"spec":{"running":true}})");
  EXPECT_FALSE(track_change(live, read(R"({"spec":{"running":false}})"), kind_, writer("x"), document_.storage()));
  const auto object = applied(nothing_, R"({"spec":{"running":true}})", writer("one"));
  EXPECT_FALSE(track_change(object, read(R"({"metadata":{"managedFields":[{}]},"spec":{"running":true}})"), kind_,
                            writer("x"), document_.storage()));
}

TEST_F(ManagedFields, WhoeverWroteInAVersionThatIsNotThereIsForgotten) {
  const json::Value live = read(
      R"({"metadata":{"name":"a","labels":{"x":"1"},"managedFields":[{"manager":"old","operation":"Apply",
          "apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{}}}]}})");
  const auto refusal = apply(live, R"({"metadata":{"name":"a","labels":{"x":"2"}}})", writer("one"));
  ASSERT_FALSE(refusal);
  EXPECT_THAT(refusal.error().message, HasSubstr("before-first-apply"));
}

TEST_F(ManagedFields, TheStatusBelongsToWhoeverWritesTheSubresource) {
  auto object = applied(nothing_, R"({"spec":{"running":true},"status":{"ready":true}})", writer("one"));
  EXPECT_THAT(owners_of(object), ElementsAre(R"(one/Apply@01: {"f:spec":{"f:running":{}}})"));
  object =
      applied(object, R"({"spec":{"running":false},"status":{"ready":true}})", writer("two", early, "status"), true);
  EXPECT_THAT(owners_of(object), ElementsAre(R"(one/Apply@01: {"f:spec":{"f:running":{}}})",
                                             R"(two/Apply@01: {"f:status":{"f:ready":{}}})"));
}

TEST_F(ManagedFields, WhatNobodyOwnsStaysWhereAnObjectIsLeftEmpty) {
  auto object = applied(nothing_, R"({"status":{"created":true}})", writer("one", early, "status"));
  object.at("status").as_object()["printableStatus"] = "Stopped";  // as the kind's default says
  object = applied(object, R"({"status":{}})", writer("one", late, "status"));
  EXPECT_EQ(json::to_text(object.at("status")), R"({"printableStatus":"Stopped"})");
}

TEST_F(ManagedFields, ManyUpdatersBecomeOne) {
  auto object = applied(nothing_, R"({"spec":{"running":true}})", writer("one"));
  for (int i = 0; i < 15; ++i) {
    json::Value changed(object, document_.storage());
    json::ensure_object(json::ensure_object(changed.get_object(), "metadata"), "labels")[fmt::format("l{}", i)] = "x";
    const std::string name = fmt::format("m{}", i), now = fmt::format("2026-01-{:02}T00:00:00Z", i + 2);
    auto managed = track_change(object, changed, kind_, writer(name, now), document_.storage());
    ASSERT_TRUE(managed);
    changed.get_object()["metadata"].get_object()["managedFields"] = std::move(*managed);
    object = std::move(changed);
  }
  const auto lines = owners_of(object);
  EXPECT_EQ(lines.size(), 11u);  // one who applied, ten who updated
  EXPECT_THAT(lines[1], HasSubstr("ancient-changes"));
}

TEST(ManagerName, IsWhatTheClientSaysOrItsProgram) {
  EXPECT_EQ(manager_name("argo", "kubectl/v1"), "argo");
  EXPECT_EQ(manager_name("", "kubectl/v1.32.0 (linux/amd64)"), "kubectl");
  EXPECT_EQ(manager_name("", ""), "unknown");
}

TEST_F(ManagedFields, AnApplyThatCannotBeStoredIsRefusedBeforeTheWork) {
  std::string text = R"({"metadata":{"name":"v","finalizers":[)";
  for (int i = 0; i < 200'000; ++i) text += fmt::format(R"({}"a/{}")", i == 0 ? "" : ",", i);
  const auto refused = apply(json::Value(json::Object()), text + "]}}", writer("one"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 413);
}

}  // namespace
}  // namespace vg::resources
