// Stored objects as values, those of the last moments kept: one change of an object is looked at by the index, by
// triggers and by the passes of several controllers, and opening it takes longer than most of them.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

#include "json/document.h"
#include "ports/stored_object.h"

namespace vg::engine {

// With metadata.resourceVersion, without metadata.managedFields.
using OpenedPtr = std::shared_ptr<const json::Document>;

// One thread.
class Opened {
 public:
  OpenedPtr open(const StoredObject& object);

 private:
  struct Entry {
    std::string resource, ns, name;
    Revision revision = 0;
    OpenedPtr document;
    std::size_t bytes = 0;
  };
  // Revisions first: nearly every object has one of its own.
  using Version = std::tuple<Revision, std::string_view, std::string_view, std::string_view>;
  static Version version_of(const Entry& entry) { return {entry.revision, entry.resource, entry.ns, entry.name}; }
  void keep(const StoredObject& object, OpenedPtr document, std::size_t bytes);

  std::list<Entry> recent_;  // the last used first
  std::map<Version, std::list<Entry>::iterator> by_version_;
  std::size_t bytes_ = 0;
};

}  // namespace vg::engine
