#include "server/version.h"

#include <fmt/format.h>

#include <string>

#include "base/json_text.h"
#include "upstream_release.h"

namespace vg::server {
namespace {

using upstream::kubernetes_major;
using upstream::kubernetes_minor;

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
std::string git_version() { return fmt::format("{}+virtgate-{}", upstream::kubernetes_release, VIRTGATE_VERSION); }

BuildInfo& build() {
  static BuildInfo info;
  return info;
}

std::string compiler() { return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__); }

// Of the oldest control plane that this one can take the place of and give way to: the one before, as upstream.
int minor_before() { return std::stoi(std::string(kubernetes_minor)) - 1; }

std::string json(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

}  // namespace

void set_build_info(const BuildInfo& info) { build() = info; }

const std::string& version_json() {
  static const std::string text =
      fmt::format(R"({{"major":"{0}","minor":"{1}","emulationMajor":"{0}","emulationMinor":"{1}",)"
                  R"("minCompatibilityMajor":"{0}","minCompatibilityMinor":"{8}","gitVersion":{2},"gitCommit":{3},)"
                  R"("gitTreeState":{4},"buildDate":{5},"goVersion":"none","compiler":{6},"platform":"{7}"}})",
                  kubernetes_major, kubernetes_minor, json(git_version()), json(build().commit),
                  json(build().tree_state), json(build().date), json(compiler()), platform, minor_before());
  return text;
}

std::string version_text() {
  std::string text = version_line();
  if (!build().commit.empty())
    text += fmt::format("\ncommit {}{}", build().commit, build().tree_state == "dirty" ? " with local changes" : "");
  return text + fmt::format("\nbuilt {} with {}", build().date, compiler());
}

std::string version_line() {
  return fmt::format("virtgate {} (Kubernetes API v{}.{}, {})", VIRTGATE_VERSION, kubernetes_major, kubernetes_minor,
                     platform);
}

}  // namespace vg::server
