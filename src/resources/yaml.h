// YAML is read where JSON is; this is the name under which decoding knows it.
#pragma once

#include "json/yaml.h"

namespace vg::resources {

using json::parse_yaml;

}  // namespace vg::resources
