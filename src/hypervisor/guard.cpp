#include "hypervisor/guard.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/files.h"

namespace vg::hypervisor {
namespace {

// What is wrong with it; empty: nothing.
std::string try_to_load(const std::string& path) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* why = ::dlerror();
    return why ? why : "not known";
  }
  ::dlclose(library);
  return {};
}

}  // namespace

Result<std::string> install_guard(const std::vector<std::string>& folders) {
  std::string problem = "no folder was given";
  for (const std::string& folder : folders) {
    std::string path = folder + "/loopback_guard.so";
    if (path.find_first_of(" :") != std::string::npos) {
      problem = fmt::format("{} has a space or a colon in its path", folder);
      continue;
    }
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
      problem = fmt::format("cannot create {}: {}", folder, std::strerror(errno));
      continue;
    }
    if (auto written = write_file(path, loopback_guard_image(), 0500); !written) return fail(written.error());
    problem = try_to_load(path);
    if (problem.empty()) return path;
  }
  return fail(Status::internal_error(
      fmt::format("guests cannot be kept away from this host's loopback addresses: {}; use another --state", problem)));
}

}  // namespace vg::hypervisor
