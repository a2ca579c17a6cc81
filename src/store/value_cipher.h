// Seals the values of rows on disk, so that who gets hold of the file, a backup or a disk learns nothing from them.
//
// AES-256-GCM with a fresh random nonce for each value. What a row is (key, uid, revision) is authenticated with the
// value, so a sealed value is good in its own row only: rows cannot be swapped, renamed or brought back as newer ones.
// A sealed value says by which key it was sealed; several keys may be known at once, so that keys can be changed.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace vg::store {

// Which row a value belongs to.
struct ValueIdentity {
  std::string_view resource, ns, name, uid;
  std::uint64_t row = 0;  // revision and place within its transaction
};

class ValueCipher {
 public:
  static constexpr std::size_t key_bytes = 32;
  using Key = std::array<unsigned char, key_bytes>;

  // A file of 32 bytes, or of lines: a key in base64 each, empty ones and those that begin with # do not count. The
  // first key seals, all of them open. The word `plain` in place of the first key: values are stored as they are from
  // now on, and the other keys open what was sealed before.
  static Result<std::shared_ptr<const ValueCipher>> parse(std::string_view content);
  // Refuses a file that others than its owner may read.
  static Result<std::shared_ptr<const ValueCipher>> read(const std::string& path);

  // Whether values of this resource are for the eyes of few.
  static bool is_secret(std::string_view resource) { return resource == "secrets"; }
  static bool is_sealed(std::string_view value);
  // The key that opens a sealed value, as shown to people.
  static std::string key_of(std::string_view sealed);

  // True when a value of that resource should be stored otherwise than it is: not sealed yet, sealed by an older key,
  // or sealed although that is not wanted any more.
  bool is_stale(std::string_view resource, std::string_view value) const;
  // What to store: sealed, where the resource and the keys say so. An error only where memory or randomness is out.
  Result<std::string> seal(const ValueIdentity& identity, std::string_view plain) const;
  // What was stored. The error is a sentence for people, and says which key is missing.
  Result<std::string> open(const ValueIdentity& identity, std::string_view sealed) const;

  bool seals() const { return seals_; }
  std::vector<std::string> key_names() const;

  ~ValueCipher();
  ValueCipher(const ValueCipher&) = delete;
  ValueCipher& operator=(const ValueCipher&) = delete;

 private:
  static constexpr std::size_t id_bytes = 8;
  using KeyId = std::array<unsigned char, id_bytes>;
  struct Entry {
    KeyId id;
    Key key;
  };
  ValueCipher() = default;
  Result<void> add(std::span<const unsigned char> key);
  const Entry* find(std::string_view id) const;

  std::vector<Entry> keys_;
  bool seals_ = true;
};

// Without any cipher: a plain value as it is, a sealed one is an error that names the key.
Result<std::string> open_value(const ValueCipher* cipher, const ValueIdentity& identity, std::string_view stored);

}  // namespace vg::store
