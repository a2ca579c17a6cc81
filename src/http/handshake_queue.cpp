#include "http/handshake_queue.h"

#include <algorithm>
#include <utility>

namespace vg::http {
namespace {

// Below this many sources it is not worth a look which of them still matter.
constexpr std::size_t sources_kept = 64;

}  // namespace

bool HandshakeQueue::begin_at_once() {
  if (busy_) return false;
  busy_ = true;
  post_next();
  return true;
}

void HandshakeQueue::add(Waiting& waiting) {
  Source& source = sources_[waiting.source_];
  if (source.waiting.empty()) source.charged = std::max(source.charged, now_);
  waiting.number_ = numbers_++;
  source.waiting.push_back(waiting);
  ++waiting_;
}

void HandshakeQueue::charge(std::uint64_t source, Cost cost) {
  if (!busy_) return;
  Source& charged = sources_[source];
  if (charged.waiting.empty()) charged.charged = std::max(charged.charged, now_);
  charged.charged += cost;
  // The share of everybody who waits, and of this source and one that may come: without it sources that were never seen
  // before would always go first.
  now_ += cost / static_cast<Cost::rep>(contenders_ + 2);
}

// Behind everything that is ready now, and what follows from that.
void HandshakeQueue::post_next(int rounds) {
  core_.post([this, rounds] { rounds > 1 ? post_next(rounds - 1) : next(); });
}

void HandshakeQueue::next() {
  if (waiting_ == 0) {
    busy_ = false;
    contenders_ = 0;
    sources_.clear();
    return;
  }
  forget_idle_sources();
  // Who had least, and of those who had the same, who waits longest. As many sources as there are handshakes at most.
  Source* first = nullptr;
  contenders_ = 0;
  for (auto& [key, source] : sources_) {
    if (source.waiting.empty()) continue;
    ++contenders_;
    if (!first || std::pair(source.charged, source.waiting.front().number_) <
                      std::pair(first->charged, first->waiting.front().number_))
      first = &source;
  }
  now_ = std::max(now_, first->charged);
  Waiting& waiting = *first->waiting.pop_front();
  --waiting_;
  post_next();
  waiting.coroutine_.resume();
}

void HandshakeQueue::forget_idle_sources() {
  if (sources_.size() < sources_kept + 2 * waiting_) return;
  std::erase_if(sources_,
                [this](const auto& entry) { return entry.second.waiting.empty() && entry.second.charged <= now_; });
}

}  // namespace vg::http
