// Migrations that go on in QEMU while no libvirtd watches them.
//
// The next libvirtd ends them when it begins, by a word that QEMU 7.2 does not survive at the wrong moment: told to
// cancel when it has just stopped the guest to send the rest, it waits for a word to go on that nobody says any more.
// Neither the migration nor the guest goes on then, and libvirtd waits with them. So they are ended before, by the
// monitors of QEMU, which are free as long as there is no libvirtd.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace vg::hypervisor {

// Says to a QEMU in that state that it may go on. In any other one it is refused, and a word too many does no harm:
// QEMU forgets such words before it waits again.
inline constexpr std::string_view go_on_command =
    R"({"execute":"migrate-continue","arguments":{"state":"cancelling"}})";

// What leads to the end of a migration, by QEMU's word for its state.
enum class EndStep : std::uint8_t { none, cancel, go_on, wait };
// `is_told`: it was told to cancel already.
EndStep step_to_end(std::string_view state, bool is_told);

// The socket of QEMU's monitor, in libvirt's status of a domain that is being sent away; empty when it is not.
std::string monitor_of_sender(std::string_view status);

// Of QEMU's answer to one command: a failure when it is one. Events, the greeting and answers alike are lines.
enum class Line : std::uint8_t { other, answer };
Result<Line> read_line(std::string_view line, std::string& state);

// Ends the migration of one QEMU, and waits until it is over. The state it is in then.
Result<std::string> end_migration(const std::string& monitor, std::chrono::steady_clock::time_point deadline);

// To be called while no libvirtd runs. What does not end in time is left to the next one. Monitors are below the
// runtime folder: a QEMU that was taken over can write any path into a status, and the node would talk to whoever
// listens there.
void end_unattended_migrations(const std::string& status_folder, const std::string& runtime);

}  // namespace vg::hypervisor
