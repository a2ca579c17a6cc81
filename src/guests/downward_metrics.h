// Metrics of the host and of the VM itself for programs inside of a guest: the document, and how it is asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hypervisor/hypervisor.h"

namespace vg::guests {

// What is not known is left out of the document.
struct HostMetrics {
  std::optional<std::int64_t> packages = {};  // CPUs as they are bought
  std::optional<double> cpu_seconds = {};
  // KiB
  std::optional<std::uint64_t> free = {}, free_virtual = {}, used = {}, used_virtual = {}, paged_in = {},
                               paged_out = {};
};

// Texts of the kernel: /proc/stat, /proc/meminfo, /proc/vmstat.
struct HostTexts {
  std::string stat, meminfo, vmstat;
  std::optional<std::int64_t> packages = {};
  std::uint64_t ticks_per_second = 100;
  std::uint64_t page_bytes = 4096;
};
HostMetrics read_host_metrics(const HostTexts& texts);

struct MetricsSource {
  std::string_view node;
  std::string_view hypervisor;  // "QEMU 7.2.22"
  const HostMetrics& host;
  const hypervisor::DomainStats& vm;
  std::int64_t unix_seconds = 0;
};
std::string metrics_document(const MetricsSource& source);
// Told when there is nothing to tell.
inline constexpr std::string_view no_metrics =
    "<metrics><!-- host metrics not available --><!-- VM metrics not available --></metrics>";

// The requests of a guest, from bytes that come in any pieces: "GET /metrics/XML", then an empty line. Whatever a guest
// sends, no more than one request is kept.
class MetricsRequests {
 public:
  enum class Asked : std::uint8_t { nothing, metrics, invalid };
  void add(std::string_view bytes);
  // The next request that is complete. An invalid one takes everything with it that came with it.
  Asked take();

 private:
  std::string kept_;
  bool too_long_ = false;
};
inline constexpr std::string_view invalid_metrics_request = "INVALID REQUEST\n\n";

}  // namespace vg::guests
