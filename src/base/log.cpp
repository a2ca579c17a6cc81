#include "base/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <iterator>
#include <utility>

#include "base/json_text.h"
#include "base/limits.h"
#include "base/time_rfc3339.h"

namespace vg::log {
namespace {

constexpr std::size_t common_fields = 5;
// Between a key and the value behind it: quotes, colon, comma; and the longest value that is no text.
constexpr std::size_t member_overhead_bytes = limits::log_key_bytes_max + 6 + 32;

std::atomic<const char*> component{"virtgate"};
std::atomic<Sink*> current_sink{nullptr};
std::atomic<Format> current_format{Format::json};

constexpr std::string_view level_name(Level level) {
  constexpr std::array<std::string_view, 4> names{"info", "warning", "error", "fatal"};
  return names[static_cast<std::size_t>(level)];
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

void append_value(std::string& out, const Field::Value& value, std::size_t text_bytes_max) {
  std::visit(
      [&]<class T>(const T& v) {
        if constexpr (std::same_as<T, std::string_view>) {
          append_json_string(out, v, text_bytes_max);
        } else if constexpr (std::same_as<T, double>) {
          if (std::isfinite(v)) {
            fmt::format_to(std::back_inserter(out), "{}", v);
          } else {
            out += "null";  // JSON has no other numbers
          }
        } else {
          fmt::format_to(std::back_inserter(out), "{}", v);
        }
      },
      value);
}

void append_object(std::string& out, std::span<const Field* const> members, std::size_t text_bytes_max) {
  char separator = '{';
  for (const Field* member : members) {
    out += std::exchange(separator, ',');
    append_json_string(out, member->key(), limits::log_key_bytes_max);
    out += ':';
    append_value(out, member->value(), text_bytes_max);
  }
  out += "}\n";
}

// As JSON writes it, without quotes where nothing in it needs them.
void append_plain(std::string& out, std::string_view text, bool blanks_are_plain) {
  const bool plain = !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c > ' ' && c < 0x7f && c != '"' && c != '\\') || (c == ' ' && blanks_are_plain);
  });
  if (plain)
    out += text;
  else
    append_json_string(out, text, limits::log_line_bytes_max);
}

struct Look {
  std::string_view name, colour;
};
constexpr Look look(Level level) {
  constexpr std::array<Look, 4> looks{
      {{"", ""}, {"WARNING", "\033[33m"}, {"ERROR", "\033[31m"}, {"FATAL", "\033[31m"}}};
  return looks[static_cast<std::size_t>(level)];
}

void write_stderr(std::string_view line) {
  // One call a line, so that lines of several threads do not mix. The loop is for the rare pipe that takes less.
  while (!line.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // there is nobody left to tell
    line.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

void set_component(const char* name) { component.store(name, std::memory_order_release); }

Sink* set_sink(Sink* sink) { return current_sink.exchange(sink, std::memory_order_acq_rel); }

std::string format_line(Level level, std::string_view msg, std::span<const Field> fields,
                        std::chrono::system_clock::time_point time, const std::source_location& where) {
  const std::string timestamp = print_rfc3339_micro(Timestamp::from(time));
  const std::string pos = fmt::format("{}:{}", base_name(where.file_name()), where.line());
  const std::array<Field, common_fields> common{{{"component", component.load(std::memory_order_acquire)},
                                                 {"level", level_name(level)},
                                                 {"pos", pos},
                                                 {"timestamp", timestamp},
                                                 {"msg", msg}}};
  std::array<const Field*, common_fields + limits::log_fields_max> members;
  std::size_t count = 0;
  const auto add = [&](const Field& field) {
    const auto known = std::span(members).first(count);
    const auto same_key = [&](const Field* other) { return other->key() == field.key(); };
    if (count < members.size() && std::ranges::none_of(known, same_key)) members[count++] = &field;
  };
  for (const Field& field : common) add(field);
  for (const Field& field : fields) add(field);
  if (msg.empty()) {
    members[common_fields - 1] = members[count - 1];
    --count;
  }
  const auto sorted = std::span(members).first(count);
  std::ranges::sort(sorted, {}, &Field::key);

  std::string line;
  line.reserve(512);
  append_object(line, sorted, limits::log_line_bytes_max);
  if (line.size() > limits::log_line_bytes_max) {
    // An equal share for each text: the line stays one valid object whatever was too long.
    line.clear();
    const std::size_t share = (limits::log_line_bytes_max - 3) / count - member_overhead_bytes;
    append_object(line, sorted, share);
  }
  return line;
}

void set_format(Format format) {
  ::tzset();
  current_format.store(format, std::memory_order_release);
}

std::string format_text(Level level, std::string_view msg, std::span<const Field> fields,
                        std::chrono::system_clock::time_point time, bool coloured) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  std::string line = fmt::format("{:02}:{:02}:{:02}", local.tm_hour, local.tm_min, local.tm_sec);
  const Look shown = look(level);
  if (!shown.name.empty())
    line += coloured ? fmt::format(" {}{}\033[0m", shown.colour, shown.name) : fmt::format(" {}", shown.name);
  if (!msg.empty()) {
    line += ' ';
    append_plain(line, msg, true);
  }
  for (const Field& field : fields) {
    line += coloured ? "  \033[2m" : "  ";
    append_plain(line, field.key(), false);
    line += coloured ? "=\033[0m" : "=";
    if (const auto* text = std::get_if<std::string_view>(&field.value()))
      append_plain(line, *text, false);
    else
      append_value(line, field.value(), limits::log_line_bytes_max);
    if (line.size() > limits::log_line_bytes_max) break;
  }
  if (line.size() > limits::log_line_bytes_max) {
    line.resize(limits::log_line_bytes_max - 8);
    line += coloured ? "...\033[0m" : "...";
  }
  line += '\n';
  return line;
}

void write(Level level, std::string_view msg, std::span<const Field> fields, std::source_location where) {
  const Format format = current_format.load(std::memory_order_acquire);
  const auto now = std::chrono::system_clock::now();
  const std::string line = format == Format::json
                               ? format_line(level, msg, fields, now, where)
                               : format_text(level, msg, fields, now, format == Format::coloured_text);
  if (Sink* sink = current_sink.load(std::memory_order_acquire)) {
    sink->write(line);
    if (level == Level::fatal) sink->flush();
  } else {
    write_stderr(line);
  }
}

// --- behind a thread ------------------------------------------------------------------------------------------------

Deferred::Deferred() : flusher_(std::chrono::seconds(1), [this] { flush(); }) { set_sink(this); }

Deferred::~Deferred() {
  set_sink(nullptr);
  flush();
}

void Deferred::write(std::string_view line) {
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() + line.size() > limits::log_waiting_bytes_max) {
      ++lost_;
      return;
    }
    is_first = waiting_.empty();
    waiting_ += line;
  }
  if (is_first) flusher_.wake();
}

void Deferred::flush() {
  const std::lock_guard writing(writing_);
  std::string lines;
  std::uint64_t lost = 0;
  {
    const std::lock_guard lock(mutex_);
    lines.swap(waiting_);
    lost = std::exchange(lost_, 0);
  }
  for (std::string_view rest = lines; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n') + 1);
    write_stderr(line);
    rest.remove_prefix(line.size());
  }
  if (lost > 0) warning("lines of the log were lost: stderr did not take them", {{"lines", lost}});
}

}  // namespace vg::log
