#include "server/shown_target.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace vg::server {
namespace {

TEST(ShownTarget, HidesCredentialsAndNothingElse) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"/a", "/a"},
      {"/a?watch=1&limit=2", "/a?watch=1&limit=2"},
      {"/a?access_token=x", "/a?access_token=..."},
      {"/a?limit=1&x-kubevirt-export-token=x&b=c", "/a?limit=1&x-kubevirt-export-token=...&b=c"},
      {"/a?ACCESS_TOKEN=x&Password=y", "/a?ACCESS_TOKEN=...&Password=..."},
      {"/a?%61ccess_t%6Fken=x", "/a?%61ccess_t%6Fken=..."},
      {"/a?%zz=x", "/a?%zz=..."},
      {"/a?token", "/a?token"},
      {"/a?token=x=y?z", "/a?token=..."},
      {"/a?&&token=x&", "/a?&&token=...&"},
      {"/a?continue=abc", "/a?continue=abc"},
      {"/a?b?token=x", "/a?b?token=..."},
      {"", ""},
  };
  for (const auto& [target, shown] : rows) EXPECT_EQ(shown_target(target), shown);
}

}  // namespace
}  // namespace vg::server
