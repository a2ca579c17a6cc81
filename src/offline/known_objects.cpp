#include "offline/known_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "base/limits.h"
#include "catalog/catalog.h"
#include "json/access.h"
#include "json/document.h"
#include "objects/draft.h"
#include "offline/identity.h"

namespace vg::offline {
namespace {

constexpr char separator = '\x01';  // no name has it

// What objects may look like that are named and not at hand. What a rule finds wrong with both is wrong whatever they
// are.
struct Substitute {
  std::string_view resource;
  std::string_view modest, ample;
};
constexpr std::string_view small_type = R"({"spec":{"cpu":{"guest":1},"memory":{"guest":"1Gi"}}})";
constexpr std::string_view large_type = R"({"spec":{"cpu":{"guest":64},"memory":{"guest":"1Ti"}}})";
constexpr std::string_view no_preference = R"({"spec":{}})";
constexpr std::string_view some_preference = R"({"spec":{"devices":{"preferredDiskBus":"virtio"}}})";
constexpr std::string_view with_defaults = R"({"metadata":{"labels":{
  "instancetype.kubevirt.io/default-instancetype":"virtgate-stand-in",
  "instancetype.kubevirt.io/default-preference":"virtgate-stand-in"}},"spec":{}})";
constexpr std::string_view running =
    R"({"spec":{"domain":{"devices":{}}},"status":{"phase":"Running","nodeName":"n"}})";
constexpr std::array substitutes = std::to_array<Substitute>({
    {"instancetype.kubevirt.io/virtualmachineinstancetypes", small_type, large_type},
    {"instancetype.kubevirt.io/virtualmachineclusterinstancetypes", small_type, large_type},
    {"instancetype.kubevirt.io/virtualmachinepreferences", no_preference, some_preference},
    {"instancetype.kubevirt.io/virtualmachineclusterpreferences", no_preference, some_preference},
    {"persistentvolumeclaims", with_defaults, with_defaults},
    {"cdi.kubevirt.io/datavolumes", with_defaults, with_defaults},
    {"cdi.kubevirt.io/datasources", with_defaults, with_defaults},
    {"kubevirt.io/virtualmachineinstances", running, running},
    {"snapshot.kubevirt.io/virtualmachinesnapshots", R"({"status":{"readyToUse":true,"phase":"Succeeded"}})",
     R"({"status":{"readyToUse":true,"phase":"Succeeded"}})"},
});

ObjectPtr make_object(const resources::Resource& resource, std::string_view ns, std::string_view name,
                      std::string_view text) {
  auto document = json::Document::parse(text);
  json::Object& object = document->root().get_object();
  object["apiVersion"] = resource.storage_api_version;
  object["kind"] = resource.kind->kind;
  json::Object& metadata = json::ensure_object(object, "metadata");
  metadata["name"] = name;
  if (resource.kind->namespaced) metadata["namespace"] = ns;
  return known_object(object, ns);
}

ObjectPtr substitute(StandIn which, std::string_view key, std::string_view ns, std::string_view name) {
  const resources::Resource* resource = resources::find_resource(key);
  if (which == StandIn::none || !resource) return nullptr;
  const auto* found = std::ranges::find(substitutes, key, &Substitute::resource);
  const std::string_view text = found == substitutes.end() ? R"({"spec":{}})"
                                : which == StandIn::modest ? found->modest
                                                           : found->ample;
  return make_object(*resource, ns, name, text);
}

// There is no cluster without them.
bool always_exists(std::string_view ns) {
  static constexpr std::array<std::string_view, 5> names{"default", "kube-system", "kube-public", "kube-node-lease",
                                                         "kubevirt"};
  return std::ranges::find(names, ns) != names.end();
}

}  // namespace

std::string KnownObjects::key_text(std::string_view resource, std::string_view ns, std::string_view name) {
  std::string text;
  text.reserve(resource.size() + ns.size() + name.size() + 2);
  text.append(resource).push_back(separator);
  text.append(ns).push_back(separator);
  return text.append(name);
}

void KnownObjects::add(ObjectPtr object, std::size_t order) {
  std::string key = key_text(object->resource(), object->ns(), object->name());
  const std::string resource(object->resource());
  const std::unique_lock lock(mutex_);
  const auto [place, fresh] = objects_.try_emplace(std::move(key), Entry{object, order});
  if (fresh) {
    ++counts_[resource];
  } else if (order < place->second.order) {
    displaced_.insert(place->second.order);
    place->second = {std::move(object), order};
  }
}

std::set<std::size_t> KnownObjects::displaced() const {
  const std::shared_lock lock(mutex_);
  return displaced_;
}

ObjectPtr KnownObjects::get(std::string_view resource, std::string_view ns, std::string_view name) const {
  const std::shared_lock lock(mutex_);
  const auto found = objects_.find(key_text(resource, ns, name));
  return found == objects_.end() ? nullptr : found->second.object;
}

std::vector<ObjectPtr> KnownObjects::list(std::string_view resource, std::string_view ns) const {
  std::string prefix(resource);
  prefix.push_back(separator);
  if (!ns.empty()) prefix.append(ns).push_back(separator);
  const std::shared_lock lock(mutex_);
  std::vector<ObjectPtr> found;
  for (auto at = objects_.lower_bound(prefix); at != objects_.end() && at->first.starts_with(prefix); ++at)
    found.push_back(at->second.object);
  return found;
}

std::size_t KnownObjects::count(std::string_view resource) const {
  const std::shared_lock lock(mutex_);
  const auto found = counts_.find(resource);
  return found == counts_.end() ? 0 : found->second;
}

std::size_t KnownObjects::first_of(const ObjectKey& key) const {
  const std::shared_lock lock(mutex_);
  const auto found = objects_.find(key_text(key.resource, key.ns, key.name));
  return found == objects_.end() ? SIZE_MAX : found->second.order;
}

void ObjectsBeside::note(std::string_view resource) const {
  if (!asked_.contains(std::string(resource))) asked_.emplace(resource, known_.count(resource));
}

ObjectPtr ObjectsBeside::find_further(std::string_view resource, std::string_view ns, std::string_view name) const {
  if (!known_.further()) return nullptr;
  auto found = known_.further()->get({std::string(resource), std::string(ns), std::string(name)});
  if (found) return std::move(*found);
  failure_ = found.error().message;
  return nullptr;
}

ObjectPtr ObjectsBeside::get(std::string_view resource, std::string_view ns, std::string_view name) const {
  if (resource == self_.resource && ns == self_.ns && name == self_.name) return nullptr;
  const bool space = resource == "namespaces";
  if (space && always_exists(name)) return substitute(StandIn::modest, resource, ns, name);
  note(resource);  // before it is looked for: what comes in between is then seen as a change
  if (auto found = known_.get(resource, ns, name)) return found;
  if (auto found = find_further(resource, ns, name)) return found;
  if (name != stand_in_name) missing_.insert({std::string(resource), std::string(ns), std::string(name)});
  return substitute(space && any_namespace_ ? StandIn::modest : stand_in_, resource, ns, name);
}

Result<ListPage> ObjectsBeside::list(const ListQuery& query) const {
  note(query.resource);
  std::vector<ObjectPtr> all = known_.list(query.resource, query.ns);
  if (known_.further()) {
    auto more = known_.further()->list(query.resource, query.ns);
    if (!more) return fail(std::move(more.error()));
    for (ObjectPtr& object : *more)
      if (!known_.get(object->resource(), object->ns(), object->name())) all.push_back(std::move(object));
  }
  std::erase_if(all, [&](const ObjectPtr& object) {
    const bool self = object->resource() == self_.resource && object->ns() == self_.ns && object->name() == self_.name;
    return self || (query.matches && !query.matches(*object));
  });
  return ListPage{.revision = 1, .objects = ObjectList(std::move(all)), .remaining = 0};
}

std::size_t ObjectsBeside::count(std::string_view resource) const {
  note(resource);
  return known_.further() ? std::max<std::size_t>(1, known_.count(resource)) : known_.count(resource);
}

void ObjectsBeside::submit(Transaction, Completion done) {
  done(fail(Status::internal_error("nothing is written without a server")));
}

Result<std::unique_ptr<Watch>> ObjectsBeside::watch(WatchQuery, Waker) {
  return fail(Status::internal_error("nothing changes without a server"));
}

ObjectPtr known_object(const json::Object& object, std::string_view ns) {
  const resources::Resource* resource = resource_of(object).resource;
  const json::Object* metadata = json::get_object(object, "metadata");
  if (!resource || !metadata || resource->conversion) return nullptr;
  const std::string_view name = json::get_string_or(*metadata, "name");
  // A name that no object can have is nobody's.
  if (name.empty() || std::max(name.size(), ns.size()) > limits::dns_subdomain_bytes_max) return nullptr;
  const ObjectKey key{resource->key, resource->kind->namespaced ? std::string(ns) : std::string(), std::string(name)};
  return resources::unstored_object(key, resources::make_draft(object, *resource), 1);
}

}  // namespace vg::offline
