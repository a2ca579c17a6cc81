// How images come into the store: from registries and archives by skopeo, and disks as they are.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <stop_token>

#include "base/image_limits.h"
#include "disks/convert.h"
#include "disks/folder.h"
#include "disks/registry.h"
#include "images/access.h"
#include "images/image_store.h"
#include "images/layer.h"
#include "images/records.h"
#include "images/registry_client.h"
#include "images/tree.h"
#include "json/access.h"
#include "json/document.h"

namespace vg::images {
namespace {

// Names that no registry has.
constexpr std::string_view local_registry = "virtgate.local";
constexpr const char* source_name = "source";

Failed fetch_failed(std::string_view what) {
  return fail(Status::internal_error(fmt::format("{}: {}", what, std::strerror(errno))));
}

// As registries have them: printable, without blanks, and not an option.
Result<void> check_reference(std::string_view reference) {
  const bool good = !reference.empty() && reference.size() <= limits::image_reference_bytes_max &&
                    !reference.starts_with('-') &&
                    std::ranges::all_of(reference, [](char c) { return c > ' ' && c < 0x7f; });
  if (good) return {};
  return fail(Status::bad_request("an image reference must be of the form HOST/PATH:TAG"));
}

// What skopeo brought.
struct Brought {
  std::string digest, architecture;
  std::vector<std::string> layers;  // digests, the lowest first
};
Result<Brought> read_brought(const WorkFolder& work, const std::string& wanted_architecture) {
  const std::string folder = fmt::format("{}/{}", work.path(), skopeo_folder);
  const auto text = disks::read_head(AT_FDCWD, folder + "/manifest.json", limits::mib);
  if (!text) return fail(Status::bad_request("the image has no manifest"));
  auto manifest = disks::read_manifest(*text);
  if (!manifest) return fail(Status::bad_request(std::move(manifest.error().message)));
  if (hex_of(manifest->config).empty() ||
      std::ranges::any_of(manifest->layers, [](const auto& layer) { return hex_of(layer).empty(); }))
    return fail(Status::bad_request("the manifest of the image has digests other than sha256"));
  const auto config = disks::read_head(AT_FDCWD, fmt::format("{}/{}", folder, hex_of(manifest->config)), limits::mib);
  const auto document = config ? json::Document::parse(*config) : Result<json::Document>(fail(Status::bad_request("")));
  std::string architecture(document ? json::get_string_or(document->root(), "architecture") : std::string_view());
  if (!wanted_architecture.empty() && !architecture.empty() && architecture != wanted_architecture)
    return fail(Status::bad_request(
        fmt::format("the image is for {}, and this node is {}", architecture.substr(0, 32), wanted_architecture)));
  return Brought{.digest = "sha256:" + sha256_hex(*text),
                 .architecture = std::move(architecture),
                 .layers = std::move(manifest->layers)};
}

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// A layer that is here already is not unpacked again; its size is in the file beside it.
Result<LayerRecord> provide_layer(const std::string& store, const WorkFolder& work, const std::string& digest,
                                  const std::function<Result<std::int64_t>(const std::string&)>& make) {
  const std::string place = fmt::format("{}/layers/{}", store, hex_of(digest)), size_file = place + "/size";
  if (!is_there(place)) {
    const std::string part = fmt::format("{}/layer-{}", work.path(), hex_of(digest));
    if (::mkdir(part.c_str(), 0700) != 0 || ::mkdir((part + "/files").c_str(), 0700) != 0)
      return fetch_failed("a folder cannot be made");
    const auto bytes = make(part + "/files");
    if (!bytes) return fail(bytes.error());
    if (auto wrote = write_record(part + "/size", fmt::to_string(*bytes)); !wrote)
      return fail(std::move(wrote.error()));
    // Somebody else may have been faster, with the same.
    if (auto named = rename_synced(part, place); !named && !is_there(place)) return fail(std::move(named.error()));
  }
  const auto text = disks::read_head(AT_FDCWD, size_file, 32);
  return LayerRecord{.digest = digest, .bytes = text ? std::strtoll(text->c_str(), nullptr, 10) : 0};
}

// The tree of an image and what is known of it, under its digest; then the reference.
Result<void> install(const std::string& store, const WorkFolder& work, const ImageRecord& record,
                     const ReferenceRecord& reference) {
  const std::string place = fmt::format("{}/images/{}", store, hex_of(record.digest));
  if (!is_there(place)) {
    const std::string part = work.path() + "/image", root = part + "/root";
    if (::mkdir(part.c_str(), 0700) != 0 || ::mkdir(root.c_str(), 0700) != 0)
      return fetch_failed("a folder cannot be made");
    for (const LayerRecord& layer : record.layers)
      if (auto put = put_layer(fmt::format("{}/layers/{}/files", store, hex_of(layer.digest)), root); !put) return put;
    if (auto wrote = write_record(part + "/image.json", to_text(record)); !wrote) return wrote;
    if (auto named = rename_synced(part, place); !named && !is_there(place)) return named;
  }
  return write_record(fmt::format("{}/references/{}", store, sha256_hex(reference.reference)), to_text(reference));
}

// From what skopeo brought to a name in the store. `known`: what is known of it beside its digest.
Result<void> take_over(const std::string& store, const WorkFolder& work, ReferenceRecord known,
                       const std::string& architecture, const std::stop_token& stop) {
  // Whoever removes layers that nothing names must not do so now.
  const auto shared = StoreLock::take(store + "/.lock", StoreLock::Kind::shared);
  if (!shared) return fetch_failed("the image store cannot be locked");
  auto brought = read_brought(work, architecture);
  if (!brought) return fail(std::move(brought.error()));
  ImageRecord record{.digest = brought->digest, .architecture = brought->architecture, .layers = {}};
  for (const std::string& digest : brought->layers) {
    if (stop.stop_requested()) return fail(Status::unavailable("nobody waits for the image any more"));
    const std::string blob = fmt::format("{}/{}/{}", work.path(), skopeo_folder, hex_of(digest));
    auto layer = provide_layer(store, work, digest, [&](const std::string& folder) {
      return unpack_layer(blob, folder, {.bytes_max = room_in(store), .entries_max = limits::archive_entries_max});
    });
    if (!layer) return fail(std::move(layer.error()));
    record.layers.push_back(std::move(*layer));
    ::unlink(blob.c_str());  // not needed any more, and the disk may be small
  }
  known.digest = record.digest;
  return install(store, work, record, known);
}

// What skopeo is to read, in the folder. An archive of OCI is unpacked here: skopeo would give its files the owners
// that the archive names, which only root may. By a link otherwise: a colon in the path would be the beginning of a
// tag.
Result<std::string> source_of(const std::string& file, const WorkFolder& work) {
  struct stat info{};
  if (::stat(file.c_str(), &info) != 0) return fetch_failed(fmt::format("{} cannot be read", file));
  const std::string source = fmt::format("{}/{}", work.path(), source_name);
  if (S_ISREG(info.st_mode) && is_oci_archive(file)) {
    if (::mkdir(source.c_str(), 0700) != 0) return fetch_failed("a folder cannot be made");
    const auto bytes =
        unpack_layer(file, source, {.bytes_max = room_in(work.path()), .entries_max = limits::archive_entries_max});
    if (!bytes) return fail(bytes.error());
    return fmt::format("oci:{}", source_name);
  }
  if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode))
    return fail(Status::bad_request(fmt::format("{} is neither a file nor a folder", file)));
  std::error_code failed;
  const auto absolute = std::filesystem::absolute(file, failed);
  if (failed || ::symlink(absolute.c_str(), source.c_str()) != 0)
    return fetch_failed(fmt::format("{} cannot be read", file));
  return fmt::format("{}:{}", S_ISDIR(info.st_mode) ? "oci" : "docker-archive", source_name);
}

// A copy that has its holes.
Result<std::int64_t> copy_disk(const std::string& from, const std::string& to) {
  const disks::Descriptor in(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  const disks::Descriptor out(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400));
  if (!in || !out) return fetch_failed(fmt::format("{} cannot be copied", from));
  std::array<char, 64 * 1024> buffer{};
  std::int64_t at = 0, bytes = 0;
  while (true) {
    const ssize_t got = ::read(in.get(), buffer.data(), buffer.size());
    if (got < 0) return fetch_failed(fmt::format("{} cannot be read", from));
    if (got == 0) break;
    const std::string_view piece(buffer.data(), static_cast<std::size_t>(got));
    if (piece.find_first_not_of('\0') != piece.npos) {
      if (::pwrite(out.get(), piece.data(), piece.size(), at) != got) return fetch_failed("a disk cannot be written");
      bytes += got;
    }
    at += got;
  }
  if (::ftruncate(out.get(), at) != 0 || ::fdatasync(out.get()) != 0) return fetch_failed("a disk cannot be written");
  return bytes;
}

}  // namespace

std::int64_t ImageStore::room() const { return room_in(folder_); }

Result<UsableImage> ImageStore::pull(const PullRequest& request, PullPolicy policy, const std::stop_token& stop) {
  if (auto checked = check_reference(request.reference); !checked) return fail(std::move(checked.error()));
  // Whoever pulls the same waits here, and takes what the first one brought.
  const auto own = StoreLock::await(fmt::format("{}/locks/{}", folder_, sha256_hex(request.reference)), stop);
  if (!own) return fetch_failed("the image store cannot be locked");
  if (auto image = find_usable(request); image && (policy != PullPolicy::always || image->loaded))
    return std::move(*image);
  if (registry_of(request.reference) == local_registry)
    return fail(Status::unavailable(fmt::format(
        "failed to pull image {}: it is of this host alone; load it with virtgate image load", request.reference)));
  const auto work = WorkFolder::make(folder_ + "/work");
  if (!work) return fail(work.error());
  const RegistryClient registry(*work, request, blocked_, stop);
  const auto digest = registry.ask();
  if (!digest) return fail(digest.error());
  const std::string account = account_of(key_, request);
  const auto now = std::chrono::system_clock::now();
  if (auto here = read_usable(request.reference)) {
    note_accepted(*here, account, now);
    if (here->source == *digest || policy != PullPolicy::always) {
      if (auto wrote = write_reference(*here); !wrote) return fail(std::move(wrote.error()));
      return found(request.reference);
    }
  }
  if (policy == PullPolicy::never)
    return fail(Status::bad_request(fmt::format("the image store has no image {}", request.reference)));
  ReferenceRecord known{.reference = request.reference, .digest = {}, .source = *digest};
  note_accepted(known, account, now);
  if (auto brought = registry.bring(*digest); !brought) return fail(std::move(brought.error()));
  if (auto taken = take_over(folder_, *work, std::move(known), request.architecture, stop); !taken)
    return fail(std::move(taken.error()));
  return found(request.reference);
}

// What was just put there.
Result<UsableImage> ImageStore::found(std::string_view reference) const {
  auto image = find(reference);
  if (!image) return fail(Status::internal_error("the image came and is gone"));
  return UsableImage(std::move(*image));
}

Result<UsableImage> ImageStore::load_archive(const std::string& file, const std::string& reference) {
  if (auto checked = check_reference(reference); !checked) return fail(std::move(checked.error()));
  const auto work = WorkFolder::make(folder_ + "/work");
  if (!work) return fail(work.error());
  const auto source = source_of(file, *work);
  if (!source) return fail(source.error());
  if (auto brought = bring_from(*work, *source); !brought) return fail(std::move(brought.error()));
  if (auto taken = take_over(folder_, *work, {.reference = reference, .digest = {}, .loaded = true}, {}, {}); !taken)
    return fail(std::move(taken.error()));
  return found(reference);
}

Result<UsableImage> ImageStore::load_disk(const std::string& file, const std::string& reference) {
  if (auto checked = check_reference(reference); !checked) return fail(std::move(checked.error()));
  std::error_code failed;
  const std::string real = std::filesystem::canonical(file, failed).native();  // links are the operator's own
  if (failed) return fail(Status::bad_request(fmt::format("{} cannot be read: {}", file, failed.message())));
  if (auto format = inspect_disk(real); !format) return fail(std::move(format.error()));
  const auto hex = sha256_of_file(file);
  if (!hex) return fail(hex.error());
  const auto shared = StoreLock::take(folder_ + "/.lock", StoreLock::Kind::shared);
  const auto work = WorkFolder::make(folder_ + "/work");
  if (!shared) return fetch_failed("the image store cannot be locked");
  if (!work) return fail(work.error());
  auto layer = provide_layer(folder_, *work, "sha256:" + *hex, [&](const std::string& folder) -> Result<std::int64_t> {
    if (::mkdir((folder + "/disk").c_str(), 0700) != 0) return fetch_failed("a folder cannot be made");
    return copy_disk(file, folder + "/disk/disk.img");
  });
  if (!layer) return fail(std::move(layer.error()));
  ImageRecord record{.digest = {}, .architecture = {}, .layers = {*layer}};
  record.digest = "sha256:" + sha256_hex("disk " + layer->digest);
  if (auto done = install(folder_, *work, record, {.reference = reference, .digest = record.digest, .loaded = true});
      !done)
    return fail(std::move(done.error()));
  return found(reference);
}

}  // namespace vg::images
