// Names of container images: HOST[:PORT]/PATH[:TAG][@DIGEST].
#pragma once

#include <string_view>

namespace vg::resources::core_kinds {

// Whether the name means the tag latest, by saying so or by saying neither tag nor digest. A name that is no name of an
// image means no tag at all, as for Kubernetes, which asks this before it checks the name.
bool names_latest_image(std::string_view image);

}  // namespace vg::resources::core_kinds
