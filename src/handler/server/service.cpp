#include "handler/server/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/duration.h"
#include "base/handler_limits.h"
#include "base/log.h"
#include "handler/server/answers.h"
#include "json/access.h"
#include "json/document.h"
#include "server/trace.h"

namespace vg::handler {
namespace {

using std::string_view;

constexpr int request_verbosity = 3;

}  // namespace

struct Service::Row {
  string_view method, what;
  Answer (Service::*answer)(Core& core, const Target& target, string_view body);
};

const Service::Row* Service::find_row(const Target& target) {
  static constexpr std::array rows = std::to_array<Row>({
      {"PUT", "pause", &Service::pause},
      {"PUT", "unpause", &Service::unpause},
      {"PUT", "softreboot", &Service::soft_reboot},
      {"PUT", "reset", &Service::reset},
      {"PUT", "freeze", &Service::freeze},
      {"PUT", "unfreeze", &Service::unfreeze},
      {"PUT", "copydisks", &Service::copy_disks},
      {"GET", "vnc/screenshot", &Service::screenshot},
      {"GET", "stats", &Service::stats},
      {"GET", "guestosinfo", &Service::agent_document},
      {"GET", "userlist", &Service::agent_document},
      {"GET", "filesystemlist", &Service::agent_document},
      {"PUT", "backup", &Service::unsupported},
      {"PUT", "redefine-checkpoint", &Service::unsupported},
      {"GET", "sev/fetchcertchain", &Service::unsupported},
      {"GET", "sev/querylaunchmeasurement", &Service::unsupported},
      {"PUT", "sev/injectlaunchsecret", &Service::unsupported},
  });
  const auto* row = std::ranges::find(rows, target.what, &Row::what);
  return row == rows.end() ? nullptr : row;
}

Service::Service(Parts parts)
    : parts_(std::move(parts)),
      copies_(parts_.hypervisor, parts_.place.disks, tasks_),
      stats_(parts_.hypervisor, clock_),
      requests_(parts_.metrics.counters("virtgate_handler_requests_total",
                                        "Requests to the handler, by what was asked.", {"what", "code"})) {}

void Service::wake(const Target& target) const {
  if (parts_.hooks.wake) parts_.hooks.wake(target.ns, target.name);
}

Task<void> Service::handle(http::Exchange& exchange) {
  const http::Request& request = exchange.request();
  if (request.path == "/healthz") {
    const auto problem = parts_.problem ? parts_.problem() : std::nullopt;
    co_return exchange.respond(problem ? text(503, *problem) : text(200, "ok"));
  }
  if (!request.peer || !request.peer->certificate)
    co_return exchange.respond(text(401, "the client certificate of the link to handlers is required"));
  if (request.path == "/metrics")
    co_return exchange.respond(
        {.status = 200, .content_type = metrics::exposition_content_type, .body = parts_.metrics.expose()});
  const auto target = read_target(request.path, request.query);
  if (!target) co_return exchange.respond(text(404, "there is no such path on this node"));
  if (!parts_.hypervisor.find(target->domain()))
    co_return exchange.respond(
        text(404, fmt::format("VMI {}/{} does not run on node {}", target->ns, target->name, parts_.place.name)));
  if (find_row(*target))
    exchange.respond(co_await call(exchange, *target));
  else
    co_await stream(exchange, *target);
}

Service::Answer Service::call(http::Exchange& exchange, const Target& target) {
  const Row& row = *find_row(target);
  if (exchange.request().method != row.method)
    co_return text(405, fmt::format("the method of {} is {}", row.what, row.method));
  tracing::Span span = server::begin_span(exchange.request());
  span.rename(fmt::format("node {}", row.what));
  span.set("k8s.namespace.name", target.ns);
  span.set("virtgate.name", target.name);
  const auto body = co_await exchange.read_body(limits::handler_body_bytes_max);
  if (!body) co_return text(body.error().code, body.error().message);
  http::Response response = co_await (this->*row.answer)(exchange.core(), target, *body);
  requests_.with({row.what, fmt::to_string(response.status)})->add();
  span.set("http.response.status_code", response.status);
  log::info_v(request_verbosity, "a guest was asked for something",
              {{"namespace", target.ns}, {"name", target.name}, {"what", row.what}, {"status", response.status}});
  co_return response;
}

// --- power -----------------------------------------------------------------------------------------------------------

Service::Answer Service::pause(Core& core, const Target& target, string_view) {  // RUN-PWR-01
  const auto domain = parts_.hypervisor.find(target.domain());
  if (!domain || domain->state != hypervisor::State::running) co_return accepted();
  if (parts_.hooks.note_pause) parts_.hooks.note_pause(target.ns, target.name, true);
  const auto done = co_await parts_.hypervisor.suspend(core, target.domain());
  if (!done && parts_.hooks.note_pause) parts_.hooks.note_pause(target.ns, target.name, false);
  wake(target);
  co_return answer_of(done, 500);
}

Service::Answer Service::unpause(Core& core, const Target& target, string_view) {  // RUN-PWR-02
  const auto domain = parts_.hypervisor.find(target.domain());
  if (!domain || domain->state != hypervisor::State::paused) co_return accepted();
  if (parts_.hooks.note_pause) parts_.hooks.note_pause(target.ns, target.name, false);
  const auto done = co_await parts_.hypervisor.resume(core, target.domain());
  if (!done && parts_.hooks.note_pause) parts_.hooks.note_pause(target.ns, target.name, true);
  wake(target);
  // A guest without an agent has the wrong time, which is never an error (RUN-PWR-03).
  if (done && domain->agent_connected) (void)co_await parts_.hypervisor.set_guest_time(core, target.domain());
  co_return answer_of(done, 500);
}

Service::Answer Service::soft_reboot(Core& core, const Target& target, string_view) {  // RUN-PWR-04
  co_return answer_of(co_await parts_.hypervisor.reboot(core, target.domain()), 500);
}

Service::Answer Service::reset(Core& core, const Target& target, string_view) {  // RUN-PWR-05
  co_return answer_of(co_await parts_.hypervisor.reset(core, target.domain()), 500);
}

// --- file systems ----------------------------------------------------------------------------------------------------

namespace {

constexpr string_view freeze_status = R"({"execute":"guest-fsfreeze-status"})";
constexpr string_view freeze_all = R"({"execute":"guest-fsfreeze-freeze"})";
constexpr string_view thaw_all = R"({"execute":"guest-fsfreeze-thaw"})";

// How long until file systems are thawed by themselves; zero: never. Nothing: the body does not say.
std::optional<std::chrono::nanoseconds> read_timeout(string_view body) {
  const auto document = json::Document::parse(body);
  const json::Object* asked = document ? document->root().if_object() : nullptr;
  const auto word = asked ? json::get_string(*asked, "unfreezeTimeout") : std::nullopt;
  const auto timeout = word ? parse_duration(*word) : parse_duration("");
  return timeout ? std::optional<std::chrono::nanoseconds>(*timeout) : std::nullopt;
}

// {"return":"frozen"}
bool says(const Result<std::string>& answer, string_view word) {
  if (!answer) return false;
  const auto document = json::Document::parse(*answer);
  const json::Object* object = document ? document->root().if_object() : nullptr;
  return object && json::get_string_or(*object, "return") == word;
}

}  // namespace

Service::Answer Service::freeze(Core& core, const Target& target, string_view body) {  // RUN-FRZ-01
  const auto timeout = read_timeout(body);
  if (!timeout) co_return text(400, "unfreezeTimeout is required, such as 5m0s");
  const auto& agent_wait = limits::agent_answer_deadline;
  const std::string domain = target.domain();
  const auto status = co_await parts_.hypervisor.ask_agent(core, domain, std::string(freeze_status), agent_wait);
  if (!status) co_return text(400, status.error().message);
  if (!says(status, "frozen")) {
    const auto done =
        co_await parts_.hypervisor.ask_agent(core, domain, std::string(freeze_all), limits::agent_freeze_deadline);
    if (!done) co_return text(400, done.error().message);
  }
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(freezes_mutex_);
    number = ++freezes_[domain];
  }
  if (*timeout > std::chrono::nanoseconds(0))
    tasks_.start(core, thaw_later(core, domain,
                                  std::chrono::ceil<std::chrono::milliseconds>(
                                      std::min<std::chrono::nanoseconds>(*timeout, limits::freeze_max)),
                                  number));
  wake(target);
  co_return accepted();
}

Task<void> Service::thaw_later(Core& core, std::string domain, std::chrono::milliseconds after, std::uint64_t number) {
  co_await core.sleep(after);
  {
    const std::lock_guard lock(freezes_mutex_);
    const auto last = freezes_.find(domain);
    if (last == freezes_.end() || last->second != number) co_return;
    freezes_.erase(last);
  }
  log::warning("file systems of a guest are thawed: nobody did in time", {{"domain", domain}});
  (void)co_await parts_.hypervisor.ask_agent(core, domain, std::string(thaw_all), limits::agent_freeze_deadline);
}

Service::Answer Service::unfreeze(Core& core, const Target& target, string_view) {  // RUN-FRZ-02
  {
    const std::lock_guard lock(freezes_mutex_);
    freezes_.erase(target.domain());
  }
  const auto done =
      co_await parts_.hypervisor.ask_agent(core, target.domain(), std::string(thaw_all), limits::agent_freeze_deadline);
  wake(target);
  co_return done ? accepted() : text(400, done.error().message);
}

Service::Answer Service::copy_disks(Core& core, const Target& target, string_view body) {
  co_return answer_of(co_await copies_.begin(core, target, std::string(body)), 400);
}

// --- what is told ----------------------------------------------------------------------------------------------------

Service::Answer Service::screenshot(Core& core, const Target& target, string_view) {  // RUN-SCR-01
  auto picture = co_await parts_.hypervisor.screenshot(core, target.domain());
  if (!picture) co_return text(500, picture.error().message);
  const bool png = picture->mime_type == "image/png";
  co_return http::Response{.status = 200,
                           .content_type = png ? "image/png" : "application/octet-stream",
                           .headers = {},
                           .body = std::move(picture->bytes)};
}

Service::Answer Service::stats(Core& core, const Target& target, string_view) {
  auto told = co_await stats_.tell(core, target.domain());
  if (!told) co_return text(told.error().code == 409 ? 409 : 500, told.error().message);
  co_return http::Response{.status = 200, .content_type = "application/json", .headers = {}, .body = std::move(*told)};
}

Service::Answer Service::agent_document(Core&, const Target& target, string_view) {
  if (!parts_.hooks.agent_document) co_return text(500, "nothing is known of the guest agent");
  co_return http::Response{.status = 200,
                           .content_type = "application/json",
                           .headers = {},
                           .body = parts_.hooks.agent_document(target.domain(), target.what)};
}

Service::Answer Service::unsupported(Core&, const Target& target, string_view) {
  co_return text(501, fmt::format("{} is not supported by nodes of this server", target.what));
}

}  // namespace vg::handler
