// Every decide function and every check, for the table and for tests. Each is pure.
#pragma once

#include <optional>
#include <string_view>

#include "actions/effect.h"
#include "api/views/vmi.h"
#include "base/status.h"

namespace vg::actions {

struct Case;

// lifecycle.cpp
Decision decide_start(const Case& about);
Decision decide_stop(const Case& about);
std::optional<Status> check_restart_grace(const Case& about);
Decision decide_restart(const Case& about);
Decision decide_migrate(const Case& about);

// node_calls.cpp
Decision decide_pause(const Case& about);
std::optional<Status> check_no_snapshot(const Case& about);
Decision decide_unpause(const Case& about);
Decision decide_freeze(const Case& about);
Decision decide_unfreeze(const Case& about);
Decision decide_reset(const Case& about);
Decision decide_soft_reboot(const Case& about);
Decision decide_backup(const Case& about);
Decision decide_redefine_checkpoint(const Case& about);
Decision decide_guest_info(const Case& about);
Decision decide_screenshot(const Case& about);

// sev.cpp
Decision decide_fetch_cert_chain(const Case& about);
Decision decide_query_measurement(const Case& about);
std::optional<Status> check_session(const Case& about);
Decision decide_setup_session(const Case& about);
Decision decide_inject_secret(const Case& about);

// volumes.cpp
std::optional<Status> check_hotplug(const Case& about);
std::optional<Status> check_added_volume(const Case& about);
std::optional<Status> check_removed_volume(const Case& about);
Decision decide_add_volume(const Case& about);
Decision decide_remove_volume(const Case& about);

// memory_dump.cpp
std::optional<Status> check_dump_claim(const Case& about);
std::optional<Status> check_dump_running(const Case& about);
std::optional<Status> check_dump_file(const Case& about);
Decision decide_memory_dump(const Case& about);
Decision decide_remove_memory_dump(const Case& about);
// The claim that the dump goes to: the one that is asked for, else the one of the dump before.
std::string_view dump_claim(const Case& about);

// evacuation.cpp
Decision decide_evacuate_cancel(const Case& about);
// The node that the instance is to leave, else the one where it is.
std::string_view left_node(const api::kubevirt::VirtualMachineInstance& vmi);

// object_graph.cpp
Decision decide_object_graph(const Case& about);

// expand.cpp
Decision decide_expand_machine(const Case& about);
Decision decide_expand_sent(const Case& about);

// documents.cpp
Decision decide_version(const Case& about);
Decision decide_guestfs(const Case& about);
Decision decide_health(const Case& about);

// profiler.cpp
std::optional<Status> check_profiler_switch(const Case& about);
std::optional<Status> check_profiles_request(const Case& about);
Decision decide_start_profilers(const Case& about);
Decision decide_stop_profilers(const Case& about);
Decision decide_dump_profilers(const Case& about);

// streams.cpp
Decision decide_console(const Case& about);
Decision decide_vnc(const Case& about);
Decision decide_usbredir(const Case& about);
Decision decide_vsock(const Case& about);
Decision decide_port_forward(const Case& about);

}  // namespace vg::actions
