// What commands that work on files read: the files themselves, those beside them, and the configuration.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "config/cluster_config.h"
#include "flags.h"
#include "offline/check.h"

namespace vg::cmd {

struct InputFlags {
  std::vector<std::string> with;  // further objects that exist
  std::string config;             // a file with the KubeVirt object; empty: the defaults
  std::string ns = "default";

  std::vector<Flag> flags();
};

// Opens files, all manifests of folders, and standard input for "-". What cannot be opened is told in `unreadable`.
offline::Sources open_inputs(const std::vector<std::string>& names, std::vector<std::string>& unreadable);

// The configuration that the KubeVirt object in a file asks for; the defaults for no file.
Result<config::ConfigPtr> read_config(const std::string& file);

}  // namespace vg::cmd
