// What this server says it is: the level of the Kubernetes API that it speaks, and its own build.
#pragma once

#include <string>

namespace vg::server {

// The document at /version, which is also part of /healthz. Clients choose their behaviour by major and minor.
const std::string& version_json();

// For people: "virtgate 0.1.0 (Kubernetes API v1.35, ...)".
std::string version_line();

}  // namespace vg::server
