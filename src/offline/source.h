// The texts that a command works on: files, folders of files, standard input; and the documents in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace vg::offline {

class Source {
 public:
  virtual ~Source() = default;
  // As people know it; "-" for standard input.
  virtual const std::string& name() const = 0;
  // Up to so many bytes from there; less only at the end.
  virtual Result<std::string> read(std::uint64_t offset, std::size_t bytes) const = 0;
};

// A regular file, opened once: what is read later is of the same file. 404 and 500 with the system's reason.
Result<std::unique_ptr<Source>> open_file(const std::string& path);
// Reads everything up to its end.
Result<std::unique_ptr<Source>> read_pipe(std::string name, int descriptor);
std::unique_ptr<Source> text_source(std::string name, std::string text);

// Of UTF-8: columns are counted in characters.
std::size_t count_characters(std::string_view text);

// The manifests of a folder and the folders in it: *.yaml, *.yml, *.json, in order. A folder is entered once, whatever
// links lead to it; names that begin with a dot are left out.
Result<std::vector<std::string>> files_below(const std::string& folder);
bool is_folder(const std::string& path);

// One document of a text, as YAML divides it, or one of several JSON values behind one another; or an item of a list
// (list_items.h), which in YAML is a list of one.
struct Piece {
  std::uint64_t offset = 0;  // in the text, in bytes
  std::size_t line = 1;      // its first one
  std::size_t column = 1;    // where it begins in that line, in characters
  std::string text = {};
  bool too_long = false;                             // beyond document_bytes_max: only its beginning is here
  std::size_t item = 0;                              // its number in its list, from 1; 0: a document
  std::shared_ptr<const std::string> comments = {};  // of an item: those before the first field of its document
};

// Reads a text from its beginning, document by document, with no more of it in memory than one of them.
class PieceReader {
 public:
  explicit PieceReader(const Source& source) : source_(source) {}
  // Nothing at the end. 500 when the text cannot be read, 400 for what is no text.
  Result<std::optional<Piece>> next();

 private:
  Result<void> fill();
  std::optional<std::size_t> find_end(std::size_t from) const;
  Piece take(std::size_t bytes);
  Piece take_value();
  Result<void> skip_rest();

  const Source& source_;
  std::uint64_t read_ = 0;  // of the source
  std::uint64_t begin_ = 0;
  std::string_view left() const { return std::string_view(buffer_).substr(used_); }

  std::string buffer_;
  std::size_t used_ = 0;     // of the buffer
  std::size_t pending_ = 0;  // bytes behind that of a document whose end is known
  std::size_t line_ = 1, column_ = 1;
  bool ended_ = false;
};

// Whether there is nothing in it but comments, markers and blanks.
bool is_blank(std::string_view text);

}  // namespace vg::offline
