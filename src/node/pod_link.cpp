#include "node/pod_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "http/client.h"
#include "http/side_by_side.h"
#include "http/tls.h"

namespace vg::node {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

// One of the rounds that may be under way.
class Turn {
 public:
  Turn(std::atomic<int>& rounds, int rounds_max) : rounds_(rounds), taken_(rounds.fetch_add(1) < rounds_max) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { rounds_.fetch_sub(1); }
  explicit operator bool() const { return taken_; }

 private:
  std::atomic<int>& rounds_;
  const bool taken_;
};

Result<std::shared_ptr<const http::TlsClientContext>> any_server() {
  http::TlsClientConfig config;
  config.verify = false;
  config.verify_name = false;
  return http::TlsClientContext::create(config);
}

class Round {
 public:
  Round(Core& core, const PodLinkOptions& options, ComponentQuestion question,
        std::shared_ptr<const http::TlsClientContext> tls)
      : options_(options),
        question_(question),
        deadline_(Steady::now() + options.round_deadline),
        client_(core, client_options(options, std::move(tls))) {}

  Task<Result<NodeAnswer>> ask(const Component& component) {
    if (component.address.empty()) co_return fail(Status::unavailable("the pod has no address"));
    const auto left = std::chrono::duration_cast<milliseconds>(deadline_ - Steady::now());
    if (left.count() <= 0)
      co_return fail(Status::unavailable("it was not asked: too many other components did not answer in time"));
    http::ClientRequest request{.method = "GET", .target = question_.target};
    request.timeout = std::min(options_.answer_deadline, left);
    request.body_limit_bytes = question_.answer_bytes_max;
    auto answer = co_await client_.fetch({.host = component.address, .port = options_.port}, std::move(request));
    if (!answer) co_return fail(std::move(answer.error()));
    co_return NodeAnswer{
        .status = answer->head.status, .phrase = std::move(answer->head.reason), .body = std::move(answer->body)};
  }

 private:
  static http::ClientOptions client_options(const PodLinkOptions& options,
                                            std::shared_ptr<const http::TlsClientContext> tls) {
    http::ClientOptions made;
    made.tls = [tls = std::move(tls)] { return Result<std::shared_ptr<const http::TlsClientContext>>(tls); };
    made.idle_per_origin_max = 0;  // each of them is asked once
    made.connect_deadline = options.answer_deadline;
    return made;
  }

  const PodLinkOptions& options_;
  const ComponentQuestion question_;
  const Steady::time_point deadline_;
  http::Client client_;
};

}  // namespace

Task<Result<void>> PodLink::ask_all(Core& core, std::span<const Component> components, ComponentQuestion question,
                                    Take take) {
  const Turn turn(rounds_, options_.rounds_max);
  if (!turn)
    co_return fail(
        Status::too_many_requests("another request is asking all components; try again when it has completed", 1));
  auto tls = any_server();
  if (!tls) co_return fail(std::move(tls.error()));
  Round round(core, options_, question, std::move(*tls));
  bool wanted = true;
  co_await http::side_by_side(core, components.size(), options_.at_once_max, [&](std::size_t index) -> Task<void> {
    if (!wanted) co_return;
    auto answer = co_await round.ask(components[index]);
    if (wanted && !take(index, std::move(answer))) wanted = false;
  });
  co_return Result<void>();
}

}  // namespace vg::node
