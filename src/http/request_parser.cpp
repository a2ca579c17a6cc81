#include "http/request_parser.h"

#include <algorithm>
#include <array>

#include "base/limits.h"
#include "base/trimmed.h"
#include "http/exchange.h"

namespace vg::http {
namespace {

enum : std::uint8_t { token_bit = 1, value_bit = 2, target_bit = 4, host_bit = 8 };

// What each byte may be part of.
constexpr std::array<std::uint8_t, 256> make_kinds() {
  std::array<std::uint8_t, 256> kinds{};
  for (int c = 0; c < 256; ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool digit = c >= '0' && c <= '9';
    std::uint8_t kind = 0;
    if (letter || digit) kind |= token_bit | host_bit;
    if (c == '\t' || (c >= 0x20 && c != 0x7f)) kind |= value_bit;
    // Anything visible: clients do send characters that URIs should have escaped. A fragment never belongs here.
    if (c > 0x20 && c != 0x7f && c != '#') kind |= target_bit;
    kinds[static_cast<std::size_t>(c)] = kind;
  }
  for (const char c : std::string_view("!#$%&'*+-.^_`|~")) kinds[static_cast<unsigned char>(c)] |= token_bit;
  for (const char c : std::string_view("-._~%!$&'()*+,;=:[]@")) kinds[static_cast<unsigned char>(c)] |= host_bit;
  return kinds;
}
constexpr auto kinds = make_kinds();

bool all_of_kind(std::string_view text, std::uint8_t kind) {
  return std::ranges::all_of(text, [kind](char c) { return (kinds[static_cast<unsigned char>(c)] & kind) != 0; });
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

// Method, two spaces, version, CR.
constexpr std::size_t request_line_rest_bytes = limits::method_bytes_max + 2 + 8 + 1;

}  // namespace

bool is_token(std::string_view text) { return !text.empty() && all_of_kind(text, token_bit); }
bool is_field_value(std::string_view text) { return all_of_kind(text, value_bit); }
bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
}

std::optional<std::string_view> Headers::find(std::string_view name) const {
  for (const HeaderField& field : fields_) {
    if (equal_ignoring_case(field.name, name)) return field.value;
  }
  return std::nullopt;
}

void RequestParser::reset() {
  auto fields = std::move(fields_);
  fields.clear();
  *this = RequestParser(limits_);
  fields_ = std::move(fields);
}

RequestParser::Progress RequestParser::fail(int code, const char* why) {
  state_ = State::failed;
  error_code_ = code;
  error_ = why;
  return Progress::failed;
}

RequestParser::Progress RequestParser::parse(std::string_view data) {
  while (state_ == State::request_line || state_ == State::fields) {
    const bool first = state_ == State::request_line;
    // Not a request at all (a TLS hello on a plain port, a binary protocol): say so at the first byte.
    if (first && line_start_ < data.size() && data[line_start_] != '\r' &&
        (kinds[static_cast<unsigned char>(data[line_start_])] & token_bit) == 0) {
      return fail(400, "this is not an HTTP request");
    }
    const std::size_t room =
        first ? std::min(limits_.target_bytes + request_line_rest_bytes, limits_.head_bytes) : limits_.head_bytes;
    const std::size_t counted_from = first ? line_start_ : 0;
    const std::size_t newline = data.find('\n', scanned_);
    const bool complete = newline != std::string_view::npos;
    const std::size_t end = complete ? newline : data.size();
    // The same test for a line that is complete and for one that is not, so that splitting changes nothing.
    if (end - counted_from > room) {
      return first ? fail(414, "the request line is too long") : fail(431, "the header is too large");
    }
    scanned_ = end;
    if (!complete) return Progress::more;
    if (end == line_start_ || data[end - 1] != '\r') return fail(400, "a line of the header does not end with CRLF");
    const std::size_t from = line_start_;
    const std::size_t to = end - 1;
    line_start_ = scanned_ = end + 1;
    Progress progress = Progress::more;
    if (first) {
      if (from == to) {
        if (++blank_lines_ > limits::blank_lines_max) return fail(400, "blank lines instead of a request");
        continue;
      }
      progress = request_line(data, from, to);
      if (progress == Progress::more) state_ = State::fields;
    } else if (from == to) {
      progress = finish();
    } else {
      progress = field(data, from, to);
    }
    if (progress != Progress::more) return progress;
  }
  return state_ == State::done ? Progress::done : Progress::failed;
}

RequestParser::Progress RequestParser::request_line(std::string_view data, std::size_t from, std::size_t to) {
  const std::string_view line = data.substr(from, to - from);
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last)
    return fail(400, "the request line is not METHOD TARGET VERSION");
  const std::string_view method = line.substr(0, first);
  const std::string_view target_text = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (method.size() > limits::method_bytes_max || !is_token(method)) return fail(400, "the method is malformed");
  if (version.size() != 8 || !version.starts_with("HTTP/") || version[5] < '0' || version[5] > '9' ||
      version[6] != '.' || version[7] < '0' || version[7] > '9') {
    return fail(400, "the HTTP version is malformed");
  }
  if (version[5] != '1') return fail(505, "only HTTP/1.1 and HTTP/1.0 are supported");
  minor_version_ = version[7] == '0' ? 0 : 1;
  if (target_text.size() > limits_.target_bytes) return fail(414, "the request target is too long");
  if (target_text.empty() || !all_of_kind(target_text, target_bit)) return fail(400, "the request target is malformed");
  const auto piece = [&](std::string_view part) {
    return Piece{static_cast<std::uint32_t>(part.data() - data.data()), static_cast<std::uint32_t>(part.size())};
  };
  method_ = piece(method);
  target_ = piece(target_text);
  is_head_ = method == "HEAD";
  if (method == "CONNECT") return fail(501, "CONNECT is not supported: this is not a proxy");
  return target(data);
}

// The forms of RFC 9112 3.2: /path?query, http://authority/path?query, and * for OPTIONS.
RequestParser::Progress RequestParser::target(std::string_view data) {
  std::size_t at = target_.at;
  const std::size_t end = at + target_.size;
  const std::string_view text = data.substr(at, target_.size);
  if (text == "*") {
    if (data.substr(method_.at, method_.size) != "OPTIONS")
      return fail(400, "the request target * is supported for OPTIONS only");
    path_ = target_;
    query_ = {};
    return Progress::more;
  }
  if (text.front() != '/') {
    const std::size_t scheme = text.find("://");
    if (scheme == std::string_view::npos || (!equal_ignoring_case(text.substr(0, scheme), "http") &&
                                             !equal_ignoring_case(text.substr(0, scheme), "https"))) {
      return fail(400, "the request target is neither a path nor an absolute URL");
    }
    const std::size_t authority = scheme + 3;
    const std::size_t path = std::min(text.find_first_of("/?", authority), text.size());
    if (path == authority) return fail(400, "the request target names no host");
    at += path;
  }
  const std::size_t question = std::min(data.substr(0, end).find('?', at), end);
  path_ = {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(question - at)};
  query_ = question == end
               ? Piece{}
               : Piece{static_cast<std::uint32_t>(question + 1), static_cast<std::uint32_t>(end - question - 1)};
  return Progress::more;
}

RequestParser::Progress RequestParser::field(std::string_view data, std::size_t from, std::size_t to) {
  if (fields_.size() == limits_.fields) return fail(431, "the header has too many fields");
  const std::string_view line = data.substr(from, to - from);
  if (line.front() == ' ' || line.front() == '\t')
    return fail(400, "folded header fields are obsolete and not supported");
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return fail(400, "a header field has no colon");
  const std::string_view name = line.substr(0, colon);
  if (!is_token(name)) return fail(400, "the name of a header field is malformed");
  const std::string_view value = trimmed(line.substr(colon + 1), header_blanks);
  if (!is_field_value(value)) return fail(400, "the value of a header field has a control character");
  fields_.push_back(
      {{static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(colon)},
       {static_cast<std::uint32_t>(value.data() - data.data()), static_cast<std::uint32_t>(value.size())}});
  return note(name, value);
}

// The fields that say how the message is framed and the connection kept.
RequestParser::Progress RequestParser::note(std::string_view name, std::string_view value) {
  switch (name.size()) {
    case 4:
      if (equal_ignoring_case(name, "Host")) {
        ++hosts_;
        if (!all_of_kind(value, host_bit)) return fail(400, "the Host header field is malformed");
      }
      break;
    case 6:
      if (equal_ignoring_case(name, "Expect")) {
        (equal_ignoring_case(value, "100-continue") ? expects_continue_ : expects_more_) = true;
      }
      break;
    case 10:
      if (equal_ignoring_case(name, "Connection")) {
        for (std::string_view rest = value; !rest.empty();) {
          const std::size_t comma = std::min(rest.find(','), rest.size());
          const std::string_view option = trimmed(rest.substr(0, comma), header_blanks);
          if (equal_ignoring_case(option, "close")) says_close_ = true;
          if (equal_ignoring_case(option, "keep-alive")) says_keep_alive_ = true;
          rest.remove_prefix(std::min(comma + 1, rest.size()));
        }
      }
      break;
    case 14:
      if (equal_ignoring_case(name, "Content-Length")) return note_length(value);
      break;
    case 17:
      if (equal_ignoring_case(name, "Transfer-Encoding")) {
        if (has_encoding_) return fail(400, "more than one Transfer-Encoding");
        has_encoding_ = true;
        if (!equal_ignoring_case(value, "chunked")) return fail(501, "only Transfer-Encoding chunked is supported");
      }
      break;
    default:
      break;
  }
  return Progress::more;
}

RequestParser::Progress RequestParser::note_length(std::string_view value) {
  // 18 digits cannot overflow and are more than any body.
  if (value.empty() || value.size() > 18) return fail(400, "the Content-Length is malformed");
  std::uint64_t length = 0;
  for (const char c : value) {
    if (c < '0' || c > '9') return fail(400, "the Content-Length is malformed");
    length = length * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (has_length_ && length != content_length_) return fail(400, "two different Content-Length fields");
  has_length_ = true;
  content_length_ = length;
  return Progress::more;
}

RequestParser::Progress RequestParser::finish() {
  if (hosts_ > 1) return fail(400, "more than one Host header field");
  if (minor_version_ >= 1 && hosts_ == 0) return fail(400, "the Host header field is missing");
  if (has_encoding_ && has_length_) return fail(400, "both Content-Length and Transfer-Encoding");
  if (has_encoding_ && minor_version_ == 0) return fail(400, "Transfer-Encoding in an HTTP/1.0 request");
  if (minor_version_ == 0) {
    expects_continue_ = false;  // RFC 9110 10.1.1: ignored in 1.0
  } else if (expects_more_) {
    return fail(417, "only the expectation 100-continue is supported");
  }
  if (has_encoding_) {
    body_ = Body::chunked;
  } else if (content_length_ > 0) {
    body_ = Body::length;
  }
  state_ = State::done;
  return Progress::done;
}

void RequestParser::fill(std::string_view data, Request& request) const {
  const auto view = [&](Piece piece) { return data.substr(piece.at, piece.size); };
  request.method = view(method_);
  request.target = view(target_);
  request.path = view(path_);
  if (request.path.empty()) request.path = "/";  // http://host and http://host?query
  request.query = view(query_);
  request.protocol = minor_version_ == 0 ? "HTTP/1.0" : "HTTP/1.1";
  request.headers.clear();
  for (const Field& field : fields_) request.headers.add(view(field.name), view(field.value));
}

bool ChunkedDecoder::refuse(const char* why) {
  state_ = State::failed;
  error_ = why;
  return false;
}

bool ChunkedDecoder::count_overhead() {
  if (++overhead_bytes_ > limits::chunk_overhead_bytes_max) return refuse("the chunked body has too much framing");
  return true;
}

// A trailer's name, of which a fold, an empty name and a missing colon are refused as in the header. So are fields that
// frame a message: whoever reads them behind us might take the next request for something else.
bool ChunkedDecoder::trailer_name(unsigned char c) {
  if (c == '\r' || c == '\n') return refuse("a trailer has no colon");
  if (c != ':') {
    if ((kinds[c] & token_bit) == 0) return refuse("the name of a trailer is malformed");
    if (name_bytes_ < name_.size()) name_[name_bytes_] = static_cast<char>(c);
    ++name_bytes_;
    return count_overhead();
  }
  if (name_bytes_ == 0) return refuse("the name of a trailer is malformed");
  if (name_bytes_ <= name_.size()) {
    const std::string_view name(name_.data(), name_bytes_);
    for (const std::string_view framing : {"Content-Length", "Transfer-Encoding", "Host", "Connection"}) {
      if (equal_ignoring_case(name, framing)) return refuse("a trailer must not change the framing of the message");
    }
  }
  state_ = State::trailer;
  return count_overhead();
}

// One byte outside of data. False when it must not be there.
bool ChunkedDecoder::byte(unsigned char c) {
  switch (state_) {
    case State::size_first:
    case State::size: {
      if (++line_bytes_ > limits::chunk_line_bytes_max) return refuse("the line before a chunk is too long");
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit >= 0) {
        if (left_ >> 56 != 0) return refuse("a chunk's size is too large");
        left_ = left_ << 4 | static_cast<unsigned>(digit);
        state_ = State::size;
        return true;
      }
      if (state_ == State::size_first) return refuse("a chunk has no size");
      if (c == ';') {
        state_ = State::extension;
        return count_overhead();
      }
      if (c != '\r') return refuse("a chunk's size is malformed");
      state_ = State::size_lf;
      return true;
    }
    case State::extension:
      if (++line_bytes_ > limits::chunk_line_bytes_max) return refuse("the line before a chunk is too long");
      if (c == '\r') {
        state_ = State::size_lf;
        return true;
      }
      if ((kinds[c] & value_bit) == 0) return refuse("a chunk's extension is malformed");
      return count_overhead();
    case State::size_lf:
      if (c != '\n') return refuse("the line before a chunk does not end with CRLF");
      line_bytes_ = 0;
      state_ = left_ == 0 ? State::trailer_first : State::data;
      return true;
    case State::data_cr:
      if (c != '\r') return refuse("a chunk is longer than its size");
      state_ = State::data_lf;
      return true;
    case State::data_lf:
      if (c != '\n') return refuse("a chunk is longer than its size");
      state_ = State::size_first;
      return true;
    case State::trailer_first:
      if (c == '\r') {
        state_ = State::last_lf;
        return true;
      }
      name_bytes_ = 0;
      state_ = State::trailer_name;
      return trailer_name(c);
    case State::trailer_name:
      return trailer_name(c);
    case State::trailer:
      if (c == '\r') {
        state_ = State::trailer_lf;
        return true;
      }
      if ((kinds[c] & value_bit) == 0) return refuse("a trailer is malformed");
      return count_overhead();
    case State::trailer_lf:
      if (c != '\n') return refuse("a trailer does not end with CRLF");
      state_ = State::trailer_first;
      return true;
    case State::last_lf:
      if (c != '\n') return refuse("the chunked body does not end with CRLF");
      state_ = State::done;
      return true;
    case State::data:
    case State::done:
    case State::failed:
      break;
  }
  return false;
}

ChunkedDecoder::Advance ChunkedDecoder::next(std::string_view input) {
  std::size_t at = 0;
  while (at < input.size() && state_ != State::done && state_ != State::failed) {
    if (state_ == State::data) {
      const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, input.size() - at));
      left_ -= size;
      if (left_ == 0) state_ = State::data_cr;
      return {Progress::data, at + size, input.substr(at, size)};
    }
    if (!byte(static_cast<unsigned char>(input[at]))) break;
    ++at;
  }
  if (state_ == State::failed) return {Progress::failed, at, {}};
  return {state_ == State::done ? Progress::done : Progress::more, at, {}};
}

}  // namespace vg::http
