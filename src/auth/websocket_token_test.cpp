#include "auth/websocket_token.h"

#include <gmock/gmock.h>

#include "auth/identify.h"
#include "http/websocket_handshake.h"

namespace vg::auth {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view token = "base64url.bearer.authorization.k8s.io.czNjcmV0LXRva2Vu";  // s3cret-token

http::Headers asking(std::string_view subprotocols) {
  http::Headers headers;
  headers.add("Connection", "keep-alive, Upgrade");
  headers.add("Upgrade", "websocket");
  if (!subprotocols.empty()) headers.add("Sec-WebSocket-Protocol", subprotocols);
  return headers;
}

std::string offered(std::initializer_list<std::string_view> names) {
  std::string list;
  for (const std::string_view name : names) list.append(list.empty() ? "" : ", ").append(name);
  return list;
}

TEST(WebSocketToken, IsFoundAmongTheSubprotocols) {
  EXPECT_EQ(websocket_token(asking(offered({token, "plain.kubevirt.io"}))), "s3cret-token");
  EXPECT_EQ(websocket_token(asking(offered({"plain.kubevirt.io", token}))), "s3cret-token");
  EXPECT_EQ(websocket_token(asking("plain.kubevirt.io")), "");
  EXPECT_EQ(websocket_token(asking("")), "");
}

TEST(WebSocketToken, CountsForWebSocketsOnly) {
  http::Headers headers;
  const std::string list = offered({token, "plain.kubevirt.io"});
  headers.add("Sec-WebSocket-Protocol", list);
  EXPECT_EQ(websocket_token(headers), "");
}

TEST(WebSocketToken, MustBeAsItShould) {
  const std::string prefix(http::bearer_subprotocol_prefix);
  for (const std::string& list :
       {std::string(token), offered({token, token, "plain.kubevirt.io"}), offered({prefix, "plain.kubevirt.io"}),
        offered({prefix + "czNjcmV0LXRva2Vu=", "plain.kubevirt.io"}), offered({prefix + "!!", "plain.kubevirt.io"}),
        offered({prefix + "_w", "plain.kubevirt.io"})}) {
    const auto result = websocket_token(asking(list));
    ASSERT_FALSE(result) << list;
    EXPECT_EQ(result.error().code, 401);
    EXPECT_THAT(result.error().message, Not(HasSubstr("czNj")));
  }
}

TEST(WebSocketToken, SaysWhoAsks) {
  const Identifier identifier{"s3cret-token", "kubernetes-admin", {"system:masters"}};
  http::Request request;
  const std::string right = offered({token, "plain.kubevirt.io"});
  const std::string wrong = offered({"base64url.bearer.authorization.k8s.io.d3Jvbmc", "plain.kubevirt.io"});
  request.headers = asking(right);
  EXPECT_EQ(identifier.authenticate(request)->name, "kubernetes-admin");
  request.headers = asking(wrong);
  EXPECT_EQ(identifier.authenticate(request).error().code, 401);
  request.headers = asking("plain.kubevirt.io");
  EXPECT_EQ(identifier.authenticate(request)->name, "system:anonymous");
}

}  // namespace
}  // namespace vg::auth
