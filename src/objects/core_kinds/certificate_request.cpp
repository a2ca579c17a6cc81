// Requests for certificates. Whoever may approve one says so at `approval`; a signer of somebody else's puts the
// certificate into the status. This server signs none.
#include <fmt/format.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string>

#include "base/base64.h"
#include "base/phrases.h"
#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/values.h"
#include "objects/core_kinds/workload_parts.h"
#include "ports/authorizer.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::int64_t seconds_min = 600;
constexpr std::array<std::string_view, 3> lasting_conditions = {"Approved", "Denied", "Failed"};
constexpr std::array<std::string_view, 23> usages = {"any",
                                                     "cert sign",
                                                     "client auth",
                                                     "code signing",
                                                     "content commitment",
                                                     "crl sign",
                                                     "data encipherment",
                                                     "decipher only",
                                                     "digital signature",
                                                     "email protection",
                                                     "encipher only",
                                                     "ipsec end system",
                                                     "ipsec tunnel",
                                                     "ipsec user",
                                                     "key agreement",
                                                     "key encipherment",
                                                     "microsoft sgc",
                                                     "netscape sgc",
                                                     "ocsp signing",
                                                     "s/mime",
                                                     "server auth",
                                                     "signing",
                                                     "timestamping"};

// Who asks is what the server knows of them, whatever the object says.
void prepare_new_certificate_request(json::Object& object, const WriteContext& context) {
  json::Object& spec = json::ensure_object(object, "spec");
  for (const std::string_view member : {"username", "uid", "groups", "extra"}) json::erase(spec, member);
  if (!context.user.empty()) spec["username"] = context.user;
  if (const User* who = context.who) {
    if (!who->uid.empty()) spec["uid"] = who->uid;
    if (!who->groups.empty()) {
      json::Array& groups = spec["groups"].emplace_array();
      for (const std::string& group : who->groups) groups.emplace_back(group);
    }
    for (const auto& [key, values] : who->extra) {
      json::Array& list = json::ensure_array(json::ensure_object(spec, "extra"), key);
      for (const std::string& value : values) list.emplace_back(value);
    }
  }
  reset_status(object, context);
}

const json::Object* find_condition(const json::Object& status, std::string_view type, std::string_view state) {
  for (const json::Value& condition : items(status, "conditions"))
    if (text(condition, "type") == type && text(condition, "status") == state) return &members(condition);
  return nullptr;
}

void stamp_conditions(json::Object& status, const json::Object& before, std::string_view now) {
  for_each_object(status, "conditions", [&](json::Object& condition) {
    if (text(condition, "lastUpdateTime").empty()) condition["lastUpdateTime"] = now;
    if (!text(condition, "lastTransitionTime").empty()) return;
    const json::Object* old = find_condition(before, text(condition, "type"), text(condition, "status"));
    const std::string since(old ? text(*old, "lastTransitionTime") : std::string_view());
    condition["lastTransitionTime"] = since.empty() ? std::string(now) : since;
  });
}

void prepare_changed_certificate_request(json::Object& object, const json::Object& old, const WriteContext& context) {
  carry_over(object, old, "spec");
  if (context.subresource.empty()) return;
  json::Object& status = json::ensure_object(object, "status");
  if (context.subresource == "approval") carry_over(status, members(old, "status"), "certificate");
  stamp_conditions(status, members(old, "status"), context.now_rfc3339);
}

bool is_request(std::string_view base64) {
  const auto bytes = base64_decode(base64);
  if (!bytes || bytes->size() > data_bytes_max) return false;
  const std::unique_ptr<BIO, decltype(&BIO_free)> memory(
      BIO_new_mem_buf(bytes->data(), static_cast<int>(bytes->size())), &BIO_free);
  const std::unique_ptr<X509_REQ, decltype(&X509_REQ_free)> request(
      PEM_read_bio_X509_REQ(memory.get(), nullptr, nullptr, nullptr), &X509_REQ_free);
  return request != nullptr;
}

void check_spec(FieldCauses& causes, const json::Object& spec) {
  const Place at = top("spec");
  if (!is_request(text(spec, "request")))
    causes.invalid(at.field("request"), "must be a PEM-encoded CERTIFICATE REQUEST, in base64");
  const json::Array& wanted = items(spec, "usages");
  const Place list = at.field("usages");
  if (wanted.empty()) causes.required(list, "at least one usage, for example client auth");
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    check_supported(causes, list.item(i), as_text(wanted[i]), usages);
    if (!seen.insert(as_text(wanted[i])).second) causes.duplicate(list.item(i), as_text(wanted[i]));
  }
  const std::string_view signer = text(spec, "signerName");
  const std::size_t slash = signer.find('/');
  if (signer.empty())
    causes.required(at.field("signerName"), "the signer, for example kubernetes.io/kube-apiserver-client");
  else if (signer == "kubernetes.io/legacy-unknown")
    causes.invalid(at.field("signerName"), "the legacy signer is not supported in this version");
  else if (slash == std::string_view::npos || signer.find('/', slash + 1) != std::string_view::npos)
    causes.invalid(at.field("signerName"), "must be a domain and a path, for example example.com/signer");
  else
    causes.defects(at.field("signerName"), signer, dns1123_subdomain_defects(signer.substr(0, slash)));
  if (const auto seconds = json::get_int(spec, "expirationSeconds"); seconds && *seconds < seconds_min)
    causes.invalid(at.field("expirationSeconds"), "must be at least 600 seconds (10 minutes)");
}

std::size_t count_of(const json::Object& status, std::string_view type) {
  return static_cast<std::size_t>(std::ranges::count_if(
      items(status, "conditions"), [&](const json::Value& condition) { return text(condition, "type") == type; }));
}

void check_conditions(FieldCauses& causes, const json::Object& status) {
  static constexpr std::array<std::string_view, 3> states = {"False", "True", "Unknown"};
  const Place at = top("status");
  const Place list = at.field("conditions");
  const json::Array& conditions = items(status, "conditions");
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const std::string_view type = text(conditions[i], "type");
    const Place place = list.item(i);
    if (type.empty()) causes.required(place.field("type"), "the type of the condition");
    const bool lasting = std::ranges::find(lasting_conditions, type) != lasting_conditions.end();
    check_choice(causes, place.field("status"), text(conditions[i], "status"),
                 lasting ? Supported(states).subspan(1, 1) : Supported(states));
    if (!seen.insert(type).second) causes.duplicate(place.field("type"), type);
  }
  if (seen.contains("Approved") && seen.contains("Denied"))
    causes.invalid(list, "Approved and Denied conditions are mutually exclusive");
}

json::Value conditions_of(const json::Object& status, std::string_view type) {
  json::Array found;
  for (const json::Value& condition : items(status, "conditions"))
    if (text(condition, "type") == type) found.push_back(condition);
  return json::Value(std::move(found));
}

void check_certificate_request_change(FieldCauses& causes, const json::Object& status, const json::Object& before,
                                      std::string_view part) {
  const Place at = top("status");
  for (const std::string_view type : lasting_conditions) {
    const std::size_t now = count_of(status, type);
    const std::size_t then = count_of(before, type);
    if (now < then)
      causes.forbidden(at.field("conditions"), fmt::format("a condition of type \"{}\" must not be removed", type));
    if (part == "approval" || type == "Failed" || now < then) continue;
    const json::Value wanted = conditions_of(status, type);
    const json::Value had = conditions_of(before, type);
    if (!same(&wanted, &had))
      causes.forbidden(at.field("conditions"),
                       fmt::format("a condition of type \"{}\" is set through the subresource approval", type));
  }
  if (!same_member(status, before, "certificate") && !text(before, "certificate").empty())
    causes.forbidden(at.field("certificate"), phrases::immutable("create another request"));
}

void validate_certificate_request(const json::Object& object, const json::Object* old, const WriteContext& context,
                                  std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  const json::Object& status = members(object, "status");
  if (!old) check_spec(causes, members(object, "spec"));
  check_conditions(causes, status);
  if (old) check_certificate_request_change(causes, status, members(*old, "status"), context.subresource);
}

}  // namespace

constinit const Strategy certificate_request_strategy = {.group = "certificates.k8s.io",
                                                         .kind = "CertificateSigningRequest",
                                                         .prepare_create = prepare_new_certificate_request,
                                                         .prepare_update = prepare_changed_certificate_request,
                                                         .validate = validate_certificate_request};

}  // namespace vg::resources::core_kinds
