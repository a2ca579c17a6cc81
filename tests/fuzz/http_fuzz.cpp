// Bytes of a connection to the request parser and the chunk decoder, whole and in pieces. However they are split, the
// same requests must come out: a difference is how requests are smuggled past a proxy that splits differently.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "http/exchange.h"
#include "http/request_parser.h"

namespace {

using vg::http::ChunkedDecoder;
using vg::http::HeadLimits;
using vg::http::Request;
using vg::http::RequestParser;

constexpr std::size_t body_bytes_max = 1 << 16;

// Hands out a growing prefix of the input, always in memory of its own that ends where the prefix ends.
class Feed {
 public:
  Feed(std::string_view input, std::uint32_t seed) : input_(input), state_(seed) { grow(); }
  std::string_view seen() const { return {copy_.get(), size_}; }
  bool grow() {
    if (given_ == input_.size()) return false;
    std::size_t step = input_.size() - given_;
    if (state_ != 0) {
      state_ = state_ * 1664525 + 1013904223;
      step = std::min<std::size_t>(step, 1 + (state_ >> 24) % (state_ & 0x10000 ? 64 : 3));
    }
    given_ += step;
    place();
    return true;
  }
  void drop(std::size_t bytes) {
    dropped_ += bytes;
    place();
  }

 private:
  void place() {
    size_ = given_ - dropped_;
    copy_.reset(new char[size_]);
    if (size_ != 0) std::memcpy(copy_.get(), input_.data() + dropped_, size_);
  }
  std::string_view input_;
  std::uint32_t state_;
  std::size_t given_ = 0;
  std::size_t dropped_ = 0;
  std::size_t size_ = 0;
  std::unique_ptr<char[]> copy_;
};

void tell(std::string& story, std::string_view what, std::string_view text) {
  story.append(what).append("=").append(text).append("\n");
}

// Everything a server would learn from the bytes.
std::string story_of(std::string_view input, std::uint32_t seed, const HeadLimits& limits) {
  std::string story;
  Feed feed(input, seed);
  RequestParser parser(limits);
  for (int requests = 0; requests < 64; ++requests) {
    parser.reset();
    RequestParser::Progress progress;
    while ((progress = parser.parse(feed.seen())) == RequestParser::Progress::more) {
      if (feed.seen().size() > limits.head_bytes + 1 + 64) std::abort();  // it must have failed by now
      if (!feed.grow()) return story + "incomplete head";
    }
    if (progress == RequestParser::Progress::failed) {
      tell(story, "refused", std::to_string(parser.error_code()) + parser.error());
      return story;
    }
    Request request;
    parser.fill(feed.seen(), request);
    tell(story, "method", request.method);
    tell(story, "target", request.target);
    tell(story, "path", request.path);
    tell(story, "query", request.query);
    for (const auto& field : request.headers.fields()) {
      tell(story, field.name, field.value);
      if (!vg::http::is_token(field.name) || !vg::http::is_field_value(field.value)) std::abort();
    }
    if (request.headers.fields().size() > limits.fields || request.target.size() > limits.target_bytes) std::abort();
    tell(story, "keep", parser.keep_alive() ? "yes" : "no");
    feed.drop(parser.head_bytes());
    if (parser.body() == RequestParser::Body::length) {
      if (parser.content_length() > body_bytes_max) return story + "too large";
      while (feed.seen().size() < parser.content_length()) {
        if (!feed.grow()) return story + "incomplete body";
      }
      tell(story, "body", feed.seen().substr(0, parser.content_length()));
      feed.drop(parser.content_length());
    } else if (parser.body() == RequestParser::Body::chunked) {
      ChunkedDecoder decoder;
      std::string body;
      for (;;) {
        const auto step = decoder.next(feed.seen());
        if (step.consumed > feed.seen().size()) std::abort();
        body += step.data;
        feed.drop(step.consumed);
        if (step.progress == ChunkedDecoder::Progress::done) break;
        if (step.progress == ChunkedDecoder::Progress::failed) {
          tell(story, "refused", decoder.error());
          return story;
        }
        if (step.progress == ChunkedDecoder::Progress::more && !feed.grow()) return story + "incomplete chunks";
      }
      tell(story, "chunks", body);
    }
    if (!parser.keep_alive()) return story + "closed";
  }
  return story;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 2, size - 2);
  const HeadLimits small{.head_bytes = 512, .fields = 8, .target_bytes = 100};
  for (const HeadLimits& limits : {HeadLimits{}, small}) {
    const std::string whole = story_of(input, 0, limits);
    const std::uint32_t seed = 1u + data[0] + 256u * data[1];
    const std::string split = story_of(input, seed, limits);
    if (whole != split) {
      std::fprintf(stderr, "whole:\n%s\n\nsplit:\n%s\n", whole.c_str(), split.c_str());
      std::abort();
    }
  }
  return 0;
}
