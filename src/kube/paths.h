// Where objects are in the API of Kubernetes.
#pragma once

#include <string>
#include <string_view>

#include "ports/object_api.h"
#include "server/path.h"

namespace vg::kube {

using server::percent_encode;

// "/apis/GROUP/VERSION/namespaces/NS/PLURAL"; an empty namespace means all of them, or none where there are none.
std::string collection_path(const ResourceName& resource, std::string_view ns);
std::string object_path(const ObjectName& object, std::string_view subresource = {});

}  // namespace vg::kube
