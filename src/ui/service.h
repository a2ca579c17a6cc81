// The page at /ui: its files, who is signed in, and what it asks beside the API.
//
//   /ui/...          the files of the page, for everybody: they hold nothing of anybody
//   /ui/session      sign in, who am I, sign out
//   /ui/sign-in      by what one can sign in
//   /ui/codes        a one-time code for `virtgate ui`
//   /ui/api/...      questions of the page, for whoever shows who they are
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "base/task.h"
#include "json/value.h"
#include "ports/authorizer.h"
#include "server/router.h"
#include "ui/sessions.h"

namespace vg::ui {

class UiService {
 public:
  // Who asks, for whom, when it is their turn: 401 for nobody in particular. As for requests to the API.
  using Identify = std::function<Task<Result<User>>(server::Call&)>;
  // Whom a token stands for, with all implied groups.
  // `asker`: on whose account the question is, where questions are few.
  using CheckToken = std::function<Task<Result<User>>(Core&, std::string_view token, std::string_view asker)>;
  // Answers a request below /ui/api/ of a user; the rest of the path is what follows the handler's name.
  using Handler = std::function<Task<void>(server::Call&, const User&, std::string_view rest)>;

  struct Parts {
    Sessions& sessions;
    Identify identify;
    CheckToken check_token;
    std::string_view mode;  // "standalone" or "cluster", for people
    const Clock& clock;
    std::string_view api_prefix = {};  // where the page finds the API of Kubernetes
    bool codes = true;                 // whether there are links that sign in
  };
  // Everything in the parts outlives the router's use of this.
  explicit UiService(Parts parts) : parts_(std::move(parts)) {}

  // METHOD /ui/api/NAME, or /ui/api/NAME/... for names that end with a slash. Before add_routes.
  void add_question(std::string method, std::string name, Handler handler);
  void add_routes(server::Router& router);

 private:
  struct Question {
    std::string method;
    Handler handler;
  };

  Task<void> serve_file(server::Call& call) const;
  Task<void> serve_session(server::Call& call);
  Task<void> sign_in(server::Call& call);
  Task<void> show_session(server::Call& call) const;
  Task<void> show_ways(server::Call& call) const;
  json::Value session_document(const User& user, std::optional<Clock::Wall> expires) const;
  void sign_out(server::Call& call);
  Task<Result<Credential>> read_credential(server::Call& call);
  Task<void> serve_codes(server::Call& call);
  Task<void> serve_question(server::Call& call) const;

  const Parts parts_;
  std::map<std::string, Question, std::less<>> questions_;
};

}  // namespace vg::ui
