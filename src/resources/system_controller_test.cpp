#include "housekeeping/system_controller.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "housekeeping/controllers.h"
#include "resources/api_test_support.h"

namespace vg::resources::testing {
namespace {

class SystemControllerTest : public ApiTest {
 protected:
  ~SystemControllerTest() override {
    on_core([this] {
      task_.reset();
      deletions_task_.reset();
    });
  }

  void start_controller() {
    controller_ =
        make_system_controller({.store = *store_, .commits = *commits_, .core = (*cores_)[1], .clock = clock_},
                               {.ca_bundle = "PEM", .address = "192.0.2.7", .port = 6443});
    on_core([this] { task_.emplace(controller_->run()); });
  }
  void start_deletions() {
    deletions_ =
        make_deletion_controller({.store = *store_, .commits = *commits_, .core = (*cores_)[1], .clock = clock_}, {});
    on_core([this] { deletions_task_.emplace(deletions_->run()); });
  }
  template <class F>
  void on_core(F f) {
    std::promise<void> done;
    (*cores_)[1].post([&] {
      f();
      done.set_value();
    });
    done.get_future().get();
  }

  // Waits until it is so.
  template <class F>
  static bool soon(F holds) {
    for (int i = 0; i < 2000; ++i) {
      if (holds()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }
  void make_namespace(std::string_view name) {
    const auto made = post("/api/v1/namespaces",
                           fmt::format(R"({{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{}"}}}})", name));
    EXPECT_EQ(made.status, 201);
  }
  static std::string account(std::string_view ns) {
    return fmt::format("/api/v1/namespaces/{}/serviceaccounts/default", ns);
  }
  static std::string certificate(std::string_view ns) {
    return fmt::format("/api/v1/namespaces/{}/configmaps/kube-root-ca.crt", ns);
  }
  bool complete(std::string_view ns) {
    return soon(
        [&] { return get(account(ns)).status == 200 && get(certificate(ns)).at({"data"}) == R"({"ca.crt":"PEM"})"; });
  }

  std::unique_ptr<Controller> controller_;
  std::unique_ptr<Controller> deletions_;
  std::optional<Background> task_, deletions_task_;
};

TEST_F(SystemControllerTest, TheyComeWithTheirNamespace) {
  make_namespace("before");
  start_controller();
  EXPECT_TRUE(complete("before"));
  make_namespace("after");
  EXPECT_TRUE(complete("after"));
}

TEST_F(SystemControllerTest, TheyComeBack) {
  start_controller();
  ASSERT_TRUE(complete("default"));
  const std::string uid = get(account("default")).at({"metadata", "uid"});
  EXPECT_EQ(call("DELETE", account("default")).status, 200);
  EXPECT_EQ(call("DELETE", certificate("default")).status, 200);
  EXPECT_TRUE(complete("default"));
  EXPECT_NE(get(account("default")).at({"metadata", "uid"}), uid);
  const std::string service = "/api/v1/namespaces/default/services/kubernetes";
  EXPECT_EQ(call("DELETE", service).status, 200);
  EXPECT_TRUE(soon([&] { return get(service).at({"spec", "clusterIP"}) == "192.0.2.7"; }));
}

TEST_F(SystemControllerTest, WhatSomebodyChangedIsMended) {
  start_controller();
  ASSERT_TRUE(complete("default"));
  EXPECT_EQ(merge(certificate("default"), R"({"data":{"ca.crt":"other","more":"x"}})").status, 200);
  EXPECT_TRUE(complete("default"));
  EXPECT_EQ(merge(certificate("default"), R"({"metadata":{"labels":{"mine":"1"}}})").status, 200);
  EXPECT_EQ(get(certificate("default")).at({"metadata", "labels", "mine"}), "1");
}

TEST_F(SystemControllerTest, ANamespaceThatGoesTakesThemAlong) {
  start_controller();
  start_deletions();
  make_namespace("short");
  ASSERT_TRUE(complete("short"));
  EXPECT_EQ(call("DELETE", "/api/v1/namespaces/short").status, 200);
  EXPECT_TRUE(soon([&] { return get("/api/v1/namespaces/short").status == 404; }));
  EXPECT_EQ(get(account("short")).status, 404);
  EXPECT_EQ(get(certificate("short")).status, 404);
  // Again under the same name: it is another namespace.
  make_namespace("short");
  EXPECT_TRUE(complete("short"));
}

TEST_F(SystemControllerTest, ManyNamespacesAreSeenTo) {
  for (int i = 0; i < 200; ++i) make_namespace(fmt::format("n{}", i));
  start_controller();
  EXPECT_TRUE(soon([&] { return store_->count("serviceaccounts") >= 205; }));
}

}  // namespace
}  // namespace vg::resources::testing
