// What this server says it is: the level of the Kubernetes API that it speaks, and its own build.
#pragma once

#include <string>
#include <string_view>

namespace vg::server {

// What the program was built from. The texts live as long as the program.
struct BuildInfo {
  std::string_view commit = {};      // empty: not known
  std::string_view tree_state = {};  // clean or dirty; empty: not known
  std::string_view date = "1970-01-01T00:00:00Z";
};
// Before the first of the functions below is called. It is the program that knows this and not this module, so that a
// commit makes nothing else be linked again.
void set_build_info(const BuildInfo& info);

// The document at /version, which is also part of /healthz. Clients choose their behaviour by major and minor.
const std::string& version_json();

// For people: "virtgate 1.2.3 (Kubernetes API v4.5, ...)".
std::string version_line();
// The same, and what it was built from, in lines.
std::string version_text();

}  // namespace vg::server
