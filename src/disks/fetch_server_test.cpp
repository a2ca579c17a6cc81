// Downloads from a server that says what each test tells it to.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "disks/fetch.h"
#include "disks/folder.h"
#include "disks/registry.h"

namespace vg::disks {
namespace {

using testing::HasSubstr;

// One answer to each connection, made of the head of its request.
class Server {
 public:
  explicit Server(std::function<std::string(const std::string&)> answer)
      : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), answer_(std::move(answer)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* any = reinterpret_cast<sockaddr*>(&address);  // NOLINT: so the system has it
    if (::bind(listener_.get(), any, length) != 0 || ::listen(listener_.get(), 8) != 0 ||
        ::getsockname(listener_.get(), any, &length) != 0)
      std::abort();
    port = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~Server() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port = 0;

 private:
  void serve() {
    while (true) {
      const Descriptor client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client) return;
      std::string request(16384, '\0');
      const ssize_t got = ::recv(client.get(), request.data(), request.size(), 0);
      request.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
      const std::string text = answer_(request);
      (void)::send(client.get(), text.data(), text.size(), MSG_NOSIGNAL);
      ::shutdown(client.get(), SHUT_WR);
      while (::recv(client.get(), request.data(), request.size(), 0) > 0) {
      }
    }
  }

  Descriptor listener_;
  std::function<std::string(const std::string&)> answer_;
  std::thread thread_;
};

class FetchFrom : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "fetch-XXXXXX").native();
    path_ = ::mkdtemp(name.data());
    folder_ = Descriptor(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  // What was fetched, or why nothing was.
  std::string fetched(std::function<std::string(const std::string&)> answer) {
    const Server server(std::move(answer));
    const ImportHttp from{.target = {.size = 1 << 20}, .url = fmt::format("http://127.0.0.1:{}/x", server.port)};
    const auto done = fetch(folder_.get(), from, 1 << 30, [](int) {});
    if (!done) return "failed: " + done.error().message;
    std::ifstream in(path_ / download_file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::filesystem::path path_;
  Descriptor folder_;
};

TEST_F(FetchFrom, TrailersAreNoPartOfTheBody) {
  EXPECT_EQ(fetched([](const std::string&) {
              return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\nConnection: close\r\n\r\n"
                     "4\r\ndisk\r\n0\r\nX: trailer\r\n\r\n";
            }),
            "disk");
}

TEST_F(FetchFrom, RedirectsAreFollowedAndEmptyBodiesAreWhole) {
  EXPECT_EQ(fetched([](const std::string& request) -> std::string {
              if (request.starts_with("GET /x "))
                return "HTTP/1.1 302 F\r\nLocation: /y\r\nContent-Length: 2\r\n\r\nno";
              return "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndisk";
            }),
            "disk");
  EXPECT_EQ(fetched([](const std::string&) { return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"; }), "");
  EXPECT_THAT(fetched([](const std::string&) { return "HTTP/1.1 404 N\r\nContent-Length: 0\r\n\r\n"; }),
              HasSubstr("got 404"));
  EXPECT_THAT(fetched([](const std::string&) { return ""; }), HasSubstr("Empty reply"));
}

// DV-80: the rest is taken only of what the beginning is of.
TEST_F(FetchFrom, TwoVersionsAreNotMixed) {
  struct Row {
    const char *id, *first, *rest;  // heads
    const char* expected;
  };
  const Row rows[] = {
      {"the same", "ETag: \"1\"\r\n", "ETag: \"1\"\r\nContent-Range: bytes 4-7/8\r\n", "old-rest"},
      {"another version", "ETag: \"1\"\r\n", "ETag: \"2\"\r\nContent-Range: bytes 4-7/8\r\n", "new-disk"},
      {"of no version", "ETag: \"1\"\r\n", "Content-Range: bytes 4-7/8\r\n", "new-disk"},
      {"another length", "ETag: \"1\"\r\n", "ETag: \"1\"\r\nContent-Range: bytes 4-7/9\r\n", "new-disk"},
      {"of no length", "ETag: \"1\"\r\n", "ETag: \"1\"\r\nContent-Range: bytes 4-7/*\r\n", "new-disk"},
      {"no version at first", "", "ETag: \"1\"\r\nContent-Range: bytes 4-7/8\r\n", "new-disk"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.id);
    int count = 0;
    EXPECT_EQ(fetched([&](const std::string& request) {
                ++count;
                if (request.contains("Range: bytes=4-"))
                  return fmt::format("HTTP/1.1 206 P\r\n{}Content-Length: 4\r\n\r\nrest", row.rest);
                if (count == 1) return fmt::format("HTTP/1.1 200 OK\r\n{}Content-Length: 8\r\n\r\nold-", row.first);
                return std::string("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nnew-disk");
              }),
              row.expected);
    std::filesystem::remove(path_ / download_file);
    std::filesystem::remove(path_ / download_note_file);
  }
}

TEST_F(FetchFrom, APartThatNobodyAskedForIsNoDisk) {
  EXPECT_THAT(fetched([](const std::string&) {
                return "HTTP/1.1 206 P\r\nContent-Range: bytes 4-7/8\r\nContent-Length: 4\r\n\r\nrest";
              }),
              HasSubstr("another part"));
}

// Whatever becomes of the pull.
TEST_F(FetchFrom, TheAccountOfARegistryDoesNotStay) {
  const Server server([](const std::string&) { return "HTTP/1.1 404 N\r\nContent-Length: 0\r\n\r\n"; });
  const ImportRegistry from{.target = {.size = 1 << 20},
                            .url = fmt::format("docker://127.0.0.1:{}/x:1", server.port),
                            .user = "alice",
                            .password = "secret",
                            .insecure = true};
  EXPECT_FALSE(fetch_from_registry(folder_.get(), from, "disk"));
  EXPECT_FALSE(digest_in_registry(folder_.get(), from));
  EXPECT_FALSE(std::filesystem::exists(path_ / ".part-accounts"));
}

}  // namespace
}  // namespace vg::disks
