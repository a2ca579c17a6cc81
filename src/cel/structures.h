// What expressions may name: the structures of the two worlds they are about, and which members those have.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace vg::cel {

// Members are words, separated by spaces: `Name:type`, `Name/json:type` or `Name/:type`. Name is the member in Go.
// Where nothing is said, its name in JSON is the same with a small first letter; after a slash stands another one, or
// nothing where JSON has no member of its own for it (inlined structures and what they promote). Types are written as
// in types.h; a structure of the same package goes without the package.
struct Structure {
  std::string_view name;  // with its package: "v1.Disk"
  std::string_view members;
};

// All are ordered by name.
std::span<const Structure> machine_structures();
std::span<const Structure> domain_structures();
// What admission policies are told besides the objects, and the types of Kubernetes' own libraries.
std::span<const Structure> policy_structures();

// Which of their names members go by.
enum class Naming : std::uint8_t { go, json };

// Null where there is none of that name; those of domains are found only on demand.
const Structure* find_structure(std::string_view name, bool with_domains);

// Of policy_structures() alone.
const Structure* find_policy_structure(std::string_view name);

// The package of a structure: "v1".
std::string_view package_of(const Structure& structure);

// The notation of a member's type.
std::optional<std::string_view> member_type(const Structure& structure, std::string_view member, Naming naming);

}  // namespace vg::cel
