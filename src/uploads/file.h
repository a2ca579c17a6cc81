// The file that an upload is written to, in the folder of its claim. Every function may wait for a disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "disks/folder.h"
#include "uploads/decide.h"

namespace vg::uploads {

class UploadFile {
 public:
  UploadFile(const std::string& disks, const UploadTarget& target) : path_(disks), target_(target) {}

  // `length`: what the client says; 0: nothing.
  Result<void> open(std::int64_t length);
  Result<void> write(std::string_view bytes);
  // UPL-29, UPL-30: what can be said at once of the format, before an asynchronous upload is answered.
  Result<void> accept();
  void remove();

 private:
  Result<void> find_folder();

  const std::string& path_;
  const UploadTarget& target_;
  std::optional<disks::DiskFolder> disks_;
  disks::Descriptor folder_, file_;
  std::int64_t have_ = 0, most_ = 0;
};

}  // namespace vg::uploads
