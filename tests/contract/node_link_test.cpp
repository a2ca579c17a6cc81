// What every NodeLink (ports/node_link.h) does: node::HandlerLink in both modes, which finds handlers through the
// object API of the mode. A server in this process stands in for the handler.
#include <array>
#include <span>

#include "base/files.h"
#include "http/websocket_handshake.h"
#include "node/handler_link.h"
#include "store/testing.h"
#include "world.h"

namespace vg::contract {
namespace {

using http::test::KeyPair;
using http::test::make_certificate;
using http::test::TestServer;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr std::string_view handler_name = "kubevirt.io:system:node:virt-handler";
constexpr std::string_view client_name = "kubevirt.io:system:client:virt-handler";

// What all tests show each other: making keys takes time.
struct Keys {
  KeyPair authority = make_certificate({.common_name = "kubevirt-ca", .authority = true});
  KeyPair handler = make_certificate({.common_name = std::string(handler_name), .usage = "serverAuth"}, &authority);
  KeyPair stranger = make_certificate({.common_name = "somebody", .usage = "serverAuth"}, &authority);
  KeyPair client = make_certificate({.common_name = std::string(client_name), .usage = "clientAuth"}, &authority);
};
const Keys& keys() {
  static const Keys made;
  return made;
}

http::ServerConfig handler_config(const KeyPair& pair) {
  http::ServerConfig config = http::test::tls_config();
  config.tls = http::TlsServerConfig{.certificate_pem = pair.certificate, .key_pem = pair.key};
  config.tls->client_authorities.push_back(
      {.name = "nodes", .certificates_pem = keys().authority.certificate, .common_names = {std::string(client_name)}});
  return config;
}

Task<void> echo_stream(http::Exchange& exchange) {
  constexpr std::array<std::string_view, 1> known{"plain.kubevirt.io"};
  auto answer = http::answer_upgrade(exchange.request(), known);
  if (!answer) co_return exchange.respond(http::test::from(answer.error().status));
  auto stream = co_await exchange.upgrade(std::move(answer->head));
  if (!stream) co_return;
  std::array<char, 64> bytes;
  for (;;) {
    const auto got = co_await (*stream)->read_some(bytes);
    if (!got || !co_await (*stream)->write_all(std::span<const char>(bytes).first(got.bytes))) co_return;
  }
}

// Says who asked what; "/busy" refuses, and a WebSocket gets back what it sends.
Task<void> handle(http::Exchange& exchange) {
  const http::Request& request = exchange.request();
  if (request.path == "/busy") co_return exchange.respond(http::test::text("another session is active", 503));
  if (http::asks_for_websocket(request.headers)) co_return co_await echo_stream(exchange);
  const auto body = co_await exchange.read_body(1 << 20);
  const auto& certificate = request.peer->certificate;
  exchange.respond(http::test::text(
      fmt::format("{} {} {} {} by {}", request.method, request.target, body ? *body : "?",
                  request.headers.find("accept").value_or("*/*"), certificate ? certificate->common_name : "nobody"),
      request.path == "/missing" ? 404 : 200));
}

class NodeLinkContract : public ContractTest {
 protected:
  NodeLinkContract() : handler_(handler_config(keys().handler), handle) {
    EXPECT_TRUE(write_file(folder_.file("tls.crt"), keys().client.certificate, 0600));
    EXPECT_TRUE(write_file(folder_.file("tls.key"), keys().client.key, 0600));
    link_ = std::make_shared<node::HandlerLink>(
        world().objects(),
        node::HandlerLinkOptions{.ns = ns_,
                                 .port = handler_.port(),
                                 .certificate_file = folder_.file("tls.crt"),
                                 .key_file = folder_.file("tls.key"),
                                 .authorities = [] { return Result<std::string>(keys().authority.certificate); }});
    world().adopt(link_);
  }

  NodeLink& link() { return *link_; }
  Core& core(std::size_t index = 0) { return world().core(index); }

  void make_pod(std::string_view name, std::string_view node, std::string_view status, std::string_view metadata = "",
                std::string_view label = "virt-handler", std::string_view ns = {}) {
    const std::string pods = collection("v1", "pods", ns);
    create(pods, fmt::format(R"({{"metadata":{{"name":"{}","labels":{{"kubevirt.io":"{}"}}{}}},"spec":{{)"
                             R"("nodeName":"{}","containers":[{{"name":"c","image":"i"}}]}}}})",
                             name, label, metadata, node));
    merge(fmt::format("{}/{}/status", pods, name), fmt::format(R"({{"status":{}}})", status));
  }
  // "host:port", or "code"
  std::string find(std::string_view node) {
    const auto found = run(link().find(core(), node));
    return found ? fmt::format("{}:{}", found->host, found->port) : std::to_string(found.error().code);
  }
  std::string at(std::string_view host) const { return fmt::format("{}:{}", host, handler_.port()); }
  NodeAddress here() const { return {.host = "127.0.0.1", .port = handler_.port()}; }

  store::TemporaryFolder folder_;
  TestServer handler_;
  std::shared_ptr<node::HandlerLink> link_;
};

constexpr std::string_view running = R"({"phase":"Running","podIP":"127.0.0.1"})";

TEST_P(NodeLinkContract, FindsTheHandlerOfANode) {
  make_pod("here", "node01", running);
  make_pod("there", "node02", R"({"phase":"Running","podIP":"10.0.0.2"})");
  make_pod("launcher", "node01", R"({"podIP":"10.0.0.3"})", "", "virt-launcher");
  make_pod("foreign", "node01", R"({"podIP":"10.0.0.4"})", "", "virt-handler", make_namespace());
  EXPECT_EQ(find("node01"), at("127.0.0.1"));
  EXPECT_EQ(find("node02"), at("10.0.0.2"));
  EXPECT_EQ(find("node03"), "400");
  EXPECT_EQ(find(""), "400") << "a machine that is nowhere yet";
}

// The name comes from a status, and a selector is a language.
TEST_P(NodeLinkContract, ANodeNameIsNoSelector) {
  make_pod("here", "node01", running);
  for (const std::string_view name :
       {"node02,spec.nodeName!=node02", "x,spec.nodeName=node01", "node01,metadata.name=here", "node01,", "=node01",
        "!=x", "node01\\", "node01&labelSelector=a", "../node01", "Node01", " node01"})
    EXPECT_EQ(find(name), "400") << name;
  EXPECT_EQ(find("node01"), at("127.0.0.1"));
}

TEST_P(NodeLinkContract, ThereMustBeOneThatAnswers) {
  make_pod("a", "node01", R"({"phase":"Pending"})");
  EXPECT_EQ(find("node01"), "400") << "without an address";
  merge(collection("v1", "pods") + "/a/status", fmt::format(R"({{"status":{}}})", running));
  make_pod("failed", "node01", R"({"phase":"Failed","podIP":"10.0.0.2"})");
  make_pod("going", "node01", R"({"phase":"Running","podIP":"10.0.0.3"})", R"(,"finalizers":["contract/wait"])");
  remove(collection("v1", "pods") + "/going");
  EXPECT_EQ(find("node01"), at("127.0.0.1")) << "those on their way out do not count";
  make_pod("second", "node01", R"({"phase":"Running","podIP":"10.0.0.4"})");
  EXPECT_EQ(find("node01"), "400") << "nobody can say which";
}

TEST_P(NodeLinkContract, CallsWithItsOwnName) {
  make_pod("here", "node01", running);
  const auto address = run(link().find(core(), "node01"));
  ASSERT_TRUE(address) << address.error().message;
  for (const std::size_t on : {0u, 1u}) {
    const auto answer = run(
        link().call(core(on), *address, {.method = "PUT", .target = "/v1/pause", .body = "{}", .timeout = 10s}), on);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->phrase, "OK");
    EXPECT_EQ(answer->body, fmt::format("PUT /v1/pause {{}} */* by {}", client_name));
  }
}

TEST_P(NodeLinkContract, EveryAnswerIsAnAnswer) {
  const auto answer = run(link().call(core(), here(), {.target = "/missing", .accept_json = true, .timeout = 10s}));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 404);
  EXPECT_THAT(answer->body, HasSubstr("application/json"));
}

TEST_P(NodeLinkContract, NoAnswerIsAnError) {
  auto nobody = here();
  handler_.stop();
  const auto answer = run(link().call(core(), nobody, {.target = "/", .timeout = 10s}));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, 503);
  const auto stream = run(link().open(core(), nobody, "/console"));
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().code, 503);
}

TEST_P(NodeLinkContract, StrangersAreNotTalkedTo) {
  TestServer stranger(handler_config(keys().stranger), handle);
  const NodeAddress address{.host = "127.0.0.1", .port = stranger.port()};
  EXPECT_FALSE(run(link().call(core(), address, {.target = "/", .timeout = 10s})));
  EXPECT_FALSE(run(link().open(core(), address, "/console")));
}

Task<std::string> say(Stream& stream, std::string_view text) {
  const auto sent = co_await stream.write_all(std::span<const char>(text.data(), text.size()));
  std::string heard;
  std::array<char, 64> bytes;
  while (sent && heard.size() < text.size()) {
    const auto got = co_await stream.read_some(bytes);
    if (!got) break;
    heard.append(bytes.data(), got.bytes);
  }
  co_return heard;
}

TEST_P(NodeLinkContract, AStreamIsAConnectionOfItsOwn) {
  const auto talk = [](NodeLink& link, Core& core, NodeAddress address) -> Task<std::string> {
    auto one = co_await link.open(core, address, "/console");
    auto two = co_await link.open(core, address, "/console");
    if (!one || !two || !one->stream || !two->stream) co_return "no stream";
    std::string heard = co_await say(*one->stream, "first");
    heard += co_await say(*two->stream, " second");
    co_return heard;
  };
  for (const std::size_t on : {0u, 1u}) EXPECT_EQ(run(talk(link(), core(on), here()), on), "first second");
}

TEST_P(NodeLinkContract, ARefusedStreamSaysWhy) {
  const auto stream = run(link().open(core(), here(), "/busy"));
  ASSERT_TRUE(stream) << stream.error().message;
  EXPECT_FALSE(stream->stream);
  EXPECT_EQ(stream->refusal.status, 503);
  EXPECT_EQ(stream->refusal.body, "another session is active");
}

INSTANTIATE_TEST_SUITE_P(node_link, NodeLinkContract, both_modes(), mode_name);

}  // namespace
}  // namespace vg::contract
