#include "base/off_loop.h"

#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <optional>
#include <semaphore>
#include <thread>
#include <vector>

#include "base/cpus.h"
#include "http/core.h"

namespace vg::http {
namespace {

constexpr std::size_t large = off_loop_bytes_min;

// Runs a task on a core and waits for its end.
void run_on(Core& core, std::move_only_function<Task<void>()> make) {
  std::promise<void> ended;
  core.post([&] {
    spawn([](std::move_only_function<Task<void>()>& made, std::promise<void>& end) -> Task<void> {
      co_await made();
      end.set_value();
    }(make, ended));
  });
  ended.get_future().wait();
}

TEST(OffLoop, SmallWorkIsDoneWhereItIsAskedFor) {
  CoreThreads cores(1);
  run_on(cores[0], [&]() -> Task<void> {
    const auto here = std::this_thread::get_id();
    const auto there =
        co_await off_loop(cores[0], large - 1, [] { return Result<std::thread::id>(std::this_thread::get_id()); });
    EXPECT_EQ(*there, here);
  });
}

TEST(OffLoop, LargeWorkLeavesTheLoopFree) {
  CoreThreads cores(1);
  std::binary_semaphore served(0);
  run_on(cores[0], [&]() -> Task<void> {
    const auto here = std::this_thread::get_id();
    // Comes after the work began, and ends it: the loop must run meanwhile.
    cores[0].post([&] { served.release(); });
    const auto there = co_await off_loop(cores[0], large, [&] {
      served.acquire();
      return Result<std::thread::id>(std::this_thread::get_id());
    });
    EXPECT_NE(*there, here);
    EXPECT_EQ(std::this_thread::get_id(), here);
  });
}

TEST(OffLoop, ErrorsAndExceptionsComeBack) {
  CoreThreads cores(1);
  run_on(cores[0], [&]() -> Task<void> {
    const auto refused =
        co_await off_loop(cores[0], large, [] { return Result<int>(fail(Status::bad_request("no"))); });
    EXPECT_EQ(refused.error().message, "no");
    bool caught = false;
    try {
      (void)co_await off_loop(cores[0], large, []() -> Result<int> { throw std::runtime_error("broken"); });
    } catch (const std::runtime_error& error) {
      caught = std::string_view(error.what()) == "broken";
    }
    EXPECT_TRUE(caught);
  });
}

// Occupies every worker until it is released.
class Occupied {
 public:
  Occupied() {
    const unsigned count = std::min(allowed_cpus(), 2u);
    for (unsigned i = 0; i < count; ++i) {
      EXPECT_TRUE(run_off_loop([this] {
        began_.release();
        end_.acquire();
        ended_.release();
      }));
      began_.acquire();
      ++count_;
    }
  }
  ~Occupied() {
    end_.release(count_);
    for (unsigned i = 0; i < count_; ++i) ended_.acquire();
  }

 private:
  std::counting_semaphore<8> began_{0}, end_{0}, ended_{0};
  unsigned count_ = 0;
};

// A file system that does not answer has all threads that read files, and nobody else's request waits for one of them.
TEST(OffLoop, FilesThatHangKeepNothingElseWaiting) {
  CoreThreads cores(1);
  std::counting_semaphore<2 * budgets::file_workers_max> disk(0);
  std::vector<Background> hanging;
  std::atomic<unsigned> read = 0;
  run_on(cores[0], [&]() -> Task<void> {
    const auto job = [&](Core& core) -> Task<void> {
      const auto done = co_await on_files(core, [&] {
        disk.acquire();
        return Result<void>();
      });
      if (done) ++read;
    };
    for (unsigned i = 0; i < 2 * budgets::file_workers_max; ++i) hanging.emplace_back(job(cores[0]));
    EXPECT_TRUE(co_await off_loop(cores[0], large, [] { return Result<void>(); }));
    EXPECT_EQ(read, 0U);
    disk.release(2 * budgets::file_workers_max);
    while (read < 2 * budgets::file_workers_max) co_await cores[0].sleep(std::chrono::milliseconds(1));
    hanging.clear();
  });
}

TEST(OffLoop, TooMuchThatWaitsIsRefused) {
  CoreThreads cores(1);
  std::vector<Background> waiting;
  std::atomic<int> done = 0;
  run_on(cores[0], [&]() -> Task<void> {
    const auto job = [](Core& core, std::atomic<int>& count) -> Task<void> {
      const auto result = co_await off_loop(core, large, [] { return Result<void>(); });
      if (result) ++count;
    };
    const Occupied occupied;
    for (std::size_t i = 0; i < off_loop_jobs_max; ++i) waiting.emplace_back(job(cores[0], done));
    const auto refused = co_await off_loop(cores[0], large, [] { return Result<void>(); });
    EXPECT_FALSE(refused);
    if (!refused) EXPECT_EQ(refused.error().code, 429);
    if (!refused) EXPECT_EQ(refused.error().details.retry_after_seconds, 1);
    co_return;
  });
  run_on(cores[0], [&]() -> Task<void> {
    while (done < static_cast<int>(off_loop_jobs_max)) co_await cores[0].sleep(std::chrono::milliseconds(1));
    waiting.clear();
  });
}

TEST(OffLoop, WhatNobodyWaitsForTakesNoPlaceOfWhatSomebodyWaitsFor) {
  CoreThreads cores(1);
  std::optional<Background> waiting;
  std::atomic<int> answered = 0;
  run_on(cores[0], [&]() -> Task<void> {
    const auto job = [](Core& core, std::atomic<int>& code) -> Task<void> {
      const auto result = co_await off_loop(core, large, [] { return Result<void>(); });
      code = result ? 200 : result.error().code;
    };
    const Occupied occupied;
    for (std::size_t i = 0; i < off_loop_jobs_max; ++i) EXPECT_TRUE(run_off_loop([] {}));
    EXPECT_FALSE(run_off_loop([] {})) << "they are bounded too";
    waiting.emplace(job(cores[0], answered));
    co_return;
  });
  run_on(cores[0], [&]() -> Task<void> {
    while (answered == 0) co_await cores[0].sleep(std::chrono::milliseconds(1));
    waiting.reset();
  });
  EXPECT_EQ(answered, 200);
}

TEST(OffLoop, ACoroutineMayGoWhileItsWorkWaits) {
  CoreThreads cores(1);
  bool ran = false;
  run_on(cores[0], [&]() -> Task<void> {
    const Occupied occupied;
    const auto job = [](Core& core, bool& flag) -> Task<void> {
      (void)co_await off_loop(core, large, [&] {
        flag = true;
        return Result<void>();
      });
      ADD_FAILURE() << "nobody waits for this";
    };
    {
      const Background gone(job(cores[0], ran));
    }
    co_return;
  });
  // Whatever was queued before this has been looked at by the time it ran.
  run_on(cores[0], [&]() -> Task<void> {
    for (int i = 0; i < 4; ++i) (void)co_await off_loop(cores[0], large, [] { return Result<void>(); });
  });
  EXPECT_FALSE(ran);
}

TEST(OffLoop, ACoroutineThatGoesWaitsForItsWork) {
  CoreThreads cores(1);
  run_on(cores[0], [&]() -> Task<void> {
    std::binary_semaphore began(0);
    std::atomic<bool> finished = false;
    const auto job = [](Core& core, std::binary_semaphore& begun, std::atomic<bool>& end) -> Task<void> {
      std::vector<int> in_the_frame(100, 1);
      (void)co_await off_loop(core, large, [&] {
        begun.release();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the frame must be there all the while
        for (int& each : in_the_frame) each = 2;
        end = true;
        return Result<void>();
      });
      ADD_FAILURE() << "nobody waits for this";
    };
    {
      const Background gone(job(cores[0], began, finished));
      began.acquire();
    }
    EXPECT_TRUE(finished);
    co_return;
  });
}

TEST(OffLoop, ManyCoresAndJobsAtOnce) {
  CoreThreads cores(2);
  std::atomic<int> sum = 0;
  std::vector<std::jthread> clients;
  for (std::size_t core = 0; core < cores.size(); ++core)
    clients.emplace_back([&, core] {
      run_on(cores[core], [&, core]() -> Task<void> {
        for (int i = 0; i < 200; ++i) {
          const auto one = co_await off_loop(cores[core], large, [] { return Result<int>(1); });
          EXPECT_TRUE(cores[core].here());
          sum += *one;
        }
      });
    });
  clients.clear();
  EXPECT_EQ(sum, 400);
}

}  // namespace
}  // namespace vg::http
