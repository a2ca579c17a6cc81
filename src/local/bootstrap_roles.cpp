#include "local/bootstrap_roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <utility>

#include "auth/policy_rule.h"
#include "base/log.h"
#include "base/random.h"
#include "base/time_rfc3339.h"
#include "json/access.h"
#include "json/document.h"
#include "local/bootstrap_roles_table.h"
#include "local/kubevirt_roles.h"

namespace vg::local {
namespace {

constexpr std::string_view kubevirt_namespace = "kubevirt";
constexpr std::string_view autoupdate = "rbac.authorization.kubernetes.io/autoupdate";
constexpr std::string_view service_accounts_resource = "serviceaccounts";
constexpr std::string_view rbac_version = "rbac.authorization.k8s.io/v1";

template <class F>
void for_each_word(std::string_view words, F&& f) {
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    words.remove_prefix(std::min(words.size(), word.size() + 1));
    if (!word.empty()) f(word);
  }
}

std::vector<std::string> split(std::string_view words) {
  std::vector<std::string> out;
  for_each_word(words, [&](std::string_view word) { out.emplace_back(word == "core" ? "" : word); });
  return out;
}

std::vector<auth::PolicyRule> rules_of(std::span<const tables::RuleRow> rows) {
  std::vector<auth::PolicyRule> rules;
  for (const tables::RuleRow& row : rows)
    rules.push_back({.verbs = split(row.verbs),
                     .api_groups = split(row.groups),
                     .resources = split(row.resources),
                     .resource_names = split(row.names),
                     .non_resource_urls = split(row.urls)});
  return rules;
}

std::string aggregation_label(std::string_view role) {
  return fmt::format("rbac.authorization.k8s.io/aggregate-to-{}", role);
}

json::Object typed(std::string_view kind, std::string_view version) {
  json::Object object;
  object["kind"] = kind;
  object["apiVersion"] = version;
  return object;
}

json::Object metadata_of(std::string_view name, std::string_view ns, bool kubevirt, bool bootstrapping, bool updated) {
  json::Object metadata;
  metadata["name"] = name;
  if (!ns.empty()) metadata["namespace"] = ns;
  json::Object& labels = json::ensure_object(metadata, "labels");
  if (!kubevirt || bootstrapping) labels["kubernetes.io/bootstrapping"] = "rbac-defaults";
  if (kubevirt) labels["kubevirt.io"] = "";
  if (!kubevirt || updated) json::ensure_object(metadata, "annotations")[autoupdate] = "true";
  return metadata;
}

DefaultObject make_role(const tables::RoleRow& row) {
  const bool of_cluster = row.ns.empty();
  json::Object role = typed(of_cluster ? "ClusterRole" : "Role", rbac_version);
  json::Object metadata = metadata_of(row.name, row.ns, row.kubevirt, row.bootstrapping, row.autoupdate);
  if (!row.aggregate_to.empty()) json::ensure_object(metadata, "labels")[aggregation_label(row.aggregate_to)] = "true";
  role["metadata"] = std::move(metadata);
  role["rules"] = auth::to_json(rules_of(row.rules));
  if (!row.gathers.empty()) {
    json::Object selector;
    json::ensure_object(selector, "matchLabels")[aggregation_label(row.gathers)] = "true";
    json::ensure_array(json::ensure_object(role, "aggregationRule"), "clusterRoleSelectors")
        .emplace_back(std::move(selector));
  }
  return {.resource = of_cluster ? cluster_roles_resource : roles_resource,
          .ns = std::string(row.ns),
          .name = std::string(row.name),
          .object = std::move(role)};
}

json::Object make_subject(std::string_view word) {
  const std::size_t colon = word.find(':');
  const std::string_view kind = word.substr(0, colon), name = word.substr(colon + 1);
  json::Object subject;
  if (kind == "account") {
    subject["kind"] = "ServiceAccount";
    subject["name"] = name;
    subject["namespace"] = kubevirt_namespace;
    return subject;
  }
  subject["kind"] = kind == "group" ? "Group" : "User";
  subject["apiGroup"] = auth::rbac_group;
  subject["name"] = name;
  return subject;
}

DefaultObject make_binding(const tables::BindingRow& row) {
  const bool of_cluster = row.ns.empty();
  json::Object binding = typed(of_cluster ? "ClusterRoleBinding" : "RoleBinding", rbac_version);
  binding["metadata"] = metadata_of(row.name, row.ns, row.kubevirt, false, row.autoupdate);
  json::Array& subjects = json::ensure_array(binding, "subjects");
  for_each_word(row.subjects, [&](std::string_view word) { subjects.emplace_back(make_subject(word)); });
  json::Object& reference = json::ensure_object(binding, "roleRef");
  reference["apiGroup"] = auth::rbac_group;
  reference["kind"] = row.role_kind;
  reference["name"] = row.role;
  return {.resource = of_cluster ? cluster_role_bindings_resource : role_bindings_resource,
          .ns = std::string(row.ns),
          .name = std::string(row.name),
          .object = std::move(binding)};
}

DefaultObject make_service_account(std::string_view name) {
  json::Object account = typed("ServiceAccount", "v1");
  account["metadata"] = metadata_of(name, kubevirt_namespace, true, false, false);
  return {.resource = service_accounts_resource,
          .ns = std::string(kubevirt_namespace),
          .name = std::string(name),
          .object = std::move(account)};
}

// --- bringing what exists up to date. Each returns whether it changed something. ------------------------------------

bool add_texts(json::Object& metadata, const json::Object& wanted, std::string_view key) {
  const json::Object* texts = json::get_object(wanted, key);
  bool changed = false;
  if (!texts) return changed;
  for (const auto& [name, value] : *texts) {
    json::Object& in = json::ensure_object(metadata, key);
    if (in.contains(name)) continue;  // whoever gave it another value meant it
    in[name] = value;
    changed = true;
  }
  return changed;
}

bool add_rules(json::Object& role, const json::Object& wanted) {
  const auto missing = auth::missing_rules(auth::policy_rules_of(role), auth::policy_rules_of(wanted));
  json::Array& rules = json::ensure_array(role, "rules");
  for (const auth::PolicyRule& rule : missing) rules.emplace_back(auth::to_json(rule, rules.storage()));
  return !missing.empty();
}

bool add_items(json::Object& object, const json::Array* wanted, std::string_view key) {
  bool changed = false;
  if (!wanted) return changed;
  for (const json::Value& item : *wanted) {
    json::Array& items = json::ensure_array(object, key);
    if (std::ranges::find(items, item) != items.end()) continue;
    items.push_back(item);
    changed = true;
  }
  return changed;
}

bool add_selectors(json::Object& role, const json::Object& wanted) {
  const json::Object* rule = json::get_object(wanted, "aggregationRule");
  if (!rule) return false;
  return add_items(json::ensure_object(role, "aggregationRule"), json::get_array(*rule, "clusterRoleSelectors"),
                   "clusterRoleSelectors");
}

bool add_subjects(json::Object& binding, const json::Object& wanted, const DefaultObject& what) {
  const json::Value *is = json::find(binding, "roleRef"), *should = json::find(wanted, "roleRef");
  if (!is || !should || *is != *should) {
    log::info("a default binding refers to another role than the default and is left unchanged",
              {{"namespace", what.ns}, {"name", what.name}});
    return false;
  }
  return add_items(binding, json::get_array(wanted, "subjects"), "subjects");
}

bool bring_up_to_date(json::Object& object, const DefaultObject& wanted) {
  json::Object& metadata = json::ensure_object(object, "metadata");
  if (const json::Object* annotations = json::get_object(metadata, "annotations"))
    if (json::get_string_or(*annotations, autoupdate) == "false") return false;
  const json::Object& wanted_metadata = wanted.object.at("metadata").get_object();
  bool changed = add_texts(metadata, wanted_metadata, "labels");
  changed = add_texts(metadata, wanted_metadata, "annotations") || changed;
  if (wanted.resource == roles_resource || wanted.resource == cluster_roles_resource) {
    changed = add_rules(object, wanted.object) || changed;
    changed = add_selectors(object, wanted.object) || changed;
  } else if (wanted.resource != service_accounts_resource) {
    changed = add_subjects(object, wanted.object, wanted) || changed;
  }
  return changed;
}

RoleWriter writer_of(std::string_view name) {
  return name.starts_with("kubevirt") ? RoleWriter::kubevirt : RoleWriter::kubernetes;
}

Write create(DefaultObject wanted, std::string_view now, const MakeDraft& make_draft) {
  json::Object& metadata = wanted.object.at("metadata").get_object();
  metadata["uid"] = uuid_v4();
  metadata["creationTimestamp"] = now;
  auto draft = make_draft({.resource = wanted.resource, .object = wanted.object, .writer = writer_of(wanted.name)});
  return {.kind = WriteKind::create,
          .key = {.resource = std::string(wanted.resource), .ns = std::move(wanted.ns), .name = std::move(wanted.name)},
          .object = std::move(draft)};
}

Write update(const StoredObject& existing, const json::Object& object, RoleWriter writer, const MakeDraft& make_draft) {
  return {.kind = WriteKind::update,
          .key = existing.key(),
          .expected_revision = existing.revision(),
          .object =
              make_draft({.resource = existing.resource(), .object = object, .existing = &existing, .writer = writer})};
}

Result<void> commit(ObjectStore& store, std::vector<Write> writes) {
  if (writes.empty()) return {};
  std::promise<Result<CommitOutcome>> promise;
  store.submit({.writes = std::move(writes), .preconditions = {}},
               [&](Result<CommitOutcome> outcome) { promise.set_value(std::move(outcome)); });
  auto outcome = promise.get_future().get();
  if (!outcome) return fail(std::move(outcome.error()));
  return {};
}

}  // namespace

std::vector<DefaultObject> default_roles() {
  std::vector<DefaultObject> all;
  for (const std::string_view name : tables::kubevirt_accounts) all.push_back(make_service_account(name));
  for (const std::string_view name : tables::service_accounts) all.push_back(make_service_account(name));
  for (const tables::RoleRow& row : tables::roles) all.push_back(make_role(row));
  for (const tables::RoleRow& row : tables::kubevirt_roles) all.push_back(make_role(row));
  for (const tables::BindingRow& row : tables::bindings) all.push_back(make_binding(row));
  for (const tables::BindingRow& row : tables::kubevirt_bindings) all.push_back(make_binding(row));
  return all;
}

std::vector<Write> plan_default_roles(const ObjectStore& store, const Clock& clock, const MakeDraft& make_draft) {
  const std::string now = print_rfc3339(Timestamp::from(clock.wall_now()));
  std::vector<Write> writes;
  for (DefaultObject& wanted : default_roles()) {
    const ObjectPtr existing = store.get(wanted.resource, wanted.ns, wanted.name);
    if (!existing) {
      writes.push_back(create(std::move(wanted), now, make_draft));
      continue;
    }
    auto document = json::Document::parse(existing->json());
    json::Object* object = document ? document->root().if_object() : nullptr;
    if (object && bring_up_to_date(*object, wanted))
      writes.push_back(update(*existing, *object, writer_of(wanted.name), make_draft));
  }
  return writes;
}

std::vector<Write> plan_aggregations(const ObjectStore& store, const Rbac& rbac, const MakeDraft& make_draft) {
  std::vector<Write> writes;
  for (const StaleAggregation& stale : rbac.stale_aggregations()) {
    const ObjectPtr existing = store.get(cluster_roles_resource, "", stale.name);
    if (!existing || existing->revision() != stale.revision) continue;  // it changed meanwhile; the next time then
    auto document = json::Document::parse(existing->json());
    json::Object* object = document ? document->root().if_object() : nullptr;
    if (!object) continue;
    (*object)["rules"] = auth::to_json(stale.rules, object->storage());
    writes.push_back(update(*existing, *object, RoleWriter::aggregation, make_draft));
  }
  return writes;
}

Result<void> bootstrap_roles(ObjectStore& store, const Clock& clock, const MakeDraft& make_draft) {
  if (auto done = commit(store, plan_default_roles(store, clock, make_draft)); !done) return done;
  return commit(store, plan_aggregations(store, Rbac(store), make_draft));
}

}  // namespace vg::local
