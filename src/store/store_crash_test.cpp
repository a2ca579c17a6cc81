// A process that writes as fast as it can is killed at random moments, again and again, over one file.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "ports/object_store_testing.h"
#include "store/embedded_store.h"
#include "store/testing.h"

namespace vg::store {
namespace {

using namespace vg::testing;

constexpr int clients = 8;
constexpr int names_of_a_client = 7;
constexpr std::string_view counters = "counters";
constexpr int acknowledgements = 9;  // the file descriptor of the child on which it reports
constexpr const char* path_variable = "VIRTGATE_STORE_CRASH_PATH";

Options crash_options(std::string path) {
  Options options;
  options.path = std::move(path);
  options.log_changes_max = 5000;
  options.wal_bytes_max = 256 * limits::kib;  // so that kills hit checkpoints too
  return options;
}

std::string client_name(int client) { return fmt::format("client-{}", client); }

std::string content(int client, int step) {
  return fmt::format("{}:{}:{}", client, step, std::string(step % 37 * 50, 'x'));
}

// Every client has one transaction under way, and its steps are a function of their number alone. Each writes an object
// and counts in another, so that a torn transaction would show.
Transaction step_of(int client, int step, const std::map<std::string, std::string>& present) {
  Transaction transaction;
  const auto key = machine_key(fmt::format("{}-{}", client_name(client), step % names_of_a_client));
  if (!present.contains(key.name)) {
    transaction.writes.push_back(create(key, content(client, step)));
  } else if (step % 3 == 0) {
    transaction.writes.push_back(remove(key));
  } else {
    transaction.writes.push_back(update(key, content(client, step)));
  }
  const ObjectKey counter{std::string(counters), "", client_name(client)};
  transaction.writes.push_back(step == 0 ? create(counter, std::to_string(step))
                                         : update(counter, std::to_string(step)));
  return transaction;
}

void carry_out(const Transaction& transaction, std::map<std::string, std::string>& present) {
  const auto& write = transaction.writes.front();
  if (write.kind == WriteKind::remove) {
    present.erase(write.key.name);
  } else {
    present[write.key.name] = write.object.json;
  }
}

// The number of the last step that the store has, -1 for none.
int counted(const ObjectStore& store, int client) {
  const auto found = store.get(counters, "", client_name(client));
  if (!found) return -1;
  const auto json = std::string(found->json());
  return std::atoi(json.c_str() + json.find("\"spec\":\"") + 8);
}

struct Acknowledgement {
  int client;
  int step;
  Revision revision;
};

// The process that gets killed. For every answer it gets it writes an Acknowledgement.
TEST(StoreCrash, DISABLED_child) {
  const char* path = std::getenv(path_variable);
  if (path == nullptr) GTEST_SKIP() << "the other test starts this one";
  auto store = must_open(crash_options(path));
  std::vector<std::thread> threads;
  for (int client = 0; client < clients; ++client) {
    threads.emplace_back([&store, client] {
      std::map<std::string, std::string> present;
      const int last = counted(*store, client);
      for (int step = 0; step <= last; ++step) carry_out(step_of(client, step, present), present);
      for (int step = last + 1;; ++step) {
        auto transaction = step_of(client, step, present);
        carry_out(transaction, present);
        const auto outcome = commit(*store, std::move(transaction));
        if (!outcome) std::_Exit(3);
        const Acknowledgement done{client, step, outcome->revision};
        if (::write(acknowledgements, &done, sizeof done) != sizeof done) std::_Exit(4);
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

class Child {
 public:
  explicit Child(const std::string& path) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
    output_ = ends[0];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], acknowledgements);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    std::string program = "/proc/self/exe";
    std::string filter = "--gtest_filter=StoreCrash.DISABLED_child";
    std::string disabled = "--gtest_also_run_disabled_tests";
    std::array<char*, 4> arguments{program.data(), filter.data(), disabled.data(), nullptr};
    std::vector<std::string> texts{fmt::format("{}={}", path_variable, path)};
    for (char** variable = environ; *variable != nullptr; ++variable) texts.emplace_back(*variable);
    std::vector<char*> environment;
    for (auto& variable : texts) environment.push_back(variable.data());
    environment.push_back(nullptr);
    if (::posix_spawn(&process_, program.c_str(), &actions, nullptr, arguments.data(), environment.data()) != 0) {
      std::abort();
    }
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
  }
  ~Child() {
    kill();
    ::close(output_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // False at the end of what it said.
  bool next(Acknowledgement& into) {
    auto* to = reinterpret_cast<char*>(&into);
    for (std::size_t have = 0; have < sizeof into;) {
      const auto got = ::read(output_, to + have, sizeof into - have);
      if (got <= 0) return false;
      have += static_cast<std::size_t>(got);
    }
    return true;
  }
  // Returns how it ended.
  int kill() {
    if (process_ <= 0) return status_;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, &status_, 0);
    process_ = 0;
    return status_;
  }

 private:
  int output_ = -1;
  pid_t process_ = 0;
  int status_ = 0;
};

TEST(StoreCrash, keeps_every_acknowledged_write_through_fifty_kills) {
  TemporaryFolder folder;
  const auto path = folder.file("store.db");
  std::mt19937 random(std::random_device{}());
  std::array<int, clients> last{};
  last.fill(-1);
  std::array<std::map<std::string, std::string>, clients> present;
  Revision resume = 0;
  std::size_t acknowledged = 0;
  for (int round = 0; round < 50; ++round) {
    auto least = last;
    Revision highest = resume;
    {
      Child child(path);
      Acknowledgement done{};
      ASSERT_TRUE(child.next(done)) << "it must come to work";
      const auto moment = std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 30'000);
      bool killed = false;
      do {
        if (!killed && std::chrono::steady_clock::now() >= moment) {
          const int status = child.kill();
          ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "it ended by itself: " << status;
          killed = true;
        }
        ASSERT_GT(done.step, least[done.client]);
        ASSERT_GT(done.revision, resume);
        least[done.client] = done.step;
        highest = std::max(highest, done.revision);
        ++acknowledged;
      } while (child.next(done));
      ASSERT_TRUE(killed);
    }
    auto store = must_open(crash_options(path));
    ASSERT_GE(store->revision(), highest);
    Revision steps = 0;
    std::size_t objects = 0;
    for (int client = 0; client < clients; ++client) {
      const int found = counted(*store, client);
      ASSERT_GE(found, least[client]) << "an acknowledged write is gone";
      ASSERT_LE(found, least[client] + 1) << "a write from nowhere";
      for (int step = last[client] + 1; step <= found; ++step) {
        carry_out(step_of(client, step, present[client]), present[client]);
      }
      last[client] = found;
      steps += static_cast<Revision>(found + 1);
      objects += present[client].size();
      for (const auto& [name, json] : present[client]) {
        const auto object = store->get(machines, "default", name);
        ASSERT_TRUE(object) << name;
        ASSERT_EQ(object->json(), json);
      }
    }
    ASSERT_EQ(store->count(machines), objects);
    ASSERT_EQ(store->revision(), 2 * steps) << "one revision for each object of a transaction, none used twice";
    // A watch that was cut off by the kill goes on where it was, and misses nothing.
    if (resume >= store->oldest_revision(counters)) {
      auto watch = store->watch({std::string(counters), "", "", resume}, [] {});
      ASSERT_TRUE(watch.has_value());
      Revision seen = resume;
      for (bool more = true; more;) {
        const auto batch = (*watch)->next(1000);
        ASSERT_TRUE(batch.has_value());
        for (const auto& change : batch->changes) ASSERT_EQ(change.revision, seen += 2);
        more = batch->more;
      }
      ASSERT_EQ(seen, store->revision());
    }
    resume = store->revision();
  }
  RecordProperty("acknowledged_writes", std::to_string(acknowledged));
  EXPECT_GT(acknowledged, 100u);
}

}  // namespace
}  // namespace vg::store
