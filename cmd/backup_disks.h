// What a backup holds beside its file: copies of disks and container images, in a folder of the same name with ".data".
// Too large for the file, and most of it holes.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace vg::cmd {

struct BackupParts {
  bool disks = false, images = false;
  bool skip_used = false;  // leave out claims that guests use; else they are a refusal
};

std::filesystem::path backup_data_folder(const std::string& file);

// "namespace/name" of all claims, and of those that a process has open in a way that says that it writes them.
struct ClaimsOnDisk {
  std::vector<std::string> all, used;
};
ClaimsOnDisk find_claims(const std::filesystem::path& state);

// Before anything is written: why it cannot be done.
Result<void> check_backup_parts(const std::filesystem::path& state, const std::string& file, const BackupParts& parts);
// After the file was written: a claim that comes later is in the folder and not in the store, which does no harm.
// `made`: what the file says of when it was made. Claims that were left out.
Result<std::vector<std::string>> write_backup_data(const std::filesystem::path& state, const std::string& file,
                                                   const BackupParts& parts, std::string_view made);

// Copies what is beside the backup into a folder that is to be the state. Which parts there were.
Result<BackupParts> unpack_backup_data(const std::string& file, const std::filesystem::path& into,
                                       std::string_view made);

}  // namespace vg::cmd
