#include "http/request_parser.h"

#include <gtest/gtest.h>

#include "http/exchange.h"

namespace vg::http {
namespace {

using Progress = RequestParser::Progress;

struct Outcome {
  Progress progress;
  int code = 0;
};

// Whole, and again byte by byte in a buffer that moves: both must come to the same end.
Outcome parse(const std::string& text, HeadLimits head_limits = {}) {
  RequestParser whole(head_limits);
  const Outcome outcome{whole.parse(text), whole.error_code()};
  RequestParser split(head_limits);
  Progress progress = Progress::more;
  std::string moved;
  for (std::size_t i = 1; i <= text.size() && progress == Progress::more; ++i) {
    moved = std::string(text, 0, i);
    progress = split.parse(moved);
  }
  EXPECT_EQ(progress, outcome.progress) << text.substr(0, 100);
  EXPECT_EQ(split.error_code(), outcome.code) << text.substr(0, 100);
  return outcome;
}

int code_of(const std::string& text, HeadLimits head_limits = {}) {
  const Outcome outcome = parse(text, head_limits);
  if (outcome.progress == Progress::more) return -1;
  return outcome.progress == Progress::done ? 0 : outcome.code;
}

std::string with(const std::string& fields) { return "GET / HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n"; }

TEST(RequestParser, ReadsAHead) {
  const std::string text =
      "POST /apis/x?watch=true&a=b HTTP/1.1\r\nHost: example:6443\r\nAccept:application/json\r\nX-Empty:\r\n"
      "X-Space: \t a b \t \r\nContent-Length: 12\r\n\r\nbody follows";
  RequestParser parser;
  ASSERT_EQ(parser.parse(text), Progress::done);
  Request request;
  parser.fill(text, request);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/apis/x?watch=true&a=b");
  EXPECT_EQ(request.path, "/apis/x");
  EXPECT_EQ(request.query, "watch=true&a=b");
  EXPECT_EQ(request.protocol, "HTTP/1.1");
  EXPECT_EQ(request.headers.fields().size(), 5u);
  EXPECT_EQ(request.headers.find("accept"), "application/json");
  EXPECT_EQ(request.headers.find("X-EMPTY"), "");
  EXPECT_EQ(request.headers.find("x-space"), "a b");
  EXPECT_EQ(request.headers.find("nothing"), std::nullopt);
  EXPECT_EQ(text.substr(parser.head_bytes()), "body follows");
  EXPECT_EQ(parser.body(), RequestParser::Body::length);
  EXPECT_EQ(parser.content_length(), 12u);
  EXPECT_TRUE(parser.keep_alive());
}

TEST(RequestParser, Accepts) {
  EXPECT_EQ(code_of(with("")), 0);
  EXPECT_EQ(code_of("\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"), 0);
  EXPECT_EQ(code_of("GET / HTTP/1.0\r\n\r\n"), 0);
  EXPECT_EQ(code_of("GET / HTTP/1.9\r\nHost: h\r\n\r\n"), 0);
  EXPECT_EQ(code_of("PROPFIND /\xc3\xa4|\"{} HTTP/1.1\r\nHost: [::1]:80\r\n\r\n"), 0);
  EXPECT_EQ(code_of(with("Content-Length: 5\r\nContent-Length: 5\r\n")), 0);
  EXPECT_EQ(code_of(with("Transfer-Encoding: Chunked\r\n")), 0);
  EXPECT_EQ(code_of(with("X: \xff obs-text\r\n")), 0);
  EXPECT_EQ(code_of("GET / HTTP/1.0\r\nExpect: anything\r\n\r\n"), 0);
  EXPECT_EQ(code_of("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"), 0);
  EXPECT_EQ(code_of("GET HTTPS://a.b/c HTTP/1.1\r\nHost: h\r\n\r\n"), 0);
}

TEST(RequestParser, RefusesMalformedRequests) {
  for (const std::string& text : std::vector<std::string>{
           "\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
           "\x16\x03\x01",
           " GET / HTTP/1.1\r\nHost: h\r\n\r\n",
           "GET\r\n\r\n",
           "GET /\r\n\r\n",
           "GET  / HTTP/1.1\r\nHost: h\r\n\r\n",
           "GET / HTTP/1.1 \r\nHost: h\r\n\r\n",
           "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n",
           "GET /a\tb HTTP/1.1\r\nHost: h\r\n\r\n",
           "GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n",
           "GET /\x7f HTTP/1.1\r\nHost: h\r\n\r\n",
           "GET a HTTP/1.1\r\nHost: h\r\n\r\n",
           "GET * HTTP/1.1\r\nHost: h\r\n\r\n",
           "GET ftp://a/ HTTP/1.1\r\nHost: h\r\n\r\n",
           "GET http:///x HTTP/1.1\r\nHost: h\r\n\r\n",
           "G(T / HTTP/1.1\r\nHost: h\r\n\r\n",
           std::string(40, 'G') + " / HTTP/1.1\r\nHost: h\r\n\r\n",
           "GET / HTTP/1.1x\r\nHost: h\r\n\r\n",
           "GET / http/1.1\r\nHost: h\r\n\r\n",
           "GET / HTTP/11\r\nHost: h\r\n\r\n",
           "GET / HTTP/1.1\nHost: h\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: h\n\r\n",
           "GET / HTTP/1.1\r\nHost: h\r\n\n",
           "GET / HTTP/1.1\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
           with("NoColon\r\n"),
           with("Space : x\r\n"),
           with(": x\r\n"),
           with("X: a\r\n folded\r\n"),
           with("\tX: a\r\n"),
           with("X: a\rb\r\n"),
           with(std::string("X: a\0b\r\n", 8)),
           with("Content-Length: -1\r\n"),
           with("Content-Length: +1\r\n"),
           with("Content-Length: 1 \t2\r\n"),
           with("Content-Length: 0x10\r\n"),
           with("Content-Length: 5, 5\r\n"),
           with("Content-Length:\r\n"),
           with("Content-Length: 9999999999999999999\r\n"),
           with("Content-Length: 5\r\nContent-Length: 6\r\n"),
           with("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
           with("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
           with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
           "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
       }) {
    EXPECT_EQ(code_of(text), 400) << text;
  }
}

TEST(RequestParser, RefusesWhatItDoesNotOffer) {
  EXPECT_EQ(code_of(with("Transfer-Encoding: gzip, chunked\r\n")), 501);
  EXPECT_EQ(code_of(with("Transfer-Encoding: identity\r\n")), 501);
  EXPECT_EQ(code_of(with("Transfer-Encoding:\r\n")), 501);
  EXPECT_EQ(code_of("CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n"), 501);
  EXPECT_EQ(code_of("GET / HTTP/2.0\r\n\r\n"), 505);
  EXPECT_EQ(code_of("GET / HTTP/0.9\r\n\r\n"), 505);
  EXPECT_EQ(code_of(with("Expect: 200-ok\r\n")), 417);
}

TEST(RequestParser, KeepsItsLimits) {
  const HeadLimits small{.head_bytes = 200, .fields = 3, .target_bytes = 50};
  EXPECT_EQ(code_of("GET /" + std::string(49, 'a') + " HTTP/1.1\r\nHost: h\r\n\r\n", small), 0);
  EXPECT_EQ(code_of("GET /" + std::string(50, 'a') + " HTTP/1.1\r\nHost: h\r\n\r\n", small), 414);
  EXPECT_EQ(code_of("GET /" + std::string(500, 'a'), small), 414) << "without an end in sight";
  EXPECT_EQ(code_of(with("A: 1\r\nB: 2\r\n"), small), 0);
  EXPECT_EQ(code_of(with("A: 1\r\nB: 2\r\nC: 3\r\n"), small), 431);
  EXPECT_EQ(code_of(with("A: " + std::string(500, 'a') + "\r\n"), small), 431);
  EXPECT_EQ(code_of("GET / HTTP/1.1\r\nA: " + std::string(500, 'a'), small), 431) << "without an end in sight";
  // Exactly at the limit.
  const std::string head = with("");
  EXPECT_EQ(code_of(head, {.head_bytes = head.size(), .fields = 3, .target_bytes = 50}), 0);
  EXPECT_EQ(code_of(head, {.head_bytes = head.size() - 2, .fields = 3, .target_bytes = 50}), 431);
}

TEST(RequestParser, ResetForgetsEverything) {
  RequestParser parser;
  ASSERT_EQ(parser.parse(with("Connection: close\r\nContent-Length: 3\r\nExpect: 100-continue\r\n")), Progress::done);
  EXPECT_FALSE(parser.keep_alive());
  parser.reset();
  const std::string next = "HEAD /n HTTP/1.1\r\nHost: h\r\n\r\n";
  ASSERT_EQ(parser.parse(next), Progress::done);
  EXPECT_TRUE(parser.keep_alive());
  EXPECT_TRUE(parser.is_head());
  EXPECT_FALSE(parser.expects_continue());
  EXPECT_EQ(parser.body(), RequestParser::Body::none);
  Request request;
  parser.fill(next, request);
  EXPECT_EQ(request.headers.fields().size(), 1u);
}

// Decodes in pieces of the given size; the error's text when it fails, nothing when it is not complete.
std::optional<std::string> decode(const std::string& text, std::size_t piece, std::size_t* used = nullptr) {
  ChunkedDecoder decoder;
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    std::string_view input = std::string_view(text).substr(at, piece);
    while (!input.empty()) {
      const auto step = decoder.next(input);
      out += step.data;
      at += step.consumed;
      input.remove_prefix(step.consumed);
      if (step.progress == ChunkedDecoder::Progress::failed) return std::string("! ") + decoder.error();
      if (step.progress == ChunkedDecoder::Progress::done) {
        if (used) *used = at;
        return out;
      }
    }
  }
  return std::nullopt;
}

TEST(ChunkedDecoder, Decodes) {
  const std::string text =
      "4\r\nWiki\r\n6;a=\"b\"\r\npedia \r\nE\r\nin \r\n\r\nchunks.\r\n0\r\nA: b\r\nC: d\r\n\r\nnext";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    std::size_t used = 0;
    EXPECT_EQ(decode(text, piece, &used), "Wikipedia in \r\n\r\nchunks.");
    EXPECT_EQ(text.substr(used), "next");
  }
  EXPECT_EQ(decode("0\r\n\r\n", 3), "");
  EXPECT_EQ(decode("000a\r\n0123456789\r\n00\r\n\r\n", 3), "0123456789");
  EXPECT_EQ(decode("4\r\nWik", 3), std::nullopt);
  EXPECT_EQ(decode("0\r\n", 3), std::nullopt);
}

TEST(ChunkedDecoder, Refuses) {
  for (const std::string& text : std::vector<std::string>{"\r\n",
                                                          "x\r\n",
                                                          "-1\r\n",
                                                          " 1\r\na\r\n",
                                                          "1 \r\na\r\n",
                                                          "0x1\r\na\r\n",
                                                          "1\na\n0\n\n",
                                                          "1\r\nab\r\n",
                                                          "1\r\na\n0\r\n\r\n",
                                                          "1\r\na\rX",
                                                          "10000000000000000\r\n",
                                                          "ffffffffffffffff1\r\n",
                                                          "1;a\x01\r\na\r\n",
                                                          "0\r\nno colon\r\n\r\n",
                                                          "0\r\nnocolon\r\n\r\n",
                                                          "0\r\nA: b\r\nnocolon\r\n\r\n",
                                                          "0\r\na b: c\r\n\r\n",
                                                          "0\r\ncontent-length: 5\r\n\r\n",
                                                          "0\r\nTransfer-Encoding: chunked\r\n\r\n",
                                                          "0\r\nHost: h\r\n\r\n",
                                                          "0\r\nA: b\n\r\n",
                                                          "0\r\n folded\r\n\r\n",
                                                          "0\r\n: x\r\n\r\n",
                                                          "0\r\n\rX",
                                                          "1;" + std::string(400, 'e') + "\r\na\r\n",
                                                          "0\r\nA: " + std::string(20000, 'b') + "\r\n\r\n"}) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, text.size()}) {
      const auto result = decode(text, piece);
      ASSERT_TRUE(result) << text.substr(0, 40);
      EXPECT_TRUE(result->starts_with("! ")) << text.substr(0, 40) << " -> " << *result;
    }
  }
  std::string wasteful;
  for (int i = 0; i < 200; ++i) wasteful += "1;" + std::string(200, 'e') + "\r\na\r\n";
  EXPECT_TRUE(decode(wasteful, 100)->starts_with("! ")) << "extensions without end";
}

}  // namespace
}  // namespace vg::http
