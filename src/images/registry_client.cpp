#include "images/registry_client.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>

#include "base/base64.h"
#include "base/image_limits.h"
#include "disks/address.h"
#include "disks/fetch.h"
#include "disks/program.h"
#include "disks/way_out.h"
#include "images/tree.h"
#include "json/write.h"

namespace vg::images {
namespace {

constexpr const char* account_file = "accounts.json";
constexpr const char* policy_file = "/etc/containers/policy.json";

// The registry is replaced, the path stays.
std::string at_mirror(std::string_view reference, std::string_view mirror) {
  if (mirror.empty()) return std::string(reference);
  const std::string_view registry = registry_of(reference);
  const std::string_view path = reference.starts_with(registry) ? reference.substr(registry.size() + 1) : reference;
  return fmt::format("{}/{}", mirror, path);
}

// "quay.io/a/b:1@sha256:..." -> "quay.io/a/b"
std::string_view without_version(std::string_view reference) {
  reference = reference.substr(0, reference.find('@'));
  const std::size_t last = reference.rfind('/') == reference.npos ? 0 : reference.rfind('/');
  return reference.substr(0, reference.find(':', last));
}

Result<void> write_accounts(const WorkFolder& work, const PullRequest& request, std::string_view registry) {
  json::Object account{{"auth", base64_encode(fmt::format("{}:{}", request.user, request.password))}};
  std::string text;
  json::write(json::Object{{"auths", json::Object{{registry, std::move(account)}}}}, text);
  return write_record(fmt::format("{}/{}", work.path(), account_file), text);
}

// Who signed an image is asked where the administrator has said what to ask for.
std::vector<std::string> skopeo() {
  std::vector<std::string> command{"skopeo", "--tmpdir", "."};
  if (::access(policy_file, R_OK) != 0) command.emplace_back("--insecure-policy");
  return command;
}

// What skopeo means: its lines are made for logs, time="..." level=fatal msg="...".
std::string skopeo_complaint(const disks::Ended& ended) {
  std::string line = disks::complaint(ended);
  constexpr std::string_view mark = "msg=\"";
  const auto at = line.find(mark);
  if (at == line.npos) return line;
  std::string text;
  for (std::size_t i = at + mark.size(); i < line.size() && line[i] != '"'; ++i) {
    if (line[i] == '\\' && i + 1 < line.size()) ++i;
    text += line[i];
  }
  return text;
}

// As with imports: no registry, and nobody whom it names, is asked in a network that is blocked.
Result<disks::WayOut> way_to(std::string_view registry, const std::string& blocked) {
  auto way = disks::way_out(blocked);
  if (!way) return fail(Status::unavailable(std::move(way.error().message)));
  if (way->proxy)
    if (auto allowed = disks::allowed_hosts(disks::split_host(registry, "443"), blocked); !allowed)
      return fail(Status::unavailable(std::move(allowed.error().message)));
  return std::move(*way);
}

Result<void> run_skopeo(disks::Program& program, std::string_view what, const disks::WayOut& way) {
  way.guide(program);
  const auto ended = disks::run(program);
  if (!ended && ended.error().error == DiskError::not_installed)
    return fail(Status::internal_error(ended.error().message));
  if (!ended) return fail(Status::unavailable(fmt::format("{}: {}", what, ended.error().message)));
  if (ended->code == 0 && !ended->cut_short) return {};
  const std::string refusal = way.proxy ? way.proxy->refusal() : std::string();
  return fail(Status::unavailable(fmt::format("{}: {}", what, refusal.empty() ? skopeo_complaint(*ended) : refusal)));
}

std::int64_t bytes_in(const std::string& folder) {
  std::int64_t sum = 0;
  struct stat info{};
  for (const std::string& name : entries_of(folder))
    if (::lstat(fmt::format("{}/{}", folder, name).c_str(), &info) == 0) sum += info.st_size;
  return sum;
}

disks::Outcome<> is_wanted(const std::stop_token& stop) {
  if (!stop.stop_requested()) return {};
  return disks::failed(DiskError::pull, "nobody waits for it any more");
}

}  // namespace

std::int64_t room_in(const std::string& folder) {
  struct statvfs info{};
  if (::statvfs(folder.c_str(), &info) != 0) return 0;
  const auto free = static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize);
  return std::clamp<std::int64_t>(free - limits::disk_reserve_bytes, 0, limits::image_bytes_max);
}

std::string_view registry_of(std::string_view reference) {
  const std::string_view first = reference.substr(0, reference.find('/'));
  const bool is_host =
      first.size() < reference.size() && (first.contains('.') || first.contains(':') || first == "localhost");
  return is_host ? first : "docker.io";
}

std::string RegistryClient::source() const { return at_mirror(request_.reference, request_.mirror); }

// skopeo's options for a source have another name where there is a target, too.
Result<std::vector<std::string>> RegistryClient::command(std::string_view verb, std::string_view of_source) const {
  std::vector<std::string> words = skopeo();
  if (!request_.architecture.empty()) words.insert(words.end(), {"--override-arch", request_.architecture});
  words.emplace_back(verb);
  if (request_.insecure) words.push_back(fmt::format("--{}tls-verify=false", of_source));
  if (request_.user.empty()) {  // nobody else's, whatever this host has
    words.push_back(fmt::format("--{}no-creds", of_source));
    return words;
  }
  if (auto wrote = write_accounts(work_, request_, registry_of(source())); !wrote)
    return fail(std::move(wrote.error()));
  words.insert(words.end(), {fmt::format("--{}authfile", of_source), account_file});
  return words;
}

Result<std::string> RegistryClient::ask() const {
  const std::string what = fmt::format("failed to pull image {}", request_.reference);
  auto words = command("inspect", "");
  if (!words) return fail(std::move(words.error()));
  words->insert(words->end(), {"--raw", "docker://" + source()});
  const auto way = way_to(registry_of(source()), blocked_);
  if (!way) return fail(Status::unavailable(fmt::format("{}: {}", what, way.error().message)));
  std::string manifest;
  disks::Program program{.command = std::move(*words),
                         .folder = work_.descriptor(),
                         .bytes_max = static_cast<std::int64_t>(limits::mib),
                         .time_max = limits::digest_deadline,
                         .take =
                             [&](std::string_view text) {
                               manifest += text;
                               return manifest.size() <= limits::image_manifest_bytes_max;
                             },
                         .look = [&] { return is_wanted(stop_); }};
  if (auto ran = run_skopeo(program, what, *way); !ran) return fail(std::move(ran.error()));
  if (manifest.empty()) return fail(Status::unavailable(fmt::format("{}: the registry has no manifest", what)));
  return "sha256:" + sha256_hex(manifest);
}

Result<void> RegistryClient::bring(std::string_view digest) const {
  const std::string what = fmt::format("failed to pull image {}", request_.reference);
  auto words = command("copy", "src-");
  if (!words) return fail(std::move(words.error()));
  words->insert(words->end(), {"--quiet", fmt::format("docker://{}@{}", without_version(source()), digest),
                               fmt::format("dir:{}", skopeo_folder)});
  const auto way = way_to(registry_of(source()), blocked_);
  if (!way) return fail(Status::unavailable(fmt::format("{}: {}", what, way.error().message)));
  const std::int64_t room = room_in(work_.path());
  const std::string folder = fmt::format("{}/{}", work_.path(), skopeo_folder);
  disks::RateWatch rate(std::chrono::steady_clock::now());
  disks::Program program{.command = std::move(*words),
                         .folder = work_.descriptor(),
                         .bytes_max = room,
                         .image_bytes = room,
                         .time_max = limits::image_pull_time_max,
                         .look = [&]() -> disks::Outcome<> {
                           if (auto wanted = is_wanted(stop_); !wanted) return wanted;
                           const std::int64_t bytes = bytes_in(folder);
                           if (bytes > room) return disks::failed(DiskError::no_space, "there is no room for it");
                           if (rate.look(bytes, std::chrono::steady_clock::now())) return {};
                           return disks::failed(DiskError::pull, disks::too_slow());
                         }};
  return run_skopeo(program, what, *way);
}

Result<void> bring_from(const WorkFolder& work, const std::string& source) {
  std::vector<std::string> words = skopeo();
  words.insert(words.end(), {"copy", "--quiet", source, fmt::format("dir:{}", skopeo_folder)});
  const std::int64_t room = room_in(work.path());
  disks::Program program{.command = std::move(words),
                         .folder = work.descriptor(),
                         .bytes_max = room,
                         .image_bytes = room,
                         .time_max = limits::image_pull_time_max};
  return run_skopeo(program, "the image cannot be loaded", {});
}

}  // namespace vg::images
