#include "objects/object_meta.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <ctime>

#include "base/limits.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"

namespace vg::resources {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::vector<std::string> shown(const std::vector<StatusCause>& causes) {
  std::vector<std::string> out;
  for (const auto& cause : causes) out.push_back(cause.reason + " " + cause.field);
  return out;
}

std::vector<std::string> problems(std::string_view metadata, std::string_view key = "kubevirt.io/virtualmachines") {
  const auto document = json::Document::parse(metadata);
  std::vector<StatusCause> causes;
  check_metadata(document->root().get_object(), *find_resource(key), causes);
  return shown(causes);
}

std::vector<std::string> changes(std::string_view metadata, std::string_view old) {
  const auto now = json::Document::parse(metadata);
  const auto before = json::Document::parse(old);
  std::vector<StatusCause> causes;
  check_metadata_change(now->root().get_object(), before->root().get_object(), causes);
  return shown(causes);
}

TEST(Metadata, NamesFollowTheKind) {
  EXPECT_THAT(problems(R"({"name":"a.b-1","namespace":"d"})"), IsEmpty());
  EXPECT_THAT(problems(R"({"namespace":"d"})"), ElementsAre("FieldValueRequired metadata.name"));
  EXPECT_THAT(problems(R"({"name":"Bad_Name","namespace":"d"})"), ElementsAre("FieldValueInvalid metadata.name"));
  EXPECT_THAT(problems(R"({"name":"a"})"), ElementsAre("FieldValueRequired metadata.namespace"));
  EXPECT_THAT(problems(R"({"name":"a.b"})", "namespaces"), ElementsAre("FieldValueInvalid metadata.name"));
  EXPECT_THAT(problems(R"({"name":"1a","namespace":"d"})", "services"), ElementsAre("FieldValueInvalid metadata.name"));
  for (const char* name : {"10.0.0.1", "2001:db8::1"})
    EXPECT_THAT(problems(fmt::format(R"({{"name":"{}"}})", name), "networking.k8s.io/ipaddresses"), IsEmpty()) << name;
  for (const char* name : {"x", "10.0.0.01", "2001:DB8::1", "2001:db8:0::1", "::ffff:10.0.0.1"})
    EXPECT_THAT(problems(fmt::format(R"({{"name":"{}"}})", name), "networking.k8s.io/ipaddresses"),
                ElementsAre("FieldValueInvalid metadata.name"))
        << name;
  EXPECT_THAT(problems(R"({"name":"system:x"})", "rbac.authorization.k8s.io/clusterroles"), IsEmpty());
  EXPECT_THAT(problems(R"({"name":"Bad_Name","namespace":"d"})", "policy/poddisruptionbudgets"), IsEmpty());
  EXPECT_THAT(problems(R"({"name":"a/b","namespace":"d"})", "policy/poddisruptionbudgets"),
              ElementsAre("FieldValueInvalid metadata.name"));
  EXPECT_THAT(problems(R"({"name":"a","namespace":"d"})", "nodes"),
              ElementsAre("FieldValueForbidden metadata.namespace"));
  EXPECT_THAT(problems(R"({"name":"a-x","generateName":"a-","namespace":"d"})"), IsEmpty());
  EXPECT_THAT(problems(R"({"name":"a-x","generateName":"A","namespace":"d"})"),
              ElementsAre("FieldValueInvalid metadata.generateName"));
}

TEST(Metadata, LabelsAnnotationsAndFinalizersAreChecked) {
  EXPECT_THAT(problems(R"({"name":"a","namespace":"d","labels":{"bad key!":"v"}})"),
              ElementsAre("FieldValueInvalid metadata.labels"));
  EXPECT_THAT(problems(R"({"name":"a","namespace":"d","labels":{"k":"bad value!"}})"),
              ElementsAre("FieldValueInvalid metadata.labels"));
  EXPECT_THAT(problems(R"({"name":"a","namespace":"d","annotations":{"bad key!":"v","Example.com/Ok":"any thing"}})"),
              ElementsAre("FieldValueInvalid metadata.annotations"));
  EXPECT_THAT(problems(R"({"name":"a","namespace":"d","finalizers":["bad one!","example.com/x"]})"),
              ElementsAre("FieldValueInvalid metadata.finalizers"));
  EXPECT_THAT(problems(R"({"name":"a","namespace":"d","finalizers":["x/y","orphan","bare"]})", "configmaps"),
              ElementsAre("FieldValueInvalid metadata.finalizers[2]"));
  EXPECT_THAT(problems(R"({"name":"a","namespace":"d","finalizers":["bare"]})"), IsEmpty());
  EXPECT_THAT(problems(R"({"name":"a","namespace":"d","finalizers":["orphan","foregroundDeletion"]})"),
              ElementsAre("FieldValueInvalid metadata.finalizers"));
  const std::string large = R"({"name":"a","namespace":"d","annotations":{"k":")" + std::string(300'000, 'x') + "\"}}";
  EXPECT_THAT(problems(large), ElementsAre("FieldValueTooLong metadata.annotations"));
}

TEST(Metadata, FinalizersWithoutADomainAreWarnedOfOnce) {
  const auto before = json::Document::parse(R"({"finalizers":["old"]})");
  const auto after = json::Document::parse(R"({"finalizers":["old","new","x/y"]})");
  std::vector<std::string> warnings;
  add_finalizer_warnings(after->root().get_object(), before->root().get_object(), warnings);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("\"new\"")));
}

TEST(Metadata, RepeatedOwnersCountOnce) {
  auto document = json::Document::parse(R"({"ownerReferences":[{"uid":"a"},{"uid":"b"},{"uid":"a"}]})");
  json::Object& metadata = document->root().get_object();
  EXPECT_TRUE(drop_repeated_owners(metadata));
  EXPECT_EQ(json::to_text(metadata["ownerReferences"]), R"([{"uid":"a"},{"uid":"b"}])");
  EXPECT_FALSE(drop_repeated_owners(metadata));
}

TEST(Metadata, OwnersMustBeWhole) {
  EXPECT_THAT(problems(R"({"name":"a","namespace":"d",
                           "ownerReferences":[{"apiVersion":"a/b/c","kind":"K","name":"p","uid":"u"}]})"),
              ElementsAre("FieldValueInvalid metadata.ownerReferences.apiVersion"));
  EXPECT_THAT(
      problems(R"({"name":"a","namespace":"d","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p"}]})"),
      ElementsAre("FieldValueInvalid metadata.ownerReferences.uid"));
  EXPECT_THAT(problems(R"({"name":"a","namespace":"d","ownerReferences":[{}]})"),
              UnorderedElementsAre("FieldValueInvalid metadata.ownerReferences.apiVersion",
                                   "FieldValueInvalid metadata.ownerReferences.kind",
                                   "FieldValueInvalid metadata.ownerReferences.name",
                                   "FieldValueInvalid metadata.ownerReferences.uid"));
  EXPECT_THAT(problems(R"({"name":"a","namespace":"d","ownerReferences":[
                {"apiVersion":"v1","kind":"Pod","name":"p","uid":"1","controller":true},
                {"apiVersion":"v1","kind":"Pod","name":"q","uid":"2","controller":true}]})"),
              ElementsAre("FieldValueInvalid metadata.ownerReferences"));
}

TEST(Metadata, SomeThingsNeverChange) {
  EXPECT_THAT(changes(R"({"name":"a","uid":"u"})", R"({"name":"a","uid":"u"})"), IsEmpty());
  EXPECT_THAT(changes(R"({"name":"b","uid":"v"})", R"({"name":"a","uid":"u"})"),
              ElementsAre("FieldValueInvalid metadata.name", "FieldValueInvalid metadata.uid"));
  EXPECT_THAT(changes(R"({"deletionTimestamp":"2026-01-01T00:00:00Z"})", R"({})"),
              ElementsAre("FieldValueInvalid metadata.deletionTimestamp"));
}

TEST(Metadata, FinalizersOnlyGoWhileAnObjectIsDeleted) {
  const char* deleting = R"({"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["x/a","x/b"]})";
  EXPECT_THAT(changes(R"({"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["x/b"]})", deleting), IsEmpty());
  EXPECT_THAT(changes(R"({"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["x/a","x/c"]})", deleting),
              ElementsAre("FieldValueForbidden metadata.finalizers"));
  EXPECT_THAT(changes(R"({"finalizers":["x/c"]})", R"({"finalizers":[]})"), IsEmpty());
}

TEST(Metadata, TheServerSetsWhatIsItsOwn) {
  auto document = json::Document::parse(
      R"({"name":"a","uid":"mine","generation":9,"resourceVersion":"5","selfLink":"/x","managedFields":[],
          "deletionTimestamp":"2026-01-01T00:00:00Z"})");
  json::Object& metadata = document->root().get_object();
  stamp_new_object(metadata, "u", "2026-02-02T00:00:00Z");
  EXPECT_EQ(json::get_string_or(metadata, "uid"), "u");
  EXPECT_EQ(json::get_string_or(metadata, "creationTimestamp"), "2026-02-02T00:00:00Z");
  for (const char* gone : {"resourceVersion", "selfLink", "managedFields", "deletionTimestamp"})
    EXPECT_FALSE(metadata.contains(gone)) << gone;
}

TEST(Finalizers, AreASet) {
  auto document = json::Document::parse(R"({"finalizers":["a"]})");
  json::Object& metadata = document->root().get_object();
  EXPECT_FALSE(add_finalizer(metadata, "a"));
  EXPECT_TRUE(add_finalizer(metadata, "b"));
  EXPECT_TRUE(remove_finalizer(metadata, "a"));
  EXPECT_FALSE(remove_finalizer(metadata, "a"));
  EXPECT_TRUE(remove_finalizer(metadata, "b"));
  EXPECT_FALSE(metadata.contains("finalizers"));
}

TEST(Finalizers, ManyAreWarnedOfSoonAndNotAllOfThem) {
  std::string text = R"({"finalizers":[)";
  for (int i = 0; i < 100'000; ++i) text += fmt::format(R"({}"f{}")", i == 0 ? "" : ",", i);
  const auto document = json::Document::parse(text + "]}");
  const json::Object& metadata = document->root().get_object();
  std::vector<std::string> warnings;
  const std::clock_t began = std::clock();  // CPU time: a busy machine is no defect
  add_finalizer_warnings(metadata, metadata, warnings);
  EXPECT_TRUE(warnings.empty());
  add_finalizer_warnings(metadata, json::Object(), warnings);
  EXPECT_EQ(warnings.size(), limits::causes_max);
  EXPECT_LT(std::clock() - began, 5 * CLOCKS_PER_SEC);
}

}  // namespace
}  // namespace vg::resources
