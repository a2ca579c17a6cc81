// A store in one file that carries what is needed to check it, made while a server writes to the store, and back.
//
// A backup is itself a store (SQLite, with the seal over all rows) with two tables more: the files that belong to it,
// each with its checksum, and how many there are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"
#include "store/seal.h"

namespace vg::store {

// A file that goes with a store, by its name within the state folder.
struct StateFile {
  std::string name;
  std::uint32_t mode = 0;
  std::string content;
};

struct BackupContent {
  Seal seal;
  std::size_t files = 0;
  std::string made;  // when, as RFC 3339 has it
};

// `into` must not be there; it has mode 0600 and is either whole or not there.
Result<BackupContent> write_backup(const std::string& store, const std::string& into,
                                   const std::vector<StateFile>& files, std::string_view made);

// Checks everything in a backup, then makes an empty folder what a state folder has to be. Revisions go on well after
// those of the backup and `at_least`, because some may have been given out since.
Result<BackupContent> unpack_backup(const std::string& backup, const std::filesystem::path& folder, Revision at_least);

}  // namespace vg::store
