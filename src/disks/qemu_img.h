// qemu-img, run on images of others: nothing else in this program runs it. It can be handed only what was looked at
// here, with the format that its first bytes say: an image whose format it guesses may have it open other files.
#pragma once

#include <cstdint>
#include <string>

#include "disks/convert.h"
#include "disks/image.h"
#include "disks/outcome.h"

namespace vg::disks {

enum class TakenFormats : std::uint8_t { every, of_container_disks };  // RUN-CD-03: raw and qcow2

// An image that is one file, complete in itself.
class CheckedImage {
 public:
  // `file` is of the folder, or an absolute path with AT_FDCWD.
  static Outcome<CheckedImage> look(int folder, const std::string& file, TakenFormats taken);
  ImageFormat format() const { return format_; }
  int folder() const { return folder_; }
  // As qemu-img takes it: never with what it would read as a protocol ("json:", "nbd:").
  const std::string& file() const { return file_; }

 private:
  CheckedImage(int folder, std::string file, ImageFormat format)
      : folder_(folder), file_(std::move(file)), format_(format) {}
  int folder_;
  std::string file_;
  ImageFormat format_;
};

// Both say in our own words what is wrong: qemu-img's have paths of this host in them, and go to the log.
Outcome<std::int64_t> virtual_size(const CheckedImage& image);
// Makes new_image_file in the folder of the image, of `size` at most.
Outcome<> convert_to_raw(const CheckedImage& image, std::int64_t size, const Progress& progress);

}  // namespace vg::disks
