#include "objects/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "api/canonical.h"
#include "api/canonical_place.h"
#include "api/protobuf.h"
#include "api/structural.h"
#include "base/budgets.h"
#include "base/joined.h"
#include "base/limits.h"
#include "base/phrases.h"
#include "json/access.h"
#include "json/member_order.h"
#include "json/parse.h"
#include "json/yaml.h"
#include "objects/managed_fields.h"
#include "objects/object_meta.h"

namespace vg::resources {
namespace {

// Kubernetes' decoder for its own types minds letter case, unlike Go's, which canonical form follows: what is spelled
// otherwise is dropped before.
class UnknownFields {
 public:
  explicit UnknownFields(FieldProblems* problems)
      : problems_(problems), counts_(problems && !problems->duplicate_at.empty()) {}

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the document, which the parser bounds
  void structure(json::Object& object, const api::Type& type, const api::Place& place) {
    bool all_known = true;
    for (auto& member : object) {
      const api::Field* field = type.find(member.key());
      if (field) {
        ++begun_;
        value(member.value(), *field, place.field(member.key()));
      } else {
        report(place.field(member.key()));
        ++begun_;
        skip(member.value());
        all_known = false;
      }
    }
    if (all_known) return;
    // Taking members out one by one would cost the square of their number.
    json::Object known(object.storage());
    for (auto& member : object)
      if (type.find(member.key())) known.emplace(member.key(), std::move(member.value()));
    object.swap(known);
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion)
  void value(json::Value& value, const api::Node& node, const api::Place& place) {
    json::Object* object = value.if_object();
    json::Array* array = value.if_array();
    if (object && node.shape == api::Shape::structure) {
      structure(*object, *node.type, place);
    } else if (object && node.shape == api::Shape::map) {
      for (auto& member : *object) {
        ++begun_;
        this->value(member.value(), *node.element, place.key(member.key()));
      }
    } else if (array && node.shape == api::Shape::list) {
      api::Place at = place.item(0);
      for (json::Value& item : *array) {
        this->value(item, *node.element, at);
        ++at.index;
      }
    } else {
      skip(value);
    }
  }

  void skip(const json::Value& value) {
    if (counts_) begun_ += json::count_members(value);
  }

  void report(const api::Place& place) {
    if (!problems_ || problems_->unknown.size() >= limits::causes_max) return;
    problems_->unknown.push_back(api::print_place(place, api::PlaceStyle::dotted_keys));
    if (counts_) problems_->unknown_at.push_back(begun_);
  }

  FieldProblems* problems_;
  bool counts_;            // whether it matters where the unknown ones stand
  std::size_t begun_ = 0;  // members so far
};

Status wrong_type(std::string_view expected, std::string_view got, std::string_view member) {
  return Status::bad_request(
      fmt::format("{} of the object is \"{}\", and must be \"{}\" at this path", member, got, expected));
}

// Whether a member is the unknown one or inside of it: nobody looks there for repeated ones.
bool is_within(std::string_view path, std::string_view unknown) {
  if (!path.starts_with(unknown)) return false;
  return path.size() == unknown.size() || path[unknown.size()] == '.' || path[unknown.size()] == '[';
}

// In the order in which they are told.
std::vector<std::string> describe(const FieldProblems& problems) {
  std::vector<std::string> all;
  const auto unknown = [&](std::size_t i) { all.push_back(fmt::format("unknown field \"{}\"", problems.unknown[i])); };
  const bool ordered = !problems.unknown.empty() && problems.unknown_at.size() == problems.unknown.size() &&
                       problems.duplicate_at.size() == problems.duplicate.size();
  std::size_t next = 0;
  for (std::size_t i = 0; i < problems.duplicate.size(); ++i) {
    const std::string& path = problems.duplicate[i];
    while (ordered && next < problems.unknown.size() && problems.unknown_at[next] < problems.duplicate_at[i])
      unknown(next++);
    if (ordered && std::ranges::any_of(problems.unknown, [&](const auto& other) { return is_within(path, other); }))
      continue;
    all.push_back(fmt::format("duplicate field \"{}\"", path));
  }
  while (next < problems.unknown.size()) unknown(next++);
  return all;
}

std::string list_problems(const FieldProblems& problems) {
  std::vector<std::string> all = describe(problems);
  const std::size_t more = all.size() - std::min(all.size(), limits::causes_in_message_max);
  all.resize(all.size() - more);
  std::string text = joined(all, ", ");
  if (more > 0) text += fmt::format(", and {} more", more);
  return text;
}

Result<json::Value> read_protobuf(std::string_view body, const api::Type& type, const json::StoragePtr& storage) {
  const auto sent = api::open_protobuf(body);
  if (!sent) return fail(sent.error());
  if (!sent->kind.empty() && sent->kind != type.short_name())
    return fail(wrong_type(type.short_name(), sent->kind, "kind"));
  auto value = api::decode_protobuf(sent->message, type, storage);
  if (!value) return value;
  if (!sent->kind.empty()) value->get_object()["kind"] = sent->kind;
  if (!sent->api_version.empty()) value->get_object()["apiVersion"] = sent->api_version;
  return value;
}

}  // namespace

Protobuf protobuf_of(const api::Type& type) { return api::speaks_protobuf(type) ? Protobuf::objects : Protobuf::none; }

Result<json::Value> read_object(std::string_view body, BodyFormat format, const api::Type& type,
                                const json::StoragePtr& storage, FieldProblems* problems) {
  if (body.empty()) return fail(Status::bad_request("the body is empty; send the object"));
  if (format == BodyFormat::protobuf) return read_protobuf(body, type, storage);
  Result<json::Value> value = format == BodyFormat::yaml
                                  ? json::parse_yaml(body, storage, problems ? &problems->duplicate : nullptr)
                                  : json::parse(body, storage,
                                                {.bytes_max = limits::object_body_bytes_max,
                                                 .values_max = budgets::object_values_max,
                                                 .duplicate_fields = problems ? &problems->duplicate : nullptr});
  if (value && problems && !problems->duplicate.empty() && format == BodyFormat::json && api::speaks_protobuf(type))
    problems->duplicate_at = json::repeated_member_places(body);
  // Kubernetes' own decoder takes nothing for an object without members.
  if (value && value->is_null() && api::speaks_protobuf(type)) return json::Value(json::Object(storage));
  if (value && !value->is_object()) return fail(Status::bad_request("the body must be an object"));
  return value;
}

bool is_absent_or_text(const json::Value* value) { return !value || value->is_null() || value->is_string(); }

Result<void> check_type(json::Object& object, const Resource& resource, std::string_view api_version) {
  if (!is_absent_or_text(json::find(object, "kind")) || !is_absent_or_text(json::find(object, "apiVersion")))
    return fail(Status::bad_request("kind and apiVersion must be strings"));
  const auto kind = json::get_string_or(object, "kind");
  const auto version = json::get_string_or(object, "apiVersion");
  if (resource.kind->custom && (kind.empty() || version.empty()))
    return fail(Status::bad_request(
        fmt::format("apiVersion and kind are required: \"{}\" and \"{}\"", api_version, resource.kind->kind)));
  if (!version.empty() && version != api_version) return fail(wrong_type(api_version, version, "apiVersion"));
  if (!kind.empty() && kind != resource.kind->kind) return fail(wrong_type(resource.kind->kind, kind, "kind"));
  if (kind.empty()) object["kind"] = resource.kind->kind;
  if (version.empty()) object["apiVersion"] = api_version;
  return {};
}

Result<void> shape_typed(json::Value& value, const api::Type& type, FieldProblems* problems) {
  if (json::Object* object = value.if_object()) UnknownFields(problems).structure(*object, type, api::Place{});
  return api::canonicalize(value, type);
}

Result<void> shape_object(json::Value& object, const Resource& resource, const WriteContext& context,
                          FieldProblems* problems) {
  if (resource.kind->custom) {
    if (auto pruned = api::prune(object, *resource.kind, problems ? &problems->unknown : nullptr); !pruned)
      return pruned;
    api::apply_defaults(object, *resource.kind);
    return {};
  }
  const bool resets = asks_for_reset(object);
  if (auto shaped = shape_typed(object, *resource.kind->type, problems); !shaped) return shaped;
  // Canonical form has no empty lists, but this one says something. What is stored never has it.
  if (resets) metadata_of(object.get_object())["managedFields"] = json::Array(object.storage());
  const Strategy* strategy = find_strategy(resource.group(), resource.kind->kind);
  if (strategy && strategy->defaults) strategy->defaults(object.get_object(), context);
  return {};
}

Result<void> reshape_object(json::Value& object, const Resource& resource, const WriteContext& context) {
  if (!resource.kind->custom) return shape_object(object, resource, context, nullptr);
  if (!object.is_object()) return fail(Status::internal_error("an admission rule removed the object"));
  api::apply_defaults(object, *resource.kind);
  return {};
}

Result<void> judge_problems(const FieldProblems& problems, FieldValidation validation,
                            std::vector<std::string>& warnings, std::string_view kind, std::string_view version) {
  if (problems.duplicate.empty() && problems.unknown.empty()) return {};
  if (validation == FieldValidation::ignore) return {};
  if (validation != FieldValidation::strict) {
    std::ranges::move(describe(problems), std::back_inserter(warnings));
    return {};
  }
  const std::string what =
      kind.empty() ? "" : fmt::format("{} in version \"{}\" cannot be handled as a {}: ", kind, version, kind);
  return fail(Status::bad_request(fmt::format("{}{}: {}; fix it, or use --validate=warn", what,
                                              phrases::strict_decoding_error, list_problems(problems))));
}

}  // namespace vg::resources
