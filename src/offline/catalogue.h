// Everything that can be found, by its id: the rules of the server, the warnings about what is legal but unwise, and
// what is said about files themselves. `virtgate explain` prints it, reports carry it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vg::offline {

struct CatalogueEntry {
  std::string_view id;
  std::string_view holds;     // what must hold, or what is found, as a sentence without its full stop
  std::string_view field;     // where it points; may be empty
  std::string_view why = {};  // may be empty
  std::string_view advice = {};
  std::string_view good = {}, bad = {};  // examples, JSON (or YAML, where JSON would hide it); may be empty
  std::string_view gate = {};            // the feature gate that the examples need; may be empty
  bool warning = false;                  // can be silenced
  bool rule = false;                     // of the server: what must hold is the advice
};

// Ids of what is said about files.
namespace ids {
inline constexpr std::string_view malformed = "FILE-01";
inline constexpr std::string_view no_object = "FILE-02";
inline constexpr std::string_view repeated_object = "FILE-03";
inline constexpr std::string_view too_large = "FILE-04";
inline constexpr std::string_view unknown_kind = "KIND-01";
inline constexpr std::string_view unknown_version = "KIND-02";
inline constexpr std::string_view unknown_field = "FIELD-01";
inline constexpr std::string_view repeated_field = "FIELD-02";
inline constexpr std::string_view missing_object = "REF-01";
inline constexpr std::string_view server_warning = "SERVER-01";
inline constexpr std::string_view server_refusal = "SERVER-02";
}  // namespace ids

// Null for an id that there is not.
const CatalogueEntry* find_entry(std::string_view id);
// All of them, by id.
std::span<const CatalogueEntry> catalogue();

}  // namespace vg::offline
