#include "command.h"

#include <fmt/format.h>

#include <algorithm>

namespace vg::cmd {
namespace {

constexpr std::size_t columns = 100;

std::string indented(std::string_view lines) {
  std::string text;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    text += fmt::format("  {}\n", line);
  }
  return text;
}

std::vector<FlagInfo> with_help(std::vector<FlagInfo> flags) {
  const bool taken = std::ranges::find(flags, 'h', &FlagInfo::shorthand) != flags.end();
  flags.push_back({.name = "help", .shorthand = taken ? '\0' : 'h', .value_name = {}, .help = "shows this help"});
  return flags;
}

std::string help(const CommandLine& command, std::span<const FlagInfo> flags) {
  std::string text = wrapped(command.description);
  text += fmt::format("\nUsage:\n  {} {}\n", command.title(), command.synopsis);
  if (!command.examples.empty()) text += fmt::format("\nExamples:\n{}", indented(command.examples));
  text += fmt::format("\nFlags:\n{}", describe_flags(flags));
  return text;
}

}  // namespace

std::string CommandLine::title() const {
  return name.empty() ? std::string(program) : fmt::format("{} {}", program, name);
}

std::string wrapped(std::string_view text, std::string_view indent) {
  std::string out, line(indent);
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (line.size() > indent.size() && line.size() + 1 + word.size() > columns) {
      out += line + "\n";
      line = indent;
    }
    if (line.size() > indent.size()) line += ' ';
    line += word;
  }
  return out + line + "\n";
}

int refuse_usage(const CommandLine& command, std::string_view why, Output output) {
  // Whoever is not told what to do is told where that is written.
  const bool advised = why.contains("; ") || why.contains("supported values");
  fmt::print(output.err, "{}: {}{}\n", command.title(), why,
             advised ? std::string() : fmt::format("; see {} --help", command.title()));
  return exit_usage;
}

std::expected<std::vector<std::string>, int> read_command(const CommandLine& command, std::span<const Flag> flags,
                                                          std::span<const std::string_view> arguments, Output output) {
  const auto infos = with_help(flag_infos(flags));
  if (output.describe) {
    *output.describe = {.flags = infos, .argument = std::string(command.argument)};
    return std::unexpected(exit_ok);
  }
  auto parsed = parse_flags(flags, arguments);
  if (parsed && parsed->help) {
    fmt::print(output.out, "{}", help(command, infos));
    return std::unexpected(exit_ok);
  }
  std::string why;
  if (!parsed)
    why = std::move(parsed.error());
  else if (parsed->positional.size() > command.arguments_max)
    why = fmt::format("unexpected argument \"{}\"", parsed->positional[command.arguments_max]);
  else if (parsed->positional.size() < command.arguments_min)
    why = fmt::format("{} is required", command.argument);
  if (!why.empty()) return std::unexpected(refuse_usage(command, why, output));
  return std::move(parsed->positional);
}

}  // namespace vg::cmd
