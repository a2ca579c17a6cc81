// The API server as we ask it: one client for all cores, connections that stay on theirs.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/core.h"
#include "base/metrics.h"
#include "base/status.h"
#include "base/task.h"
#include "http/client.h"
#include "json/value.h"
#include "kube/credentials.h"
#include "kube/rate_limiter.h"
#include "ports/object_api.h"

namespace vg::kube {

// What a request is about, for metrics.
struct Subject {
  std::string_view verb;      // GET, LIST, WATCH, CREATE, UPDATE, PATCH, DELETE
  std::string_view resource;  // plural
};

// Views must stay valid until the task has ended.
struct Question {
  std::string_view method = "GET";
  std::string target;  // path and query, without the prefix of the server's URL
  Subject subject = {};
  std::string_view content_type = {};
  std::string_view body = {};
  // For all of it: waiting for a turn, every try, the pauses between them.
  std::chrono::milliseconds timeout = std::chrono::seconds(30);
  // Whether asking twice does no harm; unset: only for GET.
  std::optional<bool> repeatable = {};
  std::size_t body_limit_bytes = limits::client_answer_bytes_max;
  // Whose turns it takes of the rate limit; everything that nobody in particular asks for shares the empty one's.
  std::string_view asker = {};
  // Whose request it is, in place of the one whom the client's credentials stand for.
  std::string_view token = {};
  std::string_view accept = {};  // empty: JSON
};

// Who asks, where it is not this program itself.
struct Asker {
  std::string_view name = {}, token = {};
};

class Client {
 public:
  struct Parts {
    Credentials& credentials;
    RateLimiter& limiter;
    metrics::Registry* metrics = nullptr;  // null: requests are not counted
    std::string user_agent = {};
    // Sent with every request: whom to act as.
    std::vector<std::pair<std::string, std::string>> headers = {};
  };
  // The parts outlive this.
  explicit Client(Parts parts);
  ~Client();

  // An answer of 2xx. Everything else is the Status that the server sent, or 503 and 504 when it sent none.
  Task<Result<http::Answer>> ask(Core& core, Question question);
  // The head of an answer of 2xx, whose body goes on: watches. `silence_max`: how long nothing may come.
  Task<Result<http::AnswerStream>> open(Core& core, Question question, std::chrono::milliseconds silence_max);

  // Once, and as it is answered, whatever that is: for requests that are somebody else's.
  Task<Result<http::AnswerStream>> pass(Core& core, Question question, std::chrono::milliseconds silence_max);
  // Likewise for a WebSocket.
  Task<Result<http::Upgraded>> dial(Core& core, Question question, std::vector<std::string> subprotocols);

  Task<Result<json::Value>> get(Core& core, ObjectName object, json::StoragePtr storage, Asker asker = {});
  // 500 for a list whose text is longer than `bytes_max`.
  Task<Result<json::Value>> list(Core& core, ResourceName resource, std::string_view ns, std::string query,
                                 json::StoragePtr storage, std::size_t bytes_max = limits::client_answer_bytes_max,
                                 Asker asker = {});
  Task<Result<json::Value>> create(Core& core, ResourceName resource, std::string_view ns, std::string_view object,
                                   bool dry_run, json::StoragePtr storage);
  // Replaces the object as a whole; its resource version must be the newest.
  Task<Result<json::Value>> update(Core& core, ObjectName object, std::string_view subresource,
                                   const json::Value& value, bool dry_run, json::StoragePtr storage);
  // A JSON patch.
  Task<Result<json::Value>> patch(Core& core, ObjectName object, std::string_view subresource,
                                  std::string_view operations, bool dry_run, json::StoragePtr storage);
  Task<Result<void>> remove(Core& core, ObjectName object, bool dry_run);

  // From any thread: connections that are kept may be dead without a sign, so all cores close theirs.
  void doubt_connections();
  // After the cores have stopped, before they are destroyed.
  void close();

 private:
  struct Counted {
    explicit Counted(metrics::Registry& registry);
    metrics::Family<metrics::Counter>& requests;
    metrics::Family<metrics::Histogram>& latency;
    metrics::Family<metrics::Histogram>& waited;
  };
  http::Client& client(Core& core);
  Result<http::ClientRequest> request_of(const Question& question, const std::string& target) const;
  Task<Result<void>> wait_for_turn(Core& core, const Question& question, Clock::Steady deadline);
  Task<Result<http::Answer>> ask_once(Core& core, const Question& question, Clock::Steady deadline);
  void count(const Question& question, int status, Clock::Steady began) const;

  const Parts parts_;
  const std::unique_ptr<Counted> counted_;
  std::mutex mutex_;
  std::map<Core*, std::unique_ptr<http::Client>> clients_;
};

}  // namespace vg::kube
