#include "kube/documents.h"

#include <gmock/gmock.h>

namespace vg::kube {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;

http::Response ask(std::string_view path, std::string_view query = {}, std::string_view header = {},
                   std::string_view value = {}) {
  http::Request request;
  request.method = "GET";
  request.path = path;
  request.query = query;
  if (!header.empty()) request.headers.add(header, value);
  return group_document(path, request).value_or(http::Response{.status = 404});
}

constexpr std::string_view index_path = "/openapi/v3", spec_path = "/openapi/v3/apis/subresources.kubevirt.io/v1";

TEST(Documents, AreJsonAndNothingElse) {
  for (const std::string_view path :
       {"/", "/apis", "/openapi/v2", "/openapi/v3", "/apis/subresources.kubevirt.io/v1"}) {
    EXPECT_EQ(ask(path, "", "Accept", "text/html").status, 406) << path;
    for (const std::string_view accept : {"", "*/*", "text/html, application/json;q=0.5"})
      EXPECT_EQ(ask(path, "", "Accept", accept).status, 200) << path;
  }
  EXPECT_EQ(ask("/openapi/v2", "", "Content-Type", "text/plain").status, 415);
  EXPECT_EQ(ask("/apis", "", "Content-Type", "text/plain").status, 200);
}

TEST(Documents, HaveAnAddressWithTheirHash) {
  const std::string index = ask(index_path).body;
  const auto begin = index.find(std::string(spec_path) + "?hash=") + spec_path.size() + 1;
  const std::string query = index.substr(begin, index.find('"', begin) - begin);
  const auto kept = ask(spec_path, query);
  EXPECT_EQ(kept.status, 200);
  EXPECT_THAT(kept.headers, Contains(Pair("Cache-Control", HasSubstr("immutable"))));
  EXPECT_THAT(kept.headers, Contains(Pair("Vary", "Accept")));
  const auto moved = ask(spec_path, "hash=old");
  EXPECT_EQ(moved.status, 301);
  EXPECT_THAT(moved.headers, Contains(Pair("Location", std::string(spec_path) + "?" + query)));
  EXPECT_EQ(ask(spec_path).status, 200);
}

}  // namespace
}  // namespace vg::kube
