// Migration policies (spec work-objects 3.3).
#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>

#include "admission/rule.h"
#include "admission/semantic_equal.h"
#include "api/canonical_words.h"
#include "base/quantity.h"
#include "json/access.h"

namespace vg::admission {
namespace {

using std::string_view;

constexpr string_view stall_detector = "spec.experimental.stallDetector";
// Factors have three decimals; this much of a difference is what binary numbers make of them.
constexpr double rounding_slack = 1e-9;

const json::Value* spec_member(const Case& judged, string_view name) {
  return json::find_path(*judged.object, {"spec", name});
}

const json::Value* detector(const Case& judged) {
  return json::find_path(*judged.object, {"spec", "experimental", "stallDetector"});
}

void timeout_not_negative(const Case& judged, Causes& causes) {
  const auto timeout = json::as_int(spec_member(judged, "completionTimeoutPerGiB"));
  if (timeout && *timeout < 0)
    causes.invalid("spec.completionTimeoutPerGiB", fmt::format("{}: must be 0 or more seconds per GiB", *timeout));
}

void downtime_needs_gate(const Case& judged, Causes& causes) {
  if (judged.enabled(config::Gate::migration_stall_detection) || !spec_member(judged, "maxDowntimeMs") ||
      unchanged(judged, {"spec", "maxDowntimeMs"}))
    return;
  causes.invalid("spec.maxDowntimeMs",
                 "maxDowntimeMs requires the feature gate MigrationStallDetection, which is disabled; remove it");
}

void detector_needs_gate(const Case& judged, Causes& causes) {
  if (judged.enabled(config::Gate::migration_stall_detection) || !detector(judged) ||
      unchanged(judged, {"spec", "experimental", "stallDetector"}))
    return;
  causes.invalid(stall_detector,
                 "stallDetector requires the feature gate MigrationStallDetection, which is disabled; remove it");
}

bool is_hexadecimal(string_view text) { return text.starts_with("0x") || text.starts_with("0X"); }

// Go lets a low line stand between two digits, and between the 0x of a hexadecimal number and its first digit.
std::optional<std::string> without_separators(string_view text) {
  const bool hex = is_hexadecimal(text);
  const auto is_digit = [&](std::size_t at) {
    return at < text.size() &&
           (hex ? std::isxdigit(static_cast<unsigned char>(text[at])) != 0 : text[at] >= '0' && text[at] <= '9');
  };
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '_') {
      plain += text[at];
    } else if (at == 0 || !(is_digit(at - 1) || (hex && at == 2)) || !is_digit(at + 1)) {
      return std::nullopt;
    }
  }
  return plain;
}

// Decimal, with an exponent, or hexadecimal with a binary exponent, and without a sign.
std::optional<double> read_unsigned(string_view text) {
  const bool hex = is_hexadecimal(text);
  if (hex && text.find_first_of("pP") == text.npos) return std::nullopt;
  const auto plain = without_separators(text);
  if (!plain) return std::nullopt;
  const string_view digits = string_view(*plain).substr(hex ? 2 : 0);
  if (digits.starts_with('-')) return std::nullopt;
  double value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value,
                                              hex ? std::chars_format::hex : std::chars_format::general);
  if (problem == std::errc::invalid_argument || end != digits.data() + digits.size()) return std::nullopt;
  if (problem == std::errc::result_out_of_range) value = std::strtod(plain->c_str(), nullptr);  // too small becomes 0
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

// A number as Go reads it, with blanks around it.
std::optional<double> read_number(string_view text) {
  constexpr string_view blanks = " \t\n\v\f\r";
  const auto first = text.find_first_not_of(blanks);
  if (first == text.npos) return std::nullopt;
  text = text.substr(first, text.find_last_not_of(blanks) - first + 1);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const auto value = read_unsigned(text);
  return value && negative ? -*value : value;
}

struct Bounds {
  double min;
  bool above_min;  // the bound itself is out
  double max;
  string_view takes;
};

void check_factor(const Case& judged, Causes& causes, string_view member, const Bounds& bounds) {
  const auto text = detector(judged) ? json::get_string(*detector(judged), member) : std::nullopt;
  if (!text) return;
  const auto value = read_number(*text);
  const bool in_thousandths = value && std::abs(*value - std::round(*value * 1000) / 1000) <= rounding_slack;
  if (in_thousandths && *value <= bounds.max && (bounds.above_min ? *value > bounds.min : *value >= bounds.min)) return;
  causes.invalid(fmt::format("{}.{}", stall_detector, member),
                 fmt::format("{2}: {0} must be {1} with at most three decimals, for example \"1\"", member,
                             bounds.takes, api::in_words(*text)));
}

constexpr double no_limit = std::numeric_limits<double>::max();

void ewma_alpha(const Case& judged, Causes& causes) {
  check_factor(judged, causes, "ewmaAlpha", {0, true, 1, "a number above 0 and up to 1"});
}
void precopy_factor(const Case& judged, Causes& causes) {
  check_factor(judged, causes, "precopyPossibleFactor", {1, false, no_limit, "a number of 1 or more"});
}
void patience_decay(const Case& judged, Causes& causes) {
  check_factor(judged, causes, "patienceWindowDecayFactor", {0, false, 1, "a number from 0 to 1"});
}
void completion_factor(const Case& judged, Causes& causes) {
  check_factor(judged, causes, "completionTimeoutFactor", {1, false, no_limit, "a number of 1 or more"});
}

void bandwidth_not_negative(const Case& judged, Causes& causes) {
  const auto text = json::as_string(spec_member(judged, "bandwidthPerMigration"));
  if (!text) return;
  const auto amount = Quantity::parse(*text);
  if (amount && amount->sign() < 0)
    causes.invalid("spec.bandwidthPerMigration", fmt::format("{}: must be 0 or more; 0 means no limit", *text));
}

constexpr config::Gate stall_gate = config::Gate::migration_stall_detection;

constexpr Rule migration_policy_rule_table[] = {
    {"MP02", "completionTimeoutPerGiB must not be negative", "spec.completionTimeoutPerGiB", timeout_not_negative},
    Rule{"MP03", "maxDowntimeMs requires stall detection", "spec.maxDowntimeMs", downtime_needs_gate}.of_gate(
        stall_gate),
    Rule{"MP04", "stallDetector requires stall detection", stall_detector, detector_needs_gate}.of_gate(stall_gate),
    {"MP05", "ewmaAlpha must be above 0 and up to 1", "spec.experimental.stallDetector.ewmaAlpha", ewma_alpha},
    {"MP06", "precopyPossibleFactor must be 1 or more", "spec.experimental.stallDetector.precopyPossibleFactor",
     precopy_factor},
    {"MP07", "patienceWindowDecayFactor must be from 0 to 1",
     "spec.experimental.stallDetector.patienceWindowDecayFactor", patience_decay},
    {"MP08", "completionTimeoutFactor must be 1 or more", "spec.experimental.stallDetector.completionTimeoutFactor",
     completion_factor},
    {"MP09", "bandwidthPerMigration must not be negative", "spec.bandwidthPerMigration", bandwidth_not_negative},
};

}  // namespace

std::span<const Rule> migration_policy_rules() { return migration_policy_rule_table; }

}  // namespace vg::admission
