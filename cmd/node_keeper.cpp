#include "node_keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>  // NOLINT: kill and SIGKILL are POSIX's
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/handler_limits.h"
#include "command.h"
#include "disks/outcome.h"

namespace vg::cmd {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct Node {
  std::string name, listener;
  pid_t process = -1;
  disks::Descriptor ended = {};  // readable once it has; none while it does not run
  Clock::time_point began = {}, due = {};
  milliseconds pause = limits::node_pause_min;
};

class Keeper {
 public:
  Keeper(int socket, int program, std::vector<std::string> common, std::vector<Node> nodes)
      : socket_(socket), program_(program), common_(std::move(common)), nodes_(std::move(nodes)) {}

  int run() {
    std::string url(limits::node_message_bytes_max, '\0');
    const ssize_t got = ::recv(socket_, url.data(), url.size(), 0);
    if (got <= 0) return 0;
    url.resize(static_cast<std::size_t>(got));
    url_ = std::move(url);
    while (true) {
      for (Node& node : nodes_)
        if (!node.ended && node.due <= Clock::now()) begin(node);
      if (!wait()) break;
    }
    end_all();
    return 0;
  }

 private:
  void begin(Node& node) {
    std::vector<std::string> words{"virtgate-node",
                                   "--state",
                                   common_[0],
                                   "--node",
                                   node.name,
                                   "--server",
                                   url_,
                                   "--listener",
                                   node.listener,
                                   "-v",
                                   common_[2],
                                   "--nodes",
                                   std::to_string(nodes_.size())};
    if (!common_[1].empty()) words.insert(words.end(), {"--libvirt", common_[1]});
    if (!common_[3].empty()) words.insert(words.end(), {"--log-format", common_[3]});
    if (!common_[4].empty()) words.insert(words.end(), {"--sandbox", common_[4]});
    if (!common_[5].empty()) words.insert(words.end(), {"--import-blocked-networks", common_[5]});
    std::vector<char*> raw;
    for (std::string& word : words) raw.push_back(word.data());
    raw.push_back(nullptr);
    node.began = Clock::now();
    node.process = ::fork();
    if (node.process == 0) {
      // A node without a keeper would go on beside the next server's.
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (::getppid() == 1) ::_exit(1);
      ::close(socket_);
      (void)::signal(SIGPIPE, SIG_DFL);
      ::fexecve(program_, raw.data(), environ);
      ::_exit(exit_failed);
    }
    if (node.process > 0) node.ended = disks::Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, node.process, 0)));
    if (!node.ended) bury(node);
  }

  // Once it has ended, or could not be started.
  void bury(Node& node) {
    if (node.process > 0) {
      if (!node.ended) ::kill(node.process, SIGKILL);
      while (::waitpid(node.process, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
    node.process = -1;
    node.ended.close();
    if (Clock::now() - node.began > limits::node_pause_max) node.pause = limits::node_pause_min;
    node.due = Clock::now() + node.pause;
    node.pause = std::min(node.pause * 2, limits::node_pause_max);
  }

  // Until something is to be done. False: the server is gone.
  bool wait() {
    std::vector<pollfd> ready{{socket_, POLLIN, 0}};
    std::vector<Node*> running;
    std::optional<Clock::time_point> due;
    for (Node& node : nodes_) {
      if (node.ended) {
        ready.push_back({node.ended.get(), POLLIN, 0});
        running.push_back(&node);
      } else {
        due = due ? std::min(*due, node.due) : node.due;
      }
    }
    if (::poll(ready.data(), ready.size(), due ? timeout_until(*due) : -1) < 0) return errno == EINTR;
    for (std::size_t i = 0; i < running.size(); ++i)
      if (ready[i + 1].revents != 0) bury(*running[i]);
    return ready[0].revents == 0;
  }

  static int timeout_until(Clock::time_point due) {
    const auto left = std::chrono::ceil<milliseconds>(due - Clock::now());
    return static_cast<int>(std::max(left, milliseconds(0)).count());
  }

  void end_all() {
    for (const Node& node : nodes_)
      if (node.ended) ::kill(node.process, SIGTERM);
    const auto deadline = Clock::now() + limits::node_stop_deadline;
    for (Node& node : nodes_) {
      if (!node.ended) continue;
      pollfd ended{node.ended.get(), POLLIN, 0};
      while (::poll(&ended, 1, timeout_until(deadline)) < 0 && errno == EINTR) {
      }
      if (ended.revents == 0) ::kill(node.process, SIGKILL);
      bury(node);
    }
  }

  int socket_, program_;
  std::vector<std::string> common_;  // STATE LIBVIRT VERBOSITY LOG-FORMAT SANDBOX
  std::vector<Node> nodes_;
  std::string url_;
};

// One that the server handed over; no child of ours gets it.
std::optional<int> read_descriptor(std::string_view number) {
  int descriptor = -1;
  if (std::from_chars(number.data(), number.data() + number.size(), descriptor).ec != std::errc() || descriptor < 0)
    return std::nullopt;
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return descriptor;
}

}  // namespace

int run_node_keeper(std::span<const std::string_view> arguments) {
  constexpr std::size_t fixed = 8;
  if (arguments.size() < fixed || (arguments.size() - fixed) % 2 != 0) return exit_usage;
  const auto socket = read_descriptor(arguments[0]), program = read_descriptor(arguments[1]);
  if (!socket || !program) return exit_usage;
  // A terminal's Ctrl-C is for the server; guests and their libvirt are to live on.
  ::setsid();
  (void)::signal(SIGPIPE, SIG_IGN);
  std::vector<Node> nodes;
  for (std::size_t at = fixed; at < arguments.size(); at += 2)
    nodes.push_back({.name = std::string(arguments[at]), .listener = std::string(arguments[at + 1])});
  return Keeper(*socket, *program, {arguments.begin() + 2, arguments.begin() + fixed}, std::move(nodes)).run();
}

}  // namespace vg::cmd
