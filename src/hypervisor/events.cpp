// libvirt's events, each as one of ours (RUN-EVT-01), and the loop that brings them.
#include <libvirt/libvirt.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/hypervisor_limits.h"
#include "base/log.h"
#include "hypervisor/panic_text.h"
#include "hypervisor/session.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
// libvirt is not built with the sanitizer, which cannot see how its threads hand things to one another.
extern "C" const char* __tsan_default_suppressions() {
  return "race:libvirt.so\nmutex:libvirt.so\nrace:libtirpc.so\nrace:libglib-2.0.so\n";
}
#endif
#endif

namespace vg::hypervisor {
namespace {

using Holder = std::shared_ptr<Session>;

void note(void* opaque, virDomainPtr domain, Event::Kind kind, const char* detail = nullptr,
          const char* reason = nullptr) {
  (*static_cast<Holder*>(opaque))
      ->note({.kind = kind,
              .name = virDomainGetName(domain),
              .detail = detail ? detail : "",
              .reason = reason ? reason : ""});
}

int lifecycle(virConnectPtr, virDomainPtr domain, int event, int detail, void* opaque) {
  if (event == VIR_DOMAIN_EVENT_CRASHED && detail == VIR_DOMAIN_EVENT_CRASHED_PANICKED) {
    const std::string log = (*static_cast<Holder*>(opaque))->log_of(virDomainGetName(domain));
    note(opaque, domain, Event::Kind::panicked, panic_text(log).c_str());
  }
  note(opaque, domain, Event::Kind::changed);
  return 0;
}
void rebooted(virConnectPtr, virDomainPtr domain, void* opaque) { note(opaque, domain, Event::Kind::rebooted); }
void added(virConnectPtr, virDomainPtr domain, const char* alias, void* opaque) {
  note(opaque, domain, Event::Kind::device_added, alias);
}
void removed(virConnectPtr, virDomainPtr domain, const char* alias, void* opaque) {
  note(opaque, domain, Event::Kind::device_removed, alias);
}
void refused(virConnectPtr, virDomainPtr domain, const char* alias, void* opaque) {
  note(opaque, domain, Event::Kind::device_refused, alias);
}
void agent(virConnectPtr, virDomainPtr domain, int /*state*/, int /*reason*/, void* opaque) {
  note(opaque, domain, Event::Kind::agent);
}
void io_error(virConnectPtr, virDomainPtr domain, const char* /*path*/, const char* alias, int /*action*/,
              const char* reason, void* opaque) {
  note(opaque, domain, Event::Kind::io_error, alias, reason);
}
void watchdog(virConnectPtr, virDomainPtr domain, int action, void* opaque) {
  note(opaque, domain, Event::Kind::watchdog, watchdog_action(action));
}
void balloon(virConnectPtr, virDomainPtr domain, unsigned long long /*kib*/, void* opaque) {
  note(opaque, domain, Event::Kind::memory);
}
void memory_device(virConnectPtr, virDomainPtr domain, const char* /*alias*/, unsigned long long /*kib*/,
                   void* opaque) {
  note(opaque, domain, Event::Kind::memory);
}
// How long a guest stood still while it moved is told here and nowhere else.
void job_completed(virConnectPtr, virDomainPtr domain, virTypedParameterPtr list, int count, void* opaque) {
  const auto number = [&](const char* name) {
    unsigned long long value = 0;
    return virTypedParamsGetULLong(list, count, name, &value) == 1 ? value : 0;
  };
  log::info("a job of a domain is over", {{"domain", virDomainGetName(domain)},
                                          {"elapsedMs", number(VIR_DOMAIN_JOB_TIME_ELAPSED)},
                                          {"downtimeMs", number(VIR_DOMAIN_JOB_DOWNTIME)},
                                          {"bytes", number(VIR_DOMAIN_JOB_DATA_PROCESSED)}});
  note(opaque, domain, Event::Kind::job_completed);
}

// libvirt takes them all as one type and calls each as what it is.
template <class Fn>
virConnectDomainEventGenericCallback generic(Fn* callback) {
  return reinterpret_cast<virConnectDomainEventGenericCallback>(reinterpret_cast<void (*)()>(callback));
}

void forget_holder(void* opaque) { delete static_cast<Holder*>(opaque); }

// One for the process, as libvirt wants it.
class EventLoop {
 public:
  EventLoop() {
    virSetErrorFunc(nullptr, [](void*, virErrorPtr) {});  // errors are told by who called
    virEventRegisterDefaultImpl();
    // Wakes the loop now and then, so that the end of the process is noticed.
    virEventAddTimeout(100, [](int, void*) {}, nullptr, nullptr);
    thread_ = std::jthread([](const std::stop_token& stop) {
      while (!stop.stop_requested()) virEventRunDefaultImpl();
    });
  }

 private:
  std::jthread thread_;
};

}  // namespace

void run_event_loop() {
  // libvirt writes to a socket whether or not libvirtd has just ended: an error of that call, not the end of this
  // process.
  std::signal(SIGPIPE, SIG_IGN);
  virInitialize();
  static EventLoop loop;
}

std::vector<int> register_events(virConnectPtr connection, const std::shared_ptr<Session>& session) {
  const std::array<std::pair<int, virConnectDomainEventGenericCallback>, 11> table = {{
      {VIR_DOMAIN_EVENT_ID_LIFECYCLE, generic(lifecycle)},
      {VIR_DOMAIN_EVENT_ID_REBOOT, generic(rebooted)},
      {VIR_DOMAIN_EVENT_ID_DEVICE_ADDED, generic(added)},
      {VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED, generic(removed)},
      {VIR_DOMAIN_EVENT_ID_DEVICE_REMOVAL_FAILED, generic(refused)},
      {VIR_DOMAIN_EVENT_ID_AGENT_LIFECYCLE, generic(agent)},
      {VIR_DOMAIN_EVENT_ID_IO_ERROR_REASON, generic(io_error)},
      {VIR_DOMAIN_EVENT_ID_WATCHDOG, generic(watchdog)},
      {VIR_DOMAIN_EVENT_ID_BALLOON_CHANGE, generic(balloon)},
      {VIR_DOMAIN_EVENT_ID_MEMORY_DEVICE_SIZE_CHANGE, generic(memory_device)},
      {VIR_DOMAIN_EVENT_ID_JOB_COMPLETED, generic(job_completed)},
  }};
  std::vector<int> callbacks;
  for (const auto& [event, callback] : table) {
    auto holder = std::make_unique<Holder>(session);
    const int number =
        virConnectDomainEventRegisterAny(connection, nullptr, event, callback, holder.get(), forget_holder);
    if (number < 0) {
      log::warning("libvirt does not tell of an event", {{"event", event}, {"reason", libvirt_error().message}});
      continue;
    }
    (void)holder.release();  // forget_holder() has it
    callbacks.push_back(number);
  }
  return callbacks;
}

}  // namespace vg::hypervisor
