#include "controllers/tsc.h"

#include <charconv>
#include <cstdlib>

#include "api/view.h"
#include "controllers/nodes.h"
#include "json/access.h"

namespace vg::controllers {
namespace {

constexpr std::string_view frequency_label = "cpu-timer.node.kubevirt.io/tsc-frequency";
constexpr std::string_view scalable_label = "cpu-timer.node.kubevirt.io/tsc-scalable";
constexpr std::int64_t tolerance_ppm = 250;  // that QEMU accepts between two hosts

}  // namespace

TscOfNode tsc_of(const NodeInfo& node) {
  const std::string_view text = node.label(frequency_label).value_or("");
  TscOfNode tsc{.frequency = 0, .scalable = node.label(scalable_label) == "true"};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), tsc.frequency);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size() || tsc.frequency < 0)
    tsc.frequency = 0;
  return tsc;
}

std::optional<std::int64_t> lowest_tsc_frequency(const Nodes& nodes, const config::ClusterConfig& config) {
  const api::View developer(json::find(config.configuration(), "developerConfiguration"));
  if (const auto configured = json::as_int(developer.get("minimumClusterTSCFrequency")))
    return *configured > 0 ? configured : std::nullopt;
  std::int64_t lowest = 0;
  for (const auto& [name, node] : nodes.infos()) {
    if (node.label(schedulable_label) != "true" && nodes.on(name).empty()) continue;
    const std::int64_t frequency = tsc_of(node).frequency;
    if (frequency > 0 && (lowest == 0 || frequency < lowest)) lowest = frequency;
  }
  return lowest;
}

std::set<std::int64_t> offered_frequencies(const TscOfNode& node, const std::set<std::int64_t>& asked) {
  std::set<std::int64_t> offered;
  if (node.frequency <= 0) return offered;
  offered.insert(node.frequency);
  const std::int64_t tolerance =
      node.frequency / 1'000'000 * tolerance_ppm + node.frequency % 1'000'000 * tolerance_ppm / 1'000'000;
  for (const std::int64_t frequency : asked) {
    if (frequency <= 0) continue;
    const bool is_close = std::abs(frequency - node.frequency) <= tolerance;
    if (is_close || (node.scalable && frequency <= node.frequency)) offered.insert(frequency);
  }
  return offered;
}

}  // namespace vg::controllers
