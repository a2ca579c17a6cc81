#include "handler/agent/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/handler_limits.h"
#include "base/net.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"

namespace vg::handler {
namespace {

using json::Array;
using json::Object;
using json::Value;
using std::string_view;

// The member "return" of an answer, with the memory that it is in.
struct Returned {
  std::optional<json::Document> document;
  const Value* value = nullptr;
};

Returned read(string_view answer) {
  Returned returned;
  if (answer.size() > limits::agent_answer_bytes_max) return returned;
  auto document = json::Document::parse(answer);
  if (!document) return returned;
  returned.document.emplace(std::move(*document));
  returned.value = json::find(returned.document->root(), "return");
  return returned;
}

// Whether something in the text, which is UTF-8, talks to a terminal or makes it show other words than there are:
// control characters of both sets, separators of lines (U+2028, U+2029), and what turns the direction of writing
// (U+202A to U+202E, U+2066 to U+2069).
bool has_controls(string_view text) {
  const auto byte = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0; };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const int first = byte(at), second = byte(at + 1), third = byte(at + 2);
    if (first < ' ' || first == 0x7f || (first == 0xc2 && second < 0xa0)) return true;
    if (first == 0xe2 && second == 0x80 && third >= 0xa8 && third <= 0xae) return true;
    if (first == 0xe2 && second == 0x81 && third >= 0xa6 && third <= 0xa9) return true;
  }
  return false;
}

// A text that is too long is none: cut, it would be another one. Nor is one that would talk to a terminal.
std::string text_of(const Value& object, string_view name) {
  const auto text = json::get_string(object, name);
  if (!text || text->size() > limits::agent_text_bytes_max || has_controls(*text)) return {};
  return std::string(*text);
}

template <class Take>
bool each(const Value* list, Take take) {
  const Array* all = json::as_array(list);
  if (!all) return false;
  for (const Value& one : std::span(all->begin(), std::min<std::size_t>(all->size(), limits::agent_list_max)))
    if (one.is_object()) take(one);
  return true;
}

std::int64_t number_of(const Value& object, string_view name) { return json::get_int_or(object, name, 0); }

std::string to_document(Object object) { return json::to_text(Value(std::move(object))); }

// How many users and disks guestosinfo tells.
constexpr std::size_t told_max = limits::agent_told_max;

Array users_of(const AgentKnown& known, std::size_t count) {
  Array all;
  for (const AgentUser& user : std::span(known.users).first(std::min(known.users.size(), count))) {
    Object one{{"userName", user.name}};
    if (!user.domain.empty()) one["domain"] = user.domain;
    one["loginTime"] = user.login_seconds;
    all.emplace_back(std::move(one));
  }
  return all;
}

Array file_systems_of(const AgentKnown& known, std::size_t count) {
  Array all;
  for (const AgentFileSystem& system :
       std::span(known.file_systems).first(std::min(known.file_systems.size(), count))) {
    Object one{{"diskName", system.disk_name},
               {"mountPoint", system.mount_point},
               {"fileSystemType", system.type},
               {"usedBytes", system.used_bytes},
               {"totalBytes", system.total_bytes}};
    Array disks;
    for (const AgentDisk& disk : system.disks) {
      Object told;
      if (!disk.serial.empty()) told["serial"] = disk.serial;
      told["busType"] = disk.bus;
      disks.emplace_back(std::move(told));
    }
    if (!disks.empty()) one["disk"] = std::move(disks);
    all.emplace_back(std::move(one));
  }
  return all;
}

}  // namespace

bool take_info(string_view answer, AgentKnown& known) {
  const Returned returned = read(answer);
  if (!returned.value || !returned.value->is_object()) return false;
  known.facts.version = text_of(*returned.value, "version");
  known.facts.commands.clear();
  each(json::find(*returned.value, "supported_commands"), [&](const Value& command) {
    known.facts.commands.emplace_back(text_of(command, "name"), json::get_bool_or(command, "enabled", false));
  });
  return true;
}

bool take_os(string_view answer, AgentKnown& known) {
  static constexpr std::array<std::pair<string_view, string_view>, 8> members{{{"id", "id"},
                                                                               {"kernel-release", "kernelRelease"},
                                                                               {"kernel-version", "kernelVersion"},
                                                                               {"machine", "machine"},
                                                                               {"name", "name"},
                                                                               {"pretty-name", "prettyName"},
                                                                               {"version", "version"},
                                                                               {"version-id", "versionId"}}};
  const Returned returned = read(answer);
  if (!returned.value || !returned.value->is_object()) return false;
  known.facts.os.clear();
  for (const auto& [theirs, ours] : members)
    if (std::string text = text_of(*returned.value, theirs); !text.empty())
      known.facts.os.emplace_back(ours, std::move(text));
  return true;
}

bool take_host_name(string_view answer, AgentKnown& known) {
  const Returned returned = read(answer);
  if (!returned.value || !returned.value->is_object()) return false;
  known.host_name = text_of(*returned.value, "host-name");
  return true;
}

bool take_time_zone(string_view answer, AgentKnown& known) {
  const Returned returned = read(answer);
  if (!returned.value || !returned.value->is_object()) return false;
  known.zone = text_of(*returned.value, "zone");
  known.zone_offset = number_of(*returned.value, "offset");
  return true;
}

bool take_interfaces(string_view answer, AgentKnown& known) {  // RUN-GA-09
  const Returned returned = read(answer);
  std::vector<guests::AgentInterface> all;
  const bool list = each(returned.value, [&](const Value& nic) {
    guests::AgentInterface one{.name = text_of(nic, "name"), .mac = text_of(nic, "hardware-address"), .addresses = {}};
    if (one.name == "lo") return;
    each(json::find(nic, "ip-addresses"), [&](const Value& address) {
      if (std::string text = text_of(address, "ip-address"); parse_ip(text)) one.addresses.push_back(std::move(text));
    });
    all.push_back(std::move(one));
  });
  if (list) known.facts.interfaces = std::move(all);
  return list;
}

bool take_users(string_view answer, AgentKnown& known) {
  const Returned returned = read(answer);
  std::vector<AgentUser> all;
  const bool list = each(returned.value, [&](const Value& user) {
    const Value* login = json::find(user, "login-time");
    const double seconds = login && login->is_number() ? login->to_number<double>() : 0;
    all.push_back({.name = text_of(user, "user"), .domain = text_of(user, "domain"), .login_seconds = seconds});
  });
  if (list) known.users = std::move(all);
  return list;
}

bool take_file_systems(string_view answer, AgentKnown& known) {
  const Returned returned = read(answer);
  std::vector<AgentFileSystem> all;
  const bool list = each(returned.value, [&](const Value& system) {
    AgentFileSystem one{.disk_name = text_of(system, "name"),
                        .mount_point = text_of(system, "mountpoint"),
                        .type = text_of(system, "type"),
                        .used_bytes = number_of(system, "used-bytes"),
                        .total_bytes = number_of(system, "total-bytes"),
                        .disks = {}};
    each(json::find(system, "disk"), [&](const Value& disk) {
      one.disks.push_back({.serial = text_of(disk, "serial"), .bus = text_of(disk, "bus-type")});
    });
    all.push_back(std::move(one));
  });
  if (list) known.file_systems = std::move(all);
  return list;
}

bool take_freeze_status(string_view answer, AgentKnown& known) {  // RUN-FRZ-03
  const Returned returned = read(answer);
  const auto word = json::as_string(returned.value);
  if (word != "frozen" && word != "thawed") return false;
  known.facts.freeze_status = std::string(*word);
  return true;
}

std::string guest_os_info(const AgentKnown* known) {  // RUN-GA-10
  static const AgentKnown nothing;
  const AgentKnown& told = known ? *known : nothing;
  Object info, os;
  if (told.facts.version && !told.facts.version->empty()) info["guestAgentVersion"] = *told.facts.version;
  if (!told.facts.commands.empty()) {
    Array commands;
    for (const auto& [name, enabled] : told.facts.commands) {
      Object command{{"name", name}};
      if (enabled) command["enabled"] = true;
      commands.emplace_back(std::move(command));
    }
    info["supportedCommands"] = std::move(commands);
  }
  if (!told.host_name.empty()) info["hostname"] = told.host_name;
  for (const auto& [name, value] : told.facts.os) os[name] = value;
  info["os"] = std::move(os);
  info["timezone"] = fmt::format("{}, {}", told.zone, told.zone_offset);
  if (!told.users.empty()) info["userList"] = users_of(told, told_max);
  Array disks = file_systems_of(told, told_max);
  info["fsInfo"] = Object{{"disks", disks.empty() ? Value(nullptr) : Value(std::move(disks))}};
  if (told.facts.freeze_status) info["fsFreezeStatus"] = *told.facts.freeze_status;
  return to_document(std::move(info));
}

std::string user_list(const AgentKnown* known) {  // RUN-GA-11
  return to_document({{"metadata", Object()}, {"items", known ? users_of(*known, limits::agent_list_max) : Array()}});
}

std::string file_system_list(const AgentKnown* known) {
  return to_document(
      {{"metadata", Object()}, {"items", known ? file_systems_of(*known, limits::agent_list_max) : Array()}});
}

}  // namespace vg::handler
