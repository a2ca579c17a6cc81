// The page at /ui as `virtgate cluster --ui` has it: users sign in with a token of the cluster, and everything they see
// or do is asked of the API server with that token. Its own credentials this program uses for TokenReviews alone.
#pragma once

#include <chrono>
#include <string_view>

#include "base/background.h"
#include "base/clock.h"
#include "base/core.h"
#include "base/status.h"
#include "base/task.h"
#include "config/cluster_config.h"
#include "kube/client.h"
#include "kube/cluster_access.h"
#include "kube/credentials.h"
#include "kube/rate_limiter.h"
#include "kube/token_reviews.h"
#include "server/router.h"
#include "ui/proxy.h"
#include "ui/service.h"
#include "ui/sessions.h"

namespace vg::cmd {

inline constexpr std::string_view cluster_ui_help =
    "serve the page for browsers at /ui; users sign in with a token of the cluster, and may do what that may "
    "(deploy/README.md)";

class ClusterPage {
 public:
  struct Parts {
    kube::Credentials& own;             // of this program
    const kube::ClusterAccess& access;  // to the same API server; who asks is left out of it
    const config::ConfigSource& config;
    const Clock& clock;
    std::chrono::seconds session_age_max;
    std::chrono::milliseconds ping_interval;
  };
  // Credentials, configuration and clock outlive this.
  explicit ClusterPage(const Parts& parts);

  void add_routes(server::Router& router);
  // On that core: sessions end when their time is over.
  void start(Core& core);
  // The API server does not answer: connections to it that are kept may be as dead.
  void doubt_connections();
  // After the cores have stopped, before they are destroyed.
  void stop();

 private:
  Task<Result<User>> identify(server::Call& call);
  Task<Result<void>> recheck(server::Call& call, std::string_view id, const ui::Credential& credential);

  kube::Credentials nobody_;
  kube::RateLimiter review_limiter_, user_limiter_;
  kube::Client review_client_, user_client_;
  kube::TokenReviews reviews_;
  ui::Sessions sessions_;
  const ui::UiService::CheckToken check_;
  ui::UiService service_;
  ui::ApiProxy proxy_;
  Background keeping_;
};

}  // namespace vg::cmd
