#include "completion.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "base/joined.h"
#include "commands.h"

namespace vg::cmd {
namespace {

// What stands between single quotes of a shell.
std::string single_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::vector<std::string> flag_words(const FlagInfo& flag) {
  std::vector<std::string> words{"--" + flag.name};
  if (flag.shorthand) words.push_back(std::string("-") + flag.shorthand);
  return words;
}

// What may stand in place of a command, and what it does.
struct RootFlag {
  std::string_view name;
  std::string_view help;
};
constexpr auto root_flags =
    std::to_array<RootFlag>({{"help", "shows the commands"}, {"version", "shows the version of this program"}});

bool has_parts(const Command& command) { return !command.run; }

std::string names_of_parts(std::string_view of) {
  std::vector<std::string_view> names;
  for (const Command& command : commands())
    if (of.empty() ? !command.group.empty() : is_part_of(command, of))
      names.push_back(of.empty() ? command.name : command.name.substr(of.size() + 1));
  return joined(names, " ");
}

// --- bash ------------------------------------------------------------------------------------------------------------

// What bash does for a value or an argument of this name.
std::string bash_words(std::string_view value_name) {
  if (value_name == "FILE") return "mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")";
  if (value_name == "DIR") return "mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")";
  return fmt::format("words={}", single_quoted(joined(choices(value_name), " ")));
}

std::string bash_command(const Command& command) {
  const Description takes = describe(command);
  std::string text;
  std::vector<std::string> all;
  for (const FlagInfo& flag : takes.flags) {
    const auto words = flag_words(flag);
    all.insert(all.end(), words.begin(), words.end());
    if (flag.value_name.empty()) continue;
    for (const std::string& word : words)
      text += fmt::format("    {}) {} ;;\n", single_quoted(fmt::format("{}:{}", command.name, word)),
                          bash_words(flag.value_name));
  }
  const std::string flags = fmt::format("words={}", single_quoted(joined(all, " ")));
  if (takes.argument.empty()) return text + fmt::format("    {}:*) {} ;;\n", single_quoted(command.name), flags);
  return text + fmt::format("    {}:*) if [[ $cur == -* ]]; then {}; else {}; fi ;;\n", single_quoted(command.name),
                            flags, bash_words(takes.argument));
}

std::string bash_script() {
  std::string text = R"(# Completion of virtgate for bash: source <(virtgate completion bash)
_virtgate() {
  local cur=${COMP_WORDS[COMP_CWORD]} flag=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} words=
  COMPREPLY=()
  # bash cuts --flag=value into three words.
  if [[ $cur == = ]]; then cur=; elif [[ $flag == = ]]; then flag=${COMP_WORDS[COMP_CWORD-2]}; fi
  [[ $flag == -* ]] || flag=
  if (( COMP_CWORD == 1 )); then
    mapfile -t COMPREPLY < <(compgen -W ')" +
                     names_of_parts("") + R"( --help --version' -- "$cur")
    return
  fi
  case $command in
)";
  for (const Command& command : commands())
    if (has_parts(command))
      text += fmt::format(
          R"(    {0}) if (( COMP_CWORD == 2 )); then mapfile -t COMPREPLY < <(compgen -W '{1}' -- "$cur"); return; fi
      command="{0} ${{COMP_WORDS[2]}}" ;;
)",
          command.name, names_of_parts(command.name));
  text += "  esac\n  case $command:$flag in\n";
  for (const Command& command : commands())
    if (!has_parts(command)) text += bash_command(command);
  return text + R"(  esac
  [[ -z $words ]] || mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o filenames -F _virtgate virtgate
)";
}

// --- zsh -------------------------------------------------------------------------------------------------------------

// For _arguments and _describe, which give colons and brackets a meaning.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view(":[]\\").contains(c)) out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_values(std::string_view value_name) {
  if (value_name == "FILE") return "_files";
  if (value_name == "DIR") return "_files -/";
  const auto words = choices(value_name);
  return words.empty() ? std::string(" ") : fmt::format("({})", joined(words, " "));
}

std::string zsh_list(std::string_view of) {
  std::string text;
  for (const Command& command : commands())
    if (of.empty() ? !command.group.empty() : is_part_of(command, of))
      text += " " + single_quoted(fmt::format("{}:{}", of.empty() ? command.name : command.name.substr(of.size() + 1),
                                              zsh_text(command.summary)));
  return text;
}

std::string zsh_arguments(const Command& command) {
  const Description takes = describe(command);
  std::string text = "_arguments";
  for (const FlagInfo& flag : takes.flags)
    for (const std::string& word : flag_words(flag)) {
      // The sign says that the value may also stand in the same word.
      const bool joined = !flag.value_name.empty() && word.starts_with("--");
      std::string spec = fmt::format("{}{}[{}]", word, joined ? "=" : "", zsh_text(flag.help));
      if (!flag.value_name.empty())
        spec += fmt::format(":{}:{}", zsh_text(flag.value_name), zsh_values(flag.value_name));
      text += " " + single_quoted(spec);
    }
  if (!takes.argument.empty())
    text += " " + single_quoted(fmt::format("*:{}:{}", zsh_text(takes.argument), zsh_values(takes.argument)));
  return text;
}

std::string zsh_script() {
  std::string text =
      "#compdef virtgate\n# Completion of virtgate for zsh: source <(virtgate completion zsh)\n_virtgate() {\n  local "
      "-a names\n";
  std::string at_root = zsh_list("");
  for (const RootFlag& flag : root_flags)
    at_root += " " + single_quoted(fmt::format("--{}:{}", flag.name, zsh_text(flag.help)));
  text += fmt::format("  if (( CURRENT == 2 )); then\n    names=({})\n    _describe command names\n    return\n  fi\n",
                      at_root);
  text += "  local command=$words[2]\n  shift words; (( CURRENT-- ))\n  case $command in\n";
  for (const Command& command : commands())
    if (has_parts(command))
      text += fmt::format(
          "    {0})\n      if (( CURRENT == 2 )); then names=({1}); _describe command names; return; fi\n"
          "      command=\"{0} $words[2]\"; shift words; (( CURRENT-- )) ;;\n",
          command.name, zsh_list(command.name));
  text += "  esac\n  case $command in\n";
  for (const Command& command : commands())
    if (!has_parts(command))
      text += fmt::format("    {}) {} ;;\n", single_quoted(command.name), zsh_arguments(command));
  return text +
         "  esac\n}\nif [[ $zsh_eval_context[-1] == loadautofunc ]]; then _virtgate \"$@\"; else compdef _virtgate "
         "virtgate; fi\n";
}

// --- fish ------------------------------------------------------------------------------------------------------------

// fish knows two escapes between single quotes.
std::string fish_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string fish_values(std::string_view value_name) {
  if (value_name == "FILE") return " -r -F";
  if (value_name == "DIR") return " -x -a '(__fish_complete_directories)'";
  const auto words = choices(value_name);
  return words.empty() ? std::string(" -x") : fmt::format(" -x -a '{}'", joined(words, " "));
}

std::string fish_command(const Command& command) {
  const auto space = command.name.find(' ');
  const bool is_part = space != command.name.npos;
  std::string text =
      fmt::format("complete -c virtgate -f -n {} -a {} -d {}\n",
                  fish_quoted(fmt::format("__virtgate_at {}", command.name.substr(0, is_part ? space : 0))),
                  command.name.substr(is_part ? space + 1 : 0), fish_quoted(command.summary));
  if (has_parts(command)) return text;
  const Description takes = describe(command);
  const std::string when = fish_quoted(fmt::format("__virtgate_in {}", command.name));
  for (const FlagInfo& flag : takes.flags) {
    text += fmt::format("complete -c virtgate -n {} -l {}", when, flag.name);
    if (flag.shorthand) text += fmt::format(" -s {}", flag.shorthand);
    if (!flag.value_name.empty()) text += fish_values(flag.value_name);
    text += fmt::format(" -d {}\n", fish_quoted(flag.help));
  }
  if (!takes.argument.empty())
    text += fmt::format("complete -c virtgate -n {}{}\n", when,
                        takes.argument == "FILE" ? std::string(" -F") : fish_values(takes.argument));
  return text;
}

std::string fish_script() {
  std::string text = R"(# Completion of virtgate for fish: virtgate completion fish | source
# fish's own __fish_seen_subcommand_from would take a file or a VMI called as a command for that command.
function __virtgate_at -d 'whether the words before the cursor are these'
  set -l words (commandline -opc)
  set -e words[1]
  test "$words" = "$argv"
end
function __virtgate_in -d 'whether the words before the cursor begin with these'
  set -l words (commandline -opc)
  set -e words[1]
  set -l last (count $argv)
  test "$words[1..$last]" = "$argv"
end
complete -c virtgate -f
)";
  for (const RootFlag& flag : root_flags)
    text += fmt::format("complete -c virtgate -n __virtgate_at -l {} -d {}\n", flag.name, fish_quoted(flag.help));
  for (const Command& command : commands()) text += fish_command(command);
  return text;
}

struct Shell {
  std::string_view name;
  std::string (*script)();
};
constexpr std::array shells = std::to_array<Shell>({{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}});

}  // namespace

int run_completion(std::span<const std::string_view> arguments, Output output) {
  const CommandLine command{
      .name = "completion",
      .synopsis = "bash|zsh|fish",
      .description = "Prints a script that makes a shell complete the commands and flags of virtgate.",
      .examples =
          "source <(virtgate completion bash)      # this shell\n"
          "virtgate completion bash > /etc/bash_completion.d/virtgate\n"
          "virtgate completion zsh > \"${fpath[1]}/_virtgate\"\n"
          "virtgate completion fish > ~/.config/fish/completions/virtgate.fish",
      .argument = "bash|zsh|fish",
      .arguments_min = 1,
      .arguments_max = 1};
  const auto read = read_command(command, {}, arguments, output);
  if (!read) return read.error();
  for (const Shell& shell : shells) {
    if (shell.name != read->front()) continue;
    fmt::print(output.out, "{}", shell.script());
    return exit_ok;
  }
  return refuse_usage(
      command, fmt::format("unsupported shell \"{}\": supported values: bash, zsh, fish", read->front()), output);
}

}  // namespace vg::cmd
