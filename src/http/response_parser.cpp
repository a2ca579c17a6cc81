#include "http/response_parser.h"

#include <algorithm>
#include <charconv>

#include "base/characters.h"
#include "base/trimmed.h"

namespace vg::http {

namespace {

template <class Each>
void each_element(std::string_view list, Each each) {
  for (;;) {
    const std::size_t comma = list.find(',');
    each(trimmed(list.substr(0, comma), header_blanks));
    if (comma == std::string_view::npos) return;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

std::optional<std::string_view> ResponseHead::find(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (equal_ignoring_case(key, name)) return value;
  }
  return std::nullopt;
}

ResponseParser::Advance ResponseParser::fail(std::size_t consumed, const char* why) {
  state_ = State::failed;
  error_ = why;
  return {Progress::failed, consumed, {}};
}

// A whole line without its end, from the input and what came before. False: its end has not come.
bool ResponseParser::take_line(std::string_view input, std::size_t& consumed, std::string_view& line) {
  const std::size_t newline = input.find('\n', consumed);
  const std::string_view part =
      input.substr(consumed, newline == std::string_view::npos ? newline : newline - consumed);
  head_bytes_ += part.size() + 1;
  if (newline == std::string_view::npos) {
    --head_bytes_;
    consumed = input.size();
    if (head_bytes_ <= limits_.head_bytes) line_ += part;  // beyond it the answer is refused anyway
    return false;
  }
  consumed = newline + 1;
  if (line_.empty()) {
    line = part;
  } else {
    line_ += part;
    line = line_;
  }
  return true;
}

ResponseParser::Advance ResponseParser::next(std::string_view input) {
  std::size_t consumed = 0;
  if (!input.empty() && state_ != State::done) begun_ = true;
  for (;;) {
    switch (state_) {
      case State::status_line:
      case State::fields: {
        std::string_view line;
        const bool whole = consumed < input.size() && take_line(input, consumed, line);
        if (head_bytes_ > limits_.head_bytes) return fail(consumed, "the head of the answer is too long");
        if (!whole) return {Progress::more, consumed, {}};
        if (!line.ends_with('\r')) return fail(consumed, "a line of the answer does not end with CR LF");
        line.remove_suffix(1);
        const char* problem = nullptr;
        const bool last = state_ == State::fields && line.empty();
        if (last) {
          problem = finish_head();
        } else {
          problem = state_ == State::status_line ? status_line(line) : field(line);
        }
        line_.clear();
        if (problem != nullptr) return fail(consumed, problem);
        // finish_head() goes back to the status line after an interim answer.
        if (last && state_ != State::status_line) return {Progress::head, consumed, {}};
        break;
      }
      case State::length: {
        const std::size_t count = std::min<std::uint64_t>(left_, input.size() - consumed);
        if (count == 0) return {Progress::more, consumed, {}};
        left_ -= count;
        if (left_ == 0) state_ = State::done;
        return {Progress::data, consumed + count, input.substr(consumed, count)};
      }
      case State::chunked: {
        const ChunkedDecoder::Advance step = chunks_.next(input.substr(consumed));
        consumed += step.consumed;
        switch (step.progress) {
          case ChunkedDecoder::Progress::more:
            return {Progress::more, consumed, {}};
          case ChunkedDecoder::Progress::data:
            return {Progress::data, consumed, step.data};
          case ChunkedDecoder::Progress::failed:
            return fail(consumed, chunks_.error());
          case ChunkedDecoder::Progress::done:
            state_ = State::done;
        }
        break;
      }
      case State::until_end:
        if (consumed == input.size()) return {Progress::more, consumed, {}};
        return {Progress::data, input.size(), input.substr(consumed)};
      case State::done:
        return {Progress::done, consumed, {}};
      case State::failed:
        return {Progress::failed, consumed, {}};
    }
  }
}

ResponseParser::Progress ResponseParser::end_of_input() {
  if (state_ == State::until_end) state_ = State::done;
  if (state_ == State::done) return Progress::done;
  if (state_ != State::failed) fail(0, begun_ ? "the answer ends in the middle" : "no answer came");
  return Progress::failed;
}

// "HTTP/1.1 200 OK" (RFC 9112 4). The phrase may be empty, and some servers leave out the space before it.
const char* ResponseParser::status_line(std::string_view line) {
  if (!line.starts_with("HTTP/1.") || line.size() < 12 || !is_digit(line[7]) || line[8] != ' ') {
    return "the answer is not HTTP/1.x";
  }
  http_1_0_ = line[7] == '0';
  if (!is_digit(line[9]) || !is_digit(line[10]) || !is_digit(line[11]) || line[9] == '0' ||
      (line.size() > 12 && line[12] != ' ')) {
    return "the answer has no valid status code";
  }
  head_.status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
  const std::string_view reason = line.size() > 13 ? line.substr(13) : std::string_view();
  if (!is_field_value(reason)) return "the answer's reason phrase has control characters";
  head_.reason = reason;
  state_ = State::fields;
  return nullptr;
}

const char* ResponseParser::field(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return "a header field of the answer has no colon";
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = trimmed(line.substr(colon + 1), header_blanks);
  // A folded line begins with a space, which no name may contain.
  if (!is_token(name)) return "a header field of the answer has no valid name";
  if (!is_field_value(value)) return "a header field of the answer has control characters";
  if (head_.headers.size() == limits_.fields) return "the answer has too many header fields";
  head_.headers.emplace_back(name, value);
  return note(name, value);
}

const char* ResponseParser::note(std::string_view name, std::string_view value) {
  if (equal_ignoring_case(name, "Content-Length")) {
    std::uint64_t length = 0;
    const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), length);
    if (code != std::errc() || end != value.data() + value.size()) return "the answer's length is not a number";
    if (content_length_ && *content_length_ != length) return "the answer has two lengths";
    content_length_ = length;
  } else if (equal_ignoring_case(name, "Transfer-Encoding")) {
    if (chunked_ || !equal_ignoring_case(value, "chunked")) return "the answer has an unknown transfer encoding";
    chunked_ = true;
  } else if (equal_ignoring_case(name, "Connection")) {
    each_element(value, [this](std::string_view element) {
      if (equal_ignoring_case(element, "close")) says_close_ = true;
      if (equal_ignoring_case(element, "keep-alive")) says_keep_alive_ = true;
    });
  }
  return nullptr;
}

// How long the body is (RFC 9112 6.3).
const char* ResponseParser::finish_head() {
  const int status = head_.status;
  if (status / 100 == 1 && status != 101) {
    // The head limit goes on counting, so that interim answers cannot go on for ever.
    head_ = {};
    content_length_.reset();
    chunked_ = says_close_ = says_keep_alive_ = false;
    state_ = State::status_line;
    return nullptr;
  }
  keep_alive_ = http_1_0_ ? says_keep_alive_ && !says_close_ : !says_close_;
  if (to_head_ || status == 101 || status == 204 || status == 304) {
    state_ = State::done;
  } else if (chunked_) {
    if (content_length_ || http_1_0_) return "the answer has a length and a transfer encoding that contradict";
    state_ = State::chunked;
  } else if (content_length_) {
    left_ = *content_length_;
    state_ = left_ == 0 ? State::done : State::length;
  } else {
    keep_alive_ = false;
    state_ = State::until_end;
  }
  return nullptr;
}

}  // namespace vg::http
