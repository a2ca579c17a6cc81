// Asks the agents inside of guests from time to time, and keeps what they said (spec launch 7.1).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/background.h"
#include "base/clock.h"
#include "base/core.h"
#include "base/metrics.h"
#include "handler/agent/answers.h"
#include "hypervisor/hypervisor.h"

namespace vg::handler {

class AgentData {
 public:
  // From any thread: a domain whose shown facts changed.
  using Changed = std::function<void(std::string_view domain)>;

  explicit AgentData(hypervisor::Hypervisor& hypervisor) : hypervisor_(hypervisor) {}
  AgentData(const AgentData&) = delete;
  AgentData& operator=(const AgentData&) = delete;

  // Before the core runs; all outlive this.
  void start(Core& core, const Clock& clock, metrics::Registry& metrics, Changed changed);
  // After the core has stopped.
  void stop();

  // From any thread. Null: the agent has said nothing.
  std::shared_ptr<const AgentKnown> find(std::string_view domain) const;
  std::shared_ptr<const guests::AgentFacts> facts(std::string_view domain) const;
  // "guestosinfo", "userlist", "filesystemlist"
  std::string document(std::string_view domain, std::string_view what) const;

 private:
  Task<void> watch_agents();
  Task<void> poll(std::string domain);
  Task<void> ask(const std::string& domain, std::size_t query);
  bool is_connected(const std::string& domain) const;

  hypervisor::Hypervisor& hypervisor_;
  Core* core_ = nullptr;
  const Clock* clock_ = nullptr;
  metrics::Counter* malformed_ = nullptr;
  Changed changed_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const AgentKnown>, std::less<>> known_;
  Background watching_;
  std::map<std::string, Background, std::less<>> polls_;  // of the core
};

}  // namespace vg::handler
