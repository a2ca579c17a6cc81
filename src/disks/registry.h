// A disk from a container registry (spec storage 5.3), by skopeo.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "disks/convert.h"
#include "disks/outcome.h"
#include "ports/disk_agent.h"

namespace vg::disks {

using Labels = std::vector<std::pair<std::string, std::string>>;

// DV-98: what the environment of an image says about the claim.
Labels labels_of_environment(const std::vector<std::string>& variables);

struct Manifest {
  std::string config = {};               // digests
  std::vector<std::string> layers = {};  // the lowest first
};
Outcome<Manifest> read_manifest(std::string_view text);

// DV-95, DV-97: how skopeo is told. What it needs besides is written into the folder.
Outcome<std::vector<std::string>> pull_command(int folder, const ImportRegistry& from);
// DV-97: `wanted` may be empty.
Outcome<> check_architecture(std::string_view wanted, std::string_view found);
// DV-96: from the layers that skopeo has put into the folder.
Outcome<> take_disk(int folder, const Manifest& manifest, const std::string& file, std::int64_t bytes_max);

// All of that: the disk of the image, as `file` of the folder.
Outcome<Labels> fetch_from_registry(int folder, const ImportRegistry& from, const std::string& file);

// Which version the registry has now: "sha256:..." of the manifest, or of the index that leads to several.
Outcome<std::string> digest_in_registry(int folder, const ImportRegistry& from);

}  // namespace vg::disks
