#include "server/request_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace vg::server {
namespace {

constexpr std::array<std::string_view, route_classes> names{
    "health", "version", "metrics", "webhook", "discovery", "resource", "subresource", "page", "unknown"};

// A review takes tens of microseconds, a durable create a few milliseconds, a slow node seconds.
std::vector<double> seconds_buckets() {
  return {0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
}

}  // namespace

std::string_view to_string(RouteClass route_class) { return names[static_cast<std::size_t>(route_class)]; }

RequestMetrics::RequestMetrics(metrics::Registry& registry)
    : requests_(registry.counters("virtgate_http_requests_total", "Answered requests by kind of route and status code.",
                                  {"class", "code"})) {
  auto& seconds = registry.histograms("virtgate_http_request_duration_seconds",
                                      "Time from a request's header to the end of its handler, by kind of route.",
                                      {"class"}, seconds_buckets());
  for (std::size_t i = 0; i < route_classes; ++i) seconds_[i] = seconds.with({names[i]});
}

void RequestMetrics::count(RouteClass route_class, int code, std::chrono::nanoseconds took) {
  const auto row = static_cast<std::size_t>(route_class);
  seconds_[row]->observe(std::chrono::duration<double>(took).count());
  const auto* known = std::ranges::lower_bound(common_codes, code);
  if (known == common_codes.end() || *known != code) {
    requests_.with({names[row], std::to_string(code)})->add();
    return;
  }
  auto& slot = counters_[row][static_cast<std::size_t>(known - common_codes.begin())];
  metrics::Counter* counter = slot.load(std::memory_order_acquire);
  if (!counter) {
    // The family keeps the series for good, so the plain pointer stays valid.
    counter = requests_.with({names[row], std::to_string(code)}).get();
    slot.store(counter, std::memory_order_release);
  }
  counter->add();
}

}  // namespace vg::server
