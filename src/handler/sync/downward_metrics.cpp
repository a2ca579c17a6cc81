#include "handler/sync/downward_metrics.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/handler_limits.h"
#include "base/log.h"
#include "base/node_limits.h"
#include "base/off_loop.h"
#include "handler/server/live_domain.h"
#include "http/unix.h"
#include "launch/metrics_disk.h"

namespace vg::handler {
namespace {

using guests::MetricsRequests;
using hypervisor::State;

constexpr std::string_view disk_name = "vhostmd0", port_name = "downwardmetrics.sock";

bool is_alive(const hypervisor::Domain& domain) {
  return domain.state == State::running || domain.state == State::blocked || domain.state == State::paused;
}

// CPUs that are the same piece of hardware have the same number.
std::optional<std::int64_t> count_packages() {
  std::error_code error;
  std::set<std::string> packages;
  for (const auto& cpu : std::filesystem::directory_iterator("/sys/devices/system/cpu", error)) {
    auto number = read_file((cpu.path() / "topology/physical_package_id").native(), limits::kernel_text_bytes_max);
    if (number) packages.insert(std::move(*number));
  }
  return packages.empty() ? std::nullopt : std::optional(static_cast<std::int64_t>(packages.size()));
}

}  // namespace

guests::HostMetrics this_host_metrics() {
  const auto text = [](const char* path) { return read_file(path, limits::kernel_text_bytes_max).value_or(""); };
  return guests::read_host_metrics({.stat = text("/proc/stat"),
                                    .meminfo = text("/proc/meminfo"),
                                    .vmstat = text("/proc/vmstat"),
                                    .packages = count_packages(),
                                    .ticks_per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)),
                                    .page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))});
}

void DownwardMetrics::stop() {
  watching_ = Background();
  writers_.clear();
  ports_.clear();
}

const DownwardMetrics::Places& DownwardMetrics::places_of(const hypervisor::Domain& domain) {
  Places& places = places_[domain.name];
  if (places.xml == domain.xml) return places;
  places = {.xml = domain.xml, .disk = {}, .port = {}};
  if (!domain.xml) return places;
  places.disk = find_image(*domain.xml, parts_.guests, disk_name).value_or("");
  places.port = find_socket(*domain.xml, parts_.sockets, port_name).value_or("");
  return places;
}

Task<void> DownwardMetrics::watch() {
  while (true) {
    std::erase_if(writers_, [](const auto& each) { return each.second.done(); });
    std::erase_if(ports_, [](const auto& each) { return each.second.done(); });
    std::erase_if(places_, [this](const auto& each) { return !parts_.hypervisor.find(each.first); });
    for (const auto& domain : parts_.hypervisor.domains()) {
      if (!is_alive(*domain)) continue;
      const Places& places = places_of(*domain);
      // One that has not finished is not begun again: a hypervisor that does not answer holds up its own guest alone.
      if (!places.disk.empty() && !writers_.contains(domain->name))
        writers_.emplace(domain->name, Background(write_disk(domain->name, places.disk)));
      if (!places.port.empty() && !ports_.contains(domain->name))
        ports_.emplace(domain->name, Background(serve(domain->name, places.port)));
    }
    co_await parts_.core.sleep(limits::metrics_interval);
  }
}

// Empty: nothing is known of the guest.
Task<std::string> DownwardMetrics::collect(std::string domain) {
  const auto stats = co_await parts_.hypervisor.stats(parts_.core, std::move(domain));
  if (!stats) co_return std::string();
  const guests::HostMetrics host = parts_.host();
  const auto now = parts_.clock.wall_now().time_since_epoch();
  co_return guests::metrics_document({.node = parts_.node,
                                      .hypervisor = std::string_view(version_).substr(0, version_.find(',')),
                                      .host = host,
                                      .vm = *stats,
                                      .unix_seconds = std::chrono::duration_cast<std::chrono::seconds>(now).count()});
}

Task<void> DownwardMetrics::write_disk(std::string domain, std::string path) {
  const std::string document = co_await collect(domain);
  if (document.empty()) co_return;  // what was true last stays
  const auto done = co_await off_loop(parts_.core, off_loop_bytes_min,
                                      [&] { return launch::rewrite_metrics_disk(path, document + "\n"); });
  if (!done) log::warning("metrics of a guest are not written", {{"domain", domain}, {"reason", done.error().message}});
}

// Until QEMU ends, or the guest does not read what it asked for. The next look connects again.
Task<void> DownwardMetrics::serve(std::string domain, std::string path) {
  auto port = co_await http::connect_unix(parts_.core, std::move(path), limits::guest_socket_deadline);
  if (!port) co_return;
  MetricsRequests requests;
  std::array<char, 256> bytes;
  while (true) {
    (*port)->set_deadline(Stream::Clock::time_point::max());
    const IoResult got = co_await (*port)->read_some(bytes);
    if (!got || got.bytes == 0) co_return;
    requests.add(std::string_view(bytes.data(), got.bytes));
    if (!co_await answer(domain, **port, requests)) co_return;
  }
}

// While it waits nothing is read: a guest that asks too often waits as well.
Task<bool> DownwardMetrics::answer(const std::string& domain, Stream& port, MetricsRequests& requests) {
  for (auto asked = requests.take(); asked != MetricsRequests::Asked::nothing; asked = requests.take()) {
    std::string text(guests::invalid_metrics_request);
    if (asked == MetricsRequests::Asked::metrics) {
      text = co_await collect(domain);
      if (text.empty()) text = guests::no_metrics;
      text += "\n\n";
    }
    port.set_deadline(Stream::Clock::now() + limits::metrics_read_deadline);
    if (!co_await port.write_all(text)) co_return false;
    co_await parts_.core.sleep(limits::metrics_answer_interval);
  }
  co_return true;
}

}  // namespace vg::handler
