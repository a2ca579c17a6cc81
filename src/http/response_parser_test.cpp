#include "http/response_parser.h"

#include <gtest/gtest.h>

namespace vg::http {
namespace {

using Progress = ResponseParser::Progress;

struct Outcome {
  Progress progress = Progress::more;
  int status = 0;
  std::string body;
  std::string left;  // after the end
  bool keep_alive = false;
  bool operator==(const Outcome&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  return out << "{" << static_cast<int>(outcome.progress) << " status " << outcome.status << " body \"" << outcome.body
             << "\" left \"" << outcome.left << "\" keep " << outcome.keep_alive << "}";
}

Outcome run(std::string_view bytes, std::size_t step, bool to_head, bool ends, ResponseParser::Limits limits) {
  ResponseParser parser(to_head, limits);
  Outcome outcome;
  for (std::size_t at = 0; at < bytes.size() && outcome.progress == Progress::more; at += step) {
    std::string_view input = bytes.substr(at, step);
    for (;;) {
      const ResponseParser::Advance result = parser.next(input);
      EXPECT_LE(result.consumed, input.size());
      input.remove_prefix(result.consumed);
      outcome.progress = result.progress;
      if (result.progress == Progress::head) {
        outcome.status = parser.head().status;
      } else if (result.progress == Progress::data) {
        EXPECT_FALSE(result.data.empty());
        outcome.body += result.data;
      } else {
        break;
      }
    }
    if (outcome.progress == Progress::done)
      outcome.left = std::string(input) + std::string(bytes.substr(std::min(bytes.size(), at + step)));
  }
  if (ends && outcome.progress == Progress::more) outcome.progress = parser.end_of_input();
  outcome.keep_alive = parser.keep_alive();
  if (outcome.progress == Progress::failed) {
    EXPECT_STRNE(parser.error(), "");
    outcome.body.clear();  // how much of it was seen before the failure depends on the split
  }
  return outcome;
}

Outcome parse(std::string_view bytes, bool to_head = false, bool ends = true, ResponseParser::Limits limits = {}) {
  const Outcome whole = run(bytes, bytes.size() + 1, to_head, ends, limits);
  for (std::size_t step = 1; step < std::min<std::size_t>(bytes.size(), 40); ++step) {
    EXPECT_EQ(run(bytes, step, to_head, ends, limits), whole) << bytes << "\nin steps of " << step;
  }
  return whole;
}

TEST(ResponseParser, BodiesOfEveryKind) {
  EXPECT_EQ(parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
            (Outcome{Progress::done, 200, "hello", "", true}));
  EXPECT_EQ(parse("HTTP/1.1 200 OK\r\ncontent-length:0\r\n\r\n"), (Outcome{Progress::done, 200, "", "", true}));
  EXPECT_EQ(parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1;x=y\r\n!\r\n0\r\nT: v\r\n\r\n"),
            (Outcome{Progress::done, 200, "hello!", "", true}));
  EXPECT_EQ(parse("HTTP/1.1 200 OK\r\n\r\nuntil the end"), (Outcome{Progress::done, 200, "until the end", "", false}));
  EXPECT_EQ(parse("HTTP/1.1 204\r\n\r\n"), (Outcome{Progress::done, 204, "", "", true}));
  EXPECT_EQ(parse("HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n"),
            (Outcome{Progress::done, 304, "", "", true}));
  EXPECT_EQ(parse("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", true), (Outcome{Progress::done, 200, "", "", true}));
}

TEST(ResponseParser, WhatFollowsIsLeftAlone) {
  EXPECT_EQ(parse("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\x81\x05hello").left, "\x81\x05hello");
  EXPECT_EQ(parse("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1").left, "HTTP/1.1");
}

TEST(ResponseParser, ConnectionsThatMayBeUsedAgain) {
  EXPECT_FALSE(parse("HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n").keep_alive);
  EXPECT_FALSE(parse("HTTP/1.1 200 OK\r\nConnection: x, close\r\nContent-Length: 0\r\n\r\n").keep_alive);
  EXPECT_FALSE(parse("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n").keep_alive);
  EXPECT_TRUE(parse("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n").keep_alive);
}

TEST(ResponseParser, InterimAnswersAreSkipped) {
  EXPECT_EQ(parse("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\nConnection: close\r\n\r\n"
                  "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok"),
            (Outcome{Progress::done, 201, "ok", "", true}));
  std::string many;
  for (int i = 0; i < 100; ++i) many += "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_EQ(parse(many, false, true, {.head_bytes = 1000}).progress, Progress::failed);
}

TEST(ResponseParser, Head) {
  ResponseParser parser;
  EXPECT_FALSE(parser.begun());
  parser.next("HTTP/1.1 422 Unprocessable Entity\r\nContent-Type: \t text/plain \r\nX:\r\nx: 2\r\n\r\n");
  EXPECT_TRUE(parser.begun());
  EXPECT_EQ(parser.head().reason, "Unprocessable Entity");
  EXPECT_EQ(parser.head().find("content-type"), "text/plain");
  EXPECT_EQ(parser.head().find("X"), "");
  EXPECT_EQ(parser.head().find("Y"), std::nullopt);
}

TEST(ResponseParser, Refusals) {
  const std::string_view rows[] = {
      "garbage\r\n\r\n",
      "HTTP/2.0 200 OK\r\n\r\n",
      "HTTP/1.1 20 OK\r\n\r\n",
      "HTTP/1.1 099 OK\r\n\r\n",
      "HTTP/1.1 2000\r\n\r\n",
      "HTTP/1.1  200 OK\r\n\r\n",
      "HTTP/1.1 200 O\x01K\r\n\r\n",
      "HTTP/1.1 200 OK\n\n",
      "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
      "HTTP/1.1 200 OK\r\nA : 1\r\n\r\n",
      "HTTP/1.1 200 OK\r\n: 1\r\n\r\n",
      "HTTP/1.1 200 OK\r\nA: 1\r\n folded\r\n\r\n",
      "HTTP/1.1 200 OK\r\nA: 1\rB: 2\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\nx",
      "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nx",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\nx",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhell",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
      "HTTP/1.1 200 OK\r\nA: 1",
      "",
  };
  for (const std::string_view bytes : rows) EXPECT_EQ(parse(bytes).progress, Progress::failed) << bytes;
}

TEST(ResponseParser, Limits) {
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
  EXPECT_EQ(parse(head, false, true, {.head_bytes = head.size()}).progress, Progress::done);
  EXPECT_EQ(parse(head, false, true, {.head_bytes = head.size() - 1}).progress, Progress::failed);
  EXPECT_EQ(parse(head, false, true, {.fields = 1}).progress, Progress::done);
  EXPECT_EQ(parse(head, false, true, {.fields = 0}).progress, Progress::failed);
  // A line without an end is not gathered beyond the limit.
  ResponseParser parser(false, {.head_bytes = 100});
  EXPECT_EQ(parser.next(std::string(1000, 'x')).progress, Progress::failed);
}

}  // namespace
}  // namespace vg::http
