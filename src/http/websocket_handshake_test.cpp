#include "http/websocket_handshake.h"

#include <gtest/gtest.h>

namespace vg::http {
namespace {

constexpr std::string_view key = "dGhlIHNhbXBsZSBub25jZQ==";
constexpr std::string_view known[] = {"plain.kubevirt.io"};

Request upgrade_request() {
  Request request;
  request.method = "GET";
  request.headers.add("Host", "x");
  request.headers.add("Connection", "keep-alive, Upgrade");
  request.headers.add("upgrade", "WebSocket");
  request.headers.add("Sec-WebSocket-Version", "13");
  request.headers.add("Sec-WebSocket-Key", key);
  return request;
}

Request without(std::string_view name, std::string_view value = {}) {
  Request request = upgrade_request();
  Headers kept;
  for (const HeaderField& field : request.headers.fields()) {
    if (field.name != name) kept.add(field.name, field.value);
  }
  if (!value.empty()) kept.add(name, value);
  request.headers = kept;
  return request;
}

using Fields = std::vector<std::pair<std::string, std::string>>;

TEST(WebSocketHandshake, AcceptValueOfTheStandard) { EXPECT_EQ(accept_value(key), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="); }

TEST(WebSocketHandshake, AnswersAnUpgrade) {
  Request request = upgrade_request();
  request.headers.add("Sec-WebSocket-Protocol", "other, plain.kubevirt.io");
  const auto answer = answer_upgrade(request, known);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->subprotocol, "plain.kubevirt.io");
  EXPECT_EQ(answer->head.status, 101);
  EXPECT_EQ(answer->head.headers, (Fields{{"Upgrade", "websocket"},
                                          {"Connection", "Upgrade"},
                                          {"Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="},
                                          {"Sec-WebSocket-Protocol", "plain.kubevirt.io"}}));
}

TEST(WebSocketHandshake, Refusals) {
  const struct {
    const char* what;
    Request request;
    int code;
  } rows[] = {
      {"no Connection", without("Connection"), 400},
      {"another Connection", without("Connection", "close, upgraded"), 400},
      {"no Upgrade", without("upgrade"), 426},
      {"another Upgrade", without("upgrade", "h2c"), 426},
      {"no version", without("Sec-WebSocket-Version"), 400},
      {"an old version", without("Sec-WebSocket-Version", "8"), 400},
      {"no key", without("Sec-WebSocket-Key"), 400},
      {"a short key", without("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25j"), 400},
      {"a long key", without("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZTEyMw=="), 400},
      {"a key of 17 bytes", without("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZTE="), 400},
      {"a key that is no base64", without("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25j*g=="), 400},
  };
  for (const auto& row : rows) {
    const auto answer = answer_upgrade(row.request, known);
    ASSERT_FALSE(answer) << row.what;
    EXPECT_EQ(answer.error().status.code, row.code) << row.what;
    EXPECT_FALSE(answer.error().status.message.empty());
    EXPECT_EQ(answer.error().headers.front(), (std::pair<std::string, std::string>{"Sec-WebSocket-Version", "13"}));
  }
  Request post = upgrade_request();
  post.method = "POST";
  EXPECT_EQ(answer_upgrade(post, known).error().status.code, 405);
  EXPECT_EQ(answer_upgrade(without("upgrade"), known).error().headers.back(),
            (std::pair<std::string, std::string>{"Upgrade", "websocket"}));
}

TEST(WebSocketHandshake, TokensInSeveralFields) {
  Request request = without("Connection", "keep-alive");
  request.headers.add("connection", " , UPGRADE ,");
  request.headers.add("Sec-WebSocket-Version", "8, 13");
  EXPECT_TRUE(answer_upgrade(request, known));
}

TEST(WebSocketHandshake, SubprotocolByOurPreference) {
  constexpr std::string_view two[] = {"v5.channel.k8s.io", "v4.channel.k8s.io"};
  Request request = upgrade_request();
  request.headers.add("Sec-WebSocket-Protocol", "v4.channel.k8s.io");
  request.headers.add("Sec-WebSocket-Protocol", " v5.channel.k8s.io ");
  EXPECT_EQ(answer_upgrade(request, two)->subprotocol, "v5.channel.k8s.io");
  EXPECT_EQ(answer_upgrade(request, known)->subprotocol, "") << "nothing in common is no reason to refuse";
  EXPECT_EQ(answer_upgrade(request, known)->head.headers.size(), 3U);
}

TEST(WebSocketHandshake, WhoAsksForAWebSocket) {
  Request request = upgrade_request();
  EXPECT_TRUE(asks_for_websocket(request.headers));
  Request plain;
  plain.headers.add("Upgrade", "websocket");
  EXPECT_FALSE(asks_for_websocket(plain.headers)) << "without Connection: upgrade it asks for nothing";
}

TEST(WebSocketHandshake, TheTokenOfABrowserIsNoProtocol) {
  Request request = upgrade_request();
  request.headers.add("Sec-WebSocket-Protocol", "base64url.bearer.authorization.k8s.io.c2VjcmV0, plain.kubevirt.io");
  EXPECT_EQ(answer_upgrade(request, known)->subprotocol, "plain.kubevirt.io");
  constexpr std::string_view careless[] = {"base64url.bearer.authorization.k8s.io.c2VjcmV0"};
  EXPECT_EQ(answer_upgrade(request, careless)->subprotocol, "") << "an answer must not repeat a credential";
}

TEST(WebSocketHandshake, OfferAndAnswerFitTogether) {
  const UpgradeOffer offer({"plain.kubevirt.io", "other"});
  const Fields sent = offer.headers();
  Request request;
  request.method = "GET";
  for (const auto& [name, value] : sent) request.headers.add(name, value);
  const auto answer = answer_upgrade(request, known);
  ASSERT_TRUE(answer);
  EXPECT_EQ(offer.check(answer->head.headers), "plain.kubevirt.io");
  EXPECT_FALSE(UpgradeOffer({"plain.kubevirt.io"}).check(answer->head.headers)) << "the key is another one each time";

  const auto changed = [&](std::string_view name, std::string_view value) {
    Fields fields = answer->head.headers;
    std::erase_if(fields, [&](const auto& field) { return field.first == name; });
    if (!value.empty()) fields.emplace_back(name, value);
    return offer.check(fields);
  };
  EXPECT_EQ(changed("Sec-WebSocket-Protocol", ""), "");
  EXPECT_FALSE(changed("Sec-WebSocket-Protocol", "unknown"));
  EXPECT_FALSE(changed("Sec-WebSocket-Accept", ""));
  EXPECT_FALSE(changed("Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
  EXPECT_FALSE(changed("Upgrade", ""));
  EXPECT_FALSE(changed("Connection", "close"));
  EXPECT_FALSE(changed("Sec-WebSocket-Extensions", "permessage-deflate"));
}

}  // namespace
}  // namespace vg::http
