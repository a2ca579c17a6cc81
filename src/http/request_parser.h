// The head of an HTTP/1.x request (RFC 9112), and chunked bodies. Bytes in, facts out; no input or output of its own.
//
// Why not the parser of the network library: it reports an overlong target, too many fields and an unknown version as
// one kind of error or as none where we owe the client 414, 431, 501 or 505; it unfolds folded fields and lets a
// Transfer-Encoding that does not end in "chunked" pass as no body, both of which we have to refuse, so that each field
// would be looked at twice; and its header costs more to compile than everything here. What is left to write is the
// strict half of a grammar of two pages. It is fuzzed: the way bytes are split must never change the outcome.
//
// Where RFC 9112 lets a recipient be lenient (bare LF, obs-fold, whitespace around the request line, repeated lengths
// in a list), leniency is what request smuggling is made of, and no client of ours needs it: all of it is refused.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/limits.h"

namespace vg::http {

struct Request;

struct HeadLimits {
  std::size_t head_bytes = limits::header_bytes_max;
  std::size_t fields = limits::header_fields_max;
  std::size_t target_bytes = limits::target_bytes_max;
};

class RequestParser {
 public:
  enum class Progress : std::uint8_t { more, done, failed };
  enum class Body : std::uint8_t { none, length, chunked };

  explicit RequestParser(const HeadLimits& head_limits = HeadLimits()) : limits_(head_limits) {}

  // For the next request. Keeps memory.
  void reset();
  // Gives memory back that is for more than so many fields. After reset.
  void keep_fields(std::size_t fields) {
    if (fields_.capacity() > fields) std::vector<Field>().swap(fields_);
  }
  // `data` begins where the request begins and holds every byte of it that has arrived; it may have moved since the
  // last call. Each byte is looked at once.
  Progress parse(std::string_view data);

  // After failed: what to answer. The connection cannot be used any further.
  int error_code() const { return error_code_; }
  const char* error() const { return error_; }

  // After done.
  std::size_t head_bytes() const { return line_start_; }
  // Points everything at `data`, the same bytes that were parsed.
  void fill(std::string_view data, Request& request) const;
  int minor_version() const { return minor_version_; }
  bool is_head() const { return is_head_; }
  Body body() const { return body_; }
  std::uint64_t content_length() const { return content_length_; }
  bool keep_alive() const { return minor_version_ == 0 ? says_keep_alive_ && !says_close_ : !says_close_; }
  bool expects_continue() const { return expects_continue_; }

 private:
  enum class State : std::uint8_t { request_line, fields, done, failed };
  struct Piece {
    std::uint32_t at = 0;
    std::uint32_t size = 0;
  };
  struct Field {
    Piece name;
    Piece value;
  };
  Progress fail(int code, const char* why);
  Progress request_line(std::string_view data, std::size_t from, std::size_t to);
  Progress target(std::string_view data);
  Progress field(std::string_view data, std::size_t from, std::size_t to);
  Progress note(std::string_view name, std::string_view value);
  Progress note_length(std::string_view value);
  Progress finish();

  HeadLimits limits_;
  State state_ = State::request_line;
  std::size_t line_start_ = 0;
  std::size_t scanned_ = 0;
  Piece method_, target_, path_, query_;
  std::vector<Field> fields_;
  std::uint64_t content_length_ = 0;
  int error_code_ = 0;
  const char* error_ = "";
  int minor_version_ = 1;
  int blank_lines_ = 0;
  int hosts_ = 0;
  Body body_ = Body::none;
  bool is_head_ = false;
  bool has_length_ = false;
  bool has_encoding_ = false;
  bool says_close_ = false;
  bool says_keep_alive_ = false;
  bool expects_continue_ = false;
  bool expects_more_ = false;
};

// The bytes inside a chunked body.
class ChunkedDecoder {
 public:
  enum class Progress : std::uint8_t { more, data, done, failed };
  struct Advance {
    Progress progress = Progress::more;
    std::size_t consumed = 0;  // of the input, with the data
    std::string_view data = {};
  };
  // Call it again with the rest of the input until it asks for more or is done. Trailers are checked and dropped.
  Advance next(std::string_view input);
  const char* error() const { return error_; }

 private:
  enum class State : std::uint8_t {
    size_first,
    size,
    extension,
    size_lf,
    data,
    data_cr,
    data_lf,
    trailer_first,
    trailer_name,
    trailer,
    trailer_lf,
    last_lf,
    done,
    failed
  };
  bool byte(unsigned char c);
  bool refuse(const char* why);
  bool count_overhead();
  bool trailer_name(unsigned char c);

  State state_ = State::size_first;
  std::uint64_t left_ = 0;
  std::size_t line_bytes_ = 0;
  std::array<char, 17> name_{};  // of a trailer, as far as it matters: the longest is Transfer-Encoding
  std::size_t name_bytes_ = 0;
  std::size_t overhead_bytes_ = 0;  // of extensions and trailers: bytes that carry nothing must not go on for ever
  const char* error_ = "";
};

// Whether all are characters of a token (RFC 9110 5.6.2) and there is at least one.
bool is_token(std::string_view text);
// Whether this may stand as a field's value: no control characters but tab.
bool is_field_value(std::string_view text);
// ASCII only, as HTTP compares names.
bool equal_ignoring_case(std::string_view a, std::string_view b);

}  // namespace vg::http
