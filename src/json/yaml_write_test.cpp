#include "json/yaml_write.h"

#include <gtest/gtest.h>

#include "json/document.h"
#include "json/write.h"
#include "json/yaml.h"

namespace vg::json {
namespace {

TEST(YamlWrite, IsBlockStyleWithFewQuotes) {
  const auto value = Document::parse(
      R"({"a":{"b":[1,{"c":true,"d":[]},[2,[3]]],"image":"quay.io/x:1.2"},"e":{},"f":"yes","t":"2020-01-02","g":"#cloud\nx: y\n"})");
  ASSERT_TRUE(value);
  EXPECT_EQ(to_yaml(value->root()),
            "a:\n"
            "  b:\n"
            "  - 1\n"
            "  - c: true\n"
            "    d: []\n"
            "  -\n"
            "    - 2\n"
            "    -\n"
            "      - 3\n"
            "  image: quay.io/x:1.2\n"
            "e: {}\n"
            "f: \"yes\"\n"
            "t: \"2020-01-02\"\n"
            "g: |\n"
            "  #cloud\n"
            "  x: y\n");
}

TEST(YamlWrite, IsReadBackAsTheSame) {
  for (
      const char* text :
      {R"({"a":"", "b":" x", "c":"1", "d":"1Gi", "e":"null", "f":"~", "g":"a: b", "h":"- x", "i":"a\n\nb\n\n"})",
       R"(["x\ny", "x\n", "\nx", " x\ny", "a\tb\nc", "é\nb", "\u0001", "\u2028", "key: |", "0777", "1_0", "0x1", "<<"])",
       R"({"1":2, "true":1, "a b":[], "":{"":{}}, "<<":1, "x:y":"z:"})", R"([[[]],[{}],[{"a":[{"b":null}]}]])",
       R"("text")", "1.5", "{}", "[]", "null"}) {
    const auto value = Document::parse(text);
    ASSERT_TRUE(value) << text;
    Document back;
    const std::string yaml = to_yaml(value->root());
    const auto read = parse_yaml(yaml, back.storage());
    ASSERT_TRUE(read) << yaml << read.error().message;
    EXPECT_EQ(to_text(*read), to_text(value->root())) << yaml;
  }
}

}  // namespace
}  // namespace vg::json
