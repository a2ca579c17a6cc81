#include "hypervisor/libvirt_handles.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <span>

#include "base/hypervisor_limits.h"

namespace vg::hypervisor {

Status libvirt_error(int code, int domain, std::string_view message) {
  const bool missing = code == VIR_ERR_NO_DOMAIN;
  return Status{.code = missing ? 404 : 500,
                .reason = missing ? "NotFound" : "InternalError",
                .message = fmt::format("LibvirtError(Code={}, Domain={}, Message='{}')", code, domain,
                                       message.substr(0, limits::libvirt_message_bytes_max)),
                .details = {}};
}

Status libvirt_error() {
  const virErrorPtr error = virGetLastError();
  if (!error) return libvirt_error(VIR_ERR_INTERNAL_ERROR, VIR_FROM_NONE, "unknown");
  return libvirt_error(error->code, error->domain, error->message ? error->message : "");
}

Result<void> done(int answer) {
  if (answer < 0) return fail(libvirt_error());
  return {};
}

Result<std::string> bounded(Text text, std::size_t bytes_max, std::string_view what) {
  if (!text) return fail(libvirt_error());
  const std::size_t bytes = ::strnlen(text.get(), bytes_max + 1);
  if (bytes > bytes_max)
    return fail(Status::internal_error(fmt::format("{} is longer than {} bytes", what, bytes_max)));
  return std::string(text.get(), bytes);
}

State state_of(int state) {
  switch (state) {
    case VIR_DOMAIN_RUNNING:
      return State::running;
    case VIR_DOMAIN_BLOCKED:
      return State::blocked;
    case VIR_DOMAIN_PAUSED:
      return State::paused;
    case VIR_DOMAIN_SHUTDOWN:
      return State::shutting_down;
    case VIR_DOMAIN_SHUTOFF:
      return State::shutoff;
    case VIR_DOMAIN_CRASHED:
      return State::crashed;
    case VIR_DOMAIN_PMSUSPENDED:
      return State::suspended;
    default:
      return State::none;
  }
}

namespace {

// By libvirt's numbers, which never change.
constexpr std::array<std::string_view, 14> pauses = {
    "Unknown",      "User",         "Migration", "Save",    "Dump",       "IOError",  "Watchdog",
    "FromSnapshot", "ShuttingDown", "Snapshot",  "Crashed", "StartingUp", "Postcopy", "PostcopyFailed"};
constexpr std::array<std::string_view, 2> shutdowns = {"Unknown", "User"};
constexpr std::array<std::string_view, 8> shutoffs = {"Unknown",  "Shutdown", "Destroyed", "Crashed",
                                                      "Migrated", "Saved",    "Failed",    "FromSnapshot"};
constexpr std::array<std::string_view, 2> crashes = {"Unknown", "Panicked"};

std::span<const std::string_view> reasons_of(int state) {
  switch (state) {
    case VIR_DOMAIN_PAUSED:
      return pauses;
    case VIR_DOMAIN_SHUTDOWN:
      return shutdowns;
    case VIR_DOMAIN_SHUTOFF:
      return shutoffs;
    case VIR_DOMAIN_CRASHED:
      return crashes;
    default:
      return {};
  }
}

}  // namespace

std::string_view reason_of(int state, int reason) {
  const auto reasons = reasons_of(state);
  return reason >= 0 && static_cast<std::size_t>(reason) < reasons.size() ? reasons[reason] : "Unknown";
}

const char* watchdog_action(int action) {
  // By libvirt's numbers.
  static constexpr std::array actions = {"none", "pause", "reset", "poweroff", "shutdown", "debug", "inject-nmi"};
  return action >= 0 && static_cast<std::size_t>(action) < actions.size() ? actions[action] : "unknown";
}

}  // namespace vg::hypervisor
