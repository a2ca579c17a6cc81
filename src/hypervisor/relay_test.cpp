#include "hypervisor/relay.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "hypervisor/daemon_process.h"

namespace vg::hypervisor {
namespace {

namespace fs = std::filesystem;

struct RelayTest : ::testing::Test {
  RelayTest() {
    std::string name = (fs::temp_directory_path() / "relay-XXXXXX").native();
    folder = ::mkdtemp(name.data());
    listener = File(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = address_of("far");
    if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener.get(), 4) != 0)
      std::abort();
  }
  ~RelayTest() override { fs::remove_all(folder); }

  std::string at(const std::string& name) const { return (folder / name).native(); }
  sockaddr_un address_of(const std::string& name) const {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    std::memcpy(address.sun_path, at(name).c_str(), at(name).size() + 1);
    return address;
  }
  File connect() const {
    File socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = address_of("near");
    return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? std::move(socket)
                                                                                                     : File();
  }
  static std::string read_all(int socket, std::size_t bytes) {
    std::string text(bytes, '\0');
    const ssize_t got = ::recv(socket, text.data(), text.size(), MSG_WAITALL);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
  }

  fs::path folder;
  File listener;
};

TEST_F(RelayTest, PassesOnInBothDirections) {
  const auto relay = Relay::open(at("near"), at("far"));
  ASSERT_TRUE(relay) << relay.error().message;
  const File near = connect();
  const File far(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  ASSERT_TRUE(near && far);
  const std::string much(1 << 20, 'x');  // more than sockets hold
  std::jthread sender([&] { EXPECT_EQ(::send(near.get(), much.data(), much.size(), 0), ssize_t{1 << 20}); });
  EXPECT_EQ(read_all(far.get(), much.size()), much);
  EXPECT_EQ(::send(far.get(), "back", 4, 0), 4);
  EXPECT_EQ(read_all(near.get(), 4), "back");
}

// Whoever hears the answer finds what it tells of.
TEST_F(RelayTest, SaysThatAnAnswerCameBeforeItIsPassedOn) {
  const auto relay = Relay::open(at("near"), at("far"), [&] { (void)::link(at("made").c_str(), at("seen").c_str()); });
  ASSERT_TRUE(relay) << relay.error().message;
  const File near = connect();
  const File far(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  ASSERT_TRUE(near && far);
  EXPECT_EQ(::send(near.get(), "make", 4, 0), 4);
  EXPECT_EQ(read_all(far.get(), 4), "make");
  std::ofstream(at("made")) << "it";
  EXPECT_EQ(::send(far.get(), "done", 4, 0), 4);
  EXPECT_EQ(read_all(near.get(), 4), "done");
  EXPECT_TRUE(fs::exists(at("seen")));
}

TEST_F(RelayTest, EndsWithEitherEndAndLeavesNothing) {
  auto relay = Relay::open(at("near"), at("far"));
  ASSERT_TRUE(relay);
  const File near = connect();
  File far(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  ASSERT_TRUE(near && far);
  far = File();
  EXPECT_EQ(read_all(near.get(), 1), "");
  relay->reset();
  EXPECT_FALSE(fs::exists(at("near")));
  EXPECT_FALSE(connect());
}

}  // namespace
}  // namespace vg::hypervisor
