// A cheap client for measuring `virtgate serve` from outside. One thread and a few lines a request, because the server
// and its load share a small machine and whatever the client takes, the server does not get.
//
//   rest_load create PORT TOKEN_FILE BODY_FILE CLIENTS COUNT FIRST
//       creates COUNT objects from BODY_FILE, where @@ stands for their numbers, which begin with FIRST
//   rest_load list PORT TOKEN_FILE PATH TIMES
//       asks for the same list again and again, with one client
//   rest_load watch PORT TOKEN_FILE COLLECTION NAME WATCHES RATE SECONDS
//       WATCHES watch COLLECTION while NAME0 to NAME3 in it are patched RATE times a second. Each patch carries the
//       time at which it was sent, so each event says how old it is on arrival.
//
// Prints one line of JSON. It trusts any certificate: it only ever talks to 127.0.0.1.
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void give_up(std::string_view why) {
  fmt::print(stderr, "rest_load: {}\n", why);
  std::exit(1);
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

std::string read_all(const char* path) {
  std::ifstream file(path);
  if (!file) give_up(fmt::format("cannot read {}", path));
  std::string text{std::istreambuf_iterator<char>(file), {}};
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc())
    give_up("a number was expected");
  return value;
}

struct Target {
  std::uint16_t port;
  std::string fields;  // Host and Authorization
};

Target target(const char* port, const char* token_file) {
  return {.port = static_cast<std::uint16_t>(number(port)),
          .fields = fmt::format("Host: 127.0.0.1\r\nAuthorization: Bearer {}\r\n", read_all(token_file))};
}

class Link {
 public:
  explicit Link(std::uint16_t port) {
    static SSL_CTX* const context = make_context();
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) give_up("cannot connect");
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ssl_ = SSL_new(context);
    SSL_set_fd(ssl_, fd_);
    SSL_set_connect_state(ssl_);
    if (SSL_do_handshake(ssl_) != 1) give_up("no TLS handshake");
  }
  ~Link() {
    SSL_free(ssl_);
    ::close(fd_);
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  int fd() const { return fd_; }
  // Requests are far smaller than a socket's buffer, so writing blocks only when something is wrong.
  void write(std::string_view bytes) {
    if (SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())) <= 0) give_up("a write failed");
  }
  // From now on read() gives nothing when there is nothing, instead of waiting.
  void do_not_wait() { ::fcntl(fd_, F_SETFL, ::fcntl(fd_, F_GETFL) | O_NONBLOCK); }
  std::string_view read() {
    const int got = SSL_read(ssl_, buffer_.data(), static_cast<int>(buffer_.size()));
    if (got > 0) return {buffer_.data(), static_cast<std::size_t>(got)};
    if (SSL_get_error(ssl_, got) != SSL_ERROR_WANT_READ) give_up("the server closed a connection");
    return {};
  }

 private:
  static SSL_CTX* make_context() {
    SSL_CTX* context = SSL_CTX_new(TLS_client_method());
    // Many records with one call of the kernel, when many are there.
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, 65536);
    return context;
  }

  int fd_ = -1;
  SSL* ssl_ = nullptr;
  std::array<char, 16384> buffer_;
};

// Finds the end of an answer, which says its length or comes in chunks.
class AnswerReader {
 public:
  // True when the answer is complete.
  bool take(std::string_view bytes) {
    if (chunked_) return take_chunks(bytes);
    if (left_ < 0) {
      head_.append(bytes);
      const auto end = head_.find("\r\n\r\n");
      if (end == std::string::npos) return false;
      status_ = static_cast<int>(number(std::string_view(head_).substr(9, 3)));
      auto at = head_.find("ontent-Length: ");
      if (at == std::string::npos) at = head_.find("ontent-length: ");
      if (at == std::string::npos || at > end) {
        if (head_.find("chunked") > end) give_up("an answer without a length: " + head_.substr(0, end));
        chunked_ = true;
        length_ = 0;
        return take_chunks(std::string_view(head_).substr(end + 2));
      }
      length_ = number(std::string_view(head_).substr(at + 15, end - at - 15));
      left_ = length_ - static_cast<std::int64_t>(head_.size() - end - 4);
    } else {
      left_ -= static_cast<std::int64_t>(bytes.size());
    }
    return left_ == 0;
  }
  int status() const { return status_; }
  std::int64_t length() const { return length_; }
  std::string_view beginning() const { return head_; }
  void reset() {
    head_.clear();
    tail_.clear();
    chunked_ = false;
    left_ = -1;
  }

 private:
  // JSON has no such line ends of its own, so the empty chunk is known by them.
  bool take_chunks(std::string_view bytes) {
    static constexpr std::string_view last = "\r\n0\r\n\r\n";
    length_ += static_cast<std::int64_t>(bytes.size());
    tail_.append(bytes);
    if (tail_.size() > last.size()) tail_.erase(0, tail_.size() - last.size());
    return tail_ == last;
  }

  std::string tail_;
  bool chunked_ = false;
  std::string head_;
  std::int64_t left_ = -1, length_ = 0;
  int status_ = 0;
};

void ask(Link& link, AnswerReader& answer, std::string_view request, int expected) {
  answer.reset();
  link.write(request);
  while (!answer.take(link.read())) {
  }
  if (answer.status() != expected) give_up(answer.beginning());
}

double percentile_ms(std::vector<std::uint32_t>& times_us, double part) {
  if (times_us.empty()) return 0;
  const auto place = static_cast<std::ptrdiff_t>(part * static_cast<double>(times_us.size() - 1));
  std::ranges::nth_element(times_us, times_us.begin() + place);
  return times_us[static_cast<std::size_t>(place)] / 1000.0;
}

class Poll {
 public:
  void add(int fd, void* what) {
    epoll_event event{.events = EPOLLIN, .data = {.ptr = what}};
    ::epoll_ctl(fd_, EPOLL_CTL_ADD, fd, &event);
  }
  template <class Function>
  void wait(int timeout_ms, Function each) {
    std::array<epoll_event, 256> events;
    const int count = ::epoll_wait(fd_, events.data(), static_cast<int>(events.size()), timeout_ms);
    for (int i = 0; i < count; ++i) each(events[static_cast<std::size_t>(i)].data.ptr);
  }

 private:
  int fd_ = ::epoll_create1(EPOLL_CLOEXEC);
};

int create(const Target& server, const std::string& body, int clients, std::int64_t count, std::int64_t first) {
  struct Client {
    explicit Client(std::uint16_t port) : link(port) {}
    Link link;
    AnswerReader answer;
    std::int64_t began = 0;
  };
  const auto mark = body.find("@@");
  if (mark == std::string::npos) give_up("the body has no @@");
  const std::string_view before = std::string_view(body).substr(0, mark),
                         after = std::string_view(body).substr(mark + 2);
  std::vector<std::unique_ptr<Client>> all;
  Poll poll;
  for (int i = 0; i < clients; ++i) {
    all.push_back(std::make_unique<Client>(server.port));
    all.back()->link.do_not_wait();
    poll.add(all.back()->link.fd(), all.back().get());
  }
  std::int64_t next = first, done = 0;
  std::vector<std::uint32_t> times_us;
  times_us.reserve(static_cast<std::size_t>(count));
  std::string request;
  const auto send = [&](Client& client) {
    if (next == first + count) return;
    const std::string name = fmt::format("{:07}", next++);
    request.clear();
    fmt::format_to(std::back_inserter(request),
                   "POST /apis/kubevirt.io/v1/namespaces/default/virtualmachines HTTP/1.1\r\n{}Content-Type: "
                   "application/json\r\nContent-Length: {}\r\n\r\n{}{}{}",
                   server.fields, before.size() + name.size() + after.size(), before, name, after);
    client.answer.reset();
    client.began = now_ns();
    client.link.write(request);
  };
  const auto began = Clock::now();
  for (auto& client : all) send(*client);
  while (done < count) {
    poll.wait(1000, [&](void* what) {
      auto& client = *static_cast<Client*>(what);
      for (auto bytes = client.link.read(); !bytes.empty(); bytes = client.link.read()) {
        if (!client.answer.take(bytes)) continue;
        if (client.answer.status() != 201) give_up(client.answer.beginning());
        times_us.push_back(static_cast<std::uint32_t>((now_ns() - client.began) / 1000));
        ++done;
        send(client);
      }
    });
  }
  const double took_s = std::chrono::duration<double>(Clock::now() - began).count();
  fmt::print(R"({{"per_second":{:.0f},"p50_ms":{:.2f},"p99_ms":{:.2f}}})"
             "\n",
             static_cast<double>(count) / took_s, percentile_ms(times_us, 0.5), percentile_ms(times_us, 0.99));
  return 0;
}

int list(const Target& server, std::string_view path, int times) {
  Link link(server.port);
  AnswerReader answer;
  const std::string request = fmt::format("GET {} HTTP/1.1\r\n{}\r\n", path, server.fields);
  std::vector<std::uint32_t> times_us;
  for (int i = 0; i < times; ++i) {
    const auto began = now_ns();
    ask(link, answer, request, 200);
    times_us.push_back(static_cast<std::uint32_t>((now_ns() - began) / 1000));
  }
  fmt::print(R"({{"bytes":{},"best_ms":{:.1f},"p50_ms":{:.1f},"worst_ms":{:.1f}}})"
             "\n",
             answer.length(), percentile_ms(times_us, 0), percentile_ms(times_us, 0.5), percentile_ms(times_us, 1));
  return 0;
}

constexpr std::string_view stamp = R"("bench/sent":")";
constexpr std::size_t stamp_digits = 20;

// Counts the stamps in a stream that comes in pieces.
class StampReader {
 public:
  template <class Function>
  void take(std::string_view bytes, Function each) {
    if (!rest_.empty()) {  // a piece ended shortly before: look at the seam
      const auto seam = rest_.size();
      rest_.append(bytes.substr(0, stamp.size() + stamp_digits));
      const auto found = rest_.find(stamp);
      if (found != std::string::npos && found < seam && rest_.size() >= found + stamp.size() + stamp_digits) {
        each(number(std::string_view(rest_).substr(found + stamp.size(), stamp_digits)));
      }
      rest_.clear();
    }
    std::size_t at = 0;
    while (true) {
      const void* place = ::memmem(bytes.data() + at, bytes.size() - at, stamp.data(), stamp.size());
      if (!place) break;
      const auto found = static_cast<std::size_t>(static_cast<const char*>(place) - bytes.data());
      if (bytes.size() < found + stamp.size() + stamp_digits) {
        rest_ = bytes.substr(found);
        return;
      }
      each(number(bytes.substr(found + stamp.size(), stamp_digits)));
      at = found + stamp.size() + stamp_digits;
    }
    rest_ = bytes.substr(std::max(at, bytes.size() - std::min(bytes.size(), stamp.size() - 1)));
  }

 private:
  std::string rest_;
};

struct Patched {
  std::int64_t sent_ns, answered_ns;
};

std::uint32_t microseconds(std::int64_t from_ns, std::int64_t to_ns) {
  return static_cast<std::uint32_t>(std::max<std::int64_t>(0, to_ns - from_ns) / 1000);
}

// Patches one object at a steady rate. Each patch is due at its own time, whether or not the one before was slow.
void keep_patching(const Target& server, const std::string& path, int rate, int seconds, std::vector<Patched>& done) {
  Link link(server.port);
  AnswerReader answer;
  const auto began = Clock::now();
  for (int i = 0; i < rate * seconds; ++i) {
    std::this_thread::sleep_until(began + std::chrono::nanoseconds(1'000'000'000LL * i / rate));
    const auto at = now_ns();
    const std::string body = fmt::format(R"({{"metadata":{{"annotations":{{{}{:0{}}"}}}}}})", stamp, at, stamp_digits);
    ask(link, answer,
        fmt::format("PATCH {} HTTP/1.1\r\n{}Content-Type: application/merge-patch+json\r\nContent-Length: {}\r\n\r\n{}",
                    path, server.fields, body.size(), body),
        200);
    done.push_back({.sent_ns = at, .answered_ns = now_ns()});
  }
}

int watch(const Target& server, const std::string& collection, const std::string& name, int watches, int rate,
          int seconds) {
  struct Watcher {
    explicit Watcher(std::uint16_t port) : link(port) {}
    Link link;
    StampReader stamps;
  };
  constexpr int writers = 4;
  std::vector<std::unique_ptr<Watcher>> all;
  Poll poll;
  const std::string request = fmt::format(
      "GET {}?watch=1&resourceVersionMatch=NotOlderThan&sendInitialEvents=false "
      "HTTP/1.1\r\n{}\r\n",
      collection, server.fields);
  for (int i = 0; i < watches; ++i) {
    auto watcher = std::make_unique<Watcher>(server.port);
    watcher->link.write(request);
    if (!watcher->link.read().starts_with("HTTP/1.1 200")) give_up("a watch was refused");
    watcher->link.do_not_wait();
    poll.add(watcher->link.fd(), watcher.get());
    all.push_back(std::move(watcher));
  }
  std::atomic<int> running = writers;
  std::array<std::vector<Patched>, writers> patched;
  std::vector<std::jthread> threads;
  for (int i = 0; i < writers; ++i) {
    threads.emplace_back([&, i] {
      keep_patching(server, fmt::format("{}/{}{}", collection, name, i), rate / writers, seconds,
                    patched[static_cast<std::size_t>(i)]);
      --running;
    });
  }
  struct Delivery {
    std::int64_t sent_ns, arrived_ns;
  };
  std::vector<Delivery> deliveries;
  const std::size_t expected = static_cast<std::size_t>(watches) * writers * (rate / writers * seconds);
  deliveries.reserve(expected);
  auto last = Clock::now();
  while (running > 0 || deliveries.size() < expected) {
    poll.wait(100, [&](void* what) {
      auto& watcher = *static_cast<Watcher*>(what);
      for (auto bytes = watcher.link.read(); !bytes.empty(); bytes = watcher.link.read()) {
        const auto arrived = now_ns();
        watcher.stamps.take(bytes, [&](std::int64_t at) { deliveries.push_back({at, arrived}); });
      }
      last = Clock::now();
    });
    if (running == 0 && Clock::now() - last > std::chrono::seconds(5)) break;  // what is missing now does not come
  }
  threads.clear();
  std::unordered_map<std::int64_t, std::int64_t> answered;
  std::vector<std::uint32_t> patches_us, since_sent_us, since_answered_us;
  for (const auto& part : patched) {
    for (const auto& patch : part) {
      answered[patch.sent_ns] = patch.answered_ns;
      patches_us.push_back(microseconds(patch.sent_ns, patch.answered_ns));
    }
  }
  for (const auto& delivery : deliveries) {
    since_sent_us.push_back(microseconds(delivery.sent_ns, delivery.arrived_ns));
    since_answered_us.push_back(microseconds(answered[delivery.sent_ns], delivery.arrived_ns));
  }
  fmt::print(R"({{"delivered":{},"missing":{},"p50_ms":{:.2f},"p99_ms":{:.2f},"worst_ms":{:.2f},)", deliveries.size(),
             static_cast<std::int64_t>(expected) - static_cast<std::int64_t>(deliveries.size()),
             percentile_ms(since_sent_us, 0.5), percentile_ms(since_sent_us, 0.99), percentile_ms(since_sent_us, 1));
  fmt::print(
      R"("after_answer_p50_ms":{:.2f},"after_answer_p99_ms":{:.2f},"patch_p50_ms":{:.2f},"patch_p99_ms":{:.2f}}})",
      percentile_ms(since_answered_us, 0.5), percentile_ms(since_answered_us, 0.99), percentile_ms(patches_us, 0.5),
      percentile_ms(patches_us, 0.99));
  fmt::print("\n");
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view mode = count > 1 ? arguments[1] : "";
  const auto integer = [&](int at) { return static_cast<int>(number(arguments[at])); };
  if (mode == "create" && count == 8) {
    return create(target(arguments[2], arguments[3]), read_all(arguments[4]), integer(5), number(arguments[6]),
                  number(arguments[7]));
  }
  if (mode == "list" && count == 6) return list(target(arguments[2], arguments[3]), arguments[4], integer(5));
  if (mode == "watch" && count == 9) {
    return watch(target(arguments[2], arguments[3]), arguments[4], arguments[5], integer(6), integer(7), integer(8));
  }
  give_up("see the first lines of its source for how it is called");
}
