// The files of a state folder that belong to the store, and what their presence says.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"
#include "store/high_water_mark.h"

namespace vg::store {

std::string store_path(const std::filesystem::path& state);

// Whether a server may open, or for the first time create, the store of this folder. Refuses one in which files are
// being exchanged, and one whose keys show that there was a store: a new one in its place would look as if all were
// well. To be asked before anything is created in the folder.
Result<void> check_state(const std::filesystem::path& state);

// Puts the entries of `fresh`, a folder within `state`, in the place of those of the same names and of the store's
// files, which go to `aside`, another one. While that is under way check_state() refuses; after an interruption it is
// done again.
DiskResult exchange_files(const std::filesystem::path& state, const std::filesystem::path& fresh,
                          const std::filesystem::path& aside);

}  // namespace vg::store
