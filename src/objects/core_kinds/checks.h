// Collecting causes, and the checks that several kinds share. Reasons and places are Kubernetes'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/canonical_place.h"
#include "base/names.h"
#include "base/phrases.h"
#include "base/status.h"
#include "json/value.h"

namespace vg::resources::core_kinds {

using api::Place;

inline constexpr Place whole_object;
// A member of the object itself. A place refers to the one it stands in: to keep one, keep the one above it too.
inline Place top(std::string_view member) { return whole_object.field(member); }

// A place is printed only when a cause is added. None is added beyond limits::causes_max.
class FieldCauses {
 public:
  explicit FieldCauses(std::vector<StatusCause>& into) : into_(into) {}

  void required(const Place& at, std::string_view why);
  void invalid(const Place& at, std::string_view why);
  void forbidden(const Place& at, std::string_view why);
  void too_long(const Place& at, std::string_view why);
  void too_many(const Place& at, std::string_view why);
  void duplicate(const Place& at, std::string_view value);
  void not_found(const Place& at, std::string_view value, std::string_view why);
  void not_supported(const Place& at, std::string_view value, std::span<const std::string_view> supported);
  // One "invalid" for each defect.
  void defects(const Place& at, std::string_view value, const Defects& defects);
  // One "invalid" for all defects together, where Kubernetes joins them.
  void joined_defects(const Place& at, std::string_view value, const Defects& defects);

  std::size_t count() const { return into_.size(); }

 private:
  void add(std::string_view reason, const Place& at, std::string message);
  std::vector<StatusCause>& into_;
};

using Supported = std::span<const std::string_view>;

// Required when empty, not supported when none of `supported`.
void check_choice(FieldCauses& causes, const Place& at, std::string_view value, Supported supported);
// The same without "required": the empty text is just another value that is not supported.
void check_supported(FieldCauses& causes, const Place& at, std::string_view value, Supported supported);

void check_labels(FieldCauses& causes, const Place& at, const json::Object& labels);
void check_label_selector(FieldCauses& causes, const Place& at, const json::Object& selector);

// Addresses are read as older objects spell them, so leading zeros pass.
bool check_ip(FieldCauses& causes, const Place& at, std::string_view value);
void check_cidr(FieldCauses& causes, const Place& at, std::string_view value);
bool are_dual_stack(const std::vector<std::string_view>& addresses);

void check_port_number(FieldCauses& causes, const Place& at, std::int64_t port);
// `port` is an integer or the name of a port.
void check_port(FieldCauses& causes, const Place& at, const json::Value* port);
void check_not_negative(FieldCauses& causes, const Place& at, std::int64_t value);

// The key of a config map or secret.
Defects data_key_defects(std::string_view key);
// The sum of the lengths of base64 values once they are decoded.
std::size_t decoded_bytes(const json::Object& base64_values);

// Kubernetes lets secrets and config maps hold this much.
inline constexpr std::size_t data_bytes_max = 1024 * 1024;

// The words for a field that can never change.
inline constexpr std::string_view cannot_change = phrases::field_immutable;

}  // namespace vg::resources::core_kinds
