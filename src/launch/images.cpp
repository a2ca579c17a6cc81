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
images::PullPolicy policy_of(const Named& named) {
  if (named.policy == "Never") return images::PullPolicy::never;
  if (!named.policy.empty())
    return named.policy == "Always" ? images::PullPolicy::always : images::PullPolicy::if_not_present;
  const std::string_view last = named.reference.substr(named.reference.rfind('/') + 1);
  const bool may_change = !named.reference.contains('@') && (!last.contains(':') || last.ends_with(":latest"));
  return may_change ? images::PullPolicy::always : images::PullPolicy::if_not_present;
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

// What a VMI's images are had with.
struct Source {
  images::ImageStore& store;
  const Mounted& mounted;
  std::string_view architecture;
  const Fetching& how;
};

// What was loaded by hand is taken as it is: there may be no registry that has it. Everything else is for those to whom
// its registry gives it, whatever the policy says.
Result<std::optional<images::UsableImage>> provide(const Source& from, const Named& named) {
  const images::PullPolicy policy = policy_of(named);
  auto request = request_of(named, from.mounted, from.architecture);
  const images::PullRequest anonymous{.reference = std::string(named.reference)};
  auto here = from.store.find_usable(request ? *request : anonymous);
  if (here && (here->loaded || policy != images::PullPolicy::always)) return here;
  if (policy == images::PullPolicy::never && !from.store.find(named.reference))
    return domain::refuse(
        "RUN-CD-07", fmt::format("{}.image", named.field),
        fmt::format("{}: is not in the image store, and imagePullPolicy is Never", domain::in_quotes(named.reference)));
  if (!request) return fail(std::move(request.error()));
  if (!from.how.network) return std::optional<images::UsableImage>();
  if (from.how.told) from.how.told(named.reference);
  make_room(from.store);
  auto pulled = from.store.pull(*request, policy, from.how.stop);
  if (!pulled) return fail(std::move(pulled.error()));
  return std::optional(std::move(*pulled));
}

using MaybeImage = Result<std::optional<ContainerImage>>;

MaybeImage disk_image(const Source& from, const domain::kubevirt::Volume& volume, std::string_view field) {
  const auto given = volume.container_disk();
  auto image = provide(from, {given.image(), given.image_pull_policy(), given.image_pull_secret(), field});
  if (!image) return fail(std::move(image.error()));
  if (!*image) return std::optional<ContainerImage>();
  auto disk = from.store.disk_of(**image, given.path());
  if (!disk) return fail(std::move(disk.error()));
  auto format = from.store.format_of(*disk);
  if (!format) return fail(std::move(format.error()));
  return ContainerImage{.volume = std::string(volume.name()),
                        .disk = std::move(*disk),
                        .format = std::move(*format),
                        .digest = (*image)->digest};
}

MaybeImage boot_image(const Source& from, const domain::kubevirt::KernelBootContainer& given) {
  auto image = provide(from, {given.image(), given.image_pull_policy(), given.image_pull_secret(),
                              "spec.domain.firmware.kernelBoot.container"});
  if (!image) return fail(std::move(image.error()));
  if (!*image) return std::optional<ContainerImage>();
  ContainerImage found{.volume = {}, .disk = {}, .format = {}, .digest = (*image)->digest};
  for (const auto& [path, file] :
       {std::pair(given.kernel_path(), &found.kernel), {given.initrd_path(), &found.initrd}}) {
    if (path.empty()) continue;
    auto resolved = from.store.file_of(**image, path);
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
    for (const auto& guest : folders_in(node / "shared")) {
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

Result<std::optional<std::vector<ContainerImage>>> provide_images(images::ImageStore& store, const json::Value& object,
                                                                  const Mounted& mounted, const Fetching& how) {
  const domain::Vmi vmi(object);
  const Source from{.store = store, .mounted = mounted, .architecture = vmi.spec.architecture(), .how = how};
  std::vector<ContainerImage> found;
  const auto volumes = vmi.spec.volumes();
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    if (!volumes[i].container_disk()) continue;
    auto image = disk_image(from, volumes[i], field_of(i, "containerDisk"));
    if (!image) return fail(std::move(image.error()));
    if (!*image) return std::optional<std::vector<ContainerImage>>();
    found.push_back(std::move(**image));
  }
  if (const auto boot = vmi.dom.firmware().kernel_boot().container()) {
    auto image = boot_image(from, boot);
    if (!image) return fail(std::move(image.error()));
    if (!*image) return std::optional<std::vector<ContainerImage>>();
    found.push_back(std::move(**image));
  }
  return std::optional(std::move(found));
}

}  // namespace vg::launch
