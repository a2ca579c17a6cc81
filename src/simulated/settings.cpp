#include "simulated/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/controller_limits.h"
#include "base/duration.h"
#include "controllers/common/owners.h"

namespace vg::simulated {
namespace {

using controllers::NodeInfo;

constexpr std::string_view prefix = "simulated.virtgate.io/";
constexpr std::array<std::string_view, 10> names{"boot",       "shutdown",      "migration",        "agent",
                                                 "boot-fails", "crash-after",   "ignores-shutdown", "migration-fails",
                                                 "silent",     "poweroff-after"};

class Reader {
 public:
  Reader(const json::Object* vmi, const NodeInfo& node) : vmi_(vmi), node_(node) {}

  std::string_view text(std::string_view name) const {
    const std::string key = fmt::format("{}{}", prefix, name);
    if (const std::string_view own = vmi_ ? controllers::annotation_of(*vmi_, key) : std::string_view(); !own.empty())
      return own;
    const auto label = node_.labels.find(key);
    return label == node_.labels.end() ? std::string_view() : std::string_view(label->second);
  }
  bool flag(std::string_view name) const { return text(name) == "true"; }
  std::optional<milliseconds> time(std::string_view name) const {
    const auto read = parse_duration(text(name));
    if (!read || *read < std::chrono::nanoseconds::zero()) return std::nullopt;
    return std::chrono::duration_cast<milliseconds>(
        std::min<std::chrono::nanoseconds>(*read, limits::simulated_time_max));
  }

 private:
  const json::Object* vmi_;
  const NodeInfo& node_;
};

}  // namespace

std::span<const std::string_view> setting_names() { return names; }

Settings settings_of(const json::Object& vmi, const NodeInfo& node) {
  const Reader read(&vmi, node);
  const Settings usual;
  return {.boot = read.time("boot").value_or(usual.boot),
          .shutdown = read.time("shutdown").value_or(usual.shutdown),
          .migration = read.time("migration").value_or(usual.migration),
          .agent = read.time("agent").value_or(usual.agent),
          .no_agent = read.text("agent") == "false",
          .boot_fails = read.flag("boot-fails"),
          .ignores_shutdown = read.flag("ignores-shutdown"),
          .migration_fails = read.flag("migration-fails"),
          .silent = is_silent(node),
          .crash = read.time("crash-after"),
          .poweroff = read.time("poweroff-after")};
}

bool is_silent(const NodeInfo& node) { return Reader(nullptr, node).flag("silent"); }

bool is_simulated(const NodeInfo* node) {
  if (!node) return false;
  const auto label = node->labels.find(node_label);
  return label != node->labels.end() && label->second == "true";
}

}  // namespace vg::simulated
