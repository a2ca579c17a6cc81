#include "guests/group_limits.h"

#include "controllers/nodes.h"
#include "json/access.h"

namespace vg::guests {

GroupLimits group_limits(const json::Value& vmi) {
  const auto amount = [&](std::initializer_list<std::string_view> path, std::string_view resource) {
    const json::Value* found = json::find_path(vmi, path);
    return found ? controllers::amount_of(resource, *found) : 0;
  };
  GroupLimits limits{.cpu_milli = amount({"spec", "domain", "resources", "limits", "cpu"}, "cpu"),
                     .memory_bytes = amount({"spec", "domain", "resources", "limits", "memory"}, "memory"),
                     .cpu_request_milli = amount({"spec", "domain", "resources", "requests", "cpu"}, "cpu")};
  if (limits.memory_bytes > 0) limits.memory_bytes += amount({"status", "memory", "memoryOverhead"}, "memory");
  return limits;
}

}  // namespace vg::guests
