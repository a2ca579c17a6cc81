// The shape of every object, as tables. They are generated from schema/*.vgs (see schema/README.md), live in read-only
// memory and are the one thing that canonical form, structural validation, the check inside webhooks, the CRDs and the
// OpenAPI documents walk.
//
// A walk starts at a Kind (or a Type) and follows nodes: a Field is a Node with a name, a list or a map has an element
// Node, a struct has a Type. What upstream's CRDs demand of a value hangs at Node::crd, what its OpenAPI definitions
// demand at Node::openapi; both may be null.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace vg::api {

struct Type;

// What Go type a value is decoded into. The integers keep their Go width, `int_` and `uint_` are 64 bits wide.
enum class Shape : std::uint8_t {
  string,
  boolean,
  int_,
  int32,
  int64,
  uint_,
  uint8,
  uint32,
  uint64,
  float32,
  float64,
  bytes,          // base64 in a string
  quantity,       // a string or a number; canonical form is a string
  time,           // RFC 3339 to the second, or null
  micro_time,     // RFC 3339 to the microsecond, or null
  duration,       // a Go duration such as "1m30s"
  int_or_string,  // as it says
  raw,            // any JSON value, kept as it is
  fields,         // FieldsV1 of managedFields: any object, kept as it is
  structure,      // Node::type says which
  list,           // Node::element says of what
  map,            // from string to Node::element
};

// When Go leaves a field out of what it writes.
enum class Omission : std::uint8_t {
  always,  // never left out: a nil pointer, list or map is written as null
  empty,   // omitempty: false, 0, "", nil, an empty list or map. A struct that is no pointer is never empty
  zero,    // omitzero: also a struct or time that is all zero
};

enum class ListType : std::uint8_t { none, atomic, set, map };

// A rule that upstream expresses in CEL. Code implements it by its name; `cel` is what a CRD carries.
struct Rule {
  std::string_view name;
  std::string_view cel;
  std::string_view message;  // our words
};

// The bounds of a number, a length or a count. A bound that is not there has the limit of its type.
struct Range {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();

  constexpr bool has_min() const { return min != std::numeric_limits<std::int64_t>::min(); }
  constexpr bool has_max() const { return max != std::numeric_limits<std::int64_t>::max(); }
  constexpr bool contains(std::int64_t value) const { return value >= min && value <= max; }
};

// What a CRD's structural schema demands of a value beyond its type.
struct CrdFacts {
  std::span<const std::string_view> enumeration;  // empty: anything goes
  std::string_view pattern;                       // empty: none. Never holds the quantity pattern, see quantity_pattern
  std::string_view format;                        // empty: the one that follows from the shape
  std::string_view default_json;                  // JSON text; empty: none
  Range range;                                    // of a number
  Range length;                                   // of a string, in characters
  Range items;                                    // of a list
  std::span<const Rule* const> rules;
};

// The JSON types that an OpenAPI definition takes, where that is not what follows from the shape.
enum JsonTypes : std::uint8_t {
  json_string = 1,
  json_null = 2,
  json_number = 4,
  json_integer = 8,
};

// What upstream's OpenAPI definition demands of a value beyond its type.
struct OpenApiFacts {
  std::span<const std::string_view> enumeration;
  std::string_view default_json;  // JSON text; empty: none, so that a missing required value is an error
  std::uint8_t types = 0;         // JsonTypes that replace what the shape or the type says; 0: they are not replaced
};

struct Node {
  Shape shape = Shape::string;
  bool pointer = false;           // in Go: null and absent are not the zero value
  bool nullable = false;          // the CRD takes null
  bool preserve_unknown = false;  // the CRD keeps fields that it does not know, at this level only
  bool map_atomic = false;        // the CRD merges the value as a whole (its type can say so too: Type::map_atomic)
  ListType list_type = ListType::none;
  const Type* type = nullptr;             // of Shape::structure
  const Node* element = nullptr;          // of Shape::list and Shape::map
  const CrdFacts* crd = nullptr;          // null: nothing
  const OpenApiFacts* openapi = nullptr;  // null: nothing
};

struct Field : Node {
  std::string_view name;
  Omission omission = Omission::always;
  bool required = false;                       // CRD and OpenAPI agree on it
  bool merge_patch = false;                    // patchStrategy "merge" of a strategic merge patch
  bool merge_replace = false;                  // patchStrategy "replace": the object is not merged but replaced
  std::uint16_t number = 0;                    // in protobuf; 0: not there, or in the message of an Embed
  std::string_view merge_key;                  // patchMergeKey of a list of structs; empty for a list of scalars
  std::span<const std::string_view> map_keys;  // of ListType::map
  std::string_view description;                // ours; may be empty
};

// A struct that Go embeds without a name: its fields stand among those of the embedding type.
struct Embed {
  const Type* type = nullptr;
  bool pointer = false;  // nil until one of the fields is set, and then nothing of it is written
  std::uint16_t first = 0;
  std::uint16_t count = 0;   // fields[first, first + count) of the embedding type
  std::uint16_t number = 0;  // in protobuf, where it is a message; 0: not there
};

struct Type {
  std::string_view name;          // "kubevirt.Disk": package and type as schema/ calls them
  std::string_view go_name;       // "core/v1.Disk"
  std::string_view openapi_name;  // "v1.Disk"
  std::string_view description;
  std::span<const Field> fields;  // in the order in which Go writes them, embedded ones included
  std::span<const Embed> embeds;
  std::span<const Field> openapi_only;  // upstream's OpenAPI adjustments invent these; no object has them
  bool map_atomic = false;
  bool crd_opaque = false;        // a CRD says only "object" of it (metadata)
  bool openapi_nullable = false;  // its OpenAPI definition takes null (what a `status` refers to)

  // Perfect hash over (length, first, middle and last character). A multiplier of 0 means that none was found.
  std::uint32_t hash_multiplier = 0;
  std::uint8_t hash_shift = 31;
  std::uint8_t hash_probe = 4;  // eighths of the length at which the "middle" character is taken
  const std::uint8_t* hash_slots = nullptr;

  // The field of exactly this name, or null.
  const Field* find(std::string_view field_name) const;
  // As Go's encoding/json: the exact name, else the first field whose name is equal but for letter case.
  const Field* find_fold(std::string_view field_name) const;
  // Just the name, after the package: "Disk".
  std::string_view short_name() const { return name.substr(name.find('.') + 1); }
};

struct KindVersion {
  std::string_view name;
  bool served = true;
  bool storage = false;
  bool deprecated = false;
  std::string_view warning;  // our words, when deprecated
};

struct Scale {
  std::string_view spec_replicas;  // JSON paths, as in a CRD: ".spec.replicas"
  std::string_view status_replicas;
  std::string_view label_selector;
};

struct Column {
  std::string_view name;
  std::string_view type;       // as in a CRD: string, integer, date, boolean
  std::string_view json_path;  // as in a CRD: ".status.phase"
  int priority = 0;            // 1: only in wide output
};

struct Kind {
  std::string_view group;  // empty: the core group
  std::string_view kind;
  std::string_view list_kind;
  std::string_view plural;
  std::string_view singular;
  std::span<const std::string_view> short_names;
  std::span<const std::string_view> categories;
  bool namespaced = true;
  bool custom = true;  // defined by a CRD; false: one of Kubernetes' own kinds
  bool status_subresource = false;
  bool list_kind_stated = false;  // the CRD names its list kind though it is the usual one
  const Scale* scale = nullptr;
  const Type* type = nullptr;
  const Type* list_type = nullptr;        // null for a kind that is never stored
  std::span<const KindVersion> versions;  // all versions have the same shape
  std::span<const Column> columns;

  const KindVersion* version(std::string_view version_name) const;
  const KindVersion& storage_version() const;
};

// What a quantity must look like in a CRD.
extern const std::string_view quantity_pattern;

// All of them; types are sorted by name, kinds by group and plural.
std::span<const Type> types();
std::span<const Kind> kinds();
std::span<const Rule> rules();

// Null when there is none. A type is named as in schema/: "kubevirt.Disk".
const Type* find_type(std::string_view name);
// `kind` as in an object's kind field. The version must be one of the kind's, or empty for any.
const Kind* find_kind(std::string_view group, std::string_view version, std::string_view kind);
// `plural` as in a request's path.
const Kind* find_resource(std::string_view group, std::string_view version, std::string_view plural);

}  // namespace vg::api
