// The pods of KubeVirt's components, asked over HTTPS (spec server 3 and 8.5).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "ports/component_link.h"

namespace vg::node {

struct PodLinkOptions {
  std::uint16_t port = 8443;  // on which every component serves
  // As upstream: a component that works answers in less.
  std::chrono::milliseconds answer_deadline = std::chrono::seconds(5);
  // For a whole round. kube-apiserver gives up on a request after 60 s, and callers should hear what went wrong.
  std::chrono::milliseconds round_deadline = std::chrono::seconds(30);
  // Asked at once. There is a handler a node, so there may be thousands; each costs a TLS handshake.
  std::size_t at_once_max = 64;
  // Rounds under way at once. The questions change what the components do, so more than one is a mistake already.
  int rounds_max = 2;
};

// Neither side shows who it is, as upstream has it: components have certificates of different authorities, or their own
// while they start. Nothing secret is asked for or sent, and the pods' addresses come from the API.
class PodLink final : public ComponentLink {
 public:
  explicit PodLink(PodLinkOptions options = {}) : options_(options) {}

  Task<Result<void>> ask_all(Core& core, std::span<const Component> components, ComponentQuestion question,
                             Take take) override;

 private:
  const PodLinkOptions options_;
  std::atomic<int> rounds_{0};
};

}  // namespace vg::node
