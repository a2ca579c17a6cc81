#include "admission/store_lookups.h"

#include <fmt/format.h>

#include <new>
#include <utility>

#include "admission/lookup_allowance.h"
#include "admission/lookup_name.h"
#include "base/limits.h"
#include "json/access.h"
#include "json/parse.h"

namespace vg::admission {
namespace {

// Objects were within the limits when they were stored, and the limits may have become smaller since.
constexpr json::ParseOptions stored_options{.bytes_max = SIZE_MAX};

// The object as a client gets it. The root of a value needs a place in the request's memory as well: its members are
// there already.
Result<json::Value*> keep(const StoredObject& object, const json::StoragePtr& storage) {
  auto parsed = json::parse(object.json(), storage, stored_options);
  if (!parsed) return fail(Status::internal_error("a stored object cannot be read: " + parsed.error().message));
  if (json::Object* metadata = json::get_object(*parsed, "metadata"))
    (*metadata)["resourceVersion"] = fmt::to_string(object.revision());
  void* place = storage->allocate(sizeof(json::Value), alignof(json::Value));
  return new (place) json::Value(std::move(*parsed));
}

// They all go into the request's memory at once.
Result<void> check_size(std::string_view resource, const ObjectList& objects) {
  const std::size_t bytes = objects.bytes();
  if (bytes <= limits::lookup_list_bytes_max) return {};
  return fail(Status::internal_error(
      fmt::format("the {} {} to check have {} bytes, at most {} are supported; delete those that "
                  "are not needed any more",
                  objects.size(), resource, bytes, limits::lookup_list_bytes_max)));
}

}  // namespace

Result<json::Value*> StoreLookups::get(std::string_view resource, std::string_view ns, std::string_view name,
                                       const json::StoragePtr& storage) const {
  if (auto good = check_lookup_name(resource, name); !good) return fail(std::move(good.error()));
  const ObjectPtr object = store_.get(resource, ns, name);
  if (!object) return nullptr;
  LookupAllowance::take(object->json().size());
  return keep(*object, storage);
}

Result<std::vector<json::Value*>> StoreLookups::list(std::string_view resource, std::string_view ns,
                                                     const json::StoragePtr& storage) const {
  return read({.resource = resource, .ns = ns}, storage);
}

Result<std::vector<json::Value*>> StoreLookups::list_labelled(std::string_view resource, std::string_view ns,
                                                              std::string_view label, std::string_view value,
                                                              const json::StoragePtr& storage) const {
  return read({.resource = resource,
               .ns = ns,
               .matches = [label, value](const StoredObject& object) { return object.label(label) == value; }},
              storage);
}

Result<std::vector<json::Value*>> StoreLookups::read(const ListQuery& query, const json::StoragePtr& storage) const {
  if (LookupAllowance::limited()) {
    // All that would be opened, whether or not it is what is looked for.
    const auto all = store_.list({.resource = query.resource, .ns = query.ns});
    if (all) LookupAllowance::take(all->objects.bytes());
  }
  const auto page = store_.list(query);
  if (!page) return fail(page.error());
  if (auto fits = check_size(query.resource, page->objects); !fits) return fail(std::move(fits.error()));
  std::vector<json::Value*> values;
  values.reserve(page->objects.size());
  for (const ObjectPtr& object : page->objects) {
    auto value = keep(*object, storage);
    if (!value) return fail(std::move(value.error()));
    values.push_back(*value);
  }
  return values;
}

}  // namespace vg::admission
