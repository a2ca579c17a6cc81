// The limits of the image store and of what is prepared for a guest, with their reasons. See limits.h for all others.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/disk_limits.h"
#include "base/limits.h"

namespace vg::limits {

// --- what is prepared for a guest
// Files of one disk that is made of objects of the API, together. An object has 3 MiB at most; several Secrets of keys
// may come together.
inline constexpr std::size_t launch_files_bytes_max = 16 * mib;
// The disk with metrics of the host (RUN-DMX-01).
inline constexpr std::size_t metrics_disk_bytes = 256 * kib;
// The name of a file: what file systems take.
inline constexpr std::size_t launch_name_bytes_max = 255;
inline constexpr std::size_t launch_path_bytes_max = 4096;
// An ISO: its files, and what is copied of one (RUN-CI-15, RUN-CI-17).
inline constexpr std::int64_t iso_bytes_max = std::int64_t{64} << 20;

// --- the image store
// Folders in folders of an image, which are gone through by recursion.
inline constexpr std::size_t image_depth_max = 128;
// An image reference: a host, a path, a tag and a digest.
inline constexpr std::size_t image_reference_bytes_max = 1024;
// What the store keeps beside an image: its layers and their sizes.
inline constexpr std::size_t image_record_bytes_max = 64 * kib;
// A pull that takes longer has stopped: at 2 MiB/s an image of 14 GiB comes in this time.
inline constexpr std::chrono::hours image_pull_time_max{2};
// How often somebody who waits for the pull of another looks whether it is over.
inline constexpr std::chrono::milliseconds image_lock_look{100};
// How long credentials that a registry has accepted are good for an image that is here without asking it again: over a
// night in which it is away, and not much longer than it takes until somebody notices that they were taken back.
inline constexpr std::chrono::hours image_account_life{12};
// Of one image: the oldest are asked for again.
inline constexpr std::size_t image_accounts_max = 64;
// What the store writes accounts down with: 32 random bytes as text.
inline constexpr std::size_t image_key_bytes = 43;
// Between two attempts to have an image that could not be had, doubling from the one to the other; as a kubelet does.
inline constexpr std::chrono::seconds image_pull_pause_min{10};
inline constexpr std::chrono::seconds image_pull_pause_max{300};
// Before a pull there should be room for an image; with less, images that nothing uses go until there is the other.
inline constexpr std::int64_t image_room_min = std::int64_t{4} << 30;
inline constexpr std::int64_t image_room_wanted = std::int64_t{8} << 30;
// What a guest has written down of its images: some digests.
inline constexpr std::size_t image_digests_bytes_max = 64 * kib;
// Beyond this no image of one layer goes, whatever the room: 1 TiB.
inline constexpr std::int64_t image_bytes_max = std::int64_t{1} << 40;

}  // namespace vg::limits
