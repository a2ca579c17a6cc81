// Where objects are in the API of Kubernetes.
#pragma once

#include <string>
#include <string_view>

#include "ports/object_api.h"

namespace vg::kube {

// "/apis/GROUP/VERSION/namespaces/NS/PLURAL"; an empty namespace means all of them, or none where there are none.
std::string collection_path(const ResourceName& resource, std::string_view ns);
std::string object_path(const ObjectName& object, std::string_view subresource = {});
// For a path segment or the value of a query parameter.
std::string percent_encode(std::string_view text);

}  // namespace vg::kube
