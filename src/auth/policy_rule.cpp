#include "auth/policy_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/joined.h"
#include "base/limits.h"
#include "json/access.h"

namespace vg::auth {
namespace {

using Texts = std::vector<std::string>;

bool has(const Texts& texts, std::string_view wanted) { return std::ranges::find(texts, wanted) != texts.end(); }
bool has_or_all(const Texts& texts, std::string_view wanted) {
  return std::ranges::any_of(texts, [&](const std::string& text) { return text == "*" || text == wanted; });
}

bool resource_matches(const PolicyRule& rule, const AccessAttributes& attributes) {
  const std::string_view resource = attributes.resource, subresource = attributes.subresource;
  for (const std::string_view text : rule.resources) {
    if (text == "*") return true;
    if (subresource.empty()) {
      if (text == resource) return true;
      continue;
    }
    if (!text.ends_with(subresource)) continue;
    const std::string_view before = text.substr(0, text.size() - subresource.size());
    if (before == "*/") return true;
    if (before.ends_with('/') && before.substr(0, before.size() - 1) == resource) return true;
  }
  return false;
}

void read_list(const json::Value& rule, std::string_view name, Texts& out) {
  const json::Array* list = json::get_array(rule, name);
  if (!list) return;
  out.reserve(list->size());
  for (const json::Value& value : *list)
    if (const auto text = json::as_string(&value)) out.emplace_back(*text);
}

void write_list(json::Object& out, std::string_view name, const Texts& texts) {
  json::Array list(out.storage());
  list.reserve(texts.size());
  for (const std::string& text : texts) list.emplace_back(text);
  out.emplace(name, std::move(list));
}

// A list of an owned rule, made for many questions: such lists may be as long as an object can be.
class TextSet {
 public:
  explicit TextSet(const Texts& texts) : texts_(texts.begin(), texts.end()) {
    std::ranges::sort(texts_);
    all_ = has("*");
  }
  bool empty() const { return texts_.empty(); }
  bool all() const { return all_; }
  bool has(std::string_view text) const { return std::ranges::binary_search(texts_, text); }
  bool covers(std::string_view text) const { return all_ || has(text); }

 private:
  std::vector<std::string_view> texts_;
  bool all_ = false;
};

struct OwnedRule {
  explicit OwnedRule(const PolicyRule& rule)
      : verbs(rule.verbs),
        groups(rule.api_groups),
        resources(rule.resources),
        names(rule.resource_names),
        urls(&rule.non_resource_urls) {}

  bool covers_resource(std::string_view resource) const {
    if (resources.covers(resource)) return true;
    const std::size_t slash = resource.find('/');
    return slash != std::string_view::npos && resources.has(fmt::format("*/{}", resource.substr(slash + 1)));
  }
  // Null: every name, also those to come.
  bool covers_name(const std::string* name) const { return names.empty() || (name && names.has(*name)); }
  // A path covers itself and, with '*' at its end, whatever begins like it.
  bool covers_path(std::string_view path) const {
    return std::ranges::any_of(*urls, [&](const std::string& pattern) { return path_matches(pattern, path); });
  }

  TextSet verbs, groups, resources, names;
  const Texts* urls;
};

class Coverage {
 public:
  Coverage(std::span<const PolicyRule> owned, std::size_t pieces_max)
      : owned_(owned.begin(), owned.end()), pieces_max_(pieces_max) {}

  void add(const PolicyRule& wanted) {
    // Mostly one owned rule covers the whole of it, and then nothing needs to be multiplied out.
    for (const OwnedRule& owner : owned_) {
      if (done()) return;
      if (covers_all(owner, wanted)) return;
    }
    add_resources(wanted);
    add_paths(wanted);
  }

  Uncovered result;

 private:
  bool covers_all(const OwnedRule& owner, const PolicyRule& wanted) {
    const auto all = [this](const Texts& texts, auto covers) {
      return std::ranges::all_of(texts, [&](const std::string& text) {
        ++steps_;
        return covers(text);
      });
    };
    if (!all(wanted.verbs, [&](const std::string& verb) { return owner.verbs.covers(verb); })) return false;
    if (!all(wanted.non_resource_urls, [&](const std::string& path) { return covers_path(owner, path); })) return false;
    if (wanted.resources.empty()) return true;
    if (!all(wanted.api_groups, [&](const std::string& group) { return owner.groups.covers(group); })) return false;
    if (!all(wanted.resources, [&](const std::string& resource) { return owner.covers_resource(resource); }))
      return false;
    if (wanted.resource_names.empty()) return owner.names.empty();
    return all(wanted.resource_names, [&](const std::string& name) { return owner.covers_name(&name); });
  }

  bool covers_path(const OwnedRule& owner, std::string_view path) {
    steps_ += owner.urls->size();
    return owner.covers_path(path);
  }

  void add_resources(const PolicyRule& wanted) {
    std::vector<const OwnedRule*> owners;
    for (const std::string& group : wanted.api_groups)
      for (const std::string& resource : wanted.resources) {
        if (done()) return;
        owners.clear();
        for (const OwnedRule& owner : owned_)
          if (owner.groups.covers(group) && owner.covers_resource(resource)) owners.push_back(&owner);
        steps_ += owned_.size();
        for (const std::string& verb : wanted.verbs) {
          if (wanted.resource_names.empty()) check(owners, group, resource, verb, nullptr);
          for (const std::string& name : wanted.resource_names) {
            if (done()) return;
            check(owners, group, resource, verb, &name);
          }
        }
      }
  }

  void check(const std::vector<const OwnedRule*>& owners, const std::string& group, const std::string& resource,
             const std::string& verb, const std::string* name) {
    if (done()) return;
    steps_ += owners.size() + 1;
    for (const OwnedRule* owner : owners)
      if (owner->verbs.covers(verb) && owner->covers_name(name)) return;
    PolicyRule piece{.verbs = {verb}, .api_groups = {group}, .resources = {resource}};
    if (name) piece.resource_names = {*name};
    miss(std::move(piece));
  }

  void add_paths(const PolicyRule& wanted) {
    for (const std::string& path : wanted.non_resource_urls)
      for (const std::string& verb : wanted.verbs) {
        if (done()) return;
        steps_ += owned_.size() + 1;
        if (std::ranges::none_of(
                owned_, [&](const OwnedRule& owner) { return owner.verbs.covers(verb) && covers_path(owner, path); }))
          miss({.verbs = {verb}, .non_resource_urls = {path}});
      }
  }

  void miss(PolicyRule piece) {
    if (result.pieces.size() < pieces_max_)
      result.pieces.push_back(std::move(piece));
    else
      result.more = true;
  }

  bool done() {
    if (steps_ > limits::rule_cover_steps_max) result.too_complex = result.more = true;
    return result.more;
  }

  std::vector<OwnedRule> owned_;
  std::size_t pieces_max_;
  std::size_t steps_ = 0;
};

// Pieces that differ only in `field` become one.
void merge_by(std::vector<PolicyRule>& rules, Texts PolicyRule::* field) {
  std::vector<PolicyRule> merged;
  for (PolicyRule& rule : rules) {
    const auto same = std::ranges::find_if(merged, [&](PolicyRule& other) {
      PolicyRule with_others = rule;
      with_others.*field = other.*field;
      return with_others == other;
    });
    if (same == merged.end()) {
      merged.push_back(std::move(rule));
      continue;
    }
    for (std::string& text : rule.*field)
      if (!has((*same).*field, text)) ((*same).*field).push_back(std::move(text));
  }
  rules = std::move(merged);
}

}  // namespace

PolicyRule policy_rule_from(const json::Value& rule) {
  PolicyRule out;
  read_list(rule, "verbs", out.verbs);
  read_list(rule, "apiGroups", out.api_groups);
  read_list(rule, "resources", out.resources);
  read_list(rule, "resourceNames", out.resource_names);
  read_list(rule, "nonResourceURLs", out.non_resource_urls);
  return out;
}

std::vector<PolicyRule> policy_rules_of(const json::Object& role) {
  std::vector<PolicyRule> rules;
  const json::Array* list = json::get_array(role, "rules");
  if (!list) return rules;
  rules.reserve(list->size());
  for (const json::Value& rule : *list) rules.push_back(policy_rule_from(rule));
  return rules;
}

json::Object to_json(const PolicyRule& rule, json::StoragePtr storage) {
  json::Object out(std::move(storage));
  write_list(out, "verbs", rule.verbs);
  if (!rule.api_groups.empty()) write_list(out, "apiGroups", rule.api_groups);
  if (!rule.resources.empty()) write_list(out, "resources", rule.resources);
  if (!rule.resource_names.empty()) write_list(out, "resourceNames", rule.resource_names);
  if (!rule.non_resource_urls.empty()) write_list(out, "nonResourceURLs", rule.non_resource_urls);
  return out;
}

json::Array to_json(std::span<const PolicyRule> rules, json::StoragePtr storage) {
  json::Array out(storage);
  out.reserve(rules.size());
  for (const PolicyRule& rule : rules) out.emplace_back(to_json(rule, storage));
  return out;
}

bool path_matches(std::string_view pattern, std::string_view path) {
  if (pattern == path) return true;
  if (!pattern.ends_with('*')) return false;
  while (pattern.ends_with('*')) pattern.remove_suffix(1);
  return path.starts_with(pattern);
}

bool allows(const PolicyRule& rule, const AccessAttributes& attributes) {
  if (!has_or_all(rule.verbs, attributes.verb)) return false;
  if (!attributes.resource_request)
    return std::ranges::any_of(rule.non_resource_urls,
                               [&](const std::string& pattern) { return path_matches(pattern, attributes.path); });
  return has_or_all(rule.api_groups, attributes.group) && resource_matches(rule, attributes) &&
         (rule.resource_names.empty() || has(rule.resource_names, attributes.name));
}

// --- many questions to many rules ------------------------------------------------------------------------------------

namespace {

std::uint64_t bit_of(std::string_view text) { return std::uint64_t{1} << (std::hash<std::string_view>()(text) & 63); }

std::uint64_t bits_of(const Texts& texts) {
  std::uint64_t bits = 0;
  for (const std::string& text : texts) bits |= text == "*" ? ~std::uint64_t{0} : bit_of(text);
  return bits;
}

// Beyond this, looking in order beats looking at all.
constexpr std::size_t short_list_max = 32;

bool has_long_list(const PolicyRule& rule) {
  return rule.verbs.size() > short_list_max || rule.api_groups.size() > short_list_max ||
         rule.resources.size() > short_list_max || rule.resource_names.size() > short_list_max;
}

}  // namespace

struct RuleIndex::Sorted {
  explicit Sorted(const PolicyRule& rule)
      : verbs(rule.verbs), groups(rule.api_groups), resources(rule.resources), names(rule.resource_names) {}
  TextSet verbs, groups, resources, names;
};

RuleQuery::RuleQuery(const AccessAttributes& attributes) : attributes_(attributes), verb_(bit_of(attributes.verb)) {
  if (!attributes.resource_request) return;
  group_ = bit_of(attributes.group);
  name_ = bit_of(attributes.name);
  resource_ = attributes.resource;
  if (!attributes.subresource.empty()) {
    resource_.append("/").append(attributes.subresource);
    of_any_.append("*/").append(attributes.subresource);
    resources_ = bit_of(of_any_);
  }
  resources_ |= bit_of(resource_);
}

RuleIndex::RuleIndex(std::span<const PolicyRule> rules) : rules_(rules) {
  rows_.reserve(rules.size());
  for (const PolicyRule& rule : rules) {
    const auto number = static_cast<std::uint32_t>(rows_.size());
    rows_.push_back({.verbs = bits_of(rule.verbs),
                     .groups = bits_of(rule.api_groups),
                     .resources = bits_of(rule.resources),
                     .names = rule.resource_names.empty() ? ~std::uint64_t{0} : bits_of(rule.resource_names)});
    if (!rule.non_resource_urls.empty()) path_rules_.push_back(number);
    if (!has_long_list(rule)) continue;
    sorted_.emplace_back(rule);
    sorted_rules_.push_back(number);
  }
}
RuleIndex::RuleIndex(RuleIndex&&) noexcept = default;
RuleIndex& RuleIndex::operator=(RuleIndex&&) noexcept = default;
RuleIndex::~RuleIndex() = default;

bool RuleIndex::allows(const RuleQuery& query) const {
  if (!query.attributes_.resource_request)
    return std::ranges::any_of(path_rules_, [&](std::uint32_t number) {
      return (rows_[number].verbs & query.verb_) != 0 && auth::allows(rules_[number], query.attributes_);
    });
  const auto fits = [&](const Sorted& rule) {
    return rule.verbs.covers(query.attributes_.verb) && rule.groups.covers(query.attributes_.group) &&
           (rule.resources.covers(query.resource_) || (!query.of_any_.empty() && rule.resources.has(query.of_any_))) &&
           (rule.names.empty() || rule.names.has(query.attributes_.name));
  };
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    if ((row.verbs & query.verb_) == 0 || (row.groups & query.group_) == 0 || (row.resources & query.resources_) == 0 ||
        (row.names & query.name_) == 0)
      continue;
    const auto long_lists = std::ranges::lower_bound(sorted_rules_, static_cast<std::uint32_t>(i));
    if (long_lists == sorted_rules_.end() || *long_lists != i) {
      if (auth::allows(rules_[i], query.attributes_)) return true;
    } else if (fits(sorted_[static_cast<std::size_t>(long_lists - sorted_rules_.begin())])) {
      return true;
    }
  }
  return false;
}

Uncovered uncovered_rules(std::span<const PolicyRule> owned, std::span<const PolicyRule> wanted) {
  Coverage coverage(owned, limits::uncovered_rules_told_max);
  for (const PolicyRule& rule : wanted) coverage.add(rule);
  return std::move(coverage.result);
}

std::vector<PolicyRule> missing_rules(std::span<const PolicyRule> owned, std::span<const PolicyRule> wanted) {
  Coverage coverage(owned, SIZE_MAX);
  for (const PolicyRule& rule : wanted) coverage.add(rule);
  std::vector<PolicyRule> missing = std::move(coverage.result.pieces);
  merge_by(missing, &PolicyRule::verbs);
  merge_by(missing, &PolicyRule::resources);
  return missing;
}

std::size_t text_bytes(std::span<const PolicyRule> rules) {
  static constexpr std::size_t around = 8;
  std::size_t bytes = 0;
  for (const PolicyRule& rule : rules)
    for (const Texts* texts :
         {&rule.verbs, &rule.api_groups, &rule.resources, &rule.resource_names, &rule.non_resource_urls}) {
      bytes += around;
      for (const std::string& text : *texts) bytes += text.size() + around;
    }
  return bytes;
}

std::string describe(const PolicyRule& rule) {
  std::string out = joined(rule.verbs, ", ");
  if (!rule.non_resource_urls.empty()) return out + fmt::format(" on {}", joined(rule.non_resource_urls, ", "));
  out += " on ";
  bool first = true;
  for (const std::string& group : rule.api_groups)
    for (const std::string& resource : rule.resources) {
      out += fmt::format("{}{}{}{}", first ? "" : ", ", resource, group.empty() ? "" : ".", group);
      first = false;
    }
  if (!rule.resource_names.empty()) out += fmt::format(" named {}", joined(rule.resource_names, ", "));
  return out;
}

}  // namespace vg::auth
