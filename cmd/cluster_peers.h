// The other replicas of this server in a cluster, asked for what their journals have. They are found by their pods, and
// asked as kube-apiserver asks, in the name of the same user, over mutual TLS with the certificates of KubeVirt's
// components, and with a token of virt-api's own account, which no other component has (replica_proof.h). A replica
// that is asked so answers for itself and asks nobody.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/task.h"
#include "http/client.h"
#include "http/tls.h"
#include "journal/service.h"
#include "ports/authorizer.h"
#include "ports/object_api.h"
#include "replica_proof.h"
#include "server/router.h"

namespace vg::cmd {

// The name of the authority whose certificates other replicas show (http::ClientAuthority).
inline constexpr std::string_view replica_authority = "replica";
// Of the certificate that virt-api shows to others of KubeVirt.
inline constexpr std::string_view replica_common_name = "kubevirt.io:system:client:virt-handler";

// What a request of another replica is: for whom it asks, and who it is itself. What proves it has yet to be checked.
struct ReplicaQuestion {
  User user;  // of groups that begin with "system:" only those that follow from its name
  std::string asked_by;
  std::string authorization;
};
// Nothing: it is none. A request that says so without the certificate, or shows it and asks for nobody, is refused.
Result<std::optional<ReplicaQuestion>> read_replica_question(const http::Request& request);

class ClusterPeers final : public journal::Others {
 public:
  struct Parts {
    ObjectApi& objects;
    const Clock& clock;
    std::string ns;                                    // of the pods
    std::uint16_t port = 0;                            // on which every replica listens
    std::string own_name;                              // of this pod
    std::string certificate_file, key_file;            // ours; looked at before each handshake
    std::function<Result<std::string>()> authorities;  // of the other's serving certificate, as PEM
    bool externally_managed = false;                   // certificates of others: the name in them says nothing
    ReplicaProof& proof;
  };
  // The parts outlive this; this outlives the cores' use.
  explicit ClusterPeers(Parts parts);

  // Tells replicas apart, also from themselves.
  const std::string& id() const { return id_; }
  ReplicaProof& proof() const { return parts_.proof; }

  Task<journal::OfOthers> list(server::Call& call, const User& user, std::uint64_t after,
                               const json::StoragePtr& storage) override;
  Task<std::optional<http::Response>> get(server::Call& call, const User& user) override;
  std::shared_ptr<void> begin_watch() override;

 private:
  struct Peer {
    std::string name, address;
  };
  struct Known {
    std::vector<Peer> peers;
    Clock::Steady at = {};
  };
  Task<Result<std::vector<Peer>>> find(Core& core);
  Result<std::shared_ptr<const http::TlsClientContext>> tls() const;
  Result<std::string> authorization() const;
  Task<Result<http::Answer>> ask(http::Client& client, const Peer& peer, const server::Call& call, const User& user,
                                 std::string_view target) const;
  http::ClientOptions client_options() const;

  const Parts parts_;
  const std::string id_;
  std::atomic<int> rounds_{0};
  std::shared_ptr<std::atomic<int>> watches_ = std::make_shared<std::atomic<int>>(0);
  std::mutex mutex_;
  std::optional<Known> known_;
};

}  // namespace vg::cmd
