#include "program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "actions.h"
#include "backup.h"
#include "base/suggest.h"
#include "check.h"
#include "cluster.h"
#include "commands.h"
#include "completion.h"
#include "disk_worker.h"
#include "explain.h"
#include "image.h"
#include "node_keeper.h"
#include "render.h"
#include "rules.h"
#include "serve.h"
#include "server/version.h"
#include "simulate.h"
#include "state.h"
#include "ui.h"

namespace vg::cmd {
namespace {

using Arguments = std::span<const std::string_view>;

int run_version(Arguments arguments, Output output) {
  std::string format = "text";
  const std::vector<Flag> flags{{"output", 'o', &format, "text|json", "text, or the JSON document of /version"}};
  const auto read =
      read_command({.name = "version",
                    .synopsis = "[flags]",
                    .description = "Shows the version of this program, the level of the Kubernetes API that it "
                                   "serves, and what it was built from."},
                   flags, arguments, output);
  if (!read) return read.error();
  fmt::print(output.out, "{}\n", format == "json" ? server::version_json() : server::version_text());
  return exit_ok;
}

int run_help(Arguments arguments, Output output);

constexpr std::string_view servers = "Servers", keeping = "State of a server", looking = "Develop and test",
                           other = "Other";

constexpr std::array table = std::to_array<Command>({
    {"serve", servers, "serves the KubeVirt API on this host, without Kubernetes", run_serve},
    {"cluster", servers, "replaces virt-api in a Kubernetes cluster",
     [](Arguments arguments, Output output) { return run_cluster("virtgate", arguments, output); }},
    {"ui", servers, "prints a link that signs a browser in to the page of a server", run_ui},
    {"backup", keeping, "backs up the state of a server to a file, while it runs", run_backup},
    {"restore", keeping, "restores a state folder from a backup", run_restore},
    {"image", keeping, "loads, lists and removes container disks of a server", nullptr},
    {"image load", "", "puts a container disk into the image store", run_image_load},
    {"image list", "", "lists the images of the store", run_image_list},
    {"image remove", "", "removes an image from the store", run_image_remove},
    {"state", keeping, "checks and repairs the state of a stopped server", nullptr},
    {"state check", "", "checks that everything is there and unchanged", run_state_check},
    {"state export", "", "writes all objects that can be read as JSON", run_state_export},
    {"state accept-loss", "", "continues with what can be read of a damaged store", run_state_accept_loss},
    {"simulate", looking, "fakes running VMs on a server without nodes, for tests", run_simulate},
    {"rules", looking, "lists the validation rules", run_rules},
    {"actions", looking, "lists the actions on VMs and the permissions they require", run_actions},
    {"check", looking, "validates manifests as the server would, without one", run_check},
    {"render", looking, "shows what objects become: defaults, the VMI of a VM, its libvirt domain", run_render},
    {"explain", looking, "tells what a rule or a warning wants, with examples", run_explain},
    {"completion", other, "prints the completion of commands for a shell", run_completion},
    {"version", other, "shows the version of this program", run_version},
    {"help", other, "shows the help of a command", run_help},
});

int unknown_command(std::string_view before, std::string_view name, Output output) {
  std::vector<std::string_view> known;
  for (const Command& command : table) {
    if (before.empty() ? !command.group.empty() : is_part_of(command, before))
      known.push_back(before.empty() ? command.name : command.name.substr(before.size() + 1));
  }
  const std::string title = before.empty() ? "virtgate" : fmt::format("virtgate {}", before);
  const auto near = nearest(name, known);
  fmt::print(output.err, "{}: unknown command \"{}\"; {}\n", title, name,
             near.empty() ? fmt::format("see {} --help", title) : fmt::format("did you mean {}?", near));
  return exit_usage;
}

bool asks_for_help(std::string_view word) { return word == "help" || word == "--help" || word == "-h"; }

int run_part(const Command& whole, Arguments arguments, Output output) {
  if (arguments.empty()) {
    fmt::print(output.err, "virtgate {}: a command is required; see virtgate {} --help\n", whole.name, whole.name);
    return exit_usage;
  }
  if (asks_for_help(arguments.front())) {
    fmt::print(output.out, "{}", group_help(whole));
    return exit_ok;
  }
  const auto* part = find_command(fmt::format("{} {}", whole.name, arguments.front()));
  if (!part) return unknown_command(whole.name, arguments.front(), output);
  return part->run(arguments.subspan(1), output);
}

int run_named(std::string_view name, Arguments arguments, Output output) {
  const Command* command = find_command(name);
  if (!command || command->group.empty()) return unknown_command("", name, output);
  return command->run ? command->run(arguments, output) : run_part(*command, arguments, output);
}

int run_help(Arguments arguments, Output output) {
  if (output.describe) {
    for (const Command& command : table)
      if (!command.group.empty()) {
        output.describe->argument += output.describe->argument.empty() ? "" : "|";
        output.describe->argument += command.name;
      }
    return exit_ok;
  }
  if (arguments.empty() || asks_for_help(arguments.front())) {
    fmt::print(output.out, "{}", program_help());
    return exit_ok;
  }
  std::vector<std::string_view> rest(arguments.begin() + 1, arguments.end());
  rest.push_back("--help");
  return run_named(arguments.front(), rest, output);
}

}  // namespace

std::span<const Command> commands() { return table; }

const Command* find_command(std::string_view name) {
  const auto* found = std::ranges::find(table, name, &Command::name);
  return found == table.end() ? nullptr : found;
}

bool is_part_of(const Command& command, std::string_view name) {
  return command.name.size() > name.size() && command.name.starts_with(name) && command.name[name.size()] == ' ';
}

Description describe(const Command& command) {
  Description description;
  if (command.run) command.run({}, {.out = nullptr, .err = nullptr, .describe = &description});
  return description;
}

std::string program_help() {
  std::string text = wrapped(
      "virtgate serves the KubeVirt API: on one host without Kubernetes, or in a cluster in "
      "the place of virt-api.");
  text += "\nUsage:\n  virtgate COMMAND [flags]\n";
  std::string_view group;
  for (const Command& command : table) {
    if (command.group.empty()) continue;
    if (command.group != group) text += fmt::format("\n{}:\n", command.group);
    group = command.group;
    text += fmt::format("  {:<12}{}\n", command.name, command.summary);
  }
  return text +
         "\nExamples:\n"
         "  virtgate serve                          # then use the kubeconfig that it prints\n"
         "  virtgate simulate --all --watch         # VMs that are started seem to run\n"
         "  source <(virtgate completion bash)\n"
         "\nUse virtgate COMMAND --help for the flags of a command.\n";
}

std::string group_help(const Command& command) {
  std::string summary(command.summary);
  summary[0] = static_cast<char>(summary[0] - 'a' + 'A');
  std::string text = fmt::format("{}.\n\nUsage:\n  virtgate {} COMMAND [flags]\n\nCommands:\n", summary, command.name);
  for (const Command& part : table)
    if (is_part_of(part, command.name))
      text += fmt::format("  {:<12}{}\n", part.name.substr(command.name.size() + 1), part.summary);
  return text + fmt::format("\nUse virtgate {} COMMAND --help for the flags of a command.\n", command.name);
}

int run(std::string_view program, Arguments arguments, Output output) {
  const auto slash = program.rfind('/');
  if ((slash == program.npos ? program : program.substr(slash + 1)) == "virt-api")
    return run_cluster("virt-api", arguments, output);
  if (arguments.empty()) {
    fmt::print(output.err, "{}", program_help());
    return exit_usage;
  }
  const std::string_view name = arguments.front();
  if (asks_for_help(name)) return run_help(arguments.subspan(1), output);
  if (name == disk_worker_command) return run_disk_worker(arguments.subspan(1));  // of a server, not of people
  if (name == node_keeper_command) return run_node_keeper(arguments.subspan(1));  // likewise
  return run_named(name == "--version" ? "version" : name, arguments.subspan(1), output);
}

}  // namespace vg::cmd
