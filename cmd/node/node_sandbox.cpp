#include "node_sandbox.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "sandbox/enter.h"
#include "sandbox/host_folders.h"

namespace vg::cmd {
namespace {

namespace fs = std::filesystem;
using Access = sandbox::PathRule::Access;

bool is_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && path.substr(folder.size()).starts_with('/');
}

// Of other nodes what says which images their guests use, without which those could be removed, and what is copied for
// a guest that comes from there. Rules are about what exists.
void add_other_guests(const std::string& nodes, std::vector<sandbox::PathRule>& rules) {
  std::error_code error;
  for (const auto& node : fs::directory_iterator(nodes, error)) {
    if (!node.is_directory(error)) continue;
    for (const char* part : {"guests", "shared"}) {
      const std::string folder = node.path() / part;
      ::mkdir(folder.c_str(), 0700);
      rules.push_back({folder, Access::read});
    }
  }
}

std::vector<sandbox::PathRule> rules_of(const NodeSandboxOptions& options) {
  std::vector<sandbox::PathRule> rules{{"/proc", Access::read},
                                       {"/sys", Access::read},
                                       {"/sys/fs/cgroup", Access::data},
                                       {"/dev", Access::hardware},
                                       {options.place.state, Access::write},
                                       {options.place.sockets, Access::write},
                                       {handler::moves_folder(options.place.sockets), Access::data},
                                       {options.place.disks, Access::write},
                                       {options.place.images, Access::write}};
  // Where the state is below one of them, so are the server's keys.
  for (const std::string_view folder : sandbox::host_folders)
    if (!is_below(options.state, folder)) rules.push_back({std::string(folder), Access::data});
  add_other_guests(options.state + "/nodes", rules);
  return rules;
}

}  // namespace

Result<void> confine_node(const NodeSandboxOptions& options) {
  if (options.mode == sandbox::Mode::off) return {};
  // libvirt's library would look for its settings in a home that cannot be read, and libarchive writes images of disks
  // to a file without a name first.
  const std::string temporary = options.place.state + "/tmp";
  ::mkdir(temporary.c_str(), 0700);
  ::setenv("XDG_CONFIG_HOME", "/nonexistent", 1);  // NOLINT(concurrency-mt-unsafe): before the first thread
  ::setenv("TMPDIR", temporary.c_str(), 1);        // NOLINT(concurrency-mt-unsafe): likewise
  sandbox::Needs needs{.listen_port = 0, .programs = true, .rules = rules_of(options)};
  for (const char* name : {"SSL_CERT_FILE", "OPENSSL_CONF"})
    if (const char* file = std::getenv(name)) needs.read_files.emplace_back(file);  // NOLINT: before the first thread
  needs.read_files = sandbox::reachable(needs.read_files);
  return sandbox::enter(sandbox::make_plan(options.mode, needs, sandbox::this_machine()));
}

}  // namespace vg::cmd
