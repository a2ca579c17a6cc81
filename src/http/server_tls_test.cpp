// Who may connect, what is known about them, and how certificates are replaced while connections come and go.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "base/log.h"
#include "http/certificates.h"
#include "http/server_test_support.h"

namespace vg::http {
namespace {

using namespace test;

Task<void> who(Exchange& exchange) {
  const auto& certificate = exchange.request().peer->certificate;
  if (!certificate) {
    exchange.respond(text("nobody"));
    co_return;
  }
  std::string answer = certificate->authority + "|" + certificate->common_name;
  for (const std::string& name : certificate->organizations) answer += "|" + name;
  exchange.respond(text(std::move(answer)));
}

class ClientCertificates : public ::testing::TestWithParam<int> {
 protected:
  static ServerConfig config(std::vector<ClientAuthority> authorities) {
    ServerConfig made = tls_config();
    made.tls->client_authorities = std::move(authorities);
    return made;
  }
  // The answer, or "refused". A TLS 1.3 client learns of a refusal only when it reads.
  std::string ask(TestServer& server, const KeyPair* certificate) {
    TestClient client(server.port(), {.certificate = certificate, .max_version = GetParam()});
    if (!client.connected()) return "refused";
    const auto answer = client.ask(get("/"));
    return answer.status == 0 ? "refused" : answer.body;
  }
  KeyPair client(const Wanted& wanted, const KeyPair& issuer) {
    Wanted made = wanted;
    if (!made.usage) made.usage = "clientAuth";
    return make_certificate(made, &issuer);
  }

  const KeyPair proxies_ = make_certificate({.common_name = "front-proxy-ca", .authority = true});
  const KeyPair users_ = make_certificate({.common_name = "user-ca", .authority = true});
};
INSTANTIATE_TEST_SUITE_P(Tls, ClientCertificates, ::testing::Values(TLS1_2_VERSION, TLS1_3_VERSION),
                         [](const auto& info) { return info.param == TLS1_2_VERSION ? "Tls12" : "Tls13"; });

TEST_P(ClientCertificates, AreVerifiedWhenGiven) {
  TestServer server(
      config({{"proxy", proxies_.certificate, {"front-proxy-client", "aggregator"}}, {"user", users_.certificate, {}}}),
      who);
  const KeyPair proxy = client({.common_name = "front-proxy-client"}, proxies_);
  const KeyPair user = client({.common_name = "alice", .organizations = {"admins", "people"}}, users_);
  const KeyPair impostor = client({.common_name = "mallory"}, proxies_);
  const KeyPair same_name = client({.common_name = "front-proxy-client"}, users_);
  const KeyPair foreign_ca = make_certificate({.common_name = "user-ca", .authority = true});
  const KeyPair foreign = client({.common_name = "alice"}, foreign_ca);
  const KeyPair expired = client({.common_name = "alice", .from_seconds = -7200, .until_seconds = -3600}, users_);
  const KeyPair early = client({.common_name = "alice", .from_seconds = 3600, .until_seconds = 7200}, users_);
  const KeyPair server_only = client({.common_name = "alice", .usage = "serverAuth"}, users_);
  const KeyPair self_signed = make_certificate({.common_name = "front-proxy-client", .usage = "clientAuth"});

  EXPECT_EQ(ask(server, nullptr), "nobody");
  EXPECT_EQ(ask(server, &proxy), "proxy|front-proxy-client");
  EXPECT_EQ(ask(server, &user), "user|alice|admins|people");
  EXPECT_EQ(ask(server, &same_name), "user|front-proxy-client") << "a name counts only with its own authority";
  EXPECT_EQ(ask(server, &impostor), "refused");
  EXPECT_EQ(ask(server, &foreign), "refused");
  EXPECT_EQ(ask(server, &expired), "refused");
  EXPECT_EQ(ask(server, &early), "refused");
  EXPECT_EQ(ask(server, &server_only), "refused");
  EXPECT_EQ(ask(server, &self_signed), "refused");
  EXPECT_EQ(ask(server, nullptr), "nobody");
  server.stop();
  EXPECT_THAT(server.registry.expose(), ::testing::HasSubstr("virtgate_http_handshake_failures_total 6"));
}

TEST_P(ClientCertificates, ChainsAndSharedAuthorities) {
  const KeyPair middle = make_certificate({.common_name = "middle", .authority = true}, &users_);
  KeyPair chained = client({.common_name = "bob"}, middle);
  const KeyPair alone = chained;
  chained.certificate += middle.certificate;
  // One authority in two sets: the set that takes the name wins.
  TestServer server(config({{"proxy", users_.certificate, {"front-proxy-client"}}, {"user", users_.certificate, {}}}),
                    who);
  const KeyPair proxy = client({.common_name = "front-proxy-client"}, users_);
  EXPECT_EQ(ask(server, &proxy), "proxy|front-proxy-client");
  EXPECT_EQ(ask(server, &chained), "user|bob");
  EXPECT_EQ(ask(server, &alone), "refused");
}

TEST_P(ClientCertificates, AreNotAskedForWithoutAuthorities) {
  TestServer server(config({}), who);
  const KeyPair user = client({.common_name = "alice"}, users_);
  EXPECT_EQ(ask(server, &user), "nobody");
}

struct SessionFree {
  void operator()(SSL_SESSION* session) const { SSL_SESSION_free(session); }
};
using SessionPtr = std::unique_ptr<SSL_SESSION, SessionFree>;

class Resumption : public ClientCertificates {
 protected:
  struct Seen {
    std::string answer;
    bool resumed = false;
  };
  // Asks with the session of the last time and keeps the new one.
  Seen again(TestServer& server, const KeyPair* certificate) {
    TestClient client(server.port(),
                      {.certificate = certificate, .session = session_.get(), .max_version = GetParam()});
    if (!client.connected()) return {"refused", false};
    Seen seen{"", SSL_session_reused(client.ssl()) == 1};
    const auto answer = client.ask(get("/"));
    seen.answer = answer.status == 0 ? "refused" : answer.body;
    if (answer.status != 0) session_.reset(SSL_get1_session(client.ssl()));
    return seen;
  }
  TlsServerConfig tls(std::vector<std::string> names, const KeyPair& serving) {
    return {.certificate_pem = serving.certificate,
            .key_pem = serving.key,
            .client_authorities = {{"user", users_.certificate, std::move(names)}}};
  }
  SessionPtr session_;
};
INSTANTIATE_TEST_SUITE_P(Tls, Resumption, ::testing::Values(TLS1_2_VERSION, TLS1_3_VERSION),
                         [](const auto& info) { return info.param == TLS1_2_VERSION ? "Tls12" : "Tls13"; });

TEST_P(Resumption, SurvivesNewCertificatesAndKeepsTheRules) {
  ServerConfig made = tls_config();
  made.tls = tls({}, serving_pair());
  TestServer server(made, who);
  const KeyPair user = client({.common_name = "alice"}, users_);

  EXPECT_FALSE(again(server, &user).resumed);
  Seen seen = again(server, &user);
  EXPECT_TRUE(seen.resumed);
  EXPECT_EQ(seen.answer, "user|alice") << "known from the session";

  const KeyPair next = make_certificate({.common_name = "next", .usage = "serverAuth"});
  ASSERT_TRUE(server->set_tls(tls({"alice", "bob"}, next)));
  seen = again(server, &user);
  EXPECT_TRUE(seen.resumed) << "the keys of tickets outlive a context";
  EXPECT_EQ(seen.answer, "user|alice");

  // The name is taken off the list: a session must not be a way around it.
  ASSERT_TRUE(server->set_tls(tls({"bob"}, next)));
  EXPECT_EQ(again(server, &user).answer, "refused");

  ASSERT_TRUE(server->set_tls(tls({}, next)));
  seen = again(server, &user);
  EXPECT_TRUE(seen.resumed);
  EXPECT_EQ(seen.answer, "user|alice");

  // The authority is replaced.
  TlsServerConfig other = tls({}, next);
  other.client_authorities[0].certificates_pem = proxies_.certificate;
  ASSERT_TRUE(server->set_tls(other));
  EXPECT_EQ(again(server, &user).answer, "refused");
}

TEST_P(Resumption, WithoutACertificate) {
  TestServer server(tls_config(), who);
  EXPECT_FALSE(again(server, nullptr).resumed);
  const Seen seen = again(server, nullptr);
  EXPECT_TRUE(seen.resumed);
  EXPECT_EQ(seen.answer, "nobody");
}

TEST(ServerTls, VersionsCiphersAndProtocols) {
  ServerConfig config = tls_config();
  config.tls->min_version = TlsVersion::tls1_3;
  TestServer strict(config);
  EXPECT_FALSE(TestClient(strict.port(), {.max_version = TLS1_2_VERSION}).connected());
  EXPECT_TRUE(TestClient(strict.port()).connected());

  config.tls->min_version = TlsVersion::tls1_2;
  config.tls->ciphers = {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "TLS_UNKNOWN"};
  TestServer chosen(config);
  TestClient old(chosen.port(), {.max_version = TLS1_2_VERSION});
  ASSERT_TRUE(old.connected());
  EXPECT_STREQ(SSL_get_cipher_name(old.ssl()), "ECDHE-ECDSA-CHACHA20-POLY1305");

  // The order of the list says nothing, and what Go does not know is not taken, whatever OpenSSL thinks of it.
  config.tls->ciphers = {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"};
  EXPECT_STREQ(SSL_get_cipher_name(TestClient(TestServer(config).port(), {.max_version = TLS1_2_VERSION}).ssl()),
               "ECDHE-ECDSA-AES256-GCM-SHA384");
  config.tls->min_version = TlsVersion::tls1_0;
  config.tls->ciphers = {"TLS_ECDHE_ECDSA_WITH_NULL_SHA", "TLS_ECDH_anon_WITH_AES_128_CBC_SHA"};
  EXPECT_STREQ(SSL_get_cipher_name(TestClient(TestServer(config).port(), {.max_version = TLS1_2_VERSION}).ssl()),
               "ECDHE-ECDSA-AES256-GCM-SHA384");
  // Nobody who wants suites of 1.3 alone gets our usual ones below it.
  config.tls->ciphers = {"TLS_AES_128_GCM_SHA256"};
  TestServer newest(config);
  EXPECT_FALSE(TestClient(newest.port(), {.max_version = TLS1_2_VERSION}).connected());
  EXPECT_TRUE(TestClient(newest.port()).connected());

  const auto protocol = [&](const char* offered) {
    TestClient client(chosen.port(), {.alpn = offered});
    EXPECT_TRUE(client.connected());
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(client.ssl(), &name, &size);
    return std::string(reinterpret_cast<const char*>(name), size);
  };
  EXPECT_EQ(protocol("http/1.1"), "http/1.1");
  EXPECT_EQ(protocol("h2"), "");
}

TEST(ServerTls, ContextMayComeLaterAndABadOneChangesNothing) {
  ServerConfig config = tls_config();
  const TlsServerConfig good = *config.tls;
  config.tls.reset();
  TestServer server(config);
  EXPECT_FALSE(TestClient(server.port()).connected());
  ASSERT_TRUE(server->set_tls(good));
  EXPECT_EQ(TestClient(server.port()).ask(get("/")).status, 200);
  TlsServerConfig bad = good;
  bad.key_pem = make_certificate({}).key;
  EXPECT_FALSE(server->set_tls(bad));
  EXPECT_EQ(TestClient(server.port()).ask(get("/")).status, 200);
}

std::string serving_name(TestClient& client) {
  const X509Ptr certificate(SSL_get1_peer_certificate(client.ssl()));
  return certificate ? common_name(certificate.get()) : "";
}

// Clients that ask all the time, on old and on new connections, until told to stop.
class Load {
 public:
  explicit Load(std::uint16_t port) {
    for (int i = 0; i < 2; ++i) {
      threads_.emplace_back([this, port] {
        TestClient lasting(port);
        while (!stopping_) {
          TestClient fresh(port);
          if (fresh.ask(post("/", "fresh")).status != 200) ++failures;
          if (lasting.ask(post("/", "lasting")).status != 200) ++failures;
          ++rounds;
        }
      });
    }
  }
  ~Load() { stop(); }
  void stop() {
    stopping_ = true;
    for (auto& thread : threads_) thread.join();
    threads_.clear();
  }
  std::atomic<int> failures = 0;
  std::atomic<int> rounds = 0;

 private:
  std::atomic<bool> stopping_ = false;
  std::vector<std::thread> threads_;
};

TEST(ServerTls, ReplacedAHundredTimesUnderLoad) {
  TestServer server(tls_config());
  Load load(server.port());
  std::vector<KeyPair> pairs;
  for (int i = 0; i < 4; ++i)
    pairs.push_back(make_certificate({.common_name = "pair" + std::to_string(i), .usage = "serverAuth"}));
  for (int i = 0; i < 100; ++i) {
    const KeyPair& pair = pairs[static_cast<std::size_t>(i) % pairs.size()];
    ASSERT_TRUE(server->set_tls({.certificate_pem = pair.certificate, .key_pem = pair.key}));
    TestClient client(server.port());
    EXPECT_EQ(serving_name(client), "pair" + std::to_string(i % 4)) << "new handshakes get the new one";
  }
  while (load.rounds < 20) std::this_thread::yield();
  load.stop();
  EXPECT_EQ(load.failures, 0);
}

// --- files ----------------------------------------------------------------------------------------------------------

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "virtgate-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  // As the kubelet does it: a new folder, then one rename of the link that all files go through.
  void swap_volume(const KeyPair& pair) {
    const std::string version = "..version" + std::to_string(version_++);
    std::filesystem::create_directory(folder_ / version);
    std::ofstream(path(version + "/tls.crt")) << pair.certificate;
    std::ofstream(path(version + "/tls.key")) << pair.key;
    std::filesystem::create_symlink(version, folder_ / "..data_tmp");
    std::filesystem::rename(folder_ / "..data_tmp", folder_ / "..data");
    for (const char* name : {"tls.crt", "tls.key"}) {
      if (!std::filesystem::is_symlink(folder_ / name))
        std::filesystem::create_symlink(std::string("..data/") + name, folder_ / name);
    }
    if (version_ > 1) std::filesystem::remove_all(folder_ / ("..version" + std::to_string(version_ - 2)));
  }
  CertificateWatcher::Options options(std::chrono::milliseconds poll = 1h) {
    return {.name = "serving",
            .certificate_path = path("tls.crt"),
            .key_path = path("tls.key"),
            .times = {.poll = poll, .settle = 1ms, .retry = 5ms},
            .metrics = &registry_};
  }
  // Names as they are loaded.
  class Names {
   public:
    void add(std::string name) {
      const std::lock_guard lock(mutex_);
      names_.push_back(std::move(name));
      changed_.notify_all();
    }
    bool wait_for(const std::string& name) {
      std::unique_lock lock(mutex_);
      return changed_.wait_for(lock, 20s, [&] { return !names_.empty() && names_.back() == name; });
    }
    std::size_t count() {
      const std::lock_guard lock(mutex_);
      return names_.size();
    }

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::string> names_;
  };
  CertificateWatcher::Changed note() {
    return [this](const CertificateWatcher::Pair& pair) -> Result<void> {
      names_.add(pair.facts.common_name);
      return {};
    };
  }
  // Watchers end on their core.
  template <class T>
  void end(std::unique_ptr<T>& watcher) {
    run_on(cores_[0], [](std::unique_ptr<T> one) -> Task<void> {
      one.reset();
      co_return;
    }(std::move(watcher)));
  }

  std::filesystem::path folder_;
  int version_ = 0;
  metrics::Registry registry_;
  Names names_;
  log::Capture log_;
  CoreThreads cores_{1, {.tick = 5ms}};
};

TEST_F(Files, LoadsAndFollowsVolumeSwaps) {
  auto watcher = std::make_unique<CertificateWatcher>(cores_[0], options(), note());
  EXPECT_FALSE(watcher->load()) << "there is nothing yet";
  EXPECT_FALSE(watcher->is_valid_at(std::chrono::system_clock::now()));
  swap_volume(make_certificate({.common_name = "first"}));
  ASSERT_TRUE(watcher->load());
  EXPECT_EQ(watcher->current()->facts.common_name, "first");
  EXPECT_TRUE(watcher->is_valid_at(std::chrono::system_clock::now()));
  EXPECT_FALSE(watcher->is_valid_at(std::chrono::system_clock::now() + 2h));
  EXPECT_FALSE(watcher->is_valid_at(std::chrono::system_clock::now() - 24h)) << "nor before it begins";
  watcher->start();
  for (int i = 0; i < 10; ++i) {
    const std::string name = "swap" + std::to_string(i);
    swap_volume(make_certificate({.common_name = name}));
    ASSERT_TRUE(names_.wait_for(name));
  }
  EXPECT_THAT(registry_.expose(),
              ::testing::HasSubstr("virtgate_certificate_expires_timestamp_seconds{name=\"serving\"}"));
  end(watcher);
}

TEST_F(Files, KeepsTheOldPairWhileTheNewOneIsBad) {
  const KeyPair good = make_certificate({.common_name = "good"});
  swap_volume(good);
  auto watcher = std::make_unique<CertificateWatcher>(cores_[0], options(), note());
  ASSERT_TRUE(watcher->load());
  watcher->start();
  const KeyPair next = make_certificate({.common_name = "next"});
  swap_volume({next.certificate, good.key});
  // The failure is counted, the pair stays.
  auto failures = registry_
                      .counters("virtgate_certificate_load_failures_total",
                                "Certificate files that changed and could not be loaded.", {"name"})
                      .with({"serving"});
  while (failures->value() == 0) std::this_thread::yield();
  EXPECT_EQ(watcher->current()->facts.common_name, "good");
  swap_volume(next);
  EXPECT_TRUE(names_.wait_for("next"));
  EXPECT_THAT(log_.lines(), ::testing::Contains(::testing::HasSubstr("does not belong")));
  end(watcher);
}

TEST_F(Files, LooksNowAndThenWhenNobodyTells) {
  // A directory that does not exist when the watch begins tells nothing.
  auto later = options(5ms);
  later.certificate_path = path("later/tls.crt");
  later.key_path = path("later/tls.key");
  auto watcher = std::make_unique<CertificateWatcher>(cores_[0], later, note());
  watcher->start();
  std::filesystem::create_directory(folder_ / "later");
  const KeyPair pair = make_certificate({.common_name = "late"});
  ASSERT_TRUE(write_file(later.key_path, pair.key, 0600));
  ASSERT_TRUE(write_file(later.certificate_path, pair.certificate, 0600));
  EXPECT_TRUE(names_.wait_for("late"));
  EXPECT_EQ(names_.count(), 1u) << "looking again at the same content is no change";
  end(watcher);
}

TEST_F(Files, RenamedAndRewrittenInPlace) {
  const KeyPair one = make_certificate({.common_name = "one"});
  ASSERT_TRUE(write_file(path("tls.key"), one.key, 0600));
  ASSERT_TRUE(write_file(path("tls.crt"), one.certificate, 0600));
  auto watcher = std::make_unique<CertificateWatcher>(cores_[0], options(), note());
  watcher->start();
  ASSERT_TRUE(names_.wait_for("one"));
  const KeyPair two = make_certificate({.common_name = "two"});
  ASSERT_TRUE(write_file(path("tls.key"), two.key, 0600));
  ASSERT_TRUE(write_file(path("tls.crt"), two.certificate, 0600));
  EXPECT_TRUE(names_.wait_for("two"));
  end(watcher);
}

TEST_F(Files, Bundles) {
  const KeyPair authority = make_certificate({.common_name = "ca", .authority = true});
  ASSERT_TRUE(write_file(path("ca.crt"), "nonsense", 0644));
  Event changed;
  auto watcher = std::make_unique<BundleWatcher>(cores_[0], "authorities", path("ca.crt"),
                                                 WatchTimes{.poll = 1h, .settle = 1ms, .retry = 5ms},
                                                 [&](const std::string&) -> Result<void> {
                                                   changed.set();
                                                   return {};
                                                 });
  EXPECT_FALSE(watcher->load());
  EXPECT_EQ(watcher->current(), nullptr);
  watcher->start();
  ASSERT_TRUE(write_file(path("ca.crt"), authority.certificate, 0644));
  ASSERT_TRUE(changed.wait());
  while (!watcher->current()) std::this_thread::yield();
  EXPECT_EQ(*watcher->current(), authority.certificate);
  end(watcher);
}

TEST_F(Files, ServerFollowsItsFilesUnderLoad) {
  swap_volume(make_certificate({.common_name = "start"}));
  ServerConfig config = tls_config();
  config.tls.reset();
  TestServer server(config);
  auto watcher = std::make_unique<CertificateWatcher>(cores_[0], options(), [&](const CertificateWatcher::Pair& pair) {
    return server->set_tls({.certificate_pem = pair.certificate_pem, .key_pem = pair.key_pem});
  });
  ASSERT_TRUE(watcher->load());
  watcher->start();
  Load load(server.port());
  for (int i = 0; i < 100; ++i) {
    const std::string name = "file" + std::to_string(i);
    swap_volume(make_certificate({.common_name = name}));
    for (;;) {
      TestClient client(server.port());
      if (serving_name(client) == name) break;
    }
  }
  load.stop();
  EXPECT_EQ(load.failures, 0);
  end(watcher);
}

}  // namespace
}  // namespace vg::http
