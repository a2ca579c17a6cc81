#include "catalog/catalog.h"

#include <algorithm>
#include <vector>

#include "catalog/conversion.h"

namespace vg::resources {
namespace {

const Conversion* find_conversion(const api::Kind& kind) {
  const auto all = conversions();
  const auto found = std::ranges::find_if(all, [&](const Conversion& row) {
    return row.plural == kind.plural && row.group == kind.group && kind.version(row.version);
  });
  return found == all.end() ? nullptr : &*found;
}

std::string key_of(const api::Kind& kind) {
  return kind.group.empty() ? std::string(kind.plural) : std::string(kind.group) + "/" + std::string(kind.plural);
}

Resource make_row(const api::Kind& kind) {
  Resource row;
  row.kind = &kind;
  row.key = key_of(kind);
  row.storage_api_version = api_version(kind.group, kind.storage_version().name);
  row.stored = kind.list_type != nullptr;
  row.conversion = find_conversion(kind);
  return row;
}

struct Catalog {
  std::vector<Resource> stored;  // and questions; sorted by key
  std::vector<Resource> converted;
};

const Catalog& catalog() {
  static const Catalog all = [] {
    Catalog made;
    for (const api::Kind& kind : api::kinds()) {
      Resource row = make_row(kind);
      (row.conversion ? made.converted : made.stored).push_back(std::move(row));
    }
    std::ranges::sort(made.stored, {}, &Resource::key);
    for (Resource& row : made.converted) {
      const auto found = std::ranges::find(made.stored, row.conversion->stored_key, &Resource::key);
      row.key = found->key;
      row.storage_api_version = found->storage_api_version;
    }
    return made;
  }();
  return all;
}

}  // namespace

std::span<const Resource> resources() { return catalog().stored; }

const Resource* find_resource(std::string_view key) {
  const auto all = resources();
  const auto found =
      std::ranges::lower_bound(all, key, {}, [](const Resource& row) { return std::string_view(row.key); });
  return found != all.end() && found->key == key ? &*found : nullptr;
}

const Resource* find_resource(std::string_view group, std::string_view version, std::string_view plural) {
  const api::Kind* kind = api::find_resource(group, version, plural);
  if (!kind) return nullptr;
  const api::KindVersion* found = kind->version(version);
  if (!found || !found->served) return nullptr;
  for (const Resource& row : catalog().converted)
    if (row.kind == kind) return &row;
  std::string key;
  key.reserve(group.size() + plural.size() + 1);
  if (!group.empty()) key.append(group).push_back('/');
  return find_resource(key.append(plural));
}

const Resource* find_resource_of_kind(std::string_view text, std::string_view kind) {
  const auto all = resources();
  const GroupVersion gv = split_api_version(text);
  const auto found = std::ranges::find_if(
      all, [&](const Resource& row) { return row.kind->kind == kind && row.group() == gv.group && row.stored; });
  return found == all.end() ? nullptr : &*found;
}

std::string api_version(std::string_view group, std::string_view version) {
  std::string out;
  out.reserve(group.size() + version.size() + 1);
  if (!group.empty()) out.append(group).push_back('/');
  return out.append(version);
}

GroupVersion split_api_version(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return {{}, text};
  return {text.substr(0, slash), text.substr(slash + 1)};
}

}  // namespace vg::resources
