// Plugins (spec work-objects 3.4). Expressions are not compiled yet, see COMPATIBILITY.md.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "admission/rules/tables.h"
#include "api/canonical_words.h"
#include "api/view.h"
#include "json/access.h"

namespace vg::admission {
namespace {

using std::string_view;

// The shortest path of the same meaning, by its text alone: as Go's path.Clean.
std::string clean_path(string_view path) {
  const bool rooted = path.starts_with('/');
  std::vector<string_view> kept;
  while (!path.empty()) {
    const auto slash = path.find('/');
    const string_view part = path.substr(0, slash);
    path = slash == path.npos ? string_view() : path.substr(slash + 1);
    if (part.empty() || part == ".") continue;
    if (part != "..")
      kept.push_back(part);
    else if (!kept.empty() && kept.back() != "..")
      kept.pop_back();
    else if (!rooted)
      kept.push_back(part);
  }
  const std::string joined = fmt::format("{}{}", rooted ? "/" : "", fmt::join(kept, "/"));
  return joined.empty() ? "." : joined;
}

void socket_paths_are_clean(const Case& about, Causes& causes) {
  std::size_t index = 0;
  std::vector<StatusCause> found;
  for (const api::View hook : api::List<api::View>(json::find_path(*about.object, {"spec", "domainHooks"}))) {
    const std::size_t at = index++;
    const api::View sidecar(hook.get("sidecar"));
    if (!sidecar) continue;
    const auto path = api::Read<string_view>::or_zero(sidecar.get("socketPath"));
    if (const std::string clean = clean_path(path); clean != path)
      found.push_back({.reason = "FieldValueInvalid",
                       .message = fmt::format("a socket path is written without detours: {} instead of {}", clean,
                                              api::in_words(path)),
                       .field = fmt::format("spec.domainHooks[{}].sidecar.socketPath", at)});
  }
  if (found.empty()) return;
  // Unlike every other webhook, this one tells all causes, one message and no code; clients see a 400.
  Status status{.code = 0, .reason = "Invalid", .message = found.front().message, .details = {}};
  status.details.causes = std::move(found);
  causes.refuse(std::move(status));
}

constexpr Rule rules[] = {
    {"PL10", "socket paths are clean", "spec.domainHooks[].sidecar.socketPath", socket_paths_are_clean},
};

}  // namespace

std::span<const Rule> plugin_rules() { return rules; }

}  // namespace vg::admission
