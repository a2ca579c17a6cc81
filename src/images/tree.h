// The files of an image: its layers put on each other, and looking into what that comes to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace vg::images {

// Puts a layer over the tree that is in `root`: files as hard links, white-outs take away what was there before.
Result<void> put_layer(const std::string& layer, const std::string& root);

// The file that a path of the image leads to, as a path of this host; links are followed inside of the image only.
// `path` may be of a folder with `is_folder`.
Result<std::string> resolve(const std::string& root, std::string_view path, bool is_folder);

// Names in a folder, sorted.
std::vector<std::string> entries_of(const std::string& folder);

}  // namespace vg::images
