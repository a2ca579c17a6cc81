// The images that a VMI names: found in the store or pulled, by their policies (spec launch 9, RUN-CD-01..03).
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/image_limits.h"
#include "domain/refusal.h"
#include "images/image_store.h"
#include "launch/credentials.h"
#include "launch/planned.h"

namespace vg::launch {
namespace {

struct Named {
  std::string_view reference, policy, secret, field;
};

// Kubernetes' own default: what may change is asked for anew.
bool always_pulls(const Named& named) {
  if (!named.policy.empty()) return named.policy == "Always";
  const std::string_view last = named.reference.substr(named.reference.rfind('/') + 1);
  return !named.reference.contains('@') && (!last.contains(':') || last.ends_with(":latest"));
}

Result<images::PullRequest> request_of(const Named& named, const Mounted& mounted, std::string_view architecture) {
  images::PullRequest request{.reference = std::string(named.reference), .architecture = std::string(architecture)};
  if (named.secret.empty()) return request;
  const json::Object* secret = mounted("Secret", named.secret);
  if (!secret)
    return domain::refuse("", fmt::format("{}.imagePullSecret", named.field),
                          fmt::format("the Secret {} does not exist", domain::in_quotes(named.secret)));
  if (auto account = account_for(*secret, named.reference)) {
    request.user = std::move(account->user);
    request.password = std::move(account->password);
  }
  return request;
}

// The nodes' folder is beside the store.
void make_room(images::ImageStore& store) {
  const std::int64_t room = store.room();
  if (room >= limits::image_room_min) return;
  const std::string state = store.folder().substr(0, store.folder().rfind('/'));
  (void)store.collect(limits::image_room_wanted - room, images_in_use(state + "/nodes"));
}

// What was loaded by hand is taken as it is: there may be no registry that has it.
Result<images::Image> provide(images::ImageStore& store, const Named& named, const Mounted& mounted,
                              std::string_view architecture) {
  auto here = store.find(named.reference);
  if (here && (here->loaded || !always_pulls(named))) return std::move(*here);
  if (!here && named.policy == "Never")
    return domain::refuse(
        "RUN-CD-07", fmt::format("{}.image", named.field),
        fmt::format("{}: is not in the image store, and imagePullPolicy is Never", domain::in_quotes(named.reference)));
  auto request = request_of(named, mounted, architecture);
  if (!request) return fail(std::move(request.error()));
  make_room(store);
  return store.pull(*request);
}

Result<ContainerImage> disk_image(images::ImageStore& store, const Mounted& mounted, std::string_view architecture,
                                  const domain::kubevirt::Volume& volume, std::string_view field) {
  const auto given = volume.container_disk();
  auto image = provide(store, {given.image(), given.image_pull_policy(), given.image_pull_secret(), field}, mounted,
                       architecture);
  if (!image) return fail(std::move(image.error()));
  auto disk = store.disk_of(*image, given.path());
  if (!disk) return fail(std::move(disk.error()));
  auto format = store.format_of(*disk);
  if (!format) return fail(std::move(format.error()));
  return ContainerImage{.volume = std::string(volume.name()),
                        .disk = std::move(*disk),
                        .format = std::move(*format),
                        .digest = image->digest};
}

Result<ContainerImage> boot_image(images::ImageStore& store, const Mounted& mounted, std::string_view architecture,
                                  const domain::kubevirt::KernelBootContainer& given) {
  auto image = provide(store,
                       {given.image(), given.image_pull_policy(), given.image_pull_secret(),
                        "spec.domain.firmware.kernelBoot.container"},
                       mounted, architecture);
  if (!image) return fail(std::move(image.error()));
  ContainerImage found{.volume = {}, .disk = {}, .format = {}, .digest = image->digest};
  for (const auto& [path, file] :
       {std::pair(given.kernel_path(), &found.kernel), {given.initrd_path(), &found.initrd}}) {
    if (path.empty()) continue;
    auto resolved = store.file_of(*image, path);
    if (!resolved) return fail(std::move(resolved.error()));
    *file = std::move(*resolved);
  }
  return found;
}

std::vector<std::filesystem::path> folders_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) found.push_back(entry.path());
  return found;
}

}  // namespace

std::set<std::string, std::less<>> images_in_use(const std::string& nodes_folder) {
  std::set<std::string, std::less<>> digests;
  for (const auto& node : folders_in(nodes_folder))
    for (const auto& guest : folders_in(node / "guests")) {
      const auto text = read_file((guest / used_images_file).native(), limits::image_digests_bytes_max);
      std::string_view rest = text ? std::string_view(*text) : std::string_view();
      while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        digests.emplace(line);
      }
    }
  return digests;
}

Result<std::vector<ContainerImage>> provide_images(images::ImageStore& store, const json::Value& object,
                                                   const Mounted& mounted) {
  const domain::Vmi vmi(object);
  std::vector<ContainerImage> found;
  const auto volumes = vmi.spec.volumes();
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    if (!volumes[i].container_disk()) continue;
    auto image = disk_image(store, mounted, vmi.spec.architecture(), volumes[i], field_of(i, "containerDisk"));
    if (!image) return fail(std::move(image.error()));
    found.push_back(std::move(*image));
  }
  if (const auto boot = vmi.dom.firmware().kernel_boot().container()) {
    auto image = boot_image(store, mounted, vmi.spec.architecture(), boot);
    if (!image) return fail(std::move(image.error()));
    found.push_back(std::move(*image));
  }
  return found;
}

}  // namespace vg::launch
