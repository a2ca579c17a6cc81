#include "store/value_cipher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/store_limits.h"

namespace vg::store {
namespace {

// An object in JSON begins with a brace, so no plain value looks like this.
constexpr std::string_view magic("vgs\x01", 4);
constexpr std::size_t nonce_bytes = 12, tag_bytes = 16, id_shown_bytes = 8;
constexpr std::size_t header_bytes = magic.size() + id_shown_bytes + nonce_bytes;
constexpr std::string_view advice = "create one with: openssl rand -base64 32 > FILE && chmod 600 FILE";

// Nobody's request is to blame: the message is all there is to say.
Failed failed(std::string message) {
  return fail({.code = 500, .reason = "InternalError", .message = std::move(message), .details = {}});
}

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

// Lengths before texts: no two rows have the same bytes.
std::string authenticated(const ValueIdentity& identity) {
  std::string bytes;
  const auto number = [&](std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(value >> shift & 0xff);
  };
  number(identity.row);
  for (const auto part : {identity.resource, identity.ns, identity.name, identity.uid}) {
    number(part.size());
    bytes += part;
  }
  return bytes;
}

using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)>;
CipherContext make_context() { return {EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free}; }

// Looked up once: finding an algorithm takes longer than a small value's encryption.
const EVP_CIPHER* algorithm() {
  static EVP_CIPHER* const fetched = EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr);
  return fetched;
}

// Takes blanks around it away.
std::string_view trimmed(std::string_view text) {
  const auto from = text.find_first_not_of(" \t\r");
  if (from == text.npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r") - from + 1);
}

std::optional<std::array<unsigned char, 33>> decode_base64(std::string_view line) {
  std::array<unsigned char, 33> key{};
  // 32 bytes are 44 characters, of which the last fills up.
  if (line.size() != 44 || !line.ends_with('=') || line[42] == '=') return std::nullopt;
  if (EVP_DecodeBlock(key.data(), bytes_of(line), 44) != 33) return std::nullopt;
  return key;
}

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

ValueCipher::~ValueCipher() {
  for (auto& entry : keys_) OPENSSL_cleanse(entry.key.data(), entry.key.size());
}

Result<void> ValueCipher::add(std::span<const unsigned char> key) {
  Entry entry{};
  std::ranges::copy(key, entry.key.begin());
  // The name of a key says nothing of the key.
  std::string hashed = "virtgate key of secrets";
  hashed.append(reinterpret_cast<const char*>(key.data()), key.size());
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  const bool done = EVP_Digest(hashed.data(), hashed.size(), digest.data(), nullptr, EVP_sha256(), nullptr) == 1;
  OPENSSL_cleanse(hashed.data(), hashed.size());
  if (!done) return failed("OpenSSL cannot hash");
  std::copy_n(digest.begin(), id_bytes, entry.id.begin());
  const auto same = [&](const Entry& other) { return other.id == entry.id; };
  if (std::ranges::any_of(keys_, same)) return fail(Status::bad_request("a key is there twice"));
  keys_.push_back(entry);
  OPENSSL_cleanse(entry.key.data(), entry.key.size());
  return {};
}

Result<std::shared_ptr<const ValueCipher>> ValueCipher::parse(std::string_view content) {
  std::shared_ptr<ValueCipher> cipher(new ValueCipher());
  cipher->keys_.reserve(store_limits::keys_max);  // no copies of keys are left behind by growing
  if (content.size() == key_bytes) {
    if (auto added = cipher->add({bytes_of(content), key_bytes}); !added) return fail(std::move(added.error()));
    return cipher;
  }
  for (int number = 1; !content.empty(); ++number) {
    const auto end = std::min(content.find('\n'), content.size());
    const auto line = trimmed(content.substr(0, end));
    content.remove_prefix(std::min(end + 1, content.size()));
    if (line.empty() || line.starts_with('#')) continue;
    if (line == "plain" && cipher->keys_.empty() && cipher->seals_) {
      cipher->seals_ = false;
      continue;
    }
    auto key = decode_base64(line);
    if (!key) return fail(Status::bad_request(fmt::format("line {} must be 32 bytes in base64; {}", number, advice)));
    if (cipher->keys_.size() == store_limits::keys_max)
      return fail(Status::bad_request(
          fmt::format("more than {} keys; remove those that are not needed any more", store_limits::keys_max)));
    auto added = cipher->add({key->data(), key_bytes});
    OPENSSL_cleanse(key->data(), key->size());
    if (!added) return fail(Status::bad_request(fmt::format("line {}: {}", number, added.error().message)));
  }
  if (cipher->keys_.empty()) return fail(Status::bad_request(fmt::format("no key found; {}", advice)));
  return cipher;
}

Result<std::shared_ptr<const ValueCipher>> ValueCipher::read(const std::string& path) {
  const auto refuse = [&](std::string_view why) {
    return fail(Status::bad_request(fmt::format("--secrets-key-file {}: {}", path, why)));
  };
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
  if (file.fd < 0) return refuse(std::strerror(errno));
  struct stat info{};
  if (::fstat(file.fd, &info) != 0) return refuse(std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return refuse("it is not a regular file");
  if (info.st_mode & 077)
    return refuse(fmt::format("other users can read it (mode {:04o}); run: chmod 600 {}", info.st_mode & 07777, path));
  std::string content(store_limits::key_file_bytes_max + 1, '\0');
  const auto size = ::pread(file.fd, content.data(), content.size(), 0);
  if (size < 0) return refuse(std::strerror(errno));
  if (static_cast<std::size_t>(size) > store_limits::key_file_bytes_max) return refuse("it is too long for a key file");
  auto cipher = parse(std::string_view(content).substr(0, static_cast<std::size_t>(size)));
  OPENSSL_cleanse(content.data(), content.size());
  if (!cipher) return refuse(cipher.error().message);
  return cipher;
}

bool ValueCipher::is_sealed(std::string_view value) { return value.starts_with(magic); }

std::string ValueCipher::key_of(std::string_view sealed) { return hex(sealed.substr(magic.size(), id_shown_bytes)); }

std::vector<std::string> ValueCipher::key_names() const {
  std::vector<std::string> names;
  for (const auto& entry : keys_) names.push_back(hex({reinterpret_cast<const char*>(entry.id.data()), id_bytes}));
  return names;
}

const ValueCipher::Entry* ValueCipher::find(std::string_view id) const {
  const auto found = std::ranges::find_if(keys_, [&](const Entry& entry) {
    return id.size() == id_bytes && std::memcmp(entry.id.data(), id.data(), id_bytes) == 0;
  });
  return found == keys_.end() ? nullptr : &*found;
}

bool ValueCipher::is_stale(std::string_view resource, std::string_view value) const {
  const bool wanted = seals_ && is_secret(resource);
  if (!is_sealed(value)) return wanted;
  return !wanted || find(value.substr(magic.size(), id_bytes)) != &keys_.front();
}

Result<std::string> ValueCipher::seal(const ValueIdentity& identity, std::string_view plain) const {
  if (!seals_ || !is_secret(identity.resource)) return std::string(plain);
  const Entry& entry = keys_.front();
  const std::string row = authenticated(identity);
  std::string sealed(header_bytes + plain.size() + tag_bytes, '\0');
  std::memcpy(sealed.data(), magic.data(), magic.size());
  std::memcpy(sealed.data() + magic.size(), entry.id.data(), id_bytes);
  unsigned char* const nonce = bytes_of(sealed) + magic.size() + id_bytes;
  unsigned char* const value = bytes_of(sealed) + header_bytes;
  const auto context = make_context();
  int size = 0, rest = 0;
  const bool done =
      context && algorithm() && RAND_bytes(nonce, nonce_bytes) == 1 &&
      EVP_EncryptInit_ex2(context.get(), algorithm(), entry.key.data(), nonce, nullptr) == 1 &&
      EVP_EncryptUpdate(context.get(), nullptr, &size, bytes_of(row), static_cast<int>(row.size())) == 1 &&
      EVP_EncryptUpdate(context.get(), value, &size, bytes_of(plain), static_cast<int>(plain.size())) == 1 &&
      EVP_EncryptFinal_ex(context.get(), value + size, &rest) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, tag_bytes, value + plain.size()) == 1;
  if (!done) return failed("OpenSSL cannot encrypt");
  return sealed;
}

Result<std::string> ValueCipher::open(const ValueIdentity& identity, std::string_view sealed) const {
  const auto damaged = [&] {
    return failed(fmt::format("the encrypted value of {} {}/{} is damaged or belongs to another row; restore a backup",
                              identity.resource, identity.ns, identity.name));
  };
  if (!is_sealed(sealed) || sealed.size() < header_bytes + tag_bytes) return damaged();
  const Entry* entry = find(sealed.substr(magic.size(), id_bytes));
  if (!entry)
    return fail(Status::bad_request(
        fmt::format("{} {}/{} is encrypted with key {}, which is not in the key file; add it to --secrets-key-file",
                    identity.resource, identity.ns, identity.name, key_of(sealed))));
  const std::string row = authenticated(identity);
  const unsigned char* const nonce = bytes_of(sealed) + magic.size() + id_bytes;
  const std::size_t length = sealed.size() - header_bytes - tag_bytes;
  std::string tag(sealed.substr(header_bytes + length)), plain(length, '\0');
  const auto context = make_context();
  int size = 0, rest = 0;
  const bool done =
      context && algorithm() &&
      EVP_DecryptInit_ex2(context.get(), algorithm(), entry->key.data(), nonce, nullptr) == 1 &&
      EVP_DecryptUpdate(context.get(), nullptr, &size, bytes_of(row), static_cast<int>(row.size())) == 1 &&
      EVP_DecryptUpdate(context.get(), bytes_of(plain), &size, bytes_of(sealed) + header_bytes,
                        static_cast<int>(length)) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, tag_bytes, tag.data()) == 1 &&
      EVP_DecryptFinal_ex(context.get(), bytes_of(plain) + size, &rest) == 1;
  if (!done) return damaged();
  return plain;
}

Result<std::string> open_value(const ValueCipher* cipher, const ValueIdentity& identity, std::string_view stored) {
  if (!ValueCipher::is_sealed(stored)) return std::string(stored);
  if (cipher) return cipher->open(identity, stored);
  return fail(Status::bad_request(
      fmt::format("{} {}/{} is encrypted with key {}; pass the file with the key: --secrets-key-file FILE",
                  identity.resource, identity.ns, identity.name, ValueCipher::key_of(stored))));
}

}  // namespace vg::store
