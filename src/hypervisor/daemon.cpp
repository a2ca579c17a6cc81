#include "hypervisor/daemon.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/hypervisor_limits.h"
#include "base/log.h"
#include "base/random.h"
#include "hypervisor/confinement.h"
#include "hypervisor/daemon_leftovers.h"
#include "hypervisor/daemon_process.h"
#include "hypervisor/daemon_settings.h"
#include "hypervisor/guard.h"
#include "hypervisor/host_facts.h"
#include "hypervisor/reaper.h"
#include "hypervisor/unattended.h"
#include "sandbox/landlock.h"

namespace vg::hypervisor {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds, std::chrono::steady_clock;

constexpr std::size_t uuid_bytes = 36;

// A folder of ours alone, made where it is missing.
Result<void> own_folder(const std::string& path) {
  std::error_code error;
  const bool made = fs::create_directories(path, error);
  if (error) return fail(Status::internal_error(fmt::format("cannot make {}: {}", path, error.message())));
  if (made && ::chmod(path.c_str(), 0700) != 0) return system_failed(fmt::format("cannot protect {}", path));
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) return system_failed(fmt::format("cannot look at {}", path));
  if (!S_ISDIR(found.st_mode) || found.st_uid != ::geteuid() || (found.st_mode & 077) != 0)
    return fail(Status::internal_error(fmt::format(
        "{} must be a folder that belongs to user {} and that no other user can enter", path, ::geteuid())));
  return {};
}

Result<std::string> host_identity(const DaemonPlaces& places) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-'; };
  if (auto known = read_file(places.identity(), uuid_bytes);
      known && known->size() == uuid_bytes && std::ranges::all_of(*known, is_digit))
    return *known;
  std::string fresh = uuid_v4();
  if (auto written = write_file(places.identity(), fresh, 0600); !written) return fail(written.error());
  return fresh;
}

// A folder with the one driver that a node needs: libvirtd loads whatever is installed, and every other one takes
// memory and time. False when this libvirt has its drivers in a place that we do not know; it loads them all then.
bool link_drivers(const DaemonPlaces& places) {
  constexpr std::string_view driver = "/libvirt/connection-driver/libvirt_driver_qemu.so";
  const std::array<std::string, 5> homes = {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                                            "/usr/lib/s390x-linux-gnu", "/usr/lib64", "/usr/lib"};
  for (const std::string& home : homes) {
    const std::string file = home + std::string(driver), link = places.drivers() + "/libvirt_driver_qemu.so";
    if (::access(file.c_str(), R_OK) != 0) continue;
    ::unlink(link.c_str());
    return ::symlink(file.c_str(), link.c_str()) == 0;
  }
  return false;
}

Result<void> link_to(const std::string& folder, const std::string& link) {
  std::error_code error;
  if (fs::read_symlink(link, error) == folder) return {};
  ::unlink(link.c_str());
  if (::symlink(folder.c_str(), link.c_str()) != 0) return system_failed(fmt::format("cannot make {}", link));
  return {};
}

// An older start may have made a folder there; it stays then, and is used. Or a link, to one that was shared.
void share_capabilities(const std::string& shared, const DaemonPlaces& places) {
  std::error_code error;
  if (shared.empty() && fs::is_symlink(places.capabilities(), error)) fs::remove(places.capabilities(), error);
  if (shared.empty() || fs::exists(places.capabilities(), error)) return;
  if (!own_folder(shared)) return;
  fs::create_directories(fs::path(places.capabilities()).parent_path(), error);
  if (auto linked = link_to(shared, places.capabilities()); !linked)
    log::warning("cannot share what is known of QEMU", {{"reason", linked.error().message}});
}

Result<void> write_settings(const DaemonPlaces& places) {
  for (const std::string& folder : {places.kept, places.config(), places.config() + "/libvirt", places.cache(),
                                    places.data(), places.drivers(), places.runtime})
    if (auto made = own_folder(folder); !made) return made;
  auto identity = host_identity(places);
  if (!identity) return fail(identity.error());
  if (auto linked = link_to(places.config(), places.config_link()); !linked) return linked;
  if (auto written = write_file(places.daemon_config(), daemon_config_text(*identity), 0600); !written) return written;
  return write_file(places.qemu_config(), qemu_config_text(!why_no_kvm().empty()), 0600);
}

// One process looks after a runtime folder. The lock also keeps those away who tidy /tmp.
Result<File> lock_folder(const std::string& folder) {
  File locked(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!locked) return system_failed(fmt::format("cannot open {}", folder));
  if (::flock(locked.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(Status::internal_error(fmt::format("another node uses {}; it must end first", folder)));
  return locked;
}

Result<std::string> installed_program(const std::string& wanted) {
  for (const std::string& program : {wanted, std::string("/usr/sbin/libvirtd"), std::string("/usr/bin/libvirtd")})
    if (!program.empty() && ::access(program.c_str(), X_OK) == 0) return program;
  return fail(Status::internal_error("libvirtd is not installed (Debian: libvirt-daemon, libvirt-daemon-driver-qemu)"));
}

// Both write with O_APPEND, so an emptied file goes on from its beginning.
void shorten(const std::string& log) {
  std::error_code error;
  if (const auto bytes = fs::file_size(log, error); error || bytes <= limits::hypervisor_log_bytes_max) return;
  fs::resize_file(log, 0, error);
  log::warning("emptied a log of the hypervisor that grew too long", {{"file", log}});
}

// What those paths lead to now; nothing while one leads nowhere.
std::string identities_of(const std::vector<std::string>& paths) {
  std::string text;
  for (const std::string& path : paths) {
    struct stat found{};
    if (::stat(path.c_str(), &found) != 0) return {};
    text += fmt::format("{}:{} {}\n", found.st_dev, found.st_ino, path);
  }
  return text;
}

// The rules of the reaper that runs are about folders that are not there any more.
bool reaches_others(const DaemonPlaces& places, const std::vector<std::string>& reached) {
  const auto then = read_file(places.reached(), limits::reached_file_bytes_max);
  const std::string now = identities_of(reached);
  return then && !now.empty() && *then != now;
}

// libvirt has a file for each guest that runs.
bool has_guests(const DaemonPlaces& places) {
  std::error_code error;
  return std::ranges::any_of(fs::directory_iterator(places.status(), error),
                             [](const fs::directory_entry& entry) { return entry.path().extension() == ".xml"; });
}

// What an earlier reaper has left: the next libvirtd could not end it.
void end_earlier(const DaemonPlaces& places) {
  if (const auto running = listener_of(places.socket())) end_process(*running);
  end_guests(places.status(), places.runtime);
}

class RunningDaemon final : public LibvirtDaemon {
 public:
  RunningDaemon(DaemonPlaces places, std::vector<std::string> reached, Reaper reaper, std::function<void()> lost,
                File lock)
      : places_(std::move(places)),
        reached_(std::move(reached)),
        reaper_(std::move(reaper)),
        lost_(std::move(lost)),
        lock_(std::move(lock)),
        wake_(::eventfd(0, EFD_CLOEXEC)),
        child_(reaper_->take_process()) {}
  ~RunningDaemon() override { leave(); }

  Result<void> begin() override {
    if (auto found = listener_of(places_.socket())) {
      log::info("found the libvirtd of this node", {{"pid", found->pid}});
      take(std::move(*found));
    } else if (auto started = start(); !started) {
      return started;
    }
    watcher_ = std::jthread([this] { watch(); });
    return {};
  }

  void stop() override {
    leave();
    if (process_.handle) end_process(process_);
    take({});
    reaper_.reset();
    if (child_.handle) wait_for_end(child_, limits::libvirtd_pause);
  }
  void restart() override {
    const auto hanging = listener_of(places_.socket());
    if (hanging && hanging->pid == pid_) kill_process(*hanging);
  }
  std::string uri() const override { return daemon_uri(places_.runtime); }
  std::string log_of(const std::string& domain) const override { return places_.guest_logs() + "/" + domain + ".log"; }
  int pid() const override { return pid_; }

 private:
  void take(Process process) {
    pid_ = process.pid;
    process_ = std::move(process);
  }

  // An earlier one that listens no more, and has not ended either: the next one could not begin beside it.
  void replace_holder() const {
    const auto holder = holder_of(places_.pid_file());
    if (!holder || wait_for_end(*holder, limits::libvirtd_let_go_max)) return;
    log::warning("a libvirtd of this node neither listens nor ends; it is killed, and guests run on",
                 {{"pid", holder->pid}});
    kill_process(*holder);
    wait_for_end(*holder, limits::libvirtd_stop_max);
  }

  Result<void> start() {
    replace_holder();
    clear_unreadable(places_.status(), places_.runtime);
    clear_forgotten(places_.status(), places_.domain_folders());
    end_unattended_migrations(places_.status(), places_.runtime);
    if (!reaper_->start_command()) {
      if (lost_) lost_();
      return fail(Status::internal_error("the process above libvirtd is gone; the node starts again"));
    }
    const auto deadline = steady_clock::now() + limits::libvirtd_ready_max;
    while (true) {
      if (auto listener = listener_of(places_.socket())) {
        take(std::move(*listener));
        break;
      }
      pollfd told{.fd = reaper_->descriptor(), .events = POLLIN, .revents = 0};
      if (::poll(&told, 1, 10) > 0 && reaper_->has_ended())
        return fail(Status::internal_error(fmt::format("libvirtd ended at its start: see {}", places_.log())));
      if (steady_clock::now() < deadline) continue;
      if (const auto holder = holder_of(places_.pid_file())) end_process(*holder);
      return fail(Status::internal_error(fmt::format("libvirtd does not answer: see {}", places_.log())));
    }
    log::info("started a libvirtd for this node", {{"pid", process_.pid}, {"socket", places_.socket()}});
    return {};
  }

  // True when it is time to leave.
  bool told_to_leave(milliseconds time) const {
    pollfd told{.fd = wake_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&told, 1, static_cast<int>(time.count())) > 0;
  }

  void watch() {
    while (true) {
      std::array<pollfd, 3> watched = {{{.fd = wake_.get(), .events = POLLIN, .revents = 0},
                                        {.fd = process_.handle.get(), .events = POLLIN, .revents = 0},
                                        {.fd = child_.handle.get(), .events = POLLIN, .revents = 0}}};
      const int ready =
          ::poll(watched.data(), watched.size(), static_cast<int>(milliseconds(limits::reached_look).count()));
      if (ready > 0 && watched[0].revents != 0) return;
      if (ready == 0) look_around();
      if (child_.handle && wait_for_end(child_, milliseconds(0))) child_ = {};
      if (ready > 0 && watched[1].revents != 0 && !start_again()) return;
    }
  }

  // False when it is time to leave.
  bool start_again() {
    take({});
    log::warning("libvirtd ended; guests run on, and another one is started", {});
    while (!told_to_leave(limits::libvirtd_pause)) {
      auto started = start();
      if (started) return true;
      log::error("cannot start libvirtd again", {{"reason", started.error().message}});
    }
    return false;
  }

  void look_around() {
    // This process and all below it are confined to what was there when they started: the next ones reach what is there
    // now. Guests that run are left alone.
    if (lost_ && reaches_others(places_, reached_) && !has_guests(places_)) {
      log::warning("a folder that guests reach was replaced; the node starts again for it", {});
      lost_();
    }
    if (steady_clock::now() < logs_due_) return;
    logs_due_ = steady_clock::now() + limits::hypervisor_log_look;
    shorten_logs();
  }

  void shorten_logs() const {
    shorten(places_.log());
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(places_.guest_logs(), error)) shorten(entry.path());
  }

  void leave() {
    if (!watcher_.joinable()) return;
    const std::uint64_t one = 1;
    if (::write(wake_.get(), &one, sizeof one) != sizeof one) log::error("cannot wake the watcher of libvirtd", {});
    watcher_.join();
  }

  const DaemonPlaces places_;
  const std::vector<std::string> reached_;
  steady_clock::time_point logs_due_ = steady_clock::now() + limits::hypervisor_log_look;
  std::optional<Reaper> reaper_;
  const std::function<void()> lost_;
  const File lock_, wake_;
  Process process_;  // of the watcher while it runs, like the next
  Process child_;    // the reaper, if this process has started it
  std::atomic<int> pid_{0};
  std::jthread watcher_;
};

Result<void> allowed_here(const DaemonOptions& options) {
  if (::geteuid() == 0)
    return fail(
        Status::internal_error("a node runs libvirtd in session mode, which root has not: run it as another user"));
  if (options.runtime.size() > limits::runtime_folder_bytes_max)
    return fail(Status::internal_error(fmt::format("the path of the runtime folder {} is longer than {} characters",
                                                   options.runtime, limits::runtime_folder_bytes_max)));
  return {};
}

}  // namespace

std::vector<std::string> guard_folders(const DaemonOptions& options) {
  return DaemonPlaces{.kept = options.folder, .runtime = options.runtime}.guard_folders();
}

std::string daemon_uri(const std::string& runtime) {
  return "qemu+unix:///session?socket=" + DaemonPlaces{.kept = {}, .runtime = runtime}.socket();
}

Result<std::unique_ptr<LibvirtDaemon>> LibvirtDaemon::prepare(const DaemonOptions& options) {
  if (auto allowed = allowed_here(options); !allowed) return fail(allowed.error());
  auto program = installed_program(options.program);
  if (!program) return fail(program.error());
  const DaemonPlaces places{.kept = options.folder, .runtime = options.runtime};
  if (auto made = own_folder(places.runtime); !made) return fail(made.error());
  auto lock = lock_folder(places.runtime);
  if (!lock) return fail(lock.error());
  if (auto written = write_settings(places); !written) return fail(written.error());
  share_capabilities(options.capabilities, places);
  const auto guard = install_guard(places.guard_folders());
  if (!guard) return fail(guard.error());
  const Reaper::Start wanted{.socket = places.reaper(),
                             .command = daemon_command(options.reaper, *program, places),
                             .environment = daemon_environment(places, link_drivers(places), *guard),
                             .log = places.log()};
  auto reaper = Reaper::find_or_start(wanted);
  if (reaper && !reaper->is_new() && reaches_others(places, options.reached) && !has_guests(places)) {
    if (const auto running = listener_of(places.socket())) end_process(*running);
    ::unlink(wanted.socket.c_str());  // the one that listens there ends, for nobody is connected and nothing is left
    reaper = Reaper::find_or_start(wanted);
  }
  if (!reaper) return fail(reaper.error());
  if (reaper->is_new() && signals_stay_within(options.reaper, sandbox::landlock_abi())) end_earlier(places);
  if (reaper->is_new())
    if (auto noted = write_file(places.reached(), identities_of(options.reached), 0600); !noted)
      return fail(noted.error());
  return std::make_unique<RunningDaemon>(places, options.reached, std::move(*reaper), options.lost, std::move(*lock));
}

Result<std::unique_ptr<LibvirtDaemon>> LibvirtDaemon::run(const DaemonOptions& options) {
  auto daemon = prepare(options);
  if (!daemon) return daemon;
  if (auto begun = (*daemon)->begin(); !begun) return fail(begun.error());
  return daemon;
}

}  // namespace vg::hypervisor
