// The embedded store by itself: what durable writes, lists, watches and starting cost without HTTP around them.
//
// The numbers depend on the disk: VIRTGATE_BENCH_DIR names a folder on the one to measure (default: the temporary
// folder).
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "store/embedded_store.h"

namespace {

using namespace vg;
using Clock = std::chrono::steady_clock;

constexpr std::string_view machines = "kubevirt.io/virtualmachines";
constexpr std::size_t json_bytes = 1700;

class Folder {
 public:
  Folder() {
    const char* chosen = std::getenv("VIRTGATE_BENCH_DIR");
    const auto base = chosen != nullptr ? std::filesystem::path(chosen) : std::filesystem::temp_directory_path();
    std::string pattern = (base / "virtgate-bench-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file() const { return (path_ / "store.db").string(); }

 private:
  std::filesystem::path path_;
};

std::unique_ptr<store::EmbeddedStore> open(const Folder& folder) {
  store::Options options;
  options.path = folder.file();
  auto opened = store::EmbeddedStore::open(std::move(options));
  if (!opened) {
    fmt::print(stderr, "{}\n", opened.error().message);
    std::abort();
  }
  return std::move(*opened);
}

Write machine(WriteKind kind, std::size_t number, std::size_t version = 0) {
  Write write;
  write.kind = kind;
  write.key = {std::string(machines), fmt::format("team-{}", number % 10), fmt::format("machine-{:07}", number)};
  write.object.uid = fmt::format("6f9619ff-8b86-d011-b42d-{:012}", number);
  auto& json = write.object.json;
  json = fmt::format(
      R"({{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{{"name":"{}","namespace":"{}",)",
      write.key.name, write.key.ns);
  write.object.revision_offset = static_cast<std::uint32_t>(json.size());
  json += fmt::format(R"("uid":"{}"}},"spec":{{"version":{},)", write.object.uid, version);
  // Packing finds much that repeats, and serials that never do.
  for (std::size_t disk = 0; json.size() < json_bytes - 200; ++disk) {
    json +=
        fmt::format(R"("disk-{}":{{"disk":{{"bus":"virtio"}},"bootOrder":{},"cache":"writethrough","serial":"{:x}"}},)",
                    disk, disk + 1, (number * 64 + disk + 1) * 0x9e3779b97f4a7c15);
  }
  json += R"("fill":")";
  json.append(json_bytes - json.size() - 3, 'x');
  json += "\"}}";
  write.object.labels = {{"app", "web"}, {"kubevirt.io/os", "linux"}, {"tier", fmt::format("t{}", number % 7)}};
  return write;
}

// Keeps so many writes under way, each next one started by the answer to the one before.
class ClosedLoop {
 public:
  ClosedLoop(ObjectStore& store, std::size_t first, std::size_t total)
      : store_(store), next_(first), end_(first + total) {}
  void run(std::size_t clients) {
    latencies_.reserve(end_ - next_);
    left_ = clients;
    // Submitted from a thread that is not the store's, as a server's cores do.
    std::vector<std::thread> cores;
    for (std::size_t core = 0; core < cores_; ++core) cores.emplace_back([this, core] { work(core); });
    for (std::size_t client = 0; client < clients; ++client) post(client % cores_);
    for (auto& core : cores) core.join();
  }
  double latency_ms(double part) {
    std::ranges::sort(latencies_);
    return latencies_[static_cast<std::size_t>(part * static_cast<double>(latencies_.size() - 1))];
  }

 private:
  static constexpr std::size_t cores_ = 2;
  struct Core {
    std::mutex mutex;
    std::condition_variable filled;
    std::size_t ready = 0;
  };
  void post(std::size_t core) {
    {
      const std::lock_guard lock(queues_[core].mutex);
      ++queues_[core].ready;
    }
    queues_[core].filled.notify_one();
  }
  void work(std::size_t core) {
    auto& queue = queues_[core];
    for (;;) {
      std::size_t ready = 0;
      {
        std::unique_lock lock(queue.mutex);
        queue.filled.wait(lock, [&] { return queue.ready > 0 || left_ == 0; });
        if (queue.ready == 0) return;
        ready = std::exchange(queue.ready, 0);
      }
      for (; ready > 0; --ready) {
        const auto number = next_.fetch_add(1);
        if (number >= end_) {
          if (--left_ == 0) {
            for (auto& other : queues_) {
              const std::lock_guard lock(other.mutex);
              other.filled.notify_all();
            }
          }
          continue;
        }
        Transaction transaction;
        transaction.writes.push_back(machine(WriteKind::create, number));
        store_.submit(std::move(transaction), [this, core, start = Clock::now()](Result<CommitOutcome> outcome) {
          if (!outcome) std::abort();
          latencies_.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
          post(core);
        });
      }
    }
  }
  ObjectStore& store_;
  std::atomic<std::size_t> next_;
  const std::size_t end_;
  std::atomic<std::size_t> left_ = 0;
  Core queues_[cores_];
  std::vector<double> latencies_;  // the store's thread alone adds to it
};

void fill(ObjectStore& store, std::size_t count) { ClosedLoop(store, 0, count).run(256); }

void BM_create(benchmark::State& state) {
  const auto clients = static_cast<std::size_t>(state.range(0));
  const std::size_t writes = clients == 1 ? 3000 : 40'000;
  for (auto _ : state) {
    Folder folder;
    auto store = open(folder);
    ClosedLoop loop(*store, 0, writes);
    const auto start = Clock::now();
    loop.run(clients);
    const auto seconds = std::chrono::duration<double>(Clock::now() - start).count();
    state.SetIterationTime(seconds);
    state.counters["creates/s"] = static_cast<double>(writes) / seconds;
    state.counters["per_sync"] = static_cast<double>(writes) / static_cast<double>(store->stats().commits);
    state.counters["p50_ms"] = loop.latency_ms(0.5);
    state.counters["p99_ms"] = loop.latency_ms(0.99);
    state.counters["max_ms"] = loop.latency_ms(1);
  }
}
BENCHMARK(BM_create)->Arg(1)->Arg(16)->Arg(64)->Arg(256)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

void BM_list_10000(benchmark::State& state) {
  Folder folder;
  auto store = open(folder);
  fill(*store, 10'000);
  std::string out;
  for (auto _ : state) {
    out.clear();
    const auto page = store->list({.resource = machines});
    for (const auto& object : page->objects) {
      append_with_revision(out, *object);
      out.push_back(',');
    }
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["MB"] = static_cast<double>(out.size()) / 1e6;
}
BENCHMARK(BM_list_10000)->Unit(benchmark::kMillisecond);

void BM_list_10000_pointers(benchmark::State& state) {
  Folder folder;
  auto store = open(folder);
  fill(*store, 10'000);
  for (auto _ : state) benchmark::DoNotOptimize(store->list({.resource = machines})->objects.size());
}
BENCHMARK(BM_list_10000_pointers)->Unit(benchmark::kMillisecond);

void BM_get_of_100000(benchmark::State& state) {
  Folder folder;
  auto store = open(folder);
  fill(*store, 100'000);
  std::size_t number = 0;
  for (auto _ : state) {
    number = (number + 7919) % 100'000;
    const auto ns = fmt::format("team-{}", number % 10);
    const auto name = fmt::format("machine-{:07}", number);
    if (!store->get(machines, ns, name)) std::abort();
  }
}
BENCHMARK(BM_get_of_100000);

// 200 watches of everything, 500 changes a second; from the submit to the moment when a watch holds the event's bytes.
void BM_watch_fan_out(benchmark::State& state) {
  constexpr std::size_t watches = 200;
  constexpr std::size_t changes = 1000;
  constexpr auto interval = std::chrono::microseconds(2000);
  for (auto _ : state) {
    Folder folder;
    auto store = open(folder);
    struct Watcher {
      std::unique_ptr<Watch> watch;
      std::size_t seen = 0;
    };
    std::vector<Watcher> watchers(watches);
    std::vector<Clock::time_point> submitted(changes);
    std::vector<double> latencies;
    latencies.reserve(watches * changes);
    std::mutex mutex;
    std::condition_variable woken;
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < watches; ++i) {
      watchers[i].watch = std::move(*store->watch({std::string(machines), "", "", 0}, [&, i] {
        const std::lock_guard lock(mutex);
        ready.push_back(i);
        woken.notify_one();
      }));
      (void)watchers[i].watch->next(1);
    }
    std::thread core([&] {
      std::size_t finished = 0;
      std::vector<std::size_t> now;
      std::string out;
      while (finished < watches) {
        {
          std::unique_lock lock(mutex);
          woken.wait(lock, [&] { return !ready.empty(); });
          now.swap(ready);
        }
        for (const auto i : now) {
          for (bool more = true; more;) {
            auto batch = watchers[i].watch->next(64);
            if (!batch) std::abort();
            for (const auto& change : batch->changes) {
              out.clear();
              append_with_revision(out, *change.object, change.revision);
              benchmark::DoNotOptimize(out.data());
              latencies.push_back(
                  std::chrono::duration<double, std::milli>(Clock::now() - submitted[change.revision - 1]).count());
            }
            watchers[i].seen += batch->changes.size();
            more = batch->more;
          }
          if (watchers[i].seen == changes) ++finished;
        }
        now.clear();
      }
    });
    const auto start = Clock::now();
    for (std::size_t i = 0; i < changes; ++i) {
      std::this_thread::sleep_until(start + i * interval);
      submitted[i] = Clock::now();
      Transaction transaction;
      transaction.writes.push_back(machine(WriteKind::create, i));
      store->submit(std::move(transaction), [](Result<CommitOutcome> outcome) {
        if (!outcome) std::abort();
      });
    }
    core.join();
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - start).count());
    std::ranges::sort(latencies);
    state.counters["events"] = static_cast<double>(latencies.size());
    state.counters["p50_ms"] = latencies[latencies.size() / 2];
    state.counters["p99_ms"] = latencies[latencies.size() * 99 / 100];
    state.counters["max_ms"] = latencies.back();
  }
}
BENCHMARK(BM_watch_fan_out)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

double heap_bytes() {
  const auto info = ::mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

// Starting with 100,000 objects, and what each of them costs in memory.
void BM_open_100000(benchmark::State& state) {
  constexpr std::size_t count = 100'000;
  Folder folder;
  {
    auto store = open(folder);
    fill(*store, count);
  }
  ::malloc_trim(0);
  for (auto _ : state) {
    const auto before = heap_bytes();
    const auto start = Clock::now();
    auto store = open(folder);
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - start).count());
    state.counters["bytes_each"] = (heap_bytes() - before) / static_cast<double>(count);
    if (store->count(machines) != count) std::abort();
  }
  state.counters["file_MB"] = static_cast<double>(std::filesystem::file_size(folder.file())) / 1e6;
}
BENCHMARK(BM_open_100000)->Unit(benchmark::kMillisecond)->Iterations(3)->UseManualTime();

}  // namespace
