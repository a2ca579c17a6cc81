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
Decision decide_start(const ActionCase& about);
Decision decide_stop(const ActionCase& about);
std::optional<Status> check_restart_grace(const ActionCase& about);
Decision decide_restart(const ActionCase& about);
Decision decide_migrate(const ActionCase& about);

// node_calls.cpp
Decision decide_pause(const ActionCase& about);
std::optional<Status> check_no_snapshot(const ActionCase& about);
Decision decide_unpause(const ActionCase& about);
Decision decide_freeze(const ActionCase& about);
Decision decide_unfreeze(const ActionCase& about);
Decision decide_reset(const ActionCase& about);
Decision decide_soft_reboot(const ActionCase& about);
Decision decide_backup(const ActionCase& about);
Decision decide_redefine_checkpoint(const ActionCase& about);
Decision decide_guest_info(const ActionCase& about);
Decision decide_screenshot(const ActionCase& about);

// sev.cpp
Decision decide_fetch_cert_chain(const ActionCase& about);
Decision decide_query_measurement(const ActionCase& about);
std::optional<Status> check_session(const ActionCase& about);
Decision decide_setup_session(const ActionCase& about);
Decision decide_inject_secret(const ActionCase& about);

// volumes.cpp
std::optional<Status> check_hotplug(const ActionCase& about);
std::optional<Status> check_added_volume(const ActionCase& about);
std::optional<Status> check_removed_volume(const ActionCase& about);
Decision decide_add_volume(const ActionCase& about);
Decision decide_remove_volume(const ActionCase& about);

// memory_dump.cpp
std::optional<Status> check_dump_claim(const ActionCase& about);
std::optional<Status> check_dump_running(const ActionCase& about);
std::optional<Status> check_dump_file(const ActionCase& about);
Decision decide_memory_dump(const ActionCase& about);
Decision decide_remove_memory_dump(const ActionCase& about);
// The claim that the dump goes to: the one that is asked for, else the one of the dump before.
std::string_view dump_claim(const ActionCase& about);

// evacuation.cpp
Decision decide_evacuate_cancel(const ActionCase& about);
// The node that the instance is to leave, else the one where it is.
std::string_view left_node(const api::kubevirt::VirtualMachineInstance& vmi);

// object_graph.cpp
Decision decide_object_graph(const ActionCase& about);

// expand.cpp
Decision decide_expand_machine(const ActionCase& about);
Decision decide_expand_sent(const ActionCase& about);

// documents.cpp
Decision decide_version(const ActionCase& about);
Decision decide_guestfs(const ActionCase& about);
Decision decide_health(const ActionCase& about);

// profiler.cpp
std::optional<Status> check_profiler_switch(const ActionCase& about);
std::optional<Status> check_profiles_request(const ActionCase& about);
Decision decide_start_profilers(const ActionCase& about);
Decision decide_stop_profilers(const ActionCase& about);
Decision decide_dump_profilers(const ActionCase& about);

// streams.cpp
Decision decide_console(const ActionCase& about);
Decision decide_vnc(const ActionCase& about);
Decision decide_usbredir(const ActionCase& about);
Decision decide_vsock(const ActionCase& about);
Decision decide_port_forward(const ActionCase& about);

}  // namespace vg::actions
