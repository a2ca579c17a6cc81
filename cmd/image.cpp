#include "image.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "base/time_rfc3339.h"
#include "command.h"
#include "confine.h"
#include "images/image_store.h"
#include "listing.h"

namespace vg::cmd {
namespace {

using Arguments = std::span<const std::string_view>;

Flag image_state_flag(std::string& state) {
  return {"state", '\0', &state, "DIR", "the state folder of the server (default as for serve)"};
}

// As whoever the server runs as: what root made there could not be used.
Result<images::ImageStore> open_store(const std::string& state) {
  const auto place = settle_user({}, state);
  if (!place) return fail(place.error());
  std::error_code error;
  std::filesystem::create_directories(*place, error);
  if (!error) std::filesystem::permissions(*place, std::filesystem::perms::owner_all, error);
  if (error) return fail(Status::internal_error(fmt::format("state folder {}: {}", place->native(), error.message())));
  return images::ImageStore::open((*place / "images").native());
}

// By a descriptor where we are about to become somebody else: the file may lie where that one may not look, and skopeo,
// which reads it, has what we have open.
Result<std::string> reachable_file(const std::string& file) {
  std::string path = std::filesystem::absolute(file).native();
  const int opened =
      ::open(path.c_str(), O_RDONLY | O_NONBLOCK);  // NOLINT: children should have it; a pipe is not waited for
  if (opened < 0)
    return fail(Status::bad_request(
        fmt::format("{} cannot be read: {}", path, std::error_code(errno, std::generic_category()).message())));
  if (::geteuid() == 0) return fmt::format("/proc/self/fd/{}", opened);
  ::close(opened);
  return path;
}

int complain(std::string_view command, const Status& why, Output output) {
  fmt::print(output.err, "virtgate {}: {}\n", command, why.message);
  return exit_failed;
}

std::string short_digest(const images::Image& image) { return image.digest.substr(0, image.digest.find(':') + 13); }

void print_images(const std::vector<images::Image>& found, ListingFormat format, std::FILE* out) {
  if (format == ListingFormat::table) {
    if (!found.empty()) fmt::print(out, "{:<48} {:<20} {:>9}  {}\n", "IMAGE", "DIGEST", "MIB", "LAST USED");
    for (const images::Image& image : found)
      fmt::print(out, "{:<48} {:<20} {:>9.1f}  {}\n", image.reference, short_digest(image),
                 static_cast<double>(image.bytes) / (1 << 20), print_rfc3339(Timestamp::from(image.used_at)));
    return;
  }
  std::string text = "[";
  for (const images::Image& image : found)
    append_row(text, {{"image", image.reference},
                      {"digest", image.digest},
                      {"bytes", fmt::to_string(image.bytes)},
                      {"lastUsed", print_rfc3339(Timestamp::from(image.used_at))}});
  fmt::print(out, "{}]\n", text);
}

}  // namespace

int run_image_load(Arguments arguments, Output output) {
  std::string state;
  bool disk = false;
  const std::vector<Flag> flags{image_state_flag(state),
                                {"disk", '\0', &disk, "", "FILE is a disk (raw or qcow2), not an archive of an image"}};
  const auto read = read_command(
      {.name = "image load",
       .synopsis = "FILE IMAGE [flags]",
       .description = "Puts a container disk into the image store of a server, under the name that containerDisk.image "
                      "and kernelBoot.container.image may then have: from an archive of docker save or podman save, an "
                      "OCI archive or folder, or a disk as it is. Images that were loaded are never pulled.",
       .examples = "virtgate image load demo.tar virtgate.local/demo:1\n"
                   "virtgate image load --disk debian-12.qcow2 virtgate.local/debian:12",
       .argument = "FILE",
       .arguments_min = 2,
       .arguments_max = 2},
      flags, arguments, output);
  if (!read) return read.error();
  const auto file = reachable_file((*read)[0]);
  if (!file) return complain("image load", file.error(), output);
  auto store = open_store(state);
  if (!store) return complain("image load", store.error(), output);
  const auto image = disk ? store->load_disk(*file, (*read)[1]) : store->load_archive(*file, (*read)[1]);
  if (!image) return complain("image load", image.error(), output);
  fmt::print(output.out, "{} {}\n", image->reference, image->digest);
  return exit_ok;
}

int run_image_list(Arguments arguments, Output output) {
  std::string state;
  const auto format = read_listing({.name = "image list",
                                    .synopsis = "[flags]",
                                    .description = "Lists the images that the image store of a server has."},
                                   {image_state_flag(state)}, arguments, output);
  if (!format) return format.error();
  const auto store = open_store(state);
  if (!store) return complain("image list", store.error(), output);
  print_images(store->list(), *format, output.out);
  return exit_ok;
}

int run_image_remove(Arguments arguments, Output output) {
  std::string state;
  const auto read = read_command(
      {.name = "image remove",
       .synopsis = "IMAGE [flags]",
       .description = "Removes an image from the image store of a server. Guests that run on it keep what they have.",
       .argument = "IMAGE",
       .arguments_min = 1,
       .arguments_max = 1},
      std::vector<Flag>{image_state_flag(state)}, arguments, output);
  if (!read) return read.error();
  auto store = open_store(state);
  if (!store) return complain("image remove", store.error(), output);
  if (auto removed = store->remove((*read)[0]); !removed) return complain("image remove", removed.error(), output);
  return exit_ok;
}

}  // namespace vg::cmd
