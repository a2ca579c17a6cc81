#include "helpers/channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/helper_limits.h"

namespace vg::helpers {
namespace {

struct Link {
  Link() {
    auto made = Channel::make_pair();
    if (!made) throw std::runtime_error("no socket pair");
    near = std::move(made->first);
    far = std::move(made->second);
  }
  // What arrives at the other end, in order.
  std::vector<Message> arrived() {
    std::vector<Message> all;
    while (true) {
      auto received = far.receive();
      if (!received || !*received) return all;
      all.push_back(std::move(**received));
    }
  }
  // As a process would send it that does not keep to the format.
  void send_raw(const std::string& packet, int file = -1) const {
    iovec bytes{const_cast<char*>(packet.data()), packet.size()};
    std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    if (file >= 0) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* head = CMSG_FIRSTHDR(&message);
      head->cmsg_level = SOL_SOCKET;
      head->cmsg_type = SCM_RIGHTS;
      head->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(head), &file, sizeof(file));
    }
    ASSERT_EQ(::sendmsg(near.descriptor(), &message, MSG_DONTWAIT | MSG_NOSIGNAL), static_cast<ssize_t>(packet.size()));
  }
  Channel near, far;
};

std::string head(std::uint32_t body, std::uint16_t subject, std::uint16_t in_file) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &body, 4);
  std::memcpy(bytes.data() + 4, &subject, 2);
  std::memcpy(bytes.data() + 6, &in_file, 2);
  return bytes;
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

TEST(Channel, MessagesOfEverySizeComeWholeAndInOrder) {
  Link link;
  std::vector<std::string> bodies;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, limits::helper_packet_bytes_max, limits::helper_packet_bytes_max + 1,
        std::size_t{200'000}, limits::helper_message_bytes_max})
    bodies.emplace_back(size, static_cast<char>('a' + bodies.size()));
  const std::size_t before = open_descriptors();
  for (const std::string& body : bodies) {
    ASSERT_EQ(link.near.send("job", body), Sent::yes) << body.size();
    const auto all = link.arrived();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].subject, "job");
    EXPECT_TRUE(all[0].body == body) << body.size();
    EXPECT_EQ(all[0].problem, "");
  }
  EXPECT_EQ(open_descriptors(), before) << "files in memory are closed by both sides";
}

TEST(Channel, WhatIsTooLargeIsRefusedBySendingAlready) {
  Link link;
  EXPECT_EQ(link.near.send("job", std::string(limits::helper_message_bytes_max + 1, 'x')), Sent::too_large);
  EXPECT_EQ(link.near.send(std::string(limits::helper_subject_bytes_max + 1, 'x'), ""), Sent::too_large);
  EXPECT_EQ(link.arrived().size(), 0U);
}

// Whoever waits for the job is told, as far as the subject can be read; what follows is read as if nothing had been.
TEST(Channel, AnUnreadableMessageIsToldWithItsSubject) {
  Link link;
  const Descriptor shorter(::memfd_create("shorter", MFD_CLOEXEC));
  ASSERT_EQ(::write(shorter.get(), "ab", 2), 2);
  struct Row {
    const char* what;
    std::string packet, subject;
    int file = -1;
  };
  const Row rows[] = {
      {"no head", "abc", ""},
      {"a subject that is cut", head(0, 10, 0) + "job", ""},
      {"a body that is cut", head(10, 3, 0) + "job" + "body", "job"},
      {"more than it says", head(2, 3, 0) + "job" + "body", "job"},
      {"larger than any message", head(0xffffffff, 3, 1) + "job", "job", shorter.get()},
      {"a packet that is too long", head(100'000, 3, 0) + "job" + std::string(100'000, 'x'), "job"},
      {"a file that is not there", head(100'000, 3, 1) + "job", "job"},
      {"a file that is shorter", head(100'000, 3, 1) + "job", "job", shorter.get()},
  };
  const std::size_t before = open_descriptors();
  for (const Row& row : rows) {
    link.send_raw(row.packet, row.file);
    ASSERT_EQ(link.near.send("next", "whole"), Sent::yes);
    const auto all = link.arrived();
    ASSERT_EQ(all.size(), 2U) << row.what;
    EXPECT_NE(all[0].problem, "") << row.what;
    EXPECT_EQ(all[0].subject, row.subject) << row.what;
    EXPECT_EQ(all[1].body, "whole") << row.what;
    EXPECT_EQ(all[1].problem, "") << row.what;
  }
  EXPECT_EQ(open_descriptors(), before);
}

// A process that hangs: nobody waits for it, and memory is bounded.
TEST(Channel, APeerThatTakesNothingKeepsNobodyWaiting) {
  Link link;
  const std::string body(limits::helper_packet_bytes_max, 'x');
  std::size_t sent = 0;
  const auto began = std::chrono::steady_clock::now();
  while (link.near.send(std::to_string(sent), body) == Sent::yes) ++sent;
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
  EXPECT_GE(sent, limits::helper_queue_max);
  EXPECT_EQ(link.near.send("one more", body), Sent::full);
  // It goes on: all that was taken arrives, in order.
  std::size_t got = 0;
  while (got < sent) {
    const auto all = link.arrived();
    ASSERT_FALSE(all.empty() && !link.near.has_queued()) << got << " of " << sent;
    for (const Message& one : all) EXPECT_EQ(one.subject, std::to_string(got++));
    link.near.flush();
  }
  EXPECT_FALSE(link.near.has_queued());
}

TEST(Channel, WhatWasQueuedForAnotherIsDropped) {
  Link link;
  while (!link.near.has_queued()) ASSERT_EQ(link.near.send("old", std::string(30'000, 'x')), Sent::yes);
  link.near.drop_queued();
  (void)link.arrived();
  EXPECT_EQ(link.near.send("new", ""), Sent::yes);
  const auto all = link.arrived();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].subject, "new");
}

TEST(Channel, AClosedEndIsNoticedOnBothWays) {
  Link link;
  ASSERT_EQ(link.near.send("last", "words"), Sent::yes);
  link.near.close();
  EXPECT_EQ(link.arrived().size(), 1U) << "what was sent before is still there";
  EXPECT_FALSE(link.far.receive());
  EXPECT_EQ(link.far.send("job", "x"), Sent::closed);
}

TEST(Channel, WaitingEndsWithWhatIsWaitedFor) {
  Link link;
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    (void)link.near.send("job", "x");
  });
  const auto began = std::chrono::steady_clock::now();
  link.far.wait_to_receive(std::chrono::seconds(30));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
  later.join();
  EXPECT_EQ(link.arrived().size(), 1U);
}

}  // namespace
}  // namespace vg::helpers
