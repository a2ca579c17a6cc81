#include "api/webhook_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "api/canonical_place.h"
#include "api/canonical_words.h"
#include "api/go_struct.h"
#include "api/schema.h"
#include "api/structural_formats.h"
#include "base/joined.h"
#include "base/limits.h"
#include "base/phrases.h"
#include "json/access.h"

namespace vg::api {
namespace {

using json::Array;
using json::Object;
using json::String;
using json::Value;

// What a definition says of a value, as a set: JsonTypes and the types that only shapes have.
enum MoreTypes : std::uint8_t {
  json_boolean = 16,
  json_object = 32,
  json_array = 64,
};

struct WantedTypes {
  std::uint8_t types = 0;
  bool has_format = false;  // of a string
  bool is_date_time = false;
};

constexpr WantedTypes wanted_types_of(const Node& node) {
  if (node.openapi && node.openapi->types != 0) return {.types = node.openapi->types};
  switch (node.shape) {
    case Shape::string:
    case Shape::duration:
      return {.types = json_string};
    case Shape::bytes:
    case Shape::int_or_string:
      return {.types = json_string, .has_format = true};
    case Shape::time:
    case Shape::micro_time:
      return {.types = json_string, .has_format = true, .is_date_time = true};
    case Shape::boolean:
      return {.types = json_boolean};
    case Shape::int_:
    case Shape::int32:
    case Shape::int64:
    case Shape::uint_:
    case Shape::uint8:
    case Shape::uint32:
    case Shape::uint64:
      return {.types = json_integer};
    case Shape::float32:
    case Shape::float64:
      return {.types = json_number};
    case Shape::quantity:
      return {.types = json_string | json_integer | json_number};
    case Shape::raw:
    case Shape::fields:
    case Shape::structure:
    case Shape::map:
      return {.types = json_object};
    case Shape::list:
      return {.types = json_array};
  }
  return {};
}

// The decoder behind upstream's check makes a double of every number.
bool fits_number(const Value& value, std::uint8_t types) {
  if (types & json_number) return true;
  if (!(types & json_integer)) return false;
  if (const std::int64_t* whole = value.if_int64()) return is_json_integer(static_cast<double>(*whole));
  return is_json_integer(value.to_number<double>());
}

bool fits(const Value& value, const WantedTypes& wanted) {
  switch (value.kind()) {
    case boost::json::kind::null:
      return wanted.types & json_null;
    case boost::json::kind::bool_:
      return wanted.types & json_boolean;
    case boost::json::kind::int64:
    case boost::json::kind::uint64:
    case boost::json::kind::double_:
      return fits_number(value, wanted.types);
    case boost::json::kind::string:
      return wanted.types & json_string;
    case boost::json::kind::array:
      // A list passes for a string with a format, upstream; whoever decodes it into its type will say no.
      return wanted.types & json_array || wanted.has_format;
    case boost::json::kind::object:
      return wanted.types & json_object;
  }
  return false;
}

std::string words_for_types(const WantedTypes& wanted) {
  if (wanted.is_date_time) return "a time such as 2026-01-02T03:04:05Z";
  static constexpr std::array<std::pair<std::uint8_t, std::string_view>, 7> names = {{
      {json_string, "a string"},
      {json_integer, "a whole number"},
      {json_number, "a number"},
      {json_boolean, "true or false"},
      {json_object, "an object"},
      {json_array, "a list"},
      {json_null, "null"},
  }};
  std::string words;
  for (const auto& [type, name] : names) {
    if (!(wanted.types & type)) continue;
    if (!words.empty()) words += " or ";
    words += name;
  }
  return words;
}

class DefinitionCheck {
 public:
  // `strict`: fields that a definition does not know are errors.
  DefinitionCheck(bool strict, std::vector<StatusCause>& causes) : strict_(strict), causes_(causes) {}

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the document, which the parser bounds
  void node(const Value& value, const Node& node, const Place& place) {
    const WantedTypes wanted = wanted_types_of(node);
    const bool may_be_null = node.shape == Shape::structure && node.type->openapi_nullable;
    if (!fits(value, wanted) && !(value.is_null() && may_be_null)) {
      add(place, fmt::format("must be {}, not {}", words_for_types(wanted), in_words(value)));
    } else if (wanted.is_date_time && value.is_string() && !is_date_time(value.get_string())) {
      add(place, fmt::format("must be {}, not {}", words_for_types(wanted), in_words(value)));
    }
    if (node.openapi && !node.openapi->enumeration.empty()) enumeration(value, *node.openapi, place);
    if (const Object* object = value.if_object()) {
      members(*object, node, place);
    } else if (const Array* array = value.if_array(); array && node.shape == Shape::list) {
      Place at = place.item(0);
      for (const Value& item : *array) {
        this->node(item, *node.element, at);
        ++at.index;
      }
    }
  }

  void add(const Place& place, std::string_view message) {
    if (causes_.size() >= limits::causes_max) return;
    causes_.push_back({.reason = {}, .message = print_place(place, PlaceStyle::dotted), .field = {}});
    causes_.back().message.append(": ").append(message);
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion)
  void members(const Object& object, const Node& node, const Place& place) {
    if (node.shape == Shape::structure) {
      structure(object, *node.type, place);
    } else if (node.shape == Shape::map) {
      for (const auto& member : object) this->node(member.value(), *node.element, place.key(member.key()));
    } else if (strict_ && (node.shape == Shape::raw || node.shape == Shape::fields)) {
      // Named definitions without any field: what stands in them is never known.
      for (const auto& member : object) unknown(member.key(), place);
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  void structure(const Object& object, const Type& type, const Place& place) {
    std::size_t required_here = 0;
    for (const auto& member : object) {
      const std::string_view key = member.key();
      const Field* field = find(type, key);
      if (!field) {
        unknown(key, place);
        continue;
      }
      required_here += is_demanded(*field);
      node(member.value(), *field, place.field(key));
    }
    // Members are unique, so the count tells whether a demanded field is missing before anybody looks for it.
    if (required_here != demanded_fields(type)) missing(object, type, place);
  }

  void missing(const Object& object, const Type& type, const Place& place) {
    for (const Field& field : type.fields) {
      if (is_demanded(field) && !object.if_contains(field.name))
        add(place.field(field.name), phrases::cause_message("FieldValueRequired", ""));
    }
  }

  void unknown(std::string_view key, const Place& place) {
    if (!strict_ || key == "$schema" || key == "id") return;
    add(place.field(key), "unknown field");
  }

  void enumeration(const Value& value, const OpenApiFacts& facts, const Place& place) {
    const auto text = json::as_string(&value);
    if (text && std::ranges::find(facts.enumeration, *text) != facts.enumeration.end()) return;
    add(place, phrases::unsupported(in_words(value), joined(facts.enumeration, ", ")));
  }

  static const Field* find(const Type& type, std::string_view key) {
    if (const Field* field = type.find(key)) return field;
    const auto found = std::ranges::find(type.openapi_only, key, &Field::name);
    return found == type.openapi_only.end() ? nullptr : &*found;
  }

  // A default satisfies the demand, and every scalar has one. What refers to a definition has none that counts:
  // upstream puts the definition in place of the reference and of everything that stands beside it.
  static bool is_demanded(const Field& field) {
    if (!field.required) return false;
    return is_go_struct(field.shape) || !field.openapi || field.openapi->default_json.empty();
  }

  static std::size_t demanded_fields(const Type& type) {
    static const std::vector<std::uint8_t> counts = [] {
      std::vector<std::uint8_t> made;
      for (const Type& each : types()) {
        made.push_back(static_cast<std::uint8_t>(std::ranges::count_if(each.fields, is_demanded)));
      }
      return made;
    }();
    return counts[static_cast<std::size_t>(&type - types().data())];
  }

  bool strict_;
  std::vector<StatusCause>& causes_;
};

// "v1.VirtualMachineSpec" and the like. Built once: a look-up per request must not pass over all types.
const Type* find_definition(std::string_view kind, std::string_view part) {
  static const std::unordered_map<std::string_view, const Type*> definitions = [] {
    std::unordered_map<std::string_view, const Type*> made;
    for (const Type& type : types()) {
      if (type.openapi_name.starts_with("v1.")) made.emplace(type.openapi_name, &type);
    }
    return made;
  }();
  const auto found = definitions.find(fmt::format("v1.{}{}", kind, part));
  return found == definitions.end() ? nullptr : found->second;
}

void check_part(const Value& object, std::string_view kind, std::string_view part, std::string_view name, bool strict,
                std::vector<StatusCause>& causes) {
  const Type* type = find_definition(kind, part);
  if (!type) return;
  const Value* value = json::find(object, name);
  const Value none;
  const Node node{.shape = Shape::structure, .type = type};
  const Place root;
  // An absent status is fine like a null one; an absent spec is checked like a null one, which it is to upstream.
  if (!strict && (!value || value->is_null())) return;
  DefinitionCheck(strict, causes).node(value ? *value : none, node, root.field(name));
}

}  // namespace

std::vector<StatusCause> check_webhook_schema(std::string_view kind, const json::Value& object) {
  std::vector<StatusCause> causes;
  DefinitionCheck top(true, causes);
  const Place root;
  const Object* members = object.if_object();
  if (!members) {
    top.add(root, fmt::format("must be an object, not {}", in_words(object)));
    return causes;
  }
  static constexpr std::array<std::string_view, 5> known = {"kind", "apiVersion", "metadata", "spec", "status"};
  for (const auto& member : *members) {
    const std::string_view key = member.key();
    if (std::ranges::find(known, key) == known.end()) top.add(root.field(key), "unknown field");
  }
  if (!members->if_contains("spec")) top.add(root.field("spec"), phrases::cause_message("FieldValueRequired", ""));
  check_part(object, kind, "Spec", "spec", true, causes);
  check_part(object, kind, "Status", "status", false, causes);
  return causes;
}

std::vector<StatusCause> check_webhook_status_schema(std::string_view kind, const json::Value& object) {
  std::vector<StatusCause> causes;
  check_part(object, kind, "Status", "status", false, causes);
  return causes;
}

}  // namespace vg::api
