#include "flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/joined.h"
#include "base/suggest.h"

namespace vg::cmd {
namespace {

// Where the help of flags begins at most, and where its lines end.
constexpr std::size_t help_column_max = 36, columns = 100;

const Flag* find_long(std::span<const Flag> flags, std::string_view name) {
  auto found = std::ranges::find(flags, name, &Flag::name);
  return found == flags.end() ? nullptr : &*found;
}

const Flag* find_short(std::span<const Flag> flags, char letter) {
  if (letter == '\0') return nullptr;
  auto found = std::ranges::find(flags, letter, &Flag::shorthand);
  return found == flags.end() ? nullptr : &*found;
}

bool is_switch(const Flag& flag) { return std::holds_alternative<bool*>(flag.target); }

std::optional<bool> read_bool(std::string_view text) {
  for (std::string_view yes : {"1", "t", "T", "true", "True", "TRUE"})
    if (text == yes) return true;
  for (std::string_view no : {"0", "f", "F", "false", "False", "FALSE"})
    if (text == no) return false;
  return std::nullopt;
}

// Go reads a number by its prefix: 0x, 0o, 0b, and a leading 0 means octal.
std::optional<std::int64_t> read_int(std::string_view text) {
  bool negative = false;
  if (text.starts_with('-') || text.starts_with('+')) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char kind = text[1];
    base = kind == 'x' || kind == 'X' ? 16 : kind == 'b' || kind == 'B' ? 2 : 8;
    text.remove_prefix(base != 8 || kind == 'o' || kind == 'O' ? 2 : 1);
  }
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc() || stop != end) return std::nullopt;
  const std::uint64_t most = std::uint64_t{INT64_MAX} + (negative ? 1 : 0);
  if (value > most) return std::nullopt;
  return static_cast<std::int64_t>(negative ? ~value + 1 : value);
}

std::expected<void, std::string> set(const Flag& flag, std::string_view shown_as, std::string_view text) {
  if (auto* const* target = std::get_if<std::string*>(&flag.target)) {
    const auto words = choices(flag.value_name);
    if (!words.empty() && std::ranges::find(words, text) == words.end())
      return std::unexpected(
          fmt::format("{}: unsupported value \"{}\": supported values: {}", shown_as, text, joined(words, ", ")));
    (*target)->assign(text);
  } else if (auto* const* number = std::get_if<std::int64_t*>(&flag.target)) {
    auto value = read_int(text);
    if (!value) return std::unexpected(fmt::format("{} must be a whole number, not \"{}\"", shown_as, text));
    **number = *value;
  } else if (auto* const* list = std::get_if<std::vector<std::string>*>(&flag.target)) {
    (*list)->emplace_back(text);
  } else {
    auto value = read_bool(text);
    if (!value) return std::unexpected(fmt::format("{} must be true or false, not \"{}\"", shown_as, text));
    *std::get<bool*>(flag.target) = *value;
  }
  return {};
}

class Parser {
 public:
  Parser(std::span<const Flag> flags, std::span<const std::string_view> arguments) : flags_(flags), rest_(arguments) {}

  std::expected<ParsedFlags, std::string> run() {
    while (!rest_.empty() && !parsed_.help) {
      const std::string_view argument = take();
      std::expected<void, std::string> done;
      if (argument == "--") {
        for (auto left : rest_) parsed_.positional.emplace_back(left);
        break;
      }
      if (argument.size() < 2 || argument[0] != '-') {
        parsed_.positional.emplace_back(argument);
      } else if (argument[1] == '-') {
        done = read_long(argument);
      } else {
        done = read_short(argument);
      }
      if (!done) return std::unexpected(std::move(done.error()));
    }
    return std::move(parsed_);
  }

 private:
  std::string_view take() {
    auto first = rest_.front();
    rest_ = rest_.subspan(1);
    return first;
  }

  std::expected<void, std::string> read_long(std::string_view argument) {
    std::string_view name = argument.substr(2), value;
    const auto equals = name.find('=');
    const bool has_value = equals != name.npos;
    if (has_value) {
      value = name.substr(equals + 1);
      name = name.substr(0, equals);
    }
    if (name.empty() || name[0] == '-') return std::unexpected(fmt::format("unexpected argument \"{}\"", argument));
    const Flag* flag = find_long(flags_, name);
    if (!flag) {
      if (name == "help") {
        parsed_.help = true;
        return {};
      }
      return std::unexpected(fmt::format("unknown flag --{}{}", name, suggestion(name)));
    }
    const std::string shown_as = fmt::format("--{}", name);
    if (has_value) return set(*flag, shown_as, value);
    return set_without_value(*flag, shown_as);
  }

  // Several switches may share one dash; the first flag that takes a value takes the rest of the argument.
  std::expected<void, std::string> read_short(std::string_view argument) {
    std::string_view letters = argument.substr(1);
    while (!letters.empty()) {
      const Flag* flag = find_short(flags_, letters[0]);
      if (!flag) {
        if (letters[0] == 'h') {
          parsed_.help = true;
          return {};
        }
        return std::unexpected(fmt::format("unknown flag -{} (in \"{}\")", letters[0], argument));
      }
      const std::string shown_as = fmt::format("-{}", letters[0]);
      letters.remove_prefix(1);
      if (letters.size() > 1 && letters[0] == '=') return set(*flag, shown_as, letters.substr(1));
      if (!is_switch(*flag) && !letters.empty()) return set(*flag, shown_as, letters);
      if (auto done = set_without_value(*flag, shown_as); !done) return done;
    }
    return {};
  }

  std::string suggestion(std::string_view name) const {
    std::vector<std::string_view> names{"help"};
    for (const Flag& flag : flags_) names.push_back(flag.name);
    const auto near = nearest(name, names);
    return near.empty() ? std::string() : fmt::format("; did you mean --{}?", near);
  }

  std::expected<void, std::string> set_without_value(const Flag& flag, std::string_view shown_as) {
    if (is_switch(flag)) return set(flag, shown_as, "true");
    if (rest_.empty()) return std::unexpected(fmt::format("{} requires a value", shown_as));
    return set(flag, shown_as, take());
  }

  std::span<const Flag> flags_;
  std::span<const std::string_view> rest_;
  ParsedFlags parsed_;
};

}  // namespace

std::expected<ParsedFlags, std::string> parse_flags(std::span<const Flag> flags,
                                                    std::span<const std::string_view> arguments) {
  return Parser(flags, arguments).run();
}

std::vector<std::string_view> choices(std::string_view value_name) {
  std::vector<std::string_view> words;
  if (!value_name.contains('|')) return words;
  while (!value_name.empty()) {
    const std::string_view word = value_name.substr(0, value_name.find('|'));
    value_name.remove_prefix(std::min(word.size() + 1, value_name.size()));
    words.push_back(word);
  }
  return words;
}

std::vector<FlagInfo> flag_infos(std::span<const Flag> flags) {
  std::vector<FlagInfo> infos;
  for (const Flag& flag : flags) {
    FlagInfo info{.name = std::string(flag.name), .shorthand = flag.shorthand, .value_name = {}, .help = {}};
    info.help = flag.help;
    if (!is_switch(flag)) info.value_name = flag.value_name;
    if (auto* const* value = std::get_if<std::string*>(&flag.target); value && !(*value)->empty())
      info.help += fmt::format(" (default {})", **value);
    else if (auto* const* number = std::get_if<std::int64_t*>(&flag.target))
      info.help += fmt::format(" (default {})", **number);
    infos.push_back(std::move(info));
  }
  return infos;
}

std::string describe_flags(std::span<const FlagInfo> flags) {
  std::vector<std::string> names;
  std::size_t column = 0;
  for (const FlagInfo& flag : flags) {
    std::string name =
        flag.shorthand ? fmt::format("  -{}, --{}", flag.shorthand, flag.name) : fmt::format("      --{}", flag.name);
    if (!flag.value_name.empty()) name += fmt::format(" {}", flag.value_name);
    if (name.size() + 2 <= help_column_max) column = std::max(column, name.size() + 2);
    names.push_back(std::move(name));
  }
  std::string text;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    std::string line = std::move(names[i]);
    // A long name has a line of its own.
    if (line.size() + 2 > column) text += std::exchange(line, std::string()) + "\n";
    line.resize(column, ' ');
    bool first = true;
    for (std::string_view rest = flags[i].help; !rest.empty();) {
      const std::string_view word = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(word.size() + 1, rest.size()));
      if (!first && line.size() + 1 + word.size() > columns) {
        text += std::exchange(line, std::string(column, ' ')) + "\n";
        first = true;
      }
      line += first ? "" : " ";
      line += word;
      first = false;
    }
    text += line + "\n";
  }
  return text;
}

}  // namespace vg::cmd
