#include "http/tls_channel.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/release.h"
#include "http/tls_certificate.h"

namespace vg::http {
namespace {

// OpenSSL's view of the socket. Its own socket BIO writes with write(2), which raises SIGPIPE when the peer is gone,
// and remembers a descriptor number that may belong to somebody else by the time it is used.
SocketState* socket_state(BIO* bio) { return static_cast<SocketState*>(BIO_get_data(bio)); }

int bio_read(BIO* bio, char* into, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t got = ::recv(socket_state(bio)->fd, into, static_cast<std::size_t>(size), 0);
  if (got == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  return static_cast<int>(got);
}

int bio_write(BIO* bio, const char* from, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t put = ::send(socket_state(bio)->fd, from, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (put < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(put);
}

long bio_control(BIO* bio, int command, long, void*) {
  switch (command) {
    case BIO_CTRL_FLUSH:
      return 1;
    case BIO_CTRL_EOF:
      return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
    default:
      return 0;
  }
}

BIO_METHOD* bio_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket on a core");
    BIO_meth_set_read(made, bio_read);
    BIO_meth_set_write(made, bio_write);
    BIO_meth_set_ctrl(made, bio_control);
    BIO_meth_set_create(made, [](BIO* bio) {
      BIO_set_init(bio, 1);
      return 1;
    });
    return made;
  }();
  return method;
}

SSL* make_ssl(ssl_ctx_st* context, SocketState* state) {
  SSL* ssl = SSL_new(context);
  BIO* bio = ssl ? BIO_new(bio_method()) : nullptr;
  if (!bio) {
    SSL_free(ssl);
    throw std::bad_alloc();
  }
  BIO_set_data(bio, state);
  SSL_set_bio(ssl, bio, bio);
  return ssl;
}

// OpenSSL's error queue belongs to the thread, and what somebody else left there would be taken for ours.
void forget_errors() {
  if (ERR_peek_error() != 0) ERR_clear_error();
}

}  // namespace

void Channel::Free::operator()(ssl_st* ssl) const { SSL_free(ssl); }

Channel::Channel(Socket socket, const TlsServerContext& context) : socket_(std::move(socket)) {
  ssl_.reset(make_ssl(context.native(), socket_.state()));
  SSL_set_accept_state(ssl_.get());
}

Channel::Channel(Socket socket, const TlsClientContext& context, const std::string& server_name)
    : socket_(std::move(socket)) {
  ssl_.reset(make_ssl(context.native(), socket_.state()));
  SSL_set_connect_state(ssl_.get());
  if (server_name.empty()) return;
  X509_VERIFY_PARAM* parameters = SSL_get0_param(ssl_.get());
  // Addresses are checked against the certificate's addresses and are not sent: the extension carries names only.
  if (X509_VERIFY_PARAM_set1_ip_asc(parameters, server_name.c_str()) == 1) {
    if (!context.verify_name()) X509_VERIFY_PARAM_set1_ip(parameters, nullptr, 0);
  } else {
    forget_errors();
    SSL_set_tlsext_host_name(ssl_.get(), server_name.c_str());
    if (context.verify_name()) {
      X509_VERIFY_PARAM_set_hostflags(parameters, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
      X509_VERIFY_PARAM_set1_host(parameters, server_name.c_str(), 0);
    }
  }
}

Attempt Channel::explain(int result) {
  Attempt attempt;
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      attempt.blocked = Direction::read;
      break;
    case SSL_ERROR_WANT_WRITE:
      attempt.blocked = Direction::write;
      break;
    case SSL_ERROR_ZERO_RETURN:
      attempt.error = IoError::end;
      break;
    case SSL_ERROR_SSL: {
      broken_ = true;
      const unsigned long code = ERR_peek_last_error();
      // A peer that closes TCP without a word to TLS; whoever needs to know whether that was the end counts bytes.
      attempt.error = ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING ? IoError::reset : IoError::tls;
      if (const char* reason = ERR_reason_error_string(code)) failure_ = reason;
      if (const long verdict = SSL_get_verify_result(ssl_.get()); verdict != X509_V_OK) {
        failure_ += std::string(": ") + X509_verify_cert_error_string(verdict);
      }
      break;
    }
    default:
      broken_ = true;
      attempt.error = IoError::reset;
  }
  forget_errors();
  return attempt;
}

Attempt Channel::try_handshake() {
  if (!socket_.is_open()) return {.error = IoError::closed};
  forget_errors();
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1) return {};
  return explain(result);
}

Attempt Channel::try_read(std::span<char> into) {
  if (!socket_.is_open()) return {.error = IoError::closed};
  if (ssl_) {
    if (broken_) return {.error = IoError::reset};
    forget_errors();
    std::size_t got = 0;
    const int result = SSL_read_ex(ssl_.get(), into.data(), into.size(), &got);
    if (result == 1) return {.bytes = got};
    return explain(result);
  }
  for (;;) {
    const ssize_t got = ::recv(socket_.fd(), into.data(), into.size(), 0);
    if (got > 0) return {.bytes = static_cast<std::size_t>(got)};
    if (got == 0) return {.error = into.empty() ? IoError::none : IoError::end};
    if (errno == EINTR) continue;
    if (errno == EAGAIN) return {.blocked = Direction::read};
    return {.error = IoError::reset};
  }
}

Attempt Channel::try_write(std::span<const char> bytes) {
  Attempt total;
  while (total.bytes < bytes.size()) {
    if (!socket_.is_open()) {
      total.error = IoError::closed;
      return total;
    }
    const auto rest = bytes.subspan(total.bytes);
    if (ssl_) {
      if (broken_) {
        total.error = IoError::reset;
        return total;
      }
      forget_errors();
      std::size_t put = 0;
      const int result = SSL_write_ex(ssl_.get(), rest.data(), rest.size(), &put);
      if (result == 1) {
        total.bytes += put;
        continue;
      }
      const Attempt why = explain(result);
      total.blocked = why.blocked;
      total.error = why.error;
      return total;
    }
    const ssize_t put = ::send(socket_.fd(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (put >= 0) {
      total.bytes += static_cast<std::size_t>(put);
    } else if (errno == EAGAIN) {
      total.blocked = Direction::write;
      return total;
    } else if (errno != EINTR) {
      total.error = IoError::reset;
      return total;
    }
  }
  return total;
}

void Channel::try_shutdown_write() {
  if (!socket_.is_open()) return;
  if (ssl_ && !broken_ && SSL_is_init_finished(ssl_.get())) {
    forget_errors();
    SSL_shutdown(ssl_.get());  // sends our close_notify; the answer to it is the reader's business
    forget_errors();
  }
  ::shutdown(socket_.fd(), SHUT_WR);
}

bool Channel::has_pending() const { return ssl_ && SSL_has_pending(ssl_.get()) == 1; }

bool Channel::resumed() const { return ssl_ && SSL_session_reused(ssl_.get()) == 1; }

std::optional<PeerCertificate> Channel::peer_certificate() const {
  if (!ssl_) return std::nullopt;
  X509* certificate = SSL_get0_peer_certificate(ssl_.get());
  const std::string* authority = verified_authority(ssl_.get());
  if (!certificate || !authority) return std::nullopt;
  return PeerCertificate{common_name(certificate), organizations(certificate), *authority, expiry(certificate)};
}

Task<IoResult> ChannelStream::read_some(std::span<char> into) {
  if (ahead_used_ < ahead_.size()) {
    const std::size_t count = std::min(into.size(), ahead_.size() - ahead_used_);
    ahead_.copy(into.data(), count, ahead_used_);
    ahead_used_ += count;
    if (ahead_used_ == ahead_.size()) {
      release(ahead_);
      ahead_used_ = 0;
    }
    co_return IoResult{.bytes = count};
  }
  for (;;) {
    const Attempt attempt = channel_.try_read(into);
    if (!attempt.blocked) co_return IoResult{attempt.bytes, attempt.error};
    const IoError waited = co_await channel_.socket().until(*attempt.blocked);
    if (waited != IoError::none) co_return IoResult{.error = waited};
  }
}

Task<IoResult> ChannelStream::write_all(std::span<const char> bytes) {
  std::size_t done = 0;
  for (;;) {
    const Attempt attempt = channel_.try_write(bytes.subspan(done));
    done += attempt.bytes;
    if (!attempt.blocked) co_return IoResult{done, attempt.error};
    const IoError waited = co_await channel_.socket().until(*attempt.blocked);
    if (waited != IoError::none) co_return IoResult{done, waited};
  }
}

Task<void> ChannelStream::shutdown_write() {
  channel_.try_shutdown_write();
  co_return;
}

Task<IoResult> handshake(Channel& channel) {
  for (;;) {
    const Attempt attempt = channel.try_handshake();
    if (!attempt.blocked) co_return IoResult{.error = attempt.error};
    const IoError waited = co_await channel.socket().until(*attempt.blocked);
    if (waited != IoError::none) co_return IoResult{.error = waited};
  }
}

}  // namespace vg::http
