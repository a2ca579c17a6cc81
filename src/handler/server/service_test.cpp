#include "handler/server/service.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <thread>
#include <vector>

#include "base/handler_limits.h"
#include "http/client.h"
#include "http/core.h"
#include "http/server.h"
#include "http/tls_test_support.h"
#include "http/websocket.h"
#include "hypervisor/testing.h"

namespace vg::handler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// As if every caller had shown the certificate of the link: TLS is the server's, and tested there.
class Known final : public http::Handler {
 public:
  explicit Known(Service& service) : service_(service) {}
  Task<void> handle(http::Exchange& exchange) override {
    const_cast<http::Peer*>(exchange.request().peer)->certificate.emplace();  // NOLINT: of this test's own connection
    return service_.handle(exchange);
  }

 private:
  Service& service_;
};

// A guest's socket, which says what it is told.
class GuestSocket {
 public:
  explicit GuestSocket(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(fd_, 32), 0);
  }
  ~GuestSocket() { ::close(fd_); }
  int accept() const { return ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC); }

 private:
  int fd_;
};

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() {
    std::string name = "/tmp/vg-handler-XXXXXX";
    if (!::mkdtemp(name.data())) std::abort();
    folder_ = name;
    put(hypervisor::State::running);
    http::ServerConfig config;
    config.host = "127.0.0.1";
    config.plain = true;
    config.cores = 1;
    service_.emplace(Service::Parts{
        .hypervisor = hypervisor_,
        .place = {.name = "node01", .state = {}, .sockets = folder_, .disks = {}, .images = {}, .handler_address = {}},
        .metrics = metrics_,
        .hooks = {.note_pause = [this](std::string_view, std::string_view name,
                                       bool on) { pauses_.push_back(fmt::format("{} {}", name, on)); },
                  .wake = {},
                  .guest_address = [](std::string_view, std::string_view) { return std::string("127.0.0.1"); },
                  .agent_document =
                      [](std::string_view domain, std::string_view what) {
                        return fmt::format(R"({{"of":"{} {}"}})", domain, what);
                      }},
        .problem = {},
        .vsock =
            [this](std::uint32_t context_id, std::uint32_t port) {
              vsock_asked_ = fmt::format("{}:{}", context_id, port);
              return http::unix_address(folder_ + "/vsock");
            },
        .vsock_tls = [this]() -> Result<std::shared_ptr<const http::TlsClientContext>> {
          http::TlsClientConfig config;
          config.certificate_pem = own_.certificate;
          config.key_pem = own_.key;
          config.verify = false;
          config.min_version = http::TlsVersion::tls1_3;
          return http::TlsClientContext::create(config);
        }});
    known_.emplace(*service_);
    server_ = std::move(*http::Server::create(std::move(config), *known_));
    EXPECT_TRUE(server_->listen());
    serving_ = std::thread([this] { server_->run(); });
  }
  ~ServiceTest() override {
    server_->stop();
    serving_.join();
    service_->stop();
    std::filesystem::remove_all(folder_);
  }

  void put(hypervisor::State state, const std::string& more = {}) {
    hypervisor_.put({.name = "ns_a",
                     .uuid = "u",
                     .state = state,
                     .reason = "Unknown",
                     .xml = std::make_shared<const std::string>(
                         fmt::format("<source mode='bind' path='{0}/virt-serial0'/><graphics socket='{0}/virt-vnc'/>"
                                     "<interface type='user'><alias name='ua-default'/></interface>{1}",
                                     folder_, more)),
                     .agent_connected = false});
  }

  // On a core of its own, to the end.
  template <class F>
  void on_core(F work) {
    http::CoreThreads cores(1);
    std::promise<void> done;
    cores[0].post([&] {
      spawn([](F inner, Core& core, std::promise<void>& over) -> Task<void> {
        co_await inner(core);
        over.set_value();
      }(work, cores[0], done));
    });
    done.get_future().wait();
  }

  http::Origin origin() const {
    return {.host = "127.0.0.1", .port = server_->port(), .tls = false, .server_name = {}};
  }

  std::pair<int, std::string> ask(std::string method, std::string what, std::string body = {}) {
    std::pair<int, std::string> result;
    on_core([&](Core& core) -> Task<void> {
      http::Client client(core, {});
      const std::string target = path(what);
      auto answer = co_await client.fetch(origin(), {.method = method, .target = target, .headers = {}, .body = body});
      if (answer) result = {answer->head.status, answer->body};
    });
    return result;
  }
  static std::string path(const std::string& what) {
    return what.starts_with('/') ? what : "/v1/namespaces/ns/virtualmachineinstances/a/" + what;
  }

  // What a client gets back that says hello at that path; a refusal as its status and text.
  std::string say_hello(const std::string& what) {
    std::string got;
    on_core([&](Core& core) -> Task<void> {
      http::Client client(core, {});
      const std::string target = path(what);
      auto opened = co_await client.dial_upgrade(origin(), {.method = "GET", .target = target}, {"plain.kubevirt.io"});
      if (!opened || !opened->stream) {
        got = opened ? fmt::format("{} {}", opened->refusal.head.status, opened->refusal.body) : opened.error().message;
        co_return;
      }
      http::WebSocketOptions options;
      options.role = http::ws::Role::client;
      http::WebSocket socket(std::move(opened->stream), options);
      co_await socket.write(http::MessageKind::binary, std::string_view("hello"));
      co_await socket.read_message(got);
      co_await socket.close(http::ws::close_code::normal, "");
    });
    return got;
  }
  void put_with_vsock() { put(hypervisor::State::running, "<vsock><cid auto='no' address='77'/></vsock>"); }

  const http::test::KeyPair authority_ = http::test::make_certificate({.common_name = "ca", .authority = true});
  const http::test::KeyPair own_ =
      http::test::make_certificate({.common_name = "node", .usage = "clientAuth"}, &authority_);
  std::string vsock_asked_;
  std::string folder_;
  hypervisor::FakeHypervisor hypervisor_;
  metrics::Registry metrics_;
  std::vector<std::string> pauses_;
  std::optional<Service> service_;
  std::optional<Known> known_;
  std::unique_ptr<http::Server> server_;
  std::thread serving_;
};

TEST_F(ServiceTest, ChangesWhetherAGuestRuns) {
  EXPECT_EQ(ask("PUT", "pause").first, 202);
  EXPECT_EQ(hypervisor_.find("ns_a")->state, hypervisor::State::paused);
  EXPECT_EQ(ask("PUT", "pause").first, 202);  // RUN-PWR-01: of one that is paused nothing is asked
  EXPECT_EQ(ask("PUT", "unpause").first, 202);
  EXPECT_EQ(ask("PUT", "softreboot").first, 202);
  EXPECT_EQ(ask("PUT", "reset").first, 202);
  EXPECT_THAT(hypervisor_.calls(), ElementsAre("suspend ns_a", "resume ns_a", "reboot ns_a", "reset ns_a"));
  EXPECT_THAT(pauses_, ElementsAre("a true", "a false"));
}

TEST_F(ServiceTest, SaysWhatWentWrong) {
  hypervisor_.fail_next("suspend", Status::internal_error("no"));
  EXPECT_EQ(ask("PUT", "pause").first, 500);
  EXPECT_THAT(pauses_, ElementsAre("a true", "a false"));  // it is not paused after all
  hypervisor_.fail_next("reboot", Status::internal_error("no"));
  EXPECT_EQ(ask("PUT", "softreboot").first, 500);
  EXPECT_EQ(ask("GET", "pause").first, 405);
  EXPECT_EQ(ask("PUT", "backup").first, 501);
  EXPECT_EQ(ask("GET", "nothing").first, 404);
  const auto missing = ask("PUT", "/v1/namespaces/ns/virtualmachineinstances/b/pause");
  EXPECT_EQ(missing.first, 404);
  EXPECT_THAT(missing.second, HasSubstr("ns/b"));
  EXPECT_EQ(ask("GET", "/healthz").second, "ok");
}

TEST_F(ServiceTest, FreezesThroughTheAgent) {
  hypervisor_.answer_agent("guest-fsfreeze-status", R"({"return":"thawed"})");
  hypervisor_.answer_agent("guest-fsfreeze-freeze", R"({"return":1})");
  EXPECT_EQ(ask("PUT", "freeze", R"({})").first, 400);
  EXPECT_EQ(ask("PUT", "freeze", R"({"unfreezeTimeout":"0s"})").first, 202);
  EXPECT_EQ(hypervisor_.calls().size(), 2u);
  hypervisor_.answer_agent("guest-fsfreeze-status", R"({"return":"frozen"})");
  hypervisor_.forget_calls();
  EXPECT_EQ(ask("PUT", "freeze", R"({"unfreezeTimeout":"0s"})").first, 202);
  EXPECT_EQ(hypervisor_.calls().size(), 1u);  // RUN-FRZ-01: it was asked how it is, and no more
}

TEST_F(ServiceTest, CountersAreAskedForOnceASecond) {
  hypervisor_.counters = {
      .cpu_time_ns = 7, .vcpus = 2, .memory_rss_bytes = 4096, .disks = {{.target = "vda", .read_bytes = 5}}};
  for (int viewer = 0; viewer < 10; ++viewer) {
    const auto [status, body] = ask("GET", "stats");
    EXPECT_EQ(status, 200);
    EXPECT_THAT(body, HasSubstr(R"("cpu":{"timeNanoseconds":7,"vcpus":2})"));
    EXPECT_THAT(body, HasSubstr(R"({"name":"vda","readBytes":5,"writeBytes":0,"readRequests":0,"writeRequests":0})"));
  }
  EXPECT_LE(hypervisor_.calls().size(), 5u);  // on a busy machine ten answers may take some seconds
  EXPECT_EQ(ask("PUT", "stats").first, 405);
}

TEST_F(ServiceTest, CountersThatCannotBeHadAreAskedForAgain) {
  hypervisor_.fail_next("stats", Status::internal_error("no"));
  EXPECT_EQ(ask("GET", "stats").first, 500);
  EXPECT_EQ(ask("GET", "stats").first, 200);
}

TEST_F(ServiceTest, TellsOfGuests) {
  EXPECT_EQ(ask("GET", "vnc/screenshot").second, hypervisor_.picture.bytes);
  EXPECT_EQ(ask("GET", "guestosinfo").second, R"({"of":"ns_a guestosinfo"})");
}

// One at a time at a console: who comes later ends who was there.
TEST_F(ServiceTest, HandsAConsoleToTheLastWhoCame) {
  const GuestSocket guest(folder_ + "/virt-serial0");
  std::thread side([&] {
    for (int i = 0; i < 2; ++i) {
      const int one = guest.accept();
      std::array<char, 16> bytes{};
      const auto got = ::read(one, bytes.data(), bytes.size());
      if (got > 0) (void)::write(one, bytes.data(), static_cast<std::size_t>(got));
      while (::read(one, bytes.data(), bytes.size()) > 0) {
      }
      ::close(one);
    }
  });
  on_core([&](Core& core) -> Task<void> {
    http::Client client(core, {});
    const std::string target = path("console");
    const auto open = [&]() -> Task<http::WebSocket> {
      auto opened = co_await client.dial_upgrade(origin(), {.method = "GET", .target = target}, {"plain.kubevirt.io"});
      EXPECT_TRUE(opened && opened->stream);
      http::WebSocketOptions options;
      options.role = http::ws::Role::client;
      co_return http::WebSocket(std::move(opened->stream), options);
    };
    auto first = co_await open();
    std::string text;
    co_await first.write(http::MessageKind::binary, std::string_view("hello"));
    co_await first.read_message(text);
    EXPECT_EQ(text, "hello");
    auto second = co_await open();
    EXPECT_FALSE(co_await first.read_message(text));
    EXPECT_EQ(first.end().code, http::ws::close_code::going_away);
    co_await second.write(http::MessageKind::binary, std::string_view("again"));
    co_await second.read_message(text);
    EXPECT_EQ(text, "again");
    co_await second.close(http::ws::close_code::normal, "");
  });
  side.join();
}

TEST_F(ServiceTest, KeepsASessionThatWasAskedToBeKept) {
  const GuestSocket guest(folder_ + "/virt-vnc");
  on_core([&](Core& core) -> Task<void> {
    http::Client client(core, {});
    const std::string target = path("vnc"), keep = path("vnc?preserveSession=true");
    auto first = co_await client.dial_upgrade(origin(), {.method = "GET", .target = target}, {"plain.kubevirt.io"});
    EXPECT_TRUE(first && first->stream);
    auto second = co_await client.dial_upgrade(origin(), {.method = "GET", .target = keep}, {"plain.kubevirt.io"});
    EXPECT_TRUE(second && !second->stream);
    EXPECT_EQ(second->refusal.head.status, 503);
  });
}

// Why the other side ended it; only then.
Task<std::string> closed_because(http::WebSocket& socket) {
  std::string text;
  while (co_await socket.read_message(text)) {
  }
  co_return socket.end().reason;
}

// Who share look together; who does not share ends all of them, and is not joined by one who would keep its session.
TEST_F(ServiceTest, LetsSeveralShareADisplay) {
  const GuestSocket guest(folder_ + "/virt-vnc");
  on_core([&](Core& core) -> Task<void> {
    http::Client client(core, {});
    const std::string alone = path("vnc"), shared = path("vnc?preserveSession=true&shared=true"),
                      taking = path("vnc?shared=true");
    const auto open = [&](const std::string& target) {
      return client.dial_upgrade(origin(), {.method = "GET", .target = target}, {"plain.kubevirt.io"});
    };
    const auto socket = [](auto& opened) {
      http::WebSocketOptions options;
      options.role = http::ws::Role::client;
      return std::make_unique<http::WebSocket>(std::move(opened->stream), options);
    };
    std::vector<std::unique_ptr<http::WebSocket>> viewers;
    for (std::size_t i = 0; i < limits::display_viewers_max; ++i) {
      auto opened = co_await open(shared);
      EXPECT_TRUE(opened && opened->stream) << i;
      viewers.push_back(socket(opened));
    }
    auto refused = co_await open(shared);
    EXPECT_TRUE(refused && !refused->stream);
    EXPECT_EQ(refused->refusal.head.status, 503);
    auto one = co_await open(alone);
    EXPECT_TRUE(one && one->stream);
    for (const auto& viewer : viewers) EXPECT_EQ(co_await closed_because(*viewer), "another session took over");
    refused = co_await open(shared);
    EXPECT_TRUE(refused && !refused->stream);
    EXPECT_EQ(refused->refusal.head.status, 503);
    auto next = co_await open(taking), beside = co_await open(shared);
    EXPECT_TRUE(next && next->stream);
    EXPECT_TRUE(beside && beside->stream);
    const auto before = socket(one);
    EXPECT_EQ(co_await closed_because(*before), "another session took over");
  });
}

TEST_F(ServiceTest, SaysThatThereIsNoConsole) {
  on_core([&](Core& core) -> Task<void> {
    http::Client client(core, {});
    const std::string target = path("console"), usb = path("usbredir");
    auto opened = co_await client.dial_upgrade(origin(), {.method = "GET", .target = target}, {"plain.kubevirt.io"});
    EXPECT_TRUE(opened && !opened->stream);
    EXPECT_EQ(opened->refusal.head.status, 400);
    opened = co_await client.dial_upgrade(origin(), {.method = "GET", .target = usb}, {"plain.kubevirt.io"});
    EXPECT_EQ(opened->refusal.head.status, 400);
    EXPECT_THAT(opened->refusal.body, HasSubstr("no slots"));
  });
}

// A guest that listens on its vsock with TLS, and sends back what it gets; takes clients of that authority alone.
void echo_once(const GuestSocket& guest, const std::string& client_authority) {
  const auto pair = http::test::make_certificate({.common_name = "guest"});
  http::TlsServerConfig config;
  config.certificate_pem = pair.certificate;
  config.key_pem = pair.key;
  config.min_version = http::TlsVersion::tls1_3;
  config.client_authorities.push_back({.name = "node", .certificates_pem = client_authority});
  const auto context = http::TlsServerContext::create(config, http::make_ticket_keys());
  ASSERT_TRUE(context);
  const int fd = guest.accept();
  http::CoreThreads cores(1);
  std::promise<void> done;
  cores[0].post([&] {
    spawn([](Core& core, int from, auto tls, std::promise<void>& over) -> Task<void> {
      auto stream = co_await http::accept_tls(core, from, tls, std::chrono::seconds(10));
      std::array<char, 16> bytes{};
      const IoResult got = stream ? co_await (*stream)->read_some(bytes) : IoResult{};
      if (got.bytes > 0) co_await (*stream)->write_all(std::span(bytes).first(got.bytes));
      if (got.bytes > 0) co_await (*stream)->read_some(bytes);  // until the other side goes
      over.set_value();
    }(cores[0], fd, *context, done));
  });
  done.get_future().wait();
}

TEST_F(ServiceTest, ReachesTheVsockOfAGuest) {
  put_with_vsock();
  const GuestSocket guest(folder_ + "/vsock");
  std::thread side([&] {
    const int one = guest.accept();
    std::array<char, 16> bytes{};
    const auto got = ::read(one, bytes.data(), bytes.size());
    if (got > 0) (void)::write(one, bytes.data(), static_cast<std::size_t>(got));
    ::close(one);
  });
  EXPECT_EQ(say_hello("vsock?port=4000000000"), "hello");
  EXPECT_EQ(vsock_asked_, "77:4000000000");
  side.join();
}

TEST_F(ServiceTest, ShowsItsCertificateToGuestsThatWantTls) {
  put_with_vsock();
  const GuestSocket guest(folder_ + "/vsock");
  std::thread side([&] { echo_once(guest, authority_.certificate); });
  EXPECT_EQ(say_hello("vsock?port=5&tls=true"), "hello");
  side.join();
  // A guest that takes others alone ends it, so something was shown.
  std::thread other([&] { echo_once(guest, http::test::make_certificate({.authority = true}).certificate); });
  EXPECT_NE(say_hello("vsock?port=5&tls=true"), "hello");
  other.join();
}

TEST_F(ServiceTest, SaysWhyThereIsNoVsock) {
  EXPECT_THAT(say_hello("vsock?port=5"), HasSubstr("400 the guest has no vsock"));
  put_with_vsock();
  EXPECT_THAT(say_hello("vsock"), HasSubstr("400 the parameter port"));
  EXPECT_THAT(say_hello("vsock?port=1&tls=perhaps"), HasSubstr("400 the parameter tls"));
  EXPECT_THAT(say_hello("vsock?port=1"), HasSubstr("503 cannot connect"));
  // The host's own ports are nobody's business.
  put(hypervisor::State::running, "<vsock><cid auto='no' address='2'/></vsock>");
  EXPECT_THAT(say_hello("vsock?port=5"), HasSubstr("400 the guest has no vsock"));
}

// Who comes later gets another slot, and nobody loses theirs.
TEST_F(ServiceTest, GivesOutUsbSlotsUntilThereAreNone) {
  std::string sockets;
  for (const int slot : {0, 1})
    sockets += fmt::format("<source mode='bind' path='{}/virt-usbredir-{}'/>", folder_, slot);
  put(hypervisor::State::running, sockets);
  const GuestSocket first(folder_ + "/virt-usbredir-0"), second(folder_ + "/virt-usbredir-1");
  on_core([&](Core& core) -> Task<void> {
    http::Client client(core, {});
    const std::string target = path("usbredir");
    const auto open = [&] {
      return client.dial_upgrade(origin(), {.method = "GET", .target = target}, {"plain.kubevirt.io"});
    };
    auto one = co_await open();
    auto other = co_await open();
    EXPECT_TRUE(one && one->stream && other && other->stream);
    auto refused = co_await open();
    EXPECT_TRUE(refused && !refused->stream);
    EXPECT_EQ(refused->refusal.head.status, 503);
    EXPECT_THAT(refused->refusal.body, HasSubstr("in use"));
    one->stream.reset();
    // It is noticed on the other side a little later.
    for (refused = co_await open(); refused && !refused->stream; refused = co_await open())
      co_await core.sleep(std::chrono::milliseconds(5));
    EXPECT_TRUE(refused && refused->stream);
  });
}

}  // namespace
}  // namespace vg::handler
