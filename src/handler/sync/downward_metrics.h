// Metrics of the host for the guests that asked for them: on a disk that is written anew every few seconds
// (RUN-DMX-01), and through a port of the guest, where they are told when they are asked for (DOM-CHN-02).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/background.h"
#include "base/clock.h"
#include "base/core.h"
#include "base/stream.h"
#include "guests/downward_metrics.h"
#include "hypervisor/hypervisor.h"

namespace vg::handler {

class DownwardMetrics {
 public:
  struct Parts {
    Core& core;
    hypervisor::Hypervisor& hypervisor;
    const Clock& clock;
    std::string node;
    std::string guests;   // the folder in which guests have theirs
    std::string sockets;  // likewise
    std::function<guests::HostMetrics()> host;
  };
  explicit DownwardMetrics(Parts parts) : parts_(std::move(parts)) {}
  DownwardMetrics(const DownwardMetrics&) = delete;
  DownwardMetrics& operator=(const DownwardMetrics&) = delete;

  // On the core.
  void start() {
    watching_ = Background(keep_running(parts_.core, "writing metrics of guests", [this] { return watch(); }));
  }
  // "QEMU 7.2.22, libvirt 9.0.0"
  void set_hypervisor(std::string version) { version_ = std::move(version); }
  // After the core has stopped.
  void stop();

 private:
  // Where a guest has its metrics; what is empty it did not ask for.
  struct Places {
    std::shared_ptr<const std::string> xml;  // that they were read from
    std::string disk, port;
  };
  Task<void> watch();
  const Places& places_of(const hypervisor::Domain& domain);
  Task<std::string> collect(std::string domain);
  Task<void> write_disk(std::string domain, std::string path);
  Task<void> serve(std::string domain, std::string path);
  Task<bool> answer(const std::string& domain, Stream& port, guests::MetricsRequests& requests);

  Parts parts_;
  std::string version_;
  Background watching_;
  std::map<std::string, Places, std::less<>> places_;
  std::map<std::string, Background, std::less<>> writers_, ports_;
};

// Of this machine.
guests::HostMetrics this_host_metrics();

}  // namespace vg::handler
