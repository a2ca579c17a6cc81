#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "objects/core_kinds/checks.h"
#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::array<std::string_view, 2> scopes = {"Cluster", "Namespaced"};
constexpr std::array<std::string_view, 2> conversion_strategies = {"None", "Webhook"};
constexpr std::array<std::string_view, 5> column_types = {"boolean", "date", "integer", "number", "string"};
constexpr std::int64_t webhook_port = 443;

std::string lower(std::string_view name) {
  std::string small(name);
  std::ranges::transform(small, small.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return small;
}

std::string_view storage_version(const json::Object& spec) {
  for (const json::Value& version : items(spec, "versions"))
    if (json::get_bool_or(version, "storage", false)) return text(version, "name");
  return {};
}

// Objects may be stored in every version that ever was the storage version.
void note_stored_version(json::Object& object) {
  const std::string version(storage_version(members(object, "spec")));
  json::Object& status = json::ensure_object(object, "status");
  json::Array& stored = json::ensure_array(status, "storedVersions");
  if (!version.empty() && !contains_text(stored, version)) stored.emplace_back(version);
}

void default_crd(json::Object& object, const WriteContext& /*context*/) {
  json::Object& spec = json::ensure_object(object, "spec");
  json::Object& names = json::ensure_object(spec, "names");
  const std::string kind(text(names, "kind"));
  if (!kind.empty()) {
    default_text(names, "singular", lower(kind));
    default_text(names, "listKind", kind + "List");
  }
  if (!has(spec, "conversion")) spec["conversion"].emplace_object()["strategy"] = "None";
  auto* webhook = json::get_object(*json::get_object(spec, "conversion"), "webhook");
  auto* client = webhook ? json::get_object(*webhook, "clientConfig") : nullptr;
  if (auto* service = client ? json::get_object(*client, "service") : nullptr)
    default_pointer(*service, "port", webhook_port);
  if (items(members(object, "status"), "storedVersions").empty()) note_stored_version(object);
}

void prepare_new_crd(json::Object& object, const WriteContext& /*context*/) {
  json::Object& status = object["status"].emplace_object();
  json::Object& accepted = status["acceptedNames"].emplace_object();
  accepted["plural"] = "";
  accepted["kind"] = "";
  note_stored_version(object);
  begin_generation(object);
}

void prepare_changed_crd(json::Object& object, const json::Object& old, const WriteContext& context) {
  if (context.subresource == "status") return;
  carry_over(object, old, "status");
  note_stored_version(object);
  grow_generation(object, old);
}

void check_group(FieldCauses& causes, const Place& at, std::string_view group) {
  if (group.empty()) return causes.required(at, "the API group of the kind");
  const Defects defects = dns1123_subdomain_defects(group);
  causes.joined_defects(at, group, defects);
  if (defects.empty() && group.find('.') == std::string_view::npos)
    causes.invalid(at, "must be a domain with at least one dot, for example stable.example.com");
}

void check_column(FieldCauses& causes, const Place& at, const json::Object& column) {
  if (text(column, "name").empty()) causes.required(at.field("name"), "the name of the column");
  const std::string_view type = text(column, "type");
  if (type.empty())
    causes.required(at.field("type"), "the type of the column: boolean, date, integer, number or string");
  else if (std::ranges::find(column_types, type) == column_types.end())
    causes.invalid(at.field("type"), "must be boolean, date, integer, number or string");
  if (text(column, "jsonPath").empty())
    causes.required(at.field("jsonPath"), "the JSON path of the value of the column");
}

void check_versions(FieldCauses& causes, const Place& at, const json::Array& versions) {
  for (std::size_t i = 0; i < versions.size(); ++i)
    if (!has(members(members(versions[i]), "schema"), "openAPIV3Schema"))
      causes.required(at.item(i).field("schema").field("openAPIV3Schema"), "every version requires a schema");
  std::set<std::string_view> names;
  std::size_t stored = 0;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const json::Object& version = members(versions[i]);
    const Place place = at.item(i);
    const Place columns = place.field("additionalPrinterColumns");
    names.insert(text(version, "name"));
    stored += json::get_bool_or(version, "storage", false) ? 1 : 0;
    causes.joined_defects(place.field("name"), text(version, "name"), dns1035_label_defects(text(version, "name")));
    const json::Array& list = items(version, "additionalPrinterColumns");
    for (std::size_t j = 0; j < list.size(); ++j) check_column(causes, columns.item(j), members(list[j]));
  }
  if (names.size() != versions.size()) causes.invalid(at, "version names must be unique");
  if (stored != 1) causes.invalid(at, "exactly one version must be the storage version");
}

void check_word(FieldCauses& causes, const Place& at, std::string_view word) {
  if (!word.empty()) causes.joined_defects(at, word, dns1035_label_defects(lower(word)));
}

void check_names(FieldCauses& causes, const Place& at, const json::Object& names) {
  for (const std::string_view member : {"plural", "singular"})
    if (const std::string_view name = text(names, member); !name.empty())
      causes.joined_defects(at.field(member), name, dns1035_label_defects(name));
  for (const std::string_view member : {"kind", "listKind"}) check_word(causes, at.field(member), text(names, member));
  const auto check_list = [&](std::string_view member) {
    const json::Array& words = items(names, member);
    const Place list = at.field(member);
    for (std::size_t i = 0; i < words.size(); ++i)
      causes.joined_defects(list.item(i), as_text(words[i]), dns1035_label_defects(as_text(words[i])));
  };
  check_list("shortNames");
  if (!text(names, "kind").empty() && text(names, "kind") == text(names, "listKind"))
    causes.invalid(at.field("listKind"), "listKind and kind must be different");
  check_list("categories");
}

void check_spec(FieldCauses& causes, const json::Object& spec) {
  const Place at = top("spec");
  check_group(causes, at.field("group"), text(spec, "group"));
  check_choice(causes, at.field("scope"), text(spec, "scope"), scopes);
  check_versions(causes, at.field("versions"), items(spec, "versions"));
  const json::Object& names = members(spec, "names");
  const Place names_place = at.field("names");
  for (const std::string_view member : {"plural", "singular", "kind", "listKind"})
    if (text(names, member).empty()) causes.required(names_place.field(member), "the name of the kind");
  check_names(causes, names_place, names);
  const Place conversion = at.field("conversion");
  check_choice(causes, conversion.field("strategy"), text(members(spec, "conversion"), "strategy"),
               conversion_strategies);
  if (json::get_bool_or(spec, "preserveUnknownFields", false))
    causes.invalid(at.field("preserveUnknownFields"),
                   "must be false; use x-kubernetes-preserve-unknown-fields in the schema to keep unknown fields");
}

void check_stored_versions(FieldCauses& causes, const json::Object& object) {
  const json::Array& stored = items(members(object, "status"), "storedVersions");
  const Place status = top("status");
  const Place at = status.field("storedVersions");
  if (stored.empty()) causes.invalid(at, "at least one stored version");
  std::set<std::string_view> known;
  for (const json::Value& version : items(members(object, "spec"), "versions")) known.insert(text(version, "name"));
  for (std::size_t i = 0; i < stored.size(); ++i)
    if (!known.contains(as_text(stored[i])))
      causes.invalid(at.item(i), "must stay in spec.versions while objects may be stored in this version");
}

bool is_established(const json::Object& object) {
  return std::ranges::any_of(items(members(object, "status"), "conditions"), [](const json::Value& condition) {
    return text(condition, "type") == "Established" && text(condition, "status") == "True";
  });
}

// Objects are stored under these; a kind in use cannot move away from them.
void check_crd_change(FieldCauses& causes, const json::Object& spec, const json::Object& old) {
  const json::Object& before = members(old, "spec");
  const Place at = top("spec");
  const Place names = at.field("names");
  if (is_established(old)) {
    if (!same_member(spec, before, "scope")) causes.invalid(at.field("scope"), cannot_change);
    if (!same_member(members(spec, "names"), members(before, "names"), "kind"))
      causes.invalid(names.field("kind"), cannot_change);
  }
  if (!same_member(spec, before, "group")) causes.invalid(at.field("group"), cannot_change);
  if (!same_member(members(spec, "names"), members(before, "names"), "plural"))
    causes.invalid(names.field("plural"), cannot_change);
}

void validate_crd(const json::Object& object, const json::Object* old, const WriteContext& context,
                  std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  const json::Object& spec = members(object, "spec");
  const Place status = top("status");
  if (context.subresource != "status") {
    const std::string wanted = fmt::format("{}.{}", text(members(spec, "names"), "plural"), text(spec, "group"));
    if (!old && name_of(object) != wanted)
      causes.invalid(top("metadata").field("name"), fmt::format("must be {}: PLURAL.GROUP", wanted));
    check_spec(causes, spec);
    if (old) check_crd_change(causes, spec, *old);
    check_stored_versions(causes, object);
  }
  check_names(causes, status.field("acceptedNames"), members(members(object, "status"), "acceptedNames"));
}

}  // namespace

constinit const Strategy crd_strategy = {.group = "apiextensions.k8s.io",
                                         .kind = "CustomResourceDefinition",
                                         .defaults = default_crd,
                                         .prepare_create = prepare_new_crd,
                                         .prepare_update = prepare_changed_crd,
                                         .validate = validate_crd};

}  // namespace vg::resources::core_kinds
