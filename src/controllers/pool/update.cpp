#include "controllers/pool/update.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/duration.h"
#include "base/time_rfc3339.h"
#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/pool/template.h"
#include "json/access.h"
#include "json/equal.h"

namespace vg::controllers::pool {
namespace {

bool same(const json::Value* one, const json::Value* other) {
  return !one == !other && (!one || json::equal(*one, *other));
}

const json::Value* template_in(const json::Object* revision) {
  const json::Object* spec = revision ? stored_spec(*revision) : nullptr;
  return spec ? template_of(*spec) : nullptr;
}

const json::Value* in_template(const json::Object* revision, std::string_view member) {
  const json::Value* found = template_in(revision);
  return found ? json::find_path(*found, {"spec", member}) : nullptr;
}

// Of a percentage, the whole number below it.
std::optional<std::int64_t> percent_of(std::string_view text, std::int64_t replicas) {
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  std::int64_t percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc() || end != text.data() + text.size() || percent < 0 || percent > 100) return std::nullopt;
  return replicas * percent / 100;
}

constexpr std::array<std::string_view, 6> hopeless{"CrashLoopBackOff", "ErrorUnschedulable", "DataVolumeError",
                                                   "ErrorPvcNotFound", "ErrImagePull",       "ImagePullBackOff"};
constexpr std::int64_t failures_default = 3;
constexpr std::chrono::minutes failing_default{5};

std::int64_t failures_of(const json::Object& status) {
  const json::Object* failure = json::get_object(status, "startFailure");
  return failure ? json::get_int_or(*failure, "consecutiveFailCount", 0) : 0;
}

std::chrono::seconds failing_min(const json::Object& strategy) {
  const auto text = json::get_string(strategy, "minFailingToStartDuration");
  const auto parsed = text ? parse_duration(*text) : parse_duration("5m");
  return parsed ? std::chrono::ceil<std::chrono::seconds>(bounded(*parsed)) : std::chrono::seconds(failing_default);
}

// Since when the VM is not ready.
std::optional<std::int64_t> failing_since(const json::Object& status) {
  const json::Object* ready = find_condition(&status, "Ready");
  if (!ready || json::get_string_or(*ready, "status") != "False") return std::nullopt;
  for (const std::string_view member : {"lastProbeTime", "lastTransitionTime"})
    if (const auto time = parse_rfc3339(json::get_string_or(*ready, member))) return time->seconds;
  return std::nullopt;
}

}  // namespace

bool is_outdated(const json::Object& vm, const json::Object* revision, const json::Object& pool) {
  const json::Object* spec = json::get_object(pool, "spec");
  if (!spec || label_of(vm, revision_label).empty() || !revision) return true;
  return !same(template_in(revision), template_of(*spec));
}

Need need_of(const json::Object& vm, const json::Object* of_vm, const json::Object& vmi, const json::Object* of_vmi) {
  const std::string_view wanted = label_of(vm, revision_label), actual = label_of(vmi, revision_label);
  if (wanted == actual || !of_vm) return Need::nothing;
  if (actual.empty() || !of_vmi) return Need::restart;
  if (!same(in_template(of_vm, "dataVolumeTemplates"), in_template(of_vmi, "dataVolumeTemplates"))) return Need::new_vm;
  return same(in_template(of_vm, "template"), in_template(of_vmi, "template")) ? Need::label : Need::restart;
}

std::int64_t max_unavailable(const json::Object& pool_spec, std::int64_t replicas) {
  const json::Value* said = json::find(pool_spec, "maxUnavailable");
  std::int64_t most = replicas;
  if (const auto number = json::as_int(said)) most = *number;
  if (const auto text = json::as_string(said)) most = percent_of(*text, replicas).value_or(replicas);
  return std::max<std::int64_t>(most, 1);
}

std::optional<std::chrono::seconds> time_to_healing(const json::Object& vm, const json::Object& strategy, Time now) {
  const json::Object* status = json::get_object(vm, "status");
  if (!status) return std::nullopt;
  if (failures_of(*status) >= json::get_int_or(strategy, "startUpFailureThreshold", failures_default))
    return std::chrono::seconds(0);
  const std::string_view shown = json::get_string_or(*status, "printableStatus");
  if (std::ranges::find(hopeless, shown) == hopeless.end()) return std::nullopt;
  const auto since = failing_since(*status);
  if (!since) return std::nullopt;
  const std::int64_t left = *since + failing_min(strategy).count() - Timestamp::from(now).seconds;
  return std::chrono::seconds(std::max<std::int64_t>(left, 0));
}

}  // namespace vg::controllers::pool
