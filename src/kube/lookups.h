// What rules look up, in a cluster: small sets that every review may need come from copies that follow the API server,
// everything else is read live, as upstream does.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "admission/lookup_session.h"
#include "kube/client.h"
#include "kube/reflector.h"

namespace vg::kube {

class KubeLookups final : public admission::LookupSource {
 public:
  // By the name of the resource as rules have it: "kubevirt.io/virtualmachineinstancepresets".
  using Copies = std::map<std::string, const Reflector*, std::less<>>;

  // Client and copies outlive this.
  KubeLookups(Client& client, Copies copies) : client_(client), copies_(std::move(copies)) {}
  std::unique_ptr<admission::LookupSession> open(std::string_view asker) const override;

 private:
  Client& client_;
  const Copies copies_;
};

}  // namespace vg::kube
