#include "node/handler_link.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"
#include "http/server_test_support.h"
#include "json/parse.h"

namespace vg::node {
namespace {

using http::test::KeyPair;
using http::test::make_certificate;
using http::test::run_on;
using http::test::TestServer;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

std::string pod(std::string_view name, std::string_view node, std::string_view status, std::string_view metadata = "") {
  return fmt::format(R"({{"metadata":{{"name":"{}"{}}},"spec":{{"nodeName":"{}"}},"status":{}}})", name, metadata, node,
                     status);
}

class Pods final : public ObjectApi {
 public:
  std::vector<std::string> texts;
  bool broken = false;

  Task<Result<json::Value>> get(Core&, ObjectName, json::StoragePtr) override {
    co_return fail(Status::not_found("", "", ""));
  }
  Task<Result<std::vector<json::Value>>> list(Core&, ResourceName resource, std::string_view ns, Selectors selectors,
                                              json::StoragePtr storage) override {
    if (broken) co_return fail(Status::unavailable("the store is away"));
    EXPECT_EQ(fmt::format("{} {} {} {}", resource.plural, ns, selectors.labels, selectors.fields),
              "pods kubevirt kubevirt.io=virt-handler spec.nodeName=node01");
    std::vector<json::Value> values;
    for (const std::string& text : texts) values.push_back(std::move(*json::parse(text, storage)));
    co_return values;
  }
  Task<Result<ObjectPage>> list_page(Core&, ResourceName, std::string_view, PageRequest, json::StoragePtr) override {
    co_return ObjectPage();
  }
  Task<Result<WrittenObject>> patch(Core&, ObjectName, std::string_view, const json::Array&, bool) override {
    co_return WrittenObject();
  }
  Task<Result<WrittenObject>> create(Core&, ResourceName, std::string_view, const json::Value&, bool) override {
    co_return WrittenObject();
  }
};

// A handler with a certificate of that name, of the authority that the link trusts, and files for the link's own.
class HandlerLinkTest : public ::testing::Test {
 public:
  HandlerLinkTest() : folder_(fmt::format("{}/handler-link-{}", ::testing::TempDir(), ::getpid())) {
    std::filesystem::create_directories(folder_);
    write(client_);
  }
  ~HandlerLinkTest() override { std::filesystem::remove_all(folder_); }

  void write(const KeyPair& pair) {
    ASSERT_TRUE(write_file(folder_ + "/tls.crt", pair.certificate, 0600));
    ASSERT_TRUE(write_file(folder_ + "/tls.key", pair.key, 0600));
  }
  KeyPair handler_pair(std::string name, const char* hosts = "IP:127.0.0.1") {
    return make_certificate({.common_name = std::move(name), .usage = "serverAuth", .hosts = hosts}, &authority_);
  }
  http::ServerConfig handler_config(const KeyPair& pair) {
    http::ServerConfig config = http::test::tls_config();
    config.tls = http::TlsServerConfig{.certificate_pem = pair.certificate, .key_pem = pair.key};
    config.tls->client_authorities.push_back({.name = "nodes",
                                              .certificates_pem = authority_.certificate,
                                              .common_names = {"kubevirt.io:system:client:virt-handler"}});
    return config;
  }
  HandlerLinkOptions options() {
    return {
        .port = 1, .certificate_file = folder_ + "/tls.crt", .key_file = folder_ + "/tls.key", .authorities = [this] {
          return Result<std::string>(trusted_);
        }};
  }

  // Whether that link gets anything from a handler with that certificate.
  bool answers(const KeyPair& pair, HandlerLinkOptions used);

  KeyPair authority_ = make_certificate({.common_name = "kubevirt-ca", .authority = true});
  KeyPair client_ =
      make_certificate({.common_name = "kubevirt.io:system:client:virt-handler", .usage = "clientAuth"}, &authority_);
  std::string trusted_ = authority_.certificate;
  std::string folder_;
  Pods pods_;
  http::CoreThreads cores_{1};
  static constexpr std::string_view handler_name = "kubevirt.io:system:node:virt-handler";
};

// Who asked, and what.
Task<void> tell(http::Exchange& exchange) {
  const auto body = co_await exchange.read_body(1 << 20);
  const auto& certificate = exchange.request().peer->certificate;
  exchange.respond(
      http::test::text(fmt::format("{} {} {} by {}", exchange.request().method, exchange.request().target,
                                   body ? *body : "?", certificate ? certificate->common_name : "nobody")));
}

bool HandlerLinkTest::answers(const KeyPair& pair, HandlerLinkOptions used) {
  const TestServer handler(handler_config(pair), tell);
  HandlerLink link(pods_, std::move(used));
  const NodeAddress address{.host = "127.0.0.1", .port = handler.port()};
  const auto answer =
      run_on(cores_[0], link.call(cores_[0], address, {.method = "GET", .target = "/", .timeout = 10s}));
  const auto stream = run_on(cores_[0], link.open(cores_[0], address, "/"));
  EXPECT_EQ(stream.has_value(), answer.has_value());
  run_on(cores_[0], [](HandlerLink& l) -> Task<void> {
    l.close();
    co_return;
  }(link));
  return answer.has_value();
}

TEST_F(HandlerLinkTest, FindsTheOneHandlerOfANode) {
  HandlerLink link(pods_, options());
  const auto find = [&](std::vector<std::string> texts) {
    pods_.texts = std::move(texts);
    const auto found = run_on(cores_[0], link.find(cores_[0], "node01"));
    return found ? fmt::format("{}:{}", found->host, found->port) : std::to_string(found.error().code);
  };
  const std::string here = pod("a", "node01", R"({"podIP":"10.0.0.1","phase":"Running"})");
  EXPECT_EQ(find({here}), "10.0.0.1:1");
  EXPECT_EQ(find({}), "400");
  EXPECT_EQ(find({here, pod("b", "node01", R"({"podIP":"10.0.0.2"})")}), "400");
  for (const std::string_view name : {"elsewhere.example", "localhost", "10.0.0.1:80", "10.1"})
    EXPECT_EQ(find({pod("a", "node01", fmt::format(R"({{"podIP":"{}"}})", name))}), "400") << "no address: " << name;
  EXPECT_EQ(find({pod("a", "node01", "{}")}), "400");
  // While handlers are replaced the old one is still listed.
  EXPECT_EQ(find({here, pod("b", "node01", R"({"podIP":"x","phase":"Failed"})"),
                  pod("c", "node01", R"({"podIP":"x"})", R"(,"deletionTimestamp":"2024-01-01T00:00:00Z")")}),
            "10.0.0.1:1");
  pods_.broken = true;
  EXPECT_EQ(find({here}), "400");
  link.close();
}

TEST_F(HandlerLinkTest, AsksWithItsCertificateAndKeepsTheConnection) {
  const TestServer handler(handler_config(handler_pair(std::string(handler_name))), tell);
  HandlerLink link(pods_, options());
  const NodeAddress address{.host = "127.0.0.1", .port = handler.port()};
  for (int i = 0; i < 3; ++i) {
    const auto answer =
        run_on(cores_[0],
               link.call(cores_[0], address, {.method = "PUT", .target = "/v1/x", .body = "hello", .timeout = 10s}));
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->phrase, "OK");
    EXPECT_EQ(answer->body, "PUT /v1/x hello by kubevirt.io:system:client:virt-handler");
  }
  run_on(cores_[0], [](HandlerLink& l) -> Task<void> {
    l.close();
    co_return;
  }(link));
}

TEST_F(HandlerLinkTest, TrustsOnlyHandlers) {
  const auto call = [&](const KeyPair& pair, HandlerLinkOptions used) { return answers(pair, std::move(used)); };
  const KeyPair good = handler_pair(std::string(handler_name)), other = handler_pair("somebody");
  EXPECT_TRUE(call(good, options()));
  EXPECT_FALSE(call(other, options()));
  auto external = options();
  external.externally_managed = true;
  EXPECT_TRUE(call(other, external));
  trusted_ = make_certificate({.common_name = "kubevirt-ca", .authority = true}).certificate;
  EXPECT_FALSE(call(good, options()));
}

// All of them have the same common name and authority.
TEST_F(HandlerLinkTest, NoNodePosesAsAnother) {
  auto used = options();
  used.verify_address = true;
  const KeyPair own = handler_pair(std::string(handler_name)),
                other = handler_pair(std::string(handler_name), "IP:127.86.0.2,DNS:127.0.0.1");
  EXPECT_TRUE(answers(own, used));
  EXPECT_FALSE(answers(other, used));
  EXPECT_TRUE(answers(other, options())) << "as virt-api trusts virt-handlers";
  EXPECT_FALSE(answers(handler_pair("somebody"), used)) << "the name counts as well";
}

TEST_F(HandlerLinkTest, SaysWhatIsMissing) {
  auto used = options();
  used.key_file = folder_ + "/none.key";
  HandlerLink link(pods_, std::move(used));
  const auto answer = run_on(cores_[0], link.call(cores_[0], {.host = "127.0.0.1", .port = 1},
                                                  {.method = "GET", .target = "/", .timeout = 10s}));
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("none.key"));
  link.close();
}

}  // namespace
}  // namespace vg::node
