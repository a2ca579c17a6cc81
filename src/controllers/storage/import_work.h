// What an import needs, read from the annotations of its claim and from Secrets and ConfigMaps (spec storage 5.1, 5.3).
#pragma once

#include <expected>
#include <string>

#include "controllers/controller.h"

namespace vg::controllers::storage {

// The work, or what it waits for (DV-81).
std::expected<DiskWork, std::string> import_work(const World& world, const json::Object& claim,
                                                 const ImageTarget& target);

// The same of the source of a DataVolume, where there is no claim yet: which version does the registry have?
std::expected<ReadDigest, std::string> digest_work(const World& world, std::string_view ns,
                                                   const json::Object& registry);

}  // namespace vg::controllers::storage
