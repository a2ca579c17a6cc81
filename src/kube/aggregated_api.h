// What kube-apiserver's aggregation layer reaches: the group subresources.kubevirt.io with its documents, each request
// authenticated by the front proxy's certificate and allowed by an access review (spec server 4).
//
//   preflight -> open document, or: certificate -> user -> access review -> action
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "actions/service.h"
#include "base/clock.h"
#include "base/task.h"
#include "config/cluster_config.h"
#include "kube/access_question.h"
#include "kube/api_server_health.h"
#include "kube/front_proxy.h"
#include "ports/authorizer.h"
#include "profile/process_profiler.h"
#include "server/router.h"

namespace vg::kube {

// Which methods a path takes, separated by commas; nothing where there is no route. Paths as for access_question.
std::string preflight_methods(std::string_view path, std::string_view sent_path);

// An action that was asked for, when it is answered.
struct ObservedAction {
  const AccessAttributes& attributes;
  std::string_view subresource;  // all of it: "portforward/80/tcp"
  const User& user;
  bool allowed = true;
  std::string_view reason;  // the access review's
  Clock::Steady began;
};

class AggregatedApi {
 public:
  struct Parts {
    const actions::Service& actions;
    Authorizer& authorizer;
    ApiServerHealth& health;
    const config::ConfigSource& config;
    profile::ProcessProfiler& profiler;
    // What is known of the front proxy now; null while nothing is.
    std::function<std::shared_ptr<const FrontProxy>()> front_proxy;
    // Is told of every action. Empty: nobody wants to know.
    std::function<void(const server::Call&, const ObservedAction&)> observe = {};
    const Clock* clock = nullptr;  // with the one before
  };
  // The parts outlive the router's use of this.
  explicit AggregatedApi(Parts parts) : parts_(std::move(parts)) {}

  // Everything that has no route of its own.
  void add_routes(server::Router& router);

  // Who asks, by the word of the front proxy, after it is their turn. The refusal was sent when there is none.
  Task<std::optional<User>> identify(server::Call& call) const;

 private:
  Task<void> serve(server::Call& call);
  Task<void> serve_open(server::Call& call);
  struct Passed {
    User user;
    bool allowed = false;  // otherwise the refusal was sent
    std::string reason;
  };
  // Nothing when it is not known who asks.
  Task<std::optional<Passed>> pass(server::Call& call, const AccessQuestion& question) const;

  const Parts parts_;
};

}  // namespace vg::kube
