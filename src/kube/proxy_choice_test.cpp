#include "kube/proxy_choice.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>

namespace vg::kube {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Environment environment_of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(ProxyUrlTest, Forms) {
  struct Row {
    const char* url;
    http::Proxy wanted;
  };
  using Kind = http::Proxy::Kind;
  using Login = http::Proxy::Login;
  for (const Row& row : {
           Row{"proxy", {.kind = Kind::http, .host = "proxy", .port = 80}},
           Row{"proxy:3128", {.kind = Kind::http, .host = "proxy", .port = 3128}},
           Row{"10.0.0.1:3128", {.kind = Kind::http, .host = "10.0.0.1", .port = 3128}},
           Row{"HTTP://proxy:3128/path?x", {.kind = Kind::http, .host = "proxy", .port = 3128}},
           Row{"http://proxy:", {.kind = Kind::http, .host = "proxy", .port = 80}},
           Row{"http://[fd00::1]:8080", {.kind = Kind::http, .host = "fd00::1", .port = 8080}},
           Row{"http://[fd00::1]", {.kind = Kind::http, .host = "fd00::1", .port = 80}},
           Row{"socks5://proxy", {.kind = Kind::socks5, .host = "proxy", .port = 1080}},
           Row{"socks5h://proxy:9", {.kind = Kind::socks5, .host = "proxy", .port = 9}},
           Row{"http://zoe:p%40ss:word@proxy:1",
               {.kind = Kind::http, .host = "proxy", .port = 1, .login = Login{"zoe", "p@ss:word"}}},
           Row{"zoe@proxy", {.kind = Kind::http, .host = "proxy", .port = 80, .login = Login{"zoe", ""}}},
       }) {
    const auto proxy = parse_proxy_url(row.url);
    ASSERT_TRUE(proxy) << row.url << ": " << proxy.error().message;
    EXPECT_EQ(**proxy, row.wanted) << row.url;
  }
}

TEST(ProxyUrlTest, WhatCannotBeUsedIsSaidWithoutCredentials) {
  for (const char* url : {"http://", "http://:80", "https://zoe:secret@proxy", "ftp://zoe:secret@proxy",
                          "http://zoe:secret@proxy:0", "http://zoe:secret@proxy:65536", "http://zoe:secret@proxy:x",
                          "http://zoe:secret%@proxy", "http://[::1", "http://a b"}) {
    const auto proxy = parse_proxy_url(url);
    ASSERT_FALSE(proxy) << url;
    EXPECT_THAT(proxy.error().message, Not(HasSubstr("secret"))) << url;
  }
}

TEST(ProxyUrlTest, CredentialsAreNeverShown) {
  const auto proxy = parse_proxy_url("http://zoe:secret@[fd00::1]:80");
  ASSERT_TRUE(proxy);
  EXPECT_EQ((*proxy)->shown(), "http://[fd00::1]:80");
  EXPECT_EQ((*proxy)->authorization(), "Basic em9lOnNlY3JldA==");
  EXPECT_EQ((*parse_proxy_url("proxy"))->authorization(), "");
}

TEST(NoProxyTest, AsGoReadsIt) {
  struct Row {
    const char* no_proxy;
    const char* host;
    std::uint16_t port;
    bool exempt;
  };
  for (const Row& row : {
           Row{"", "api.example.com", 443, false},
           Row{"", "localhost", 443, true},
           Row{"", "127.0.0.1", 443, true},
           Row{"", "127.9.9.9", 443, true},
           Row{"", "::1", 443, true},
           Row{"", "::ffff:127.0.0.1", 443, true},
           Row{"", "128.0.0.1", 443, false},
           Row{"*", "api.example.com", 443, true},
           Row{"other, *", "10.1.2.3", 443, true},
           Row{"*:443", "api.example.com", 443, false},
           Row{"example.com", "example.com", 443, true},
           Row{"example.com", "api.example.com", 443, true},
           Row{"EXAMPLE.com", "API.example.COM", 443, true},
           Row{"ample.com", "example.com", 443, false},
           Row{".example.com", "example.com", 443, false},
           Row{".example.com", "api.example.com", 443, true},
           Row{"*.example.com", "example.com", 443, false},
           Row{"*.example.com", "api.example.com", 443, true},
           Row{"*example.com", "api.example.com", 443, false},
           Row{"example.com:443", "api.example.com", 443, true},
           Row{"example.com:6443", "api.example.com", 443, false},
           Row{"example.com:", "api.example.com", 443, true},
           Row{":443", "api.example.com", 443, false},
           Row{" a.b ,\texample.com ,", "example.com", 443, true},
           Row{",,", "example.com", 443, false},
           Row{"10.96.0.0/12", "10.96.0.1", 443, true},
           Row{"10.96.0.0/12", "10.112.0.1", 443, false},
           Row{"010.096.0.0/12", "10.96.0.1", 443, true},
           Row{"10.96.0.1", "10.96.0.1", 443, true},
           Row{"10.96.0.1:443", "10.96.0.1", 443, true},
           Row{"10.96.0.1:80", "10.96.0.1", 443, false},
           Row{"96.0.1", "10.96.0.1", 443, false},
           Row{".1", "10.96.0.1", 443, false},
           Row{"0.0.0.0/0", "10.96.0.1", 443, true},
           Row{"::/0", "10.96.0.1", 443, false},
           Row{"0.0.0.0/0", "fd00::1", 443, false},
           Row{"fd00::/8", "fd00::1", 443, true},
           Row{"fd00::1", "fd00:0::1", 443, true},
           Row{"[fd00::1]:443", "fd00::1", 443, true},
           Row{"[fd00::1]:80", "fd00::1", 443, false},
           Row{"10.0.0.0/8", "ten.example.com", 443, false},
       })
    EXPECT_EQ(is_exempt(row.no_proxy, row.host, row.port), row.exempt) << row.no_proxy << " " << row.host;
}

TEST(ProxyChoiceTest, VariablesOfTheEnvironment) {
  const http::Origin api{.host = "api.example.com"}, plain{.host = "api.example.com", .port = 80, .tls = false};
  const auto chosen = [](std::map<std::string, std::string> variables, const http::Origin& origin) -> std::string {
    const auto choice = choose_proxy(environment_of(std::move(variables)), origin);
    return choice && choice->proxy ? choice->proxy->host : "";
  };
  EXPECT_EQ(chosen({}, api), "");
  EXPECT_EQ(chosen({{"HTTPS_PROXY", "a"}, {"https_proxy", "b"}, {"HTTP_PROXY", "c"}}, api), "a");
  EXPECT_EQ(chosen({{"HTTPS_PROXY", ""}, {"https_proxy", "b"}}, api), "b");
  EXPECT_EQ(chosen({{"HTTP_PROXY", "c"}}, api), "") << "that one is for http";
  EXPECT_EQ(chosen({{"HTTPS_PROXY", "a"}, {"http_proxy", "c"}}, plain), "c");
  EXPECT_EQ(chosen({{"HTTPS_PROXY", "a"}, {"no_proxy", "example.com"}}, api), "");
  EXPECT_EQ(chosen({{"HTTPS_PROXY", "a"}, {"NO_PROXY", "x"}, {"no_proxy", "example.com"}}, api), "a");
  EXPECT_EQ(chosen({{"HTTPS_PROXY", "a"}}, {.host = "127.0.0.1"}), "");
  EXPECT_EQ(chosen({{"ALL_PROXY", "a"}}, api), "") << "Go does not know it";
}

TEST(ProxyChoiceTest, WhatIsNoProxyIsSaid) {
  const http::Origin api{.host = "api.example.com"}, plain{.host = "api.example.com", .port = 80, .tls = false};
  const auto direct = choose_proxy(environment_of({{"HTTPS_PROXY", "http://"}}), api);
  ASSERT_TRUE(direct);
  EXPECT_EQ(direct->proxy, nullptr);
  EXPECT_THAT(direct->warning, HasSubstr("HTTPS_PROXY"));
  EXPECT_FALSE(choose_proxy(environment_of({{"HTTPS_PROXY", "https://proxy"}}), api)) << "not done";
  EXPECT_TRUE(choose_proxy(environment_of({{"HTTPS_PROXY", "https://proxy"}, {"NO_PROXY", "*"}}), api));
  EXPECT_FALSE(choose_proxy(environment_of({{"HTTP_PROXY", "p"}, {"REQUEST_METHOD", "GET"}}), plain));
  EXPECT_TRUE(choose_proxy(environment_of({{"HTTPS_PROXY", "p"}, {"REQUEST_METHOD", "GET"}}), api));
}

TEST(ProxyChoiceTest, AKubeconfigMayNameOne) {
  const auto with = [](std::string_view proxy) {
    return read_kubeconfig(fmt::format("current-context: c\ncontexts: [{{name: c, context: {{cluster: c}}}}]\n"
                                       "clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:6443', proxy-url: "
                                       "'{}'}}}}]\n",
                                       proxy),
                           "", "");
  };
  const auto access = with("http://proxy:3128");
  ASSERT_TRUE(access) << access.error().message;
  ASSERT_TRUE(access->proxy) << "also for addresses that the environment would exempt";
  EXPECT_EQ(access->proxy->port, 3128);
  EXPECT_FALSE(with("https://proxy"));
  EXPECT_EQ(with("")->proxy, nullptr);
}

}  // namespace
}  // namespace vg::kube
