// Where the bytes of a download come from, one piece after the other: a part of an image, a folder as a tar archive,
// and either of them packed. Whoever reads holds one piece in memory. Read on a worker thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "disks/outcome.h"

struct archive;

namespace vg::exports {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Up to so many bytes; 0 at the end.
  virtual Result<std::size_t> read(std::span<char> into) = 0;
};

// `length` bytes of a file. It is an error if the file ends before.
class FilePart final : public ByteSource {
 public:
  FilePart(disks::Descriptor file, std::uint64_t from, std::uint64_t length)
      : file_(std::move(file)), at_(from), left_(length) {}
  Result<std::size_t> read(std::span<char> into) override;

 private:
  disks::Descriptor file_;
  std::uint64_t at_, left_;
};

// A folder, or some files of it, as a tar archive, written by libarchive: regular files with their holes, folders, and
// symbolic links as such.
class TarArchive final : public ByteSource {
 public:
  // Of what the folder has by these names. 500 when something cannot be read, or there is too much: EXP-73.
  static Result<std::unique_ptr<TarArchive>> open(disks::Descriptor folder, const std::vector<std::string>& names);
  ~TarArchive() override;
  TarArchive(const TarArchive&) = delete;
  TarArchive& operator=(const TarArchive&) = delete;
  Result<std::size_t> read(std::span<char> into) override;

 private:
  struct Entry {
    std::string path;
    mode_t type = 0;        // of stat
    std::string link = {};  // where it points to
    std::uint64_t size = 0;
    std::int64_t modified = 0;
  };
  struct Extent {
    std::uint64_t from, to;
  };
  struct Free {
    void operator()(archive* given) const;
  };
  explicit TarArchive(disks::Descriptor folder);
  Result<void> list(int folder, const std::vector<std::string>& names, const std::string& path, int depth);
  Result<void> add(int parent, const std::string& name, const std::string& path, int depth);
  // Each puts something into pending_ at last.
  Result<void> step();
  Result<void> begin_next();
  Result<void> go_on();
  Result<void> wrote(bool good);

  disks::Descriptor folder_;
  std::vector<Entry> entries_;
  std::size_t next_ = 0;
  std::string pending_;  // what libarchive has written
  std::unique_ptr<archive, Free> archive_;
  disks::Descriptor file_;  // of the entry before next_, and what it holds beside holes
  std::vector<Extent> extents_;
  std::uint64_t at_ = 0, size_ = 0;
  std::vector<char> piece_;
  bool ended_ = false;
};

// What another source gives, packed with gzip.
class Gzip final : public ByteSource {
 public:
  explicit Gzip(std::unique_ptr<ByteSource> source);
  ~Gzip() override;
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;
  Result<std::size_t> read(std::span<char> into) override;

 private:
  struct Packer;
  std::unique_ptr<ByteSource> source_;
  std::unique_ptr<Packer> packer_;
};

// Names of files and folders in it, in order.
std::vector<std::string> names_in(int folder);
// A page with links to them, each behind `before`.
std::string folder_page(const std::vector<std::string>& names, std::string_view before);

// Opened below `folder` one step at a time, through no symbolic link. 404 when there is none.
Result<disks::Descriptor> open_below(int folder, std::string_view path, bool is_folder);
// The same through symbolic links that do not leave it: EXP-72.
Result<disks::Descriptor> open_inside(int folder, std::string_view path, bool is_folder);
// A regular file's size.
Result<std::uint64_t> size_of(const disks::Descriptor& file);

}  // namespace vg::exports
