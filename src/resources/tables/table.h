// Objects as meta.k8s.io Table: what kubectl get asks for and prints as it stands. Column definitions first, then one
// row an object, each with its cells and, unless the client wants none, the object or its metadata.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/time_rfc3339.h"
#include "catalog/catalog.h"
#include "ports/stored_object.h"

namespace vg::resources {

struct TableRequest {
  const Resource& resource;
  std::string_view api_version;           // in which whole objects are shown
  const Resource* shown = nullptr;        // null: they are shown as they are stored (resources/conversion.h)
  std::string_view table_version = "v1";  // of meta.k8s.io: v1, or v1beta1 for old clients
  std::string_view include_object = {};   // "None", "Object"; anything else is "Metadata", the default
  // The table's own metadata: that of the list, or the resource version of the one object.
  Revision revision = 0;
  std::string_view continue_token = {};
  std::optional<std::size_t> remaining = {};
  // The resource version to show in the rows; nothing: each object's own. The event that reports a deletion needs it.
  std::optional<Revision> row_revision = {};
  bool with_columns = true;  // false: a later event of a watch, whose client has them already
  Timestamp now;             // what ages are counted from
};

// Row by row. What the request refers to outlives it.
class Table {
 public:
  explicit Table(const TableRequest& request);
  ~Table();
  void open(std::string& out);
  void add(std::string& out, const StoredObject& object);
  void close(std::string& out);

 private:
  class Rows;
  const TableRequest request_;
  std::unique_ptr<Rows> rows_;
};

}  // namespace vg::resources
