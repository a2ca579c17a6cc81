#include "images/image_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>

#include "base/image_limits.h"
#include "base/random.h"
#include "disks/convert.h"
#include "disks/folder.h"
#include "disks/image.h"
#include "disks/qemu_img.h"
#include "images/access.h"
#include "images/records.h"
#include "images/tree.h"

namespace vg::images {
namespace {

std::int64_t bytes_of(const ImageRecord& record) {
  std::int64_t bytes = 0;
  for (const LayerRecord& layer : record.layers) bytes += layer.bytes;
  return bytes;
}

// What is in the store at one moment.
struct Contents {
  std::vector<Image> images;                                  // one for each reference
  std::map<std::string, ImageRecord, std::less<>> by_digest;  // also those without a reference
};

std::optional<Image> read_reference(const std::string& folder, const std::string& file) {
  const std::string path = fmt::format("{}/references/{}", folder, file);
  const auto reference = read_reference_record(path);
  if (!reference) return std::nullopt;
  const auto record = read_image_record(fmt::format("{}/images/{}/image.json", folder, hex_of(reference->digest)));
  struct stat info{};
  if (!record || ::stat(path.c_str(), &info) != 0) return std::nullopt;
  return Image{.reference = reference->reference,
               .digest = reference->digest,
               .bytes = bytes_of(*record),
               .loaded = reference->loaded,
               .used_at = std::chrono::system_clock::from_time_t(info.st_mtime)};
}

Contents contents_of(const std::string& folder) {
  Contents all;
  for (const std::string& file : entries_of(folder + "/references"))
    if (auto image = read_reference(folder, file)) all.images.push_back(std::move(*image));
  for (const std::string& name : entries_of(folder + "/images"))
    if (auto record = read_image_record(fmt::format("{}/images/{}/image.json", folder, name)))
      all.by_digest.emplace(record->digest, std::move(*record));
  return all;
}

std::string reference_file(const std::string& folder, std::string_view reference) {
  return fmt::format("{}/references/{}", folder, sha256_hex(reference));
}

void remove_quietly(const std::string& path) { (void)disks::remove_tree(AT_FDCWD, path); }

// Images that no reference names, then layers that no image has. Only with the store to oneself: somebody who pulls has
// layers that nothing names yet.
void sweep(const std::string& folder) {
  const auto lock = StoreLock::take(folder + "/.lock", StoreLock::Kind::exclusive_if_free);
  if (!lock) return;
  const Contents all = contents_of(folder);
  std::set<std::string, std::less<>> images, layers;
  for (const Image& image : all.images) images.emplace(hex_of(image.digest));
  for (const auto& [digest, record] : all.by_digest)
    if (images.contains(hex_of(digest)))
      for (const LayerRecord& layer : record.layers) layers.emplace(hex_of(layer.digest));
  for (const std::string& name : entries_of(folder + "/images"))
    if (!images.contains(name)) remove_quietly(fmt::format("{}/images/{}", folder, name));
  for (const std::string& name : entries_of(folder + "/layers"))
    if (!layers.contains(name)) remove_quietly(fmt::format("{}/layers/{}", folder, name));
}

// What would come free without this image: layers that no other image has.
std::int64_t own_bytes(const Contents& all, const Image& image) {
  std::map<std::string_view, int> uses;
  for (const Image& one : all.images)
    if (const auto record = all.by_digest.find(one.digest); record != all.by_digest.end())
      for (const LayerRecord& layer : record->second.layers) ++uses[layer.digest];
  std::int64_t bytes = 0;
  if (const auto record = all.by_digest.find(image.digest); record != all.by_digest.end())
    for (const LayerRecord& layer : record->second.layers) bytes += uses[layer.digest] == 1 ? layer.bytes : 0;
  return bytes;
}

}  // namespace

Result<ImageStore> ImageStore::open(const std::string& folder) {
  for (const std::string_view below : {"", "/references", "/images", "/layers", "/work", "/locks"}) {
    const std::string path = fmt::format("{}{}", folder, below);
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
      return fail(Status::internal_error(fmt::format("the folder {} cannot be made: {}", path, std::strerror(errno))));
  }
  WorkFolder::remove_abandoned(folder + "/work");
  const std::string file = folder + "/key";
  auto key = disks::read_head(AT_FDCWD, file, limits::image_key_bytes);
  if (!key || key->size() < limits::image_key_bytes) {
    if (auto wrote = write_record(file, random_token()); !wrote) return fail(std::move(wrote.error()));
    key = disks::read_head(AT_FDCWD, file, limits::image_key_bytes);
    if (!key) return fail(Status::internal_error("the key of the image store cannot be read"));
  }
  return ImageStore(folder, std::move(*key));
}

std::vector<Image> ImageStore::list() const {
  auto images = contents_of(folder_).images;
  std::ranges::sort(images, {}, &Image::reference);
  return images;
}

std::optional<Image> ImageStore::find(std::string_view reference) const {
  const std::string file = reference_file(folder_, reference);
  auto image = read_reference(folder_, file.substr(file.rfind('/') + 1));
  if (image) ::utimensat(AT_FDCWD, file.c_str(), nullptr, 0);
  return image;
}

// Nothing where the image behind it is gone.
std::optional<ReferenceRecord> ImageStore::read_usable(std::string_view reference) const {
  if (!find(reference)) return std::nullopt;
  return read_reference_record(reference_file(folder_, reference));
}

Result<void> ImageStore::write_reference(const ReferenceRecord& record) const {
  return write_record(reference_file(folder_, record.reference), to_text(record));
}

std::optional<UsableImage> ImageStore::find_usable(const PullRequest& request) const {
  const auto record = read_usable(request.reference);
  if (!record || !may_use(*record, account_of(key_, request), std::chrono::system_clock::now())) return std::nullopt;
  auto image = find(request.reference);
  if (!image || image->digest != record->digest) return std::nullopt;
  return UsableImage(std::move(*image));
}

Result<void> ImageStore::remove(std::string_view reference) {
  const std::string file = reference_file(folder_, reference);
  if (::unlink(file.c_str()) != 0)
    return fail(Status::bad_request(
        fmt::format("the image store has no \"{}\"", reference.substr(0, limits::image_reference_bytes_max))));
  sweep(folder_);
  return {};
}

std::int64_t ImageStore::collect(std::int64_t bytes, const std::set<std::string, std::less<>>& digests_in_use) {
  Contents all = contents_of(folder_);
  std::ranges::sort(all.images, {}, &Image::used_at);
  std::int64_t freed = 0;
  while (freed < bytes) {
    const auto next = std::ranges::find_if(
        all.images, [&](const Image& image) { return !image.loaded && !digests_in_use.contains(image.digest); });
    if (next == all.images.end()) break;
    freed += own_bytes(all, *next);
    ::unlink(reference_file(folder_, next->reference).c_str());
    all.images.erase(next);
  }
  sweep(folder_);
  return freed;
}

std::string ImageStore::root_of(const Image& image) const {
  return fmt::format("{}/images/{}/root", folder_, hex_of(image.digest));
}

Result<std::string> ImageStore::disk_of(const UsableImage& image, std::string_view path) const {
  if (!path.empty()) return file_of(image, path);
  auto folder = resolve(root_of(image), "/disk", true);
  if (!folder) return folder;
  const auto names = entries_of(*folder);
  if (names.size() != 1)
    return fail(Status::bad_request(fmt::format("the folder /disk of the image {} must have exactly one file, not {}",
                                                image.reference, names.size())));
  return resolve(root_of(image), "/disk/" + names.front(), false);
}

Result<std::string> ImageStore::file_of(const UsableImage& image, std::string_view path) const {
  return resolve(root_of(image), path, false);
}

// By the first bytes, then by qemu-img, which must agree; nothing that names another file.
Result<std::string> inspect_disk(const std::string& disk) {
  const auto checked = disks::CheckedImage::look(AT_FDCWD, disk, disks::TakenFormats::of_container_disks);
  if (!checked) return fail(Status::bad_request(checked.error().message));
  if (const auto size = disks::virtual_size(*checked); !size) {
    const bool is_ours = size.error().error != DiskError::bad_image;
    return fail(is_ours ? Status::internal_error(size.error().message) : Status::bad_request(size.error().message));
  }
  return std::string(disks::name_of(checked->format()));
}

// What is in the store never changes, so what was found out stays true: it is written down beside the image.
Result<std::string> ImageStore::format_of(const std::string& disk) const {
  const std::string images = folder_ + "/images/";
  const std::string note = disk.starts_with(images)
                               ? fmt::format("{}{}/format-{}", images, disk.substr(images.size(), 64),
                                             sha256_hex(disk.substr(images.size())))
                               : std::string();
  if (!note.empty())
    if (const auto known = disks::read_head(AT_FDCWD, note, 16); known && (*known == "raw" || *known == "qcow2"))
      return *known;
  auto format = inspect_disk(disk);
  if (format && !note.empty()) (void)write_record(note, *format);
  return format;
}

}  // namespace vg::images
