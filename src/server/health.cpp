#include "server/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/json_text.h"
#include "base/media_types.h"
#include "base/phrases.h"
#include "base/trimmed.h"
#include "server/path.h"
#include "server/request_timeout.h"
#include "server/version.h"

namespace vg::server {
namespace {

constexpr std::string_view text_type = "text/plain; charset=utf-8";

struct Endpoint {
  std::string_view name;  // "healthz", "livez" or "readyz"
  bool readiness;
  bool takes(const HealthRegistry::Named& check) const {
    return readiness || check.scope == HealthScope::both || check.shown == HealthShown::everywhere;
  }
  // Whether a problem makes the answer red, and not just amber.
  bool fails(const HealthRegistry::Named& check) const {
    return check.scope == HealthScope::both || (readiness && check.scope == HealthScope::readiness);
  }
};

http::Response text(int status, std::string body) {
  return {.status = status, .content_type = text_type, .body = std::move(body)};
}

struct Asked {
  bool verbose = false;
  std::vector<std::string> excluded;
};

Asked read_asked(std::string_view query) {
  Asked asked;
  for (auto& parameter : read_query(query)) {
    if (parameter.name == "verbose") asked.verbose = true;
    if (parameter.name == "exclude") asked.excluded.push_back(std::move(parameter.value));
  }
  return asked;
}

// What is excluded and is no check of this endpoint: a spelling mistake must not go unseen.
std::string unknown_exclusions(const Endpoint& endpoint, const HealthRegistry::Checks& checks, const Asked& asked) {
  std::string names;
  for (const std::string& name : asked.excluded) {
    const auto found = std::ranges::find(checks, name, &HealthRegistry::Named::name);
    if (found != checks.end() && endpoint.takes(*found)) continue;
    names += names.empty() ? "" : ", ";
    append_json_string(names, name);
  }
  return names.empty() ? "" : fmt::format("warn: some health checks cannot be excluded: no matches for {}\n", names);
}

http::Response answer_all(const Endpoint& endpoint, const HealthRegistry& health, const Asked& asked) {
  std::string lines, warnings;
  bool good = true;
  const auto checks = health.checks();
  for (const auto& check : *checks) {
    if (!endpoint.takes(check)) continue;
    if (std::ranges::find(asked.excluded, check.name) != asked.excluded.end()) {
      lines += fmt::format("[+]{} excluded: ok\n", check.name);
      continue;
    }
    const auto problem = check.check();
    if (problem && !endpoint.fails(check)) {
      const std::string line = fmt::format("[~]{} degraded: {}\n", check.name, *problem);
      lines += line;
      warnings += line;
    } else if (problem) {
      good = false;
      lines += fmt::format("[-]{} failed: {}\n", check.name, *problem);
    } else {
      lines += fmt::format("[+]{} ok\n", check.name);
    }
  }
  lines += unknown_exclusions(endpoint, *checks, asked);
  // A red answer always says what is wrong: whoever reads it should not have to ask again.
  if (!good) return text(500, fmt::format("{}{} check failed\n", lines, endpoint.name));
  if (asked.verbose) return text(200, fmt::format("{}{} check passed\n", lines, endpoint.name));
  return text(200, warnings.empty() ? std::string("ok") : fmt::format("ok\n{}", warnings));
}

Task<void> answer_one(const Endpoint& endpoint, const HealthRegistry& health, Call& call) {
  const std::string_view name = call.rest();
  const auto checks = health.checks();
  const auto found = std::ranges::find(*checks, name, &HealthRegistry::Named::name);
  if (found == checks->end() || !endpoint.takes(*found)) {
    call.refuse({.code = 404,
                 .reason = "NotFound",
                 .message = fmt::format("{}; unknown check, see /{}?verbose", phrases::path_not_served, endpoint.name),
                 .details = {}});
    co_return;
  }
  const auto problem = found->check();
  http::Response answer = text(200, "ok");
  if (problem && !endpoint.fails(*found))
    answer = text(200, fmt::format("ok\n[~]{} degraded: {}\n", name, *problem));
  else if (problem)
    answer = text(500, fmt::format("{} failed: {}\n", name, *problem));
  answer.headers.emplace_back("X-Content-Type-Options", "nosniff");
  call.respond(std::move(answer));
}

// What looks at a server asks with either.
constexpr std::string_view methods[] = {"GET", "HEAD"};

void add_for_anyone(Router& router, std::string_view path, RouteClass route_class, const RouteHandler& handler) {
  for (const std::string_view method : methods)
    router.add(Access::anyone, method, std::string(path), route_class, handler);
}

void add_single_checks(Router& router, const HealthRegistry& health, const Endpoint& endpoint) {
  for (const std::string_view method : methods)
    router.add_prefix(Access::anyone, method, fmt::format("/{}/", endpoint.name), RouteClass::health,
                      [&health, endpoint](Call& call) { return answer_one(endpoint, health, call); });
}

void add_endpoint(Router& router, const HealthRegistry& health, const Endpoint& endpoint) {
  add_for_anyone(router, fmt::format("/{}", endpoint.name), RouteClass::health,
                 answer_with([&health, endpoint](const Call& call) {
                   return answer_all(endpoint, health, read_asked(call.request().query));
                 }));
  add_single_checks(router, health, endpoint);
}

// Whether the client says that it reads text: kubectl, curl and probes do, and expect kube-apiserver's "ok". Who says
// nothing, or wants JSON alone, expects virt-api's document.
bool reads_text(const http::Request& request) {
  std::string_view rest = request.headers.find("accept").value_or("");
  while (!rest.empty()) {
    const std::string_view clause = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(clause.size() + 1, rest.size()));
    const std::string_view type = trimmed(clause.substr(0, clause.find(';')), " \t");
    if (type == "*/*" || type == "text/*" || type == "text/plain") return true;
  }
  return false;
}

}  // namespace

HealthRegistry::HealthRegistry() : checks_(std::make_shared<const Checks>()) {
  add("ping", HealthScope::both, [] { return std::optional<std::string>(); });
  add("shutdown", HealthScope::readiness, [this] {
    return shutting_down_.load(std::memory_order_relaxed) ? std::optional<std::string>("the server is stopping")
                                                          : std::nullopt;
  });
}

void HealthRegistry::add(std::string name, HealthScope scope, Check check, HealthShown shown) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(*checks_, name, &Named::name) != checks_->end())
    throw std::logic_error(fmt::format("health check {} was added twice", name));
  auto changed = std::make_shared<Checks>(*checks_);
  changed->push_back({.name = std::move(name), .scope = scope, .check = std::move(check), .shown = shown});
  checks_ = std::move(changed);
}

std::shared_ptr<const HealthRegistry::Checks> HealthRegistry::checks() const {
  const std::lock_guard lock(mutex_);
  return checks_;
}

bool HealthRegistry::ready() const {
  const auto all = checks();
  return std::ranges::none_of(
      *all, [](const Named& check) { return check.scope != HealthScope::degraded && check.check().has_value(); });
}

void HealthRegistry::show_degraded(metrics::Family<metrics::Gauge>& by_check) const {
  const auto all = checks();
  for (const Named& check : *all)
    if (check.scope == HealthScope::degraded && check.shown == HealthShown::where_it_counts)
      by_check.with({check.name})->set(check.check() ? 1 : 0);
}

void add_check_routes(Router& router, const HealthRegistry& health) {
  add_endpoint(router, health, {.name = "livez", .readiness = false});
  add_endpoint(router, health, {.name = "readyz", .readiness = true});
}

void add_health_routes(Router& router, const HealthRegistry& health, ConfigVersion config_version) {
  add_check_routes(router, health);
  const Endpoint healthz{.name = "healthz", .readiness = false};
  // Upstream asks its API server; here the API is served by this very process, so the answer stands or falls with it.
  add_for_anyone(router, "/healthz", RouteClass::health,
                 answer_with([&health, healthz, config_version = std::move(config_version)](const Call& call) {
                   const http::Request& request = call.request();
                   if (!request.query.empty() || reads_text(request))
                     return answer_all(healthz, health, read_asked(request.query));
                   std::string body = R"({"apiserver":{"connectivity":"ok","version":)" + version_json() +
                                      R"(},"config-resource-version":)";
                   append_json_string(body, config_version());
                   body += "}\n";
                   return http::Response{.status = 200, .content_type = json_media_type, .body = std::move(body)};
                 }));
  add_single_checks(router, health, healthz);
}

void add_version_routes(Router& router, Meeting meet) {
  const RouteHandler handler = [meet = std::move(meet)](Call& call) -> Task<void> {
    http::Response answer{.status = 200, .content_type = json_media_type, .body = version_json() + "\n"};
    if (const auto problem = find_timeout_problem(call.request().query))
      answer = {.status = problem->code, .content_type = json_media_type, .body = to_json(*problem) + "\n"};
    else if (!co_await meet(call))
      co_return;
    answer.headers.emplace_back("X-Content-Type-Options", "nosniff");
    call.respond(std::move(answer));
  };
  for (const std::string_view path : {"/version", "/version/"})
    add_for_anyone(router, path, RouteClass::version, handler);
}

}  // namespace vg::server
