// Tar archives of others in all their dialects, files with holes among them, read as a stream by libarchive. What is
// done with the entries is up to the caller.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "disks/outcome.h"

struct archive;

namespace vg::disks {

struct ArchiveEntry {
  enum class Type : std::uint8_t { file, folder, symlink, hardlink, other };
  Type type = Type::file;
  std::string name = {}, target = {};  // of a link
  std::int64_t size = 0;               // with its holes
  unsigned mode = 0;
};

class ArchiveReader {
 public:
  // Of an open file, from where it is.
  explicit ArchiveReader(int file);
  ArchiveReader(const ArchiveReader&) = delete;
  ArchiveReader& operator=(const ArchiveReader&) = delete;
  ~ArchiveReader();

  // The next entry, after what is left of the one before; nothing at the end.
  Outcome<std::optional<ArchiveEntry>> next();
  // The content of the entry into an empty file, holes as holes. `take` is asked before so many bytes are written.
  Outcome<> save(int to, std::int64_t size_max, const std::function<Outcome<>(std::int64_t)>& take);

 private:
  class MemoryBound;
  struct Free {
    void operator()(archive* given) const;
  };

  std::unique_ptr<MemoryBound> memory_;
  std::unique_ptr<archive, Free> archive_;
  bool is_open_ = false;
  std::int64_t size_ = 0, entries_ = 0;
};

}  // namespace vg::disks
