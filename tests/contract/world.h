// One cluster seen through the ports of one mode, and a way to change it from outside. Every contract here is put to
// both modes: on one machine everything is in this process, over the embedded store; in a cluster the ports talk over
// HTTPS to a `virtgate serve --api-only` that plays kube-apiserver.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/lookup_session.h"
#include "base/core.h"
#include "config/cluster_config.h"
#include "http/server_test_support.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"
#include "ports/authorizer.h"
#include "ports/node_link.h"
#include "ports/object_api.h"

namespace vg::contract {

// What a user of the cluster was answered.
struct Reply {
  int status = 0;
  json::Document body;

  std::string at(std::initializer_list<std::string_view> path) const {
    const json::Value* value = json::find_path(body.root(), path);
    return value ? std::string(json::as_string(value).value_or(json::to_text(*value))) : "(absent)";
  }
  std::string version() const { return at({"metadata", "resourceVersion"}); }
};

// A source of configuration, and how far it has come.
class ConfigUnderTest {
 public:
  virtual ~ConfigUnderTest() = default;
  virtual const config::ConfigSource& source() const = 0;
  // Returns once it has looked at this version of the KubeVirt object; empty: once it knows that the object is gone.
  virtual void await_seen(std::string_view name, std::string_view version) = 0;
};

class World {
 public:
  virtual ~World() = default;

  virtual ObjectApi& objects() = 0;
  virtual Authorizer& authorizer() = 0;
  // Those whom nobody answers. Objects of this process are never lost: null.
  virtual ObjectApi* lost_objects() = 0;
  virtual Authorizer& lost_authorizer() = 0;
  virtual const admission::LookupSource& lookups() = 0;
  // Nobody answers these either. What is gathered from lists is unknown then; sessions end within `lost_time`.
  virtual const admission::LookupSource& lost_lookups() = 0;
  static constexpr std::chrono::milliseconds lost_time{200};
  virtual std::unique_ptr<ConfigUnderTest> configuration(std::string own_namespace) = 0;

  // Returns once look-ups know this version of an object of a kind of which they keep copies; empty: that it is gone.
  virtual void await_copy(std::string_view resource, std::string_view ns, std::string_view name,
                          std::string_view version) = 0;

  // As the cluster's administrator.
  virtual Reply ask(std::string_view method, std::string target, std::string body, std::string_view content_type) = 0;

  // Two of them.
  virtual Core& core(std::size_t index) = 0;
  // Keeps something that has connections on both cores until these have stopped: only then they can be let go.
  void adopt(std::shared_ptr<void> user) { adopted_.push_back(std::move(user)); }

 protected:
  std::vector<std::shared_ptr<void>> adopted_;
};

enum class Mode { standalone, cluster };
inline void PrintTo(Mode mode, std::ostream* out) { *out << (mode == Mode::standalone ? "standalone" : "cluster"); }
// Made when first asked for, gone when the last test is.
World& world_of(Mode mode);

std::unique_ptr<World> make_standalone_world();
std::unique_ptr<World> make_cluster_world();

inline std::string mode_name(const ::testing::TestParamInfo<Mode>& info) {
  return info.param == Mode::standalone ? "Standalone" : "Cluster";
}
inline auto both_modes() { return ::testing::Values(Mode::standalone, Mode::cluster); }

// A namespace of its own in one of the worlds.
class ContractTest : public ::testing::TestWithParam<Mode> {
 protected:
  ContractTest();

  World& world() { return world_; }
  // Runs it on that core, where it must also end.
  template <class T>
  T run(Task<T> task, std::size_t core = 0) {
    return http::test::run_on(world_.core(core), ends_on(world_.core(core), std::move(task)));
  }
  template <class T>
  static Task<T> ends_on(Core& core, Task<T> task) {
    if constexpr (std::is_void_v<T>) {
      co_await task;
      EXPECT_TRUE(core.here()) << "a task goes on where it was started";
    } else {
      T result = co_await task;
      EXPECT_TRUE(core.here()) << "a task goes on where it was started";
      co_return result;
    }
  }

  // The administrator's doings. These expect to be allowed.
  Reply create(std::string_view collection, std::string_view object);
  Reply merge(std::string_view path, std::string_view patch);
  Reply read(std::string_view path);
  void remove(std::string_view path);
  std::string make_namespace();

  // "/apis/kubevirt.io/v1/namespaces/NS/PLURAL" of this test's namespace; "/api/v1/..." without a group.
  std::string collection(std::string_view group_version, std::string_view plural, std::string_view ns = {}) const;

  static std::string vm(std::string_view name, std::string_view metadata = "");
  static std::string config_map(std::string_view name, std::string_view metadata = "", std::string_view data = "");

  World& world_;
  std::string ns_;
  json::Document memory_;
};

}  // namespace vg::contract
