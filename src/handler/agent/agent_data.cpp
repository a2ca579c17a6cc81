#include "handler/agent/agent_data.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/handler_limits.h"

namespace vg::handler {
namespace {

using std::string_view;
using std::chrono::seconds;

// How often it is seen whether agents came or went.
constexpr seconds look_interval{1};

struct Query {
  string_view command;
  seconds longest;  // between two of them
  TakeAnswer take;
  bool shown;  // a change is one of the VMI's status (RUN-GA-08)
};
constexpr std::array queries = std::to_array<Query>({
    {R"({"execute":"guest-info"})", seconds(300), take_info, true},                          // RUN-GA-01
    {R"({"execute":"guest-get-fsinfo"})", seconds(300), take_file_systems, false},           // RUN-GA-02
    {R"({"execute":"guest-fsfreeze-status"})", seconds(5), take_freeze_status, true},        // RUN-GA-03
    {R"({"execute":"guest-network-get-interfaces"})", seconds(120), take_interfaces, true},  // RUN-GA-04
    {R"({"execute":"guest-get-osinfo"})", seconds(120), take_os, true},
    {R"({"execute":"guest-get-host-name"})", seconds(120), take_host_name, false},
    {R"({"execute":"guest-get-timezone"})", seconds(120), take_time_zone, false},
    {R"({"execute":"guest-get-users"})", seconds(10), take_users, false},  // RUN-GA-05
});

// RUN-GA-07: at once, then after 10 s, doubling up to its cap.
constexpr seconds first_pause{10};

struct Due {
  Clock::Steady at;
  seconds pause;
};

bool same_facts(const guests::AgentFacts& a, const guests::AgentFacts& b) {
  const auto same_nic = [](const guests::AgentInterface& one, const guests::AgentInterface& other) {
    return one.name == other.name && one.mac == other.mac && one.addresses == other.addresses;
  };
  return a.os == b.os && a.freeze_status == b.freeze_status && a.version == b.version && a.commands == b.commands &&
         std::ranges::equal(a.interfaces, b.interfaces, same_nic);
}

}  // namespace

void AgentData::start(Core& core, const Clock& clock, metrics::Registry& metrics, Changed changed) {
  core_ = &core;
  clock_ = &clock;
  malformed_ = &metrics.counter("virtgate_agent_answers_malformed_total",
                                "Answers of guest agents that were not understood and are ignored.");
  changed_ = std::move(changed);
  core.post([this, &core] {
    watching_ = Background(keep_running(core, "watching guest agents", [this] { return watch_agents(); }));
  });
}

void AgentData::stop() {
  watching_ = Background();
  polls_.clear();
}

bool AgentData::is_connected(const std::string& domain) const {
  const auto found = hypervisor_.find(domain);
  return found && found->agent_connected && found->state == hypervisor::State::running;
}

Task<void> AgentData::watch_agents() {
  while (true) {
    std::erase_if(polls_, [](const auto& each) { return each.second.done(); });
    for (const auto& domain : hypervisor_.domains())
      if (is_connected(domain->name) && !polls_.contains(domain->name))
        polls_.emplace(domain->name, Background(poll(domain->name)));
    co_await core_->sleep(look_interval);
  }
}

// Until the agent is gone. What it said is forgotten then: it may be another guest that comes next.
Task<void> AgentData::poll(std::string domain) {
  std::array<Due, queries.size()> due;
  for (std::size_t i = 0; i < queries.size(); ++i)
    due[i] = {.at = clock_->steady_now(), .pause = std::min(first_pause, queries[i].longest)};
  while (is_connected(domain)) {
    for (std::size_t i = 0; i < queries.size() && is_connected(domain); ++i) {
      if (due[i].at > clock_->steady_now()) continue;
      co_await ask(domain, i);
      due[i].at = clock_->steady_now() + due[i].pause;
      due[i].pause = std::min(due[i].pause * 2, queries[i].longest);
    }
    co_await core_->sleep(look_interval);
  }
  {
    const std::lock_guard lock(mutex_);
    known_.erase(domain);
  }
  if (changed_) changed_(domain);
}

Task<void> AgentData::ask(const std::string& domain, std::size_t number) {
  const Query& query = queries[number];
  const auto answer =
      co_await hypervisor_.ask_agent(*core_, domain, std::string(query.command), limits::agent_answer_deadline);
  if (!answer) co_return;  // RUN-GA-08
  const auto before = find(domain);
  auto now = before ? std::make_shared<AgentKnown>(*before) : std::make_shared<AgentKnown>();
  if (!query.take(*answer, *now)) co_return malformed_->add();
  const bool changed = query.shown && (!before || !same_facts(before->facts, now->facts));
  {
    const std::lock_guard lock(mutex_);
    known_[domain] = std::move(now);
  }
  if (changed && changed_) changed_(domain);
}

std::shared_ptr<const AgentKnown> AgentData::find(string_view domain) const {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(domain);
  return found == known_.end() ? nullptr : found->second;
}

std::shared_ptr<const guests::AgentFacts> AgentData::facts(string_view domain) const {
  auto known = find(domain);
  if (!known) return nullptr;
  const guests::AgentFacts* facts = &known->facts;
  return {std::move(known), facts};
}

std::string AgentData::document(string_view domain, string_view what) const {
  const auto known = find(domain);
  if (what == "userlist") return user_list(known.get());
  if (what == "filesystemlist") return file_system_list(known.get());
  return guest_os_info(known.get());
}

}  // namespace vg::handler
