// What the tests with a real libvirtd and QEMU share.
#pragma once

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/core.h"
#include "base/random.h"
#include "base/task.h"
#include "hypervisor/daemon.h"
#include "hypervisor/hypervisor.h"
#include "hypervisor/libvirt.h"
#include "hypervisor/reaper.h"

namespace vg::hypervisor::testing {

using namespace std::chrono_literals;

// Root has no session mode: the test goes on as another user.
inline bool leave_root() {
  if (::geteuid() != 0) return true;
  const passwd* user = ::getpwnam("virtgate");
  if (!user) user = ::getpwnam("nobody");
  return user && ::setgroups(0, nullptr) == 0 && ::setresgid(user->pw_gid, user->pw_gid, user->pw_gid) == 0 &&
         ::setresuid(user->pw_uid, user->pw_uid, user->pw_uid) == 0;
}

// `TEST_PROGRAM reap COMMAND...` is the reaper of its own tests. To be called before main().
inline bool reap_if_told() {
  static std::string line;
  if (!std::getline(std::ifstream("/proc/self/cmdline"), line)) return false;
  std::vector<char*> words;
  for (std::size_t at = 0; at < line.size(); at += std::strlen(&line[at]) + 1) words.push_back(&line[at]);
  if (words.size() < 3 || std::string_view(words[1]) != "reap") return false;
  words.push_back(nullptr);
  std::_Exit(run_reaper(&words[2]));
}

// What is missing on this machine; empty: nothing.
inline std::string missing_programs() {
  for (const char* program : {"/usr/sbin/libvirtd", "/usr/bin/qemu-system-x86_64"})
    if (::access(program, X_OK) != 0) return program;
  return "";
}

// A core that the test's own thread runs while it waits.
class TestCore final : public Core {
 public:
  void post(std::move_only_function<void()> fn) override {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(fn));
    came_.notify_one();
  }
  Task<void> sleep(std::chrono::milliseconds) override { co_return; }
  unsigned index() const override { return 0; }
  bool here() const override { return std::this_thread::get_id() == thread_; }

  template <class T>
  T run(Task<T> task) {
    std::optional<T> result;
    spawn(keep(std::move(task), result));
    while (!result) run_one();
    return std::move(*result);
  }
  void run_one() {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [&] { return !posted_.empty(); });
    auto fn = std::move(posted_.front());
    posted_.pop_front();
    lock.unlock();
    fn();
  }

 private:
  template <class T>
  static Task<void> keep(Task<T> task, std::optional<T>& result) {
    result.emplace(co_await task);
  }

  std::thread::id thread_ = std::this_thread::get_id();
  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<std::move_only_function<void()>> posted_;
};

class Events {
 public:
  void take(const Event& event) {
    const std::lock_guard lock(mutex_);
    all_.push_back(event);
    came_.notify_all();
  }
  // True as soon as `seen` holds, which is asked again after each event.
  bool await(const std::function<bool()>& seen) {
    std::unique_lock lock(mutex_);
    return came_.wait_for(lock, 30s, seen);
  }
  // One of this kind that came since the last forget(). Within await() only.
  bool has(Event::Kind kind, const std::string& detail = "") const {
    for (const Event& event : all_)
      if (event.kind == kind && (detail.empty() || event.detail == detail)) return true;
    return false;
  }
  void forget() {
    const std::lock_guard lock(mutex_);
    all_.clear();
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<Event> all_;
};

// A node: its libvirtd and the hypervisor on it. Folders are short, as the addresses of sockets must be.
class TestNode {
 public:
  explicit TestNode(int keepalive_seconds = 10) : folder_("/tmp/vgh" + random_token(6)) {
    std::filesystem::create_directory(folder_);
    std::filesystem::permissions(folder_, std::filesystem::perms::owner_all);
    keepalive_seconds_ = keepalive_seconds;
    events = std::make_unique<Events>();
    run_daemon();
    connect();
    events->await([&] { return hypervisor->connected(); });
  }
  void connect() {
    hypervisor =
        LibvirtHypervisor::create({.uri = daemon->uri(),
                                   .log_of = [this](const std::string& domain) { return daemon->log_of(domain); },
                                   .unresponsive = [this] { daemon->restart(); },
                                   .keepalive_seconds = keepalive_seconds_,
                                   .connect_max = std::chrono::seconds(2)});
    hypervisor->on_event([heard = events.get()](const Event& event) { heard->take(event); });
    hypervisor->begin();
  }
  ~TestNode() {
    for (const DomainPtr& domain : hypervisor->domains()) {
      (void)core.run(hypervisor->destroy(core, domain->name));
      (void)core.run(hypervisor->undefine(core, domain->name));
    }
    hypervisor.reset();
    if (daemon) daemon->stop();
    std::filesystem::remove_all(folder_);
  }
  TestNode(const TestNode&) = delete;
  TestNode& operator=(const TestNode&) = delete;

  void run_daemon() {
    auto running = LibvirtDaemon::run({.folder = folder_ + "/kept",
                                       .runtime = runtime(),
                                       .capabilities = "/tmp/virtgate-test-capabilities-" + std::to_string(::geteuid()),
                                       .reaper = {std::filesystem::read_symlink("/proc/self/exe"), "reap"}});
    if (!running) throw std::runtime_error(running.error().message);
    daemon = std::move(*running);
  }
  std::string runtime() const { return folder_ + "/r"; }
  std::string file(const std::string& name) const { return folder_ + "/" + name; }
  std::string make_disk(const std::string& name, std::uintmax_t bytes) const {
    std::ofstream(file(name)) << std::string(bytes, 'x');
    return file(name);
  }
  DomainPtr find(const std::string& name) const { return hypervisor->find(name); }
  State state(const std::string& name) const {
    const auto domain = find(name);
    return domain ? domain->state : State::none;
  }

  TestCore core;
  std::unique_ptr<LibvirtDaemon> daemon;
  std::unique_ptr<Events> events;
  std::unique_ptr<LibvirtHypervisor> hypervisor;

 private:
  const std::string folder_;
  int keepalive_seconds_ = 0;
};

// A guest without a system: it runs its firmware and then waits for ever.
inline std::string small_domain(const std::string& name, const std::string& more_devices = "") {
  return "<domain type='qemu'><name>" + name +
         "</name><memory unit='MiB'>24</memory><vcpu current='1'>2</vcpu>"
         "<os><type arch='x86_64' machine='q35'>hvm</type></os><features><acpi/></features>"
         "<cpu mode='custom'><model>qemu64</model></cpu><devices><emulator>/usr/bin/qemu-system-x86_64</emulator>"
         "<controller type='usb' model='qemu-xhci'/>"
         "<interface type='user'><mac address='02:00:00:00:00:01'/><model type='virtio'/><alias "
         "name='ua-default'/></interface>"
         "<channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>"
         "<video><model type='vga' vram='16384'/></video><memballoon model='none'/>" +
         more_devices + "</devices></domain>";
}

}  // namespace vg::hypervisor::testing
