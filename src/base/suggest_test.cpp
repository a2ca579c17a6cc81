#include "base/suggest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace vg {
namespace {

TEST(Suggest, FindsWhatWasMeant) {
  const std::vector<std::string_view> known{"listen", "port", "state", "sandbox", "api-only", "v"};
  EXPECT_EQ(nearest("prot", known), "port");
  EXPECT_EQ(nearest("lisen", known), "listen");
  EXPECT_EQ(nearest("statee", known), "state");
  EXPECT_EQ(nearest("apionly", known), "api-only");
  EXPECT_EQ(nearest("sand", known), "sandbox");
}

TEST(Suggest, GuessesNothingFarOff) {
  const std::vector<std::string_view> known{"listen", "port", "v"};
  for (std::string_view word : {"", "x", "kubeconfig", "pqrs"}) EXPECT_EQ(nearest(word, known), "") << word;
  EXPECT_EQ(nearest(std::string(100000, 'p'), known), "");
  EXPECT_EQ(nearest("port", {}), "");
}

}  // namespace
}  // namespace vg
