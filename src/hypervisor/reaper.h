// The process above libvirtd. libvirt starts each QEMU as an orphan, which goes to the first process of the machine;
// and as long as that does not take its exit code, libvirt believes that it runs. In a container the first process
// often does so late or never. This one takes them all in, so that a guest that ended is known to have ended.
//
// It is also the door into their confinement: every libvirtd of a node is its child, so that the next one has the same
// files and may signal the guests that the one before has started. It outlives the node's process with them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "hypervisor/daemon_process.h"

namespace vg::hypervisor {

// With this word in front of a command the node's program is this process.
inline constexpr std::string_view reaper_word = "reap";

// Behind it, in front of the rules: they say what is seen of the file system as well (sandbox/isolate.h).
inline constexpr std::string_view isolate_word = "@isolate";

// Rules in front of the command (confinement.h), which ends with a null, say which files it and all that it starts may
// reach; nothing is started where that cannot be had. Listens on descriptor 3, where each byte that comes in is the
// wish that the command runs, and the same byte goes out when it has ended. Ends when nobody is connected and nothing
// is left of what it started. Has no thread and no log, so that it may be the first thing that a program does. The exit
// code.
int run_reaper(char* const* command);

// A node's end of it.
class Reaper {
 public:
  // Finds the one that listens at `socket`, which must be where nobody below it can put another, or starts one.
  struct Start {
    std::string socket;
    std::vector<std::string> command, environment;
    std::string log;
  };
  static Result<Reaper> find_or_start(const Start& start);

  bool is_new() const { return is_new_; }  // started, not found
  // False: it is gone.
  bool start_command();
  // Whether the command has ended since it was asked for last, or nothing can be said about it any more.
  bool has_ended();
  int descriptor() const { return link_.get(); }
  Process take_process() { return std::move(process_); }  // if it was started by us: it is to be reaped

 private:
  File link_;
  Process process_;
  bool is_new_ = false;
  char wish_ = 0;  // another one each time: the end of an earlier command may be told late
};

}  // namespace vg::hypervisor
