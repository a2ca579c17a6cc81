#include "resources/audit_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "actions/action.h"
#include "base/audit_limits.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"
#include "json/yaml.h"

namespace vg::resources {
namespace {

using std::string_view;
using Texts = std::vector<std::string>;

constexpr std::array<std::pair<string_view, AuditLevel>, 4> levels = {
    {{"None", AuditLevel::none},
     {"Metadata", AuditLevel::metadata},
     {"Request", AuditLevel::request},
     {"RequestResponse", AuditLevel::request_response}}};
constexpr std::array<std::pair<string_view, AuditStage>, 4> stages = {
    {{"RequestReceived", AuditStage::request_received},
     {"ResponseStarted", AuditStage::response_started},
     {"ResponseComplete", AuditStage::response_complete},
     {"Panic", AuditStage::panic}}};

// Everything of a policy that is wrong; the first is told.
Status wrong(string_view where, string_view what) {
  return Status::bad_request(fmt::format("audit policy: {}: {}", where, what));
}

template <std::size_t Size, class Value>
std::string words_of(const std::array<std::pair<string_view, Value>, Size>& table) {
  std::string words;
  for (const auto& [word, value] : table) words += fmt::format("{}{}", words.empty() ? "" : ", ", word);
  return words;
}

// An object of the policy: which members it may have, and the values of those it has.
class Fields {
 public:
  static Result<Fields> read(const json::Value& value, std::string where, std::span<const string_view> known) {
    const json::Object* object = value.if_object();
    if (!object) return fail(wrong(where, "must be an object"));
    for (const auto& member : *object)
      if (std::ranges::find(known, string_view(member.key())) == known.end())
        return fail(wrong(where, fmt::format("unknown field \"{}\"; supported fields: {}", string_view(member.key()),
                                             fmt::join(known, ", "))));
    return Fields(*object, std::move(where));
  }

  const std::string& where() const { return where_; }
  std::string path(string_view name) const { return fmt::format("{}.{}", where_, name); }
  const json::Value* find(string_view name) const {
    const json::Value* value = json::find(object_, name);
    return value && value->is_null() ? nullptr : value;
  }

  Result<std::string> text(string_view name) const {
    const json::Value* value = find(name);
    if (!value) return std::string();
    if (!value->is_string()) return fail(wrong(path(name), "must be a string"));
    return std::string(string_view(value->get_string()));
  }
  Result<bool> flag(string_view name, bool otherwise) const {
    const json::Value* value = find(name);
    if (!value) return otherwise;
    if (!value->is_bool()) return fail(wrong(path(name), "must be true or false"));
    return value->get_bool();
  }
  Result<Texts> texts(string_view name) const {
    Texts found;
    const json::Value* value = find(name);
    if (!value) return found;
    if (!value->is_array()) return fail(wrong(path(name), "must be a list of strings"));
    for (const json::Value& one : value->get_array()) {
      if (!one.is_string()) return fail(wrong(path(name), "must be a list of strings"));
      found.emplace_back(string_view(one.get_string()));
    }
    return found;
  }

 private:
  Fields(const json::Object& object, std::string where) : object_(object), where_(std::move(where)) {}
  const json::Object& object_;
  std::string where_;
};

Result<std::uint8_t> read_stages(const Fields& fields) {
  const auto names = fields.texts("omitStages");
  if (!names) return fail(names.error());
  std::uint8_t bits = 0;
  for (const std::string& name : *names) {
    const auto* row = std::ranges::find(stages, string_view(name), &std::pair<string_view, AuditStage>::first);
    if (row == stages.end())
      return fail(wrong(fields.path("omitStages"),
                        fmt::format("unsupported value \"{}\"; supported values: {}", name, words_of(stages))));
    bits = static_cast<std::uint8_t>(bits | 1U << static_cast<unsigned>(row->second));
  }
  return bits;
}

bool has(const Texts& texts, string_view text) { return std::ranges::find(texts, text) != texts.end(); }

// "/healthz*" takes everything that begins so; "*" all.
bool takes_url(string_view pattern, string_view path) {
  return pattern.ends_with('*') ? path.starts_with(pattern.substr(0, pattern.size() - 1)) : pattern == path;
}

// "pods" is the resource alone, "pods/log" one subresource, "pods/*" all of them, "*/scale" one of all resources.
bool takes_resource(string_view pattern, const RequestInfo& info) {
  if (pattern == "*") return true;
  const std::size_t slash = pattern.find('/');
  if (slash == pattern.npos) return info.subresource.empty() && pattern == info.resource;
  if (info.subresource.empty()) return false;
  const string_view resource = pattern.substr(0, slash), subresource = pattern.substr(slash + 1);
  return (resource == "*" || resource == info.resource) && (subresource == "*" || subresource == info.subresource);
}

}  // namespace

string_view text_of(AuditLevel level) {
  return std::ranges::find(levels, level, &std::pair<string_view, AuditLevel>::second)->first;
}

// --- reading a policy ------------------------------------------------------------------------------------------------

class AuditPolicy::Parser {
 public:
  Result<AuditPolicy> policy(const json::Value& root) {
    static constexpr std::array<string_view, 6> known = {"apiVersion", "kind",       "metadata",
                                                         "rules",      "omitStages", "omitManagedFields"};
    const auto fields = Fields::read(root, "policy", known);
    if (!fields) return fail(fields.error());
    if (auto head = check_head(*fields); !head) return fail(head.error());
    const auto omitted = read_stages(*fields);
    if (!omitted) return fail(omitted.error());
    const auto omit_managed = fields->flag("omitManagedFields", false);
    if (!omit_managed) return fail(omit_managed.error());
    omitted_ = *omitted;
    omit_managed_ = *omit_managed;
    const json::Array* rules = json::as_array(fields->find("rules"));
    if (!rules || rules->empty()) return fail(wrong("policy.rules", "must be a list with at least one rule"));
    if (rules->size() > limits::audit_policy_rules_max)
      return fail(wrong("policy.rules", fmt::format("must have at most {} rules", limits::audit_policy_rules_max)));
    AuditPolicy policy;
    for (std::size_t i = 0; i < rules->size(); ++i) {
      auto rule = read_rule((*rules)[i], fmt::format("policy.rules[{}]", i));
      if (!rule) return fail(std::move(rule.error()));
      policy.rules_.push_back(std::move(*rule));
    }
    return policy;
  }

 private:
  static Result<void> check_head(const Fields& fields) {
    const auto version = fields.text("apiVersion"), kind = fields.text("kind");
    if (!version) return fail(version.error());
    if (!kind) return fail(kind.error());
    if (*version != "audit.k8s.io/v1") return fail(wrong("policy.apiVersion", "must be audit.k8s.io/v1"));
    if (*kind != "Policy") return fail(wrong("policy.kind", "must be Policy"));
    return {};
  }

  Result<Rule> read_rule(const json::Value& value, std::string where) const {
    static constexpr std::array<string_view, 9> known = {"level",           "users",      "userGroups",
                                                         "verbs",           "resources",  "namespaces",
                                                         "nonResourceURLs", "omitStages", "omitManagedFields"};
    const auto fields = Fields::read(value, std::move(where), known);
    if (!fields) return fail(fields.error());
    Rule rule;
    if (auto read = read_decision(*fields, rule.decision); !read) return fail(read.error());
    struct List {
      string_view name;
      Texts Rule::* into;
    };
    static constexpr std::array<List, 5> lists = {{{"users", &Rule::users},
                                                   {"userGroups", &Rule::groups},
                                                   {"verbs", &Rule::verbs},
                                                   {"namespaces", &Rule::namespaces},
                                                   {"nonResourceURLs", &Rule::urls}}};
    for (const List& list : lists) {
      auto texts = fields->texts(list.name);
      if (!texts) return fail(texts.error());
      rule.*list.into = std::move(*texts);
    }
    if (auto read = read_resources(*fields, rule); !read) return fail(read.error());
    if (auto problem = find_problem(*fields, rule)) return fail(std::move(*problem));
    return rule;
  }

  Result<void> read_decision(const Fields& fields, AuditDecision& decision) const {
    const auto level = fields.text("level");
    if (!level) return fail(level.error());
    const auto* row = std::ranges::find(levels, string_view(*level), &std::pair<string_view, AuditLevel>::first);
    if (row == levels.end())
      return fail(wrong(fields.path("level"),
                        level->empty()
                            ? fmt::format("is required; supported values: {}", words_of(levels))
                            : fmt::format("unsupported value \"{}\"; supported values: {}", *level, words_of(levels))));
    decision.level = row->second;
    const auto omitted = read_stages(fields);
    if (!omitted) return fail(omitted.error());
    decision.omitted_stages = static_cast<std::uint8_t>(*omitted | omitted_);
    const auto managed = fields.flag("omitManagedFields", omit_managed_);
    if (!managed) return fail(managed.error());
    decision.omit_managed_fields = *managed;
    return {};
  }

  static Result<void> read_resources(const Fields& fields, Rule& rule) {
    static constexpr std::array<string_view, 3> known = {"group", "resources", "resourceNames"};
    const json::Value* value = fields.find("resources");
    if (!value) return {};
    if (!value->is_array()) return fail(wrong(fields.path("resources"), "must be a list"));
    for (std::size_t i = 0; i < value->get_array().size(); ++i) {
      const auto one = Fields::read(value->get_array()[i], fmt::format("{}[{}]", fields.path("resources"), i), known);
      if (!one) return fail(one.error());
      auto group = one->text("group");
      auto resources = one->texts("resources"), names = one->texts("resourceNames");
      if (!group) return fail(group.error());
      if (!resources) return fail(resources.error());
      if (!names) return fail(names.error());
      if (group->contains('/'))
        return fail(wrong(one->path("group"), fmt::format("\"{}\" must be a group without a version", *group)));
      if (resources->empty() && !names->empty()) return fail(wrong(one->path("resourceNames"), "requires resources"));
      rule.resources.push_back(
          {.group = std::move(*group), .resources = std::move(*resources), .names = std::move(*names)});
    }
    return {};
  }

  static std::optional<Status> find_problem(const Fields& fields, const Rule& rule) {
    if (rule.urls.empty()) return std::nullopt;
    if (!rule.resources.empty() || !rule.namespaces.empty())
      return wrong(fields.path("nonResourceURLs"), "is mutually exclusive with resources and namespaces");
    for (const std::string& url : rule.urls) {
      if (url == "*") continue;
      if (!url.starts_with('/'))
        return wrong(fields.path("nonResourceURLs"), fmt::format("\"{}\" must begin with /", url));
      if (url.find('*') < url.size() - 1)
        return wrong(fields.path("nonResourceURLs"), fmt::format("\"{}\" may have * at its end only", url));
    }
    return std::nullopt;
  }

  std::uint8_t omitted_ = 0;
  bool omit_managed_ = false;
};

Result<AuditPolicy> AuditPolicy::parse(string_view text) {
  json::Document document;
  std::vector<std::string> duplicates;
  json::YamlOptions options;
  options.bytes_max = limits::audit_policy_bytes_max;
  options.duplicate_fields = &duplicates;
  const auto root = json::parse_yaml(text, document.storage(), options);
  if (!root) return fail(wrong("policy", root.error().message));
  if (!duplicates.empty()) return fail(wrong("policy", fmt::format("the field \"{}\" is there twice", duplicates[0])));
  return Parser().policy(*root);
}

// --- deciding --------------------------------------------------------------------------------------------------------

bool AuditPolicy::fits(const Resources& resources, const RequestInfo& info) {
  if (resources.group != info.group) return false;
  if (!resources.resources.empty() &&
      std::ranges::none_of(resources.resources, [&](const std::string& one) { return takes_resource(one, info); }))
    return false;
  return resources.names.empty() || has(resources.names, info.name);
}

bool AuditPolicy::fits(const Rule& rule, const RequestInfo& info, string_view user,
                       std::span<const std::string> groups) {
  if (!rule.users.empty() && !has(rule.users, user)) return false;
  if (!rule.groups.empty() &&
      std::ranges::none_of(groups, [&](const std::string& group) { return has(rule.groups, group); }))
    return false;
  if (!rule.verbs.empty() && !has(rule.verbs, info.verb)) return false;
  if (!info.resource_request) {
    if (!rule.resources.empty() || !rule.namespaces.empty()) return false;
    return rule.urls.empty() ||
           std::ranges::any_of(rule.urls, [&](const std::string& url) { return takes_url(url, info.path); });
  }
  if (!rule.urls.empty()) return false;
  if (!rule.namespaces.empty() && !has(rule.namespaces, info.ns)) return false;
  return rule.resources.empty() ||
         std::ranges::any_of(rule.resources, [&](const Resources& one) { return fits(one, info); });
}

AuditDecision AuditPolicy::decide(const RequestInfo& info, string_view user,
                                  std::span<const std::string> groups) const {
  const auto rule = std::ranges::find_if(rules_, [&](const Rule& one) { return fits(one, info, user, groups); });
  if (rule == rules_.end()) return {.level = AuditLevel::none};
  AuditDecision decision = rule->decision;
  decision.level = std::min(decision.level, level_allowed(info));
  return decision;
}

// --- what is never recorded ------------------------------------------------------------------------------------------

AuditLevel level_allowed(const RequestInfo& info) {
  struct Row {
    string_view group, resource;  // empty resource: all of the group
    string_view subresource = {};
  };
  static constexpr std::array<Row, 8> hidden = {{{"", "secrets"},
                                                 {"", "configmaps"},
                                                 {"", "serviceaccounts", "token"},
                                                 {"authentication.k8s.io", ""},
                                                 {"certificates.k8s.io", ""},
                                                 {"upload.cdi.kubevirt.io", ""},
                                                 {"export.kubevirt.io", ""},
                                                 // Bodies of actions: launch secrets, commands for guests.
                                                 {actions::group, ""}}};
  const bool is_hidden = std::ranges::any_of(hidden, [&](const Row& row) {
    return row.group == info.group && (row.resource.empty() || row.resource == info.resource) &&
           (row.subresource.empty() || row.subresource == info.subresource);
  });
  return is_hidden ? AuditLevel::metadata : AuditLevel::request_response;
}

namespace {

// Fields whose values are credentials or what only a guest should see, in whatever object they stand; and annotations
// that repeat a whole object, or what is given to a guest.
constexpr std::array<string_view, 15> hidden_fields = {"userData",
                                                       "userDataBase64",
                                                       "networkData",
                                                       "networkDataBase64",
                                                       "stringData",
                                                       "binaryData",
                                                       "password",
                                                       "passwd",
                                                       "token",
                                                       "session",
                                                       "dhCert",
                                                       "sshPublicKeys",
                                                       "extraHeaders",
                                                       "kubectl.kubernetes.io/last-applied-configuration",
                                                       "kubevirt.io/ignitiondata"};
constexpr string_view hidden_text = "(left out)";

bool is_hidden(string_view name) { return std::ranges::find(hidden_fields, name) != hidden_fields.end(); }

// A step of a JSON patch names its field in a path, in which ~1 stands for a slash.
bool hides(string_view path) {
  while (!path.empty()) {
    const std::size_t slash = path.rfind('/');
    std::string name(path.substr(slash == path.npos ? 0 : slash + 1));
    for (std::size_t at = name.find("~1"); at != name.npos; at = name.find("~1")) name.replace(at, 2, "/");
    if (is_hidden(name)) return true;
    path = path.substr(0, slash == path.npos ? 0 : slash);
  }
  return false;
}

// Addresses of images may hold a login before the host and a signature in the query.
std::string without_credentials(string_view url) {
  const std::size_t host = url.find("://") + 3;
  const std::size_t path = std::min(url.find('/', host), url.size());
  const std::size_t login = url.substr(0, path).rfind('@');
  const string_view end = url.substr(login == url.npos || login < host ? host : login + 1);
  return fmt::format("{}{}", url.substr(0, host), end.substr(0, end.find_first_of("?#")));
}

// Objects of a body have a bounded depth.
void hide(json::Value& value, bool omit_managed_fields) {  // NOLINT(misc-no-recursion)
  if (json::Array* list = value.if_array()) {
    for (json::Value& one : *list) hide(one, omit_managed_fields);
    return;
  }
  if (value.is_string() && string_view(value.get_string()).contains("://"))
    value = without_credentials(value.get_string());
  json::Object* object = value.if_object();
  if (!object) return;
  const json::Value* path = json::find(*object, "path");
  const bool is_hidden_step = json::find(*object, "op") && path && path->is_string() && hides(path->get_string());
  if (omit_managed_fields) json::erase(*object, "managedFields");
  for (auto& member : *object) {
    const string_view name = member.key();
    if (is_hidden(name) || (is_hidden_step && name == "value"))
      member.value() = hidden_text;
    else
      hide(member.value(), omit_managed_fields);
  }
}

}  // namespace

std::string recorded_body(string_view body, bool omit_managed_fields) {
  if (body.empty() || body.size() > limits::audit_body_bytes_max) return {};
  json::Document document(4 * body.size());
  // Server-side apply sends YAML, which JSON is a form of; both are bounded in what they expand to.
  auto parsed = json::parse(body, document.storage());
  if (!parsed) parsed = json::parse_yaml(body, document.storage());
  if (!parsed || !parsed->is_structured()) return {};
  hide(*parsed, omit_managed_fields);
  std::string text;
  json::write(*parsed, text);
  return text.size() <= limits::audit_body_bytes_max ? text : std::string();
}

}  // namespace vg::resources
