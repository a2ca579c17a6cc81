// Where in a document a value stands, as links on the stack: walking costs nothing, only a refusal prints it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vg::api {

struct Place {
  enum class Kind : std::uint8_t { root, field, key, index };

  const Place* parent = nullptr;
  std::string_view name = {};  // of a field, or the key of a map
  std::size_t index = 0;       // in a list
  Kind kind = Kind::root;

  Place field(std::string_view field_name) const { return {.parent = this, .name = field_name, .kind = Kind::field}; }
  Place key(std::string_view map_key) const { return {.parent = this, .name = map_key, .kind = Kind::key}; }
  Place item(std::size_t item_index) const { return {.parent = this, .index = item_index, .kind = Kind::index}; }
};

// Kubernetes prints one place in different ways, depending on who speaks.
enum class PlaceStyle : std::uint8_t {
  brackets,     // spec.labels[a/b].disks[0].name
  dotted_keys,  // spec.labels.a/b.disks[0].name
  dotted,       // spec.labels.a/b.disks.0.name
};

// Empty for the root.
std::string print_place(const Place& place, PlaceStyle style);

}  // namespace vg::api
