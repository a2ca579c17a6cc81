// What the store writes down, and the locks of those who work on it.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "disks/outcome.h"
#include "images/image_store.h"

namespace vg::images {

struct LayerRecord {
  std::string digest;
  std::int64_t bytes = 0;
  bool operator==(const LayerRecord&) const = default;
};
// image.json
struct ImageRecord {
  std::string digest, architecture;
  std::vector<LayerRecord> layers;
};
// Credentials that a registry has accepted (access.h), and when: seconds since 1970.
struct AcceptedAccount {
  std::string account;
  std::int64_t at = 0;
};
// A file of references/
struct ReferenceRecord {
  std::string reference, digest;
  bool loaded = false;
  std::string source = {};  // the digest of what the registry had under the reference: of a list of images, too
  bool everybody = false;   // the registry gives it to everybody
  std::vector<AcceptedAccount> accepted = {};  // the oldest first
};

std::string to_text(const ImageRecord& record);
std::string to_text(const ReferenceRecord& record);
std::optional<ImageRecord> read_image_record(const std::string& file);
std::optional<ReferenceRecord> read_reference_record(const std::string& file);

// Whole or not at all, also after a crash.
Result<void> write_record(const std::string& file, std::string_view text);
Result<void> rename_synced(const std::string& from, const std::string& to);

// "raw" or "qcow2"; everything else is refused (RUN-CD-03).
Result<std::string> inspect_disk(const std::string& disk);

// "sha256:HEX" -> HEX; empty when it is no digest.
std::string_view hex_of(std::string_view digest);
std::string sha256_hex(std::string_view text);
Result<std::string> sha256_of_file(const std::string& file);

// A lock of all processes, given back with the object. Shared ones are of those who add, an exclusive one of who
// removes.
class StoreLock {
 public:
  enum class Kind : std::uint8_t { shared, exclusive, exclusive_if_free };
  static std::optional<StoreLock> take(const std::string& file, Kind kind);
  // Exclusive, as soon as it is free; nothing when it is not wanted any more.
  static std::optional<StoreLock> await(const std::string& file, const std::stop_token& stop);

 private:
  explicit StoreLock(disks::Descriptor file) : file_(std::move(file)) {}
  disks::Descriptor file_;
};

// A folder to make something in, which goes with the object. Whoever opens the store removes those of the dead.
class WorkFolder {
 public:
  static Result<WorkFolder> make(const std::string& parent);
  WorkFolder(WorkFolder&& other) noexcept : path_(std::move(other.path_)), lock_(std::move(other.lock_)) {
    other.path_.clear();
  }
  WorkFolder& operator=(WorkFolder&&) = delete;
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder();
  const std::string& path() const { return path_; }
  int descriptor() const { return lock_.get(); }
  static void remove_abandoned(const std::string& parent);

 private:
  WorkFolder(std::string path, disks::Descriptor lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  disks::Descriptor lock_;
};

}  // namespace vg::images
