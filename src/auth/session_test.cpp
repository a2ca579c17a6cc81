#include "auth/session.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "auth/identify.h"

namespace vg::auth {
namespace {

using Fields = std::vector<std::pair<std::string_view, std::string_view>>;

constexpr std::string_view cookie = "__Host-virtgate-session=abc";

http::Request request_with(const Fields& fields) {
  http::Request request;
  request.method = "GET";
  request.headers.add("Host", "virt.example:6443");
  for (const auto& [name, value] : fields) request.headers.add(name, value);
  return request;
}

struct Shown {
  Fields fields;
  bool counts;
};

TEST(Session, CountsOnlyForAPageOfThisServer) {
  const Shown cases[] = {
      {{{"Cookie", cookie}, {"X-Virtgate-UI", "1"}}, true},
      {{{"cookie", "a=b; __Host-virtgate-session=abc ;c=d"}, {"x-virtgate-ui", "1"}}, true},
      {{{"Cookie", cookie}, {"X-Virtgate-UI", "1"}, {"Origin", "https://virt.example:6443"}}, true},
      {{{"Cookie", cookie}, {"X-Virtgate-UI", "1"}, {"Origin", "HTTPS://VIRT.example:6443"}}, true},
      {{{"Cookie", cookie}, {"X-Virtgate-UI", "1"}, {"Sec-Fetch-Site", "same-origin"}}, true},
      {{{"Cookie", cookie}}, false},
      {{{"Cookie", cookie}, {"X-Virtgate-UI", "0"}}, false},
      {{{"Cookie", cookie}, {"X-Virtgate-UI", "1"}, {"X-Virtgate-UI", "1"}}, false},
      {{{"Cookie", cookie}, {"X-Virtgate-UI", "1"}, {"Origin", "https://evil.example"}}, false},
      {{{"Cookie", cookie}, {"X-Virtgate-UI", "1"}, {"Origin", "http://virt.example:6443"}}, false},
      {{{"Cookie", cookie}, {"X-Virtgate-UI", "1"}, {"Origin", "https://virt.example:64430"}}, false},
      {{{"Cookie", cookie}, {"X-Virtgate-UI", "1"}, {"Origin", "https://virt.example"}}, false},
      {{{"Cookie", cookie}, {"X-Virtgate-UI", "1"}, {"Origin", "null"}}, false},
      {{{"Cookie", cookie}, {"X-Virtgate-UI", "1"}, {"Origin", ""}}, false},
      {{{"Cookie", cookie},
        {"X-Virtgate-UI", "1"},
        {"Origin", "https://virt.example:6443"},
        {"Origin", "https://evil.example"}},
       false},
      {{{"Cookie", cookie}, {"X-Virtgate-UI", "1"}, {"Host", "evil.example"}, {"Origin", "https://evil.example"}},
       false},
      {{{"Cookie", cookie}, {"X-Virtgate-UI", "1"}, {"Sec-Fetch-Site", "same-site"}}, false},
      {{{"Cookie", cookie}, {"X-Virtgate-UI", "1"}, {"Sec-Fetch-Site", "none"}}, false},
      {{{"Cookie", cookie}, {"X-Virtgate-UI", "1"}, {"Authorization", "Bearer x"}}, false},
      {{{"Cookie", cookie}, {"X-Virtgate-UI", "1"}, {"Authorization", ""}}, false},
      {{{"Cookie", "__Host-virtgate-session=abc; __Host-virtgate-session=def"}, {"X-Virtgate-UI", "1"}}, false},
      {{{"Cookie", cookie}, {"Cookie", cookie}, {"X-Virtgate-UI", "1"}}, false},
      {{{"Cookie", "x__Host-virtgate-session=abc"}, {"X-Virtgate-UI", "1"}}, false},
      {{{"Cookie", "__host-virtgate-session=abc"}, {"X-Virtgate-UI", "1"}}, false},
      {{{"X-Virtgate-UI", "1"}}, false},
  };
  for (const Shown& shown : cases) {
    std::string text;
    for (const auto& [name, value] : shown.fields) text.append(name).append(": ").append(value).append("; ");
    const http::Request request = request_with(shown.fields);
    EXPECT_EQ(shown_session(request).has_value(), shown.counts) << text;
    EXPECT_EQ(shows_credentials(request), shown.counts || request.headers.find("authorization")) << text;
    if (shown.counts) EXPECT_EQ(shown_session(request), "abc") << text;
  }
}

TEST(Session, OfAWebSocketNeedsTheOrigin) {
  const Fields upgrade{{"Connection", "Upgrade"}, {"Upgrade", "websocket"}, {"Cookie", cookie}};
  const auto with = [&](const Fields& more) {
    Fields all = upgrade;
    all.insert(all.end(), more.begin(), more.end());
    return shown_session(request_with(all)).has_value();
  };
  EXPECT_TRUE(with({{"Origin", "https://virt.example:6443"}}));
  EXPECT_TRUE(with({{"Origin", "https://virt.example:6443"}, {"Sec-WebSocket-Protocol", "plain.kubevirt.io"}}));
  EXPECT_FALSE(with({}));
  EXPECT_FALSE(with({{"X-Virtgate-UI", "1"}}));
  EXPECT_FALSE(with({{"Origin", "https://evil.example"}}));
  EXPECT_FALSE(with({{"Origin", "https://evil.example"}, {"X-Virtgate-UI", "1"}}));
  EXPECT_FALSE(with({{"Origin", "https://virt.example:6443"}, {"Sec-Fetch-Site", "cross-site"}}));
  EXPECT_FALSE(with({{"Origin", "https://virt.example:6443"},
                     {"Sec-WebSocket-Protocol", "plain.kubevirt.io, base64url.bearer.authorization.k8s.io.eHg"}}));
}

TEST(Session, GivesWayToACertificate) {
  http::Request request = request_with({{"Cookie", cookie}, {"X-Virtgate-UI", "1"}});
  EXPECT_TRUE(shown_session(request));
  const http::Peer peer{.address = "192.0.2.1",
                        .certificate = http::PeerCertificate{
                            .common_name = "alice", .organizations = {}, .authority = "client-ca", .not_after = {}}};
  request.peer = &peer;
  EXPECT_FALSE(shown_session(request));
}

class OneSession final : public SessionVerifier {
 public:
  Result<User> verify(std::string_view id) const override {
    if (id != "abc") return fail(Status::unauthorized("the session has ended"));
    return User{.name = "alice", .uid = {}, .groups = {"people", std::string(authenticated_group)}, .extra = {}};
  }
  Result<std::unique_ptr<SessionBond>> bind(std::string_view, std::function<void()>) const override {
    return std::make_unique<SessionBond>();
  }
};

TEST(Session, SaysWhoAsks) {
  const OneSession sessions;
  Identifier identifier("s3cret", "admin", {"system:masters"});
  const http::Request own = request_with({{"Cookie", cookie}, {"X-Virtgate-UI", "1"}});
  EXPECT_EQ(identifier.authenticate(own)->name, anonymous_user);  // there are no sessions here
  identifier.let_sessions_in(sessions);
  EXPECT_EQ(identifier.authenticate(own)->name, "alice");
  EXPECT_EQ(identifier.authenticate(request_with({{"Cookie", cookie}}))->name, anonymous_user);
  const auto ended =
      identifier.authenticate(request_with({{"Cookie", "__Host-virtgate-session=x"}, {"X-Virtgate-UI", "1"}}));
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, 401);
  // Never both.
  EXPECT_EQ(
      identifier
          .authenticate(request_with({{"Cookie", cookie}, {"X-Virtgate-UI", "1"}, {"Authorization", "Bearer s3cret"}}))
          ->name,
      "admin");
  EXPECT_FALSE(identifier.authenticate(
      request_with({{"Cookie", cookie}, {"X-Virtgate-UI", "1"}, {"Authorization", "Bearer wrong"}})));
}

}  // namespace
}  // namespace vg::auth
