// Flow schemas and priority levels. Requests are classified by them, and answers say so; this server shares itself out
// by rules of its own, and tells that to whoever writes one.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <string_view>

#include "objects/core_kinds/checks.h"
#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/values.h"
#include "objects/core_kinds/workload_parts.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::string_view no_effect =
    "this server classifies requests by flow schemas, but priority level configurations have no effect on how it "
    "serves them: users take turns";
constexpr std::string_view exempt_name = "exempt";  // of the one schema and the one level that nothing limits
constexpr std::string_view any = "*";

// --- both kinds ------------------------------------------------------------------------------------------------------

void check_conditions(FieldCauses& causes, const json::Object& object) {
  const json::Array& conditions = items(members(object, "status"), "conditions");
  const Place status = top("status");
  const Place list = status.field("conditions");
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const std::string_view type = text(members(conditions[i]), "type");
    const Place item = list.item(i);
    if (!seen.insert(type).second) causes.duplicate(item.field("type"), type);
    if (type.empty()) causes.required(item.field("type"), "must not be empty");
  }
}

// --- flow schemas ----------------------------------------------------------------------------------------------------

constexpr std::int64_t default_precedence = 1000;
constexpr std::int64_t precedence_max = 10'000;

void default_schema(json::Object& object, const WriteContext& /*context*/) {
  default_number(json::ensure_object(object, "spec"), "matchingPrecedence", default_precedence);
}

struct SubjectKind {
  std::string_view kind;
  std::string_view member;
};
// In the order in which members of other kinds are complained about.
constexpr std::array<SubjectKind, 3> subject_kinds = {
    {{"ServiceAccount", "serviceAccount"}, {"User", "user"}, {"Group", "group"}}};

void check_service_account(FieldCauses& causes, const Place& at, const json::Object& account) {
  const std::string_view name = text(account, "name"), ns = text(account, "namespace");
  if (name.empty())
    causes.required(at.field("name"), "must not be empty");
  else if (name != any)
    causes.defects(at.field("name"), name, dns1123_subdomain_defects(name));
  if (ns.empty())
    causes.required(at.field("namespace"), "the namespace of the service account");
  else
    causes.defects(at.field("namespace"), ns, dns1123_label_defects(ns));
}

void check_subject(FieldCauses& causes, const Place& at, const json::Object& subject) {
  const std::string_view kind = text(subject, "kind");
  const auto* const own = std::ranges::find(subject_kinds, kind, &SubjectKind::kind);
  if (own == subject_kinds.end())
    return causes.not_supported(at.field("kind"), kind,
                                std::array<std::string_view, 3>{"Group", "ServiceAccount", "User"});
  const Place place = at.field(own->member);
  if (!has(subject, own->member))
    causes.required(place, "must be given for a subject of this kind");
  else if (own->member == "serviceAccount")
    check_service_account(causes, place, members(subject, own->member));
  else if (text(members(subject, own->member), "name").empty())
    causes.required(place.field("name"), "must not be empty");
  for (const SubjectKind& other : subject_kinds)
    if (&other != own && has(subject, other.member))
      causes.forbidden(at.field(other.member), "must not be given for a subject of another kind");
}

// "*" stands alone; true when it is there.
bool check_wildcard(FieldCauses& causes, const Place& at, const json::Array& list) {
  if (!contains_text(list, any)) return false;
  if (list.size() > 1) causes.invalid(at, "must have nothing besides '*' when it has that");
  return true;
}

void check_verbs(FieldCauses& causes, const Place& rule_place, const json::Object& rule) {
  static constexpr std::array<std::string_view, 9> verbs = {"create", "delete", "deletecollection", "get",  "list",
                                                            "patch",  "proxy",  "update",           "watch"};
  const Place at = rule_place.field("verbs");
  const json::Array& list = items(rule, "verbs");
  if (list.empty()) return causes.required(at, "must have at least one verb");
  if (check_wildcard(causes, at, list)) return;
  const auto unknown = std::ranges::find_if(
      list, [](const json::Value& verb) { return std::ranges::find(verbs, as_text(verb)) == verbs.end(); });
  if (unknown != list.end()) causes.not_supported(at, as_text(*unknown), verbs);
}

// Slashes in front and between, none doubled; "*" only as the last segment.
std::string_view url_defect(std::string_view path) {
  if (path.empty()) return "must not be empty";
  if (!path.starts_with('/')) return "must start with a slash";
  if (path.contains(' ')) return "must not contain white space";
  if (path.contains("//")) return "must not contain a double slash";
  const auto stars = std::ranges::count(path, '*');
  if (stars > 1 || (stars == 1 && !path.ends_with("/*"))) return "must have '*' only as its last segment";
  return {};
}

void check_url_rule(FieldCauses& causes, const Place& at, const json::Object& rule) {
  check_verbs(causes, at, rule);
  const Place place = at.field("nonResourceURLs");
  const json::Array& urls = items(rule, "nonResourceURLs");
  if (urls.empty()) return causes.required(place, "must have at least one URL");
  if (check_wildcard(causes, place, urls)) return;
  for (std::size_t i = 0; i < urls.size(); ++i)
    if (const std::string_view defect = url_defect(as_text(urls[i])); !defect.empty())
      causes.invalid(place.item(i), defect);
}

void check_resource_rule(FieldCauses& causes, const Place& at, const json::Object& rule) {
  check_verbs(causes, at, rule);
  for (const std::string_view member : {"apiGroups", "resources"}) {
    const Place place = at.field(member);
    if (const json::Array& list = items(rule, member); list.empty())
      causes.required(place, "must have at least one value");
    else
      check_wildcard(causes, place, list);
  }
  const Place place = at.field("namespaces");
  const json::Array& namespaces = items(rule, "namespaces");
  if (namespaces.empty() && !json::get_bool_or(rule, "clusterScope", false))
    return causes.required(place, "must have at least one namespace, or set clusterScope");
  if (check_wildcard(causes, place, namespaces)) return;
  for (std::size_t i = 0; i < namespaces.size(); ++i)
    causes.defects(place.item(i), as_text(namespaces[i]), dns1123_label_defects(as_text(namespaces[i])));
}

void check_schema_rule(FieldCauses& causes, const Place& at, const json::Object& rule) {
  const auto check_each = [&](std::string_view member, auto check) {
    const Place list = at.field(member);
    const json::Array& all = items(rule, member);
    for (std::size_t i = 0; i < all.size(); ++i) check(causes, list.item(i), members(all[i]));
  };
  if (items(rule, "subjects").empty()) causes.required(at.field("subjects"), "must have at least one subject");
  check_each("subjects", check_subject);
  if (items(rule, "resourceRules").empty() && items(rule, "nonResourceRules").empty())
    causes.required(at, "must have resourceRules or nonResourceRules");
  check_each("resourceRules", check_resource_rule);
  check_each("nonResourceRules", check_url_rule);
}

void check_precedence(FieldCauses& causes, const Place& at, std::int64_t precedence, std::string_view name) {
  if (precedence <= 0) causes.invalid(at, "must be greater than 0");
  if (precedence > precedence_max) causes.invalid(at, "must be at most 10000");
  if (precedence == 1 && name != exempt_name)
    causes.invalid(at, "must be greater than 1; 1 is that of the schema named exempt");
}

void validate_schema(const json::Object& object, const json::Object* /*old*/, const WriteContext& context,
                     std::vector<StatusCause>& into) {
  static constexpr std::array<std::string_view, 2> methods = {"ByNamespace", "ByUser"};
  FieldCauses causes(into);
  if (context.subresource == "status") return check_conditions(causes, object);
  const json::Object& spec = members(object, "spec");
  const Place at = top("spec");
  check_precedence(causes, at.field("matchingPrecedence"), json::get_int_or(spec, "matchingPrecedence", 0),
                   name_of(object));
  if (has(spec, "distinguisherMethod")) {
    const Place method = at.field("distinguisherMethod");
    check_supported(causes, method.field("type"), text(members(spec, "distinguisherMethod"), "type"), methods);
  }
  const Place level_place = at.field("priorityLevelConfiguration");
  const std::string_view level = text(members(spec, "priorityLevelConfiguration"), "name");
  if (level.empty())
    causes.required(level_place.field("name"), "the name of a priority level configuration");
  else
    causes.defects(level_place.field("name"), level, dns1123_subdomain_defects(level));
  const json::Array& rules = items(spec, "rules");
  const Place rules_place = at.field("rules");
  for (std::size_t i = 0; i < rules.size(); ++i) check_schema_rule(causes, rules_place.item(i), members(rules[i]));
  check_conditions(causes, object);
}

// --- priority levels -------------------------------------------------------------------------------------------------

constexpr std::int64_t default_shares = 30;
constexpr std::int64_t default_queues = 64;
constexpr std::int64_t default_hand = 8;
constexpr std::int64_t default_queue_length = 50;
constexpr std::int64_t queues_max = 10'000'000;
constexpr double hash_bits_max = 60;  // of a flow's hash, from which its hand of queues is dealt

void default_level(json::Object& object, const WriteContext& /*context*/) {
  json::Object& spec = json::ensure_object(object, "spec");
  if (auto* exempt = json::get_object(spec, "exempt")) {
    default_pointer(*exempt, "nominalConcurrencyShares", std::int64_t{0});
    default_pointer(*exempt, "lendablePercent", std::int64_t{0});
  }
  auto* limited = json::get_object(spec, "limited");
  if (!limited) return;
  default_pointer(*limited, "nominalConcurrencyShares", default_shares);
  default_pointer(*limited, "lendablePercent", std::int64_t{0});
  auto* response = json::get_object(*limited, "limitResponse");
  if (auto* queuing = response ? json::get_object(*response, "queuing") : nullptr) {
    default_number(*queuing, "handSize", default_hand);
    default_number(*queuing, "queues", default_queues);
    default_number(*queuing, "queueLengthLimit", default_queue_length);
  }
}

void check_shares(FieldCauses& causes, const Place& at, const json::Object& level) {
  if (json::get_int_or(level, "nominalConcurrencyShares", 0) < 0)
    causes.invalid(at.field("nominalConcurrencyShares"), "must be at least 0");
}

void check_lendable(FieldCauses& causes, const Place& at, const json::Object& level) {
  const std::int64_t percent = json::get_int_or(level, "lendablePercent", 0);
  if (percent < 0 || percent > 100) causes.invalid(at.field("lendablePercent"), "must be between 0 and 100");
}

void check_queuing(FieldCauses& causes, const Place& at, const json::Object& queuing) {
  const std::int64_t queues = json::get_int_or(queuing, "queues", 0);
  const std::int64_t hand = json::get_int_or(queuing, "handSize", 0);
  if (json::get_int_or(queuing, "queueLengthLimit", 0) <= 0)
    causes.invalid(at.field("queueLengthLimit"), "must be greater than 0");
  if (queues <= 0)
    causes.invalid(at.field("queues"), "must be greater than 0");
  else if (queues > queues_max)
    causes.invalid(at.field("queues"), "must be at most 10000000");
  const Place place = at.field("handSize");
  if (hand <= 0)
    causes.invalid(place, "must be greater than 0");
  else if (hand > queues)
    causes.invalid(place, "must be at most the number of queues");
  else if (std::ceil(std::log2(static_cast<double>(queues)) * static_cast<double>(hand)) > hash_bits_max)
    causes.invalid(place, "must be less for so many queues: handSize * log2(queues) must be at most 60");
}

void check_limit_response(FieldCauses& causes, const Place& at, const json::Object& response) {
  static constexpr std::array<std::string_view, 2> types = {"Queue", "Reject"};
  const std::string_view type = text(response, "type");
  const bool queuing = has(response, "queuing");
  const Place place = at.field("queuing");
  if (type == "Reject" && queuing)
    causes.forbidden(place, "must not be given for type Reject");
  else if (type == "Queue" && !queuing)
    causes.required(place, "must be given for type Queue");
  else if (type == "Queue")
    check_queuing(causes, place, members(response, "queuing"));
  else if (type != "Reject")
    causes.not_supported(at.field("type"), type, types);
}

void check_limited(FieldCauses& causes, const Place& at, const json::Object& limited) {
  check_shares(causes, at, limited);
  check_limit_response(causes, at.field("limitResponse"), members(limited, "limitResponse"));
  check_lendable(causes, at, limited);
  if (json::get_int_or(limited, "borrowingLimitPercent", 0) < 0)
    causes.invalid(at.field("borrowingLimitPercent"), "must be at least 0");
}

void validate_level(const json::Object& object, const json::Object* /*old*/, const WriteContext& context,
                    std::vector<StatusCause>& into) {
  static constexpr std::array<std::string_view, 2> types = {"Exempt", "Limited"};
  FieldCauses causes(into);
  if (context.subresource == "status") return check_conditions(causes, object);
  const json::Object& spec = members(object, "spec");
  const Place at = top("spec");
  const std::string_view type = text(spec, "type");
  const Place exempt = at.field("exempt"), limited = at.field("limited");
  if ((name_of(object) == exempt_name) != (type == "Exempt"))
    causes.invalid(at.field("type"), "must be Exempt for the level named exempt, and for no other");
  if (type == "Exempt") {
    if (has(spec, "limited")) causes.forbidden(limited, "must not be given for type Exempt");
    check_shares(causes, exempt, members(spec, "exempt"));
    check_lendable(causes, exempt, members(spec, "exempt"));
  } else if (type == "Limited") {
    if (has(spec, "exempt")) causes.forbidden(exempt, "must not be given for type Limited");
    if (has(spec, "limited"))
      check_limited(causes, limited, members(spec, "limited"));
    else
      causes.required(limited, "must be given for type Limited");
  } else {
    causes.not_supported(at.field("type"), type, types);
  }
  check_conditions(causes, object);
}

}  // namespace

constinit const Strategy flow_schema_strategy = {.group = "flowcontrol.apiserver.k8s.io",
                                                 .kind = "FlowSchema",
                                                 .defaults = default_schema,
                                                 .prepare_create = prepare_counted_create,
                                                 .prepare_update = prepare_counted_update,
                                                 .validate = validate_schema,
                                                 .warning = no_effect};
constinit const Strategy priority_level_strategy = {.group = "flowcontrol.apiserver.k8s.io",
                                                    .kind = "PriorityLevelConfiguration",
                                                    .defaults = default_level,
                                                    .prepare_create = prepare_counted_create,
                                                    .prepare_update = prepare_counted_update,
                                                    .validate = validate_level,
                                                    .warning = no_effect};

}  // namespace vg::resources::core_kinds
