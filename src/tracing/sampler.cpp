#include "tracing/sampler.h"

#include <charconv>
#include <cmath>

namespace vg::tracing {
namespace {

constexpr std::string_view parent_based = "parentbased_";

std::optional<double> ratio_of(std::string_view text) {
  if (text.empty()) return 1.0;
  double ratio = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ratio);
  if (error != std::errc() || end != text.data() + text.size() || !(ratio >= 0 && ratio <= 1)) return std::nullopt;
  return ratio;
}

// Of 63 bits: a double has 53, and the largest value stands for all.
std::uint64_t threshold_of(double ratio) {
  return ratio >= 1 ? UINT64_MAX : static_cast<std::uint64_t>(std::ldexp(ratio, 63)) << 1U;
}

}  // namespace

bool Sampler::samples(const TraceId& trace, const Context* parent) const {
  if (parent && follows_parent) return parent->sampled;
  if (threshold == UINT64_MAX) return true;
  std::uint64_t random = 0;
  for (std::size_t i = 8; i < trace.size(); ++i) random = random << 8U | trace[i];
  return random < threshold;
}

std::optional<Sampler> parse_sampler(std::string_view name, std::string_view argument) {
  Sampler sampler;
  if (name.empty()) return sampler;
  sampler.follows_parent = name.starts_with(parent_based);
  if (sampler.follows_parent) name.remove_prefix(parent_based.size());
  if (name == "always_on") return sampler;
  if (name == "always_off") {
    sampler.threshold = 0;
    return sampler;
  }
  const auto ratio = ratio_of(argument);
  if (name != "traceidratio" || !ratio) return std::nullopt;
  sampler.threshold = threshold_of(*ratio);
  return sampler;
}

}  // namespace vg::tracing
