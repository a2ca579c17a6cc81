// What controllers show of VMs and VMIs is not judged again; what they want of them is.
#include <gmock/gmock.h>

#include "catalog/catalog.h"
#include "engine/testing.h"
#include "json/write.h"
#include "objects/commit.h"

namespace vg::engine {
namespace {

constexpr std::string_view vms = "kubevirt.io/virtualmachines";

// There is no such run strategy: an older program or another configuration let it in.
constexpr std::string_view refused_today = R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine",
  "metadata":{"name":"a","namespace":"ns","uid":"uid-a","generation":1,"creationTimestamp":"2026-01-02T03:04:05Z",
    "managedFields":[{"manager":"kubectl","operation":"Update","apiVersion":"kubevirt.io/v1",
      "time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:runStrategy":{}}}}]},
  "spec":{"runStrategy":"Sometimes","template":{"spec":{"domain":{"devices":{}}}}}})";

class Shown : public EngineTest {
 protected:
  Shown() {
    Transaction transaction;
    transaction.writes.push_back(
        {.kind = WriteKind::create,
         .key = {std::string(vms), "ns", "a"},
         .object = resources::make_draft(object(refused_today).get_object(), *resources::find_resource(vms))});
    const auto stored =
        http::test::run_on(core(), [](resources::Commits& commits, Core& on, Transaction all) -> Task<bool> {
          const auto outcome = co_await resources::commit(commits, on, std::move(all));
          co_return outcome.has_value();
        }(*commits_, core(), std::move(transaction)));
    EXPECT_TRUE(stored);
  }
  Done patch(Verb verb, std::string_view operations) {
    return write({.verb = verb,
                  .resource = vms,
                  .ns = "ns",
                  .name = "a",
                  .identity = controllers::Identity::own(),
                  .document = object(operations)});
  }
  json::Value read() { return resources::load_object(*store_->get(vms, "ns", "a"), json::StoragePtr()); }
};

TEST_F(Shown, AStatusIsWrittenWhateverIsWrongWithTheSpec) {
  const Done done =
      patch(Verb::patch_status, R"([{"op":"add","path":"/status","value":{"printableStatus":"Stopped"}}])");
  ASSERT_FALSE(done.hard) << done.hard->message;
  const json::Value vm = read();
  EXPECT_EQ(json::as_string(json::find_path(vm, {"status", "printableStatus"})), "Stopped");
  EXPECT_EQ(json::as_int(json::find_path(vm, {"metadata", "generation"})), 1);
}

TEST_F(Shown, WhoWroteItIsNoted) {
  ASSERT_FALSE(
      patch(Verb::patch_status, R"([{"op":"add","path":"/status","value":{"printableStatus":"Stopped"}}])").hard);
  const json::Value vm = read();
  const json::Array& owners = json::find_path(vm, {"metadata", "managedFields"})->get_array();
  ASSERT_EQ(owners.size(), 2U);
  EXPECT_EQ(json::get_string_or(owners[1], "manager"), "virt-controller");
  EXPECT_EQ(json::get_string_or(owners[1], "subresource"), "status");
  EXPECT_EQ(json::to_text(*json::find(owners[1], "fieldsV1")), R"({"f:status":{".":{},"f:printableStatus":{}}})");
  EXPECT_EQ(json::to_text(*json::find(owners[0], "fieldsV1")), R"({"f:spec":{"f:runStrategy":{}}})");
}

TEST_F(Shown, FinalizersAreWrittenAndBadMetadataIsNot) {
  EXPECT_FALSE(patch(Verb::patch, R"([{"op":"add","path":"/metadata/finalizers","value":["kubevirt.io/x"]}])").hard);
  EXPECT_TRUE(patch(Verb::patch, R"([{"op":"add","path":"/metadata/labels","value":{"no good":"x"}}])").hard);
}

TEST_F(Shown, WhatIsWantedIsJudged) {
  EXPECT_TRUE(patch(Verb::patch, R"([{"op":"add","path":"/spec/running","value":true}])").hard);
  EXPECT_TRUE(patch(Verb::patch_status,
                    R"([{"op":"add","path":"/status","value":{"volumeRequests":[{"addVolumeOptions":{"name":"d"}}]}}])")
                  .hard);
}

}  // namespace
}  // namespace vg::engine
