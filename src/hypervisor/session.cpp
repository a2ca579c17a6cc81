#include "hypervisor/session.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "base/hypervisor_limits.h"
#include "base/log.h"

namespace vg::hypervisor {
namespace {

// Texts of guests and users are escaped in a document, so this stands only where libvirt wrote it.
constexpr std::string_view agent_is_there = "<target type='virtio' name='org.qemu.guest_agent.0' state='connected'/>";

DomainPtr read_domain(virDomainPtr domain, const std::string& name) {
  int state = 0, reason = 0;
  if (virDomainGetState(domain, &state, &reason, 0) != 0) return nullptr;
  auto xml = bounded(Text(virDomainGetXMLDesc(domain, 0)), limits::live_document_bytes_max, "the document of a domain");
  if (!xml && error_code(xml.error()) == VIR_ERR_NO_DOMAIN) return nullptr;  // it went away meanwhile
  if (!xml) {
    log::warning("cannot read a domain", {{"domain", name}, {"reason", xml.error().message}});
    xml = std::string();
  }
  std::array<char, VIR_UUID_STRING_BUFLEN> uuid{};
  virDomainGetUUIDString(domain, uuid.data());
  const bool agent = xml->contains(agent_is_there);
  return std::make_shared<const Domain>(Domain{.name = name,
                                               .uuid = uuid.data(),
                                               .state = state_of(state),
                                               .reason = reason_of(state, reason),
                                               .xml = std::make_shared<const std::string>(std::move(*xml)),
                                               .agent_connected = agent});
}

bool same(const DomainPtr& one, const DomainPtr& other) {
  if (!one || !other) return one == other;
  return one->state == other->state && one->reason == other->reason && one->uuid == other->uuid &&
         *one->xml == *other->xml;
}

void closed(virConnectPtr /*connection*/, int reason, void* session) {
  (*static_cast<std::shared_ptr<Session>*>(session))->lost(reason == VIR_CONNECT_CLOSE_REASON_KEEPALIVE);
}
void forget(void* session) { delete static_cast<std::shared_ptr<Session>*>(session); }

}  // namespace

void Session::begin() {
  keeper_ = std::jthread([this] { keep_connected(); });
}

void Session::stop() {
  silent_ = true;
  {
    const std::lock_guard lock(connection_mutex_);
    stopping_ = true;
  }
  connection_changed_.notify_all();
  if (keeper_.joinable()) keeper_.join();
  lanes_.stop();
  disconnect();
}

DomainPtr Session::find(std::string_view name) const {
  const std::lock_guard lock(domains_mutex_);
  const auto found = domains_.find(name);
  return found == domains_.end() ? nullptr : found->second;
}

std::vector<DomainPtr> Session::domains() const {
  const std::lock_guard lock(domains_mutex_);
  std::vector<DomainPtr> all;
  all.reserve(domains_.size());
  for (const auto& [name, domain] : domains_) all.push_back(domain);
  return all;
}

void Session::put(const std::string& name, DomainPtr domain) {
  const std::lock_guard lock(domains_mutex_);
  if (domain)
    domains_[name] = std::move(domain);
  else
    domains_.erase(name);
}

ConnectionHandle Session::connection() const {
  const std::lock_guard lock(connection_mutex_);
  return lost_ ? nullptr : connection_;
}

void Session::refresh(const ConnectionHandle& connection, const std::string& name) {
  const std::lock_guard lock(reading_[std::hash<std::string>()(name) % reading_.size()]);
  const DomainHandle domain(virDomainLookupByName(connection.get(), name.c_str()));
  const virErrorPtr error = domain ? nullptr : virGetLastError();
  // Without a connection nothing is known: what was seen last stays.
  if (!domain && (!error || error->code != VIR_ERR_NO_DOMAIN)) return;
  DomainPtr seen = domain ? read_domain(domain.get(), name) : nullptr;
  if (domain && !seen && virConnectIsAlive(connection.get()) != 1) return;
  put(name, std::move(seen));
}

void Session::note(Event event) {
  const std::string name = event.name;
  {
    const std::lock_guard lock(pending_mutex_);
    auto& events = pending_[name];
    const bool known = std::ranges::any_of(events, [&](const Event& other) {
      return other.kind == event.kind && other.detail == event.detail && other.reason == event.reason;
    });
    if (known || events.size() >= limits::domain_events_waiting_max) return;
    events.push_back(std::move(event));
    if (events.size() > 1) return;  // who comes for the first one takes all
  }
  auto self = shared_from_this();
  const bool taken = lanes_.submit(Lane::watching, name, [self, name] { self->tell_pending(name); }, [] {});
  if (taken) return;
  const std::lock_guard lock(pending_mutex_);
  pending_.erase(name);
}

void Session::tell_pending(const std::string& name) {
  std::vector<Event> events;
  {
    const std::lock_guard lock(pending_mutex_);
    const auto found = pending_.find(name);
    if (found == pending_.end()) return;
    events = std::move(found->second);
    pending_.erase(found);
  }
  if (const auto open = connection()) refresh(open, name);
  for (const Event& event : events) tell(event);
}

void Session::tell(const Event& event) {
  if (happened_ && !silent_) happened_(event);
}

void Session::lost(bool by_silence) {
  {
    const std::lock_guard lock(connection_mutex_);
    lost_ = true;
    silence_ = by_silence;
  }
  connection_changed_.notify_all();
}

bool Session::restart() const {
  if (options_.unresponsive) options_.unresponsive();
  return static_cast<bool>(options_.unresponsive);
}

void Session::keep_connected() {
  while (true) {
    if (!connect()) {
      std::unique_lock lock(connection_mutex_);
      if (connection_changed_.wait_for(lock, limits::hypervisor_connect_pause, [&] { return stopping_; })) return;
      continue;
    }
    const auto open = connection();
    if (open) read_all(open, false);
    connected_ = true;
    tell({.kind = Event::Kind::connection});
    const Loss loss = await_loss(open);
    if (loss == Loss::none) return;
    connected_ = false;
    log::warning("lost the connection to libvirt", {{"uri", options_.uri}, {"silence", loss == Loss::by_silence}});
    tell({.kind = Event::Kind::connection});
    disconnect();
    // Who hangs would take the next connection and hang again.
    if (loss == Loss::by_silence && options_.unresponsive) options_.unresponsive();
  }
}

Session::Loss Session::await_loss(const ConnectionHandle& connection) {
  std::chrono::milliseconds pause = limits::hypervisor_reread_first;
  while (true) {
    {
      std::unique_lock lock(connection_mutex_);
      connection_changed_.wait_for(lock, pause, [&] { return stopping_ || lost_; });
      if (stopping_) return Loss::none;
      if (lost_) return silence_ ? Loss::by_silence : Loss::by_end;
    }
    pause = std::min<std::chrono::milliseconds>(pause * 2, limits::hypervisor_reread);
    read_all(connection, true);
  }
}

bool Session::connect() {
  // Who accepts and then says nothing is never given up by libvirt's library.
  std::jthread impatience;
  if (options_.unresponsive)
    impatience = std::jthread([this](const std::stop_token& opened) {
      std::mutex mutex;
      std::unique_lock lock(mutex);
      std::condition_variable_any waiting;
      waiting.wait_for(lock, opened, options_.connect_max, [&] { return opened.stop_requested(); });
      if (!opened.stop_requested()) options_.unresponsive();
    });
  ConnectionHandle open(virConnectOpen(options_.uri.c_str()), [](virConnectPtr connection) {
    if (connection) virConnectClose(connection);
  });
  if (!open) {
    log::info_v(4, "cannot reach libvirt", {{"reason", libvirt_error().message}});
    return false;
  }
  impatience.request_stop();
  virConnectSetKeepAlive(open.get(), options_.keepalive_seconds, limits::hypervisor_keepalive_count);
  auto self = shared_from_this();
  {
    const std::lock_guard lock(connection_mutex_);
    lost_ = silence_ = false;
    connection_ = open;
  }
  auto held = std::make_unique<std::shared_ptr<Session>>(self);
  if (virConnectRegisterCloseCallback(open.get(), closed, held.get(), forget) == 0) (void)held.release();
  callbacks_ = register_events(open.get(), self);
  return true;
}

void Session::disconnect() {
  ConnectionHandle open;
  {
    const std::lock_guard lock(connection_mutex_);
    std::swap(open, connection_);
  }
  if (!open) return;
  for (const int callback : std::exchange(callbacks_, {})) virConnectDomainEventDeregisterAny(open.get(), callback);
  virConnectUnregisterCloseCallback(open.get(), closed);
}

void Session::read_all(const ConnectionHandle& connection, bool tell_changes) {
  virDomainPtr* list = nullptr;
  const int count = virConnectListAllDomains(connection.get(), &list, 0);
  if (count < 0) return;
  std::set<std::string> names;
  for (int i = 0; i < count; ++i) {
    const DomainHandle domain(list[i]);
    names.insert(virDomainGetName(domain.get()));
  }
  std::free(static_cast<void*>(list));
  for (const DomainPtr& known : domains()) names.insert(known->name);
  for (const std::string& name : names) {
    const DomainPtr before = find(name);
    refresh(connection, name);
    if (tell_changes && !same(before, find(name))) tell({.kind = Event::Kind::changed, .name = name});
  }
}

}  // namespace vg::hypervisor
