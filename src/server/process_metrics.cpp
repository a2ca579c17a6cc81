#include "server/process_metrics.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <iterator>
#include <memory>
#include <string_view>

#include "base/task_failure.h"

namespace vg::server {
namespace {

// Files of /proc are read in one go; the ones below are far shorter.
std::string read_small(const char* path) {
  std::array<char, 4096> buffer;
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t size = ::read(fd, buffer.data(), buffer.size());
  ::close(fd);
  return size > 0 ? std::string(buffer.data(), static_cast<std::size_t>(size)) : std::string();
}

// The number in the field with that index, fields being separated by single spaces.
double field(std::string_view text, int index) {
  for (; index > 0 && !text.empty(); --index) {
    const auto space = text.find(' ');
    text.remove_prefix(space == text.npos ? text.size() : space + 1);
  }
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

double open_descriptors() {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/fd"), ::closedir);
  if (!folder) return 0;
  double count = 0;
  while (const dirent* entry = ::readdir(folder.get())) count += entry->d_name[0] != '.';
  return count - 1;  // the folder itself
}

// Seconds since 1970. The kernel gives the start in ticks since boot, and the boot in whole seconds.
double start_seconds() {
  const std::string stat = read_small("/proc/self/stat");
  const auto after_name = stat.rfind(')');  // the program's name may hold anything, also spaces
  if (after_name == stat.npos || after_name + 2 > stat.size()) return 0;
  const double ticks = field(std::string_view(stat).substr(after_name + 2), 19);
  timespec now{}, since_boot{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  ::clock_gettime(CLOCK_BOOTTIME, &since_boot);
  const auto seconds = [](const timespec& t) { return double(t.tv_sec) + double(t.tv_nsec) / 1e9; };
  return seconds(now) - seconds(since_boot) + ticks / double(::sysconf(_SC_CLK_TCK));
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return double(t.tv_sec) + double(t.tv_usec) / 1e6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double descriptors_max() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? double(limit.rlim_cur) : 0;
}

void append(std::string& out, std::string_view name, std::string_view type, std::string_view help, double value) {
  fmt::format_to(std::back_inserter(out), "# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3}\n", name, help, type, value);
}

}  // namespace

void append_process_metrics(std::string& out) {
  static const double started = start_seconds();
  const std::string statm = read_small("/proc/self/statm");
  const double page = double(::sysconf(_SC_PAGESIZE));
  append(out, "process_cpu_seconds_total", "counter", "Total user and system CPU time spent in seconds.",
         cpu_seconds());
  append(out, "process_max_fds", "gauge", "Maximum number of open file descriptors.", descriptors_max());
  append(out, "process_open_fds", "gauge", "Number of open file descriptors.", open_descriptors());
  append(out, "process_resident_memory_bytes", "gauge", "Resident memory size in bytes.", field(statm, 1) * page);
  append(out, "process_start_time_seconds", "gauge", "Start time of the process since unix epoch in seconds.", started);
  fmt::format_to(
      std::back_inserter(out),
      "# HELP virtgate_failed_tasks_total Background tasks that ended with an exception, by its cause.\n"
      "# TYPE virtgate_failed_tasks_total counter\n"
      "virtgate_failed_tasks_total{{cause=\"data\"}} {}\nvirtgate_failed_tasks_total{{cause=\"memory\"}} {}\n",
      failed_tasks(TaskFailure::data), failed_tasks(TaskFailure::memory));
  append(out, "process_virtual_memory_bytes", "gauge", "Virtual memory size in bytes.", field(statm, 0) * page);
}

std::string metrics_text(const metrics::Registry& registry) {
  std::string text = registry.expose();
  append_process_metrics(text);
  return text;
}

void add_metrics_route(Router& router, Access access, const metrics::Registry& registry) {
  router.add(access, "GET", "/metrics", RouteClass::metrics, answer_with([&registry](const Call&) {
               return http::Response{
                   .status = 200, .content_type = metrics::exposition_content_type, .body = metrics_text(registry)};
             }));
}

}  // namespace vg::server
