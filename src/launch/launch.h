// What must exist before a guest starts (spec launch 2): planned by a pure function, then carried out. Carrying out is
// idempotent: what is there is not made again, and nothing that is half made has its name.
//
//   auto images = provide_images(store, vmi, mounted, {});        // pulls what is missing
//   auto plan = launch::plan(wanted);                             // wanted.images = images
//   carry_out(plan->before_define);
//   put_paths(wanted, context); ... convert, define ...
//   carry_out(*plan_before_start(wanted, defined_xml)); ... start ...
//   clear(folders);
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "domain/context.h"
#include "json/value.h"

namespace vg::images {
class ImageStore;
}

namespace vg::launch {

// The folders of one VMI. All below the node's own; `sockets` is apart because the path of a socket must be short.
struct Folders {
  std::string guest;    // of this VMI: overlays, ISOs, empty disks, NVRAM; removed with it
  std::string shared;   // of this VMI as well: links to files of the image store, which its QEMU may only read
  std::string sockets;  // serial, VNC, agent, ...
  std::string disks;    // of claims: NAMESPACE/CLAIM/disk.img (src/disks/folder.h)
  std::string images;   // of the image store
  std::string tpm;      // where the hypervisor keeps the state of TPMs, by UUID; empty: it is not known
};

// Objects that the VMI mounts, by kind ("Secret", "ConfigMap") and name, as the API has them. Null: there is none.
using Mounted = std::function<const json::Object*(std::string_view kind, std::string_view name)>;

// An image of a container disk that is in the store, found before planning.
struct ContainerImage {
  std::string volume;  // or "" for kernel boot
  std::string disk;    // the file to be used as backing file
  std::string format;  // "raw" or "qcow2"
  std::string kernel = {}, initrd = {};
  std::string digest = {};  // in use as long as the guest runs
};

struct Wanted {
  const json::Value& vmi;  // canonical
  Folders folders;
  Mounted mounted;
  std::vector<ContainerImage> images;
  std::string service_account_token = {}, authority = {};
  // RUN-CI-17: the guest's folder on the node that it comes from; empty: it comes from nowhere.
  std::string source_guest = {};
};

struct Step {
  enum class Kind : std::uint8_t {
    make_folder,   // with those above it; but what it is `within` must exist
    write_file,    // `content`
    make_iso,      // of `files`
    make_overlay,  // qcow2 over `backing`
    make_empty,    // qcow2 of `size`
    make_raw,      // sparse raw file of `size`, with the tolerance of RUN-IMG-03
    copy,          // of `backing`; zeros of `size` when that is gone (RUN-CI-17)
    grow,          // to `size` at most, `overhead` of it left to the file system (RUN-GRW-03)
    link,          // to `backing`, which must exist: symbolic
    share,         // the same, but what is linked to stays there as long as the link
    link_folder,   // to `backing`, which is made where it is missing
  };
  struct File {
    std::string name, content;  // a name may have folders before it
    bool operator==(const File&) const = default;
  };
  Kind kind = Kind::make_folder;
  std::string path = {};
  std::string volume = {};  // whose it is, for messages
  std::vector<File> files = {};
  std::string label = {};  // of an ISO
  std::string backing = {}, backing_format = {};
  std::int64_t size = 0;
  std::string content = {};
  double overhead = 0;
  // Of folders: the one above, which must exist. Of make_raw and link: the file must be below one of these when all
  // links on the way to it are followed, and what is below /dev must be a block device. Empty: anywhere.
  std::vector<std::string> within = {};
};

struct Plan {
  std::vector<Step> before_define;  // in this order
  std::vector<Step> before_start;   // the cloud-init ISO, which tells of addresses that the definition gave (RUN-CI-12)
};

// A refusal names the volume and what is missing.
Result<Plan> plan(const Wanted& wanted);
// The cloud-init part again, with the document that the hypervisor completed. Empty: without addresses.
Result<std::vector<Step>> plan_before_start(const Wanted& wanted, std::string_view defined_xml);
// RUN-GRW-01: images of claims that have become larger, of those volumes.
Result<std::vector<Step>> plan_growth(const Wanted& wanted, const std::set<std::string, std::less<>>& volumes);
// Puts a claim into the place that a hot-plugged volume has, before it is attached.
Result<std::vector<Step>> plan_hotplug(const Wanted& wanted, std::string_view volume);

// The node's own places and what it knows of images, in the context of the conversion.
void put_paths(const Wanted& wanted, domain::DomainContext& context);

struct Made {
  std::vector<std::pair<std::string, std::int64_t>> iso_bytes;  // volume, size: status.volumeStatus[].size
  std::vector<std::pair<std::string, std::int64_t>> grown;      // volume, size of its image after a grow
  std::vector<std::string> tolerated;                           // volumes for the event ToleratedSmallPV
  std::vector<std::string> warnings;                            // what went wrong and stops nothing (RUN-GRW-03)
};
// Blocks; for a thread of its own. Stops at the first failure.
Result<Made> carry_out(const std::vector<Step>& steps);

// How images are had.
struct Fetching {
  bool network = true;        // false: those that are here and may be used without asking anybody
  std::stop_token stop = {};  // the VMI is gone
  std::function<void(std::string_view reference)> told = {};  // that a registry is asked now
};
// The images of container disks and kernel boot, by their pull policies and with the credentials of their pull secrets.
// Blocks as long as a pull takes. Before one, images that no guest uses go where the disk is nearly full. Nothing: a
// registry must be asked, which was not wanted.
Result<std::optional<std::vector<ContainerImage>>> provide_images(images::ImageStore& store, const json::Value& vmi,
                                                                  const Mounted& mounted, const Fetching& how);

// Digests of images that guests of this machine use: each guest has a list of its own, in NODES/NODE/shared/UID.
std::set<std::string, std::less<>> images_in_use(const std::string& nodes_folder);

// A folder with firmware for EFI under upstream's names, for domain::Settings::rom_folder; empty: this machine has
// none. `root` is put before the places where distributions have it, for tests.
Result<std::string> provide_firmware(const std::string& folder, const std::string& root = {});

// After the run: everything of the VMI but claims and host disks.
Result<void> clear(const Folders& folders);
// After a volume was detached.
Result<void> clear_hotplug(const Folders& folders, std::string_view volume);

}  // namespace vg::launch
