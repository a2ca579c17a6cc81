// Container disks on this machine: images by reference and digest, unpacked once, shared by all guests that use them.
//
// In the folder:
//   references/HASH    what a reference stands for (records.h), and who may use it; its time is when it was last used
//   images/HEX/        by the digest of the manifest: root/ is the merged tree, image.json tells of its layers
//   layers/HEX/        by the digest of the layer: its files, which the trees of images are hard links to
//   key                with which accounts of registries are written down
//   work/RANDOM/       what somebody is making, locked as long as they are
// Everything gets its name when it is whole. Any number of threads and processes may work on one store.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace vg::images {

struct Image {
  std::string reference;   // "quay.io/containerdisks/debian:12", as it was loaded or pulled
  std::string digest;      // sha256:...
  std::int64_t bytes = 0;  // of its layers, unpacked
  bool loaded = false;     // by hand: there may be no registry that has it
  std::chrono::system_clock::time_point used_at = {};
};

// Where an image comes from when it is not here.
struct PullRequest {
  std::string reference;
  std::string user = {}, password = {};  // of an image pull secret
  std::string architecture = {};         // as Kubernetes names it; empty: whatever it is for
  std::string mirror = {};               // asked instead of the registry of the reference
  bool insecure = false;
};

enum class PullPolicy : std::uint8_t { always, if_not_present, never };

// One that whoever asked may use: it was loaded by hand, the registry gives it to everybody, or has accepted their
// credentials. Only the store makes them.
class UsableImage : public Image {
  friend class ImageStore;
  explicit UsableImage(Image image) : Image(std::move(image)) {}
};

struct ReferenceRecord;

class ImageStore {
 public:
  // Makes the folder where it is missing, and removes what an earlier process left half done.
  static Result<ImageStore> open(const std::string& folder);

  std::vector<Image> list() const;
  // What is found counts as used now.
  std::optional<Image> find(std::string_view reference) const;

  // What is here and may be used without asking anybody. Nothing: the registry must be asked.
  std::optional<UsableImage> find_usable(const PullRequest& request) const;

  // All block; for a thread of its own.
  // Asks the registry with the credentials of the request, whatever is here: only what it gives to them is theirs. It
  // is brought if it is not here, or (with `always`) another is. Two pulls of one image do the work once. `stop` ends
  // it.
  Result<UsableImage> pull(const PullRequest& request, PullPolicy policy = PullPolicy::always,
                           const std::stop_token& stop = {});
  // An archive of `docker save`, an OCI archive, or a folder of one; and disks as they are ("--disk FILE").
  Result<UsableImage> load_archive(const std::string& file, const std::string& reference);
  Result<UsableImage> load_disk(const std::string& file, const std::string& reference);
  Result<void> remove(std::string_view reference);
  // Images that were pulled and that nothing uses go, the longest unused first, until so many bytes came free. Tells
  // how many did.
  std::int64_t collect(std::int64_t bytes, const std::set<std::string, std::less<>>& digests_in_use);

  // Networks that nothing is pulled from, redirects included (--import-blocked-networks). Before the first pull.
  void block(std::string networks) { blocked_ = std::move(networks); }

  // What may still be written, a reserve left aside.
  std::int64_t room() const;
  const std::string& folder() const { return folder_; }

  // The one file below /disk, or `path` (RUN-CD-01); links do not leave the image. An absolute path on this host.
  Result<std::string> disk_of(const UsableImage& image, std::string_view path) const;
  // RUN-CD-05
  Result<std::string> file_of(const UsableImage& image, std::string_view path) const;
  // "raw" or "qcow2"; anything else, or a backing file, is refused (RUN-CD-03).
  Result<std::string> format_of(const std::string& disk) const;

 private:
  ImageStore(std::string folder, std::string key) : folder_(std::move(folder)), key_(std::move(key)) {}
  std::string root_of(const Image& image) const;
  std::optional<ReferenceRecord> read_usable(std::string_view reference) const;
  Result<void> write_reference(const ReferenceRecord& record) const;
  Result<UsableImage> found(std::string_view reference) const;
  std::string folder_, key_, blocked_ = {};
};

}  // namespace vg::images
