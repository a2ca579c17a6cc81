// For tests: a hypervisor in memory. It keeps domains as libvirt would, tells of every change, writes down what it was
// asked for, and fails or waits where a test says so. Header only: whoever uses it links no libvirt.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/core.h"
#include "base/status.h"
#include "base/task.h"
#include "hypervisor/hypervisor.h"

namespace vg::hypervisor {

class FakeHypervisor final : public Hypervisor {
 public:
  // --- what a test sets and looks at; from any thread

  // "start ns_a", "change_device ns_a attach <disk .../>", in the order of the calls.
  std::vector<std::string> calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  void forget_calls() {
    const std::lock_guard lock(mutex_);
    calls_.clear();
  }
  // The next call of this name ("start", "migrate", ...) is refused with it and changes nothing.
  void fail_next(const std::string& call, Status status) {
    const std::lock_guard lock(mutex_);
    failures_.emplace(call, std::move(status));
  }
  // Calls of this name wait from now on, until release().
  void hold(const std::string& call) {
    const std::lock_guard lock(mutex_);
    held_.insert(call);
  }
  void release(const std::string& call) {
    std::vector<Waiting> waiting;
    {
      const std::lock_guard lock(mutex_);
      held_.erase(call);
      std::swap(waiting, waiting_[call]);
    }
    for (const Waiting& each : waiting) each.core->post([coroutine = each.coroutine] { coroutine.resume(); });
  }
  // As if something outside had made, changed or removed a domain; tells of it.
  void put(Domain domain) {
    const std::string name = domain.name;
    {
      const std::lock_guard lock(mutex_);
      domains_[name] = std::make_shared<const Domain>(std::move(domain));
    }
    emit({.kind = Event::Kind::changed, .name = name});
  }
  void remove(const std::string& name) {
    {
      const std::lock_guard lock(mutex_);
      domains_.erase(name);
    }
    emit({.kind = Event::Kind::changed, .name = name});
  }
  // Changes one that is there, and tells of it.
  void set_state(const std::string& name, State state, std::string_view reason = "Unknown") {
    change(name, [&](Domain& domain) {
      domain.state = state;
      domain.reason = reason;
    });
  }
  void set_xml(const std::string& name, std::string xml) {
    change(name, [&](Domain& domain) { domain.xml = std::make_shared<const std::string>(std::move(xml)); });
  }
  void connect_agent(const std::string& name, bool connected) {
    change(name, [&](Domain& domain) { domain.agent_connected = connected; }, Event::Kind::agent);
  }
  void set_connected(bool connected) {
    connected_ = connected;
    emit({.kind = Event::Kind::connection});
  }
  void emit(const Event& event) {
    if (happened_) happened_(event);
  }
  // The answer to agent commands that hold this text ("guest-get-osinfo").
  void answer_agent(const std::string& command, std::string answer) {
    const std::lock_guard lock(mutex_);
    agent_answers_[command] = std::move(answer);
  }
  HostFacts facts = {.architecture = "amd64",
                     .kvm = false,
                     .why_no_kvm = "a test",
                     .why_no_vsock = {},
                     .machine_types = {"pc-q35-7.2", "q35"},
                     .cpu_models = {"qemu64", "Nehalem"},
                     .known_models = {"qemu64", "Nehalem", "EPYC"},
                     .cpu_features = {"sse4.2"},
                     .required_features = {},
                     .host_model = "Nehalem",
                     .vendor = "Intel",
                     .cpus = 4,
                     .memory_bytes = std::uint64_t{8} << 30,
                     .hypervisor_version = "fake"};
  Screenshot picture = {.mime_type = "image/x-portable-pixmap", .bytes = "P6\n1 1\n255\n..."};
  JobProgress progress = {};
  DomainStats counters = {};
  // What the hypervisor makes of a document that is defined; as it is, unless set.
  std::function<std::string(const std::string&)> complete;

  // --- Hypervisor

  DomainPtr find(std::string_view name) const override {
    const std::lock_guard lock(mutex_);
    const auto found = domains_.find(name);
    return found == domains_.end() ? nullptr : found->second;
  }
  std::vector<DomainPtr> domains() const override {
    const std::lock_guard lock(mutex_);
    std::vector<DomainPtr> all;
    for (const auto& [name, domain] : domains_) all.push_back(domain);
    return all;
  }
  bool connected() const override { return connected_; }
  void on_event(std::function<void(const Event&)> happened) override { happened_ = std::move(happened); }

  Task<Result<HostFacts>> host(Core& core) override {
    if (auto begun = co_await begin(core, "host", ""); !begun) co_return fail(begun.error());
    co_return facts;
  }
  Task<Result<std::string>> define(Core& core, std::string xml) override {
    const std::string name = between(xml, "<name>", "</name>");
    if (auto begun = co_await begin(core, "define", name); !begun) co_return fail(begun.error());
    if (complete) xml = complete(xml);
    put({.name = name,
         .uuid = between(xml, "<uuid>", "</uuid>"),
         .state = State::shutoff,
         .xml = std::make_shared<const std::string>(xml)});
    co_return xml;
  }
  Task<Result<void>> undefine(Core& core, std::string name) override {
    if (auto begun = co_await begin(core, "undefine", name); !begun) co_return fail(begun.error());
    if (find(name)) remove(name);
    co_return Result<void>();
  }
  Task<Result<void>> start(Core& core, std::string name, bool paused) override {
    return power(core, paused ? "start_paused" : "start", std::move(name),
                 {State::none, State::shutoff, State::crashed}, paused ? State::paused : State::running,
                 paused ? "User" : "Unknown");
  }
  Task<Result<void>> suspend(Core& core, std::string name) override {
    return power(core, "suspend", std::move(name), {State::running}, State::paused, "User");
  }
  Task<Result<void>> resume(Core& core, std::string name) override {
    return power(core, "resume", std::move(name), {State::paused}, State::running, "Unknown");
  }
  // A guest that does as it is told, at once. hold("shut_down") makes one that does not.
  Task<Result<void>> shut_down(Core& core, std::string name, Asked how) override {
    return power(core, how == Asked::button ? "press_button" : "shut_down", std::move(name),
                 {State::running, State::paused, State::shutting_down}, State::shutoff, "Shutdown");
  }
  Task<Result<void>> destroy(Core& core, std::string name) override {
    return power(core, "destroy", std::move(name), {State::running, State::paused, State::shutting_down},
                 State::shutoff, "Destroyed");
  }
  Task<Result<void>> reset(Core& core, std::string name) override { return simple(core, "reset", std::move(name)); }
  Task<Result<void>> reboot(Core& core, std::string name) override { return simple(core, "reboot", std::move(name)); }
  Task<Result<void>> change_device(Core& core, std::string name, Change change, std::string device_xml) override {
    constexpr std::string_view words[] = {"attach", "detach", "update"};
    const auto word = words[static_cast<std::size_t>(change)];
    return simple(core, "change_device", std::move(name), std::string(word) + " " + device_xml);
  }
  Task<Result<void>> set_vcpus(Core& core, std::string name, unsigned count) override {
    return simple(core, "set_vcpus", std::move(name), std::to_string(count));
  }
  Task<Result<void>> resize_disk(Core& core, std::string name, std::string target, std::uint64_t bytes) override {
    return simple(core, "resize_disk", std::move(name), target + " " + std::to_string(bytes));
  }
  Task<Result<std::string>> ask_agent(Core& core, std::string name, std::string command,
                                      std::chrono::seconds /*timeout*/) override {
    if (auto begun = co_await begin(core, "ask_agent", name, command); !begun) co_return fail(begun.error());
    const std::lock_guard lock(mutex_);
    for (const auto& [text, answer] : agent_answers_)
      if (command.contains(text)) co_return answer;
    co_return fail(Status::internal_error("LibvirtError(Code=86, Domain=10, Message='the agent is not connected')"));
  }
  Task<Result<void>> set_guest_time(Core& core, std::string name) override {
    return simple(core, "set_guest_time", std::move(name));
  }
  Task<Result<Screenshot>> screenshot(Core& core, std::string name) override {
    if (auto begun = co_await begin(core, "screenshot", name); !begun) co_return fail(begun.error());
    co_return picture;
  }
  Task<Result<DomainStats>> stats(Core& core, std::string name) override {
    if (auto begun = co_await begin(core, "stats", name); !begun) co_return fail(begun.error());
    co_return counters;
  }
  Task<Result<void>> dump_memory(Core& core, std::string name, std::string file) override {
    return simple(core, "dump_memory", std::move(name), std::move(file));
  }
  Task<Result<void>> begin_copy(Core& core, std::string name, std::vector<DiskCopy> disks) override {
    std::string all;
    for (const DiskCopy& disk : disks) all += (all.empty() ? "" : ",") + disk.target;
    return simple(core, "begin_copy", std::move(name), std::move(all));
  }
  Task<Result<void>> copy_result(Core& core, std::string name) override {
    return simple(core, "copy_result", std::move(name));
  }
  Task<Result<void>> forward_port(Core& core, std::string name, std::string nic_alias, std::string_view protocol,
                                  std::string address, std::uint16_t port, std::uint16_t guest_port) override {
    return simple(core, "forward_port", std::move(name),
                  nic_alias + " " + std::string(protocol) + " " + address + ":" + std::to_string(port) + " " +
                      std::to_string(guest_port));
  }
  Task<Result<void>> stop_forwarding(Core& core, std::string name, std::string nic_alias, std::string_view protocol,
                                     std::string address, std::uint16_t port) override {
    return simple(core, "stop_forwarding", std::move(name),
                  nic_alias + " " + std::string(protocol) + " " + address + ":" + std::to_string(port));
  }
  std::vector<ForwardedPort> open_ports = {};
  Task<Result<std::vector<ForwardedPort>>> forwarded_ports(Core& core, std::string name) override {
    if (auto begun = co_await begin(core, "forwarded_ports", name); !begun) co_return fail(begun.error());
    co_return open_ports;
  }
  // The domain is gone from here afterwards.
  Task<Result<void>> migrate(Core& core, std::string name, MigrationRequest request) override {
    if (auto begun = co_await begin(core, "migrate", name, request.destination_uri); !begun)
      co_return fail(begun.error());
    if (!find(name)) co_return fail(no_domain(name));
    elsewhere[name] = {.name = name, .uuid = "", .state = State::running};
    remove(name);
    co_return Result<void>();
  }
  std::map<std::string, Domain> elsewhere = {};
  Task<Result<std::optional<Domain>>> look_elsewhere(Core& core, std::string uri, std::string name) override {
    if (auto begun = co_await begin(core, "look_elsewhere", name, uri); !begun) co_return fail(begun.error());
    const auto found = elsewhere.find(name);
    co_return found == elsewhere.end() ? std::nullopt : std::optional(found->second);
  }
  Task<Result<std::string>> migratable(Core& core, std::string name) override {
    if (auto begun = co_await begin(core, "migratable", name); !begun) co_return fail(begun.error());
    const auto domain = find(name);
    if (!domain) co_return fail(no_domain(name));
    co_return domain->xml ? *domain->xml : std::string();
  }
  Task<Result<void>> start_postcopy(Core& core, std::string name) override {
    return simple(core, "start_postcopy", std::move(name));
  }
  Task<Result<void>> set_max_downtime(Core& core, std::string name, std::chrono::milliseconds time) override {
    return simple(core, "set_max_downtime", std::move(name), std::to_string(time.count()));
  }
  Task<Result<JobProgress>> job(Core& core, std::string name) override {
    if (auto begun = co_await begin(core, "job", name); !begun) co_return fail(begun.error());
    co_return progress;
  }
  // A migration that is held answers with a failure, as libvirt's does.
  Task<Result<void>> abort_job(Core& core, std::string name) override {
    if (auto begun = co_await begin(core, "abort_job", name); !begun) co_return fail(begun.error());
    fail_next("migrate",
              Status::internal_error("LibvirtError(Code=78, Domain=10, Message='operation aborted: migration job')"));
    release("migrate");
    co_return Result<void>();
  }

  bool waits_for_a_word = false;  // QEMU, told to cancel at the wrong moment
  Task<Result<void>> release_cancelled(Core& core, std::string name) override {
    if (auto begun = co_await begin(core, "release_cancelled", name); !begun) co_return fail(begun.error());
    if (!std::exchange(waits_for_a_word, false))
      co_return fail(Status::internal_error("Migration not in expected state: active"));
    co_return Result<void>();
  }
  bool can_restart = true;
  bool restart() override {
    const std::lock_guard lock(mutex_);
    calls_.emplace_back("restart");
    return can_restart;
  }

  static Status no_domain(std::string_view name) {
    return Status{
        .code = 404,
        .reason = "NotFound",
        .message = "LibvirtError(Code=42, Domain=10, Message='no domain with the name " + std::string(name) + "')",
        .details = {}};
  }

 private:
  struct Waiting {
    Core* core;
    std::coroutine_handle<> coroutine;
  };
  // Suspends as long as calls of this name are held.
  struct Held {
    FakeHypervisor& owner;
    Core& core;
    std::string call;
    bool await_ready() const { return false; }
    bool await_suspend(std::coroutine_handle<> coroutine) {
      const std::lock_guard lock(owner.mutex_);
      if (!owner.held_.contains(call)) return false;
      owner.waiting_[call].push_back({&core, coroutine});
      return true;
    }
    void await_resume() const {}
  };

  static std::string between(const std::string& text, std::string_view begin, std::string_view end) {
    const auto at = text.find(begin);
    if (at == std::string::npos) return "";
    const auto from = at + begin.size(), to = text.find(end, from);
    return to == std::string::npos ? "" : text.substr(from, to - from);
  }

  Task<Result<void>> begin(Core& core, std::string call, std::string name, std::string more = "") {
    {
      const std::lock_guard lock(mutex_);
      calls_.push_back(call + (name.empty() ? "" : " " + name) + (more.empty() ? "" : " " + more));
    }
    co_await resume_on(core);
    co_await Held{*this, core, call};
    const std::lock_guard lock(mutex_);
    const auto failure = failures_.find(call);
    if (failure == failures_.end()) co_return Result<void>();
    Status status = std::move(failure->second);
    failures_.erase(failure);
    co_return fail(std::move(status));
  }
  Task<Result<void>> simple(Core& core, std::string call, std::string name, std::string more = "") {
    if (auto begun = co_await begin(core, call, name, std::move(more)); !begun) co_return fail(begun.error());
    if (!find(name)) co_return fail(no_domain(name));
    co_return Result<void>();
  }
  Task<Result<void>> power(Core& core, std::string call, std::string name, std::vector<State> from, State to,
                           std::string_view reason) {
    if (auto begun = co_await begin(core, call, name); !begun) co_return fail(begun.error());
    const auto domain = find(name);
    if (!domain) {  // RUN-PWR-06, RUN-PWR-07
      if (call == "shut_down" || call == "press_button" || call == "destroy") co_return Result<void>();
      co_return fail(no_domain(name));
    }
    if (std::ranges::find(from, domain->state) != from.end()) set_state(name, to, reason);
    co_return Result<void>();
  }
  template <class Fn>
  void change(const std::string& name, Fn fn, Event::Kind kind = Event::Kind::changed) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = domains_.find(name);
      if (found == domains_.end()) return;
      Domain domain = *found->second;
      fn(domain);
      found->second = std::make_shared<const Domain>(std::move(domain));
    }
    emit({.kind = kind, .name = name});
  }

  mutable std::mutex mutex_;
  std::map<std::string, DomainPtr, std::less<>> domains_;
  std::vector<std::string> calls_;
  std::multimap<std::string, Status> failures_;
  std::set<std::string> held_;
  std::map<std::string, std::vector<Waiting>> waiting_;
  std::map<std::string, std::string> agent_answers_;
  std::function<void(const Event&)> happened_;
  std::atomic<bool> connected_ = true;
};

}  // namespace vg::hypervisor
