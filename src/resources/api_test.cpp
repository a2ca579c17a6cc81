#include "resources/api.h"

#include <gmock/gmock.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdlib>

#include "objects/draft.h"
#include "resources/api_test_support.h"
#include "resources/output.h"

namespace vg::resources::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

// --- who may come in -------------------------------------------------------------------------------------------------

TEST_F(ApiTest, NobodyComesInWithoutCredentials) {
  for (const char* target : {"/api", "/apis", "/api/v1/namespaces", vms, "/openapi/v2", "/apis/none.io/v1"}) {
    TestExchange anonymous((*cores_)[0], "GET", target, {}, {});
    start(anonymous).get();
    EXPECT_EQ(anonymous.response().status, 401) << target;
    TestExchange wrong((*cores_)[0], "GET", target, {}, {{"Authorization", "Bearer wrong"}});
    start(wrong).get();
    EXPECT_EQ(wrong.response().status, 401) << target;
  }
}

TEST_F(ApiTest, WhoMayNotIsToldWhat) {
  authorizer_.forbidden = {"create virtualmachines", "delete virtualmachines"};
  const auto created = post(vms, vm("a"));
  EXPECT_EQ(created.status, 403);
  EXPECT_EQ(created.reason(), "Forbidden");
  EXPECT_EQ(created.at({"details", "kind"}), "virtualmachines");
  EXPECT_EQ(created.at({"details", "group"}), "kubevirt.io");
  EXPECT_EQ(call("DELETE", std::string(vms) + "/a").at({"details", "name"}), "a");
}

TEST_F(ApiTest, NotKnowingWhetherSomebodyMayIsNoLeave) {
  authorizer_.away = true;
  EXPECT_EQ(post(vms, vm("a")).status, 503);
  authorizer_.away = false;
  EXPECT_EQ(get(std::string(vms) + "/a").status, 404);
}

// --- objects ---------------------------------------------------------------------------------------------------------

TEST_F(ApiTest, AnObjectIsCreatedReadReplacedAndDeleted) {
  const auto created = post(vms, vm("a", R"(,"uid":"x","creationTimestamp":"2001-01-01T00:00:00Z","selfLink":"/x")"));
  ASSERT_EQ(created.status, 201) << created.text;
  EXPECT_EQ(created.at({"metadata", "generation"}), "1");
  EXPECT_NE(created.at({"metadata", "uid"}), "x");
  EXPECT_EQ(created.at({"metadata", "selfLink"}), "(absent)");
  EXPECT_EQ(post(vms, vm("a")).reason(), "AlreadyExists");

  const auto read = get(std::string(vms) + "/a");
  ASSERT_EQ(read.status, 200);
  EXPECT_EQ(read.text, created.text);

  std::string changed = read.text;
  changed.replace(changed.find("Halted"), 6, "Manual");
  const auto updated = call("PUT", std::string(vms) + "/a", changed);
  ASSERT_EQ(updated.status, 200) << updated.text;
  EXPECT_EQ(updated.at({"metadata", "generation"}), "2");
  EXPECT_EQ(call("PUT", std::string(vms) + "/a", changed).reason(), "Conflict");
  EXPECT_EQ(call("PUT", std::string(vms) + "/a", vm("a")).causes(),
            std::set<std::string>{"FieldValueInvalid metadata.resourceVersion"});
  EXPECT_EQ(call("PUT", std::string(vms) + "/b", vm("b")).status, 404);
  EXPECT_EQ(call("PUT", std::string(vms) + "/a", vm("b")).status, 400);

  const auto deleted = call("DELETE", std::string(vms) + "/a");
  EXPECT_EQ(deleted.status, 200);
  EXPECT_EQ(deleted.at({"status"}), "Success");
  EXPECT_EQ(deleted.at({"details", "uid"}), created.at({"metadata", "uid"}));
  EXPECT_EQ(get(std::string(vms) + "/a").status, 404);
}

TEST_F(ApiTest, AnUpdateThatChangesNothingTakesNoRevision) {
  const auto created = post(vms, vm("a"));
  const auto same = call("PUT", std::string(vms) + "/a", created.text);
  EXPECT_EQ(same.at({"metadata", "resourceVersion"}), created.at({"metadata", "resourceVersion"}));
  EXPECT_EQ(merge(std::string(vms) + "/a", "{}").text, created.text);
}

TEST_F(ApiTest, VersionsAreNamesOfOneShape) {
  std::string alpha = vm("a");
  alpha.replace(alpha.find("kubevirt.io/v1"), 14, "kubevirt.io/v1alpha3");
  const std::string at = "/apis/kubevirt.io/v1alpha3/namespaces/default/virtualmachines";
  const auto created = post(at, alpha);
  ASSERT_EQ(created.status, 201) << created.text;
  EXPECT_EQ(created.at({"apiVersion"}), "kubevirt.io/v1alpha3");
  EXPECT_THAT(created.warnings(), SizeIs(1));
  EXPECT_EQ(get(std::string(vms) + "/a").at({"apiVersion"}), "kubevirt.io/v1");
  EXPECT_EQ(get(at + "/a").at({"apiVersion"}), "kubevirt.io/v1alpha3");
  EXPECT_EQ(post(vms, alpha).status, 400);
  EXPECT_EQ(get("/apis/kubevirt.io/v7/virtualmachines").status, 404);
}

TEST_F(ApiTest, GeneratedNamesAreFresh) {
  std::string body = vm("@");
  body.replace(body.find(R"("name":"@")"), 10, R"("generateName":"gen-")");
  const auto one = post(vms, body);
  const auto two = post(vms, body);
  EXPECT_EQ(one.status, 201) << one.text;
  EXPECT_THAT(one.at({"metadata", "name"}), ::testing::StartsWith("gen-"));
  EXPECT_NE(one.at({"metadata", "name"}), two.at({"metadata", "name"}));
}

TEST_F(ApiTest, WhatIsNamedWrongIsRefused) {
  EXPECT_EQ(post(vms, vm("Bad_Name")).causes(), std::set<std::string>{"FieldValueInvalid metadata.name"});
  EXPECT_EQ(post(vms, vm("")).causes(),
            (std::set<std::string>{"FieldValueInvalid <nil>", "FieldValueRequired metadata.name"}));
  EXPECT_EQ(post(vms, vm("a", R"(,"namespace":"other")")).status, 400);
  EXPECT_EQ(post(vms, vm("a", R"(,"resourceVersion":"5")")).status, 400);
  const auto missing = post("/apis/kubevirt.io/v1/namespaces/none/virtualmachines", vm("a"));
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.at({"details", "kind"}), "namespaces");
}

TEST_F(ApiTest, BodiesMustBeObjectsInAKnownFormat) {
  EXPECT_EQ(post(vms, "{bad").status, 400);
  EXPECT_EQ(post(vms, "").status, 400);
  EXPECT_EQ(post(vms, "[]").status, 400);
  EXPECT_EQ(call("POST", vms, vm("a"), {{"Content-Type", "text/plain"}}).status, 415);
  EXPECT_EQ(call("POST", vms, vm("a"), {{"Content-Type", "application/vnd.kubernetes.protobuf"}}).status, 415);
  EXPECT_EQ(post(vms, std::string(4 * 1024 * 1024, ' ')).status, 413);
  EXPECT_EQ(get(vms, {{"Accept", "application/vnd.nothing"}}).status, 406);
  const auto yaml =
      call("POST", config_maps, "metadata: {name: from-yaml}\ndata: {a: b}\n", {{"Content-Type", "application/yaml"}});
  EXPECT_EQ(yaml.status, 201) << yaml.text;
  EXPECT_EQ(yaml.at({"data", "a"}), "b");
}

TEST_F(ApiTest, UnknownFieldsAreWarnedAboutOrRefused) {
  std::string body = vm("a");
  body.insert(body.find("\"runStrategy\""), R"("foo":1,"foo":2,)");
  EXPECT_THAT(post(vms, body).warnings(),
              ElementsAre(R"(299 - "duplicate field \"spec.foo\"")", R"(299 - "unknown field \"spec.foo\"")"));
  const auto strict = post(std::string(vms) + "?fieldValidation=Strict", body);
  EXPECT_EQ(strict.status, 400);
  EXPECT_THAT(strict.at({"message"}), HasSubstr("spec.foo"));
  EXPECT_THAT(
      strict.at({"message"}),
      StartsWith(R"(VirtualMachine in version "v1" cannot be handled as a VirtualMachine: strict decoding error: )"
                 R"(duplicate field "spec.foo", unknown field "spec.foo")"));
  std::string other = config_map("w", R"(,"nope":1)");
  EXPECT_THAT(post(config_maps, other).warnings(), ElementsAre(R"(299 - "unknown field \"metadata.nope\"")"));
  EXPECT_THAT(post(std::string(config_maps) + "?fieldValidation=Ignore", config_map("i", R"(,"nope":1)")).warnings(),
              IsEmpty());
}

TEST_F(ApiTest, PathsOfOtherScopesDoNotExist) {
  EXPECT_EQ(post("/apis/kubevirt.io/v1/virtualmachines", vm("a")).status, 404);
  EXPECT_EQ(get("/api/v1/namespaces/default/nodes").status, 404);
  EXPECT_EQ(get("/apis/kubevirt.io/v1/namespaces/default/nothings").status, 404);
  const auto unknown = get(std::string(vms) + "/a/nothing");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.at({"details", "name"}), "a");
  EXPECT_EQ(merge(vms, "{}").status, 400);
  const auto misplaced = call("PUT", config_maps, "{}");
  EXPECT_EQ(misplaced.status, 405);
  EXPECT_EQ(misplaced.at({"details", "kind"}), "(absent)");
  EXPECT_EQ(post("/api/v1/configmaps", config_map("a")).status, 405);
  EXPECT_EQ(call("HEAD", config_maps).status, 405);
  EXPECT_EQ(post(std::string(config_maps) + "/a", config_map("a")).status, 405);
  EXPECT_EQ(post(std::string(vms) + "/a", vm("b")).status, 400);
  EXPECT_EQ(post(std::string(vms) + "/a", vm("a")).status, 201);
  EXPECT_EQ(call("DELETE", "/api/v1/namespaces").status, 405);
  EXPECT_EQ(call("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/x").status, 405);
}

TEST_F(ApiTest, StatusIsApart) {
  std::string body = vm("a");
  body.insert(body.size() - 1, R"(,"status":{"created":true})");
  const auto created = post(vms, body);
  EXPECT_EQ(created.at({"status"}), "(absent)");
  const auto status =
      merge(std::string(vms) + "/a/status",
            R"({"metadata":{"labels":{"x":"y"}},"spec":{"runStrategy":"Always"},"status":{"ready":true}})");
  ASSERT_EQ(status.status, 200) << status.text;
  EXPECT_EQ(status.at({"status", "ready"}), "true");
  EXPECT_EQ(status.at({"spec", "runStrategy"}), "Halted");
  EXPECT_EQ(status.at({"metadata", "labels"}), "(absent)");
  EXPECT_EQ(status.at({"metadata", "generation"}), "1");
  const auto main = merge(std::string(vms) + "/a", R"({"status":{"ready":false},"spec":{"runStrategy":"Manual"}})");
  EXPECT_EQ(main.at({"status", "ready"}), "true");
  EXPECT_EQ(main.at({"metadata", "generation"}), "2");
}

// The kind has no status subresource, so only who asks decides.
TEST_F(ApiTest, TheStatusOfANewVmiIsNotForUsers) {
  static constexpr const char* vmis = "/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstances";
  const auto made_by = [&](std::string name, std::string_view user) {
    const std::string body =
        fmt::format(R"({{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":{{"name":"{}"}},)"
                    R"("spec":{{"domain":{{"devices":{{}},"memory":{{"guest":"64Mi"}}}}}},)"
                    R"("status":{{"nodeName":"node01","interfaces":[{{"ipAddress":"127.0.0.1"}}]}}}})",
                    name);
    std::vector<Header> headers{{"Content-Type", "application/json"}};
    if (!user.empty()) headers.emplace_back("Impersonate-User", std::string(user));
    const auto made = call("POST", vmis, body, std::move(headers));
    EXPECT_EQ(made.status, 201) << made.text;
    return made.at({"status", "nodeName"}) + " " + made.at({"status", "interfaces"}) + " " +
           made.at({"status", "phase"});
  };
  const std::string kept = R"(node01 [{"ipAddress":"127.0.0.1"}] Pending)", dropped = "(absent) (absent) Pending";
  EXPECT_EQ(made_by("a", "jane"), dropped);
  EXPECT_EQ(made_by("b", "system:serviceaccount:default:kubevirt-controller"), dropped) << "of another namespace";
  EXPECT_EQ(made_by("c", "system:serviceaccount:kubevirt:kubevirt-controller"), kept);
  EXPECT_EQ(made_by("d", ""), kept) << "an administrator may act as a component";
}

TEST_F(ApiTest, ScaleIsAViewOfTheObject) {
  const std::string sets = "/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstancereplicasets";
  const auto created = post(sets, R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstanceReplicaSet",
      "metadata":{"name":"s"},"spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},
      "template":{"metadata":{"labels":{"a":"b"}},"spec":{"domain":{"devices":{}}}}}})");
  ASSERT_EQ(created.status, 201) << created.text;
  const auto scale = get(sets + "/s/scale");
  EXPECT_EQ(scale.at({"kind"}), "Scale");
  EXPECT_EQ(scale.at({"spec", "replicas"}), "2");
  const auto scaled = merge(sets + "/s/scale", R"({"spec":{"replicas":5}})");
  ASSERT_EQ(scaled.status, 200) << scaled.text;
  EXPECT_EQ(scaled.at({"spec", "replicas"}), "5");
  EXPECT_EQ(get(sets + "/s").at({"spec", "replicas"}), "5");
  EXPECT_EQ(get(sets + "/s").at({"metadata", "generation"}), "2");
  EXPECT_EQ(merge(sets + "/s/scale", R"({"spec":{"replicas":-1}})").causes(),
            std::set<std::string>{"FieldValueInvalid .spec.replicas"});
  EXPECT_EQ(merge(sets + "/s/scale", R"({"spec":{"replicas":"none"}})").causes(),
            std::set<std::string>{"FieldValueInvalid patch"});
  EXPECT_EQ(merge(sets + "/s/scale?dryRun=All", R"({"spec":{"replicas":0}})").at({"spec", "replicas"}), "(absent)");
  EXPECT_EQ(call("PUT", sets + "/s/scale", scale.text).reason(), "Conflict");
  EXPECT_EQ(get(std::string(vms) + "/a/scale").status, 404);
  const auto form = [&](const char* as) {
    return call("GET", sets + "/s/scale", "",
                {{"Accept", fmt::format("application/json;as={};g=meta.k8s.io;v=v1", as)}});
  };
  EXPECT_THAT(form("Table").text, ::testing::HasSubstr(R"("rows":[{"cells":["s",5,0,)"));
  EXPECT_EQ(form("PartialObjectMetadata").at({"kind"}), "PartialObjectMetadata");
  EXPECT_EQ(form("PartialObjectMetadata").at({"spec"}), "(absent)");
  EXPECT_EQ(form("PartialObjectMetadataList").status, 406);
}

// --- patches ---------------------------------------------------------------------------------------------------------

TEST_F(ApiTest, PatchesOfAllKinds) {
  post(config_maps, config_map("c", "", R"("a":"1")"));
  const std::string at = std::string(config_maps) + "/c";
  EXPECT_EQ(merge(at, R"({"data":{"b":"2"}})").at({"data"}), R"({"a":"1","b":"2"})");
  const std::vector<Header> json_patch = {{"Content-Type", "application/json-patch+json"}};
  EXPECT_EQ(
      call("PATCH", at, R"([{"op":"test","path":"/data/a","value":"1"},{"op":"remove","path":"/data/a"}])", json_patch)
          .at({"data"}),
      R"({"b":"2"})");
  EXPECT_EQ(call("PATCH", at, R"([{"op":"test","path":"/data/a","value":"1"}])", json_patch).status, 422);
  EXPECT_EQ(call("PATCH", at, R"({"op":"x"})", json_patch).status, 400);
  const std::vector<Header> strategic = {{"Content-Type", "application/strategic-merge-patch+json"}};
  const auto patched = call("PATCH", at, R"({"metadata":{"finalizers":["x/y"]},"data":{"c":"3"}})", strategic);
  EXPECT_EQ(patched.at({"data"}), R"({"b":"2","c":"3"})") << patched.text;
  EXPECT_EQ(call("PATCH", std::string(vms) + "/a", "{}", strategic).status, 415);
  EXPECT_EQ(call("PATCH", at + "?force=true", "{}", strategic).status, 422);
  EXPECT_EQ(call("PATCH", at, "{}", {{"Content-Type", "application/json"}}).status, 415);
  EXPECT_EQ(merge(at, R"({"metadata":{"name":"other"}})").status, 400);
  EXPECT_EQ(merge(at, R"({"metadata":{"resourceVersion":"1"}})").reason(), "Conflict");
  EXPECT_EQ(merge(std::string(config_maps) + "/none", "{}").status, 404);
}

TEST_F(ApiTest, APatchIsHeldToWhatItMakesOfTheObject) {
  post(config_maps, config_map("c"));
  post(vms, vm("a"));
  const std::string map = std::string(config_maps) + "/c", machine = std::string(vms) + "/a";
  EXPECT_EQ(merge(map, R"({"metadata":{"uid":"other"}})").causes(),
            std::set<std::string>{"FieldValueInvalid metadata.uid"});
  EXPECT_EQ(merge(machine, R"({"metadata":{"resourceVersion":""}})").causes(),
            std::set<std::string>{"FieldValueInvalid metadata.resourceVersion"});
  EXPECT_EQ(merge(machine + "?fieldValidation=Strict", R"({"nope":1})").causes(),
            std::set<std::string>{"FieldValueInvalid patch"});
  EXPECT_EQ(merge(map, R"({"apiVersion":null})").status, 400);
  const auto owned = merge(map, R"({"metadata":{"ownerReferences":[
      {"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"},{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"}]}})");
  EXPECT_EQ(owned.status, 200) << owned.text;
  EXPECT_THAT(owned.warnings(), ::testing::SizeIs(1));
  EXPECT_EQ(merge(machine, R"({"metadata":{"finalizers":["bare"]}})").warnings().size(), 1U);
}

TEST_F(ApiTest, APatchThatDoesNotFitTheKindIsNotValid) {
  const std::string maps = "/api/v1/namespaces/default/configmaps";
  ASSERT_EQ(post(maps, R"({"metadata":{"name":"a"}})").status, 201);
  const std::set<std::string> unfit{"FieldValueInvalid patch"};
  for (const char* patch : {R"({"kind":"Secret"})", R"({"apiVersion":"apps/v1"})", R"({"kind":5})", R"({"data":5})",
                            R"({"metadata":{"labels":5}})"}) {
    EXPECT_EQ(merge(maps + "/a", patch).causes(), unfit) << patch;
  }
  EXPECT_EQ(merge(maps + "/a", R"({"kind":null})").status, 200);
  EXPECT_EQ(merge(maps + "/a", R"({"apiVersion":null})").status, 400);
  const auto strategic = [&](const char* patch) {
    return call("PATCH", maps + "/a", patch, {{"Content-Type", "application/strategic-merge-patch+json"}});
  };
  EXPECT_EQ(strategic(R"({"kind":"Secret","apiVersion":"apps/v1"})").at({"kind"}), "ConfigMap");
  EXPECT_EQ(strategic(R"({"kind":5})").causes(), unfit);
  ASSERT_EQ(post(vms, vm("a")).status, 201);
  EXPECT_EQ(merge(std::string(vms) + "/a", R"({"metadata":{"labels":5}})").causes(), unfit);
  EXPECT_EQ(merge(std::string(vms) + "/a", R"({"kind":"Secret"})").status, 400);
}

TEST_F(ApiTest, ConflictsAboutFieldsComeBeforeTheNameOfWhatIsApplied) {
  const std::string map = "/api/v1/namespaces/default/configmaps/a";
  const auto apply = [&](const char* manager, const char* metadata, const char* value) {
    return call(
        "PATCH", fmt::format("{}?fieldManager={}", map, manager),
        fmt::format(R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{},"data":{{"k":"{}"}}}})", metadata, value),
        {{"Content-Type", "application/apply-patch+yaml"}});
  };
  EXPECT_EQ(apply("one", R"({})", "1").status, 400);  // there is no object that could name it
  EXPECT_EQ(apply("one", R"({"name":"b","uid":"x"})", "1").status, 409);
  ASSERT_EQ(apply("one", R"({"name":"a","managedFields":null})", "1").status, 201);
  EXPECT_EQ(apply("two", R"({"name":"b"})", "2").causes(), std::set<std::string>{"FieldManagerConflict .data.k"});
  EXPECT_EQ(apply("two", R"({"namespace":"b"})", "2").status, 409);
  EXPECT_EQ(apply("two", R"({"name":"b"})", "1").status, 400);
  EXPECT_EQ(apply("two", R"({"name":""})", "1").status, 400);
  EXPECT_EQ(apply("two", R"({"name":"a","namespace":"b"})", "1").status, 400);
  EXPECT_EQ(apply("two", R"({})", "1").status, 200);
}

TEST_F(ApiTest, AnApplyMayNotTakeTheVersionAway) {
  const auto apply = [&](const char* metadata) {
    return call("PATCH", std::string(vms) + "/a?fieldManager=one", vm("a", metadata),
                {{"Content-Type", "application/apply-patch+yaml"}});
  };
  ASSERT_EQ(apply("").status, 201);
  EXPECT_EQ(apply("").status, 200);
  EXPECT_EQ(apply(R"(,"resourceVersion":"")").causes(),
            std::set<std::string>{"FieldValueInvalid metadata.resourceVersion"});
}

TEST_F(ApiTest, AnEmptyListOfManagedFieldsDropsThem) {
  const std::string map = "/api/v1/namespaces/default/configmaps/a";
  const auto applied = call("PATCH", map + "?fieldManager=one",
                            R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}})",
                            {{"Content-Type", "application/apply-patch+yaml"}});
  ASSERT_NE(applied.at({"metadata", "managedFields"}), "(absent)");
  EXPECT_EQ(merge(map, R"({"metadata":{"managedFields":[]}})").at({"metadata", "managedFields"}), "(absent)");
  EXPECT_EQ(get(map).at({"metadata", "managedFields"}), "(absent)");
}

TEST_F(ApiTest, ApplyMakesAnObjectAndOwnsItsFields) {
  const std::vector<Header> apply = {{"Content-Type", "application/apply-patch+yaml"}};
  const std::string at = std::string(config_maps) + "/c";
  const std::string yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  a: '1'\n";
  EXPECT_EQ(call("PATCH", at, yaml, apply).status, 422) << "without a manager";
  EXPECT_EQ(call("PATCH", at + "?fieldManager=one&dryRun=All", yaml, apply).status, 201);
  EXPECT_EQ(get(at).status, 404);
  EXPECT_EQ(call("PATCH", at + "?fieldManager=one", yaml, apply).status, 201);
  EXPECT_EQ(call("PATCH", at + "?fieldManager=one", yaml, apply).status, 200);
  const auto refused =
      call("PATCH", at + "?fieldManager=two", R"({"apiVersion":"v1","kind":"ConfigMap","data":{"a":"2"}})", apply);
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.at({"details", "causes"}).find("FieldManagerConflict") != std::string::npos, true) << refused.text;
  EXPECT_EQ(call("PATCH", at + "?fieldManager=two", R"({"apiVersion":"v1","kind":"Pod"})", apply).status, 400);
  EXPECT_EQ(
      call("PATCH", at + "?fieldManager=two", R"({"apiVersion":"v1","kind":"ConfigMap","Data":{}})", apply).status,
      500);
  // Another write takes over what it changes.
  merge(at, R"({"data":{"a":"3"}})");
  EXPECT_EQ(call("PATCH", at + "?fieldManager=one", yaml, apply).status, 409);
  EXPECT_EQ(call("PATCH", at + "?fieldManager=one&force=true", yaml, apply).at({"data"}), R"({"a":"1"})");
}

TEST_F(ApiTest, WhoMayOnlyPatchCannotCreateByApplying) {
  authorizer_.forbidden = {"create configmaps"};
  const auto refused =
      call("PATCH", std::string(config_maps) + "/c?fieldManager=one", R"({"apiVersion":"v1","kind":"ConfigMap"})",
           {{"Content-Type", "application/apply-patch+yaml"}});
  EXPECT_EQ(refused.status, 403) << refused.text;
}

TEST_F(ApiTest, ConcurrentPatchesAllArrive) {
  post(config_maps, config_map("c"));
  constexpr int writers = 24;
  std::vector<std::unique_ptr<TestExchange>> exchanges;
  std::vector<std::future<void>> ends;
  for (int i = 0; i < writers; ++i) {
    exchanges.push_back(exchange("PATCH", std::string(config_maps) + "/c",
                                 fmt::format(R"({{"data":{{"k{}":"v"}}}})", i),
                                 {{"Content-Type", "application/merge-patch+json"}}, static_cast<std::size_t>(i % 2)));
  }
  for (auto& one : exchanges) ends.push_back(start(*one));
  int accepted = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    ends[i].get();
    const int status = exchanges[i]->response().status;
    EXPECT_TRUE(status == 200 || status == 409) << status;
    accepted += status == 200;
  }
  EXPECT_GE(accepted, 5);
  const auto found = get(std::string(config_maps) + "/c");
  EXPECT_EQ(json::get_object(found.body.root(), "data")->size(), static_cast<std::size_t>(accepted));
}

// --- dry runs --------------------------------------------------------------------------------------------------------

TEST_F(ApiTest, DryRunsPromiseNothingThatCannotBeKept) {
  const auto rules = [](std::string_view name) {
    return fmt::format(R"([{{"verbs":["get"],"apiGroups":[""],"resources":["pods"],"resourceNames":["{}"]}}])", name);
  };
  const auto role = [&](std::string_view name) {
    return fmt::format(
        R"({{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{{"name":"a"}},"rules":{}}})",
        rules(name));
  };
  const std::string large(limits::stored_object_bytes_max, 'x');
  const std::string roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
  EXPECT_EQ(post(roles + "?dryRun=All", role(large)).status, 413);
  EXPECT_EQ(post(roles + "?dryRun=All", role("x")).status, 201);
  EXPECT_EQ(post(roles, role("x")).status, 201);
  EXPECT_EQ(merge(roles + "/a?dryRun=All", fmt::format(R"({{"rules":{}}})", rules(large))).status, 413);
}

TEST_F(ApiTest, DryRunsLeaveNothingBehind) {
  const auto revision = store_->revision();
  const auto created = post(std::string(vms) + "?dryRun=All", vm("a"));
  EXPECT_EQ(created.status, 201);
  EXPECT_EQ(created.at({"metadata", "resourceVersion"}), "(absent)");
  EXPECT_EQ(get(std::string(vms) + "/a").status, 404);
  EXPECT_EQ(store_->revision(), revision);
  post(vms, vm("a"));
  EXPECT_EQ(post(std::string(vms) + "?dryRun=All", vm("a")).reason(), "AlreadyExists");
  const auto before = store_->revision();
  EXPECT_EQ(
      merge(std::string(vms) + "/a?dryRun=All", R"({"spec":{"runStrategy":"Manual"}})").at({"metadata", "generation"}),
      "2");
  EXPECT_EQ(call("DELETE", std::string(vms) + "/a?dryRun=All").at({"status"}), "Success");
  EXPECT_EQ(call("DELETE", std::string(vms) + "/a", R"({"dryRun":["All"]})").at({"status"}), "Success");
  EXPECT_EQ(store_->revision(), before);
  EXPECT_EQ(post(std::string(vms) + "?dryRun=Some", vm("b")).causes(),
            std::set<std::string>{"FieldValueNotSupported dryRun"});
}

// --- deleting --------------------------------------------------------------------------------------------------------

TEST_F(ApiTest, FinalizersHoldAnObjectUntilTheLastIsGone) {
  post(vms, vm("a", R"(,"finalizers":["x/hold"])"));
  const std::string at = std::string(vms) + "/a";
  const auto deleted = call("DELETE", at);
  EXPECT_EQ(deleted.status, 200);
  EXPECT_EQ(deleted.at({"metadata", "generation"}), "2");
  EXPECT_NE(deleted.at({"metadata", "deletionTimestamp"}), "(absent)");
  EXPECT_EQ(call("DELETE", at).text, deleted.text);
  EXPECT_EQ(merge(at, R"({"metadata":{"finalizers":["x/hold","x/more"]}})").causes(),
            std::set<std::string>{"FieldValueForbidden metadata.finalizers"});
  const auto released = merge(at, R"({"metadata":{"finalizers":null}})");
  EXPECT_EQ(released.status, 200);
  EXPECT_EQ(released.at({"metadata", "finalizers"}), "(absent)");
  EXPECT_EQ(get(at).status, 404);
}

TEST_F(ApiTest, DeletionsKeepTheirPreconditions) {
  const auto created = post(config_maps, config_map("c"));
  const std::string at = std::string(config_maps) + "/c";
  const auto other = call("DELETE", at, R"({"preconditions":{"uid":"other"}})");
  EXPECT_EQ(other.reason(), "Conflict");
  EXPECT_EQ(other.at({"details", "kind"}), "ConfigMap");
  EXPECT_EQ(call("DELETE", at + "?propagationPolicy=Some").causes(),
            std::set<std::string>{"FieldValueNotSupported propagationPolicy"});
  EXPECT_EQ(call("DELETE", at, R"({"preconditions":{"resourceVersion":"1"}})").reason(), "Conflict");
  EXPECT_EQ(
      call("DELETE", at, fmt::format(R"({{"preconditions":{{"uid":"{}"}}}})", created.at({"metadata", "uid"}))).status,
      200);
}

TEST_F(ApiTest, ForegroundDeletionWaits) {
  post(vms, vm("a"));
  const auto deleted = call("DELETE", std::string(vms) + "/a?propagationPolicy=Foreground");
  EXPECT_EQ(deleted.status, 200);
  EXPECT_EQ(deleted.at({"metadata", "finalizers"}), R"(["foregroundDeletion"])");
}

TEST_F(ApiTest, CollectionsAreDeletedBySelection) {
  for (const char* name : {"a", "b", "c"})
    post(config_maps,
         config_map(name, fmt::format(R"(,"labels":{{"l":"{}"}})", std::string_view(name) == "c" ? "y" : "x")));
  EXPECT_THAT(call("DELETE", std::string(config_maps) + "?labelSelector=l%3Dx").item_names(), ElementsAre("a", "b"));
  EXPECT_THAT(get(config_maps).item_names(), ElementsAre("c"));
}

TEST_F(ApiTest, CollectionsAreDeletedInPages) {
  for (const char* name : {"a", "b", "c"}) ASSERT_EQ(post(vms, vm(name)).status, 201);
  const auto first = call("DELETE", std::string(vms) + "?limit=2");
  EXPECT_EQ(first.at({"metadata", "remainingItemCount"}), "1");
  EXPECT_EQ(get(std::string(vms) + "/a").status, 404);
  EXPECT_EQ(get(std::string(vms) + "/c").status, 200);
  const auto token = first.at({"metadata", "continue"});
  EXPECT_EQ(call("DELETE", std::string(vms) + "?limit=2&continue=" + token).at({"metadata", "continue"}), "(absent)");
  EXPECT_EQ(get(std::string(vms) + "/c").status, 404);
}

TEST_F(ApiTest, PreconditionsMayStandInTheQuery) {
  const auto created = post(vms, vm("a"));
  EXPECT_EQ(call("DELETE", std::string(vms) + "/a?uid=other").status, 409);
  EXPECT_EQ(call("DELETE", std::string(vms) + "/a?resourceVersion=999").status, 409);
  EXPECT_EQ(call("DELETE", std::string(vms) + "/a?uid=" + created.at({"metadata", "uid"})).status, 200);
}

TEST_F(ApiTest, ANamespaceOnItsWayOutTakesNothingNew) {
  ASSERT_EQ(post("/api/v1/namespaces", R"({"metadata":{"name":"n"}})").status, 201);
  const auto deleted = call("DELETE", "/api/v1/namespaces/n");
  EXPECT_EQ(deleted.at({"status", "phase"}), "Terminating");
  const auto refused = post("/api/v1/namespaces/n/configmaps", config_map("c"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.causes(), Contains("NamespaceTerminating metadata.namespace"));
  EXPECT_EQ(call("DELETE", "/api/v1/namespaces/n").reason(), "Conflict");
  EXPECT_EQ(call("DELETE", "/api/v1/namespaces/default").status, 403);
  std::string emptied = get("/api/v1/namespaces/n").text;
  emptied.replace(emptied.find(R"(["kubernetes"])"), 14, "[]");
  EXPECT_EQ(call("PUT", "/api/v1/namespaces/n/finalize", emptied).status, 200);
  EXPECT_EQ(get("/api/v1/namespaces/n").status, 404);
}

TEST_F(ApiTest, WhoeverFinalizesANamespaceReplacesIt) {
  ASSERT_EQ(post("/api/v1/namespaces", R"({"metadata":{"name":"n","labels":{"a":"b"}}})").status, 201);
  const auto done =
      call("PUT", "/api/v1/namespaces/n/finalize", R"({"metadata":{"name":"n"},"spec":{"finalizers":["x/hold"]}})");
  EXPECT_EQ(done.at({"metadata", "labels"}), R"({"kubernetes.io/metadata.name":"n"})");
  EXPECT_EQ(done.at({"spec", "finalizers"}), R"(["x/hold"])");
  EXPECT_EQ(done.at({"status", "phase"}), "Active");
}

TEST_F(ApiTest, EvictionDeletesAPod) {
  const std::string pods = "/api/v1/namespaces/default/pods";
  ASSERT_EQ(post(pods, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})").status, 201);
  for (const char* metadata : {R"({"name":"q"})", R"({"name":"P"})", R"({"name":""})", "{}", "null"}) {
    const auto reply = post(pods + "/p/eviction", fmt::format(R"({{"kind":"Eviction","metadata":{}}})", metadata));
    EXPECT_EQ(reply.status, 400) << metadata;
    EXPECT_EQ(reply.at({"reason"}), "BadRequest") << metadata;
    EXPECT_THAT(reply.at({"message"}), HasSubstr("does not match name in Eviction object")) << metadata;
  }
  EXPECT_EQ(post(pods + "/gone/eviction", R"({"metadata":{"name":"p"}})").status, 400)
      << "before the pod is looked for";
  ASSERT_EQ(get(pods + "/p").status, 200);
  EXPECT_EQ(
      post(pods + "/p/eviction", R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}})").status,
      201);
  EXPECT_EQ(get(pods + "/p").status, 404);
  EXPECT_EQ(post(pods + "/p/eviction", "").status, 404);
}

TEST_F(ApiTest, WhoWritesWhatHasNoEffectIsToldSo) {
  using ::testing::ElementsAre;
  const std::string levels = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations", one = levels + "/p";
  const auto told = ElementsAre(HasSubstr("have no effect on how it serves"));
  const auto made = post(
      levels, R"({"metadata":{"name":"p"},"spec":{"type":"Limited","limited":{"limitResponse":{"type":"Reject"}}}})");
  ASSERT_EQ(made.status, 201);
  EXPECT_THAT(made.warnings(), told);
  EXPECT_THAT(merge(one, R"({"metadata":{"labels":{"a":"b"}}})").warnings(), told);
  EXPECT_THAT(merge(one, R"({"metadata":{"labels":{"a":"b"}}})").warnings(), told) << "nothing changes";
  EXPECT_THAT(merge(one + "/status", R"({"status":{"conditions":[{"type":"a","status":"True"}]}})").warnings(),
              ::testing::IsEmpty());
  EXPECT_THAT(get(one).warnings(), ::testing::IsEmpty());
  EXPECT_THAT(post(config_maps, config_map("c")).warnings(), ::testing::IsEmpty());
}

TEST_F(ApiTest, ProblemsWithFieldsAreToldInTheOrderOfTheDocument) {
  const auto told = [&](std::string_view body) {
    return post(std::string(config_maps) + "?fieldValidation=Strict", std::string(body)).at({"message"});
  };
  constexpr std::string_view begin =
      R"(ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: )";
  EXPECT_THAT(told(R"({"metadata":{"name":"c","no":{"x":1,"x":2}},"immutable":true,"immutable":false,"foo":1})"),
              StartsWith(std::string(begin) + R"(unknown field "metadata.no", duplicate field "immutable", )"
                                              R"(unknown field "foo";)"));
  // What is unknown is not looked at any further, and a map has no unknown fields.
  EXPECT_THAT(
      told(R"({"foo":1,"data":{"a":"1","a":"2","b":""},"foo":2,"metadata":{"name":"c","name":"d"},"bar":[{"y":1}]})"),
      StartsWith(std::string(begin) + R"(unknown field "foo", duplicate field "data.a", )"
                                      R"(duplicate field "metadata.name", unknown field "bar";)"));
  const auto warned =
      post(config_maps, R"({"metadata":{"name":"c","no":1},"immutable":true,"immutable":false,"foo":1})").warnings();
  EXPECT_THAT(warned, ElementsAre(R"(299 - "unknown field \"metadata.no\"")",
                                  R"(299 - "duplicate field \"immutable\"")", R"(299 - "unknown field \"foo\"")"));
}

TEST_F(ApiTest, ATimeoutIsADuration) {
  for (const char* path : {"/api", "/apis/kubevirt.io", "/api/v1/namespaces/default/configmaps", "/openapi/v3"}) {
    EXPECT_EQ(get(std::string(path) + "?timeout=32s").status, 200) << path;
    const auto refused = get(std::string(path) + "?timeout=invalid");
    EXPECT_EQ(refused.status, 400) << path;
    EXPECT_THAT(refused.at({"message"}), HasSubstr("invalid timeout specified in the request URL"));
  }
  EXPECT_EQ(get(std::string(config_maps) + "?watch=true&timeout=invalid&timeoutSeconds=1").status, 200);
}

TEST_F(ApiTest, PodsOfARuntimeClassFollowIt) {
  const std::string pods = "/api/v1/namespaces/default/pods";
  const auto pod = [](std::string_view name) {
    return fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{{"runtimeClassName":"kata",)"
                       R"("containers":[{{"name":"c","image":"i"}}]}}}})",
                       name);
  };
  const auto refused = post(pods, pod("p"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.at({"message"}),
              HasSubstr(R"(pods "p" is forbidden: pod rejected: RuntimeClass "kata" not found)"));
  ASSERT_EQ(post("/apis/node.k8s.io/v1/runtimeclasses", R"({"metadata":{"name":"kata"},"handler":"kata",)"
                                                        R"("overhead":{"podFixed":{"memory":"64Mi"}}})")
                .status,
            201);
  EXPECT_EQ(post(pods, pod("p")).at({"spec", "overhead"}), R"({"memory":"64Mi"})");
}

TEST_F(ApiTest, PodsOfAPriorityClassFollowIt) {
  const std::string pods = "/api/v1/namespaces/default/pods";
  const std::string pod = R"({"metadata":{"name":"p"},"spec":{"priorityClassName":"high",)"
                          R"("containers":[{"name":"c","image":"i"}]}})";
  const auto refused = post(pods, pod);
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.at({"message"}),
              HasSubstr(R"(pods "p" is forbidden: no PriorityClass with name high was found)"));
  ASSERT_EQ(post("/apis/scheduling.k8s.io/v1/priorityclasses", R"({"metadata":{"name":"high"},"value":7})").status,
            201);
  EXPECT_EQ(post(pods, pod).at({"spec", "priority"}), "7");
}

// --- bindings --------------------------------------------------------------------------------------------------------

class BindingTest : public ApiTest {
 protected:
  static constexpr const char* pods = "/api/v1/namespaces/default/pods";

  void make_pod(std::string_view name, std::string_view spec = "") {
    const auto made = post(pods, fmt::format(R"({{"metadata":{{"name":"{}","labels":{{"a":"pod","b":"pod"}}}},)"
                                             R"("spec":{{{}"containers":[{{"name":"c","image":"i"}}]}}}})",
                                             name, spec));
    ASSERT_EQ(made.status, 201) << made.text;
  }
  static std::string binding(std::string_view name, std::string_view metadata = "", std::string_view node = "node01") {
    return fmt::format(R"({{"apiVersion":"v1","kind":"Binding","metadata":{{"name":"{}"{}}},)"
                       R"("target":{{"kind":"Node","name":"{}"}}}})",
                       name, metadata, node);
  }
  std::string at(std::string_view name) { return fmt::format("{}/{}", pods, name); }
};

TEST_F(BindingTest, APodIsAssignedToANodeOnce) {
  make_pod("p");
  const auto done = post(at("p/binding"), binding("p", R"(,"annotations":{"x/y":"z"},"labels":{"b":"binding"})"));
  EXPECT_EQ(done.status, 201);
  EXPECT_EQ(done.at({"kind"}), "Status");
  EXPECT_EQ(done.at({"status"}), "Success");
  const auto pod = get(at("p"));
  EXPECT_EQ(pod.at({"spec", "nodeName"}), "node01");
  EXPECT_EQ(pod.at({"metadata", "annotations"}), R"({"x/y":"z"})");
  EXPECT_EQ(pod.at({"metadata", "labels"}), R"({"a":"pod","b":"binding"})");
  EXPECT_THAT(pod.at({"status", "conditions"}), HasSubstr(R"("type":"PodScheduled","status":"True")"));
  EXPECT_EQ(get(std::string(pods) + "?fieldSelector=spec.nodeName%3Dnode01").item_names().size(), 1U);

  const auto again = post(at("p/binding"), binding("p", "", "node02"));
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.reason(), "Conflict");
  EXPECT_THAT(again.at({"message"}), HasSubstr(R"(pod p is already assigned to node "node01")"));
  EXPECT_EQ(get(at("p")).at({"spec", "nodeName"}), "node01");
}

TEST_F(BindingTest, TheCollectionTakesThemToo) {
  make_pod("p");
  EXPECT_EQ(post("/api/v1/namespaces/default/bindings", binding("p")).status, 201);
  EXPECT_EQ(get(at("p")).at({"spec", "nodeName"}), "node01");
  EXPECT_EQ(post("/api/v1/namespaces/default/bindings", binding("none")).status, 404);
  EXPECT_EQ(get("/api/v1/namespaces/default/bindings").status, 405);
  EXPECT_EQ(get("/api/v1/namespaces/default/bindings/p").status, 404);
  EXPECT_EQ(get(at("p/binding")).status, 405);
}

TEST_F(BindingTest, WhatIsWrongIsRefused) {
  make_pod("p");
  EXPECT_EQ(post(at("p/binding"), binding("q")).status, 400);
  EXPECT_EQ(post(at("none/binding"), binding("none")).status, 404);
  EXPECT_THAT(post(at("p/binding"), binding("p", "", "")).causes(), ElementsAre("FieldValueRequired target.name"));
  EXPECT_THAT(post(at("p/binding"), binding("p", "", "A/b")).causes(), ElementsAre("FieldValueInvalid target.name"));
  EXPECT_THAT(post(at("p/binding"), R"({"metadata":{"name":"p"},"target":{"kind":"Pod","name":"n"}})").causes(),
              ElementsAre("FieldValueNotSupported target.kind"));
  EXPECT_EQ(post(at("p/binding"), binding("p", R"(,"annotations":{"not a key":"z"})")).status, 422);
  EXPECT_EQ(post(at("p/binding"), binding("p", R"(,"uid":"another")")).status, 409);
  EXPECT_EQ(post(at("p/binding"), binding("p", R"(,"resourceVersion":"1")")).status, 409);
  EXPECT_EQ(post(at("p/binding?dryRun=All"), binding("p")).status, 201);
  EXPECT_EQ(get(at("p")).at({"spec", "nodeName"}), "(absent)");
}

TEST_F(BindingTest, PodsThatLeaveOrWaitAreNotAssigned) {
  make_pod("gated", R"("schedulingGates":[{"name":"x/wait"}],)");
  EXPECT_EQ(post(at("gated/binding"), binding("gated")).status, 409);
  make_pod("leaves");
  ASSERT_EQ(merge(at("leaves"), R"({"metadata":{"finalizers":["x/hold"]}})").status, 200);
  ASSERT_EQ(call("DELETE", at("leaves")).status, 200);
  const auto refused = post(at("leaves/binding"), binding("leaves"));
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(refused.at({"message"}), HasSubstr("pod leaves is being deleted, cannot be assigned to a host"));
}

TEST_F(BindingTest, APodLearnsWhereItsNodeStands) {
  ASSERT_EQ(post("/api/v1/nodes", R"({"metadata":{"name":"node01","labels":{"topology.kubernetes.io/zone":"z1",)"
                                  R"("topology.kubernetes.io/region":"r1","other":"o"}}})")
                .status,
            201);
  make_pod("p");
  ASSERT_EQ(post(at("p/binding"), binding("p")).status, 201);
  const auto labels = get(at("p")).at({"metadata", "labels"});
  EXPECT_THAT(labels, AllOf(HasSubstr(R"("topology.kubernetes.io/zone":"z1")"),
                            HasSubstr(R"("topology.kubernetes.io/region":"r1")"), Not(HasSubstr("other"))));
}

// --- lists -----------------------------------------------------------------------------------------------------------

TEST_F(ApiTest, ListsComeInPages) {
  for (const char* name : {"a", "b", "c", "d", "e"}) post(vms, vm(name));
  const auto first = get(std::string(vms) + "?limit=2");
  EXPECT_THAT(first.item_names(), ElementsAre("a", "b"));
  EXPECT_EQ(first.at({"metadata", "remainingItemCount"}), "3");
  post(vms, vm("bb"));  // comes too late for this list
  const auto second = get(std::string(vms) + "?limit=2&continue=" + first.at({"metadata", "continue"}));
  EXPECT_THAT(second.item_names(), ElementsAre("c", "d"));
  EXPECT_EQ(second.at({"metadata", "resourceVersion"}), first.at({"metadata", "resourceVersion"}));
  const auto third = get(std::string(vms) + "?limit=2&continue=" + second.at({"metadata", "continue"}));
  EXPECT_THAT(third.item_names(), ElementsAre("e"));
  EXPECT_EQ(third.at({"metadata", "continue"}), "(absent)");
  EXPECT_EQ(get(std::string(vms) + "?continue=garbage").status, 400);
  EXPECT_EQ(get(std::string(vms) + "?limit=").status, 400);
  EXPECT_THAT(get(std::string(vms) + "?limit=2&resourceVersion=0").item_names(), ::testing::SizeIs(6));
  EXPECT_EQ(get(std::string(vms) + "?limit=2&labelSelector=!x").at({"metadata", "remainingItemCount"}), "(absent)");
  EXPECT_EQ(get(std::string(vms) + "?resourceVersion=5&continue=" + first.at({"metadata", "continue"})).status, 400);
  const auto named = get(std::string(vms) + "?limit=1&fieldSelector=metadata.name%3Da");
  EXPECT_EQ(named.at({"metadata", "continue"}), "(absent)");
  const auto everywhere = get("/apis/kubevirt.io/v1/virtualmachines?limit=1&fieldSelector=metadata.name%3Da");
  EXPECT_NE(everywhere.at({"metadata", "continue"}), "(absent)");
}

TEST_F(ApiTest, AListThatTakesTooLongGoesOnWithTheNewestState) {
  for (const char* name : {"a", "b", "c"}) post(vms, vm(name));
  const auto first = get(std::string(vms) + "?limit=1");
  const auto none = *LabelSelector::parse("");
  const auto any = *FieldSelector::parse("");
  const ListScope scope{.resource = "kubevirt.io/virtualmachines", .ns = "default", .labels = none, .fields = any};
  const ContinueTokens& tokens = api_->backend().continue_tokens;
  const auto asked_after = [&](std::chrono::seconds time) {
    auto token = tokens.read(first.at({"metadata", "continue"}), scope).value();
    token.since -= time.count();
    return get(std::string(vms) + "?limit=1&continue=" + tokens.write(token, scope));
  };
  post(vms, vm("aa"));
  EXPECT_THAT(asked_after(std::chrono::minutes(5)).item_names(), ElementsAre("b"));
  const auto refused = asked_after(std::chrono::minutes(9));
  EXPECT_EQ(refused.status, 410);
  EXPECT_EQ(refused.reason(), "Expired");
  const auto rest = get(std::string(vms) + "?limit=2&continue=" + refused.at({"metadata", "continue"}));
  EXPECT_THAT(rest.item_names(), ElementsAre("aa", "b"));
  EXPECT_NE(rest.at({"metadata", "resourceVersion"}), first.at({"metadata", "resourceVersion"}));
  const auto last = get(std::string(vms) + "?limit=2&continue=" + rest.at({"metadata", "continue"}));
  EXPECT_THAT(last.item_names(), ElementsAre("c"));
  EXPECT_EQ(last.at({"metadata", "resourceVersion"}), rest.at({"metadata", "resourceVersion"}));
}

TEST_F(ApiTest, AContinueTokenIsGoodForItsListAlone) {
  post("/api/v1/namespaces", R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"other"}})");
  const std::string others = "/api/v1/namespaces/other/configmaps";
  for (const char* name : {"a", "b", "c"}) {
    post(config_maps, config_map(name));
    post(others, config_map(name));
  }
  const std::string token = get(others + "?limit=1").at({"metadata", "continue"});
  EXPECT_THAT(get(others + "?limit=1&continue=" + token).item_names(), ElementsAre("b"));
  for (const std::string& elsewhere : {std::string(config_maps) + "?", std::string("/api/v1/configmaps?"),
                                       std::string("/api/v1/namespaces/other/pods?"), others + "?labelSelector=x&",
                                       others + "?fieldSelector=metadata.name%3Db&"}) {
    const auto refused = get(elsewhere + "limit=1&continue=" + token);
    EXPECT_EQ(refused.status, 400) << elsewhere;
    EXPECT_EQ(refused.reason(), "BadRequest");
    EXPECT_THAT(refused.at({"message"}), HasSubstr("continue token is not valid"));
  }
  EXPECT_EQ(call("DELETE", std::string(config_maps) + "?continue=" + token).status, 400);
  EXPECT_EQ(get(std::string(config_maps) + "/c").status, 200);
  EXPECT_EQ(call("DELETE", others + "?continue=" + token).status, 200);
  EXPECT_EQ(get(others + "/c").status, 404);
  EXPECT_EQ(get(others + "/a").status, 200);
}

TEST_F(ApiTest, LongListsComeInPieces) {
  constexpr int count = 60;
  const std::string text(20'000, 'x');
  for (int i = 0; i < count; ++i) {
    const auto made = post(config_maps, config_map(fmt::format("c{:03}", i), R"(,"labels":{"l":"x"})",
                                                   fmt::format(R"("n":"{}","t":"{}")", i, text)));
    ASSERT_EQ(made.status, 201);
  }
  for (const char* query : {"?labelSelector=l%3Dx", ""}) {
    auto served = exchange("GET", std::string(config_maps) + query);
    start(*served).get();
    EXPECT_GE(served->writes(), count * text.size() / (piece_bytes + 2 * text.size()));
    const auto whole = reply_of(*served);
    std::string joined;
    std::string next;
    do {
      const auto page =
          get(std::string(config_maps) + "?labelSelector=l%3Dx&limit=5" + (next.empty() ? "" : "&continue=" + next));
      const std::string items = page.at({"items"});
      joined += (joined.empty() ? "" : ",") + items.substr(1, items.size() - 2);
      next = page.at({"metadata", "continue"});
    } while (next != "(absent)");
    if (*query) EXPECT_EQ(whole.at({"items"}), "[" + joined + "]");
    EXPECT_GE(whole.item_names().size(), count);
  }
  EXPECT_EQ(get(std::string(config_maps) + "/c001").status, 200);
}

// Asks again and again to be run, and remembers how much its core ever worked for others in between. What other
// processes do meanwhile does not count.
struct Bystander : std::enable_shared_from_this<Bystander> {
  Core& core;
  std::atomic<bool> stopped = false;
  std::atomic<std::chrono::nanoseconds> longest = {};
  std::chrono::nanoseconds last = {};
  explicit Bystander(Core& of) : core(of) {}
  static std::chrono::nanoseconds worked() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  }
  void run() {
    core.post([self = shared_from_this()] {
      const auto now = worked();
      if (now - self->last > self->longest.load()) self->longest = now - self->last;
      self->last = now;
      if (!self->stopped) self->run();
    });
  }
};

TEST_F(ApiTest, OthersAreServedWhileALongListIsLookedThrough) {
  constexpr int count = 20'000;
  const Resource& resource = *find_resource("configmaps");
  for (int done = 0; done < count;) {
    Transaction some;
    for (const int end = done + 500; done < end; ++done) {
      const std::string name = fmt::format("c{}", done);
      const auto document = json::Document::parse(fmt::format(
          R"({{"metadata":{{"name":"{}","namespace":"default","uid":"u{}"}},"data":{{"a":"b"}}}})", name, done));
      some.writes.push_back({.kind = WriteKind::create,
                             .key = {"configmaps", "default", name},
                             .object = make_draft(document->root().get_object(), resource)});
    }
    std::promise<std::string> written;
    commits_->submit(std::move(some),
                     [&](Result<CommitOutcome> outcome) { written.set_value(outcome ? "" : outcome.error().message); });
    ASSERT_EQ(written.get_future().get(), "");
  }
  const auto bystander = std::make_shared<Bystander>((*cores_)[0]);
  bystander->run();
  const std::vector<Header> protobuf = {{"Accept", "application/vnd.kubernetes.protobuf"}};
  const auto waited_once = [&](const std::string& method, const std::string& query,
                               const std::vector<Header>& headers) {
    auto served = exchange(method, std::string(config_maps) + query, {}, headers);
    bystander->longest = std::chrono::nanoseconds(0);
    start(*served).get();
    EXPECT_EQ(served->response().status, 200);
    return std::chrono::duration<double, std::milli>(bystander->longest.load()).count();
  };
  // Of three, the shortest: a turn that is too long is so every time, while a busy host may steal from one.
  const auto waited = [&](const std::string& method, const std::string& query, const std::vector<Header>& headers) {
    double least = waited_once(method, query, headers);
    for (int again = 0; again < 2; ++again) least = std::min(least, waited_once(method, query, headers));
    return least;
  };
  waited("GET", "", {});  // from here on it knows when it ran last
  // Each takes some 10 ms and more. A turn is half a millisecond.
  const char* sanitized = std::getenv("VIRTGATE_SANITIZED");
  const double most_ms = sanitized && *sanitized ? 40 : 4;
  EXPECT_LT(waited("GET", "?labelSelector=no%3Dmatch", {}), most_ms);
  EXPECT_LT(waited("GET", "", {}), most_ms);
  EXPECT_LT(waited("GET", "", protobuf), most_ms);
  EXPECT_LT(waited("GET", "?watch=true&timeoutSeconds=1", {}), most_ms);
  EXPECT_LT(waited("GET", "?watch=true&timeoutSeconds=1", protobuf), most_ms);
  EXPECT_LT(waited("DELETE", "?dryRun=All", {}), most_ms);
  bystander->stopped = true;
}

TEST_F(ApiTest, ListsShowTheVersionThatWasAskedFor) {
  post(vms, vm("a"));
  const std::string version = get(vms).at({"metadata", "resourceVersion"});
  post(vms, vm("b"));
  EXPECT_THAT(get(std::string(vms) + "?resourceVersionMatch=Exact&resourceVersion=" + version).item_names(),
              ElementsAre("a"));
  EXPECT_THAT(get(std::string(vms) + "?resourceVersion=" + version).item_names(), ElementsAre("a", "b"));
  const auto future = get(std::string(vms) + "?resourceVersion=999999");
  EXPECT_EQ(future.status, 504);
  EXPECT_THAT(future.causes(), Contains("ResourceVersionTooLarge "));
  EXPECT_EQ(get(std::string(vms) + "/a?resourceVersion=999999").status, 504);
}

TEST_F(ApiTest, PartialMetadataIsAForm) {
  post(vms, vm("a"));
  const std::vector<Header> partial = {{"Accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}};
  const auto list = get(vms, partial);
  EXPECT_EQ(list.at({"kind"}), "PartialObjectMetadataList");
  EXPECT_THAT(list.item_names(), ElementsAre("a"));
  EXPECT_EQ(list.text.find("\"spec\""), std::string::npos);
  EXPECT_EQ(get(std::string(vms) + "/a", partial).status, 406);
  const std::vector<Header> one = {{"Accept", "application/json;as=PartialObjectMetadata;v=v1beta1;g=meta.k8s.io"}};
  EXPECT_EQ(get(vms, one).status, 406);
  EXPECT_EQ(get(std::string(vms) + "/a", one).at({"apiVersion"}), "meta.k8s.io/v1beta1");
}

TEST_F(ApiTest, OnlyCustomKindsSayInListsWhatTheyAre) {
  post(vms, vm("a"));
  post(config_maps, config_map("c"));
  EXPECT_THAT(get(vms).text,
              HasSubstr(R"("items":[{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata")"));
  EXPECT_THAT(get(config_maps).text, HasSubstr(R"("items":[{"metadata":{"name":"c")"));
}

// --- watches ---------------------------------------------------------------------------------------------------------

std::vector<std::string> events(const std::vector<std::string>& lines) {
  std::vector<std::string> out;
  for (const auto& line : lines) {
    const auto document = json::Document::parse(line);
    const json::Value* name = json::find_path(document->root(), {"object", "metadata", "name"});
    out.push_back(std::string(json::get_string_or(document->root(), "type")) + " " +
                  std::string(json::as_string(name).value_or("")));
  }
  return out;
}

TEST_F(ApiTest, AWatchTellsWhatHappens) {
  post(vms, vm("a"));
  auto watch = exchange("GET", std::string(vms) + "?watch=true", {}, {}, 1);
  auto ended = start(*watch);
  EXPECT_THAT(events(watch->lines(1)), ElementsAre("ADDED a"));
  post(vms, vm("b"));
  merge(std::string(vms) + "/a", R"({"metadata":{"labels":{"x":"y"}}})");
  call("DELETE", std::string(vms) + "/b");
  EXPECT_THAT(events(watch->lines(4)), ElementsAre("ADDED a", "ADDED b", "MODIFIED a", "DELETED b"));
  watch->cancel();
  ended.get();
}

TEST_F(ApiTest, AWatchWithASelectorSeesObjectsComeAndGo) {
  const std::string from = get(vms).at({"metadata", "resourceVersion"});
  auto watch = exchange("GET", std::string(vms) + "?watch=true&labelSelector=l%3Dx&resourceVersion=" + from);
  auto ended = start(*watch);
  post(vms, vm("a"));
  merge(std::string(vms) + "/a", R"({"metadata":{"labels":{"l":"x"}}})");
  merge(std::string(vms) + "/a", R"({"metadata":{"labels":{"m":"y"}}})");
  const auto left = merge(std::string(vms) + "/a", R"({"metadata":{"labels":{"l":"z"}}})");
  const auto lines = watch->lines(3);
  EXPECT_THAT(events(lines), ElementsAre("ADDED a", "MODIFIED a", "DELETED a"));
  EXPECT_THAT(lines.back(),
              HasSubstr(fmt::format(R"("resourceVersion":"{}")", left.at({"metadata", "resourceVersion"}))));
  watch->cancel();
  ended.get();
}

TEST_F(ApiTest, InitialEventsEndWithABookmark) {
  post(vms, vm("a"));
  auto watch = exchange("GET", std::string(vms) +
                                   "?watch=true&sendInitialEvents=true&allowWatchBookmarks=true"
                                   "&resourceVersionMatch=NotOlderThan&timeoutSeconds=1");
  start(*watch).get();
  const auto lines = watch->lines(2);
  EXPECT_THAT(events(lines), ElementsAre("ADDED a", "BOOKMARK "));
  EXPECT_THAT(lines.back(), HasSubstr(R"("k8s.io/initial-events-end":"true")"));
}

TEST_F(ApiTest, BookmarksOfTablesAreTables) {
  // Every kind can make a row of an object that says nothing.
  for (const Resource& resource : resources()) {
    if (!resource.stored) continue;
    const std::string at = resource.group().empty() ? "/api/v1" : fmt::format("/apis/{}", resource.storage_api_version);
    auto watch = exchange("GET",
                          fmt::format("{}/{}?watch=true&sendInitialEvents=true&allowWatchBookmarks=true"
                                      "&resourceVersionMatch=NotOlderThan&fieldSelector=metadata.name%3Dnone",
                                      at, resource.plural()),
                          {}, {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
    auto ended = start(*watch);
    const std::string line = watch->lines(1).at(0);
    watch->cancel();
    ended.get();
    const auto event = json::Document::parse(line);
    ASSERT_TRUE(event) << line;
    EXPECT_EQ(json::get_string(event->root(), "type"), "BOOKMARK") << line;
    EXPECT_EQ(json::as_string(json::find_path(event->root(), {"object", "kind"})), "Table") << line;
    const auto* rows = json::as_array(json::find_path(event->root(), {"object", "rows"}));
    ASSERT_TRUE(rows && rows->size() == 1) << line;
    const json::Value* metadata = json::find_path(rows->front(), {"object", "metadata"});
    ASSERT_TRUE(metadata) << line;
    EXPECT_EQ(json::get_string(*metadata, "resourceVersion"),
              json::as_string(json::find_path(event->root(), {"object", "metadata", "resourceVersion"})));
    EXPECT_EQ(json::to_text(*json::find(*metadata, "annotations")), R"({"k8s.io/initial-events-end":"true"})");
  }
}

TEST_F(ApiTest, AWatchOfOneNameSeesNoOther) {
  auto watch = exchange("GET", "/apis/kubevirt.io/v1/watch/namespaces/default/virtualmachines/b");
  auto ended = start(*watch);
  post(vms, vm("a"));
  post(vms, vm("b"));
  EXPECT_THAT(events(watch->lines(1)), ElementsAre("ADDED b"));
  watch->cancel();
  ended.get();
}

TEST_F(ApiTest, EventsThatWaitGoOutTogether) {
  const std::string from = get(vms).at({"metadata", "resourceVersion"});
  for (int i = 0; i < 50; ++i) post(vms, vm(fmt::format("vm-{}", i)));
  auto watch = exchange("GET", std::string(vms) + "?watch=true&resourceVersion=" + from);
  auto ended = start(*watch);
  EXPECT_THAT(watch->lines(50), SizeIs(50));
  EXPECT_LE(watch->writes(), 3u);
  watch->cancel();
  ended.get();
}

TEST_F(ApiTest, AWatchFromTheFutureIsRefused) {
  EXPECT_EQ(get(std::string(vms) + "?watch=true&resourceVersion=999999").status, 504);
  EXPECT_EQ(get(std::string(vms) + "?watch=true&resourceVersion=abc").status, 400);
}

TEST_F(ApiTest, AWatchMayBeThrownAwayWhereItWaits) {
  auto watch = exchange("GET", std::string(vms) + "?watch=true");
  auto handled = std::make_shared<std::optional<Background>>();
  std::promise<void> begun, gone;
  watch->core().post([&] {
    handled->emplace([](server::Router& router, TestExchange& served) -> Task<void> { co_await router.handle(served); }(
                                                                          router_, *watch));
    begun.set_value();
  });
  begun.get_future().get();
  post(vms, vm("a"));
  watch->lines(1);
  watch->core().post([&] {
    handled->reset();
    gone.set_value();
  });
  gone.get_future().get();
  EXPECT_EQ(post(vms, vm("b")).status, 201);
}

}  // namespace
}  // namespace vg::resources::testing
