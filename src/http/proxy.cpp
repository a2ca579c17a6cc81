#include "http/proxy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "base/base64.h"
#include "base/net.h"
#include "http/response_parser.h"
#include "http/tcp_dial.h"
#include "http/tls_channel.h"

namespace vg::http {
namespace {

// The socket while we talk to the proxy on it.
class Talk final : public ChannelStream {
 public:
  Talk(Socket socket, const Proxy& proxy, std::string target)
      : ChannelStream(Channel(std::move(socket))), proxy_(proxy), target_(std::move(target)) {}
  const Proxy& proxy() const { return proxy_; }
  const std::string& target() const { return target_; }
  Socket take_socket() { return std::move(channel_.socket()); }

  Status broke(IoError error) const {
    if (error == IoError::timed_out)
      return Status::timeout(fmt::format("the proxy {} did not connect to {} in time", proxy_.shown(), target_));
    return refused(to_string(error));
  }
  Status refused(std::string_view why) const {
    return Status::unavailable(fmt::format("the proxy {} cannot connect to {}: {}", proxy_.shown(), target_, why));
  }

  Task<Result<void>> say(std::string bytes) {
    const IoResult sent = co_await write_all(bytes);
    if (!sent) co_return fail(broke(sent.error));
    co_return Result<void>();
  }
  // Exactly so many bytes: what comes behind them is the server's.
  Task<Result<std::string>> hear(std::size_t count) {
    std::string bytes(count, '\0');
    for (std::size_t have = 0; have < count;) {
      const IoResult got = co_await read_some(std::span(bytes).subspan(have));
      if (!got) co_return fail(broke(got.error));
      have += got.bytes;
    }
    co_return bytes;
  }

 private:
  const Proxy& proxy_;
  const std::string target_;
};

// --- HTTP -----------------------------------------------------------------------------------------------------------

Result<void> judge(const Talk& talk, const ResponseHead& head, std::string_view behind) {
  if (head.status == 407)
    return fail(talk.refused(talk.proxy().login ? "it does not accept the credentials in its URL (407)"
                                                : "it requires credentials (407); add them to its URL"));
  if (head.status < 200 || head.status > 299)
    return fail(talk.refused(fmt::format("it answered {} {}", head.status, head.reason)));
  if (!behind.empty()) return fail(talk.refused("it sent unexpected bytes"));
  return {};
}

Task<Result<void>> hear_answer(Talk& talk) {
  ResponseParser parser(true);  // behind the head of a success is no body but the server
  std::array<char, 2048> bytes{};
  for (;;) {
    const IoResult got = co_await talk.read_some(bytes);
    if (!got) co_return fail(talk.broke(got.error));
    std::string_view input(bytes.data(), got.bytes);
    const ResponseParser::Advance step = parser.next(input);
    input.remove_prefix(step.consumed);
    if (step.progress == ResponseParser::Progress::failed) co_return fail(talk.refused(parser.error()));
    if (step.progress != ResponseParser::Progress::more) co_return judge(talk, parser.head(), input);
  }
}

Task<Result<void>> connect_http(Talk& talk) {
  std::string head = fmt::format("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n", talk.target());
  if (const std::string proof = talk.proxy().authorization(); !proof.empty())
    head += fmt::format("Proxy-Authorization: {}\r\n", proof);
  head += "\r\n";
  if (auto said = co_await talk.say(std::move(head)); !said) co_return said;
  co_return co_await hear_answer(talk);
}

// --- SOCKS5 ---------------------------------------------------------------------------------------------------------

constexpr char socks_version = 5, login_version = 1, no_proof = 0, by_login = 2;
constexpr std::size_t text_bytes_max = 255;

std::string counted(std::string_view text) { return static_cast<char>(text.size()) + std::string(text); }

std::string_view meaning(unsigned char reply) {
  constexpr std::string_view meanings[] = {"it accepted the request",
                                           "it failed",
                                           "its rules do not allow it",
                                           "the network cannot be reached",
                                           "the host cannot be reached",
                                           "the connection was refused",
                                           "the connection took too long",
                                           "it does not support the command",
                                           "it does not support this address type"};
  return reply < std::size(meanings) ? meanings[reply] : "it failed for an unknown reason";
}

// Kind and value of an address; a name is left to the proxy.
std::string socks_address(const std::string& host) {
  constexpr char v4 = 1, name = 3, v6 = 4;
  const auto ip = parse_ip(host);
  if (!ip) return name + counted(host);
  const auto bytes = std::span(ip->bytes()).subspan(ip->is_v4() ? 12 : 0);
  return std::string(1, ip->is_v4() ? v4 : v6) + std::string(bytes.begin(), bytes.end());
}

Task<Result<void>> log_in(Talk& talk) {
  const auto& login = talk.proxy().login;
  const std::string methods = login ? std::string{no_proof, by_login} : std::string{no_proof};
  if (auto said = co_await talk.say(socks_version + counted(methods)); !said) co_return said;
  const auto chosen = co_await talk.hear(2);
  if (!chosen) co_return fail(chosen.error());
  if ((*chosen)[0] != socks_version) co_return fail(talk.refused("it does not speak SOCKS5"));
  if ((*chosen)[1] == no_proof) co_return Result<void>();
  if (!login || (*chosen)[1] != by_login)
    co_return fail(talk.refused(login ? "it does not support our authentication methods" : "it requires credentials"));
  const std::string proof = login_version + counted(login->user) + counted(login->password);
  if (auto said = co_await talk.say(proof); !said) co_return said;
  const auto taken = co_await talk.hear(2);
  if (!taken) co_return fail(taken.error());
  if ((*taken)[1] != 0) co_return fail(talk.refused("it does not accept the credentials in its URL"));
  co_return Result<void>();
}

// The address that the proxy uses on its other side, which says nothing to us.
Task<Result<void>> skip_address(Talk& talk, char kind) {
  constexpr char v4 = 1, name = 3;
  std::size_t bytes = kind == v4 ? 4 : 16;
  if (kind == name) {
    const auto size = co_await talk.hear(1);
    if (!size) co_return fail(size.error());
    bytes = static_cast<unsigned char>((*size)[0]);
  }
  const auto skipped = co_await talk.hear(bytes + 2);
  if (!skipped) co_return fail(skipped.error());
  co_return Result<void>();
}

Task<Result<void>> connect_socks(Talk& talk, const std::string& host, std::uint16_t port) {
  const auto& login = talk.proxy().login;
  if (host.size() > text_bytes_max || (login && std::max(login->user.size(), login->password.size()) > text_bytes_max))
    co_return fail(talk.refused("a host name is too long for SOCKS5"));
  if (auto in = co_await log_in(talk); !in) co_return in;
  constexpr char connect = 1, reserved = 0;
  const std::string wish = std::string{socks_version, connect, reserved} + socks_address(host) +
                           std::string{static_cast<char>(port >> 8), static_cast<char>(port & 0xff)};
  if (auto said = co_await talk.say(wish); !said) co_return said;
  const auto reply = co_await talk.hear(4);
  if (!reply) co_return fail(reply.error());
  if ((*reply)[1] != 0) co_return fail(talk.refused(meaning(static_cast<unsigned char>((*reply)[1]))));
  co_return co_await skip_address(talk, (*reply)[3]);
}

}  // namespace

std::string authority(std::string_view host, std::uint16_t port) {
  return host.contains(':') ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::string Proxy::shown() const {
  return fmt::format("{}://{}", kind == Kind::http ? "http" : "socks5", authority(host, port));
}

std::string Proxy::authorization() const {
  return login ? "Basic " + base64_encode(fmt::format("{}:{}", login->user, login->password)) : std::string();
}

namespace detail {

Task<Result<Socket>> dial(Core& core, const std::string& host, std::uint16_t port, const Proxy* proxy,
                          Stream::Clock::time_point deadline) {
  if (!proxy) co_return co_await dial_socket(core, host, port, deadline);
  if (!std::ranges::all_of(host, [](char c) { return c > ' ' && c != '\x7f'; }))
    co_return fail(Status::internal_error("the name of a server behind a proxy is malformed"));
  auto socket = co_await dial_socket(core, proxy->host, proxy->port, deadline);
  if (!socket)
    co_return fail(Status{.code = socket.error().code,
                          .reason = socket.error().reason,
                          .message = "the proxy cannot be reached: " + socket.error().message,
                          .details = {}});
  Talk talk(std::move(*socket), *proxy, authority(host, port));
  talk.set_deadline(deadline);
  auto open = proxy->kind == Proxy::Kind::http ? co_await connect_http(talk) : co_await connect_socks(talk, host, port);
  if (!open) co_return fail(std::move(open.error()));
  talk.set_deadline(Stream::Clock::time_point::max());
  co_return talk.take_socket();
}

}  // namespace detail
}  // namespace vg::http
