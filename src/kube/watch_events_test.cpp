#include "kube/watch_events.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/limits.h"

namespace vg::kube {
namespace {

TEST(WatchEventsTest, ReadsObjectsWithoutTheirManagers) {
  const auto event = read_event(
      R"({"type":"MODIFIED","object":{"kind":"A","metadata":{"name":"n","namespace":"s","resourceVersion":"7","managedFields":[{}]},"spec":1}})");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, EventType::put);
  EXPECT_EQ(event->object.name, "n");
  EXPECT_EQ(event->object.ns, "s");
  EXPECT_EQ(event->object.resource_version, "7");
  EXPECT_EQ(event->object.json,
            R"({"kind":"A","metadata":{"name":"n","namespace":"s","resourceVersion":"7"},"spec":1})");
}

TEST(WatchEventsTest, ReadsTheOtherTypes) {
  EXPECT_EQ(read_event(R"({"type":"DELETED","object":{"metadata":{}}})")->type, EventType::removed);
  const auto bookmark = read_event(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}})");
  EXPECT_EQ(bookmark->type, EventType::bookmark);
  EXPECT_EQ(bookmark->object.resource_version, "9");
  const auto error = read_event(R"({"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}})");
  EXPECT_EQ(error->type, EventType::error);
  EXPECT_EQ(error->error.code, 410);
}

TEST(WatchEventsTest, RefusesWhatIsNoEvent) {
  for (const std::string_view line : {"", "{", "[]", R"({"type":"ADDED"})", R"({"type":"ADDED","object":{}})",
                                      R"({"type":"SOMETHING","object":{"metadata":{}}})"})
    EXPECT_FALSE(read_event(line)) << line;
}

TEST(LineSplitterTest, FindsLinesAcrossPieces) {
  LineSplitter lines;
  ASSERT_TRUE(lines.add("one\ntw"));
  EXPECT_EQ(lines.next(), "one");
  EXPECT_EQ(lines.next(), std::nullopt);
  ASSERT_TRUE(lines.add("o\n\n\r\nthree"));
  EXPECT_EQ(lines.next(), "two");
  EXPECT_EQ(lines.next(), std::nullopt);
  ASSERT_TRUE(lines.add("\n"));
  EXPECT_EQ(lines.next(), "three");
}

TEST(LineSplitterTest, FindsTheSameLinesInPiecesOfAnySize) {
  const std::string text = "one\n\n\r\ntwo and a half\n\nthree\n";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    LineSplitter lines;
    std::vector<std::string> found;
    for (std::size_t at = 0; at < text.size(); at += size) {
      ASSERT_TRUE(lines.add(std::string_view(text).substr(at, size)));
      while (const auto line = lines.next()) found.emplace_back(*line);
    }
    EXPECT_EQ(found, (std::vector<std::string>{"one", "two and a half", "three"})) << size;
  }
}

TEST(LineSplitterTest, ALineHasALimit) {
  LineSplitter lines;
  const std::string piece(limits::body_bytes_max / 2, 'x');
  EXPECT_TRUE(lines.add(piece));
  EXPECT_TRUE(lines.add(piece));
  EXPECT_FALSE(lines.add("x"));
}

}  // namespace
}  // namespace vg::kube
