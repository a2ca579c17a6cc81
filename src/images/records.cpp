#include "images/records.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>

#include "base/image_limits.h"
#include "disks/folder.h"
#include "images/tree.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"

namespace vg::images {
namespace {

using disks::Descriptor;

Failed record_failed(std::string_view what) {
  return fail(Status::internal_error(fmt::format("{}: {}", what, std::strerror(errno))));
}

std::optional<json::Document> read_json(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::string text(limits::image_record_bytes_max, '\0');
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  if (got <= 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(got));
  auto document = json::Document::parse(text);
  if (!document) return std::nullopt;
  return std::move(*document);
}

struct FreeDigest {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new()) { EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr); }
  void add(std::string_view bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }
  std::string hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned length = 0;
    EVP_DigestFinal_ex(context_.get(), digest.data(), &length);
    std::string text;
    for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, FreeDigest> context_;
};

}  // namespace

std::string to_text(const ImageRecord& record) {
  json::Array layers;
  for (const LayerRecord& layer : record.layers)
    layers.emplace_back(json::Object{{"digest", layer.digest}, {"bytes", layer.bytes}});
  std::string text;
  json::write(
      json::Object{{"digest", record.digest}, {"architecture", record.architecture}, {"layers", std::move(layers)}},
      text);
  return text;
}

std::string to_text(const ReferenceRecord& record) {
  std::string text;
  json::Array accepted;
  for (const AcceptedAccount& one : record.accepted)
    accepted.emplace_back(json::Object{{"account", one.account}, {"at", one.at}});
  json::write(json::Object{{"reference", record.reference},
                           {"digest", record.digest},
                           {"loaded", record.loaded},
                           {"source", record.source},
                           {"everybody", record.everybody},
                           {"accepted", std::move(accepted)}},
              text);
  return text;
}

std::optional<ImageRecord> read_image_record(const std::string& file) {
  const auto document = read_json(file);
  if (!document) return std::nullopt;
  ImageRecord record{.digest = std::string(json::get_string_or(document->root(), "digest")),
                     .architecture = std::string(json::get_string_or(document->root(), "architecture")),
                     .layers = {}};
  if (const json::Array* layers = json::get_array(document->root(), "layers"))
    for (const json::Value& layer : *layers)
      record.layers.push_back(
          {.digest = std::string(json::get_string_or(layer, "digest")), .bytes = json::get_int_or(layer, "bytes", 0)});
  if (hex_of(record.digest).empty()) return std::nullopt;
  return record;
}

std::optional<ReferenceRecord> read_reference_record(const std::string& file) {
  const auto document = read_json(file);
  if (!document) return std::nullopt;
  ReferenceRecord record{.reference = std::string(json::get_string_or(document->root(), "reference")),
                         .digest = std::string(json::get_string_or(document->root(), "digest")),
                         .loaded = json::get_bool_or(document->root(), "loaded", false),
                         .source = std::string(json::get_string_or(document->root(), "source")),
                         .everybody = json::get_bool_or(document->root(), "everybody", false)};
  if (const json::Array* accepted = json::get_array(document->root(), "accepted"))
    for (const json::Value& one : *accepted)
      record.accepted.push_back(
          {.account = std::string(json::get_string_or(one, "account")), .at = json::get_int_or(one, "at", 0)});
  if (record.reference.empty() || hex_of(record.digest).empty()) return std::nullopt;
  return record;
}

Result<void> write_record(const std::string& path, std::string_view text) {
  static std::atomic<unsigned> written{0};  // two threads may write the same record
  const std::string part = fmt::format("{}.part-{}-{}", path, ::getpid(), ++written);
  const Descriptor file(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::fsync(file.get()) != 0) {
    const Failed failed = record_failed("a record of the image store cannot be written");
    ::unlink(part.c_str());
    return failed;
  }
  return rename_synced(part, path);
}

Result<void> rename_synced(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return record_failed("the image store cannot be written");
  const Descriptor folder(::open(to.substr(0, to.rfind('/')).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || ::fsync(folder.get()) != 0) return record_failed("the image store cannot be synced");
  return {};
}

std::string_view hex_of(std::string_view digest) {
  constexpr std::string_view algorithm = "sha256:";
  if (!digest.starts_with(algorithm)) return {};
  const std::string_view hex = digest.substr(algorithm.size());
  const bool good = hex.size() == 64 &&
                    std::ranges::all_of(hex, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  return good ? hex : std::string_view();
}

std::string sha256_hex(std::string_view text) {
  Sha256 digest;
  digest.add(text);
  return digest.hex();
}

Result<std::string> sha256_of_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return record_failed(fmt::format("{} cannot be read", path));
  Sha256 digest;
  std::vector<char> buffer(256 * 1024);
  while (true) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0) return record_failed(fmt::format("{} cannot be read", path));
    if (got == 0) return digest.hex();
    digest.add({buffer.data(), static_cast<std::size_t>(got)});
  }
}

std::optional<StoreLock> StoreLock::take(const std::string& path, Kind kind) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return std::nullopt;
  const int how = kind == Kind::shared ? LOCK_SH : kind == Kind::exclusive ? LOCK_EX : LOCK_EX | LOCK_NB;
  while (::flock(file.get(), how) != 0)
    if (errno != EINTR) return std::nullopt;
  return StoreLock(std::move(file));
}

std::optional<StoreLock> StoreLock::await(const std::string& path, const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    if (auto lock = take(path, Kind::exclusive_if_free)) return lock;
    if (errno != EWOULDBLOCK) return std::nullopt;
    std::this_thread::sleep_for(limits::image_lock_look);
  }
  return std::nullopt;
}

Result<WorkFolder> WorkFolder::make(const std::string& parent) {
  std::string path = parent + "/XXXXXX";
  if (!::mkdtemp(path.data())) return record_failed("a folder of the image store cannot be made");
  Descriptor lock(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return record_failed("a folder cannot be locked");
  return WorkFolder(std::move(path), std::move(lock));
}

WorkFolder::~WorkFolder() {
  if (!path_.empty()) (void)disks::remove_tree(AT_FDCWD, path_);
}

void WorkFolder::remove_abandoned(const std::string& parent) {
  for (const std::string& name : entries_of(parent)) {
    const std::string path = fmt::format("{}/{}", parent, name);
    const Descriptor lock(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) (void)disks::remove_tree(AT_FDCWD, path);
  }
}

}  // namespace vg::images
