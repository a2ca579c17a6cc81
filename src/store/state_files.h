// The files of a state folder that belong to the store, and what their presence says.
#pragma once

#include <chrono>
#include <expected>
#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"
#include "store/high_water_mark.h"

namespace vg::store {

std::string store_path(const std::filesystem::path& state);
// Where the files are made that are to take the place of others.
std::filesystem::path exchange_folder(const std::filesystem::path& state);

// Whether a server may open, or for the first time create, the store of this folder. Refuses one in which files are
// being exchanged, and one whose keys show that there was a store: a new one in its place would look as if all were
// well. To be asked before anything is created in the folder.
Result<void> check_state(const std::filesystem::path& state);

// Puts the entries of `fresh`, a folder within `state`, in the place of those of the same names and of the store's
// files, which go to `aside`, another one. While that is under way check_state() refuses; after an interruption
// finish_exchange() goes on.
DiskResult exchange_files(const std::filesystem::path& state, const std::filesystem::path& fresh,
                          const std::filesystem::path& aside);
// Brings an exchange to its end that was interrupted, from where it stood: what had been moved aside is not there to be
// looked at again. False: there was none.
std::expected<bool, std::string> finish_exchange(const std::filesystem::path& state);

// Where revisions go on when nobody can say which were given out, but for those up to `known`: a restore, an accepted
// loss.
Revision revision_beyond(Revision known, std::chrono::system_clock::time_point now = std::chrono::system_clock::now());

}  // namespace vg::store
