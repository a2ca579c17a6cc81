// The handler's HTTPS paths (spec subresources 3.5 and 3.6): what virt-api asks of the node that runs a guest. Callers
// show the client certificate of the link; health alone is told to everybody.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/metrics.h"
#include "handler/place.h"
#include "handler/server/disk_copies.h"
#include "handler/server/sessions.h"
#include "handler/server/stats.h"
#include "handler/server/target.h"
#include "http/exchange.h"
#include "http/task_set.h"
#include "http/udp.h"
#include "http/unix.h"
#include "hypervisor/hypervisor.h"

namespace vg::handler {

// What the paths tell to, and ask of, whoever follows the VMIs. From any thread; what is empty is not called.
struct SyncHooks {
  std::function<void(std::string_view ns, std::string_view name, bool paused)> note_pause = {};
  std::function<void(std::string_view ns, std::string_view name)> wake = {};
  // Where ports of the guest are forwarded from; empty: nowhere.
  std::function<std::string(std::string_view ns, std::string_view name)> guest_address = {};
  // Documents of the guest agent, by path: "guestosinfo", "userlist", "filesystemlist".
  std::function<std::string(std::string_view domain, std::string_view what)> agent_document = {};
};

class Service final : public http::Handler {
 public:
  struct Parts {
    hypervisor::Hypervisor& hypervisor;
    NodePlace place;
    metrics::Registry& metrics;
    SyncHooks hooks = {};
    std::function<std::optional<std::string>()> problem = {};  // why the node is not well
    // Where a vsock port of a guest is, and what the node shows to guests that want TLS; empty: nothing.
    std::function<Result<http::LocalAddress>(std::uint32_t context_id, std::uint32_t port)> vsock = http::vsock_address;
    std::function<Result<std::shared_ptr<const http::TlsClientContext>>()> vsock_tls = {};
  };
  explicit Service(Parts parts);

  Task<void> handle(http::Exchange& exchange) override;
  // After the cores have stopped, before they are destroyed.
  void stop() { tasks_.clear(); }

 private:
  using Answer = Task<http::Response>;
  struct Row;
  static const Row* find_row(const Target& target);

  Answer call(http::Exchange& exchange, const Target& target);
  Answer pause(Core& core, const Target& target, std::string_view body);
  Answer unpause(Core& core, const Target& target, std::string_view body);
  Answer soft_reboot(Core& core, const Target& target, std::string_view body);
  Answer reset(Core& core, const Target& target, std::string_view body);
  Answer freeze(Core& core, const Target& target, std::string_view body);
  Answer unfreeze(Core& core, const Target& target, std::string_view body);
  Answer copy_disks(Core& core, const Target& target, std::string_view body);
  Answer screenshot(Core& core, const Target& target, std::string_view body);
  Answer stats(Core& core, const Target& target, std::string_view body);
  Answer agent_document(Core& core, const Target& target, std::string_view body);
  Answer unsupported(Core& core, const Target& target, std::string_view body);
  Task<void> thaw_later(Core& core, std::string domain, std::chrono::milliseconds after, std::uint64_t freeze);

  Task<void> open_socket(http::Exchange& exchange, Target target, std::string base);
  Task<void> join(http::Exchange& exchange, Target target, std::string path, Sessions::Place place);
  Result<Sessions::Place> take_display(const Target& target);
  Task<void> open_usb(http::Exchange& exchange, Target target);
  Task<void> open_vsock(http::Exchange& exchange, Target target);
  Task<Result<std::unique_ptr<Stream>>> connect_vsock(Core& core, std::uint32_t context_id, VsockTarget asked);
  // A port of the guest that is open on its address for a while.
  struct Forwarded {
    std::string domain, nic;
    std::string_view protocol;
    std::string address;
    std::uint16_t port = 0;
  };
  Task<void> forward(http::Exchange& exchange, Target target);
  Task<Result<Forwarded>> open_port(Core& core, const Target& target, ForwardTarget asked);
  Task<void> close_port(Core& core, Forwarded forwarded);
  struct GuestEnd {
    std::unique_ptr<Stream> bytes;                    // TCP
    std::unique_ptr<http::DatagramStream> datagrams;  // UDP
  };
  Task<Result<GuestEnd>> connect_port(Core& core, const Forwarded& forwarded);
  Task<void> carry_port(std::unique_ptr<Stream> client, GuestEnd guest, Target target, Forwarded forwarded);
  Task<void> stream(http::Exchange& exchange, const Target& target);
  void wake(const Target& target) const;

  Parts parts_;
  Sessions sessions_;
  http::TaskSet tasks_;
  DiskCopies copies_;
  SystemClock clock_;
  GuestStats stats_;
  metrics::Family<metrics::Counter>& requests_;
  std::mutex freezes_mutex_;
  std::map<std::string, std::uint64_t, std::less<>>
      freezes_;  // the last freeze of a domain: an older timer does nothing
};

}  // namespace vg::handler
