#include "json/pointer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "json/document.h"
#include "json/write.h"

namespace vg::json {
namespace {

using testing::ElementsAre;

TEST(Pointer, ParsesTokens) {
  EXPECT_TRUE(Pointer::parse("")->is_root());
  EXPECT_THAT(Pointer::parse("/")->tokens(), ElementsAre(""));
  EXPECT_THAT(Pointer::parse("/a//b/")->tokens(), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(Pointer::parse("/a~1b/~0/~01")->tokens(), ElementsAre("a/b", "~", "~1"));
}

TEST(Pointer, RefusesWhatIsNoPointer) {
  for (const char* text : {"a", "a/b", "/~", "/~2", "/a~"}) {
    const auto pointer = Pointer::parse(text);
    ASSERT_FALSE(pointer) << text;
    EXPECT_EQ(pointer.error().code, 400);
  }
  EXPECT_TRUE(Pointer::parse("/" + std::string(limits::json_pointer_bytes_max - 1, 'x')));
  EXPECT_FALSE(Pointer::parse("/" + std::string(limits::json_pointer_bytes_max, 'x')));
}

TEST(Pointer, PrintsWhatItParsed) {
  for (const char* text : {"", "/", "/a/b", "/metadata/annotations/kubevirt.io~1x", "/~0~1"}) {
    EXPECT_EQ(Pointer::parse(text)->text(), text);
  }
}

TEST(Pointer, AppendsEscapedTokens) {
  std::string pointer = "/metadata/annotations";
  append_token(pointer, "kubevirt.io/~x");
  EXPECT_EQ(pointer, "/metadata/annotations/kubevirt.io~1~0x");
}

TEST(Pointer, ResolvesTheExamplesOfTheRfc) {
  const Document document =
      *Document::parse(R"({"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8})");
  const auto text_at = [&](std::string_view pointer) {
    const Value* value = resolve(document.root(), *Pointer::parse(pointer));
    return value ? to_text(*value) : "nothing";
  };
  EXPECT_EQ(resolve(document.root(), Pointer()), &document.root());
  EXPECT_EQ(text_at("/foo"), R"(["bar","baz"])");
  EXPECT_EQ(text_at("/foo/0"), R"("bar")");
  EXPECT_EQ(text_at("/"), "0");
  EXPECT_EQ(text_at("/a~1b"), "1");
  EXPECT_EQ(text_at("/c%d"), "2");
  EXPECT_EQ(text_at("/e^f"), "3");
  EXPECT_EQ(text_at("/g|h"), "4");
  EXPECT_EQ(text_at("/i\\j"), "5");
  EXPECT_EQ(text_at("/k\"l"), "6");
  EXPECT_EQ(text_at("/ "), "7");
  EXPECT_EQ(text_at("/m~0n"), "8");
  for (const char* absent : {"/foo/2", "/foo/-", "/foo/01", "/foo/-1", "/foo/x", "/foo/0/x", "/x", "//x"}) {
    EXPECT_EQ(text_at(absent), "nothing") << absent;
  }
}

TEST(Pointer, IndexesAreStrict) {
  EXPECT_EQ(parse_index("0"), 0u);
  EXPECT_EQ(parse_index("10"), 10u);
  for (const char* text : {"", "-", "-1", "+1", "01", "1x", " 1", "99999999999999999999999"}) {
    EXPECT_EQ(parse_index(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace vg::json
