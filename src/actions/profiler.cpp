#include "actions/profiler.h"

#include <string>
#include <string_view>

#include "actions/case.h"
#include "actions/decisions.h"

namespace vg::actions {
namespace {

constexpr std::string_view switched_off =
    "profiles are switched off; an administrator can set developerConfiguration.clusterProfiler of the KubeVirt object";
constexpr std::string_view no_profiles =
    "this server has no profiles of the Go runtime; /metrics has its figures, and perf can look into the process";

struct Answer {
  int code;
  std::string_view text;
};
Answer answer(const config::ClusterConfig& config) {
  return config.cluster_profiler() ? Answer{500, no_profiles} : Answer{403, switched_off};
}

}  // namespace

Decision decide_profiler(const Case& about) {
  const auto [code, text] = answer(about.config);
  return effects(Reply{.code = code, .document = {}, .text = std::string(text)});
}

http::Response profiler_answer(const config::ClusterConfig& config) {
  const auto [code, text] = answer(config);
  return {.status = code, .content_type = "text/plain; charset=utf-8", .headers = {}, .body = std::string(text)};
}

void add_profiler_routes(server::Router& router, const config::ConfigSource& config) {
  for (const char* path : {"/start-profiler", "/stop-profiler", "/dump-profiler"})
    router.add(server::Access::anyone, "GET", path, server::RouteClass::health,
               server::answer_with([&config](const server::Call&) { return profiler_answer(*config.current()); }));
}

}  // namespace vg::actions
