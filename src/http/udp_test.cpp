#include "http/udp.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

#include "http/task_set.h"
#include "http/tcp.h"
#include "http/tls_test_support.h"

namespace vg::http {
namespace {

using namespace std::chrono_literals;
using test::run_on;

// A bound socket of the other side, used as plainly as possible.
struct OtherSide {
  int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in peer{};
  OtherSide() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  ~OtherSide() { ::close(fd); }
  std::uint16_t port() const { return local_port(fd); }
  std::string receive() {
    std::string bytes(70000, '\0');
    socklen_t size = sizeof peer;
    const ssize_t got = ::recvfrom(fd, bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&peer), &size);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return bytes;
  }
  void send(std::string_view bytes) {
    EXPECT_EQ(::sendto(fd, bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&peer), sizeof peer),
              static_cast<ssize_t>(bytes.size()));
  }
};

TEST(Udp, ADatagramEachWay) {
  CoreThreads cores(1);
  OtherSide other;
  run_on(cores[0], [&]() -> Task<void> {
    auto stream = connect_udp(cores[0], "127.0.0.1", other.port());
    EXPECT_TRUE(stream);
    for (const std::size_t size : {1UL, 1400UL, 40000UL, datagram_bytes_max}) {
      const std::string payload(size, 'd');
      EXPECT_EQ((co_await (*stream)->write_all(payload)).bytes, size);
      EXPECT_EQ(other.receive(), payload);
      other.send("");  // carries nothing, so it is passed over
      other.send(payload);
      EXPECT_EQ((co_await (*stream)->next_size()).bytes, size);
      std::string got(size, '\0');
      EXPECT_EQ((co_await (*stream)->read_some(got)).bytes, size);
      EXPECT_EQ(got, payload);
    }
  }());
}

TEST(Udp, APortWhereNobodyListensBreaksIt) {
  CoreThreads cores(1);
  std::uint16_t port = 0;
  {
    const OtherSide gone;
    port = gone.port();
  }
  run_on(cores[0], [&]() -> Task<void> {
    auto stream = connect_udp(cores[0], "127.0.0.1", port);
    EXPECT_TRUE(co_await (*stream)->write_all(std::string_view("anybody?")));
    EXPECT_EQ((co_await (*stream)->next_size()).error, IoError::reset);
  }());
}

TEST(Udp, ClosingAndDeadlinesEndAWait) {
  CoreThreads cores(1, {.tick = 5ms});
  OtherSide other;
  run_on(cores[0], [&]() -> Task<void> {
    auto stream = connect_udp(cores[0], "127.0.0.1", other.port());
    (*stream)->set_deadline(Stream::Clock::now() + 10ms);
    EXPECT_EQ((co_await (*stream)->next_size()).error, IoError::timed_out);
    (*stream)->set_deadline(Stream::Clock::time_point::max());
    cores[0].post([&] { (*stream)->close(); });
    EXPECT_EQ((co_await (*stream)->next_size()).error, IoError::closed);
    EXPECT_EQ((co_await (*stream)->write_all(std::string_view("x"))).error, IoError::closed);
  }());
}

TEST(Udp, OnlyAddresses) {
  CoreThreads cores(1);
  run_on(cores[0], [&]() -> Task<void> {
    EXPECT_FALSE(connect_udp(cores[0], "localhost", 1));
    EXPECT_FALSE(connect_udp(cores[0], "", 1));
    co_return;
  }());
}

TEST(TaskSet, TasksLeaveWhenTheyEnd) {
  TaskSet tasks;
  CoreThreads cores(1);
  run_on(cores[0], [&]() -> Task<void> {
    tasks.start(cores[0], []() -> Task<void> { co_return; }());
    tasks.start(cores[0], [](Core& core) -> Task<void> { co_await core.sleep(1ms); }(cores[0]));
    EXPECT_EQ(tasks.size(), 2U) << "a task that is over goes when the loop comes round";
    while (tasks.size() > 0) co_await cores[0].sleep(1ms);
  }());
}

TEST(TaskSet, OneThatThrowsEndsAlone) {
  TaskSet tasks;
  CoreThreads cores(1);
  bool ended = false;
  run_on(cores[0], [&]() -> Task<void> {
    tasks.start(cores[0], [](Core& core) -> Task<void> {
      co_await core.sleep(1ms);
      throw std::runtime_error("a damaged object");
    }(cores[0]));
    tasks.start(cores[0], [](Core& core, bool& flag) -> Task<void> {
      co_await core.sleep(5ms);
      flag = true;
    }(cores[0], ended));
    while (tasks.size() > 0) co_await cores[0].sleep(1ms);
  }());
  EXPECT_TRUE(ended);
}

TEST(EventLoop, GoesOnAfterAFunctionThatThrows) {
  CoreThreads cores(1);
  cores[0].post([] { throw std::runtime_error("a damaged object"); });
  bool ran = false;
  run_on(cores[0], [&]() -> Task<void> {
    ran = true;
    co_return;
  }());
  EXPECT_TRUE(ran);
}

TEST(TaskSet, WhatWaitsIsThrownAway) {
  struct Noticed {
    bool& gone;
    ~Noticed() { gone = true; }
  };
  bool gone = false;
  TaskSet tasks;
  const auto loop = EventLoop::create(0);
  tasks.start(*loop, [](Core& core, bool& flag) -> Task<void> {
    const Noticed noticed{flag};
    co_await core.sleep(1h);
  }(*loop, gone));
  EXPECT_FALSE(gone);
  tasks.clear();
  EXPECT_TRUE(gone);
}

}  // namespace
}  // namespace vg::http
