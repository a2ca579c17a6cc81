#include "objects/policies/match.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/phrases.h"
#include "catalog/conversion.h"
#include "json/access.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::policies {
namespace {

using std::string_view;

bool lists(const std::vector<std::string>& names, string_view wanted) {
  return std::ranges::any_of(names, [&](const std::string& name) { return name == "*" || name == wanted; });
}

bool names_resource(const MatchRule& rule, string_view resource, string_view subresource) {
  return std::ranges::any_of(rule.resources, [&](string_view named) {
    const string_view main = named.substr(0, named.find('/'));
    const string_view part = main.size() == named.size() ? string_view() : named.substr(main.size() + 1);
    return (main == "*" || main == resource) && (part == "*" || part == subresource);
  });
}

bool in_scope(const MatchRule& rule, const Subject& subject) {
  const bool namespaced = !subject.of_namespace() && !subject.ns.empty();
  if (rule.scope == "Namespaced") return namespaced;
  return rule.scope != "Cluster" || !namespaced;
}

bool matches_rule(const MatchRule& rule, const Subject& subject, const ResourceName& as) {
  return in_scope(rule, subject) && lists(rule.operations, subject.operation) && lists(rule.groups, as.group) &&
         lists(rule.versions, as.version) && names_resource(rule, as.plural(), subject.subresource) &&
         (rule.names.empty() || std::ranges::find(rule.names, subject.name) != rule.names.end());
}

// The other versions of the kind, and the other forms of what is stored.
std::vector<ResourceName> equivalents(const Subject& subject) {
  std::vector<ResourceName> all;
  const auto add = [&](const Resource& resource, string_view version) {
    const ResourceName name{.group = resource.group(), .version = version, .resource = &resource};
    if (name.group != subject.requested.group || name.version != subject.requested.version ||
        name.plural() != subject.requested.plural())
      all.push_back(name);
  };
  for (const api::KindVersion& version : subject.resource.kind->versions)
    if (version.served) add(subject.resource, version.name);
  for (const Conversion& conversion : conversions())
    if (conversion.stored_key == subject.resource.key)
      if (const Resource* shown = find_resource(conversion.group, conversion.version, conversion.plural))
        add(*shown, conversion.version);
  return all;
}

std::optional<ResourceName> find_rule(const std::vector<MatchRule>& rules, bool equivalent, const Subject& subject) {
  for (const MatchRule& rule : rules)
    if (matches_rule(rule, subject, subject.requested)) return subject.requested;
  if (!equivalent || rules.empty()) return std::nullopt;
  const auto others = equivalents(subject);
  for (const MatchRule& rule : rules)
    for (const ResourceName& other : others)
      if (matches_rule(rule, subject, other)) return other;
  return std::nullopt;
}

bool selects(const LabelSelector& selector, const json::Object& labels) {
  return selector.matches([&](string_view key) { return json::get_string(labels, key); });
}

bool selects_object(const LabelSelector& selector, const json::Value* object) {
  if (!object || !object->is_object()) return false;
  return selects(selector, core_kinds::members(core_kinds::members(object->get_object(), "metadata"), "labels"));
}

enum class Selected { no, yes, unknown };

Selected selects_namespace(const LabelSelector& selector, const Subject& subject, NamespaceLabels& ns) {
  if (selector.empty() || (subject.ns.empty() && !subject.of_namespace())) return Selected::yes;
  // A namespace that is made or changed is judged by the labels that it shall have.
  const bool itself = subject.of_namespace() && subject.subresource.empty() && subject.operation != "DELETE";
  if (itself) return selects_object(selector, subject.object) ? Selected::yes : Selected::no;
  const json::Object* labels = ns.labels();
  if (!labels) return Selected::unknown;
  return selects(selector, *labels) ? Selected::yes : Selected::no;
}

}  // namespace

bool is_exempt(const Subject& subject) {
  static constexpr std::array<string_view, 6> kinds = {
      "ValidatingWebhookConfiguration",   "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy",
      "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy",      "MutatingAdmissionPolicyBinding"};
  return subject.resource.group() == "admissionregistration.k8s.io" &&
         std::ranges::find(kinds, subject.resource.kind->kind) != kinds.end();
}

Match match(const MatchResources& wanted, const Subject& subject, NamespaceLabels& ns) {
  const Selected namespaces = selects_namespace(wanted.namespaces, subject, ns);
  if (namespaces == Selected::no) return {};
  if (!wanted.objects.empty() && !selects_object(wanted.objects, subject.object) &&
      !selects_object(wanted.objects, subject.old_object))
    return {};
  if (find_rule(wanted.excluded, wanted.equivalent, subject)) return {};
  const auto as =
      wanted.rules.empty() ? std::optional(subject.requested) : find_rule(wanted.rules, wanted.equivalent, subject);
  if (!as) return {};
  if (namespaces == Selected::unknown)
    return {.matches = false, .problem = phrases::not_found("", "namespaces", subject.ns)};
  return {.matches = true, .as = *as};
}

}  // namespace vg::resources::policies
