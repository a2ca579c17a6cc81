#include "kube/paths.h"

#include <fmt/format.h>

namespace vg::kube {

std::string collection_path(const ResourceName& resource, std::string_view ns) {
  std::string path = resource.group.empty() ? fmt::format("/api/{}", resource.version)
                                            : fmt::format("/apis/{}/{}", resource.group, resource.version);
  if (!ns.empty()) path += "/namespaces/" + percent_encode(ns);
  return path + "/" + std::string(resource.plural);
}

std::string object_path(const ObjectName& object, std::string_view subresource) {
  std::string path = collection_path(object.resource, object.ns) + "/" + percent_encode(object.name);
  return subresource.empty() ? path : fmt::format("{}/{}", path, subresource);
}

}  // namespace vg::kube
