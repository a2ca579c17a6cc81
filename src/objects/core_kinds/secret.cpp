#include <array>

#include "base/base64.h"
#include "base/phrases.h"
#include "json/document.h"
#include "objects/core_kinds/checks.h"
#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::string_view account_name_annotation = "kubernetes.io/service-account.name";

// stringData is only for writing: people need not encode what they type. It wins over data.
void merge_string_data(json::Object& object) {
  const auto* plain = json::get_object(object, "stringData");
  if (plain && !plain->empty()) {
    const json::Object taken = *plain;  // `data` may be a new member, which moves the others
    json::Object& data = json::ensure_object(object, "data");
    for (const auto& member : taken) data[member.key()] = base64_encode(as_text(member.value()));
  }
  json::erase(object, "stringData");
}

void default_secret(json::Object& object, const WriteContext& /*context*/) {
  merge_string_data(object);
  default_text(object, "type", "Opaque");
}

void require_key(FieldCauses& causes, const Place& data, const json::Object& values, std::string_view key) {
  if (!has(values, key)) causes.required(data.key(key), "required for secrets of this type");
}

void check_docker_config(FieldCauses& causes, const Place& data, const json::Object& values, std::string_view key) {
  if (!has(values, key)) return require_key(causes, data, values, key);
  const auto content = base64_decode_lenient(text(values, key));
  const auto parsed = json::Document::parse(content.value_or(""));
  if (!parsed || !(parsed->root().is_object() || parsed->root().is_null()))
    causes.invalid(data.key(key), "must be a JSON object");  // never show any of it
}

void check_type(FieldCauses& causes, const Place& data, const json::Object& object) {
  const json::Object& values = members(object, "data");
  const std::string_view type = text(object, "type");
  if (type == "kubernetes.io/service-account-token") {
    if (annotation(object, account_name_annotation).empty())
      causes.required(top("metadata").field("annotations").key(account_name_annotation),
                      "the name of the service account, required for secrets of this type");
  } else if (type == "kubernetes.io/dockercfg") {
    check_docker_config(causes, data, values, ".dockercfg");
  } else if (type == "kubernetes.io/dockerconfigjson") {
    check_docker_config(causes, data, values, ".dockerconfigjson");
  } else if (type == "kubernetes.io/basic-auth") {
    if (has(values, "username") || has(values, "password")) return;
    require_key(causes, data, values, "username");
    require_key(causes, data, values, "password");
  } else if (type == "kubernetes.io/ssh-auth") {
    if (text(values, "ssh-privatekey").empty())
      causes.required(data.key("ssh-privatekey"), "required for secrets of this type");
  } else if (type == "kubernetes.io/tls") {
    require_key(causes, data, values, "tls.crt");
    require_key(causes, data, values, "tls.key");
  }
}

void check_secret_change(FieldCauses& causes, const json::Object& object, const json::Object& old) {
  if (text(object, "type") != text(old, "type")) causes.invalid(top("type"), cannot_change);
  if (!json::get_bool_or(old, "immutable", false)) return;
  if (!json::get_bool_or(object, "immutable", false))
    causes.forbidden(top("immutable"), phrases::immutable("create another Secret"));
  if (!same_member(object, old, "data")) causes.forbidden(top("data"), phrases::immutable("create another Secret"));
}

void validate_secret(const json::Object& object, const json::Object* old, const WriteContext& /*context*/,
                     std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  if (old) check_secret_change(causes, object, *old);
  const Place data = top("data");
  const json::Object& values = members(object, "data");
  for (const auto& member : values)
    causes.defects(data.key(member.key()), member.key(), data_key_defects(member.key()));
  if (decoded_bytes(values) > data_bytes_max) causes.too_long(data, "must have at most 1 MiB in all values together");
  check_type(causes, data, object);
}

}  // namespace

constinit const Strategy secret_strategy = {
    .group = "", .kind = "Secret", .defaults = default_secret, .validate = validate_secret};

}  // namespace vg::resources::core_kinds
