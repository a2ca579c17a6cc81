// Every decide function and every check, for the table and for tests. Each is pure.
#pragma once

#include <optional>
#include <string_view>

#include "actions/effect.h"
#include "api/views/vmi.h"
#include "base/status.h"

namespace vg::actions {

struct ActionCase;

// lifecycle.cpp
Decision decide_start(const ActionCase& asked);
Decision decide_stop(const ActionCase& asked);
std::optional<Status> check_restart_grace(const ActionCase& asked);
Decision decide_restart(const ActionCase& asked);
Decision decide_migrate(const ActionCase& asked);

// node_calls.cpp
Decision decide_pause(const ActionCase& asked);
std::optional<Status> check_no_snapshot(const ActionCase& asked);
Decision decide_unpause(const ActionCase& asked);
Decision decide_freeze(const ActionCase& asked);
Decision decide_unfreeze(const ActionCase& asked);
Decision decide_reset(const ActionCase& asked);
Decision decide_soft_reboot(const ActionCase& asked);
Decision decide_backup(const ActionCase& asked);
Decision decide_redefine_checkpoint(const ActionCase& asked);
Decision decide_guest_info(const ActionCase& asked);
Decision decide_screenshot(const ActionCase& asked);

// sev.cpp
Decision decide_fetch_cert_chain(const ActionCase& asked);
Decision decide_query_measurement(const ActionCase& asked);
std::optional<Status> check_session(const ActionCase& asked);
Decision decide_setup_session(const ActionCase& asked);
Decision decide_inject_secret(const ActionCase& asked);

// volumes.cpp
std::optional<Status> check_hotplug(const ActionCase& asked);
std::optional<Status> check_added_volume(const ActionCase& asked);
std::optional<Status> check_removed_volume(const ActionCase& asked);
Decision decide_add_volume(const ActionCase& asked);
Decision decide_remove_volume(const ActionCase& asked);

// memory_dump.cpp
std::optional<Status> check_dump_claim(const ActionCase& asked);
std::optional<Status> check_dump_running(const ActionCase& asked);
std::optional<Status> check_dump_file(const ActionCase& asked);
Decision decide_memory_dump(const ActionCase& asked);
Decision decide_remove_memory_dump(const ActionCase& asked);
// The claim that the dump goes to: the one that is asked for, else the one of the dump before.
std::string_view dump_claim(const ActionCase& asked);

// evacuation.cpp
Decision decide_evacuate_cancel(const ActionCase& asked);
// The node that the instance is to leave, else the one where it is.
std::string_view left_node(const api::kubevirt::VirtualMachineInstance& vmi);

// object_graph.cpp
Decision decide_object_graph(const ActionCase& asked);

// expand.cpp
Decision decide_expand_machine(const ActionCase& asked);
Decision decide_expand_sent(const ActionCase& asked);

// documents.cpp
Decision decide_version(const ActionCase& asked);
Decision decide_guestfs(const ActionCase& asked);
Decision decide_health(const ActionCase& asked);

// profiler.cpp
std::optional<Status> check_profiler_switch(const ActionCase& asked);
std::optional<Status> check_profiles_request(const ActionCase& asked);
Decision decide_start_profilers(const ActionCase& asked);
Decision decide_stop_profilers(const ActionCase& asked);
Decision decide_dump_profilers(const ActionCase& asked);

// streams.cpp
Decision decide_console(const ActionCase& asked);
Decision decide_vnc(const ActionCase& asked);
Decision decide_usbredir(const ActionCase& asked);
Decision decide_vsock(const ActionCase& asked);
Decision decide_port_forward(const ActionCase& asked);

}  // namespace vg::actions
