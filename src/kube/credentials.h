// The proof of who we are, as it is at the moment: files are looked at again, because tokens, certificates and
// authorities rotate while we run.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "http/tls.h"
#include "kube/cluster_access.h"

namespace vg::kube {

class Credentials {
 public:
  // The clock outlives this.
  Credentials(ClusterAccess access, const Clock& clock) : access_(std::move(access)), clock_(clock) {}

  const http::Origin& origin() const { return access_.origin; }
  const std::string& path_prefix() const { return access_.path_prefix; }
  const http::ProxyPtr& proxy() const { return access_.proxy; }

  // All of the following may be called from any thread.

  // For the next handshake. Files that are missing or broken for a moment change nothing.
  Result<std::shared_ptr<const http::TlsClientContext>> tls();
  // The value of the header field Authorization; empty when a certificate is all there is.
  Result<std::string> authorization();
  // The server did not take the token: the file is read again before the next request.
  void doubt();

 private:
  struct Made {
    std::string authorities, certificate, key;
    bool operator==(const Made&) const = default;
  };

  Result<Made> read_files() const;
  Result<std::shared_ptr<const http::TlsClientContext>> make_context(const Made& made) const;
  Result<std::shared_ptr<const http::TlsClientContext>> one_before(const Status& why);

  const ClusterAccess access_;
  const Clock& clock_;
  std::mutex mutex_;
  Made made_;
  std::shared_ptr<const http::TlsClientContext> context_;
  std::string complaint_;  // what was said of the files last
  std::string token_;
  Clock::Steady read_at_{};
  bool token_read_ = false;
};

}  // namespace vg::kube
