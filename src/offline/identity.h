// What a document says it is.
#pragma once

#include <string>
#include <string_view>

#include "catalog/catalog.h"
#include "json/value.h"

namespace vg::offline {

struct KindOfObject {
  std::string_view api_version, kind;  // as it says; empty where it does not
  const resources::Resource* resource =
      nullptr;  // null: a kind that is not known, or a version of it that is not served
  const api::KindVersion* version = nullptr;
  const resources::Resource* other_version = nullptr;  // the same kind, where only the version is not served
};
KindOfObject resource_of(const json::Object& object);

// An object that only holds others: a List of any kind.
bool is_list(const json::Object& object);

struct Identity {
  std::string api_version, kind, ns, name;  // ns: empty for objects of the whole cluster
  // "VirtualMachine default/demo".
  std::string text() const;
};
// `ns`: of objects that name none.
Identity identify(const json::Object& object, const KindOfObject& kind, std::string_view ns);

}  // namespace vg::offline
