// What is counted of every request.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>

#include "base/metrics.h"

namespace vg::server {

// What a request is counted and logged as: a handful of labels, whatever paths clients make up.
enum class RouteClass { health, version, metrics, webhook, discovery, resource, subresource, page, unknown };
inline constexpr std::size_t route_classes = 9;
std::string_view to_string(RouteClass route_class);

class RequestMetrics {
 public:
  explicit RequestMetrics(metrics::Registry& registry);
  // Lock-free for the codes that servers really send. May be called from any thread.
  void count(RouteClass route_class, int code, std::chrono::nanoseconds took);

 private:
  static constexpr std::array common_codes{101, 200, 201, 202, 204, 400, 401, 403, 404, 405, 406,
                                           408, 409, 410, 413, 415, 422, 429, 500, 501, 503, 504};
  metrics::Family<metrics::Counter>& requests_;
  // Made when a code is first sent, so that a scrape shows no series of zeros.
  std::array<std::array<std::atomic<metrics::Counter*>, common_codes.size()>, route_classes> counters_{};
  std::array<std::shared_ptr<metrics::Histogram>, route_classes> seconds_;
};

}  // namespace vg::server
