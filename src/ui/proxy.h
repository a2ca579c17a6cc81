// The API of the cluster for the page: each request goes on to the API server with the token of the user who signed in,
// and never with this program's own credentials. Of what the browser sends only method, path, query, media types and
// body go along; of what comes back only status, media type, body and warnings.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/status.h"
#include "base/task.h"
#include "http/task_set.h"
#include "kube/client.h"
#include "server/router.h"
#include "ui/proxied.h"
#include "ui/service.h"
#include "ui/sessions.h"

namespace vg::ui {

class ApiProxy {
 public:
  struct Parts {
    kube::Client& client;  // without credentials of its own
    const Sessions& sessions;
    UiService::Identify identify;
    UiService::CheckToken check_token;
    std::chrono::milliseconds ping_interval;
  };
  // Everything in the parts outlives the router's use of this.
  explicit ApiProxy(Parts parts) : parts_(std::move(parts)) {}

  void add_routes(server::Router& router);
  // After the cores have stopped, before they are destroyed.
  void stop() { streams_.clear(); }

 private:
  // One request on its way.
  struct Passing {
    server::Call& call;
    std::string session;
    std::shared_ptr<const Credential> credential;
    Proxied asked;
    kube::Question question;
  };

  Task<void> serve(server::Call& call);
  Task<void> pass(Passing& passing);
  Task<void> watch(Passing& passing);
  Task<void> open_stream(Passing& passing);
  Task<void> answer_from(Passing& passing, http::AnswerStream stream);
  // The API server does not take the token, or who serves the path does not want this user (as virt-api says that).
  Task<void> refuse_token(Passing& passing);

  const Parts parts_;
  http::TaskSet streams_;
};

}  // namespace vg::ui
