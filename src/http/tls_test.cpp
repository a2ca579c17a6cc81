#include "http/tls.h"

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/cpus.h"
#include "http/tcp.h"
#include "http/tls_test_support.h"

namespace vg::http {
namespace {

using namespace std::chrono_literals;
using test::KeyPair;
using test::make_certificate;
using test::run_on;

// One end accepts, the other dials; both on their own core.
struct Pair {
  std::unique_ptr<Stream> server;
  std::unique_ptr<Stream> client;
  Status server_error, client_error;
};

int accept_blocking(int listener) {
  pollfd ready{.fd = listener, .events = POLLIN, .revents = 0};
  ::poll(&ready, 1, 10000);
  return ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
}

// A handshake without sockets, with a client that offers this group alone.
bool agrees_in_memory(SSL_CTX* server_context, const char* group) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> client_context(SSL_CTX_new(TLS_client_method()),
                                                                         SSL_CTX_free);
  EXPECT_EQ(SSL_CTX_set1_groups_list(client_context.get(), group), 1) << group;
  const std::unique_ptr<SSL, decltype(&SSL_free)> server(SSL_new(server_context), SSL_free),
      client(SSL_new(client_context.get()), SSL_free);
  BIO *server_end = nullptr, *client_end = nullptr;
  BIO_new_bio_pair(&server_end, 0, &client_end, 0);
  SSL_set_bio(server.get(), server_end, server_end);
  SSL_set_bio(client.get(), client_end, client_end);
  SSL_set_accept_state(server.get());
  SSL_set_connect_state(client.get());
  for (int i = 0; i < 4; ++i) {
    SSL_do_handshake(client.get());
    SSL_do_handshake(server.get());
  }
  ERR_clear_error();
  return SSL_is_init_finished(server.get()) == 1;
}

class Tls : public ::testing::Test {
 protected:
  void SetUp() override { listener_ = *listen_tcp("127.0.0.1", 0, 16); }
  void TearDown() override { ::close(listener_); }

  Pair connect(const TlsServerConfig& server, const TlsClientConfig& client, std::string server_name = {}) {
    auto server_context = TlsServerContext::create(server, keys_);
    auto client_context = TlsClientContext::create(client);
    EXPECT_TRUE(server_context) << server_context.error().message;
    EXPECT_TRUE(client_context) << client_context.error().message;
    Pair pair;
    auto dialled = std::async(std::launch::async, [&] {
      return run_on(cores_[1],
                    connect_tls(cores_[1], "127.0.0.1", local_port(listener_), *client_context, server_name, 10s));
    });
    const int fd = accept_blocking(listener_);
    auto accepted = run_on(cores_[0], accept_tls(cores_[0], fd, *server_context, 10s));
    auto connected = dialled.get();
    if (accepted) pair.server = std::move(*accepted);
    if (!accepted) pair.server_error = accepted.error();
    if (connected) pair.client = std::move(*connected);
    if (!connected) pair.client_error = connected.error();
    return pair;
  }

  void drop(Pair& pair) {
    cores_[0].post([stream = std::move(pair.server)] {});
    cores_[1].post([stream = std::move(pair.client)] {});
    run_on(cores_[0], []() -> Task<void> { co_return; }());
    run_on(cores_[1], []() -> Task<void> { co_return; }());
  }

  CoreThreads cores_{2, {.tick = 5ms}};
  int listener_ = -1;
  std::shared_ptr<TicketKeys> keys_ = make_ticket_keys();
  KeyPair authority_ = make_certificate({.common_name = "ca", .authority = true});
  KeyPair leaf_ = make_certificate({.usage = "serverAuth"}, &authority_);
  TlsServerConfig server_{
      .certificate_pem = leaf_.certificate, .key_pem = leaf_.key, .client_authorities = {}, .ciphers = {}};
};

Task<std::string> read_exactly(Stream& stream, std::size_t size) {
  std::string all(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const IoResult result = co_await stream.read_some(std::span(all).subspan(done));
    if (!result) break;
    done += result.bytes;
  }
  all.resize(done);
  co_return all;
}

TEST_F(Tls, CarriesBytesBothWaysAndEndsOrderly) {
  Pair pair = connect(server_, {.authorities_pem = authority_.certificate});
  ASSERT_TRUE(pair.server && pair.client) << pair.server_error.message << pair.client_error.message;
  // More than fits into socket buffers, so that both ends have to wait for each other.
  const std::string big(8 << 20, 'x');
  auto written = std::async(std::launch::async, [&] { return run_on(cores_[1], pair.client->write_all(big)); });
  EXPECT_EQ(run_on(cores_[0], read_exactly(*pair.server, big.size())), big);
  EXPECT_EQ(written.get().bytes, big.size());

  EXPECT_TRUE(run_on(cores_[0], pair.server->write_all(std::string_view("hello"))));
  EXPECT_EQ(run_on(cores_[1], read_exactly(*pair.client, 5)), "hello");
  run_on(cores_[0], pair.server->shutdown_write());
  char byte = 0;
  EXPECT_EQ(run_on(cores_[1], pair.client->read_some({&byte, 1})).error, IoError::end);
  // The other direction is still open.
  EXPECT_TRUE(run_on(cores_[1], pair.client->write_all(std::string_view("later"))));
  EXPECT_EQ(run_on(cores_[0], read_exactly(*pair.server, 5)), "later");
  drop(pair);
}

TEST_F(Tls, ReadAndWriteWaitAtTheSameTime) {
  Pair pair = connect(server_, {.authorities_pem = authority_.certificate});
  ASSERT_TRUE(pair.server && pair.client);
  char byte = 0;
  auto reading = std::async(std::launch::async, [&] { return run_on(cores_[0], pair.server->read_some({&byte, 1})); });
  const std::string big(8 << 20, 'y');
  auto writing = std::async(std::launch::async, [&] { return run_on(cores_[0], pair.server->write_all(big)); });
  EXPECT_TRUE(run_on(cores_[1], pair.client->write_all(std::string_view("!"))));
  EXPECT_EQ(reading.get().bytes, 1u);
  EXPECT_EQ(run_on(cores_[1], read_exactly(*pair.client, big.size())), big);
  EXPECT_TRUE(writing.get());
  drop(pair);
}

TEST_F(Tls, DeadlineEndsAWaitAndNotTheConnection) {
  Pair pair = connect(server_, {.authorities_pem = authority_.certificate});
  ASSERT_TRUE(pair.server && pair.client);
  char byte = 0;
  const auto read_with_deadline = [&]() -> Task<IoResult> {
    pair.server->set_deadline(Stream::Clock::now() + 20ms);
    const IoResult result = co_await pair.server->read_some({&byte, 1});
    pair.server->set_deadline(Stream::Clock::time_point::max());
    co_return result;
  };
  EXPECT_EQ(run_on(cores_[0], read_with_deadline()).error, IoError::timed_out);
  EXPECT_TRUE(run_on(cores_[1], pair.client->write_all(std::string_view("a"))));
  EXPECT_TRUE(run_on(cores_[0], pair.server->read_some({&byte, 1})));
  drop(pair);
}

TEST_F(Tls, CloseEndsPendingOperations) {
  Pair pair = connect(server_, {.authorities_pem = authority_.certificate});
  ASSERT_TRUE(pair.server && pair.client);
  char byte = 0;
  auto reading = std::async(std::launch::async, [&] { return run_on(cores_[0], pair.server->read_some({&byte, 1})); });
  run_on(cores_[0], [](Stream& stream) -> Task<void> {
    stream.close();
    co_return;
  }(*pair.server));
  EXPECT_EQ(reading.get().error, IoError::closed);
  EXPECT_EQ(run_on(cores_[0], pair.server->read_some({&byte, 1})).error, IoError::closed);
  EXPECT_EQ(run_on(cores_[0], pair.server->write_all(std::string_view("x"))).error, IoError::closed);
  // No close_notify was sent: the other side learns that it was not the orderly end.
  EXPECT_EQ(run_on(cores_[1], pair.client->read_some({&byte, 1})).error, IoError::reset);
  drop(pair);
}

TEST_F(Tls, AWaitingCoroutineMayBeDestroyed) {
  Pair pair = connect(server_, {.authorities_pem = authority_.certificate});
  ASSERT_TRUE(pair.server && pair.client);
  char byte = 0;
  run_on(cores_[0], [](Stream& stream, char& into, Core& core) -> Task<void> {
    struct Start {
      struct promise_type {
        Start get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
      };
      std::coroutine_handle<promise_type> handle;
    };
    const Start reading = [](Stream& from, char& to) -> Start { (void)co_await from.read_some({&to, 1}); }(stream,
                                                                                                           into);
    const Start sleeping = [](Core& on) -> Start { co_await on.sleep(1h); }(core);
    reading.handle.destroy();
    sleeping.handle.destroy();
    co_return;
  }(*pair.server, byte, cores_[0]));
  // The event that the destroyed one waited for arrives and wakes the next one.
  EXPECT_TRUE(run_on(cores_[1], pair.client->write_all(std::string_view("z"))));
  EXPECT_TRUE(run_on(cores_[0], pair.server->read_some({&byte, 1})));
  EXPECT_EQ(byte, 'z');
  drop(pair);
}

TEST_F(Tls, ClientChecksTheServer) {
  const KeyPair other = make_certificate({.common_name = "other", .authority = true});
  struct Sample {
    const char* what;
    TlsClientConfig config;
    std::string server_name;
    bool good;
  };
  const std::vector<Sample> cases = {
      {"right authority and address", {.authorities_pem = authority_.certificate}, "", true},
      {"right name", {.authorities_pem = authority_.certificate}, "localhost", true},
      {"wrong name", {.authorities_pem = authority_.certificate}, "elsewhere.example", false},
      {"wrong address", {.authorities_pem = authority_.certificate}, "10.1.2.3", false},
      {"wrong name, not asked",
       {.authorities_pem = authority_.certificate, .verify_name = false},
       "elsewhere.example",
       true},
      {"wrong address, not asked", {.authorities_pem = authority_.certificate, .verify_name = false}, "10.1.2.3", true},
      {"foreign authority", {.authorities_pem = other.certificate}, "", false},
      {"nothing asked", {.verify = false}, "", true},
      {"common name", {.authorities_pem = authority_.certificate, .common_name = "localhost"}, "", true},
      {"other common name", {.authorities_pem = authority_.certificate, .common_name = "x"}, "", false},
  };
  for (const Sample& c : cases) {
    Pair pair = connect(server_, c.config, c.server_name);
    EXPECT_EQ(pair.client != nullptr, c.good) << c.what << ": " << pair.client_error.message;
    if (!c.good) EXPECT_EQ(pair.client_error.code, 503) << c.what;
    drop(pair);
  }
}

// Elliptic curves alone: a key exchange in a finite field costs the server a hundred times what it costs its client.
TEST(TlsConfig, KeysAreExchangedOverEllipticCurves) {
  const KeyPair leaf = make_certificate({.usage = "serverAuth"});
  auto context = TlsServerContext::create(
      {.certificate_pem = leaf.certificate, .key_pem = leaf.key, .client_authorities = {}, .ciphers = {}},
      make_ticket_keys());
  ASSERT_TRUE(context);
  for (const auto& [group, good] : {std::pair("X25519", true),
                                    {"P-256", true},
                                    {"P-384", true},
                                    {"P-521", true},
                                    {"ffdhe2048", false},
                                    {"ffdhe8192", false},
                                    {"X448", false}}) {
    EXPECT_EQ(agrees_in_memory((*context)->native(), group), good) << group;
  }
}

TEST_F(Tls, IntermediatesCountOnlyWhereAllowed) {
  const KeyPair intermediate = make_certificate({.common_name = "middle", .authority = true}, &authority_);
  const KeyPair leaf = make_certificate({.usage = "serverAuth"}, &intermediate);
  const TlsServerConfig server{.certificate_pem = leaf.certificate + intermediate.certificate,
                               .key_pem = leaf.key,
                               .client_authorities = {},
                               .ciphers = {}};
  Pair with = connect(server, {.authorities_pem = authority_.certificate});
  EXPECT_TRUE(with.client) << with.client_error.message;
  drop(with);
  Pair without = connect(server, {.authorities_pem = authority_.certificate, .use_intermediates = false});
  EXPECT_FALSE(without.client);
  drop(without);
  // An intermediate in the bundle is an anchor by itself.
  Pair anchored = connect(server, {.authorities_pem = intermediate.certificate, .use_intermediates = false});
  EXPECT_TRUE(anchored.client) << anchored.client_error.message;
  drop(anchored);
}

TEST(TlsConfig, RefusesWhatDoesNotFit) {
  const KeyPair one = make_certificate({});
  const KeyPair two = make_certificate({});
  const auto create = [](TlsServerConfig config) { return TlsServerContext::create(config, make_ticket_keys()); };
  const auto config = [](std::string certificate, std::string key, std::vector<ClientAuthority> authorities = {}) {
    return TlsServerConfig{.certificate_pem = std::move(certificate),
                           .key_pem = std::move(key),
                           .client_authorities = std::move(authorities),
                           .ciphers = {}};
  };
  EXPECT_TRUE(create(config(one.certificate, one.key)));
  EXPECT_FALSE(create(config(one.certificate, two.key)));
  EXPECT_FALSE(create(config(one.certificate, "")));
  EXPECT_FALSE(create(config("", one.key)));
  EXPECT_FALSE(create(config("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", one.key)));
  EXPECT_FALSE(create(config(one.certificate, one.key, {{"empty", "", {}}})));
  EXPECT_FALSE(create(
      config(one.certificate, one.key, {{"broken", one.certificate + "-----BEGIN CERTIFICATE-----\n!!\n", {}}})));
  EXPECT_TRUE(create(config(one.certificate, one.key, {{"good", one.certificate, {}}})));
}

TEST(TlsConfig, DropsUnknownCiphersAndFallsBack) {
  const KeyPair one = make_certificate({});
  for (const std::vector<std::string>& ciphers : {std::vector<std::string>{},
                                                  {"TLS_NO_SUCH_SUITE"},
                                                  {"TLS_RSA_WITH_RC4_128_SHA"},
                                                  {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "nonsense"},
                                                  {"TLS_AES_128_GCM_SHA256"}}) {
    for (const TlsVersion version : {TlsVersion::tls1_0, TlsVersion::tls1_2, TlsVersion::tls1_3}) {
      EXPECT_TRUE(TlsServerContext::create({.certificate_pem = one.certificate,
                                            .key_pem = one.key,
                                            .client_authorities = {},
                                            .min_version = version,
                                            .ciphers = ciphers},
                                           make_ticket_keys()));
    }
  }
  EXPECT_EQ(tls_version_from("VersionTLS13"), TlsVersion::tls1_3);
  EXPECT_EQ(tls_version_from("VersionTLS99"), TlsVersion::tls1_2);
}

TEST(Certificates, FactsOfAPair) {
  const KeyPair one = make_certificate(
      {.common_name = "virt-api", .organizations = {"a", "b"}, .from_seconds = -60, .until_seconds = 60});
  const auto facts = read_key_pair(one.certificate, one.key);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->common_name, "virt-api");
  EXPECT_EQ(facts->organizations, (std::vector<std::string>{"a", "b"}));
  const auto now = std::chrono::system_clock::now();
  EXPECT_NEAR(std::chrono::duration<double>(facts->not_after - now).count(), 60, 5);
  EXPECT_NEAR(std::chrono::duration<double>(now - facts->not_before).count(), 60, 5);
  EXPECT_EQ(read_bundle(one.certificate + one.certificate), 2u);
}

TEST(Tcp, ConnectsByNameAndReportsFailures) {
  CoreThreads cores(1, {.tick = 5ms});
  const int listener = *listen_tcp("127.0.0.1", 0, 16);
  const std::uint16_t port = local_port(listener);
  auto stream = run_on(cores[0], connect_tcp(cores[0], "localhost", port, 10s));
  ASSERT_TRUE(stream) << stream.error().message;
  const int fd = accept_blocking(listener);
  auto server = adopt_tcp(cores[0], fd);
  EXPECT_TRUE(run_on(cores[0], (*stream)->write_all(std::string_view("plain"))));
  EXPECT_EQ(run_on(cores[0], read_exactly(*server, 5)), "plain");
  run_on(cores[0], (*stream)->shutdown_write());
  char byte = 0;
  EXPECT_EQ(run_on(cores[0], server->read_some({&byte, 1})).error, IoError::end);
  ::close(listener);
  EXPECT_EQ(run_on(cores[0], connect_tcp(cores[0], "127.0.0.1", port, 10s)).error().code, 503);
  EXPECT_EQ(run_on(cores[0], connect_tcp(cores[0], "no-such-host.invalid", port, 10s)).error().code, 503);
  EXPECT_FALSE(listen_tcp("not an address", 0, 1));
  cores[0].post([a = std::move(*stream), b = std::move(server)] {});
  run_on(cores[0], []() -> Task<void> { co_return; }());
}

TEST(CoreTest, PostsSleepsAndMoves) {
  CoreThreads cores(2);
  EXPECT_FALSE(cores[0].here());
  const auto visit = [&]() -> Task<unsigned> {
    EXPECT_TRUE(cores[0].here());
    co_await cores[0].sleep(1ms);
    co_await resume_on(cores[1]);
    EXPECT_TRUE(cores[1].here());
    co_return cores[1].index();
  };
  EXPECT_EQ(run_on(cores[0], visit()), 1u);
  EXPECT_GE(allowed_cpus(), 1u);
}

}  // namespace
}  // namespace vg::http
