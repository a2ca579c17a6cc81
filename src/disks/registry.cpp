#include "disks/registry.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/base64.h"
#include "base/disk_limits.h"
#include "base/names.h"
#include "disks/address.h"
#include "disks/archive_reader.h"
#include "disks/fetch.h"
#include "disks/folder.h"
#include "disks/image.h"
#include "disks/program.h"
#include "disks/room.h"
#include "disks/way_out.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"

namespace vg::disks {
namespace {

constexpr const char* image_folder = ".part-image";
constexpr const char* accounts_file = ".part-accounts";
constexpr const char* authorities_folder = ".part-registry-authorities";
constexpr const char* layer_file = ".part-layer";
constexpr std::string_view registry_scheme = "docker://";

std::string_view digest_hex(std::string_view digest) {
  const std::size_t colon = digest.find(':');
  const std::string_view hex = colon == std::string_view::npos ? std::string_view() : digest.substr(colon + 1);
  const bool good = hex.size() >= 32 && hex.size() <= 128 &&
                    std::ranges::all_of(hex, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  return good ? hex : std::string_view();
}

Outcome<> write_text(int folder, const char* name, std::string_view text) {
  const Descriptor file(::openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, file_mode));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return system_failed("what the registry needs cannot be written");
  return {};
}

Outcome<std::string> read_text(int folder, const std::string& name) {
  const Descriptor file(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return failed(DiskError::pull, "the image has no manifest");
  std::string text(limits::mib, '\0');
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  return text;
}

std::string_view host_of(std::string_view url) {
  url.remove_prefix(std::min(registry_scheme.size(), url.size()));
  return url.substr(0, url.find('/'));
}

// How skopeo is told whom it talks to. Its options for a source have another name where there is a target, too.
Outcome<> add_access(int folder, const ImportRegistry& from, std::string_view of_source,
                     std::vector<std::string>& command) {
  if (from.insecure) command.push_back(fmt::format("--{}tls-verify=false", of_source));
  if (!from.authorities.empty()) {
    if (::mkdirat(folder, authorities_folder, 0700) != 0 && errno != EEXIST)
      return system_failed("a folder cannot be made");
    if (auto put = write_text(folder, fmt::format("{}/ca.crt", authorities_folder).c_str(), from.authorities); !put)
      return put;
    command.insert(command.end(), {fmt::format("--{}cert-dir", of_source), authorities_folder});
  }
  if (!from.user.empty()) {
    json::Object account{{"auth", base64_encode(fmt::format("{}:{}", from.user, from.password))}};
    json::Object accounts{{"auths", json::Object{{host_of(from.url), std::move(account)}}}};
    std::string text;
    json::write(accounts, text);
    if (auto put = write_text(folder, accounts_file, text); !put) return put;
    command.insert(command.end(), {fmt::format("--{}authfile", of_source), accounts_file});
  }
  return {};
}

// The accounts are there for skopeo alone, and as long as it runs.
struct AccountsInUse {
  int folder;
  ~AccountsInUse() { ::unlinkat(folder, accounts_file, 0); }
};

// What skopeo has fetched so far. The layers together are bounded, too, since there may be any number of them; and a
// registry that sends too little is given up (DV-80).
class PullWatch {
 public:
  PullWatch(int folder, std::int64_t bytes_max) : folder_(folder), bytes_max_(bytes_max) {}

  Outcome<> look() {
    const std::int64_t bytes = fetched();
    if (bytes > bytes_max_) return failed(DiskError::too_small, "DataVolume too small to contain image");
    if (!rate_.look(bytes, std::chrono::steady_clock::now()))
      return failed(DiskError::pull, fmt::format("failed to pull image: {}", too_slow()));
    return {};
  }

 private:
  std::int64_t fetched() const {
    const Descriptor image(::openat(folder_, image_folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    std::int64_t sum = 0;
    if (!image) return sum;
    for (const std::string& name : names_in(image.get())) {
      struct stat info{};
      if (::fstatat(image.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) sum += info.st_size;
    }
    return sum;
  }

  int folder_;
  std::int64_t bytes_max_;
  RateWatch rate_{std::chrono::steady_clock::now()};
};

Outcome<> pull(int folder, const ImportRegistry& from) {
  if (auto removed = remove_tree(folder, image_folder); !removed) return removed;
  const AccountsInUse accounts{folder};
  const auto command = pull_command(folder, from);
  if (!command) return std::unexpected(command.error());
  const std::int64_t most = 2 * from.target.size + limits::disk_format_bytes_max;
  const auto way = way_out(from.blocked);
  if (!way) return std::unexpected(way.error());
  PullWatch watch(folder, most);
  Program program{
      .command = *command, .folder = folder, .bytes_max = most, .image_bytes = 2 * from.target.size, .look = [&] {
        return watch.look();
      }};
  way->guide(program);
  const auto ended = run(program);
  if (!ended) return std::unexpected(ended.error());
  if (ended->code != 0)
    return failed(DiskError::pull, fmt::format("failed to pull image {}: {}", from.url, way->problem(*ended)));
  return {};
}

// "disk/x" or "./disk/x" -> "x"; empty for everything else, white-outs included.
std::string_view disk_name(std::string_view path) {
  if (path.starts_with("./")) path.remove_prefix(2);
  if (path.starts_with('/')) path.remove_prefix(1);
  if (!path.starts_with("disk/")) return {};
  path.remove_prefix(5);
  return path.contains('/') || path.starts_with(".wh.") ? std::string_view() : path;
}

Outcome<> save_entry(ArchiveReader& reader, int folder, const std::string& file, std::int64_t bytes_max) {
  const Descriptor out(
      ::openat(folder, file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, file_mode));
  if (!out) return system_failed("the disk of an image cannot be written");
  RoomWatch room(out.get());
  return reader.save(out.get(), bytes_max, [&](std::int64_t bytes) -> Outcome<> {
    bytes_max -= bytes;
    if (bytes_max < 0) return failed(DiskError::too_small, "DataVolume too small to contain image");
    return room.before(bytes);
  });
}

// Whether the layer had it. DV-96: the folder must have exactly one file.
Outcome<bool> find_disk(int folder, const std::string& layer, const std::string& file, std::int64_t bytes_max) {
  const Descriptor in(::openat(folder, layer.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!in) return system_failed("a layer of the image cannot be opened");
  ArchiveReader reader(in.get());
  bool found = false;
  while (true) {
    const auto entry = reader.next();
    if (!entry) return std::unexpected(entry.error());
    if (!*entry) return found;
    if ((*entry)->type != ArchiveEntry::Type::file || disk_name((*entry)->name).empty()) continue;
    if (found) return failed(DiskError::bad_image, "the image has more than one file in the folder disk");
    if (auto saved = save_entry(reader, folder, file, bytes_max); !saved) return std::unexpected(saved.error());
    found = true;
  }
}

// Layers are tar archives, packed or not.
Outcome<std::string> plain_layer(int folder, const std::string& blob, std::int64_t bytes_max) {
  const auto head = read_head(folder, blob, magic_bytes);
  if (!head) return std::unexpected(head.error());
  const Packing packing = packing_of(*head);
  if (packing == Packing::none) return blob;
  const Descriptor in(::openat(folder, blob.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  const Descriptor out(::openat(folder, layer_file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, file_mode));
  if (!in || !out) return system_failed("a layer of the image cannot be opened");
  const auto ended = run({.command = packing == Packing::gzip   ? std::vector<std::string>{"gzip", "-dc"}
                                     : packing == Packing::zstd ? std::vector<std::string>{"zstd", "-dcq"}
                                                                : std::vector<std::string>{"xz", "-dc"},
                          .folder = folder,
                          .input_file = in.get(),
                          .output_file = out.get(),
                          .bytes_max = bytes_max,
                          .image_bytes = bytes_max});
  if (!ended) return std::unexpected(ended.error());
  if (ended->code != 0)
    return failed(DiskError::bad_image, fmt::format("a layer of the image cannot be unpacked: {}", complaint(*ended)));
  return std::string(layer_file);
}

struct Config {
  Labels labels;
  std::string architecture;
};
Outcome<Config> read_config(int folder, const Manifest& manifest) {
  const auto text = read_text(folder, fmt::format("{}/{}", image_folder, digest_hex(manifest.config)));
  if (!text) return std::unexpected(text.error());
  const auto document = json::Document::parse(*text);
  if (!document) return failed(DiskError::bad_image, "the configuration of the image cannot be read");
  std::vector<std::string> variables;
  if (const json::Value* config = json::find(document->root(), "config"))
    if (const json::Array* given = json::get_array(*config, "Env"))
      for (const json::Value& one : *given) variables.emplace_back(json::as_string(&one).value_or(""));
  return Config{.labels = labels_of_environment(variables),
                .architecture = std::string(json::get_string_or(document->root(), "architecture"))};
}

}  // namespace

Outcome<std::vector<std::string>> pull_command(int folder, const ImportRegistry& from) {
  // Who signed an image is not asked here; what skopeo keeps meanwhile stays in the folder of the claim.
  std::vector<std::string> command{"skopeo", "--insecure-policy", "--tmpdir", ".", "copy", "--quiet"};
  if (!from.architecture.empty()) command.insert(command.begin() + 2, {"--override-arch", from.architecture});
  if (auto added = add_access(folder, from, "src-", command); !added) return std::unexpected(added.error());
  command.push_back(from.url);
  command.push_back(fmt::format("dir:{}", image_folder));
  return command;
}

Labels labels_of_environment(const std::vector<std::string>& variables) {
  constexpr std::string_view mark = "KUBEVIRT_IO_";
  Labels labels;
  const auto changed = [](std::string_view text, char with) {
    std::string made;
    for (const char c : text) made += c == '_' ? with : c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    return made;
  };
  for (const std::string& variable : variables) {
    const std::size_t equals = variable.find('=');
    const std::size_t at = variable.find(mark);
    if (equals == std::string::npos || at == std::string::npos || at > equals) continue;
    const std::string_view name = std::string_view(variable).substr(0, equals);
    std::string label =
        fmt::format("{}kubevirt.io/{}", changed(name.substr(0, at), '.'), changed(name.substr(at + mark.size()), '-'));
    std::string value = variable.substr(equals + 1);
    // Whoever made the image wrote them: with one that is no label the claim could never be written.
    if (!qualified_name_defects(label).empty() || !label_value_defects(value).empty()) continue;
    labels.emplace_back(std::move(label), std::move(value));
    if (labels.size() == limits::image_labels_max) break;
  }
  return labels;
}

Outcome<Manifest> read_manifest(std::string_view text) {
  const auto document = json::Document::parse(text);
  if (!document) return failed(DiskError::bad_image, "the manifest of the image cannot be read");
  Manifest manifest;
  if (const json::Value* config = json::find(document->root(), "config"))
    manifest.config = json::get_string_or(*config, "digest");
  if (const json::Array* layers = json::get_array(document->root(), "layers"))
    for (const json::Value& layer : *layers) manifest.layers.emplace_back(json::get_string_or(layer, "digest"));
  const bool good =
      !digest_hex(manifest.config).empty() && !manifest.layers.empty() &&
      manifest.layers.size() <= limits::image_layers_max &&
      std::ranges::none_of(manifest.layers, [](const std::string& layer) { return digest_hex(layer).empty(); });
  if (!good) return failed(DiskError::bad_image, "the manifest of the image cannot be read");
  return manifest;
}

namespace {

Outcome<> check_url(const ImportRegistry& from) {
  if (!from.url.starts_with(registry_scheme) || from.url.size() > 1024)
    return failed(DiskError::pull, "failed to pull image: the URL must begin with docker://");
  if (!from.blocked.empty())
    if (auto allowed = allowed_hosts(split_host(host_of(from.url), "443"), from.blocked); !allowed)
      return failed(DiskError::pull, fmt::format("failed to pull image: {}", allowed.error().message));
  return {};
}

// As it comes: a manifest is known by the digest of its bytes.
class ManifestDigest {
 public:
  ManifestDigest() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    good_ = context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1;
  }
  bool take(std::string_view text) {
    bytes_ += text.size();
    return good_ && bytes_ <= limits::image_manifest_bytes_max &&
           EVP_DigestUpdate(context_.get(), text.data(), text.size()) == 1;
  }
  std::string text() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
    unsigned length = 0;
    if (bytes_ == 0 || !good_ || EVP_DigestFinal_ex(context_.get(), sum.data(), &length) != 1) return {};
    std::string made = "sha256:";
    for (unsigned i = 0; i < length; ++i) made += fmt::format("{:02x}", sum[i]);
    return made;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
  std::size_t bytes_ = 0;
  bool good_ = false;
};

}  // namespace

Outcome<std::string> digest_in_registry(int folder, const ImportRegistry& from) {
  if (auto good = check_url(from); !good) return std::unexpected(good.error());
  std::vector<std::string> command{"skopeo", "--insecure-policy", "--tmpdir", ".", "inspect", "--raw"};
  const AccountsInUse accounts{folder};
  if (auto added = add_access(folder, from, "", command); !added) return std::unexpected(added.error());
  command.push_back(from.url);
  const auto way = way_out(from.blocked);
  if (!way) return std::unexpected(way.error());
  ManifestDigest digest;
  Program program{.command = std::move(command),
                  .folder = folder,
                  .bytes_max = static_cast<std::int64_t>(limits::mib),
                  .time_max = limits::digest_deadline,
                  .take = [&](std::string_view text) { return digest.take(text); }};
  way->guide(program);
  const auto ended = run(program);
  if (!ended) return std::unexpected(ended.error());
  std::string made = ended->code == 0 && !ended->cut_short ? digest.text() : std::string();
  if (made.empty())
    return failed(DiskError::pull, fmt::format("failed to pull image {}: {}", from.url, way->problem(*ended)));
  return made;
}

Outcome<> check_architecture(std::string_view wanted, std::string_view found) {
  if (wanted.empty() || found == wanted) return {};
  return failed(DiskError::pull, fmt::format("failed to pull image: it is for {}, not for {}", found, wanted));
}

Outcome<> take_disk(int folder, const Manifest& manifest, const std::string& file, std::int64_t bytes_max) {
  for (const std::string& layer : manifest.layers) {
    const auto plain = plain_layer(folder, fmt::format("{}/{}", image_folder, digest_hex(layer)), bytes_max);
    if (!plain) return std::unexpected(plain.error());
    const auto found = find_disk(folder, *plain, file, bytes_max);
    if (!found) return std::unexpected(found.error());
    if (*found) return {};
  }
  return failed(DiskError::bad_image, "the image has no disk: there is no file in the folder disk");
}

Outcome<Labels> fetch_from_registry(int folder, const ImportRegistry& from, const std::string& file) {
  if (auto good = check_url(from); !good) return std::unexpected(good.error());
  if (auto pulled = pull(folder, from); !pulled) return std::unexpected(pulled.error());
  const auto text = read_text(folder, fmt::format("{}/manifest.json", image_folder));
  if (!text) return std::unexpected(text.error());
  const auto manifest = read_manifest(*text);
  if (!manifest) return std::unexpected(manifest.error());
  const auto config = read_config(folder, *manifest);
  if (!config) return std::unexpected(config.error());
  if (auto fits = check_architecture(from.architecture, config->architecture); !fits)
    return std::unexpected(fits.error());
  const std::int64_t most = 2 * from.target.size + limits::disk_format_bytes_max;
  if (auto taken = take_disk(folder, *manifest, file, most); !taken) return std::unexpected(taken.error());
  (void)remove_tree(folder, image_folder);
  return config->labels;
}

}  // namespace vg::disks
