#include "guests/downward_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/node_limits.h"

namespace vg::guests {
namespace {

using std::string_view;

// The numbers of the line that begins with that word; nothing without the line.
std::optional<string_view> line_of(string_view text, string_view word) {
  while (!text.empty()) {
    const string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.starts_with(word)) return line.substr(word.size());
  }
  return std::nullopt;
}

std::optional<std::uint64_t> next_number(string_view& line) {
  line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ')));
  std::uint64_t number = 0;
  const auto [end, code] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (code != std::errc()) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  return number;
}

std::optional<std::uint64_t> number_of(string_view text, string_view word) {
  auto line = line_of(text, word);
  return line ? next_number(*line) : std::nullopt;
}

// User, nice and system, as upstream counts.
std::optional<double> cpu_seconds(const HostTexts& texts) {
  auto line = line_of(texts.stat, "cpu ");
  if (!line || texts.ticks_per_second == 0) return std::nullopt;
  std::uint64_t ticks = 0;
  for (int i = 0; i < 3; ++i) {
    const auto number = next_number(*line);
    if (!number) return std::nullopt;
    ticks += *number;
  }
  return static_cast<double>(ticks) / static_cast<double>(texts.ticks_per_second);
}

std::uint64_t less(std::uint64_t from, std::uint64_t taken) { return from > taken ? from - taken : 0; }

void read_memory(const HostTexts& texts, HostMetrics& metrics) {
  const auto kib = [&](string_view word) { return number_of(texts.meminfo, word).value_or(0); };
  if (!line_of(texts.meminfo, "MemTotal:")) return;
  const std::uint64_t free = kib("MemFree:"), cached = kib("Buffers:") + kib("Cached:");
  metrics.free = free;
  metrics.free_virtual = free + kib("SwapFree:");
  metrics.used = less(kib("MemTotal:"), free + cached);
  metrics.used_virtual = less(kib("MemTotal:") + kib("SwapTotal:"), free + cached + kib("SwapCached:"));
}

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}
  // Values of ours are numbers and names of nodes; a name has no character that would end the section.
  void put(string_view type, string_view context, string_view name, string_view unit, string_view value) {
    auto out = std::back_inserter(out_);
    fmt::format_to(out, "  <metric type=\"{}\" context=\"{}\"", type, context);
    if (!unit.empty()) fmt::format_to(out, " unit=\"{}\"", unit);
    fmt::format_to(out, ">\n    <name>{}</name>\n    <value><![CDATA[{}]]></value>\n  </metric>\n", name, value);
  }
  void number(string_view context, string_view name, string_view unit, std::optional<std::uint64_t> value) {
    if (value) put("uint64", context, name, unit, fmt::to_string(*value));
  }
  void signed_number(string_view context, string_view name, string_view unit, std::optional<std::int64_t> value) {
    if (value) put("int64", context, name, unit, fmt::to_string(*value));
  }
  void real(string_view context, string_view name, string_view unit, std::optional<double> value) {
    if (value) put("real64", context, name, unit, fmt::format("{:.6f}", *value));
  }

 private:
  std::string& out_;
};

}  // namespace

HostMetrics read_host_metrics(const HostTexts& texts) {
  HostMetrics metrics{.packages = texts.packages, .cpu_seconds = cpu_seconds(texts)};
  read_memory(texts, metrics);
  constexpr std::uint64_t kib = 1024;
  const auto pages = [&](string_view word) -> std::optional<std::uint64_t> {
    const auto count = number_of(texts.vmstat, word);
    return count ? std::optional(*count * texts.page_bytes / kib) : std::nullopt;
  };
  metrics.paged_in = pages("pswpin ");
  metrics.paged_out = pages("pswpout ");
  return metrics;
}

std::string metrics_document(const MetricsSource& source) {
  std::string text = "<metrics>\n";
  Writer out(text);
  out.put("string", "host", "HostName", "", source.node);
  out.put("string", "host", "HostSystemInfo", "", "linux");
  out.put("string", "host", "VirtualizationVendor", "", "kubevirt.io");
  out.put("string", "host", "VirtProductInfo", "", source.hypervisor);
  const hypervisor::DomainStats& vm = source.vm;
  constexpr double nanoseconds = 1e9;
  out.real("vm", "TotalCPUTime", "s", static_cast<double>(vm.vcpu_time_ns) / nanoseconds);
  out.number("vm", "ResourceProcessorLimit", "", vm.vcpus);
  constexpr std::uint64_t kib = 1024;
  out.number("vm", "PhysicalMemoryAllocatedToVirtualSystem", "KiB", vm.memory_balloon_bytes / kib);
  out.number("vm", "ResourceMemoryLimit", "KiB", vm.memory_balloon_bytes / kib);
  const HostMetrics& host = source.host;
  out.signed_number("host", "NumberOfPhysicalCPUs", "", host.packages);
  out.real("host", "TotalCPUTime", "s", host.cpu_seconds);
  out.number("host", "FreePhysicalMemory", "KiB", host.free);
  out.number("host", "FreeVirtualMemory", "KiB", host.free_virtual);
  out.number("host", "MemoryAllocatedToVirtualServers", "KiB", host.used);
  out.number("host", "UsedVirtualMemory", "KiB", host.used_virtual);
  out.number("host", "PagedInMemory", "KiB", host.paged_in);
  out.number("host", "PagedOutMemory", "KiB", host.paged_out);
  out.signed_number("host", "Time", "s", source.unix_seconds);
  return text + "</metrics>";
}

void MetricsRequests::add(string_view bytes) {
  if (kept_.size() + bytes.size() > limits::metrics_request_bytes_max) {
    too_long_ = true;
    kept_.clear();
    return;
  }
  kept_ += bytes;
}

MetricsRequests::Asked MetricsRequests::take() {
  const auto invalid = [this] {
    kept_.clear();
    too_long_ = false;
    return Asked::invalid;
  };
  if (too_long_) return invalid();
  const string_view all = kept_;
  const auto first = all.find('\n');
  const auto second = first == string_view::npos ? first : all.find('\n', first + 1);
  if (second == string_view::npos) return Asked::nothing;
  const auto line = [](string_view text) { return text.ends_with('\r') ? text.substr(0, text.size() - 1) : text; };
  if (line(all.substr(0, first)) != "GET /metrics/XML" || !line(all.substr(first + 1, second - first - 1)).empty())
    return invalid();
  kept_.erase(0, second + 1);
  return Asked::metrics;
}

}  // namespace vg::guests
