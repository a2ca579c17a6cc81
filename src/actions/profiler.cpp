#include "actions/profiler.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "actions/action_case.h"
#include "actions/components.h"
#include "actions/decisions.h"
#include "base/base64.h"
#include "json/write.h"

namespace vg::actions {
namespace {

constexpr std::string_view start_path = "/start-profiler", stop_path = "/stop-profiler", dump_path = "/dump-profiler";

std::optional<Status> check_switch(const config::ClusterConfig& config) {
  if (config.cluster_profiler()) return std::nullopt;
  return Status{.code = 403,
                .reason = "Forbidden",
                .message =
                    "profiling is disabled; an administrator can set "
                    "spec.configuration.developerConfiguration.clusterProfiler of the KubeVirt object",
                .details = {}};
}

// --- of all components

Decision order_all(const ActionCase& asked, std::string_view target) {
  if (asked.components.empty())
    return fail(Status::internal_error(
        fmt::format("no pod of a KubeVirt component is ready in namespace \"{}\"", asked.context.own_namespace)));
  return effects(AskComponents{.target = target, .components = asked.components});
}

// --- of this process

http::Response text_answer(int code, std::string text) {
  return {.status = code, .content_type = "text/plain; charset=utf-8", .headers = {}, .body = std::move(text)};
}
http::Response empty_answer() { return {.status = 200, .content_type = {}, .headers = {}, .body = {}}; }

http::Response dump_answer(profile::ProcessProfiler& profiler) {
  std::string text = R"({"pprofData":{)";
  std::string_view comma;
  for (const auto& [name, bytes] : profiler.dump()) {
    text += std::exchange(comma, ",");
    json::write_string(name, text);
    text += fmt::format(R"(:"{}")", base64_encode(bytes));
  }
  text += "}}";
  return {.status = 200, .content_type = "application/json", .headers = {}, .body = std::move(text)};
}

}  // namespace

std::optional<Status> check_profiler_switch(const ActionCase& asked) { return check_switch(asked.config); }

std::optional<Status> check_profiles_request(const ActionCase& asked) {
  auto request = read_profiles_request(*asked.body);
  return request ? std::nullopt : std::optional(std::move(request.error()));
}

Decision decide_start_profilers(const ActionCase& asked) { return order_all(asked, start_path); }
Decision decide_stop_profilers(const ActionCase& asked) { return order_all(asked, stop_path); }

// A page without components is no end as long as there is another one (spec subresources Q32).
Decision decide_dump_profilers(const ActionCase& asked) {
  if (asked.components.empty() && asked.continue_token.empty()) return effects(Reply{.code = 204});
  return effects(AskComponents{
      .target = dump_path, .components = asked.components, .collect = true, .continue_token = asked.continue_token});
}

http::Response profiler_answer(std::string_view path, const config::ClusterConfig& config,
                               profile::ProcessProfiler& profiler) {
  if (const auto off = check_switch(config)) return text_answer(off->code, off->message);
  if (path == dump_path) return dump_answer(profiler);
  if (path == stop_path) {
    profiler.stop();
    return empty_answer();
  }
  const auto started = profiler.start();
  return started ? empty_answer() : text_answer(500, started.error().message);
}

void add_profiler_routes(server::Router& router, server::Access access, const config::ConfigSource& config,
                         profile::ProcessProfiler& profiler) {
  for (const std::string_view path : {start_path, stop_path, dump_path})
    router.add(access, "GET", std::string(path), server::RouteClass::health,
               server::answer_with([path, &config, &profiler](const server::Call&) {
                 return profiler_answer(path, *config.current(), profiler);
               }));
}

}  // namespace vg::actions
