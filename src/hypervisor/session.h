// The connection to libvirt and the copy of its domains. Shared by everything that may be in a call when the hypervisor
// is let go.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "hypervisor/lanes.h"
#include "hypervisor/libvirt.h"
#include "hypervisor/libvirt_handles.h"

namespace vg::hypervisor {

class Session : public std::enable_shared_from_this<Session> {
 public:
  explicit Session(LibvirtOptions options) : options_(std::move(options)) {}

  void on_event(std::function<void(const Event&)> happened) { happened_ = std::move(happened); }
  void begin();
  // No event is told from here on. Connection and event loop are let go.
  void stop();

  DomainPtr find(std::string_view name) const;
  std::vector<DomainPtr> domains() const;
  bool connected() const { return connected_; }

  // Null while there is none.
  ConnectionHandle connection() const;
  // Reads the domain again. Blocks; whoever reads last has the newest.
  void refresh(const ConnectionHandle& connection, const std::string& name);
  // An event of libvirt, from its loop: the domain is read again, then it is told.
  void note(Event event);
  // The connection was closed by the other side, or by us after its silence.
  void lost(bool by_silence);
  // See LibvirtOptions::unresponsive. False: nobody was told.
  bool restart() const;
  std::string log_of(const std::string& domain) const { return options_.log_of ? options_.log_of(domain) : ""; }

  Lanes& lanes() { return lanes_; }

 private:
  enum class Loss : std::uint8_t { none, by_end, by_silence };
  void keep_connected();
  // None: it is time to stop. Reads everything again now and then meanwhile.
  Loss await_loss(const ConnectionHandle& connection);
  bool connect();
  void disconnect();
  void read_all(const ConnectionHandle& connection, bool tell);
  void put(const std::string& name, DomainPtr domain);
  void tell_pending(const std::string& name);
  void tell(const Event& event);

  const LibvirtOptions options_;
  std::function<void(const Event&)> happened_;
  std::atomic<bool> connected_{false}, silent_{false};

  mutable std::mutex domains_mutex_;
  std::map<std::string, DomainPtr, std::less<>> domains_;
  std::array<std::mutex, 16> reading_;  // by the name's hash

  std::mutex pending_mutex_;
  std::map<std::string, std::vector<Event>, std::less<>> pending_;

  mutable std::mutex connection_mutex_;
  std::condition_variable connection_changed_;
  ConnectionHandle connection_;
  std::vector<int> callbacks_;
  bool lost_ = false, silence_ = false, stopping_ = false;

  Lanes lanes_;
  std::jthread keeper_;
};

// Registers for every event that there is; the numbers to deregister them.
std::vector<int> register_events(virConnectPtr connection, const std::shared_ptr<Session>& session);

// Runs libvirt's event loop for as long as the process lives. To be called before the first connection.
void run_event_loop();

}  // namespace vg::hypervisor
