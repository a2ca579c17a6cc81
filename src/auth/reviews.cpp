#include "auth/reviews.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "api/canonical.h"
#include "api/schema.h"
#include "base/names.h"
#include "base/off_loop.h"
#include "base/selector.h"
#include "base/time_rfc3339.h"
#include "json/access.h"
#include "json/document.h"

namespace vg::auth {
namespace {

using StatusCauses = std::vector<StatusCause>;

constexpr std::string_view authorization = "authorization.k8s.io";
constexpr std::string_view authentication = "authentication.k8s.io";

// The bounds of Kubernetes: shorter tokens would be renewed all the time, longer ones do not fit its clients' types.
constexpr std::int64_t token_seconds_min = 600, token_seconds_max = std::int64_t{1} << 32;
constexpr std::int64_t token_seconds_default = 3600;

StatusCause invalid(std::string field, std::string message) {
  return {.reason = "FieldValueInvalid", .message = std::move(message), .field = std::move(field)};
}
StatusCause required(std::string field, std::string message) {
  return {.reason = "FieldValueRequired", .message = std::move(message), .field = std::move(field)};
}
StatusCause forbidden_value(std::string field, std::string message) {
  return {.reason = "FieldValueForbidden", .message = std::move(message), .field = std::move(field)};
}

// Kubernetes leaves the kind out of the details of these refusals, but a person wants to read it.
Status invalid_review(std::string_view kind, StatusCauses causes) {
  Status status = Status::invalid(std::string(authorization), std::string(kind), "", std::move(causes));
  status.details.kind.clear();
  return status;
}

std::vector<std::string> texts(const json::Object& in, std::string_view key) {
  std::vector<std::string> out;
  if (const json::Array* list = json::get_array(in, key))
    for (const json::Value& value : *list)
      if (const auto text = json::as_string(&value)) out.emplace_back(*text);
  return out;
}

json::Array to_array(std::span<const std::string> list, const json::StoragePtr& storage) {
  json::Array out(storage);
  for (const std::string& text : list) out.emplace_back(text);
  return out;
}

json::Object user_info(const User& user, const json::StoragePtr& storage) {
  json::Object out(storage);
  out["username"] = user.name;
  if (!user.uid.empty()) out["uid"] = user.uid;
  if (!user.groups.empty()) out["groups"] = to_array(user.groups, storage);
  if (!user.extra.empty()) {
    json::Object& extra = json::ensure_object(out, "extra");
    for (const auto& [key, values] : user.extra) extra[key] = to_array(values, storage);
  }
  return out;
}

// --- access reviews --------------------------------------------------------------------------------------------------

// What a requirement of a selector must look like. An operator that we do not know is fine: it comes from a newer
// client and only makes the question narrower than our answer.
void check_requirement(const json::Object& requirement, bool of_labels, const std::string& at, StatusCauses& causes) {
  const std::string_view key = json::get_string_or(requirement, "key");
  const std::string_view op = json::get_string_or(requirement, "operator");
  const json::Array* values = json::get_array(requirement, "values");
  const bool empty = !values || values->empty();
  if ((op == "In" || op == "NotIn") && empty)
    causes.push_back(required(at + ".values", "In and NotIn require at least one value"));
  if ((op == "Exists" || op == "DoesNotExist") && !empty)
    causes.push_back(forbidden_value(at + ".values", "Exists and DoesNotExist do not support values"));
  if (of_labels) {
    for (const std::string& defect : qualified_name_defects(key)) causes.push_back(invalid(at + ".key", defect));
    for (std::size_t i = 0; values && i < values->size() && causes.size() < limits::causes_max; ++i)
      for (const std::string& defect : label_value_defects(json::as_string(&(*values)[i]).value_or("")))
        causes.push_back(invalid(fmt::format("{}.values[{}]", at, i), defect));
  } else if (key.empty()) {
    causes.push_back(required(at + ".key", "the name of the field"));
  }
}

void check_selector(const json::Object& attributes, std::string_view name, StatusCauses& causes) {
  const json::Object* selector = json::get_object(attributes, name);
  if (!selector) return;
  const std::string at = fmt::format("spec.resourceAttributes.{}", name);
  const bool raw = !json::get_string_or(*selector, "rawSelector").empty();
  const json::Array* requirements = json::get_array(*selector, "requirements");
  const bool parsed = requirements && !requirements->empty();
  if (raw && parsed)
    causes.push_back(invalid(at + ".rawSelector", "mutually exclusive with requirements; remove one of them"));
  if (!raw && !parsed) causes.push_back(required(at + ".requirements", "requirements or rawSelector"));
  if (!parsed) return;
  for (std::size_t i = 0; i < requirements->size() && causes.size() < limits::causes_max; ++i)
    if (const json::Object* requirement = json::as_object(&(*requirements)[i]))
      check_requirement(*requirement, name == "labelSelector", fmt::format("{}.requirements[{}]", at, i), causes);
}

void check_metadata(const json::Object& review, bool may_have_namespace, StatusCauses& causes) {
  const json::Object* metadata = json::get_object(review, "metadata");
  if (!metadata) return;
  for (const auto& [key, value] : *metadata) {
    if (key == "managedFields" || (key == "namespace" && may_have_namespace)) continue;
    causes.push_back(invalid("metadata", may_have_namespace ? "must be empty except for the namespace"
                                                            : "must be empty: a review is not stored"));
    return;
  }
}

void check_access_spec(const json::Object& spec, bool names_user, StatusCauses& causes) {
  const json::Object* resource = json::get_object(spec, "resourceAttributes");
  const bool path = json::get_object(spec, "nonResourceAttributes") != nullptr;
  if (resource && path)
    causes.push_back(
        invalid("spec.nonResourceAttributes", "mutually exclusive with resourceAttributes; remove one of them"));
  if (!resource && !path)
    causes.push_back(
        invalid("spec.resourceAttributes", "exactly one of nonResourceAttributes and resourceAttributes is required"));
  if (names_user && json::get_string_or(spec, "user").empty() && texts(spec, "groups").empty())
    causes.push_back(invalid("spec.user", "a user or at least one group is required"));
  if (resource) {
    check_selector(*resource, "fieldSelector", causes);
    check_selector(*resource, "labelSelector", causes);
  }
}

AccessAttributes attributes_of(const json::Object& spec) {
  if (const json::Object* in = json::get_object(spec, "resourceAttributes"))
    return {.verb = json::get_string_or(*in, "verb"),
            .resource_request = true,
            .path = {},
            .group = json::get_string_or(*in, "group"),
            .version = json::get_string_or(*in, "version"),
            .resource = json::get_string_or(*in, "resource"),
            .subresource = json::get_string_or(*in, "subresource"),
            .ns = json::get_string_or(*in, "namespace"),
            .name = json::get_string_or(*in, "name")};
  const json::Object* in = json::get_object(spec, "nonResourceAttributes");
  AccessAttributes attributes{.verb = {},
                              .resource_request = false,
                              .path = {},
                              .group = {},
                              .version = {},
                              .resource = {},
                              .subresource = {},
                              .ns = {},
                              .name = {}};
  if (in) {
    attributes.verb = json::get_string_or(*in, "verb");
    attributes.path = json::get_string_or(*in, "path");
  }
  return attributes;
}

// Somebody else, exactly as described: no group is implied.
User user_of(const json::Object& spec) {
  User user{.name = std::string(json::get_string_or(spec, "user")),
            .uid = std::string(json::get_string_or(spec, "uid")),
            .groups = texts(spec, "groups"),
            .extra = {}};
  if (const json::Object* extra = json::get_object(spec, "extra"))
    for (const auto& [key, value] : *extra) user.extra[std::string(key)] = texts(*extra, key);
  return user;
}

std::string selector_errors(const json::Object& spec) {
  const json::Object* resource = json::get_object(spec, "resourceAttributes");
  if (!resource) return {};
  std::string out;
  const auto look = [&](std::string_view name, auto parses) {
    const json::Object* selector = json::get_object(*resource, name);
    const std::string_view raw = selector ? json::get_string_or(*selector, "rawSelector") : std::string_view();
    if (raw.empty() || parses(raw)) return;
    out += fmt::format("{}spec.resourceAttributes.{} is not a valid selector and was ignored", out.empty() ? "" : "; ",
                       name);
  };
  look("fieldSelector", [](std::string_view raw) { return FieldSelector::parse(raw).has_value(); });
  look("labelSelector", [](std::string_view raw) { return LabelSelector::parse(raw).has_value(); });
  return out;
}

Task<Result<void>> answer_access(std::string_view kind, json::Object& review, ReviewRequest request,
                                 const ReviewParts& parts) {
  const bool self = kind == "SelfSubjectAccessReview", local = kind == "LocalSubjectAccessReview";
  json::Object& spec = json::ensure_object(review, "spec");
  if (local) {
    json::Object& metadata = json::ensure_object(review, "metadata");
    if (json::get_string_or(metadata, "namespace").empty()) metadata["namespace"] = request.ns;
    if (json::get_string_or(metadata, "namespace") != request.ns)
      co_return fail(Status::bad_request(
          fmt::format("the namespace of the object ({}) does not match the namespace of the request ({})",
                      json::get_string_or(metadata, "namespace"), request.ns)));
  }
  StatusCauses causes;
  check_access_spec(spec, !self, causes);
  check_metadata(review, local, causes);
  if (local) {
    const json::Object* resource = json::get_object(spec, "resourceAttributes");
    if (resource && json::get_string_or(*resource, "namespace") != request.ns)
      causes.push_back(invalid("spec.resourceAttributes.namespace", "must be the namespace of the review"));
    if (json::get_object(spec, "nonResourceAttributes"))
      causes.push_back(invalid("spec.nonResourceAttributes", "a path has no namespace; use a SubjectAccessReview"));
  }
  if (!causes.empty()) co_return fail(invalid_review(kind, std::move(causes)));

  // May have as many groups and extras as a body holds.
  auto named =
      co_await off_loop(request.core, request.body_bytes, [&] { return Result<User>(self ? User() : user_of(spec)); });
  if (!named) co_return fail(std::move(named.error()));
  const User& other = *named;
  const AccessAttributes attributes = attributes_of(spec);
  const auto decision = co_await parts.authorizer.authorize(request.core, self ? request.user : other, attributes);
  json::Object status(review.storage());
  status["allowed"] = decision && decision->allowed;
  if (decision && !decision->reason.empty()) status["reason"] = decision->reason;
  std::string errors = selector_errors(spec);
  if (!decision) errors += (errors.empty() ? "" : "; ") + decision.error().message;
  if (!errors.empty()) status["evaluationError"] = errors;
  review["status"] = std::move(status);
  co_return Result<void>();
}

Result<void> answer_rules(json::Object& review, ReviewRequest request, const ReviewParts& parts) {
  const json::Object* spec = json::get_object(review, "spec");
  const std::string ns(spec ? json::get_string_or(*spec, "namespace") : std::string_view());
  if (ns.empty()) return fail(Status::bad_request("spec.namespace is required"));
  json::Array resource_rules(review.storage()), path_rules(review.storage());
  for (const PolicyRule& rule : parts.rules.rules_for(request.user, ns)) {
    if (!rule.resources.empty())
      resource_rules.emplace_back(to_json(PolicyRule{.verbs = rule.verbs,
                                                     .api_groups = rule.api_groups,
                                                     .resources = rule.resources,
                                                     .resource_names = rule.resource_names},
                                          review.storage()));
    if (!rule.non_resource_urls.empty())
      path_rules.emplace_back(
          to_json(PolicyRule{.verbs = rule.verbs, .non_resource_urls = rule.non_resource_urls}, review.storage()));
  }
  json::Object status(review.storage());
  status["resourceRules"] = std::move(resource_rules);
  status["nonResourceRules"] = std::move(path_rules);
  status["incomplete"] = false;
  // Kubernetes answers with a fresh object: what was asked is not repeated.
  json::erase(review, "metadata");
  json::erase(review, "spec");
  review["status"] = std::move(status);
  return {};
}

// --- who somebody is -------------------------------------------------------------------------------------------------

Result<void> answer_self(json::Object& review, ReviewRequest request, const ReviewParts& parts) {
  json::erase(review, "metadata");
  json::ensure_object(review, "metadata")["creationTimestamp"] = print_rfc3339(Timestamp::from(parts.clock.wall_now()));
  json::Object status(review.storage());
  status["userInfo"] = user_info(request.user, review.storage());
  review["status"] = std::move(status);
  return {};
}

Result<void> answer_token_review(json::Object& review, const ReviewParts& parts) {
  const json::Object& spec = json::ensure_object(review, "spec");
  const std::string_view token = json::get_string_or(spec, "token");
  if (token.empty()) return fail(Status::bad_request("spec.token is required"));
  json::Object status(review.storage());
  auto identity = parts.identifier.identify_token(token, texts(spec, "audiences"));
  if (identity) {
    status["authenticated"] = true;
    status["user"] = user_info(identity->user, review.storage());
    status["audiences"] = to_array(identity->audiences, review.storage());
  } else {
    status["error"] = identity.error().message;
  }
  review["status"] = std::move(status);
  return {};
}

// --- tokens for service accounts -------------------------------------------------------------------------------------

Result<BoundObject> find_bound(const json::Object& reference, ReviewRequest request, const ReviewParts& parts) {
  const std::string kind(json::get_string_or(reference, "kind"));
  const std::string name(json::get_string_or(reference, "name"));
  const std::string_view version = json::get_string_or(reference, "apiVersion");
  const std::string_view resource = kind == "Pod"      ? "pods"
                                    : kind == "Secret" ? "secrets"
                                    : kind == "Node"   ? "nodes"
                                                       : "";
  if (version.contains('/') || resource.empty())
    return fail(Status::bad_request(
        fmt::format("a token cannot be bound to a {} of {}; supported kinds: Pod, Secret, Node", kind, version)));
  const ObjectPtr object = parts.store.get(resource, kind == "Node" ? std::string_view() : request.ns, name);
  if (!object) return fail(Status::not_found("", std::string(resource), name));
  BoundObject bound{.kind = kind, .name = name, .uid = std::string(object->uid()), .node_name = {}, .node_uid = {}};
  if (kind == "Pod") {
    auto pod = json::Document::parse(object->json());
    if (!pod) return fail(Status::internal_error("a stored pod cannot be read"));
    const json::Value* spec = json::find(pod->root(), "spec");
    const std::string_view account = spec ? json::get_string_or(*spec, "serviceAccountName") : std::string_view();
    if (account != request.name)
      return fail(Status::bad_request(fmt::format(
          "a token of service account {} cannot be bound to a pod with another service account", request.name)));
    bound.node_name = spec ? json::get_string_or(*spec, "nodeName") : std::string_view();
    if (!bound.node_name.empty())
      if (const ObjectPtr node = parts.store.get("nodes", "", bound.node_name)) bound.node_uid = node->uid();
  }
  const std::string_view uid = json::get_string_or(reference, "uid");
  if (!uid.empty() && uid != bound.uid)
    return fail(Status::conflict("", kind, name,
                                 fmt::format("the UID of the {} is not {}; it may have been deleted and "
                                             "created again",
                                             kind, uid)));
  return bound;
}

Result<void> answer_token_request(json::Object& review, ReviewRequest request, const ReviewParts& parts) {
  json::Object& metadata = json::ensure_object(review, "metadata");
  json::Object& spec = json::ensure_object(review, "spec");
  const auto refuse = [&](std::string_view name, StatusCause cause) {
    return fail(Status::invalid(std::string(authentication), "TokenRequest", std::string(name), {std::move(cause)}));
  };
  const std::string_view name = json::get_string_or(metadata, "name"), ns = json::get_string_or(metadata, "namespace");
  if (!name.empty() && name != request.name)
    return refuse(request.name, invalid("metadata.name", "must be the name of the service account"));
  if (!ns.empty() && ns != request.ns)
    return refuse(request.name, invalid("metadata.namespace", "must be the namespace of the service account"));
  const ObjectPtr account = parts.store.get("serviceaccounts", request.ns, request.name);
  if (!account) return fail(Status::not_found("", "serviceaccounts", std::string(request.name)));
  const std::string_view uid = json::get_string_or(metadata, "uid");
  if (!uid.empty() && uid != account->uid())
    return fail(Status::conflict(std::string(authentication), "TokenRequest", std::string(request.name),
                                 "the UID of the service account is not the one in the request"));

  const std::int64_t seconds = json::get_int_or(spec, "expirationSeconds", token_seconds_default);
  if (seconds < token_seconds_min)
    return refuse("", invalid("spec.expirationSeconds", "must be at least 600 (10 minutes)"));
  if (seconds > token_seconds_max) return refuse("", invalid("spec.expirationSeconds", "must be at most 2^32 seconds"));
  TokenOrder order{.ns = std::string(request.ns),
                   .name = std::string(request.name),
                   .uid = std::string(account->uid()),
                   .audiences = texts(spec, "audiences"),
                   .lifetime = std::chrono::seconds(seconds),
                   .bound = {}};
  if (order.audiences.empty()) order.audiences = {std::string(default_audience)};
  if (const json::Object* reference = json::get_object(spec, "boundObjectRef")) {
    auto bound = find_bound(*reference, request, parts);
    if (!bound) return fail(std::move(bound.error()));
    order.bound = std::move(*bound);
  }
  const auto now = Timestamp::from(parts.clock.wall_now());
  auto issued = parts.issuer.issue(order);
  if (!issued) return fail(std::move(issued.error()));

  metadata["name"] = request.name;
  metadata["namespace"] = request.ns;
  metadata["uid"] = account->uid();
  metadata["creationTimestamp"] = print_rfc3339(now);
  spec["audiences"] = to_array(order.audiences, review.storage());
  spec["expirationSeconds"] = issued->lifetime.count();  // may be shorter than what was asked for, as in Kubernetes
  json::Object status(review.storage());
  status["token"] = issued->token;
  status["expirationTimestamp"] = print_rfc3339({.seconds = issued->expires_seconds, .nanoseconds = 0});
  review["status"] = std::move(status);
  return {};
}

struct ReviewKind {
  std::string_view group, kind;
};
constexpr ReviewKind review_kinds[] = {
    {authorization, "SubjectAccessReview"},
    {authorization, "SelfSubjectAccessReview"},
    {authorization, "LocalSubjectAccessReview"},
    {authorization, "SelfSubjectRulesReview"},
    {authentication, "TokenReview"},
    {authentication, "SelfSubjectReview"},
    {authentication, "TokenRequest"},
};

}  // namespace

bool is_review(std::string_view group, std::string_view kind) {
  return std::ranges::any_of(review_kinds,
                             [&](const ReviewKind& known) { return known.group == group && known.kind == kind; });
}

Task<Result<json::Value>> answer_review(std::string_view kind, json::Value object, ReviewRequest request,
                                        const ReviewParts& parts) {
  const auto* known = std::ranges::find(review_kinds, kind, &ReviewKind::kind);
  const api::Kind* shape = known == std::end(review_kinds) ? nullptr : api::find_kind(known->group, "v1", kind);
  if (!shape) co_return fail(Status::internal_error(fmt::format("{} is not a kind of review", kind)));
  // Fields of other types are refused here, so that below whatever is there has its type.
  const auto canonicalize = [&] { return api::canonicalize(object, *shape->type); };
  if (auto canonical = co_await off_loop(request.core, request.body_bytes, canonicalize); !canonical)
    co_return fail(std::move(canonical.error()));
  json::Object& review = object.as_object();
  json::erase(review, "status");
  // Both at once, so that references to them stay good while they are filled.
  json::ensure_object(review, "metadata");
  json::ensure_object(review, "spec");

  // An answer about rules is as long as the roles are.
  const json::Object* spec = json::get_object(review, "spec");
  const std::size_t bytes =
      request.body_bytes + (kind == "SelfSubjectRulesReview"
                                ? parts.rules.bytes_for(request.user, json::get_string_or(*spec, "namespace"))
                                : 0);
  Result<void> answered;
  if (kind == "SelfSubjectRulesReview")
    answered = co_await off_loop(request.core, bytes, [&] { return answer_rules(review, request, parts); });
  else if (kind == "SelfSubjectReview")
    answered = answer_self(review, request, parts);
  else if (kind == "TokenReview")
    answered = co_await off_loop(request.core, request.body_bytes, [&] { return answer_token_review(review, parts); });
  else if (kind == "TokenRequest")
    answered = co_await off_loop(request.core, request.body_bytes,
                                 [&] { return answer_token_request(review, request, parts); });
  else
    answered = co_await answer_access(kind, review, request, parts);
  if (!answered) co_return fail(std::move(answered.error()));

  review["kind"] = kind;
  review["apiVersion"] = fmt::format("{}/v1", known->group);
  if (auto canonical = co_await off_loop(request.core, bytes, canonicalize); !canonical)
    co_return fail(std::move(canonical.error()));
  co_return std::move(object);
}

}  // namespace vg::auth
