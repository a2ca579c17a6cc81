#include "hypervisor/unattended.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <thread>
#include <utility>

#include "base/files.h"
#include "base/hypervisor_limits.h"
#include "base/log.h"
#include "hypervisor/daemon_process.h"
#include "json/access.h"
#include "json/document.h"

namespace vg::hypervisor {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds, std::chrono::steady_clock;

constexpr std::string_view query_command = R"({"execute":"query-migrate"})";

// One conversation with a QEMU. All of it is over at the deadline.
class Monitor {
 public:
  explicit Monitor(steady_clock::time_point deadline) : deadline_(deadline) {}

  Result<void> open(const std::string& path) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    if (path.size() >= sizeof address.sun_path)
      return fail(Status::internal_error(fmt::format("the path {} is too long", path)));
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    socket_ = File(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket_ || ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      return system_failed(fmt::format("cannot connect to {}", path));
    const auto greeted = ask(R"({"execute":"qmp_capabilities"})");
    return greeted ? Result<void>() : Result<void>(fail(greeted.error()));
  }

  // The state of the migration, if the answer has one.
  Result<std::string> ask(std::string_view command) {
    const std::string text = fmt::format("{}\n", command);
    if (::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
      return system_failed("cannot write to a monitor");
    while (true) {
      auto line = next_line();
      if (!line) return line;
      std::string state;
      const auto read = read_line(*line, state);
      if (!read) return fail(read.error());
      if (*read == Line::answer) return state;
    }
  }

 private:
  Result<std::string> next_line() {
    while (true) {
      if (const auto end = received_.find('\n'); end != std::string::npos) {
        std::string line = received_.substr(0, end);
        received_.erase(0, end + 1);
        return line;
      }
      if (received_.size() > limits::monitor_line_bytes_max)
        return fail(Status::internal_error("a monitor says too much"));
      const auto left = std::chrono::ceil<milliseconds>(deadline_ - steady_clock::now());
      pollfd ready{.fd = socket_.get(), .events = POLLIN, .revents = 0};
      if (left <= left.zero() || ::poll(&ready, 1, static_cast<int>(left.count())) <= 0)
        return fail(Status::internal_error("a monitor does not answer"));
      char piece[4096];
      const ssize_t got = ::recv(socket_.get(), piece, sizeof piece, 0);
      if (got <= 0) return fail(Status::internal_error("a monitor was closed"));
      received_.append(piece, static_cast<std::size_t>(got));
    }
  }

  const steady_clock::time_point deadline_;
  File socket_;
  std::string received_;
};

// The text between both, the first time that the first one is there.
std::string_view between(std::string_view text, std::string_view begin, std::string_view end) {
  const auto at = text.find(begin);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + begin.size());
  return text.substr(0, text.find(end));
}

}  // namespace

EndStep step_to_end(std::string_view state, bool is_told) {
  static constexpr std::string_view running[] = {"setup", "active", "pre-switchover", "device", "wait-unplug"};
  if (state == "cancelling") return EndStep::go_on;
  if (std::ranges::find(running, state) == std::end(running)) return EndStep::none;
  return is_told ? EndStep::wait : EndStep::cancel;
}

std::string monitor_of_sender(std::string_view status) {
  if (!between(status, "<job ", ">").contains("async='migration out'")) return {};
  return std::string(between(status, "<monitor path='", "'"));
}

Result<Line> read_line(std::string_view line, std::string& state) {
  const auto read = json::Document::parse(line);
  if (!read) return fail(read.error());
  const json::Object* answer = read->root().if_object();
  if (!answer) return Line::other;
  if (const json::Object* error = json::get_object(*answer, "error"))
    return fail(Status::internal_error(std::string(json::get_string_or(*error, "desc"))));
  if (!json::find(*answer, "return")) return Line::other;
  if (const json::Object* told = json::get_object(*answer, "return")) state = json::get_string_or(*told, "status");
  return Line::answer;
}

Result<std::string> end_migration(const std::string& monitor, steady_clock::time_point deadline) {
  Monitor qemu(deadline);
  if (auto open = qemu.open(monitor); !open) return fail(open.error());
  bool is_told = false;
  while (true) {
    auto state = qemu.ask(query_command);
    const EndStep step = state ? step_to_end(*state, is_told) : EndStep::none;
    if (step == EndStep::none) return state;
    // A refusal says that it has gone on meanwhile.
    if (step == EndStep::go_on) (void)qemu.ask(go_on_command);
    if (step == EndStep::cancel) (void)qemu.ask(R"({"execute":"migrate_cancel"})");
    is_told = true;
    std::this_thread::sleep_for(limits::monitor_look);
  }
}

void end_unattended_migrations(const std::string& status_folder, const std::string& runtime) {
  const auto deadline = steady_clock::now() + limits::unattended_migrations_max;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(status_folder, error)) {
    if (entry.path().extension() != ".xml") continue;
    const auto status = read_file(entry.path(), limits::live_document_bytes_max);
    const std::string monitor = status ? monitor_of_sender(*status) : std::string();
    if (!monitor.starts_with(runtime + "/") || monitor.contains("/..")) continue;
    const auto ended = end_migration(monitor, deadline);
    log::info("a migration was left without a libvirtd",
              {{"domain", entry.path().stem().string()}, {"state", ended ? *ended : ended.error().message}});
  }
}

}  // namespace vg::hypervisor
