#include "server/path.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace vg::server {
namespace {

TEST(PathTest, DecodesEscapes) {
  EXPECT_EQ(percent_decode("/a%2fb%20c+d"), "/a/b c+d");
  EXPECT_EQ(percent_decode("a+b%2B", true), "a b+");
  EXPECT_EQ(percent_decode(""), "");
  for (std::string_view bad : {"%", "%4", "a%zz", "%4g", "%%41"}) EXPECT_FALSE(percent_decode(bad)) << bad;
}

TEST(PathTest, ReadsQueries) {
  auto parameters = read_query("verbose&exclude=a%2Cb&&x=%zz&y=1=2&z=");
  ASSERT_EQ(parameters.size(), 4u);
  EXPECT_EQ(parameters[0].name, "verbose");
  EXPECT_EQ(parameters[0].value, "");
  EXPECT_EQ(parameters[1].value, "a,b");
  EXPECT_EQ(parameters[2].value, "1=2");
  EXPECT_EQ(parameters[3].name, "z");
  EXPECT_TRUE(read_query("").empty());
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "a=b&";
  EXPECT_EQ(read_query(many).size(), limits::query_parameters_max);
}

}  // namespace
}  // namespace vg::server
