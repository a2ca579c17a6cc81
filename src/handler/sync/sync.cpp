#include "handler/sync/sync.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "base/limits.h"
#include "base/log.h"
#include "guests/facts.h"
#include "handler/sync/downward_metrics.h"
#include "handler/sync/guest_loop.h"
#include "handler/sync/kube_node_api.h"
#include "handler/sync/launch_files.h"
#include "handler/sync/node_keeper.h"
#include "handler/sync/records.h"
#include "images/image_store.h"
#include "launch/launch.h"

namespace vg::handler {
namespace {

constexpr std::string_view architecture =
#if defined(__aarch64__)
    "arm64";
#elif defined(__s390x__)
    "s390x";
#else
    "amd64";
#endif

bool file_exists(const std::string& path) { return ::access(path.c_str(), R_OK) == 0; }

// DOM-FIN-06: a file that is not there yet is made for the question.
bool takes_direct_io(const std::string& path, bool is_device) {
  int file = ::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC | O_NONBLOCK);
  if (file < 0 && errno == ENOENT && !is_device) {
    file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_DIRECT | O_CLOEXEC, 0600);
    ::unlink(path.c_str());
  }
  if (file < 0) return false;
  ::close(file);
  return true;
}

bool is_preallocated(const std::string& path) {
  struct stat facts{};
  return ::stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0 &&
         facts.st_blocks * 512 >= facts.st_size;
}

Result<domain::BlockSizes> block_sizes(const std::string& path, bool /*is_block*/) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0)
    return fail(Status::internal_error(fmt::format("{} cannot be looked at", path)));
  const auto size = static_cast<std::uint64_t>(facts.st_blksize);
  return domain::BlockSizes{.logical = 512, .physical = std::max<std::uint64_t>(size, 512), .discard = 0};
}

guests::Host this_host(const NodePlace& place, std::function<std::string(const std::string&)> bridge_problem) {
  guests::Host host;
  host.bridge_problem = std::move(bridge_problem);
  if (auto firmware = launch::provide_firmware(place.state + "/firmware"))
    host.rom_folder = std::move(*firmware);
  else
    log::warning("there is no firmware for EFI", {{"reason", firmware.error().message}});
  host.file_exists = file_exists;
  host.probes = {.direct_io = takes_direct_io, .preallocated = is_preallocated};
  host.more_probes.block_size = block_sizes;
  host.more_probes.emulator_exists = file_exists;
  return host;
}

std::vector<guests::NodeImage> images_here(const images::ImageStore& store) {
  std::vector<guests::NodeImage> found;
  for (images::Image& image : store.list())
    found.push_back({.reference = std::move(image.reference), .digest = std::move(image.digest), .bytes = image.bytes});
  return found;
}

// Nodes of a machine have their folders side by side.
OtherNode beside(const SyncParts& parts, std::string_view node) {
  const auto sibling = [&](const std::string& path) {
    return fmt::format("{}/{}", path.substr(0, path.rfind('/')), node);
  };
  const std::string sockets = sibling(parts.place.sockets);
  return {.uri = parts.other_uri ? parts.other_uri(sockets) : std::string(),
          .paths = {.state = sibling(parts.place.state), .sockets = sockets}};
}

}  // namespace

class Sync::Body {
 public:
  explicit Body(SyncParts parts)
      : parts_(std::move(parts)),
        api_(parts_.api, parts_.place.name, architecture, parts_.metrics, parts_.clock),
        files_(parts_.core, parts_.place, parts_.images),
        records_(Records::in_file(parts_.place.state + "/node.json")),
        loop_({.core = parts_.core,
               .api = api_,
               .hypervisor = parts_.hypervisor,
               .files = files_,
               .records = records_,
               .clock = parts_.clock,
               .node = parts_.place.name,
               .host = this_host(parts_.place, parts_.bridge_problem),
               .agent = parts_.agent,
               .paths = {.state = parts_.place.state, .sockets = parts_.place.sockets},
               .address = parts_.place.handler_address.empty() ? "127.0.0.1" : parts_.place.handler_address,
               .authority = read_file(parts_.place.state + "/pki/ca.crt", limits::config_file_bytes_max).value_or(""),
               .other_node = [this](std::string_view node) { return beside(parts_, node); },
               .groups = parts_.groups}),
        keeper_({.core = parts_.core,
                 .api = api_,
                 .hypervisor = parts_.hypervisor,
                 .clock = parts_.clock,
                 .node = parts_.place.name,
                 .address = parts_.place.handler_address,
                 .sharers = parts_.place.nodes,
                 .why_no_groups = parts_.groups.why_not,
                 .images = [this] { return images_here(parts_.images); },
                 .written = [this](const hypervisor::HostFacts& facts,
                                   controllers::NodeInfo info) { node_written(facts, std::move(info)); }}),
        metrics_({.core = parts_.core,
                  .hypervisor = parts_.hypervisor,
                  .clock = parts_.clock,
                  .node = parts_.place.name,
                  .guests = parts_.place.state + "/guests",
                  .sockets = parts_.place.sockets,
                  .host = this_host_metrics}) {}

  Core& core() { return parts_.core; }
  hypervisor::Hypervisor& hypervisor() { return parts_.hypervisor; }
  GuestLoop& loop() { return loop_; }
  void start() {
    api_.start(parts_.core);
    keeper_.start();
    loop_.on_connection([this] { keeper_.beat(); });
  }
  void stop() {
    metrics_.stop();
    keeper_.stop();
    loop_.stop();
  }

 private:
  // Guests that run are taken over before the first sign of life is relied on (spec vmi-lifecycle 4.4), and none starts
  // before it is known what the host can do.
  void node_written(const hypervisor::HostFacts& facts, controllers::NodeInfo info) {
    loop_.set_host(facts.kvm, std::move(info));
    metrics_.set_hypervisor(facts.hypervisor_version);
    if (started_) return;
    started_ = true;
    if (!facts.kvm)
      log::warning("guests are emulated, which is slow: /dev/kvm cannot be used", {{"reason", facts.why_no_kvm}});
    if (!parts_.groups.keep)
      log::info(
          "limits of CPU and memory count where VMs are placed; the kernel does not enforce them: guests have no "
          "cgroup of their own",
          {{"reason", parts_.groups.why_not}});
    loop_.start();
    metrics_.start();
  }

  SyncParts parts_;
  KubeNodeApi api_;
  LaunchFiles files_;
  Records records_;
  GuestLoop loop_;
  NodeKeeper keeper_;
  DownwardMetrics metrics_;
  bool started_ = false;
};

Sync::Sync(SyncParts parts) : body_(std::make_unique<Body>(std::move(parts))) {}
Sync::~Sync() = default;

void Sync::start() {
  body_->core().post([this] { body_->start(); });
}

void Sync::stop() { body_->stop(); }

void Sync::note_pause(std::string_view ns, std::string_view name, bool paused) {
  body_->core().post([this, key = Key{.ns = std::string(ns), .name = std::string(name)}, paused] {
    body_->loop().note_pause(key, paused);
  });
}

void Sync::wake(std::string_view ns, std::string_view name) {
  body_->core().post([this, key = Key{.ns = std::string(ns), .name = std::string(name)}] { body_->loop().wake(key); });
}

std::string Sync::guest_address(std::string_view ns, std::string_view name) const {
  const auto domain = body_->hypervisor().find(domain_name({.ns = std::string(ns), .name = std::string(name)}));
  if (!domain || !domain->xml) return {};
  const auto facts = guests::read_facts(*domain->xml);
  return facts && !facts->uid.empty() ? guests::loopback_address(facts->uid) : std::string();
}

}  // namespace vg::handler
