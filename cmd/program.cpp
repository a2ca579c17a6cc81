#include "program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "actions.h"
#include "backup.h"
#include "cluster.h"
#include "rules.h"
#include "serve.h"
#include "server/version.h"
#include "state.h"

namespace vg::cmd {
namespace {

using Arguments = std::span<const std::string_view>;

struct Command {
  std::string_view name;
  std::string_view synopsis;
  std::string_view help;
  int (*run)(const Command& command, Arguments arguments, Output output);
};

int not_built_yet(const Command& command, Arguments, Output output) {
  fmt::print(output.err, "virtgate {}: not implemented yet\n", command.name);
  return exit_failed;
}

int print_version(const Command&, Arguments, Output output) {
  fmt::print(output.out, "{}\n", server::version_line());
  return exit_ok;
}

constexpr std::array commands = std::to_array<Command>({
    {"serve", "[--state DIR] [--listen HOST:PORT] [--api-only]", "serves the KubeVirt API on this host",
     [](const Command&, Arguments arguments, Output output) { return run_serve(arguments, output); }},
    {"cluster", "[virt-api's flags]", "replaces virt-api in a Kubernetes cluster",
     [](const Command&, Arguments arguments, Output output) {
       return run_cluster("virtgate cluster", arguments, output);
     }},
    {"check", "FILE... | -", "validates objects offline", not_built_yet},
    {"render", "FILE", "shows an object after defaulting", not_built_yet},
    {"rules", "[--grep WORD] [-o json]", "lists the validation rules",
     [](const Command&, Arguments arguments, Output output) { return run_rules(arguments, output); }},
    {"actions", "[-o json]", "lists the actions on VMs and the permissions they require",
     [](const Command&, Arguments arguments, Output output) { return run_actions(arguments, output); }},
    {"backup", "[--state DIR] [--objects-only] FILE", "backs up the state of a server to a file, while it runs",
     [](const Command&, Arguments arguments, Output output) { return run_backup(arguments, output); }},
    {"restore", "[--state DIR] [--replace] FILE", "restores a state folder from a backup",
     [](const Command&, Arguments arguments, Output output) { return run_restore(arguments, output); }},
    {"state", "check | export | accept-loss [--state DIR]", "checks and repairs the state of a stopped server",
     [](const Command&, Arguments arguments, Output output) { return run_state(arguments, output); }},
    {"version", "", "the version of this program", print_version},
});

std::string usage() {
  std::string text = "usage: virtgate COMMAND [FLAGS]\n\n";
  for (const Command& command : commands)
    text += fmt::format("  {:<8} {:<52} {}\n", command.name, command.synopsis, command.help);
  text += "\nUse virtgate COMMAND --help for the flags of a command.\n";
  return text;
}

}  // namespace

int run(std::string_view program, Arguments arguments, Output output) {
  const auto slash = program.rfind('/');
  if ((slash == program.npos ? program : program.substr(slash + 1)) == "virt-api")
    return run_cluster("virt-api", arguments, output);
  if (arguments.empty()) {
    fmt::print(output.err, "{}", usage());
    return exit_usage;
  }
  const std::string_view name = arguments.front();
  if (name == "help" || name == "--help" || name == "-h") {
    fmt::print(output.out, "{}", usage());
    return exit_ok;
  }
  const auto* command = std::ranges::find(commands, name == "--version" ? "version" : name, &Command::name);
  if (command == commands.end()) {
    fmt::print(output.err, "virtgate: unknown command \"{}\"\n\n{}", name, usage());
    return exit_usage;
  }
  return command->run(*command, arguments.subspan(1), output);
}

}  // namespace vg::cmd
