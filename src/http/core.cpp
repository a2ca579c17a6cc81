#include "http/core.h"

#include <fcntl.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>

#include "base/task_failure.h"
#include "http/core_asio.h"
#include "http/core_socket.h"

namespace vg::http {
namespace {

namespace asio = boost::asio;
using Clock = Stream::Clock;
// The concrete executor: the type-erased default costs an indirect call and longer compiles.
using Executor = asio::io_context::executor_type;
using Handle = asio::posix::basic_stream_descriptor<Executor>;
using Timer = asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, Executor>;

thread_local const Core* current_core = nullptr;

class Loop;

// What an operation in flight and the Socket share. Handlers of the reactor hold a reference, so an event that arrives
// after the socket went away finds an empty list instead of a dead object.
struct Descriptor final : SocketState {
  Descriptor(asio::io_context& context, int number) : handle(context.get_executor(), number) { fd = number; }

  Handle handle;
  List<Waiter> waiters[2];
  bool armed[2] = {false, false};
  unsigned references = 1;

  void release() {
    if (--references == 0) delete this;
  }

  // The reactor reports each readiness once, so there is one wait per direction at a time, for all who are interested.
  void arm(Direction direction) {
    armed[static_cast<int>(direction)] = true;
    handle.async_wait(direction == Direction::read ? Handle::wait_read : Handle::wait_write, Arrival(this, direction));
  }

  void fire(Direction direction, IoError error) {
    armed[static_cast<int>(direction)] = false;
    List<Waiter> due;
    due.take(waiters[static_cast<int>(direction)]);
    // A waiter that runs may destroy the others, which then leave `due` by themselves.
    while (Waiter* waiter = due.pop_front()) waiter->ready(error);
  }

  class Arrival {
   public:
    Arrival(Descriptor* descriptor, Direction direction) : descriptor_(descriptor), direction_(direction) {
      ++descriptor_->references;
    }
    Arrival(Arrival&& other) noexcept
        : descriptor_(std::exchange(other.descriptor_, nullptr)), direction_(other.direction_) {}
    Arrival& operator=(Arrival&&) = delete;
    ~Arrival() {
      if (descriptor_) descriptor_->release();
    }
    void operator()(const boost::system::error_code& code) {
      descriptor_->fire(direction_, descriptor_->fd < 0 ? IoError::closed : code ? IoError::reset : IoError::none);
    }

   private:
    Descriptor* descriptor_;
    Direction direction_;
  };
};

// Takes waiters that heed deadlines out of the descriptor.
void take_expired(Descriptor& descriptor, List<Waiter>& expired) {
  for (auto& list : descriptor.waiters) {
    list.each([&](Waiter& waiter) {
      if (!waiter.heeds_deadline) return;
      waiter.unlink();
      expired.push_back(waiter);
    });
  }
}

class Loop final : public EventLoop {
 public:
  Loop(unsigned index, Options options)
      : context_(1),
        timer_(context_.get_executor()),
        guard_(context_.get_executor()),
        index_(index),
        options_(options) {}

  void post(std::move_only_function<void()> fn) override { asio::post(context_, std::move(fn)); }

  Task<void> sleep(std::chrono::milliseconds time) override { co_await Sleeper(*this, Clock::now() + time); }

  unsigned index() const override { return index_; }
  bool here() const override { return current_core == this; }

  void run() override {
    const Core* outer = std::exchange(current_core, this);
    for (bool over = false; !over;) try {
        context_.run();
        over = true;
      } catch (...) {  // out of a posted function or a waiter
        task_failed(std::current_exception());
      }
    current_core = outer;
  }
  void stop() override { context_.stop(); }

  asio::io_context& context() { return context_; }

  void watch_deadline(Descriptor& descriptor) {
    if (descriptor.deadline == Clock::time_point::max()) {
      static_cast<ListLink<SocketState>&>(descriptor).unlink();
      return;
    }
    if (!static_cast<ListLink<SocketState>&>(descriptor).linked()) watched_.push_back(descriptor);
    if (next_sweep_ == Clock::time_point::max()) {
      next_sweep_ = Clock::now() + options_.tick;
      arm_timer();
    }
  }

 private:
  // Lives in the frame of the coroutine that sleeps; leaves the queue when that frame is destroyed.
  class Sleeper {
   public:
    Sleeper(Loop& loop, Clock::time_point until) : loop_(loop), until_(until) {}
    ~Sleeper() {
      if (queued_) loop_.sleepers_.erase(position_);
    }
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> coroutine) {
      coroutine_ = coroutine;
      position_ = loop_.sleepers_.emplace(until_, this);
      queued_ = true;
      loop_.see_to(until_);
    }
    void await_resume() const {}
    void wake() {
      loop_.sleepers_.erase(position_);
      queued_ = false;
      coroutine_.resume();
    }

   private:
    Loop& loop_;
    Clock::time_point until_;
    std::multimap<Clock::time_point, Sleeper*>::iterator position_;
    bool queued_ = false;
    std::coroutine_handle<> coroutine_;
  };

  // Whoever only lets others go first does so a thousand times a second: going to the end of the line takes no timer,
  // which would be two system calls.
  void see_to(Clock::time_point until) {
    if (until > Clock::now()) return arm_timer();
    if (std::exchange(waking_, true)) return;
    asio::post(context_, [this] {
      waking_ = false;
      wake_sleepers(Clock::now());
    });
  }

  void wake_sleepers(Clock::time_point now) {
    while (!sleepers_.empty() && sleepers_.begin()->first <= now) sleepers_.begin()->second->wake();
  }

  // One timer of the reactor serves all sleepers and the sweep.
  void arm_timer() {
    Clock::time_point due = next_sweep_;
    if (!sleepers_.empty()) due = std::min(due, sleepers_.begin()->first);
    if (due >= armed_until_) return;
    armed_until_ = due;
    timer_.expires_at(due);
    timer_.async_wait([this](const boost::system::error_code& code) {
      if (!code) on_timer();
    });
  }

  void on_timer() {
    armed_until_ = Clock::time_point::max();
    const auto now = Clock::now();
    wake_sleepers(now);
    if (next_sweep_ <= now) sweep(now);
    arm_timer();
  }

  void sweep(Clock::time_point now) {
    List<Waiter> expired;
    watched_.each([&](SocketState& state) {
      if (state.deadline <= now) take_expired(static_cast<Descriptor&>(state), expired);
    });
    // The reactor's own wait stays armed; it finds nobody when it ends, or whoever came later.
    while (Waiter* waiter = expired.pop_front()) waiter->ready(IoError::timed_out);
    next_sweep_ = watched_.empty() ? Clock::time_point::max() : now + options_.tick;
  }

  // Before the context: what was posted and never ran is destroyed with it, and leaves these lists.
  std::multimap<Clock::time_point, Sleeper*> sleepers_;
  List<SocketState> watched_;
  asio::io_context context_;
  Timer timer_;
  asio::executor_work_guard<Executor> guard_;
  unsigned index_;
  Options options_;
  Clock::time_point next_sweep_ = Clock::time_point::max();
  Clock::time_point armed_until_ = Clock::time_point::max();
  bool waking_ = false;  // wake_sleepers is on its way
};

}  // namespace

std::unique_ptr<EventLoop> EventLoop::create(unsigned index, Options options) {
  return std::make_unique<Loop>(index, options);
}

asio::io_context& reactor_of(Core& core) { return static_cast<Loop&>(core).context(); }

CoreThreads::CoreThreads(unsigned count, EventLoop::Options options) {
  for (unsigned i = 0; i < count; ++i) loops_.push_back(EventLoop::create(i, options));
  for (auto& loop : loops_) threads_.emplace_back([loop = loop.get()] { loop->run(); });
}

CoreThreads::~CoreThreads() {
  for (auto& loop : loops_) loop->stop();
  threads_.clear();
}

Socket::Socket(Core& core, int fd) : core_(&core) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  state_ = new Descriptor(static_cast<Loop&>(core).context(), fd);
}

Socket::Socket(Socket&& other) noexcept : state_(std::exchange(other.state_, nullptr)), core_(other.core_) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this == &other) return *this;
  close();
  if (state_) static_cast<Descriptor*>(state_)->release();
  state_ = std::exchange(other.state_, nullptr);
  core_ = other.core_;
  return *this;
}

Socket::~Socket() {
  if (!state_) return;
  close();
  static_cast<Descriptor*>(state_)->release();
}

void Socket::close() {
  if (!is_open()) return;
  auto& descriptor = static_cast<Descriptor&>(*state_);
  descriptor.fd = -1;
  static_cast<ListLink<SocketState>&>(descriptor).unlink();
  boost::system::error_code ignored;
  descriptor.handle.close(ignored);  // ends the reactor's waits, whose handlers then tell our waiters
}

void Socket::set_deadline(Clock::time_point when) {
  state_->deadline = when;
  if (is_open()) static_cast<Loop*>(core_)->watch_deadline(static_cast<Descriptor&>(*state_));
}

void Socket::wait(Direction direction, Waiter& waiter) {
  auto& descriptor = static_cast<Descriptor&>(*state_);
  descriptor.waiters[static_cast<int>(direction)].push_back(waiter);
  if (!descriptor.armed[static_cast<int>(direction)]) descriptor.arm(direction);
}

Clock::time_point coarse_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return Clock::time_point(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

}  // namespace vg::http
