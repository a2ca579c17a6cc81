#include "objects/policies/policy_set.h"

#include "json/document.h"
#include "objects/draft.h"

namespace vg::resources {

using namespace policies;

namespace {

// Keeps what did not change, reads what did, forgets what is gone.
template <class Made>
void follow(const ObjectStore& store, std::string_view key, Made (*read)(const json::Object&),
            std::map<std::string, std::pair<Revision, std::shared_ptr<const Made>>>& known) {
  const auto page = store.list({.resource = key});
  if (!page) return;  // only a past revision can be refused
  std::map<std::string, std::pair<Revision, std::shared_ptr<const Made>>> now;
  for (const ObjectPtr& object : page->objects) {
    std::string name(object->name());
    const auto before = known.find(name);
    if (before != known.end() && before->second.first == object->revision()) {
      now.insert(*before);
      continue;
    }
    json::Document memory;
    const json::Value document = load_object(*object, memory.storage());
    now.emplace(std::move(name),
                std::pair(object->revision(), std::make_shared<const Made>(read(document.get_object()))));
  }
  known = std::move(now);
}

}  // namespace

// Whether anything happened since it was asked last. A watch that fell behind begins anew.
bool AdmissionPolicies::changed(std::unique_ptr<Watch>& watch, std::string_view key) {
  constexpr std::size_t batch = 256;
  bool any = false;
  while (watch) {
    auto next = watch->next(batch);
    if (!next) watch = nullptr;
    if (!next || !next->changes.empty()) any = true;
    if (next && !next->more) return any;
  }
  auto started =
      store_.watch({.resource = std::string(key), .ns = {}, .name = {}, .from_revision = store_.revision()}, [] {});
  if (started) watch = std::move(*started);
  return true;
}

void AdmissionPolicies::read_again() {
  follow<Policy>(store_, policies_key, read_policy, policies_);
  follow<Binding>(store_, bindings_key, read_binding, bindings_);
  auto set = std::make_shared<PolicySet>();
  for (const auto& [name, policy] : policies_) {
    Hook hook{.policy = policy.second, .bindings = {}};
    for (const auto& [binding_name, binding] : bindings_)
      if (binding.second->policy_name == name) hook.bindings.push_back(binding.second);
    if (!hook.bindings.empty()) set->push_back(std::move(hook));
  }
  set_ = set->empty() ? nullptr : std::move(set);
}

std::shared_ptr<const PolicySet> AdmissionPolicies::current() {
  if (store_.count(policies_key) == 0 || store_.count(bindings_key) == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  // Both, whatever the first says: each begins where it ended.
  const bool policies_changed = changed(policy_watch_, policies_key);
  const bool bindings_changed = changed(binding_watch_, bindings_key);
  if (policies_changed || bindings_changed) read_again();
  return set_;
}

}  // namespace vg::resources
