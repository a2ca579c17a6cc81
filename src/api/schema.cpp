#include "api/schema.h"

#include <algorithm>

#include "api/schema_tables.h"
#include "base/short_text.h"

namespace vg::api {
namespace {

// The same as hash_key in tools/schemagen_tables.py. Length and three characters tell the fields of one type apart, and
// a lookup then touches one slot and compares one name.
std::uint32_t key_of(std::string_view name, std::uint8_t probe) {
  const std::size_t size = name.size();
  const auto byte = [&](std::size_t index) { return std::uint32_t{static_cast<unsigned char>(name[index])}; };
  return (static_cast<std::uint32_t>(size) & 0xffu) | byte(0) << 8 | byte(size - 1) << 16 |
         byte(size * probe >> 3) << 24;
}

// Takes one character off `text`, folded as Go folds field names: ASCII letters, and the two characters beyond ASCII
// whose simple fold is an ASCII letter (U+017F is an s, U+212A, the Kelvin sign, a k).
unsigned char take_folded(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first == 0xc5 && text.starts_with("\xc5\xbf")) {
    text.remove_prefix(2);
    return 's';
  }
  if (first == 0xe2 && text.starts_with("\xe2\x84\xaa")) {
    text.remove_prefix(3);
    return 'k';
  }
  text.remove_prefix(1);
  return first >= 'A' && first <= 'Z' ? static_cast<unsigned char>(first + ('a' - 'A')) : first;
}

bool equal_folded(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (take_folded(a) != take_folded(b)) return false;
  }
  return a.empty() && b.empty();
}

bool has_version(const Kind& kind, std::string_view version) { return version.empty() || kind.version(version); }

}  // namespace

constinit const std::string_view quantity_pattern =
    R"(^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$)";

const Field* Type::find(std::string_view field_name) const {
  if (field_name.empty()) return nullptr;
  if (hash_multiplier == 0) {
    const auto found = std::ranges::find(fields, field_name, &Field::name);
    return found == fields.end() ? nullptr : &*found;
  }
  const std::uint32_t slot = (key_of(field_name, hash_probe) * hash_multiplier) >> hash_shift;
  const std::uint8_t index = hash_slots[slot];
  if (index == 0) return nullptr;
  const Field& field = fields[index - 1u];
  return same_short_text(field.name, field_name) ? &field : nullptr;
}

const Field* Type::find_fold(std::string_view field_name) const {
  if (const Field* exact = find(field_name)) return exact;
  const auto found =
      std::ranges::find_if(fields, [&](const Field& field) { return equal_folded(field.name, field_name); });
  return found == fields.end() ? nullptr : &*found;
}

const KindVersion* Kind::version(std::string_view version_name) const {
  const auto found = std::ranges::find(versions, version_name, &KindVersion::name);
  return found == versions.end() ? nullptr : &*found;
}

const KindVersion& Kind::storage_version() const {
  // The generator refuses a kind without exactly one.
  return *std::ranges::find(versions, true, &KindVersion::storage);
}

std::span<const Type> types() { return tables::types; }
std::span<const Kind> kinds() { return tables::kinds; }
std::span<const Rule> rules() { return tables::rules; }

const Type* find_type(std::string_view name) {
  const auto found = std::ranges::lower_bound(tables::types, name, {}, &Type::name);
  return found != tables::types.end() && found->name == name ? &*found : nullptr;
}

const Kind* find_kind(std::string_view group, std::string_view version, std::string_view kind) {
  for (const Kind& candidate : tables::kinds) {
    if (candidate.kind == kind && candidate.group == group && has_version(candidate, version)) return &candidate;
  }
  return nullptr;
}

const Kind* find_resource(std::string_view group, std::string_view version, std::string_view plural) {
  for (const Kind& candidate : tables::kinds) {
    if (candidate.plural == plural && candidate.group == group && has_version(candidate, version)) return &candidate;
  }
  return nullptr;
}

}  // namespace vg::api
