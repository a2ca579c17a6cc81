#include "server/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/json_text.h"
#include "server/path.h"
#include "server/version.h"

namespace vg::server {
namespace {

constexpr std::string_view text_type = "text/plain; charset=utf-8";
constexpr std::string_view json_type = "application/json";

struct Endpoint {
  std::string_view name;  // "livez" or "readyz"
  bool readiness;
  bool takes(const HealthRegistry::Named& check) const { return readiness || check.scope == HealthScope::both; }
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
    if (problem && check.scope == HealthScope::degraded) {
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
  // A red answer always says what is wrong: whoever reads it should not have to ask again.
  if (!good) return text(500, fmt::format("{}{} check failed\n", lines, endpoint.name));
  if (asked.verbose) return text(200, fmt::format("{}{} check passed\n", lines, endpoint.name));
  return text(200, warnings.empty() ? std::string("ok") : fmt::format("ok\n{}", warnings));
}

http::Response answer_one(const Endpoint& endpoint, const HealthRegistry& health, std::string_view name) {
  const auto checks = health.checks();
  const auto found = std::ranges::find(*checks, name, &HealthRegistry::Named::name);
  if (found == checks->end() || !endpoint.takes(*found))
    return text(404, fmt::format("unknown check; see /{}?verbose\n", endpoint.name));
  const auto problem = found->check();
  if (problem && found->scope == HealthScope::degraded)
    return text(200, fmt::format("ok\n[~]{} degraded: {}\n", name, *problem));
  if (problem) return text(500, fmt::format("{} failed: {}\n", name, *problem));
  return text(200, "ok");
}

void add_endpoint(Router& router, const HealthRegistry& health, const Endpoint& endpoint) {
  router.add(Access::anyone, "GET", fmt::format("/{}", endpoint.name), RouteClass::health,
             answer_with([&health, endpoint](const Call& call) {
               return answer_all(endpoint, health, read_asked(call.request().query));
             }));
  router.add_prefix(
      Access::anyone, "GET", fmt::format("/{}/", endpoint.name), RouteClass::health,
      answer_with([&health, endpoint](const Call& call) { return answer_one(endpoint, health, call.rest()); }));
}

}  // namespace

HealthRegistry::HealthRegistry() : checks_(std::make_shared<const Checks>()) {
  add("ping", HealthScope::both, [] { return std::optional<std::string>(); });
  add("shutdown", HealthScope::readiness, [this] {
    return shutting_down_.load(std::memory_order_relaxed) ? std::optional<std::string>("the server is stopping")
                                                          : std::nullopt;
  });
}

void HealthRegistry::add(std::string name, HealthScope scope, Check check) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(*checks_, name, &Named::name) != checks_->end())
    throw std::logic_error(fmt::format("health check {} was added twice", name));
  auto changed = std::make_shared<Checks>(*checks_);
  changed->push_back({.name = std::move(name), .scope = scope, .check = std::move(check)});
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
    if (check.scope == HealthScope::degraded) by_check.with({check.name})->set(check.check() ? 1 : 0);
}

void add_check_routes(Router& router, const HealthRegistry& health) {
  add_endpoint(router, health, {.name = "livez", .readiness = false});
  add_endpoint(router, health, {.name = "readyz", .readiness = true});
}

void add_health_routes(Router& router, const HealthRegistry& health, ConfigVersion config_version) {
  add_check_routes(router, health);
  // Upstream asks its API server; here the API is served by this very process, so the answer stands or falls with it.
  router.add(Access::anyone, "GET", "/healthz", RouteClass::health,
             answer_with([config_version = std::move(config_version)](const Call&) {
               std::string body = R"({"apiserver":{"connectivity":"ok","version":)" + version_json() +
                                  R"(},"config-resource-version":)";
               append_json_string(body, config_version());
               body += "}\n";
               return http::Response{.status = 200, .content_type = json_type, .body = std::move(body)};
             }));
  router.add(Access::anyone, "GET", "/version", RouteClass::version, answer_with([](const Call&) {
               return http::Response{.status = 200, .content_type = json_type, .body = version_json() + "\n"};
             }));
}

}  // namespace vg::server
