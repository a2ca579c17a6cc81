// One request and its answer, as a handler sees them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/stream.h"
#include "base/task.h"
#include "http/peer_certificate.h"

namespace vg::http {

struct HeaderField {
  std::string_view name;
  std::string_view value;
};

// The header fields of a request in the order of arrival.
class Headers {
 public:
  // The first field of that name, whatever its case.
  std::optional<std::string_view> find(std::string_view name) const;
  std::span<const HeaderField> fields() const { return fields_; }
  void clear() { fields_.clear(); }
  // Gives memory back that is for more than so many.
  void keep(std::size_t fields) {
    if (fields_.capacity() > fields) std::vector<HeaderField>().swap(fields_);
  }
  void add(std::string_view name, std::string_view value) { fields_.push_back({name, value}); }

 private:
  std::vector<HeaderField> fields_;
};

struct Peer {
  std::string address;  // without port
  std::uint16_t port = 0;
  std::optional<PeerCertificate> certificate;
};

// Views into the connection's buffer: valid until the handler returns.
struct Request {
  std::string_view method;
  std::string_view target;    // as it was sent
  std::string_view path;      // target up to '?', still percent-encoded
  std::string_view query;     // after '?'
  std::string_view protocol;  // "HTTP/1.1" or "HTTP/1.0"
  Headers headers;
  const Peer* peer = nullptr;
  std::string_view id;  // unique for this process; also sent back and logged
};

struct Response {
  int status = 200;
  std::string_view content_type = {};  // static text, or empty for none
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  // More header fields, as they are sent: each with its line end. Must live until the answer was taken.
  std::string_view prepared = {};
};

// Takes a body as it comes; nothing more is read until it is done with a part. An error is the answer to give, and no
// more is read.
using BodySink = std::function<Task<Result<void>>(std::string_view)>;

class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const Request& request() const = 0;
  virtual Core& core() = 0;
  // The whole body (length or chunked, after 100-continue where asked). Valid until the handler returns. An error is
  // the answer to give: 413 over the limit, 400 malformed, 408 too slow; the connection closes after it.
  virtual Task<Result<std::string_view>> read_body(std::size_t limit) = 0;
  // A body of any length, in parts: for what is stored and not understood. It may take as long as bytes keep coming, at
  // the pace of other bodies. Errors as of read_body.
  virtual Task<Result<void>> stream_body(BodySink take) {
    (void)take;
    co_return fail(Status::internal_error("a body cannot be taken in parts here"));
  }
  // Whether it has come already, or there is none, so that read_body does not wait for the client.
  virtual bool has_whole_body() const { return false; }
  // The complete answer. Exactly one of respond, begin_stream and upgrade is used by a handler.
  virtual void respond(Response response) = 0;
  // An answer that goes on: chunked. write() suspends while the client does not read; false means the client is gone.
  virtual Task<bool> begin_stream(Response head) = 0;
  virtual Task<bool> write(std::string_view chunk) = 0;
  // Answers 101 with these headers and hands over the connection, with every byte read ahead.
  virtual Task<Result<std::unique_ptr<Stream>>> upgrade(Response head) = 0;
  // True once the client has gone away or the server drains: long-running handlers end soon after.
  virtual bool cancelled() const = 0;
  // The request is this user's: from now on its memory counts as theirs, and its connection as that of somebody known.
  virtual void charge_to(std::string_view user) { (void)user; }
  // Calls fn once, on this core, when cancelled() becomes true (now, if it is already); for handlers that wait for
  // something else than the client. Nothing is called after the handler has returned. One at a time: the last one
  // counts, and an empty one takes it back.
  virtual void on_cancel(std::move_only_function<void()> fn) { (void)fn; }
};

class Handler {
 public:
  virtual ~Handler() = default;
  // Runs on the connection's core. A handler that returns without an answer is a bug and is answered with 500.
  virtual Task<void> handle(Exchange& exchange) = 0;
};

}  // namespace vg::http
