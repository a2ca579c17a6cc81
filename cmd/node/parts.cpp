#include "parts.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "../runtime_folder.h"
#include "base/files.h"
#include "base/hypervisor_limits.h"
#include "base/log.h"
#include "handler/agent/agent_data.h"
#include "handler/place.h"
#include "handler/sync/sync.h"
#include "hypervisor/cgroups.h"
#include "hypervisor/confinement.h"
#include "hypervisor/daemon.h"
#include "hypervisor/daemon_leftovers.h"
#include "hypervisor/host_bridges.h"
#include "hypervisor/libvirt.h"
#include "hypervisor/reaper.h"
#include "images/image_store.h"
#include "node_sandbox.h"
#include "sandbox/isolate.h"
#include "sandbox/landlock.h"

namespace vg::cmd {
namespace {

class Parts final : public NodeParts {
 public:
  Parts(handler::NodePlace place, images::ImageStore images, std::unique_ptr<hypervisor::LibvirtDaemon> daemon,
        const std::string& uri)
      : place_(std::move(place)),
        images_(std::move(images)),
        daemon_(std::move(daemon)),
        ending_(daemon_.get()),
        hypervisor_(hypervisor::LibvirtHypervisor::create(
            {.uri = uri,
             .log_of = [this](const std::string& domain) { return log_of(domain); },
             .unresponsive = daemon_ ? std::function<void()>([this] { daemon_->restart(); }) : nullptr})),
        agents_(*hypervisor_) {}

  hypervisor::Hypervisor& hypervisor() override { return *hypervisor_; }
  // Asked only while requests are served, which is after follow().
  handler::SyncHooks hooks() override {
    using std::string_view;
    return {.note_pause = [this](string_view ns, string_view name, bool on) { sync_->note_pause(ns, name, on); },
            .wake = [this](string_view ns, string_view name) { sync_->wake(ns, name); },
            .guest_address = [this](string_view ns, string_view name) { return sync_->guest_address(ns, name); },
            .agent_document = [this](string_view domain, string_view what) { return agents_.document(domain, what); }};
  }
  std::optional<std::string> problem() const override {
    if (hypervisor_->connected()) return std::nullopt;
    return "there is no connection to libvirt";
  }
  void follow(const Surroundings& around) override {
    sync_ = std::make_unique<handler::Sync>(
        handler::SyncParts{.core = around.core,
                           .api = around.api,
                           .hypervisor = *hypervisor_,
                           .images = images_,
                           .clock = around.clock,
                           .metrics = around.metrics,
                           .place = place_,
                           .agent = [this](std::string_view domain) { return agents_.facts(domain); },
                           .other_uri = hypervisor::daemon_uri,
                           .bridge_problem = hypervisor::bridge_problem,
                           .groups = guest_groups()});
    agents_.start(around.core, around.clock, around.metrics, [this](std::string_view domain) { wake(domain); });
    sync_->start();
    hypervisor_->begin();
  }
  // A libvirtd without guests is ended with the node: the next one starts another. What waits on cores goes while these
  // are there, after whoever would tell it something.
  void stop() override {
    ending_.is_wanted = hypervisor_->connected() && hypervisor_->domains().empty();
    hypervisor_->stop();
    agents_.stop();
    if (sync_) sync_->stop();
    sync_.reset();
  }

 private:
  // Ends libvirtd when the connection to it is gone already.
  struct Ending {
    explicit Ending(hypervisor::LibvirtDaemon* daemon) : daemon(daemon) {}
    ~Ending() {
      if (daemon && is_wanted) daemon->stop();
    }
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;
    hypervisor::LibvirtDaemon* daemon;
    bool is_wanted = false;
  };

  // A libvirt of somebody else has cgroups of its own.
  handler::GuestGroups guest_groups() {
    if (!daemon_) return {.why_not = "another libvirt runs the guests"};
    auto own = read_file("/proc/self/cgroup", limits::cgroup_file_bytes_max);
    auto mounts = read_file("/proc/self/mountinfo", limits::mount_table_bytes_max);
    auto folder = hypervisor::own_cgroup(own.value_or(""), mounts.value_or(""));
    if (!folder) return {.why_not = std::move(folder.error().message)};
    auto opened = hypervisor::GuestCgroups::open(std::move(*folder), place_.name);
    if (!opened) return {.why_not = std::move(opened.error().message)};
    groups_.emplace(std::move(*opened));
    return {
        .keep = [this](const std::string& domain, const guests::GroupLimits& wanted) { return keep(domain, wanted); },
        .drop = [this](const std::string& domain) { groups_->drop(domain); }};
  }

  Result<void> keep(const std::string& domain, const guests::GroupLimits& wanted) {
    const auto process = hypervisor::guest_process(fmt::format("{}/libvirt/qemu/run/{}.pid", place_.sockets, domain),
                                                   domain, place_.sockets);
    if (!process) return fail(Status::internal_error("the process of the guest is not known"));
    return groups_->keep(domain, process->pid,
                         hypervisor::cgroup_files(wanted.cpu_milli, wanted.memory_bytes, wanted.cpu_request_milli));
  }

  std::string log_of(const std::string& domain) const { return daemon_ ? daemon_->log_of(domain) : std::string(); }

  void wake(std::string_view domain) {
    const auto at = domain.find('_');
    if (at != std::string_view::npos) sync_->wake(domain.substr(0, at), domain.substr(at + 1));
  }

  const handler::NodePlace place_;
  images::ImageStore images_;
  std::unique_ptr<hypervisor::LibvirtDaemon> daemon_;  // null: another libvirt is used
  Ending ending_;
  std::unique_ptr<hypervisor::LibvirtHypervisor> hypervisor_;
  handler::AgentData agents_;
  std::optional<hypervisor::GuestCgroups> groups_;
  std::unique_ptr<handler::Sync> sync_;
};

hypervisor::DaemonOptions daemon_options(const NodeParts::Options& options) {
  return {.folder = options.place.state + "/libvirt",
          .runtime = options.place.sockets,
          .reached = {options.place.disks, options.place.state + "/shared"},
          // The next process of this node starts another reaper.
          .lost = [] { ::kill(::getpid(), SIGTERM); }};
}

// Rules are about what exists: the folders are made before.
Result<hypervisor::GuestFolders> guest_folders(const NodeParts::Options& options) {
  const handler::NodePlace& place = options.place;
  hypervisor::GuestFolders folders{
      .write = {place.state + "/libvirt", place.state + "/guests", place.disks, place.sockets},
      .read = {place.images, place.state + "/shared", place.state + "/firmware"},
      .load = hypervisor::guard_folders(daemon_options(options)),
      .own = handler::own_moves_folder(place.sockets)};
  std::vector<std::string> moves{handler::moves_folder(place.sockets), folders.own};
  for (const auto* some : {&folders.write, &folders.read, &moves})
    for (const std::string& path : *some) {
      if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) continue;
      return fail(Status::internal_error(fmt::format("cannot create {}: {}", path, std::strerror(errno))));
    }
  return folders;
}

// This program as reaper, whether or not this user can reach it by its path, and what confines those below it.
Result<std::vector<std::string>> reaper_words(const NodeParts::Options& options) {
  const auto folders = guest_folders(options);
  if (!folders) return fail(folders.error());
  const auto mode = sandbox::parse_mode(options.sandbox);
  if (!mode) return fail(Status::bad_request("--sandbox: must be on, off or required"));
  auto made = hypervisor::confine_guests(
      *mode, *folders,
      {.landlock_abi = sandbox::landlock_abi(),
       .bridges = hypervisor::bridges_allowed(),
       .why_not_isolated = sandbox::why_not_isolated(hypervisor::visible_to_guests(*folders))});
  if (!made) return fail(made.error());
  if (!made->reach.empty()) log::warning("a guest that takes over its QEMU reaches others", {{"what", made->reach}});
  if (!made->missing.empty())
    log::warning("libvirtd and QEMU are not confined: a guest that takes over its QEMU reaches all files of this user",
                 {{"reason", made->missing}});
  std::vector<std::string> words{"/proc/self/exe", std::string(hypervisor::reaper_word)};
  words.insert(words.end(), made->words.begin(), made->words.end());
  return words;
}

}  // namespace

Result<std::unique_ptr<NodeParts>> NodeParts::open(const Options& options) {
  auto images = images::ImageStore::open(options.place.images);
  if (!images) return fail(images.error());
  images->block(options.blocked);
  std::unique_ptr<hypervisor::LibvirtDaemon> daemon;
  if (options.libvirt.empty()) {
    auto reaper = reaper_words(options);
    if (!reaper) return fail(reaper.error());
    auto wanted = daemon_options(options);
    wanted.reaper = std::move(*reaper);
    auto prepared = hypervisor::LibvirtDaemon::prepare(wanted);
    if (!prepared) return fail(prepared.error());
    daemon = std::move(*prepared);
  }
  if (auto confined = confine_node({.place = options.place,
                                    .state = options.state,
                                    .mode = sandbox::parse_mode(options.sandbox).value_or(sandbox::Mode::required)});
      !confined)
    return fail(confined.error());
  if (daemon)
    if (auto begun = daemon->begin(); !begun) return fail(begun.error());
  for (const char* part : {"", "/libvirt", "/libvirt/config/libvirt"})
    remove_unfinished_files(options.place.state + part);
  const std::string uri = daemon ? daemon->uri() : options.libvirt;
  handler::NodePlace place = options.place;
  if (daemon) place.tpm = place.state + "/libvirt/config/libvirt/qemu/swtpm";
  return std::make_unique<Parts>(std::move(place), std::move(*images), std::move(daemon), uri);
}

}  // namespace vg::cmd
