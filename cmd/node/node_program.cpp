#include "node_program.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "../command.h"
#include "../log_format.h"
#include "../memory.h"
#include "base/log.h"
#include "node.h"

namespace vg::cmd {

int run_node_program(std::span<const std::string_view> arguments) {
  NodeProgramOptions options;
  std::int64_t verbosity = log::verbosity_default;
  std::string log_format;
  const std::vector<Flag> flags{
      {"state", '\0', &options.state, "DIR", "the state folder of the server"},
      {"node", '\0', &options.node, "NAME", "the name of the node"},
      {"server", '\0', &options.server, "URL", "where the server is"},
      {"libvirt", '\0', &options.libvirt, "URI", "the libvirt to use (default one that is started for this node)"},
      {"listener", '\0', &options.listener, "FD", "the socket on which the handler's paths are served"},
      {"heartbeat", '\0', &options.heartbeat, "FD", "the page in which the node notes that it runs"},
      {"sandbox", '\0', &options.sandbox, "on|off|required", "confine libvirtd and QEMU to the files of guests"},
      {"import-blocked-networks", '\0', &options.blocked, "NETWORKS", "networks that no image is pulled from"},
      {"nodes", '\0', &options.nodes, "N", "how many nodes share the CPUs and the memory of this host"},
      {"v", 'v', &verbosity, "LEVEL", "how much to log"},
      {"log-format", '\0', &log_format, "json|text", log_format_help},
  };
  const Output output{.out = stdout, .err = stderr};
  const CommandLine command{.name = "",
                            .synopsis = "[flags]",
                            .description =
                                "Runs the guests of a node. `virtgate serve --node libvirt` starts "
                                "it, and starts it again when it ends; guests run on meanwhile.",
                            .program = "virtgate-node"};
  if (const auto read = read_command(command, flags, arguments, output); !read) return read.error();
  if (options.state.empty() || options.node.empty() || options.server.empty() || options.listener < 0)
    return refuse_usage(command, "--state, --node, --server and --listener are required", output);
  ::umask(077);
  set_log_format(log_format, stderr);
  log::set_verbosity(static_cast<int>(std::clamp<std::int64_t>(verbosity, 0, 100)));
  return_large_blocks();
  share_heaps();
  keep_memory_private();
  if (const auto done = run_node(options); !done) {
    log::error("the node ends", {{"node", options.node}, {"reason", done.error().message}});
    return exit_failed;
  }
  return exit_ok;
}

}  // namespace vg::cmd
