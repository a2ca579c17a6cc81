// A launcher's pod is evicted: its machine is marked in the store, whichever way the eviction comes in.
#include "objects/effects.h"

#include <gmock/gmock.h>

#include "admission/store_lookups.h"
#include "config/cluster_config.h"
#include "objects/draft.h"
#include "ports/object_store_testing.h"
#include "resources/api_test_support.h"
#include "server/webhooks.h"

namespace vg::resources::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view vmis = "kubevirt.io/virtualmachineinstances";
const std::string eviction = "/api/v1/namespaces/default/pods/p/eviction";
const std::string eviction_body = R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}})";

class EffectsTest : public ApiTest {
 protected:
  EffectsTest() {
    put("pods", "p", R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default","uid":"u1",
        "labels":{"kubevirt.io":"virt-launcher"},"annotations":{"kubevirt.io/domain":"m"}},
        "spec":{"nodeName":"node1","containers":[{"name":"c","image":"i"}]},"status":{"phase":"Running"}})");
    put(vmis, "m", R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":{"name":"m",
        "namespace":"default","uid":"u2"},"spec":{"evictionStrategy":"External","domain":{"devices":{}}},
        "status":{"nodeName":"node1"}})");
    evicting_ = std::make_unique<ResourceApi>(parts(environment_));
    evicting_->add_routes(own_router_);
    server::add_webhook_routes(own_router_, server::Access::administrators, metrics_, environment_,
                               evicting_->effects(), server::refuse_nobody());
  }

  void put(std::string_view resource, std::string name, std::string_view text) {
    auto document = json::Document::parse(text);
    Transaction transaction;
    transaction.writes.push_back({.kind = WriteKind::create,
                                  .key = {std::string(resource), "default", std::move(name)},
                                  .object = make_draft(document->root().get_object(), *find_resource(resource))});
    std::promise<bool> done;
    store_->submit(std::move(transaction), [&done](const auto& outcome) { done.set_value(outcome.has_value()); });
    EXPECT_TRUE(done.get_future().get());
  }

  Reply ask(std::string target, std::string body) {
    auto served = exchange("POST", std::move(target), std::move(body), {{"Content-Type", "application/json"}});
    std::promise<void> done;
    served->core().post([&] {
      spawn([](server::Router& router, TestExchange& asked, std::promise<void>& end) -> Task<void> {
        co_await router.handle(asked);
        end.set_value();
      }(own_router_, *served, done));
    });
    done.get_future().get();
    return reply_of(*served);
  }

  std::string mark() {
    const ObjectPtr object = store_->get(vmis, "default", "m");
    if (!object) return "(gone)";
    json::Document memory;
    const json::Value value = load_object(*object, memory.storage());
    return std::string(json::as_string(json::find_path(value, {"status", "evacuationNodeName"})).value_or(""));
  }

  admission::StoreLookups stored_{*store_};
  admission::ReadyLookups lookups_{stored_};
  config::FixedConfig config_{config::ClusterConfig::defaults("amd64")};
  admission::Environment environment_{.config = config_, .lookups = lookups_, .clock = clock_};
  server::Router own_router_{{.identifier = identifier_,
                              .clock = clock_,
                              .metrics = metrics_,
                              .fairness = server::TurnKeeper::everybody_at_once()}};
  std::unique_ptr<ResourceApi> evicting_;
};

TEST_F(EffectsTest, AnEvictionMarksTheMachineAndIsRefused) {
  const Reply reply = ask(eviction, eviction_body);
  EXPECT_EQ(reply.status, 429);
  EXPECT_THAT(reply.at({"message"}), HasSubstr(R"(Eviction triggered evacuation of VMI "default/m")"));
  EXPECT_EQ(mark(), "node1");
  EXPECT_EQ(ask(eviction, eviction_body).status, 429);
  EXPECT_NE(store_->get("pods", "default", "p"), nullptr);
}

TEST_F(EffectsTest, WhatAnEvictionMarksIsVirtApis) {
  put(vmis, "owned", R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":{"name":"owned",
      "namespace":"default","uid":"u5","managedFields":[{"manager":"virt-controller","operation":"Update",
      "apiVersion":"kubevirt.io/v1","fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:nodeName":{}}}}]},
      "spec":{"evictionStrategy":"External","domain":{"devices":{}}},"status":{"nodeName":"node1"}})");
  put("pods", "q", R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"q","namespace":"default","uid":"u6",
      "labels":{"kubevirt.io":"virt-launcher"},"annotations":{"kubevirt.io/domain":"owned"}},
      "spec":{"nodeName":"node1","containers":[{"name":"c","image":"i"}]},"status":{"phase":"Running"}})");
  EXPECT_EQ(ask("/api/v1/namespaces/default/pods/q/eviction?fieldManager=kubectl-drain",
                R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"q"}})")
                .status,
            429);
  const ObjectPtr marked = store_->get(vmis, "default", "owned");
  const std::string text(marked->json());
  EXPECT_THAT(text, HasSubstr(R"({"manager":"virt-api","operation":"Update")"));
  EXPECT_THAT(text, HasSubstr(R"("fieldsV1":{"f:status":{"f:evacuationNodeName":{}}})"));
}

TEST_F(EffectsTest, ADryRunMarksNothing) {
  EXPECT_EQ(ask(eviction + "?dryRun=All", eviction_body).status, 429);
  EXPECT_EQ(mark(), "");
}

TEST_F(EffectsTest, TheWebhookMarksItToo) {
  const auto review = [](std::string_view dry_run) {
    return R"({"request":{"uid":"1","operation":"CREATE","namespace":"default","name":"p","dryRun":)" +
           std::string(dry_run) + R"(,"object":{"metadata":{"name":"p"}}}})";
  };
  EXPECT_EQ(ask("/pod-eviction-validate", review("true")).at({"response", "status", "code"}), "429");
  EXPECT_EQ(mark(), "");
  EXPECT_EQ(ask("/pod-eviction-validate", review("false")).at({"response", "status", "code"}), "429");
  EXPECT_EQ(mark(), "node1");
}

TEST_F(EffectsTest, WhatCannotBeMarkedIsTold) {
  // Nothing to add the mark to: upstream's patch fails in the same way.
  put(vmis, "bare", R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":{"name":"bare",
      "namespace":"default","uid":"u3"},"spec":{"evictionStrategy":"External","domain":{"devices":{}}}})");
  put("pods", "b", R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"b","namespace":"default","uid":"u4",
      "labels":{"kubevirt.io":"virt-launcher"},"annotations":{"kubevirt.io/domain":"bare"}},
      "spec":{"containers":[{"name":"c","image":"i"}]},"status":{"phase":"Running"}})");
  const Reply reply = ask("/api/v1/namespaces/default/pods/b/eviction",
                          R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"b"}})");
  EXPECT_EQ(reply.status, 429);
  EXPECT_THAT(reply.at({"message"}), HasSubstr("could not be marked"));
}

}  // namespace
}  // namespace vg::resources::testing
