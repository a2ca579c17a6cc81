#include "profile/threads.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "base/files.h"
#include "base/limits.h"

namespace vg::profile {
namespace {

constexpr int user_time = 11, system_time = 12;  // fields behind the state

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The text from the field with that index on, fields being separated by single spaces.
std::string_view from_field(std::string_view text, int index) {
  for (; index > 0; --index) {
    const auto space = text.find(' ');
    if (space == text.npos) return {};
    text.remove_prefix(space + 1);
  }
  return text;
}

}  // namespace

std::vector<pid_t> thread_ids() {
  std::vector<pid_t> ids;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc/self/task", error), end;
       at != end && ids.size() < limits::profile_threads_max; at.increment(error))
    ids.push_back(static_cast<pid_t>(number(at->path().filename().native())));
  return ids;
}

Thread read_thread(pid_t id, std::string_view stat) {
  Thread thread{.id = id, .name = {}};
  const auto open = stat.find('('), close = stat.rfind(')');  // the name may hold anything, also brackets
  if (open == stat.npos || close == stat.npos || close < open || close + 2 >= stat.size()) return thread;
  thread.name = stat.substr(open + 1, close - open - 1);
  const std::string_view rest = stat.substr(close + 2);
  thread.state = rest.front();
  const std::uint64_t ticks = number(from_field(rest, user_time)) + number(from_field(rest, system_time));
  const auto per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  thread.cpu = std::chrono::milliseconds(ticks * 1000 / per_second);
  return thread;
}

std::vector<Thread> threads() {
  std::vector<Thread> all;
  for (const pid_t id : thread_ids()) {
    const auto stat = read_file(fmt::format("/proc/self/task/{}/stat", id), 4 * limits::kib);
    if (stat) all.push_back(read_thread(id, *stat));
  }
  return all;
}

}  // namespace vg::profile
