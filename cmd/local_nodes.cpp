#include "local_nodes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "auth/digest.h"
#include "auth/identify.h"
#include "base/files.h"
#include "base/handler_limits.h"
#include "base/helper_limits.h"
#include "base/log.h"
#include "helpers/pass_on.h"
#include "http/tcp.h"
#include "local_guests.h"
#include "node_keeper.h"
#include "runtime_folder.h"

namespace vg::cmd {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view node_program = "virtgate-node";
constexpr std::string_view handler_common_name = "kubevirt.io:system:node:virt-handler";
constexpr std::string_view client_common_name = "kubevirt.io:system:client:virt-handler";
constexpr std::string_view vsock_common_name = "kubevirt.io:system:client:virt-handler:vsock";
constexpr int handler_backlog = 64;

Failed refuse(std::string message) { return fail(Status::bad_request(std::move(message))); }

bool is_program(const fs::path& path) { return ::access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path); }

// Of this server and node alone, as far as a hash of where its state is can tell; the next attempt is another one.
std::string handler_address(const std::string& state, std::string_view node, int attempt) {
  const auto digest = auth::sha256(fmt::format("{}\n{}\n{}", state, node, attempt));
  return fmt::format("127.86.{}.{}", digest[0], 1 + digest[1] % 254);
}

// 0700: keys are in it, and guests' disks.
Result<void> make_folder(const fs::path& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return fail(Status::internal_error(fmt::format("cannot create {}: {}", path.native(), std::strerror(errno))));
}

}  // namespace

Result<disks::Descriptor> open_node_program() {
  std::error_code ignored;
  std::vector<fs::path> folders{fs::read_symlink("/proc/self/exe", ignored).parent_path()};
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "";
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    if (folder.starts_with('/')) folders.emplace_back(folder);
  }
  for (const fs::path& folder : folders)
    if (const fs::path found = folder / node_program; is_program(found))
      if (disks::Descriptor program(::open(found.c_str(), O_PATH | O_CLOEXEC)); program) return program;
  return refuse(
      fmt::format("--node libvirt: {} not found beside this program or on the PATH; install libvirt-dev and build it, "
                  "or install the package that has it",
                  node_program));
}

Result<std::unique_ptr<LocalNodes>> LocalNodes::start(const LocalNodesOptions& options, disks::Descriptor program) {
  std::unique_ptr<LocalNodes> nodes(new LocalNodes);
  nodes->options_ = options;
  if (auto made = make_folder(fs::path(options.state) / "nodes"); !made) return fail(made.error());
  std::vector<std::string> names;
  for (std::int64_t index = 1; index <= options.count; ++index) names.push_back(fmt::format("node{:02}", index));
  const LocalGuests guests(options.state, !options.libvirt.empty());
  for (const std::string& name : guests.nodes_in_use()) {
    if (std::ranges::find(names, name) != names.end()) continue;
    log::warning("a node beyond --nodes still has guests; it is kept for them alone", {{"node", name}});
    nodes->leaving_.push_back(name);
  }
  names.insert(names.end(), nodes->leaving_.begin(), nodes->leaving_.end());
  for (const std::string& name : names) {
    if (auto made = make_folder(fs::path(options.state) / "nodes" / name); !made) return fail(made.error());
    // Here, so that the server can be allowed to look into it (local_guests.h).
    if (auto made = make_runtime_folder(options.state, name); !made) return fail(made.error());
    nodes->nodes_.push_back({.name = name, .address = {}, .listener = {}});
  }
  if (auto taken = nodes->take_addresses(); !taken) return fail(taken.error());
  if (auto started = nodes->start_keeper(program); !started) return fail(started.error());
  return nodes;
}

// The socket stays with the process that looks after the nodes: while a node starts again its callers wait, and nobody
// else can take its place.
Result<void> LocalNodes::take_addresses() {
  for (Node& node : nodes_) {
    Result<int> taken = refuse("no address was tried");
    for (int attempt = 0; attempt < limits::handler_addresses_max && !taken; ++attempt) {
      node.address = handler_address(options_.state, node.name, attempt);
      taken = http::listen_tcp(node.address, options_.port, handler_backlog);
    }
    if (!taken) return fail(taken.error());
    node.listener = disks::Descriptor(*taken);
  }
  return {};
}

Result<void> LocalNodes::start_keeper(const disks::Descriptor& program) {
  const auto failed = [] {
    return fail(Status::internal_error(
        fmt::format("the process that looks after nodes cannot be started: {}", std::strerror(errno))));
  };
  auto ends = helpers::Channel::make_pair();
  heartbeat_ = helpers::Heartbeat::make();
  if (!ends || !heartbeat_) return failed();
  std::vector<int> handed_over{ends->second.descriptor(), heartbeat_->descriptor(), program.get()};
  std::vector<std::string> arguments{"virtgate",
                                     std::string(node_keeper_command),
                                     fmt::to_string(handed_over[0]),
                                     fmt::to_string(handed_over[1]),
                                     fmt::to_string(handed_over[2]),
                                     options_.state,
                                     options_.libvirt,
                                     fmt::to_string(options_.verbosity),
                                     options_.log_format,
                                     options_.sandbox,
                                     options_.blocked};
  for (const Node& node : nodes_) {
    arguments.push_back(node.name);
    arguments.push_back(fmt::to_string(node.listener.get()));
    handed_over.push_back(node.listener.get());
  }
  std::vector<char*> raw;
  for (std::string& argument : arguments) raw.push_back(argument.data());
  raw.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return failed();
  if (child == 0) {
    helpers::pass_on_only(handed_over);
    ::execv("/proc/self/exe", raw.data());
    ::_exit(1);
  }
  keeper_ = std::move(ends->first);
  for (Node& node : nodes_) node.listener.close();
  return {};
}

Result<void> LocalNodes::keep_certificates(local::Pki& pki, local::Time now) const {
  const fs::path own = pki.file("ca.crt").parent_path();
  if (auto kept = pki.keep({.folder = own,
                            .name = std::string(handler_client_name),
                            .common_name = std::string(client_common_name),
                            .usage = local::Usage::client},
                           now);
      !kept)
    return kept;
  for (const Node& node : nodes_) {
    const fs::path folder = fs::path(options_.state) / "nodes" / node.name / "pki";
    if (auto made = make_folder(folder); !made) return made;
    if (auto kept = pki.keep({.folder = folder,
                              .name = "api",
                              .common_name = fmt::format("{}{}", auth::node_user_prefix, node.name),
                              .organizations = {std::string(auth::nodes_group)},
                              .usage = local::Usage::client},
                             now);
        !kept)
      return kept;
    if (auto kept = pki.keep({.folder = folder,
                              .name = "handler",
                              .common_name = std::string(handler_common_name),
                              .hosts = {node.address},
                              .usage = local::Usage::server},
                             now);
        !kept)
      return kept;
    // For guests, which may pass a handshake on to anybody: a name that nobody gives rights to.
    if (auto kept = pki.keep({.folder = folder,
                              .name = "vsock",
                              .common_name = std::string(vsock_common_name),
                              .usage = local::Usage::client},
                             now);
        !kept)
      return kept;
    if (auto written = write_file((folder / "ca.crt").native(), pki.authority_pem(), 0644); !written) return written;
  }
  return {};
}

std::vector<resources::HandlerPlace> LocalNodes::handlers() const {
  std::vector<resources::HandlerPlace> places;
  for (const Node& node : nodes_) places.push_back({.node = node.name, .address = node.address});
  return places;
}

std::vector<std::string> LocalNodes::names() const {
  std::vector<std::string> names;
  for (const Node& node : nodes_) names.push_back(node.name);
  return names;
}

void LocalNodes::begin(const std::string& url) {
  if (const auto sent = keeper_.send({}, url); sent != helpers::Sent::yes)
    log::error("nodes cannot be started; restart the server", {{"reason", text_of(sent)}});
}

// The keeper never says anything: a socket that can be read has ended.
std::optional<std::string> LocalNodes::problem() const {
  pollfd ended{keeper_.descriptor(), POLLIN, 0};
  if (::poll(&ended, 1, 0) > 0) return "the process that looks after nodes is gone; restart the server";
  if (heartbeat_->silent_for() > limits::helper_silence_told)
    return "the process that looks after nodes does not answer; restart the server if that lasts";
  return std::nullopt;
}

LocalNodes::~LocalNodes() {
  if (!keeper_) return;
  ::shutdown(keeper_.descriptor(), SHUT_WR);
  pollfd ended{keeper_.descriptor(), POLLIN, 0};
  using std::chrono::milliseconds;
  (void)::poll(&ended, 1, static_cast<int>(milliseconds(2 * limits::helper_stop_deadline).count()));
}

}  // namespace vg::cmd
