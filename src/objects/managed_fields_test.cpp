#include "objects/managed_fields.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <optional>

#include "json/access.h"
#include "json/document.h"
#include "json/parse.h"
#include "json/write.h"

namespace vg::resources {
namespace {

using ::testing::Contains;
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
  EXPECT_EQ(manager_name("", "Mozilla 5"), "Mozilla 5");
  for (const std::string_view none : {"", "/1.0", "\t/1", "\xE2\x80\x8B"}) EXPECT_EQ(manager_name("", none), "unknown");
  EXPECT_EQ(manager_name("",
                         "a\tb\x7F\xC2\xA0"
                         "c\xC3\xA9/1"),
            "abc\xC3\xA9");
  EXPECT_EQ(manager_name("", "a\xFF"), "a\xEF\xBF\xBD");
  // What does not fit as a whole is left out.
  EXPECT_EQ(manager_name("", std::string(200, 'x')), std::string(128, 'x'));
  EXPECT_EQ(manager_name("", std::string(127, 'x') + "\xC3\xA9y"), std::string(127, 'x'));
}

// --- from the creation on

TEST_F(ManagedFields, WhoeverMakesAnObjectOwnsAllOfIt) {
  const auto managed = track_creation(
      read(R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"a","namespace":"n","uid":"u",
               "generateName":"g","finalizers":["x/y"],"ownerReferences":[{"uid":"o"}],"labels":{}},
               "spec":{"running":true,"template":{"spec":{"volumes":[{"name":"v"}]}}},"status":{"ready":true}})"),
      kind_, writer("kubectl-create"), document_.storage());
  ASSERT_TRUE(managed);
  EXPECT_THAT(
      owners(*managed),
      ElementsAre(R"(kubectl-create/Update@01: {"f:metadata":{"f:finalizers":{".":{},"v:\"x/y\"":{}},)"
                  R"("f:generateName":{},"f:labels":{},"f:ownerReferences":{".":{},"k:{\"uid\":\"o\"}":{}}},)"
                  R"("f:spec":{".":{},"f:running":{},"f:template":{".":{},"f:spec":{".":{},"f:volumes":{}}}}})"));
}

TEST_F(ManagedFields, WhatGoNeverLeavesOutIsNobodys) {
  const api::Kind& pod = *api::find_kind("", "v1", "Pod");
  FieldWriter who = writer("kubectl-run");
  who.api_version = "v1";
  const auto managed = track_creation(
      read(R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i","resources":{},"ports":
               [{"containerPort":80,"protocol":"TCP"}]}]},"status":{}})"),
      pod, who, document_.storage());
  ASSERT_TRUE(managed);
  EXPECT_THAT(
      owners(*managed),
      ElementsAre(
          R"(kubectl-run/Update@01: {"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{},)"
          R"("f:ports":{".":{},"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},)"
          R"("f:protocol":{}}},"f:resources":{}}}}})"));
}

TEST_F(ManagedFields, NobodyOwnsWhatSaysNothing) {
  EXPECT_FALSE(track_creation(read(R"({"kind":"VirtualMachine","metadata":{"name":"a"}})"), kind_, writer("one"),
                              document_.storage()));
}

TEST_F(ManagedFields, WhatIsSentWithANewObjectIsTakenWhereItCanBeRead) {
  const auto created = [&](std::string_view entry) {
    const auto managed =
        track_creation(read(fmt::format(R"({{"metadata":{{"managedFields":{}}},"spec":{{"running":true}}}})", entry)),
                       kind_, writer("one", late), document_.storage());
    return managed ? owners(*managed) : std::vector<std::string>();
  };
  const std::string own = R"(one/Update@02: {"f:spec":{".":{},"f:running":{}}})";
  EXPECT_THAT(created(R"([{"manager":"two","operation":"Update","apiVersion":"kubevirt.io/v1","time":
                           "2026-01-01T02:00:00+02:00","fieldsType":"FieldsV1",
                           "fieldsV1":{"f:spec":{"f:running":{},"f:runStrategy":{},"z:new":{}}}}])"),
              ElementsAre(R"(two/Update@01: {"f:spec":{"f:runStrategy":{}}})", own));
  for (const std::string_view none : {"[]", "[{}]", R"([{"manager":""}])", R"([{"manager":"two"}])", "[1]", "{}",
                                      R"([{"operation":"Update","apiVersion":"kubevirt.io/v1","fieldsType":"FieldsV1",)"
                                      R"("fieldsV1":{"f":{}}}])"})
    EXPECT_THAT(created(none), ElementsAre(own)) << none;
}

TEST_F(ManagedFields, ATooLongListIsNotKept) {
  std::string text = R"({"metadata":{"name":"v","finalizers":[)";
  for (int i = 0; i < 120'000; ++i) text += fmt::format(R"({}"{}")", i == 0 ? "" : ",", i);
  EXPECT_FALSE(track_creation(read(text + "]}}"), kind_, writer("one"), document_.storage()));
}

// --- changes

class ManagedChanges : public ManagedFields {
 protected:
  json::Value object_ = created();

  json::Value created() {
    auto object =
        read(R"({"metadata":{"name":"a","labels":{"x":"1"}},"spec":{"runStrategy":"Halted","running":true}})");
    put(object, track_creation(object, kind_, writer("maker"), document_.storage()));
    return object;
  }
  static void put(json::Value& object, std::optional<json::Value> managed) {
    json::Object& metadata = json::ensure_object(object.get_object(), "metadata");
    json::erase(metadata, "managedFields");
    if (managed) metadata["managedFields"] = std::move(*managed);
  }
  // Changes one thing and keeps what became of the owners.
  std::vector<std::string> change(std::initializer_list<std::string_view> path, std::string_view name,
                                  std::optional<json::Value> value, const FieldWriter& who) {
    json::Value wanted(object_, document_.storage());
    json::Object& parent = json::ensure_path(wanted.get_object(), path);
    if (value)
      parent[name] = std::move(*value);
    else
      json::erase(parent, name);
    put(wanted, track_change(object_, wanted, kind_, who, document_.storage()));
    object_ = std::move(wanted);
    return json::find_path(object_, {"metadata", "managedFields"}) ? owners_of(object_) : std::vector<std::string>();
  }
};

TEST_F(ManagedChanges, OnlyWhatIsWrittenHasATime) {
  const std::string labels = R"("f:metadata":{"f:labels":{".":{},"f:x":{}}})";
  // A new value of one's own field.
  EXPECT_THAT(change({"spec"}, "runStrategy", "Manual", writer("maker", late)),
              ElementsAre("maker/Update@02: {" + labels + R"(,"f:spec":{".":{},"f:runStrategy":{},"f:running":{}}})"));
  // The same value again.
  EXPECT_THAT(change({"spec"}, "runStrategy", "Manual", writer("other", "2026-01-03T00:00:00Z")),
              ElementsAre("maker/Update@02: {" + labels + R"(,"f:spec":{".":{},"f:runStrategy":{},"f:running":{}}})"));
  // Taking away.
  EXPECT_THAT(change({"spec"}, "running", std::nullopt, writer("maker", "2026-01-04T00:00:00Z")),
              ElementsAre("maker/Update@02: {" + labels + R"(,"f:spec":{".":{},"f:runStrategy":{}}})"));
  EXPECT_THAT(change({"metadata"}, "labels", std::nullopt, writer("other", "2026-01-05T00:00:00Z")),
              ElementsAre(R"(maker/Update@02: {"f:spec":{".":{},"f:runStrategy":{}}})"));
}

TEST_F(ManagedChanges, VersionsAndSubresourcesHaveEntriesOfTheirOwn) {
  FieldWriter older = writer("maker", late);
  older.api_version = "kubevirt.io/v1alpha3";
  EXPECT_THAT(
      change({"spec"}, "running", false, older),
      ElementsAre(
          R"(maker/Update@01: {"f:metadata":{"f:labels":{".":{},"f:x":{}}},"f:spec":{".":{},"f:runStrategy":{}}})",
          R"(maker/Update@02: {"f:spec":{"f:running":{}}})"));
  EXPECT_THAT(change({"status"}, "ready", true, writer("maker", late, "status")),
              Contains(R"(maker/Update@02: {"f:status":{".":{},"f:ready":{}}})"));
  // What the object itself says of its status counts for nothing.
  EXPECT_EQ(change({"status"}, "ready", false, writer("maker", late)).size(), 3u);
}

TEST_F(ManagedChanges, OwnersAreNotForgottenThroughASubresource) {
  EXPECT_EQ(change({"metadata"}, "managedFields", json::Array(), writer("maker", late, "status")).size(), 1u);
  EXPECT_EQ(change({"metadata"}, "managedFields", json::Array{json::Object()}, writer("maker", late)).size(), 0u);
}

TEST_F(ManagedChanges, WhateverOnlyAsksIsKeptAsItIs) {
  const json::Value before(object_, document_.storage());
  json::Value wanted(object_, document_.storage());
  json::erase(wanted.at("metadata").as_object(), "managedFields");
  EXPECT_EQ(track_change(object_, wanted, kind_, writer("other", late), document_.storage()),
            before.at("metadata").at("managedFields"));
}

TEST_F(ManagedChanges, TheOldestUpdatesOfAVersionBecomeOne) {
  for (int i = 0; i < 12; ++i) {
    const std::string name = fmt::format("m{:02}", i), now = fmt::format("2026-01-{:02}T00:00:00Z", i + 3);
    FieldWriter who = writer(name, now);
    if (i % 2 != 0) who.api_version = "kubevirt.io/v1alpha3";
    change({"metadata", "labels"}, fmt::format("l{}", i), "x", who);
  }
  // 13 who updated, of whom the oldest of each version were put together until ten were left.
  const auto lines = owners_of(object_);
  EXPECT_EQ(lines.size(), 10u);
  const auto ancient =
      std::ranges::count_if(lines, [](const auto& line) { return line.starts_with("ancient-changes"); });
  EXPECT_EQ(ancient, 2);
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(
        std::ranges::count_if(lines, [&](const auto& line) { return line.contains(fmt::format("\"f:l{}\"", i)); }), 1)
        << i;
}

TEST_F(ManagedChanges, TimesAloneAreNoDifference) {
  const json::Value before(object_, document_.storage());
  change({"spec"}, "runStrategy", "Manual", writer("maker", late));
  const json::Value &one = before.at("metadata").at("managedFields"), &two = object_.at("metadata").at("managedFields");
  EXPECT_NE(one, two);
  EXPECT_TRUE(same_owners(&one, &two));
  change({"spec"}, "runStrategy", "Always", writer("other", late));
  EXPECT_FALSE(same_owners(&one, &object_.at("metadata").at("managedFields")));
  EXPECT_TRUE(same_owners(nullptr, nullptr));
  EXPECT_FALSE(same_owners(&one, nullptr));
}

TEST_F(ManagedFields, TheStatusOfABuiltInKindAlsoTakesSomeMetadata) {
  const api::Kind& pod = *api::find_kind("", "v1", "Pod");
  FieldWriter who = writer("kubelet", late, "status");
  who.api_version = "v1";
  const auto old = read(R"({"metadata":{"managedFields":[{"manager":"one","operation":"Update","apiVersion":"v1",
      "fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:nodeName":{}}}}]},"spec":{"nodeName":"n"}})");
  const auto managed = track_change(old, read(R"({"metadata":{"labels":{"x":"1"},"ownerReferences":[{"uid":"u"}]},
      "spec":{"nodeName":"m"},"status":{"phase":"Running"}})"),
                                    pod, who, document_.storage());
  ASSERT_TRUE(managed);
  EXPECT_EQ(owners(*managed).back(),
            R"(kubelet/Update@02: {"f:metadata":{"f:labels":{".":{},"f:x":{}}},"f:status":{".":{},"f:phase":{}}})");
}

// --- the annotation of client-side apply

class LastApplied : public ManagedFields {
 protected:
  static constexpr std::string_view annotation = "kubectl.kubernetes.io/last-applied-configuration";
  static constexpr std::string_view said =
      R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"a"},"spec":{"runStrategy":"Halted"}})";

  json::Value made(bool with_owners) {
    auto object =
        read(R"({"metadata":{"name":"a","labels":{"theirs":"1"}},"spec":{"runStrategy":"Halted","running":true}})");
    json::ensure_path(object.get_object(), {"metadata", "annotations"})[annotation] = said;
    if (with_owners)
      object.at("metadata").as_object()["managedFields"] =
          *track_creation(object, kind_, writer("kubectl-client-side-apply"), document_.storage());
    return object;
  }
  static constexpr std::string_view changed =
      R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"a"},"spec":{"runStrategy":"Manual"}})";
};

TEST_F(LastApplied, WhatItSaysMayBeTakenOverByKubectl) {
  const auto live = made(true);
  EXPECT_FALSE(apply(live, changed, writer("flux")));
  const auto object = applied(live, changed, writer("kubectl", late));
  EXPECT_EQ(json::as_string(json::find_path(object, {"spec", "runStrategy"})), "Manual");
  // And it is kept up to date for whoever goes back.
  EXPECT_EQ(json::as_string(json::find_path(object, {"metadata", "annotations", annotation})),
            std::string(changed) + "\n");
  // Not what somebody else changed since.
  auto theirs = made(true);
  theirs.at("spec").as_object()["runStrategy"] = "Always";
  EXPECT_FALSE(apply(theirs, changed, writer("kubectl")));
  // Nor what it does not say.
  EXPECT_FALSE(apply(live, R"({"apiVersion":"kubevirt.io/v1","spec":{"running":false}})", writer("kubectl")));
}

TEST_F(LastApplied, WithoutOwnersWhatItSaysIsToldApart) {
  const auto object = applied(made(false), R"({"metadata":{"annotations":{"y":"1"}}})", writer("one", late));
  EXPECT_THAT(
      owners_of(object),
      ElementsAre(R"(one/Apply@02: {"f:metadata":{"f:annotations":{"f:y":{}}}})",
                  R"(before-first-apply/Update@02: {"f:metadata":{"f:annotations":{},"f:labels":{".":{},)"
                  R"("f:theirs":{}}},"f:spec":{".":{},"f:running":{}}})",
                  R"(kubectl-client-side-apply/Update@02: {"f:metadata":{"f:annotations":{)"
                  R"("f:kubectl.kubernetes.io/last-applied-configuration":{}}},"f:spec":{"f:runStrategy":{}}})"));
}

TEST_F(ManagedFields, WhoeverAppliesIsTheSameInEveryVersion) {
  auto object = applied(nothing_, R"({"metadata":{"labels":{"a":"1","b":"1"}}})", writer("one"));
  FieldWriter older = writer("one", late);
  older.api_version = "kubevirt.io/v1alpha3";
  object = applied(object, R"({"metadata":{"labels":{"b":"1"}}})", older);
  EXPECT_THAT(owners_of(object), ElementsAre(R"(one/Apply@02: {"f:metadata":{"f:labels":{"f:b":{}}}})"));
  EXPECT_EQ(json::to_text(object.at("metadata").at("labels")), R"({"b":"1"})");
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
