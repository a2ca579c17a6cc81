#include "disks/room.h"

#include <sys/statvfs.h>

#include <algorithm>

#include "base/disk_limits.h"

namespace vg::disks {

std::int64_t room_on(int descriptor, std::int64_t reserve) {
  struct statvfs info{};
  if (::fstatvfs(descriptor, &info) != 0) return 0;
  const auto free = static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize);
  return std::max<std::int64_t>(0, free - reserve);
}

std::unexpected<Failure> no_room() {
  return std::unexpected(
      in_known_words({.error = DiskError::no_space, .message = "the disk of this host has no room left for it"}));
}

Failure in_known_words(Failure failure) {
  constexpr std::string_view known = "DataVolume too small to contain image";
  if (failure.error == DiskError::no_space && !failure.message.starts_with(known))
    failure.message = fmt::format("{}: {}", known, failure.message);
  return failure;
}

Outcome<> RoomWatch::before(std::int64_t bytes) {
  until_look_ -= bytes;
  if (until_look_ > 0) return {};
  until_look_ = limits::disk_room_interval_bytes;
  if (room_on(descriptor_) < bytes) return no_room();
  return {};
}

}  // namespace vg::disks
