// The log: one JSON object a line on stderr, its keys sorted, as KubeVirt's components write it; or lines for people.
//
//   log::info("listening", {{"address", address}, {"port", port}});
//   log::info_v(4, "cache miss", {{"requestId", id}});
//   log::error("cannot read the certificate", {{"reason", status.message}, {"file", path}});
//
// Warnings and errors are always written; an info line only when its verbosity (2 unless told) does not exceed the
// threshold, which may change at any time. A line that is not written costs one relaxed load and the making of views.
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/flusher.h"

namespace vg::log {

enum class Level { info, warning, error, fatal };

// One extra member of the line. It only refers to texts: they must live until the call returns, as temporaries in the
// call's own arguments do.
class Field {
 public:
  using Value = std::variant<std::string_view, std::int64_t, std::uint64_t, double, bool>;
  Field(std::string_view key, std::string_view value) : key_(key), value_(value) {}
  Field(std::string_view key, const char* value) : key_(key), value_(std::string_view(value)) {}
  Field(std::string_view key, const std::string& value) : key_(key), value_(std::string_view(value)) {}
  Field(std::string_view key, std::same_as<bool> auto value) : key_(key), value_(value) {}
  Field(std::string_view key, std::signed_integral auto value) : key_(key), value_(std::int64_t{value}) {}
  Field(std::string_view key, std::unsigned_integral auto value)
    requires(!std::same_as<decltype(value), bool>)
      : key_(key), value_(std::uint64_t{value}) {}
  Field(std::string_view key, std::floating_point auto value) : key_(key), value_(static_cast<double>(value)) {}

  std::string_view key() const { return key_; }
  const Value& value() const { return value_; }

 private:
  std::string_view key_;
  Value value_;
};

using Fields = std::initializer_list<Field>;

inline constexpr int verbosity_default = 2;

namespace detail {
inline std::atomic<int> verbosity{verbosity_default};
}

inline int verbosity() { return detail::verbosity.load(std::memory_order_relaxed); }
inline void set_verbosity(int threshold) { detail::verbosity.store(threshold, std::memory_order_relaxed); }
inline bool enabled(int message_verbosity) { return message_verbosity <= verbosity(); }

// The value of "component"; "virtgate" unless set. The text must live as long as the process.
void set_component(const char* name);

// What lines look like; JSON unless set. To be set before the sandbox is entered, since the time zone is a file.
enum class Format { json, text, coloured_text };
void set_format(Format format);

// The line of text, with its newline: local time, the level if it is not info, msg, then the fields as key=value.
// Nothing of it can end the line early or speak to the terminal. Cut at limits::log_line_bytes_max.
std::string format_text(Level level, std::string_view msg, std::span<const Field> fields,
                        std::chrono::system_clock::time_point time, bool coloured);

// The line, with its newline, that the other functions write as JSON. Members named like one of the common keys
// (component, level, msg, pos, timestamp) and repeated ones are dropped, and so is an empty msg. A line that would be
// longer than limits::log_line_bytes_max has its texts cut.
std::string format_line(Level level, std::string_view msg, std::span<const Field> fields,
                        std::chrono::system_clock::time_point time, const std::source_location& where);

void write(Level level, std::string_view msg, std::span<const Field> fields,
           std::source_location where = std::source_location::current());

inline void info_v(int message_verbosity, std::string_view msg, Fields fields = {},
                   std::source_location where = std::source_location::current()) {
  if (enabled(message_verbosity)) write(Level::info, msg, fields, where);
}
inline void info(std::string_view msg, Fields fields = {},
                 std::source_location where = std::source_location::current()) {
  info_v(verbosity_default, msg, fields, where);
}
inline void warning(std::string_view msg, Fields fields = {},
                    std::source_location where = std::source_location::current()) {
  write(Level::warning, msg, fields, where);
}
inline void error(std::string_view msg, Fields fields = {},
                  std::source_location where = std::source_location::current()) {
  write(Level::error, msg, fields, where);
}
// For the last line before the caller ends the process; this function only writes it.
inline void fatal(std::string_view msg, Fields fields = {},
                  std::source_location where = std::source_location::current()) {
  write(Level::fatal, msg, fields, where);
}

// Where lines go. write() is called by many threads at once.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void write(std::string_view line) = 0;
  // Returns when all of them are there.
  virtual void flush() {}
};

// nullptr stands for stderr. Returns the one before, which may be in use until every thread's current line is written.
Sink* set_sink(Sink* sink);

// While it lives, a thread of its own writes the lines to stderr: who has something to say, as an event loop of a
// request that failed, must not wait for the disk that the log is on. Nobody else logs any more when it ends.
class Deferred final : public Sink {
 public:
  Deferred();
  ~Deferred() override;
  Deferred(const Deferred&) = delete;
  Deferred& operator=(const Deferred&) = delete;
  void write(std::string_view line) override;
  void flush() override;

 private:
  std::mutex mutex_;  // of these two, and never held while they are written
  std::string waiting_;
  std::uint64_t lost_ = 0;
  std::mutex writing_;
  Flusher flusher_;  // last: it uses all of the above
};

// For tests: collects the lines written while it lives.
class Capture final : public Sink {
 public:
  Capture() : before_(set_sink(this)) {}
  ~Capture() override { set_sink(before_); }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  void write(std::string_view line) override {
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(line);
  }
  std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
  Sink* before_;
};

}  // namespace vg::log
