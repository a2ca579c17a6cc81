// Writes that the server makes on its own account, collected to be carried out together.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "json/value.h"
#include "ports/object_store.h"

namespace vg::resources {

class PlannedWrites {
 public:
  PlannedWrites(const ObjectStore& store, const Clock& clock);

  // A status that stands in the object is kept, since here it is the server's own word; `status_manager` writes it. The
  // names of managers are those of own_writes.h.
  void create(std::string_view key, std::string_view ns, std::string_view name, json::Object members,
              std::string_view manager, std::string_view status_manager = {});
  void update(const StoredObject& current, json::Value object, std::string_view manager,
              std::string_view subresource = {});

  const ObjectStore& store() const { return store_; }
  const std::string& now() const { return now_; }
  std::vector<Write> take() { return std::move(writes_); }

 private:
  const ObjectStore& store_;
  std::string now_;
  std::vector<Write> writes_;
};

}  // namespace vg::resources
