#include "json/equal.h"

#include <gtest/gtest.h>

#include "json/document.h"

namespace vg::json {
namespace {

TEST(Equal, AgreesWithWhatTheLibrarySays) {
  constexpr std::string_view texts[] = {"null",
                                        "true",
                                        "false",
                                        "0",
                                        "1",
                                        "1.5",
                                        R"("")",
                                        R"("1")",
                                        "[]",
                                        "{}",
                                        R"([1])",
                                        R"([1,2])",
                                        R"([2,1])",
                                        R"({"a":1})",
                                        R"({"a":2})",
                                        R"({"b":1})",
                                        R"({"a":1,"b":[{"c":{}}]})",
                                        R"({"b":[{"c":{}}],"a":1})",
                                        R"({"a":1,"b":[{"c":{"d":null}}]})"};
  for (const auto one : texts)
    for (const auto other : texts) {
      const auto a = Document::parse(one), b = Document::parse(other);
      ASSERT_TRUE(a && b);
      EXPECT_EQ(equal(a->root(), b->root()), a->root() == b->root()) << one << " " << other;
    }
}

}  // namespace
}  // namespace vg::json
