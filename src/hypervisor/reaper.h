// The process above libvirtd. libvirt starts each QEMU as an orphan, which goes to the first process of the machine;
// and as long as that does not take its exit code, libvirt believes that it runs. In a container the first process
// often does so late or never. This one takes them all in, so that a guest that ended is known to have ended.
#pragma once

#include <string_view>

namespace vg::hypervisor {

// With this word in front of a command the node's program is this process.
inline constexpr std::string_view reaper_word = "reap";

// Starts the command (a null behind it) and waits until nothing is left of what it started. Rules in front of it
// (confinement.h) say which files it and all that it starts may reach; nothing is started where that cannot be had. Has
// no thread and no log, so that it may be the first thing that a program does. The exit code.
int run_reaper(char* const* command);

}  // namespace vg::hypervisor
