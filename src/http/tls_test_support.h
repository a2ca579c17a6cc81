// For tests: certificates made on the spot, and a blocking client that shows every byte.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/core.h"
#include "base/task.h"
#include "http/tls_certificate.h"

namespace vg::http::test {

// The clients here are blocking OpenSSL on a plain socket: one that says goodbye to a server which has cut it off would
// end the test program with a signal, where the program itself ignores it too.
inline const auto ignores_broken_pipes = ::signal(SIGPIPE, SIG_IGN);

struct KeyPair {
  std::string certificate = {};
  std::string key = {};
};

struct Wanted {
  std::string common_name = "localhost";
  std::vector<std::string> organizations = {};
  bool authority = false;
  const char* usage = nullptr;  // for instance "clientAuth"
  const char* hosts = "DNS:localhost,IP:127.0.0.1";
  int from_seconds = -3600;
  int until_seconds = 3600;
};

inline std::string pem_of(X509* certificate) {
  const BioPtr out(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(out.get(), certificate);
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

// Signed by the issuer, or by itself.
inline KeyPair make_certificate(const Wanted& wanted, const KeyPair* issuer = nullptr) {
  static std::atomic<long> serial{1};
  const KeyPtr key(EVP_EC_gen("P-256"));
  const X509Ptr certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), wanted.from_seconds);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), wanted.until_seconds);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  const auto add = [&](const char* field, const std::string& value) {
    X509_NAME_add_entry_by_txt(subject, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(value.data()),
                               static_cast<int>(value.size()), -1, 0);
  };
  for (const std::string& name : wanted.organizations) add("O", name);
  add("CN", wanted.common_name);

  X509Ptr issuer_certificate;
  KeyPtr issuer_key;
  if (issuer) {
    issuer_certificate = std::move(parse_certificates(issuer->certificate, "issuer")->front());
    issuer_key = std::move(*parse_key(issuer->key));
  }
  X509* signer = issuer ? issuer_certificate.get() : certificate.get();
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(signer));
  const auto extend = [&](int nid, const char* value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, signer, certificate.get(), nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value);
    X509_add_ext(certificate.get(), extension, -1);
    X509_EXTENSION_free(extension);
  };
  if (wanted.authority) {
    extend(NID_basic_constraints, "critical,CA:TRUE");
    extend(NID_key_usage, "critical,keyCertSign,cRLSign");
  } else {
    extend(NID_subject_alt_name, wanted.hosts);
  }
  if (wanted.usage) extend(NID_ext_key_usage, wanted.usage);
  X509_sign(certificate.get(), issuer ? issuer_key.get() : key.get(), EVP_sha256());

  const BioPtr out(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return {pem_of(certificate.get()), std::string(data, static_cast<std::size_t>(size))};
}

// Runs a task on a core and gives back its result; an exception of the task arrives here.
template <class T>
T run_on(Core& core, Task<T> task) {
  std::promise<T> promise;
  auto future = promise.get_future();
  core.post([&] {
    spawn([](Task<T> inner, std::promise<T>& result) -> Task<void> {
      try {
        if constexpr (std::is_void_v<T>) {
          co_await inner;
          result.set_value();
        } else {
          result.set_value(co_await inner);
        }
      } catch (...) {
        result.set_exception(std::current_exception());
      }
    }(std::move(task), promise));
  });
  return future.get();
}

// A blocking connection, with or without TLS. Nothing it waits for may take longer than its patience.
class TestClient {
 public:
  struct Options {
    bool tls = true;
    const KeyPair* certificate = nullptr;
    SSL_SESSION* session = nullptr;
    int max_version = 0;
    std::string alpn = {};
    int receive_buffer = 0;
  };
  static constexpr int patience_ms = 20000;

  explicit TestClient(std::uint16_t port) : TestClient(port, Options()) {}
  TestClient(std::uint16_t port, const Options& options) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (options.receive_buffer) {
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &options.receive_buffer, sizeof options.receive_buffer);
    }
    const timeval patience{.tv_sec = patience_ms / 1000, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    if (!connected_ || !options.tls) return;
    context_.reset(SSL_CTX_new(TLS_client_method()));
    if (options.max_version) SSL_CTX_set_max_proto_version(context_.get(), options.max_version);
    if (options.certificate) {
      auto chain = parse_certificates(options.certificate->certificate, "client");
      SSL_CTX_use_certificate(context_.get(), chain->front().get());
      for (std::size_t i = 1; i < chain->size(); ++i) SSL_CTX_add1_chain_cert(context_.get(), (*chain)[i].get());
      SSL_CTX_use_PrivateKey(context_.get(), parse_key(options.certificate->key)->get());
    }
    if (!options.alpn.empty()) {
      const std::string wire = std::string(1, static_cast<char>(options.alpn.size())) + options.alpn;
      SSL_CTX_set_alpn_protos(context_.get(), reinterpret_cast<const unsigned char*>(wire.data()),
                              static_cast<unsigned>(wire.size()));
    }
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_fd(ssl_.get(), fd_);
    if (options.session) SSL_set_session(ssl_.get(), options.session);
    connected_ = SSL_connect(ssl_.get()) == 1;
    ERR_clear_error();
  }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;
  ~TestClient() { close(); }

  bool connected() const { return connected_; }
  SSL* ssl() { return ssl_.get(); }
  int fd() const { return fd_; }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      std::size_t put = 0;
      if (ssl_) {
        if (SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &put) != 1) {
          ERR_clear_error();
          return false;
        }
      } else {
        const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return false;
        put = static_cast<std::size_t>(sent);
      }
      bytes.remove_prefix(put);
    }
    return true;
  }

  // Whatever comes next; empty at the end or when the connection broke (see broken()).
  std::string receive(std::size_t at_most = 65536) {
    std::string bytes(at_most, '\0');
    std::size_t got = 0;
    if (ssl_) {
      const int result = SSL_read_ex(ssl_.get(), bytes.data(), bytes.size(), &got);
      if (result != 1 && SSL_get_error(ssl_.get(), result) != SSL_ERROR_ZERO_RETURN) broken_ = true;
      ERR_clear_error();
    } else {
      const ssize_t count = ::recv(fd_, bytes.data(), bytes.size(), 0);
      if (count < 0) broken_ = true;
      if (count > 0) got = static_cast<std::size_t>(count);
    }
    bytes.resize(got);
    return bytes;
  }
  std::string receive_all() {
    std::string all = std::move(buffered_);
    for (std::string part = receive(); !part.empty(); part = receive()) all += part;
    return all;
  }
  bool broken() const { return broken_; }

  struct Answer {
    int status = 0;  // 0: none came
    std::string head;
    std::string body;
    std::string header(std::string_view name) const {
      const std::string wanted = "\r\n" + std::string(name) + ": ";
      const auto at = head.find(wanted);
      if (at == std::string::npos) return {};
      const auto from = at + wanted.size();
      return head.substr(from, head.find("\r\n", from) - from);
    }
  };
  // One answer, by its length, its chunks or the end of the connection.
  Answer answer(bool to_head = false) {
    Answer result;
    std::size_t end = 0;
    while ((end = buffered_.find("\r\n\r\n")) == std::string::npos) {
      if (!more()) return result;
    }
    result.head = buffered_.substr(0, end + 2);
    buffered_.erase(0, end + 4);
    if (result.head.size() > 12) result.status = std::stoi(result.head.substr(9, 3));
    if (to_head || result.status / 100 == 1 || result.status == 204 || result.status == 304) return result;
    if (const std::string length = result.header("Content-Length"); !length.empty()) {
      const std::size_t size = std::stoul(length);
      while (buffered_.size() < size && more()) {
      }
      result.body = buffered_.substr(0, size);
      buffered_.erase(0, size);
    } else if (result.header("Transfer-Encoding") == "chunked") {
      for (;;) {
        while ((end = buffered_.find("\r\n")) == std::string::npos && more()) {
        }
        if (end == std::string::npos) return {};
        const std::size_t size = std::stoul(buffered_, nullptr, 16);
        while (buffered_.size() < end + 2 + size + 2 && more()) {
        }
        if (buffered_.size() < end + 2 + size + 2) return {};
        result.body += buffered_.substr(end + 2, size);
        buffered_.erase(0, end + 2 + size + 2);
        if (size == 0) return result;
      }
    } else {
      result.body = receive_all();
    }
    return result;
  }
  Answer ask(std::string_view request) {
    send(request);
    return answer(request.starts_with("HEAD "));
  }
  // True when the server closed: no more bytes come.
  bool ended() { return buffered_.empty() && receive().empty(); }

  void shutdown_write() {
    if (ssl_) SSL_shutdown(ssl_.get());
    ::shutdown(fd_, SHUT_WR);
  }
  // With a reset instead of an orderly end.
  void abort() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    ::close(fd_);
    fd_ = -1;
  }
  void close() {
    if (fd_ < 0) return;
    if (ssl_ && connected_) SSL_shutdown(ssl_.get());
    ERR_clear_error();
    ::close(fd_);
    fd_ = -1;
  }

 private:
  bool more() {
    const std::string part = receive();
    buffered_ += part;
    return !part.empty();
  }
  struct SslFree {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  int fd_ = -1;
  SslContextPtr context_;
  std::unique_ptr<SSL, SslFree> ssl_;
  bool connected_ = false;
  bool broken_ = false;
  std::string buffered_;
};

}  // namespace vg::http::test
