// An HTTP/1.x answer as a client reads it (RFC 9112): bytes in, head and pieces of body out, no input or output of its
// own. As strict as the parser of requests, and for the same reason: on a connection that is used again, an answer
// whose end is unclear would become the beginning of the next one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "http/request_parser.h"

namespace vg::http {

struct ResponseHead {
  int status = 0;
  std::string reason;  // the phrase after the code
  std::vector<std::pair<std::string, std::string>> headers;

  // The first field of that name, whatever its case.
  std::optional<std::string_view> find(std::string_view name) const;
};

class ResponseParser {
 public:
  struct Limits {
    std::size_t head_bytes = limits::header_bytes_max;
    std::size_t fields = limits::header_fields_max;
  };
  enum class Progress : std::uint8_t {
    more,  // all input was used
    head,  // head() is complete
    data,  // a piece of the body
    done,  // the answer is complete; input that is left belongs to something else
    failed,
  };
  struct Advance {
    Progress progress = Progress::more;
    std::size_t consumed = 0;  // of the input, with the data
    std::string_view data = {};
  };

  // `to_head`: the answer to a HEAD request has no body, whatever it says.
  explicit ResponseParser(bool to_head = false) : ResponseParser(to_head, Limits()) {}
  ResponseParser(bool to_head, Limits limits) : limits_(limits), to_head_(to_head) {}

  // Call it again with the rest of the input until it asks for more, is done or failed. Interim answers (1xx) other
  // than 101 are skipped.
  Advance next(std::string_view input);
  // The connection ended in an orderly way: done if that is how this answer ends, else failed.
  Progress end_of_input();

  const ResponseHead& head() const { return head_; }
  ResponseHead take_head() { return std::move(head_); }
  const char* error() const { return error_; }
  // After done: whether the connection may carry another request.
  bool keep_alive() const { return state_ == State::done && keep_alive_; }
  // Whether any byte of an answer has come.
  bool begun() const { return begun_; }

 private:
  enum class State : std::uint8_t { status_line, fields, length, chunked, until_end, done, failed };
  Advance fail(std::size_t consumed, const char* why);
  const char* status_line(std::string_view line);
  const char* field(std::string_view line);
  const char* note(std::string_view name, std::string_view value);
  const char* finish_head();
  bool take_line(std::string_view input, std::size_t& consumed, std::string_view& line);

  Limits limits_;
  ResponseHead head_;
  std::string line_;  // the beginning of a line whose end has not come yet
  ChunkedDecoder chunks_;
  std::uint64_t left_ = 0;
  std::optional<std::uint64_t> content_length_;
  std::size_t head_bytes_ = 0;
  const char* error_ = "";
  State state_ = State::status_line;
  bool to_head_;
  bool begun_ = false;
  bool http_1_0_ = false;
  bool chunked_ = false;
  bool says_close_ = false;
  bool says_keep_alive_ = false;
  bool keep_alive_ = false;
};

}  // namespace vg::http
