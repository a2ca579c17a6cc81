// The hypervisor by libvirt's C library.
//
// One thread runs libvirt's event loop for the whole process, one keeps the connection, and lanes of threads wait for
// calls (lanes.h). What is known of domains is a copy that events keep true: find() and domains() never wait.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/hypervisor_limits.h"
#include "hypervisor/hypervisor.h"

namespace vg::hypervisor {

struct LibvirtOptions {
  std::string uri;
  // Where QEMU of a domain writes its log (LibvirtDaemon::log_of); may be empty. The file goes away with the domain.
  std::function<std::string(const std::string& domain)> log_of = {};
  // Called when libvirt is there and says nothing for long, and for Hypervisor::restart() (LibvirtDaemon::restart);
  // empty: nobody can do that.
  std::function<void()> unresponsive = {};
  int keepalive_seconds = limits::hypervisor_keepalive_seconds;
  std::chrono::milliseconds connect_max = limits::hypervisor_connect_max;
};

class LibvirtHypervisor : public Hypervisor {
 public:
  static std::unique_ptr<LibvirtHypervisor> create(LibvirtOptions options);
  // After on_event(): connects, and again whenever the connection is lost. Returns at once; Event::connection tells.
  virtual void begin() = 0;
  // No event is told from here on, and calls that wait are given up; what was known of domains stays.
  virtual void stop() = 0;
};

}  // namespace vg::hypervisor
