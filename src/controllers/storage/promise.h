// What a claim of this machine was found to hold must be there ever after. Its volume, which only the server writes,
// says what that is, and the folder of the claim whose it is (disks/folder.h). Where either is missing the claim is
// Lost: nothing is made in its place, and no guest is started on it. It is there again once the files are.
#pragma once

#include <cstdint>
#include <string>

#include "controllers/world.h"

namespace vg::controllers::storage {

inline constexpr std::string_view image_name = "disk.img";  // as folders of claims have it

struct Promise {
  enum class State : std::uint8_t {
    none,     // the claim is not bound to a folder of this machine
    unknown,  // what there is of disks is not known yet
    lost,
    kept,
  };
  State state = State::none;
  std::string missing = {};  // of one that is lost: "its folder", "disk.img"
  bool has_image = false;    // of one that is kept
};

Promise promise_of(const World& world, const json::Object& claim);
// For conditions and events.
std::string lost_text(const json::Object& claim, const Promise& promise);

// What the volume of a claim says that is there, and what is there now, in order, with commas.
std::string held_in_all(const json::Object& volume, const DiskClaim& disk);
// The volume says that there was an image.
bool had_image(const json::Object& volume);

}  // namespace vg::controllers::storage
