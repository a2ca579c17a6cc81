// What an export offers: whether its source is there and free, and which volumes it has (spec copies 6.2).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controllers/copies/source.h"
#include "controllers/world.h"

namespace vg::controllers::exports {

using namespace copies;  // one subject, in several folders

struct ExportedVolume {
  std::string name;      // as links name it: that of the claim
  bool is_disk = false;  // an image; else a folder
};

struct ExtraCondition {
  string_view type;
  bool value = false;
  string_view reason;
};

struct ExportSource {
  bool available = false, has_content = false;
  bool skipped = false;      // phase Skipped instead of Pending
  bool looks_again = false;  // after a while: nobody tells
  string_view reason = {};   // of Ready, while there is no server
  std::string message = {};
  std::optional<ExtraCondition> extra = {};
  std::optional<std::string> vm = {};  // status.virtualMachineName
  std::vector<ExportedVolume> volumes = {};
  bool has_manifests = false;  // of a VM
};

// Nothing for a source that is ignored (EXP-03), or of which nothing can be told (EXP-40).
std::optional<ExportSource> read_source(const World& world, const Object& exported);
// EXP-40: there are no backups (spec_omissions.md), so that it is as if this one were missing.
bool is_of_backup(const Object& exported);
// EXP-10..13 and the end of 6.2: whether the claim holds an image.
bool holds_image(const World& world, const Object& claim);

}  // namespace vg::controllers::exports
