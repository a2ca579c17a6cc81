#include "server/version.h"

#include <fmt/format.h>

#ifndef VIRTGATE_COMMIT
#define VIRTGATE_COMMIT ""
#endif

namespace vg::server {
namespace {

constexpr const char* kubernetes_major = "1";
constexpr const char* kubernetes_minor = "35";
#if defined(__x86_64__)
constexpr const char* platform = "linux/amd64";
#elif defined(__aarch64__)
constexpr const char* platform = "linux/arm64";
#elif defined(__s390x__)
constexpr const char* platform = "linux/s390x";
#else
#error "say here what Kubernetes calls this platform"
#endif

// The part behind '+' is build metadata: clients that compare versions ignore it.
std::string git_version() {
  return fmt::format("v{}.{}.0+virtgate-{}", kubernetes_major, kubernetes_minor, VIRTGATE_VERSION);
}

}  // namespace

const std::string& version_json() {
  static const std::string text =
      fmt::format(R"({{"major":"{0}","minor":"{1}","emulationMajor":"{0}","emulationMinor":"{1}",)"
                  R"("minCompatibilityMajor":"{0}","minCompatibilityMinor":"{1}","gitVersion":"{2}","gitCommit":"{3}",)"
                  R"("gitTreeState":"","buildDate":"1970-01-01T00:00:00Z","goVersion":"none",)"
                  R"("compiler":"clang","platform":"{4}"}})",
                  kubernetes_major, kubernetes_minor, git_version(), VIRTGATE_COMMIT, platform);
  return text;
}

std::string version_line() {
  return fmt::format("virtgate {} (Kubernetes API v{}.{}, {})", VIRTGATE_VERSION, kubernetes_major, kubernetes_minor,
                     platform);
}

}  // namespace vg::server
