// Tar archives, read as a stream: ustar with the extensions of pax and GNU for long names and large sizes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "disks/outcome.h"

namespace vg::disks {

struct TarEntry {
  enum class Type : std::uint8_t { file, folder, symlink, hardlink, other };
  Type type = Type::file;
  std::string name = {}, target = {};  // of a link
  std::int64_t size = 0;
  unsigned mode = 0;
};

class TarReader {
 public:
  // Reads up to so many bytes into the buffer; 0 at the end, negative on an error.
  using Source = std::function<std::int64_t(char*, std::size_t)>;
  explicit TarReader(Source source) : source_(std::move(source)) {}

  // The next entry, after what is left of the one before; nothing at the end.
  Outcome<std::optional<TarEntry>> next();
  // The content of the entry; 0 at its end.
  Outcome<std::size_t> read(char* to, std::size_t bytes);

 private:
  Outcome<bool> fill(char* to, std::size_t bytes);  // false: the archive ended before the first byte
  Outcome<> skip(std::int64_t bytes);
  Outcome<std::string> read_text(std::int64_t size);
  Outcome<> extension(char type, std::int64_t size, TarEntry& entry, bool& has_size);

  Source source_;
  std::int64_t left_ = 0, padding_ = 0;  // of the entry
  std::int64_t entries_ = 0;
};

}  // namespace vg::disks
