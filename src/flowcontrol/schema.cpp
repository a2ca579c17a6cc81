#include "flowcontrol/schema.h"

#include <algorithm>
#include <utility>

#include "auth/service_account.h"
#include "json/access.h"

namespace vg::flowcontrol {
namespace {

constexpr std::string_view wildcard = "*";

const json::Array& items(const json::Value& object, std::string_view member) {
  static const json::Array none;
  const json::Array* list = json::get_array(object, member);
  return list ? *list : none;
}

std::string_view text_at(const json::Value& object, std::string_view member, std::string_view inner) {
  return json::as_string(json::find_path(object, {member, inner})).value_or("");
}

// "pods/status" and the two parts of it, without putting them together.
bool is_resource(std::string_view text, std::string_view resource, std::string_view subresource) {
  if (!text.starts_with(resource)) return false;
  text.remove_prefix(resource.size());
  if (subresource.empty()) return text.empty();
  return text.starts_with('/') && text.substr(1) == subresource;
}

// The path itself, or one below it. "/x/*" is kept as "/x/", which takes what is below alone.
bool is_at_or_below(std::string_view path, std::string_view rule) {
  if (!path.starts_with(rule)) return false;
  return path.size() == rule.size() || rule.ends_with('/') || path[rule.size()] == '/';
}

template <class Matches>
bool any_of(const TextSet& set, Matches matches) {
  return set.any || std::ranges::any_of(set.texts, matches);
}

constexpr std::size_t few_groups = 8;

constexpr std::uint64_t anybody_mark = std::uint64_t{1} << 63, account_mark = std::uint64_t{1} << 62;

// One of the lower bits, by what tells names apart most often.
std::uint64_t mark_of(std::string_view name) {
  const std::size_t last = name.empty() ? 0 : static_cast<unsigned char>(name.back());
  return std::uint64_t{1} << ((3 * name.size() + last) % 61);
}

std::uint64_t mark_of(const Subject& subject) {
  switch (subject.kind) {
    case Subject::Kind::anybody:
      return anybody_mark;
    case Subject::Kind::user_prefix:
      return account_mark;
    case Subject::Kind::user:
    case Subject::Kind::group:
      return mark_of(subject.name);
  }
  return 0;
}

TextSet read_texts(const json::Value& rule, std::string_view member) {
  TextSet set;
  for (const json::Value& item : items(rule, member)) set.texts.emplace_back(json::as_string(&item).value_or(""));
  set.any = set.texts.size() == 1 && set.texts.front() == wildcard;
  return set;
}

Subject named(Subject::Kind kind, std::string_view name) {
  if (name == wildcard) return {.kind = Subject::Kind::anybody, .name = {}};
  return {.kind = kind, .name = std::string(name)};
}

Subject read_account(const json::Value& subject) {
  const std::string_view ns = text_at(subject, "serviceAccount", "namespace");
  const std::string_view name = text_at(subject, "serviceAccount", "name");
  if (name == wildcard) return {.kind = Subject::Kind::user_prefix, .name = auth::service_account_user(ns, "")};
  return {.kind = Subject::Kind::user, .name = auth::service_account_user(ns, name)};
}

void read_subject(const json::Value& subject, std::vector<Subject>& into) {
  const std::string_view kind = json::get_string_or(subject, "kind");
  if (kind == "User") into.push_back(named(Subject::Kind::user, text_at(subject, "user", "name")));
  if (kind == "Group") into.push_back(named(Subject::Kind::group, text_at(subject, "group", "name")));
  if (kind == "ServiceAccount") into.push_back(read_account(subject));
}

ResourceRule read_resource_rule(const json::Value& rule) {
  return {.verbs = read_texts(rule, "verbs"),
          .groups = read_texts(rule, "apiGroups"),
          .namespaces = read_texts(rule, "namespaces"),
          .resources = read_texts(rule, "resources"),
          .cluster_scope = json::get_bool_or(rule, "clusterScope", false)};
}

PathRule read_path_rule(const json::Value& rule) {
  PathRule read{.verbs = read_texts(rule, "verbs"), .paths = read_texts(rule, "nonResourceURLs")};
  for (std::string& path : read.paths.texts)
    if (path.ends_with(wildcard)) path.pop_back();
  return read;
}

Rule read_rule(const json::Value& value) {
  Rule rule;
  for (const json::Value& subject : items(value, "subjects")) read_subject(subject, rule.subjects);
  for (const Subject& subject : rule.subjects) rule.marks |= mark_of(subject);
  for (const json::Value& one : items(value, "resourceRules")) rule.resources.push_back(read_resource_rule(one));
  for (const json::Value& one : items(value, "nonResourceRules")) rule.paths.push_back(read_path_rule(one));
  return rule;
}

std::size_t texts_of(const Rule& rule) {
  std::size_t texts = 1 + rule.subjects.size();
  for (const ResourceRule& one : rule.resources)
    texts +=
        1 + one.verbs.texts.size() + one.groups.texts.size() + one.namespaces.texts.size() + one.resources.texts.size();
  for (const PathRule& one : rule.paths) texts += 1 + one.verbs.texts.size() + one.paths.texts.size();
  return texts;
}

}  // namespace

Asking::Asking(const User& user) : user_(user), marks_(anybody_mark | mark_of(user.name)) {
  if (user.name.starts_with(auth::service_account_prefix)) marks_ |= account_mark;
  for (const std::string& group : user.groups) marks_ |= mark_of(group);
  if (user.groups.size() <= few_groups) return;
  sorted_.assign(user.groups.begin(), user.groups.end());
  std::ranges::sort(sorted_);
}

bool Asking::in_group(std::string_view group) const {
  return sorted_.empty() ? user_.in_group(group) : std::ranges::binary_search(sorted_, group);
}

bool TextSet::has(std::string_view text) const { return any || std::ranges::find(texts, text) != texts.end(); }

bool Subject::includes(const Asking& asking) const {
  switch (kind) {
    case Kind::anybody:
      return true;
    case Kind::user:
      return asking.name() == name;
    case Kind::group:
      return asking.in_group(name);
    case Kind::user_prefix:
      return asking.name().starts_with(name);
  }
  return false;
}

bool ResourceRule::takes(const AccessAttributes& request) const {
  const auto is_requested = [&](std::string_view text) {
    return is_resource(text, request.resource, request.subresource);
  };
  return verbs.has(request.verb) && any_of(resources, is_requested) && groups.has(request.group) &&
         (request.ns.empty() ? cluster_scope : namespaces.has(request.ns));
}

bool PathRule::takes(const AccessAttributes& request) const {
  return verbs.has(request.verb) &&
         any_of(paths, [&](std::string_view text) { return is_at_or_below(request.path, text); });
}

bool Rule::takes(const Asking& asking, const AccessAttributes& request) const {
  const auto takes_it = [&](const auto& rule) { return rule.takes(request); };
  return (marks & asking.marks()) != 0 &&
         std::ranges::any_of(subjects, [&](const Subject& subject) { return subject.includes(asking); }) &&
         (request.resource_request ? std::ranges::any_of(resources, takes_it) : std::ranges::any_of(paths, takes_it));
}

bool Schema::takes(const Asking& asking, const AccessAttributes& request) const {
  return std::ranges::any_of(rules, [&](const Rule& rule) { return rule.takes(asking, request); });
}

Schema read_schema(const json::Value& object) {
  Schema schema{.name = std::string(text_at(object, "metadata", "name")),
                .uid = std::string(text_at(object, "metadata", "uid"))};
  const json::Value* spec = json::find_path(object, {"spec"});
  if (!spec) return schema;
  schema.level = text_at(*spec, "priorityLevelConfiguration", "name");
  schema.precedence = json::as_int(json::find_path(*spec, {"matchingPrecedence"})).value_or(0);
  for (const json::Value& rule : items(*spec, "rules")) {
    schema.rules.push_back(read_rule(rule));
    schema.texts += texts_of(schema.rules.back());
  }
  return schema;
}

Level read_level(const json::Value& object) {
  Level level{.name = std::string(text_at(object, "metadata", "name")),
              .uid = std::string(text_at(object, "metadata", "uid"))};
  for (const std::string_view kind : {"limited", "exempt"})
    if (const auto shares = json::as_int(json::find_path(object, {"spec", kind, "nominalConcurrencyShares"})))
      level.shares = *shares;
  return level;
}

}  // namespace vg::flowcontrol
