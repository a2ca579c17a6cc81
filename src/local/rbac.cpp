#include "local/rbac.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "auth/identify.h"
#include "auth/service_account.h"
#include "base/joined.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/off_loop.h"
#include "base/selector.h"
#include "json/access.h"
#include "json/document.h"

namespace vg::local {

using auth::PolicyRule;

namespace {

constexpr std::size_t changes_a_batch = 1000;

constexpr auto settle_pause = std::chrono::milliseconds(20);

// Ordered: names come from clients, and no choice of names makes it slow.
template <class T>
using ByText = std::map<std::string, T, std::less<>>;

// Rules with their index, which refers to them.
struct Grants {
  explicit Grants(std::vector<PolicyRule> given)
      : rules(std::move(given)), index(rules), bytes(auth::text_bytes(rules)) {}
  Grants(const Grants&) = delete;
  Grants& operator=(const Grants&) = delete;
  const std::vector<PolicyRule> rules;
  const auth::RuleIndex index;
  const std::size_t bytes;
};
using GrantsPtr = std::shared_ptr<const Grants>;

struct Role {
  GrantsPtr grants;  // as stored
  std::vector<std::pair<std::string, std::string>> labels;
  std::optional<std::vector<LabelSelector>> selectors;  // of an aggregation rule that can be read
  Revision revision = 0;
};
using RolePtr = std::shared_ptr<const Role>;

struct Subject {
  bool group = false;
  std::string name;  // as it stands in a User: service accounts by their user name
};

struct Binding {
  std::string ns, name;
  std::string role_kind, role_name;
  std::vector<Subject> subjects;
};
using BindingPtr = std::shared_ptr<const Binding>;

// The bindings of the cluster or of one namespace, by who is bound.
struct SubjectIndex {
  ByText<std::vector<BindingPtr>> users, groups;

  void add(const BindingPtr& binding) {
    for (const Subject& subject : binding->subjects) {
      auto& bindings = (subject.group ? groups : users)[subject.name];
      if (bindings.empty() || bindings.back() != binding) bindings.push_back(binding);
    }
  }
  // visit(binding, is_group, subject) until it says true.
  template <class Visit>
  bool any(const User& user, Visit&& visit) const {
    const auto look = [&](const ByText<std::vector<BindingPtr>>& in, const std::string& name, bool group) {
      const auto found = in.find(name);
      if (found == in.end()) return false;
      return std::ranges::any_of(found->second,
                                 [&](const BindingPtr& binding) { return visit(*binding, group, name); });
    };
    if (look(users, user.name, false)) return true;
    return std::ranges::any_of(user.groups, [&](const std::string& group) { return look(groups, group, true); });
  }
};

struct NamespacePolicy {
  ByText<RolePtr> roles;
  SubjectIndex bindings;
};

}  // namespace

struct RbacSnapshot {
  std::shared_ptr<const ByText<GrantsPtr>> cluster_roles;  // what they grant, gathered rules included
  std::shared_ptr<const SubjectIndex> cluster_bindings;
  std::shared_ptr<const ByText<std::shared_ptr<const NamespacePolicy>>> namespaces;
  struct Stale {
    std::string name;
    Revision revision = 0;
    GrantsPtr grants;
  };
  std::vector<Stale> stale;

  const NamespacePolicy* in_namespace(std::string_view ns) const {
    const auto found = namespaces->find(ns);
    return found == namespaces->end() ? nullptr : found->second.get();
  }

  // Null where there is no such role; a binding to one that comes later is allowed and gives nothing until then.
  const Grants* grants_of(std::string_view kind, std::string_view name, std::string_view ns) const {
    if (kind == "ClusterRole") {
      const auto found = cluster_roles->find(name);
      return found == cluster_roles->end() ? nullptr : found->second.get();
    }
    const NamespacePolicy* policy = kind == "Role" && !ns.empty() ? in_namespace(ns) : nullptr;
    if (!policy) return nullptr;
    const auto found = policy->roles.find(name);
    return found == policy->roles.end() ? nullptr : found->second->grants.get();
  }

  // visit(binding, is_group, subject, grants) for everything that binds the user there, until it says true. Grants are
  // null where the role is missing.
  template <class Visit>
  bool any_binding(const User& user, std::string_view ns, Visit&& visit) const {
    const auto resolve = [&](const Binding& binding, bool group, const std::string& subject) {
      return visit(binding, group, subject, grants_of(binding.role_kind, binding.role_name, binding.ns));
    };
    if (cluster_bindings->any(user, resolve)) return true;
    const NamespacePolicy* policy = ns.empty() ? nullptr : in_namespace(ns);
    return policy && policy->bindings.any(user, resolve);
  }

  // visit(grants) for every role that the user has there.
  template <class Visit>
  void each_grant(const User& user, std::string_view ns, Visit&& visit) const {
    any_binding(user, ns, [&](const Binding&, bool, const std::string&, const Grants* grants) {
      if (grants) visit(*grants);
      return false;
    });
  }
};

namespace {

const json::Object& empty_object() {
  static const json::Object none;
  return none;
}

std::optional<LabelSelector> selector_from(const json::Value& value) {
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<MatchExpression> expressions;
  if (const json::Object* wanted = json::get_object(value, "matchLabels"))
    for (const auto& [key, text] : *wanted) labels.emplace_back(key, json::as_string(&text).value_or(""));
  if (const json::Array* list = json::get_array(value, "matchExpressions"))
    for (const json::Value& one : *list) {
      MatchExpression expression{.key = std::string(json::get_string_or(one, "key")),
                                 .op = std::string(json::get_string_or(one, "operator")),
                                 .values = {}};
      if (const json::Array* values = json::get_array(one, "values"))
        for (const json::Value& text : *values) expression.values.emplace_back(json::as_string(&text).value_or(""));
      expressions.push_back(std::move(expression));
    }
  auto selector = LabelSelector::from(labels, expressions);
  return selector ? std::optional(std::move(*selector)) : std::nullopt;
}

// Nothing for a role that gathers nothing, and for one with a selector that cannot be read: its stored rules count.
std::optional<std::vector<LabelSelector>> selectors_of(const json::Object& role) {
  const json::Object* rule = json::get_object(role, "aggregationRule");
  if (!rule) return std::nullopt;
  std::vector<LabelSelector> selectors;
  if (const json::Array* list = json::get_array(*rule, "clusterRoleSelectors"))
    for (const json::Value& value : *list) {
      auto selector = selector_from(value);
      if (!selector) return std::nullopt;
      selectors.push_back(std::move(*selector));
    }
  return selectors;
}

RolePtr parse_role(const StoredObject& object, const json::Object& json) {
  auto role = std::make_shared<Role>();
  role->grants = std::make_shared<const Grants>(auth::policy_rules_of(json));
  role->selectors = selectors_of(json);
  role->revision = object.revision();
  object.for_each_label([&](std::string_view key, std::string_view value) { role->labels.emplace_back(key, value); });
  return role;
}

std::optional<Subject> parse_subject(const json::Value& value, std::string_view binding_ns) {
  const std::string_view kind = json::get_string_or(value, "kind"), name = json::get_string_or(value, "name");
  if (kind == "User") return Subject{.group = false, .name = std::string(name)};
  if (kind == "Group") return Subject{.group = true, .name = std::string(name)};
  if (kind != "ServiceAccount") return std::nullopt;
  std::string_view ns = json::get_string_or(value, "namespace");
  if (ns.empty()) ns = binding_ns;
  if (ns.empty()) return std::nullopt;
  return Subject{.group = false, .name = auth::service_account_user(ns, name)};
}

BindingPtr parse_binding(const StoredObject& object, const json::Object& json) {
  auto binding = std::make_shared<Binding>();
  binding->ns = object.ns();
  binding->name = object.name();
  if (const json::Object* reference = json::get_object(json, "roleRef")) {
    binding->role_kind = json::get_string_or(*reference, "kind");
    binding->role_name = json::get_string_or(*reference, "name");
  }
  if (const json::Array* subjects = json::get_array(json, "subjects"))
    for (const json::Value& value : *subjects)
      if (auto subject = parse_subject(value, binding->ns)) binding->subjects.push_back(std::move(*subject));
  return binding;
}

// Gathers the rules of the roles that a role's selectors name, and through those that gather themselves; each rule
// once, in the order of selectors, then of names. Roles may name each other: each is entered once.
class Gatherer {
 public:
  explicit Gatherer(const std::map<std::string, RolePtr, std::less<>>& roles) : roles_(roles) {}

  std::vector<PolicyRule> gather(const std::string& name, const Role& role) {
    entered_ = {name};
    rules_.clear();
    known_.clear();
    enter(role);
    return std::move(rules_);
  }

 private:
  void enter(const Role& role) {
    for (const LabelSelector& selector : *role.selectors)
      for (const auto& [name, other] : roles_) {
        if (!selects(selector, *other) || !entered_.insert(name).second) continue;
        if (other->selectors)
          enter(*other);
        else
          add(other->grants->rules);
      }
  }
  static bool selects(const LabelSelector& selector, const Role& role) {
    return selector.matches([&](std::string_view key) -> std::optional<std::string_view> {
      const auto found = std::ranges::find(role.labels, key, &std::pair<std::string, std::string>::first);
      return found == role.labels.end() ? std::nullopt : std::optional<std::string_view>(found->second);
    });
  }
  void add(const std::vector<PolicyRule>& rules) {
    for (const PolicyRule& rule : rules)
      if (known_.insert(&rule).second) rules_.push_back(rule);
  }
  struct ByContent {
    bool operator()(const PolicyRule* one, const PolicyRule* other) const { return *one < *other; }
  };

  const std::map<std::string, RolePtr, std::less<>>& roles_;
  std::set<std::string, std::less<>> entered_;
  std::set<const PolicyRule*, ByContent> known_;  // in the roles, which stay where they are
  std::vector<PolicyRule> rules_;
};

std::string describe_subject(const std::string& name, bool group) {
  if (group) return fmt::format("Group \"{}\"", name);
  if (const auto account = auth::split_service_account_user(name))
    return fmt::format("ServiceAccount \"{}/{}\"", account->name, account->ns);
  return fmt::format("User \"{}\"", name);
}

std::string describe_grant(const Binding& binding, const std::string& subject, bool group) {
  const bool of_cluster = binding.ns.empty();
  return fmt::format("RBAC: allowed by {} \"{}{}{}\" of {} \"{}\" to {}",
                     of_cluster ? "ClusterRoleBinding" : "RoleBinding", binding.name, of_cluster ? "" : "/", binding.ns,
                     binding.role_kind, binding.role_name, describe_subject(subject, group));
}

// Roles that bindings of the user name and that are missing: in most cases why they may not do what they ask for.
class MissingRoles {
 public:
  void add(const Binding& binding) {
    if (phrases_.size() == limits::role_problems_told_max) return;
    std::string phrase = fmt::format("{}.{} \"{}\" not found", binding.role_kind == "Role" ? "role" : "clusterrole",
                                     auth::rbac_group, binding.role_name);
    if (std::ranges::find(phrases_, phrase) == phrases_.end()) phrases_.push_back(std::move(phrase));
  }
  // As kube-apiserver has it: one by itself, several in brackets.
  std::string describe() const {
    if (phrases_.empty()) return {};
    if (phrases_.size() == 1) return "RBAC: " + phrases_.front();
    return fmt::format("RBAC: [{}]", joined(phrases_, ", "));
  }

 private:
  std::vector<std::string> phrases_;
};

}  // namespace

// The parsed objects, and how far in the store's stream of changes they are.
class Rbac::Mirror {
 public:
  explicit Mirror(ObjectStore& store) : store_(store) {}

  // Brings all four resources to one and the same revision, this one or a later one, and says which. Not each as far as
  // it goes: a role read before it was narrowed, with a binding made only afterwards, would grant what nobody ever had.
  // Nothing, and nothing done, when changes of more than `bytes_max` would have to be read. A list is read at once: it
  // is the first, or ten thousand changes were missed, and there is no telling what they were.
  Result<std::optional<Revision>> read_until(Revision wanted, std::size_t bytes_max) {
    for (int attempt = 0; attempt < limits::rbac_read_attempts_max; ++attempt) {
      for (Source& source : sources_) {
        if (source.watch) continue;
        if (auto listed = list(source); !listed) return fail(std::move(listed.error()));
        wanted = std::max(wanted, source.progress);
      }
      bool complete = true;
      for (Source& source : sources_) {
        auto read = fetch(source, wanted);
        if (!read) return fail(std::move(read.error()));
        complete = complete && *read;
      }
      if (!complete) continue;
      if (bytes_until(wanted) > bytes_max) return std::nullopt;
      for (Source& source : sources_)
        for (; !source.ahead.empty() && source.ahead.front().revision <= wanted; source.ahead.pop_front())
          apply(source, source.ahead.front());
      return wanted;
    }
    return fail(Status::unavailable("roles and bindings change faster than they can be read"));
  }
  // Reads everything anew the next time.
  void start_over() {
    for (Source& source : sources_) source.watch = nullptr;
  }
  bool changed() const { return cluster_roles_changed_ || cluster_bindings_changed_ || !namespaces_changed_.empty(); }

  std::shared_ptr<const RbacSnapshot> make_snapshot(const RbacSnapshot* before) {
    auto snapshot = before ? std::make_shared<RbacSnapshot>(*before) : std::make_shared<RbacSnapshot>();
    if (!before || cluster_roles_changed_) make_cluster_roles(*snapshot);
    if (!before || cluster_bindings_changed_) {
      auto index = std::make_shared<SubjectIndex>();
      for (const auto& [name, binding] : cluster_bindings_) index->add(binding);
      snapshot->cluster_bindings = std::move(index);
    }
    if (!before || !namespaces_changed_.empty()) make_namespaces(*snapshot, before == nullptr);
    cluster_roles_changed_ = cluster_bindings_changed_ = false;
    namespaces_changed_.clear();
    return snapshot;
  }

 private:
  struct Source {
    std::string_view resource;
    void (Mirror::*forget_all)();
    void (Mirror::*take)(const StoredObject& object, const json::Object* json);  // null: it is gone
    std::unique_ptr<Watch> watch = {};
    Revision progress = 0;          // every change up to here was handed out
    std::deque<Change> ahead = {};  // of them, those that were not read yet
  };
  struct NamespaceObjects {
    std::map<std::string, RolePtr, std::less<>> roles;
    std::map<std::string, BindingPtr, std::less<>> bindings;
  };

  // Takes changes up to there from the watch. False when it fell behind what the store keeps: the resource must be
  // listed again.
  Result<bool> fetch(Source& source, Revision wanted) {
    while (source.progress < wanted) {
      auto batch = source.watch->next(changes_a_batch);
      if (!batch) {
        source.watch = nullptr;
        if (batch.error().code != 410) return fail(std::move(batch.error()));
        return false;
      }
      std::ranges::move(batch->changes, std::back_inserter(source.ahead));
      source.progress = batch->progress;
    }
    return true;
  }

  // How much text there is to read.
  std::size_t bytes_until(Revision wanted) const {
    std::size_t bytes = 0;
    for (const Source& source : sources_)
      for (const Change& change : source.ahead) {
        if (change.revision > wanted) break;
        if (change.type != ChangeType::removed) bytes += change.object->json().size();
      }
    return bytes;
  }

  Result<void> list(Source& source) {
    auto page = store_.list({.resource = source.resource});
    if (!page) return fail(std::move(page.error()));
    auto watch = store_.watch(
        {.resource = std::string(source.resource), .ns = {}, .name = {}, .from_revision = page->revision}, [] {});
    if (!watch) return fail(std::move(watch.error()));
    (this->*source.forget_all)();
    for (const ObjectPtr& object : page->objects) take(source, *object);
    source.ahead.clear();
    source.watch = std::move(*watch);
    source.progress = page->revision;
    return {};
  }

  void apply(const Source& source, const Change& change) {
    if (change.type == ChangeType::removed)
      (this->*source.take)(*change.object, nullptr);
    else
      take(source, *change.object);
  }

  void take(const Source& source, const StoredObject& object) {
    auto document = json::Document::parse(object.json());
    // What cannot be read grants nothing.
    const json::Object* json = document ? document->root().if_object() : nullptr;
    if (!json)
      log::error("a stored RBAC object cannot be read and is ignored",
                 {{"resource", source.resource}, {"namespace", object.ns()}, {"name", object.name()}});
    (this->*source.take)(object, json ? json : &empty_object());
  }

  template <class Map, class Parse>
  static void put(Map& map, const StoredObject& object, const json::Object* json, Parse parse) {
    if (json)
      map.insert_or_assign(std::string(object.name()), parse(object, *json));
    else if (const auto found = map.find(object.name()); found != map.end())
      map.erase(found);
  }

  void forget_cluster_roles() {
    cluster_roles_.clear();
    cluster_roles_changed_ = true;
  }
  void take_cluster_role(const StoredObject& object, const json::Object* json) {
    put(cluster_roles_, object, json, parse_role);
    cluster_roles_changed_ = true;
  }
  void forget_cluster_bindings() {
    cluster_bindings_.clear();
    cluster_bindings_changed_ = true;
  }
  void take_cluster_binding(const StoredObject& object, const json::Object* json) {
    put(cluster_bindings_, object, json, parse_binding);
    cluster_bindings_changed_ = true;
  }
  void forget_roles() {
    for (auto& [ns, objects] : namespaces_) {
      objects.roles.clear();
      namespaces_changed_.insert(ns);
    }
  }
  void take_role(const StoredObject& object, const json::Object* json) {
    put(namespaces_[std::string(object.ns())].roles, object, json, parse_role);
    namespaces_changed_.emplace(object.ns());
  }
  void forget_bindings() {
    for (auto& [ns, objects] : namespaces_) {
      objects.bindings.clear();
      namespaces_changed_.insert(ns);
    }
  }
  void take_binding(const StoredObject& object, const json::Object* json) {
    put(namespaces_[std::string(object.ns())].bindings, object, json, parse_binding);
    namespaces_changed_.emplace(object.ns());
  }

  void make_cluster_roles(RbacSnapshot& snapshot) const {
    auto granted = std::make_shared<ByText<GrantsPtr>>();
    snapshot.stale.clear();
    Gatherer gatherer(cluster_roles_);
    for (const auto& [name, role] : cluster_roles_) {
      if (!role->selectors) {
        granted->emplace(name, role->grants);
        continue;
      }
      auto rules = gatherer.gather(name, *role);
      if (rules == role->grants->rules) {  // as it should be: one copy does for both
        granted->emplace(name, role->grants);
        continue;
      }
      auto grants = std::make_shared<const Grants>(std::move(rules));
      snapshot.stale.push_back({.name = name, .revision = role->revision, .grants = grants});
      granted->emplace(name, std::move(grants));
    }
    snapshot.cluster_roles = std::move(granted);
  }

  void make_namespaces(RbacSnapshot& snapshot, bool all) {
    auto policies = snapshot.namespaces
                        ? std::make_shared<ByText<std::shared_ptr<const NamespacePolicy>>>(*snapshot.namespaces)
                        : std::make_shared<ByText<std::shared_ptr<const NamespacePolicy>>>();
    if (all)
      for (const auto& [ns, objects] : namespaces_) namespaces_changed_.insert(ns);
    for (const std::string& ns : namespaces_changed_) {
      const auto objects = namespaces_.find(ns);
      if (objects == namespaces_.end()) continue;
      if (objects->second.roles.empty() && objects->second.bindings.empty()) {
        namespaces_.erase(objects);
        policies->erase(ns);
        continue;
      }
      auto policy = std::make_shared<NamespacePolicy>();
      for (const auto& [name, role] : objects->second.roles) policy->roles.emplace(name, role);
      for (const auto& [name, binding] : objects->second.bindings) policy->bindings.add(binding);
      policies->insert_or_assign(ns, std::move(policy));
    }
    snapshot.namespaces = std::move(policies);
  }

  ObjectStore& store_;
  std::map<std::string, RolePtr, std::less<>> cluster_roles_;
  std::map<std::string, BindingPtr, std::less<>> cluster_bindings_;
  std::map<std::string, NamespaceObjects, std::less<>> namespaces_;
  bool cluster_roles_changed_ = false, cluster_bindings_changed_ = false;
  std::set<std::string, std::less<>> namespaces_changed_;
  // Roles before bindings: a binding that is seen finds the role that was written before it.
  std::array<Source, 4> sources_{{
      {cluster_roles_resource, &Mirror::forget_cluster_roles, &Mirror::take_cluster_role},
      {roles_resource, &Mirror::forget_roles, &Mirror::take_role},
      {cluster_role_bindings_resource, &Mirror::forget_cluster_bindings, &Mirror::take_cluster_binding},
      {role_bindings_resource, &Mirror::forget_bindings, &Mirror::take_binding},
  }};
};

namespace {

constexpr const char* unreadable_message = "roles and bindings cannot be read; they allow nothing until they can";
Status unreadable() { return Status::unavailable("the roles cannot be read now; try again"); }

}  // namespace

Rbac::Rbac(ObjectStore& store, std::chrono::nanoseconds snapshot_time_max)
    : store_(store), snapshot_time_max_(snapshot_time_max), mirror_(std::make_unique<Mirror>(store)) {}
Rbac::~Rbac() {
  for (auto left = working_.load(); left != 0; left = working_.load()) working_.wait(left);
}

// With the mirror locked. False when the store cannot be read.
bool Rbac::read_changes(Revision wanted, Effort effort, bool& postponed) const {
  if (snapshot_.any() && checked_.load(std::memory_order_relaxed) >= wanted) return true;
  // At the start there is no snapshot to go on with.
  const bool may_postpone = effort == Effort::core && snapshot_.any();
  const auto read = mirror_->read_until(wanted, may_postpone ? limits::rbac_bytes_here_max : SIZE_MAX);
  if (!read) {
    log::error(unreadable_message, {{"reason", read.error().message}});
    return false;
  }
  const bool changed = mirror_->changed() || !snapshot_.any();
  postponed = !*read || (may_postpone && slow_ && changed);
  if (postponed) return true;
  if (changed) {
    const auto began = std::chrono::steady_clock::now();
    snapshot_.publish(mirror_->make_snapshot(snapshot_.share().get()));
    slow_ = std::chrono::steady_clock::now() - began > snapshot_time_max_;
  }
  checked_.store(**read, std::memory_order_release);
  return true;
}

bool Rbac::catch_up(Revision wanted, Effort effort) const {
  bool postponed = false;
  {
    const std::lock_guard lock(mirror_mutex_);
    try {
      if (!read_changes(wanted, effort, postponed)) return false;
    } catch (const std::exception& error) {
      // There was no memory for it. What a watch has handed out and nobody read would never count, and a worker that
      // does not end would leave everybody with the snapshot before for good.
      mirror_->start_over();
      log::error(unreadable_message, {{"reason", error.what()}});
      return false;
    }
  }
  if (postponed) hand_to_worker();
  return true;
}

void Rbac::hand_to_worker() const {
  unsigned none = 0;
  if (!working_.compare_exchange_strong(none, 1, std::memory_order_acq_rel)) return;  // one is at it
  const auto work = [this] {
    catch_up(store_.revision(), Effort::worker);
    working_.fetch_sub(1, std::memory_order_acq_rel);
    working_.notify_all();
  };
  if (!run_off_loop(work)) work();
}

const RbacSnapshot* Rbac::current() const {
  const Revision wanted = store_.revision();
  const bool first = !snapshot_.any();
  // While a worker reads changes, the snapshot before is good: nobody was told yet that they are written.
  const bool in_work = !first && working_.load(std::memory_order_acquire) != 0;
  if ((first || checked_.load(std::memory_order_acquire) < wanted) && !in_work && !catch_up(wanted, Effort::core))
    return nullptr;
  return snapshot_.get();
}

Task<void> Rbac::settle(Core& core) {
  const Revision wanted = store_.revision();
  for (int attempt = 0; attempt < limits::rbac_settle_attempts_max; ++attempt) {
    if (working_.load(std::memory_order_acquire) == 0 && !catch_up(wanted, Effort::core)) co_return;
    if (checked_.load(std::memory_order_acquire) >= wanted) co_return;
    const auto worked = co_await off_loop(core, off_loop_bytes_min, [&]() -> Result<void> {
      working_.fetch_add(1, std::memory_order_acq_rel);
      catch_up(wanted, Effort::worker);
      working_.fetch_sub(1, std::memory_order_acq_rel);
      working_.notify_all();
      return {};
    });
    if (!worked) co_await core.sleep(settle_pause);
  }
}

Result<AccessDecision> Rbac::decide(const User& user, const AccessAttributes& attributes) const {
  if (user.in_group(auth::administrators_group))
    return AccessDecision{.allowed = true,
                          .reason = fmt::format("members of {} may do everything", auth::administrators_group)};
  const RbacSnapshot* snapshot = current();
  if (!snapshot) return fail(unreadable());
  AccessDecision decision;
  const std::string_view ns = attributes.resource_request ? attributes.ns : std::string_view();
  const auth::RuleQuery query(attributes);
  MissingRoles missing;
  snapshot->any_binding(user, ns,
                        [&](const Binding& binding, bool group, const std::string& subject, const Grants* grants) {
                          if (!grants) {
                            missing.add(binding);
                            return false;
                          }
                          decision.allowed = grants->index.allows(query);
                          if (decision.allowed) decision.reason = describe_grant(binding, subject, group);
                          return decision.allowed;
                        });
  if (!decision.allowed) decision.reason = missing.describe();
  return decision;
}

Task<Result<AccessDecision>> Rbac::authorize(Core&, const User& user, const AccessAttributes& attributes) {
  co_return decide(user, attributes);
}

std::vector<PolicyRule> Rbac::rules_for(const User& user, std::string_view ns) const {
  std::vector<PolicyRule> all;
  if (user.in_group(auth::administrators_group)) {
    all.push_back({.verbs = {"*"}, .api_groups = {"*"}, .resources = {"*"}});
    all.push_back({.verbs = {"*"}, .non_resource_urls = {"*"}});
  }
  if (const RbacSnapshot* snapshot = current())
    snapshot->each_grant(
        user, ns, [&](const Grants& grants) { all.insert(all.end(), grants.rules.begin(), grants.rules.end()); });
  return all;
}

Result<std::vector<PolicyRule>> Rbac::rules_of_role(std::string_view kind, std::string_view name,
                                                    std::string_view ns) const {
  const RbacSnapshot* snapshot = current();
  if (!snapshot) return fail(unreadable());
  if (const Grants* grants = snapshot->grants_of(kind, name, ns)) return grants->rules;
  return fail(
      Status::not_found(std::string(auth::rbac_group), kind == "Role" ? "roles" : "clusterroles", std::string(name)));
}

std::size_t Rbac::bytes_for(const User& user, std::string_view ns) const {
  std::size_t bytes = 0;
  if (const RbacSnapshot* snapshot = current())
    snapshot->each_grant(user, ns, [&](const Grants& grants) { bytes += grants.bytes; });
  return bytes;
}

std::size_t Rbac::bytes_of_role(std::string_view kind, std::string_view name, std::string_view ns) const {
  const RbacSnapshot* snapshot = current();
  const Grants* grants = snapshot ? snapshot->grants_of(kind, name, ns) : nullptr;
  return grants ? grants->bytes : 0;
}

std::vector<StaleAggregation> Rbac::stale_aggregations() const {
  std::vector<StaleAggregation> all;
  if (const RbacSnapshot* snapshot = current())
    for (const RbacSnapshot::Stale& stale : snapshot->stale)
      all.push_back({.name = stale.name, .revision = stale.revision, .rules = stale.grants->rules});
  return all;
}

}  // namespace vg::local
