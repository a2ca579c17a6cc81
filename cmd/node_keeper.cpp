#include "node_keeper.h"

#include <fcntl.h>
#include <signal.h>  // NOLINT: SIGTERM and SIGPIPE are POSIX's
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "base/handler_limits.h"
#include "base/helper_limits.h"
#include "command.h"
#include "helpers/channel.h"
#include "helpers/kept_process.h"
#include "helpers/pass_on.h"

namespace vg::cmd {
namespace {

using helpers::Heartbeat;

struct Keeper {
  helpers::Channel server;
  int program = -1;
  std::vector<std::string> common;  // STATE LIBVIRT VERBOSITY LOG-FORMAT SANDBOX BLOCKED-NETWORKS
  std::string url = {};             // of the server
  std::size_t nodes = 0;
};

// In a new process.
int become_node(const Keeper& keeper, const std::string& name, int listener, const Heartbeat& own) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  const auto& common = keeper.common;
  std::vector<std::string> words{"virtgate-node",
                                 "--state",
                                 common[0],
                                 "--node",
                                 name,
                                 "--server",
                                 keeper.url,
                                 "--listener",
                                 std::to_string(listener),
                                 "--heartbeat",
                                 std::to_string(own.descriptor()),
                                 "-v",
                                 common[2],
                                 "--nodes",
                                 std::to_string(keeper.nodes)};
  if (!common[1].empty()) words.insert(words.end(), {"--libvirt", common[1]});
  if (!common[3].empty()) words.insert(words.end(), {"--log-format", common[3]});
  if (!common[4].empty()) words.insert(words.end(), {"--sandbox", common[4]});
  if (!common[5].empty()) words.insert(words.end(), {"--import-blocked-networks", common[5]});
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  helpers::pass_on_only(std::array{listener, own.descriptor()});
  (void)::signal(SIGPIPE, SIG_DFL);
  ::fexecve(keeper.program, raw.data(), environ);
  return exit_failed;
}

// Until the server says where it is. False: it is gone.
bool await_url(Keeper& keeper, Heartbeat& own) {
  while (true) {
    own.beat();
    auto received = keeper.server.receive();
    if (!received) return false;
    if (*received) keeper.url = std::move((*received)->body);
    if (!keeper.url.empty()) return true;
    keeper.server.wait_to_receive(limits::helper_beat_interval);
  }
}

// One that the server handed over; no child of ours gets it unless it is told so.
std::optional<int> read_descriptor(std::string_view number) {
  int descriptor = -1;
  if (std::from_chars(number.data(), number.data() + number.size(), descriptor).ec != std::errc() || descriptor < 0)
    return std::nullopt;
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return descriptor;
}

}  // namespace

int run_node_keeper(std::span<const std::string_view> arguments) {
  constexpr std::size_t fixed = 9;
  if (arguments.size() < fixed || (arguments.size() - fixed) % 2 != 0) return exit_usage;
  const auto socket = read_descriptor(arguments[0]), page = read_descriptor(arguments[1]),
             program = read_descriptor(arguments[2]);
  if (!socket || !page || !program) return exit_usage;
  // A terminal's Ctrl-C is for the server; guests and their libvirt are to live on.
  ::setsid();
  (void)::signal(SIGPIPE, SIG_IGN);
  auto own = Heartbeat::open(Descriptor(*page));
  if (!own) return exit_usage;
  Keeper keeper{.server = helpers::Channel(Descriptor(*socket)),
                .program = *program,
                .common = {arguments.begin() + 3, arguments.begin() + fixed},
                .nodes = (arguments.size() - fixed) / 2};
  if (!await_url(keeper, *own)) return exit_ok;
  std::vector<helpers::KeptProcess> nodes;
  for (std::size_t at = fixed; at < arguments.size(); at += 2) {
    const auto listener = read_descriptor(arguments[at + 1]);
    auto heartbeat = Heartbeat::make();
    if (!listener || !heartbeat) return exit_failed;
    nodes.emplace_back(
        std::move(*heartbeat),
        [&keeper, name = std::string(arguments[at]), listener = *listener](Heartbeat& node) {
          return become_node(keeper, name, listener, node);
        },
        limits::node_silent_looks_max);
  }
  helpers::keep_running(keeper.server.descriptor(), nodes, &*own);
  return exit_ok;
}

}  // namespace vg::cmd
