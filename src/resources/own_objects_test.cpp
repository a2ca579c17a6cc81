#include "resources/own_objects.h"

#include <gmock/gmock.h>

#include "json/arena.h"
#include "resources/api_test_support.h"

namespace vg::resources::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr ResourceName machines{"kubevirt.io", "v1", "virtualmachines"};
constexpr ResourceName maps{"", "v1", "configmaps"};
constexpr ResourceName pods{"", "v1", "pods"};

class OwnObjectsTest : public ApiTest {
 protected:
  // Runs it on a core, as a request does.
  template <class T>
  T run(Task<T> task) {
    std::promise<T> promise;
    auto future = promise.get_future();
    core().post([&] {
      spawn([](Task<T> inner, std::promise<T>& result) -> Task<void> { result.set_value(co_await inner); }(
                                                           std::move(task), promise));
    });
    return future.get();
  }
  Core& core() { return (*cores_)[0]; }

  Result<void> patch(std::string_view operations, std::string_view part = "", bool dry_run = false) {
    const auto document = json::Document::parse(operations);
    auto patched = run(own_.patch(core(), {.resource = machines, .ns = "default", .name = "a"}, part,
                                  *document->root().if_array(), dry_run));
    if (!patched) return fail(std::move(patched.error()));
    return {};
  }
  std::vector<std::string> names(ResourceName resource, Selectors selectors) {
    json::Arena arena;
    auto listed = run(own_.list(core(), resource, "default", selectors, arena.storage()));
    if (!listed) return {std::to_string(listed.error().code)};
    std::vector<std::string> out;
    for (const json::Value& value : *listed)
      out.emplace_back(json::as_string(json::find_path(value, {"metadata", "name"})).value_or("?"));
    return out;
  }

  OwnObjects own_{api_->backend(), "kubevirt"};
};

TEST_F(OwnObjectsTest, ReadsWhatIsThere) {
  post(vms, vm("a"));
  json::Arena arena;
  const auto found = run(own_.get(core(), {.resource = machines, .ns = "default", .name = "a"}, arena.storage()));
  ASSERT_TRUE(found);
  EXPECT_EQ(json::as_string(json::find_path(*found, {"spec", "runStrategy"})), "Halted");
  const auto code = [&](const ResourceName& resource, std::string_view name) {
    return run(own_.get(core(), {.resource = resource, .ns = "default", .name = name}, arena.storage())).error().code;
  };
  EXPECT_EQ(code(machines, "b"), 404);
  EXPECT_EQ(code({"kubevirt.io", "v1", "nothings"}, "a"), 404);
  EXPECT_EQ(code({"cdi.kubevirt.io", "v1beta1", "cdiconfigs"}, "config"), 403);
}

TEST_F(OwnObjectsTest, CdiIsReadWhereThatIsGranted) {
  OwnObjects alone(api_->backend(), "kubevirt", CdiAccess::granted);
  json::Arena arena;
  const auto found = run(alone.get(
      core(), {.resource = {"cdi.kubevirt.io", "v1beta1", "cdiconfigs"}, .ns = {}, .name = "config"}, arena.storage()));
  EXPECT_EQ(found.error().code, 404);
}

TEST_F(OwnObjectsTest, ListsWhatIsSelected) {
  post(config_maps, config_map("a", R"(,"labels":{"x":"1"})"));
  post(config_maps, config_map("b", R"(,"labels":{"x":"2"})"));
  EXPECT_THAT(names(maps, {}), ElementsAre("a", "b"));
  EXPECT_THAT(names(maps, {.labels = "x=2"}), ElementsAre("b"));
  EXPECT_THAT(names(maps, {.labels = "x in (3)"}), IsEmpty());
  EXPECT_THAT(names(pods, {.fields = "spec.nodeName=n"}), IsEmpty());
  EXPECT_THAT(names(maps, {.labels = "x in ("}), ElementsAre("400"));
  EXPECT_THAT(names(maps, {.fields = "data.x=1"}), ElementsAre("400"));
}

TEST_F(OwnObjectsTest, PatchesWithTests) {
  post(vms, vm("a"));
  constexpr std::string_view start = R"([{"op":"test","path":"/spec/runStrategy","value":"Halted"},)"
                                     R"({"op":"replace","path":"/spec/runStrategy","value":"Always"}])";
  EXPECT_TRUE(patch(start, "", true));
  EXPECT_EQ(get(std::string(vms) + "/a").at({"spec", "runStrategy"}), "Halted");
  EXPECT_TRUE(patch(start));
  EXPECT_EQ(get(std::string(vms) + "/a").at({"spec", "runStrategy"}), "Always");
  const auto again = patch(start);
  ASSERT_FALSE(again);
  EXPECT_TRUE(is_failed_patch(again.error())) << again.error().message;
  const auto invalid = patch(R"([{"op":"replace","path":"/spec/runStrategy","value":"Nonsense"}])");
  ASSERT_FALSE(invalid);
  EXPECT_FALSE(is_failed_patch(invalid.error()));
  EXPECT_FALSE(invalid.error().message.empty());
}

TEST_F(OwnObjectsTest, WhatIsWrittenIsVirtApis) {
  post(vms, vm("a"));
  EXPECT_TRUE(patch(R"([{"op":"replace","path":"/spec/runStrategy","value":"Always"}])"));
  EXPECT_TRUE(patch(R"([{"op":"add","path":"/status","value":{"ready":true,"printableStatus":"Stopped"}}])", "status"));
  const std::string owners = get(std::string(vms) + "/a").at({"metadata", "managedFields"});
  EXPECT_THAT(owners, HasSubstr(R"("fieldsV1":{"f:spec":{"f:runStrategy":{}}}})"));
  EXPECT_THAT(owners,
              HasSubstr(R"({"f:status":{".":{},"f:printableStatus":{},"f:ready":{}}},"subresource":"status"})"));
  const auto object = json::Document::parse(config_map("made", "", R"("a":"1")"));
  ASSERT_TRUE(run(own_.create(core(), maps, "default", object->root(), false)));
  EXPECT_THAT(get(std::string(config_maps) + "/made").at({"metadata", "managedFields"}),
              HasSubstr(R"("manager":"virt-api","operation":"Update")"));
}

TEST_F(OwnObjectsTest, PatchesStatusOnItsOwn) {
  post(vms, vm("a"));
  EXPECT_TRUE(patch(R"([{"op":"add","path":"/status","value":{"stateChangeRequests":[{"action":"Start"}]}},)"
                    R"({"op":"replace","path":"/spec/runStrategy","value":"Always"}])",
                    "status"));
  const auto read = get(std::string(vms) + "/a");
  EXPECT_EQ(read.at({"status", "stateChangeRequests"}), R"([{"action":"Start"}])");
  EXPECT_EQ(read.at({"spec", "runStrategy"}), "Halted");
}

TEST_F(OwnObjectsTest, CreatesUnderAGeneratedName) {
  const auto object = json::Document::parse(config_map("", R"(,"generateName":"made-")"));
  const auto create = [&](bool dry_run) { return run(own_.create(core(), maps, "default", object->root(), dry_run)); };
  const auto rehearsed = create(true);
  ASSERT_TRUE(rehearsed) << rehearsed.error().message;
  EXPECT_THAT(names(maps, {}), IsEmpty());
  const auto made = create(false);
  ASSERT_TRUE(made);
  EXPECT_THAT(made->name, StartsWith("made-"));
  EXPECT_FALSE(made->uid.empty());
  EXPECT_THAT(names(maps, {}), ElementsAre(made->name));
}

}  // namespace
}  // namespace vg::resources::testing
