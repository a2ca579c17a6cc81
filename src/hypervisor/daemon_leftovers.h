// What a libvirtd that was killed, or whose disk was full, left in a state that the next one cannot read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hypervisor/daemon_process.h"

namespace vg::hypervisor {

// The QEMU of a domain by the file that libvirt has written its number into; nothing if it is none. Whoever took over a
// QEMU can write there as well, and numbers of processes are used again: it must be a QEMU of that domain, of this
// runtime folder and so of this node.
std::optional<Process> guest_process(const std::string& pid_file, const std::string& domain,
                                     const std::string& runtime);

// libvirt writes what it knows of a running domain into a file of this kind, and replaces it as a whole.
bool is_whole_status(std::string_view text);

// It knows the process of its domain. One that was written while QEMU was started, by a libvirtd that was killed before
// it had its number, does not.
bool names_process(std::string_view text);

// To be called while no libvirtd runs. Files that were not finished go. A domain whose status is broken would be taken
// for one that does not run, and be started beside its own QEMU, on the same disks: that QEMU is ended. One whose
// status names no process would count as starting for ever, since no monitor answers, and nobody but the dead libvirtd
// could have let its QEMU begin.
void clear_unreadable(const std::string& status_folder, const std::string& runtime);

// To be called after it. libvirt makes folders for a domain before it writes its status, and only one that knows the
// domain clears them: those that no status names go. `folders`: where they are.
void clear_forgotten(const std::string& status_folder, const std::vector<std::string>& folders);

// Ends every QEMU that libvirt has a status of; the next libvirtd finds that those guests have failed.
void end_guests(const std::string& status_folder, const std::string& runtime);

}  // namespace vg::hypervisor
