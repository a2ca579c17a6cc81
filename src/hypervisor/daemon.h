// A libvirtd of the node's own, in session mode: an ordinary process of the node's user, with folders, sockets and a
// host identity that no other libvirt of this machine knows. It is not the node's child in spirit: guests and libvirtd
// go on when the node's process ends, and the next one finds them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace vg::hypervisor {

struct DaemonOptions {
  std::string folder;   // what is kept: definitions, caches, logs, the host's identity
  std::string runtime;  // sockets and what runs now; short (limits::runtime_folder_bytes_max), of this user alone
  // Where it is remembered what each QEMU can do, which takes seconds to find out; several daemons of one user may
  // share it. Among what is kept, unless given.
  std::string capabilities = {};
  // The words of a program that calls run_reaper() with what follows them.
  std::vector<std::string> reaper = {};
  std::string program = {};  // of libvirtd; the installed one unless given
  // Folders that `reaper` lets guests reach. Such rules are about what is there when it starts: when something else is,
  // because a file system was mounted there or a folder put back, and no guest runs, it is replaced.
  std::vector<std::string> reached = {};
  // Called, by a thread of its own, when the reaper is gone or has to be replaced: this process can start no other,
  // the next one will.
  std::function<void()> lost = nullptr;
};

// Folders of a daemon that what it runs reads and loads from, and must not write.
std::vector<std::string> guard_folders(const DaemonOptions& options);

class LibvirtDaemon {
 public:
  // Finds the one that runs, or starts one, and waits until it takes connections. From then on a thread starts the next
  // one whenever it ends (RUN-DIR-04). Refused for root, whose libvirtd is the machine's, and while another process
  // looks after the same folder.
  static Result<std::unique_ptr<LibvirtDaemon>> run(const DaemonOptions& options);
  // The same in two steps. The first needs rights that a node gives up (cmd/node/confine.h) and starts no thread.
  static Result<std::unique_ptr<LibvirtDaemon>> prepare(const DaemonOptions& options);
  virtual Result<void> begin() = 0;

  // Lets go of it: it runs on.
  virtual ~LibvirtDaemon() = default;
  // Ends it. Guests run on.
  virtual void stop() = 0;
  // Kills the one that runs, which hangs; the next one follows.
  virtual void restart() = 0;

  virtual std::string uri() const = 0;                              // for LibvirtHypervisor
  virtual std::string log_of(const std::string& domain) const = 0;  // what QEMU wrote
  virtual int pid() const = 0;                                      // of the one that runs now; 0: none
};

// The URI of the daemon of another node on this machine, by its runtime folder.
std::string daemon_uri(const std::string& runtime);

}  // namespace vg::hypervisor
