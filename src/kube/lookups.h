// What rules look up, in a cluster: small sets that every review may need come from copies that follow the API server,
// everything else is read live, as upstream does.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "admission/lookup_session.h"
#include "base/limits.h"
#include "kube/client.h"
#include "kube/reflector.h"

namespace vg::kube {

class KubeLookups final : public admission::LookupSource {
 public:
  // By the name of the resource as rules have it: "kubevirt.io/virtualmachineinstancepresets".
  using Copies = std::map<std::string, const Reflector*, std::less<>>;

  // For everything that is looked up for one request, however often it has to be asked again. kube-apiserver waits 10 s
  // for our webhooks; whoever gets an answer before knows more than that it was late.
  static constexpr std::chrono::milliseconds usual_time = limits::lookup_deadline;

  // Client and copies outlive this.
  KubeLookups(Client& client, Copies copies, std::chrono::milliseconds time = usual_time)
      : client_(client), copies_(std::move(copies)), time_(time) {}
  std::unique_ptr<admission::LookupSession> open(std::string_view asker) const override;

 private:
  Client& client_;
  const Copies copies_;
  const std::chrono::milliseconds time_;
};

}  // namespace vg::kube
