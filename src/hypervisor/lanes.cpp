#include "hypervisor/lanes.h"

#include <system_error>
#include <thread>
#include <utility>

#include "base/hypervisor_limits.h"
#include "base/log.h"

namespace vg::hypervisor {
namespace {

constexpr std::array<std::size_t, Lanes::count> threads_of = {
    limits::hypervisor_control_threads, limits::hypervisor_question_threads, limits::hypervisor_job_threads, 1,
    limits::hypervisor_watch_threads,   limits::hypervisor_ending_threads,   limits::hypervisor_kill_threads};

}  // namespace

bool Lanes::submit(Lane lane, std::string domain, Work work, Work deliver) {
  const auto index = static_cast<std::size_t>(lane);
  const std::lock_guard lock(state_->mutex);
  Queue& queue = state_->queues[index];
  if (state_->stopping || state_->waiting >= limits::hypervisor_calls_waiting_max) return false;
  if (const auto of_domain = queue.waiting.find(domain);
      of_domain != queue.waiting.end() && of_domain->second.size() >= limits::hypervisor_domain_calls_waiting_max)
    return false;
  if (queue.ready.size() >= queue.idle && queue.threads < threads_of[index]) {
    try {
      std::thread([state = state_, index] { run(state, index); }).detach();
      ++queue.threads;
    } catch (const std::system_error& error) {
      log::error("cannot start a thread for the hypervisor", {{"reason", error.what()}});
      if (queue.threads == 0) return false;
    }
  }
  auto& works = queue.waiting[domain];
  works.push_back({std::move(work), std::move(deliver)});
  ++state_->waiting;
  if (works.size() == 1 && !queue.busy.contains(domain)) queue.ready.push_back(std::move(domain));
  state_->work_came[index].notify_one();
  return true;
}

void Lanes::run(const std::shared_ptr<State>& state, std::size_t lane) {
  std::unique_lock lock(state->mutex);
  Queue& queue = state->queues[lane];
  while (true) {
    ++queue.idle;
    state->work_came[lane].wait(lock, [&] { return state->stopping || !queue.ready.empty(); });
    --queue.idle;
    if (state->stopping) break;
    const std::string domain = std::move(queue.ready.front());
    queue.ready.pop_front();
    auto& works = queue.waiting[domain];
    Job job = std::move(works.front());
    works.pop_front();
    --state->waiting;
    queue.busy.insert(domain);
    lock.unlock();
    job.work();
    job.work = nullptr;  // what it holds goes away outside of the lock
    lock.lock();
    if (!state->stopping) job.deliver();
    queue.busy.erase(domain);
    if (works.empty()) {
      queue.waiting.erase(domain);
    } else {
      queue.ready.push_back(domain);
      state->work_came[lane].notify_one();
    }
  }
  --queue.threads;
  state->thread_ended.notify_all();
}

std::size_t Lanes::State::threads_but_of_jobs() const {
  std::size_t all = 0;
  for (std::size_t lane = 0; lane < count; ++lane)
    if (lane != static_cast<std::size_t>(Lane::jobs)) all += queues[lane].threads;
  return all;
}

void Lanes::stop() {
  std::unique_lock lock(state_->mutex);
  if (std::exchange(state_->stopping, true)) return;
  for (Queue& queue : state_->queues) {
    queue.ready.clear();
    for (auto& [domain, works] : queue.waiting) works.clear();
  }
  state_->waiting = 0;
  for (auto& came : state_->work_came) came.notify_all();
  const auto is_over = [&] { return state_->threads_but_of_jobs() == 0; };
  if (!state_->thread_ended.wait_for(lock, limits::hypervisor_leave_max, is_over))
    log::warning("left calls to the hypervisor behind", {{"threads", state_->threads_but_of_jobs()}});
}

}  // namespace vg::hypervisor
