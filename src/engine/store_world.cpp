#include "engine/store_world.h"

#include <utility>

namespace vg::engine {

const json::Object* StoreWorld::open(const ObjectPtr& object) const {
  const auto found = open_.find(std::make_tuple(object->resource(), object->ns(), object->name()));
  if (found != open_.end()) return found->second->root().if_object();
  auto key = std::make_tuple(std::string(object->resource()), std::string(object->ns()), std::string(object->name()));
  return open_.emplace(std::move(key), opened_.open(*object)).first->second->root().if_object();
}

const json::Object* StoreWorld::get(std::string_view resource, std::string_view ns, std::string_view name) const {
  const auto found = open_.find(std::make_tuple(resource, ns, name));
  if (found != open_.end()) return found->second->root().if_object();
  const ObjectPtr object = store_.get(resource, ns, name);
  return object ? open(object) : nullptr;
}

template <class Matches>
std::vector<const json::Object*> StoreWorld::matching(std::string_view resource, std::string_view ns,
                                                      Matches matches) const {
  std::vector<const json::Object*> found;
  const auto page = store_.list({.resource = resource, .ns = ns, .matches = std::move(matches)});
  if (!page) return found;  // only a list of an older revision can be refused
  for (const ObjectPtr& object : page->objects) found.push_back(open(object));
  return found;
}

std::vector<const json::Object*> StoreWorld::list(std::string_view resource, std::string_view ns) const {
  return matching(resource, ns, nullptr);
}

std::vector<const json::Object*> StoreWorld::labelled(std::string_view resource, std::string_view ns,
                                                      std::string_view label, std::string_view value) const {
  return matching(resource, ns, [=](const StoredObject& object) { return object.label(label) == value; });
}

std::vector<const json::Object*> StoreWorld::owned_by(std::string_view resource, std::string_view ns,
                                                      std::string_view owner_uid) const {
  std::vector<const json::Object*> found;
  for (const ObjectPtr object : store_.owned_by(owner_uid))
    if (object->resource() == resource && object->ns() == ns && object->owned_by(owner_uid))
      found.push_back(open(object));
  return found;
}

}  // namespace vg::engine
