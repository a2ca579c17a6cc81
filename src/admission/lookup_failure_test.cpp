#include "admission/lookup_failure.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <vector>

#include "admission/admit.h"
#include "admission/defaults/testing.h"
#include "json/document.h"

namespace vg::admission {
namespace {

using std::string_view;
using ::testing::HasSubstr;

// Nobody can be asked.
class Failing final : public Lookups {
 public:
  int code = 503;

  Result<json::Value*> get(string_view, string_view, string_view, const json::StoragePtr&) const override {
    return fail(status());
  }
  Result<std::vector<json::Value*>> list(string_view, string_view, const json::StoragePtr&) const override {
    return fail(status());
  }
  Result<std::vector<json::Value*>> list_labelled(string_view, string_view, string_view, string_view,
                                                  const json::StoragePtr&) const override {
    return fail(status());
  }
  bool missed() const override { return false; }

 private:
  Status status() const { return {.code = code, .reason = {}, .message = "no answer", .details = {}}; }
};

struct LookupFailureTest : ::testing::Test {
  Failing lookups;
  SystemClock clock;
  config::FixedConfig config{
      testing::configuration(R"({"developerConfiguration":{"featureGates":["IncrementalBackup"]}})")};

  Verdict ask(string_view path, string_view request) const {
    auto document = json::Document::parse(fmt::format(R"({{"request":{}}})", request));
    EXPECT_TRUE(document) << request;
    const auto review = read_review(document->root());
    const ReadyLookups ready(lookups);
    const Environment environment{.config = config, .lookups = ready, .clock = clock};
    return admit(*find_webhook(path), *review, environment, document->storage());
  }
};

constexpr string_view vm_with_instancetype =
    R"({"uid":"1","operation":"CREATE","namespace":"n","name":"m","userInfo":{"username":"alice"},
        "resource":{"group":"kubevirt.io","version":"v1","resource":"virtualmachines"},
        "object":{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"m","namespace":"n"},
          "spec":{"runStrategy":"Halted","instancetype":{"name":"big","kind":"VirtualMachineClusterInstancetype"},
            "preference":{"name":"big","kind":"VirtualMachineClusterPreference"},
            "template":{"spec":{"domain":{"devices":{}}}}}}})";
constexpr string_view vm_from_data_source =
    R"({"uid":"1","operation":"CREATE","namespace":"n","name":"m","userInfo":{"username":"alice"},
        "resource":{"group":"kubevirt.io","version":"v1","resource":"virtualmachines"},
        "object":{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"m","namespace":"n"},
          "spec":{"runStrategy":"Halted","template":{"spec":{"domain":{"devices":{},"memory":{"guest":"64Mi"}}}},
            "dataVolumeTemplates":[{"metadata":{"name":"d"},
              "spec":{"sourceRef":{"kind":"DataSource","name":"s"},"storage":{}}}]}}})";
constexpr string_view named_backup =
    R"({"uid":"1","operation":"CREATE","namespace":"n","name":"b",
        "resource":{"group":"backup.kubevirt.io","version":"v1alpha1","resource":"virtualmachinebackups"},
        "object":{"metadata":{"name":"b","namespace":"n"},
          "spec":{"source":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"x"},"pvcName":"c"}}})";
constexpr string_view launcher_pod =
    R"({"uid":"1","operation":"CREATE","namespace":"n","resource":{"version":"v1","resource":"pods"},
        "object":{"metadata":{"namespace":"n","labels":{"kubevirt.io":"virt-launcher"},"ownerReferences":[
          {"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","name":"m"}]},"spec":{"containers":[]}}})";
constexpr string_view vmi =
    R"({"uid":"1","operation":"CREATE","namespace":"n","name":"m","userInfo":{"username":"alice"},
        "resource":{"group":"kubevirt.io","version":"v1","resource":"virtualmachineinstances"},
        "object":{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance",
          "metadata":{"name":"m","namespace":"n"},"spec":{"domain":{"devices":{}}}}})";

struct Row {
  string_view path, request;
};
constexpr Row rows[] = {
    {"/virtualmachines-validate", vm_with_instancetype}, {"/virtualmachines-mutate", vm_with_instancetype},
    {"/virtualmachines-mutate", vm_from_data_source},    {"/virt-launcher-pod-mutate", launcher_pod},
    {"/virtualmachinebackups-validate", named_backup},   {"/virtualmachineinstances-mutate", vmi},
};

TEST_F(LookupFailureTest, NothingPassesThatCouldNotBeChecked) {
  for (const Row& row : rows)
    for (const int code : {500, 503, 504, 429, 408}) {
      lookups.code = code;
      const Verdict verdict = ask(row.path, row.request);
      EXPECT_FALSE(verdict.allowed) << row.path << code;
      EXPECT_EQ(verdict.refusal().code, 503) << row.path << code << verdict.refusal().message;
      EXPECT_EQ(verdict.refusal().reason, "ServiceUnavailable");
      EXPECT_GT(verdict.refusal().details.retry_after_seconds, 0);
      EXPECT_THAT(verdict.refusal().message, HasSubstr("could not be looked up (no answer)"));
      EXPECT_TRUE(verdict.patch.empty());
    }
}

TEST_F(LookupFailureTest, OurOwnMissingRightsLetNothingThroughEither) {
  lookups.code = 403;
  EXPECT_EQ(ask("/virtualmachines-mutate", vm_from_data_source).refusal().code, 503);
  EXPECT_EQ(ask("/virtualmachineinstances-mutate", vmi).refusal().code, 403) << "a refusal stays as it is";
}

// A name that cannot exist is an answer: upstream goes on without the object.
TEST_F(LookupFailureTest, WhatCannotExistIsAnAnswer) {
  lookups.code = 400;
  EXPECT_TRUE(ask("/virtualmachines-mutate", vm_from_data_source).allowed);
  EXPECT_TRUE(ask("/virt-launcher-pod-mutate", launcher_pod).allowed);
}

}  // namespace
}  // namespace vg::admission
