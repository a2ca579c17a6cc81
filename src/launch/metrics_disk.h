// The disk on which a guest reads metrics of its host (RUN-DMX-01): a header of 16 bytes, then an XML document.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace vg::launch {

// The whole disk; a document that is too long for it is left out.
std::string metrics_disk(std::string_view document);

// Writes another document over that of a disk which a guest may read meanwhile: readers see the flag of a disk that is
// being written, and ask again. Blocks.
Result<void> rewrite_metrics_disk(const std::string& path, std::string_view document);

}  // namespace vg::launch
