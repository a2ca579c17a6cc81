// What the agent inside a guest answers, read (RUN-GA-09 to RUN-GA-11). The guest writes it: every text has a length,
// every list a count, and what is none of the protocol reads as nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "guests/agent_facts.h"

namespace vg::handler {

struct AgentUser {
  std::string name, domain;
  double login_seconds = 0;
};
struct AgentDisk {
  std::string serial, bus;
};
struct AgentFileSystem {
  std::string disk_name, mount_point, type;
  std::int64_t used_bytes = 0, total_bytes = 0;
  std::vector<AgentDisk> disks;
};

// All that one agent has told.
struct AgentKnown {
  guests::AgentFacts facts;
  std::string host_name, zone;
  std::int64_t zone_offset = 0;
  std::vector<AgentUser> users;
  std::vector<AgentFileSystem> file_systems;
};

// Puts an answer ({"return": ...}) to what is known. False: it is malformed, and changes nothing.
using TakeAnswer = bool (*)(std::string_view answer, AgentKnown& known);
bool take_info(std::string_view answer, AgentKnown& known);
bool take_os(std::string_view answer, AgentKnown& known);
bool take_host_name(std::string_view answer, AgentKnown& known);
bool take_time_zone(std::string_view answer, AgentKnown& known);
bool take_interfaces(std::string_view answer, AgentKnown& known);
bool take_users(std::string_view answer, AgentKnown& known);
bool take_file_systems(std::string_view answer, AgentKnown& known);
bool take_freeze_status(std::string_view answer, AgentKnown& known);

// The documents that clients get. `known` null: nothing was told yet.
std::string guest_os_info(const AgentKnown* known);
std::string user_list(const AgentKnown* known);
std::string file_system_list(const AgentKnown* known);

}  // namespace vg::handler
