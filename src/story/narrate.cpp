#include "story/narrate.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/offline_limits.h"
#include "json/access.h"

namespace vg::story {
namespace {

using std::string_view;

void add(std::vector<Moment>& found, string_view time, std::string what) {
  if (const auto at = parse_rfc3339(time)) found.push_back({*at, found.size(), std::move(what)});
}

// One line of text of somebody else.
std::string one_line(string_view text) {
  std::string line(text.substr(0, limits::story_message_bytes_max));
  std::ranges::replace_if(line, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  if (text.size() > line.size()) line += "...";
  return line;
}

void add_phases(std::vector<Moment>& found, string_view kind, Object object) {
  if (!object) return;
  add(found, object.text({"metadata", "creationTimestamp"}), fmt::format("{} {} created", kind, object.name()));
  for (const json::Value& entry : object.list({"status", "phaseTransitionTimestamps"}))
    add(found, json::get_string_or(entry, "phaseTransitionTimestamp"),
        fmt::format("{}: {}", kind, json::get_string_or(entry, "phase")));
  add(found, object.text({"metadata", "deletionTimestamp"}),
      fmt::format("{} {}: deletion asked for", kind, object.name()));
}

void add_conditions(std::vector<Moment>& found, string_view kind, Object object) {
  for (const json::Value& entry : object.list({"status", "conditions"})) {
    const Object condition(&entry);
    const string_view reason = condition.text({"reason"}), message = condition.text({"message"});
    add(found, condition.text({"lastTransitionTime"}),
        fmt::format("{}: {} is {}{}{}", kind, condition.text({"type"}), condition.text({"status"}),
                    reason.empty() ? std::string() : fmt::format(" ({})", reason),
                    message.empty() ? std::string() : fmt::format(": {}", one_line(message))));
  }
}

void add_event(std::vector<Moment>& found, Object event) {
  const string_view last = event.text({"lastTimestamp"}), first = event.text({"eventTime"});
  const std::int64_t count = event.number({"count"}, 1);
  add(found, last.empty() ? first : last,
      fmt::format("event {}{}: {}", event.text({"reason"}),
                  count > 1 ? fmt::format(" ({} times)", count) : std::string(), one_line(event.text({"message"}))));
}

}  // namespace

std::vector<Moment> moments(const Facts& facts, std::size_t max) {
  std::vector<Moment> found;
  const std::pair<string_view, Object> told[] = {
      {"VM", facts.vm()}, {"VMI", facts.vmi()}, {"migration", facts.migration()}};
  for (const auto& [kind, object] : told) add_phases(found, kind, object);
  // The VM shows its VMI's conditions; once is enough.
  add_conditions(found, "VM", facts.vmi() ? Object() : facts.vm());
  add_conditions(found, "VMI", facts.vmi());
  add_conditions(found, "migration", facts.migration());
  for (const json::Value& entry : facts.all("events")) add_event(found, Object(&entry));
  // Those of one second stay as they were found: a cause is added before what follows from it.
  std::ranges::sort(found, {}, [](const Moment& moment) { return std::pair(moment.at, moment.order); });
  if (found.size() > max) found.erase(found.begin(), found.end() - static_cast<std::ptrdiff_t>(max));
  return found;
}

}  // namespace vg::story
