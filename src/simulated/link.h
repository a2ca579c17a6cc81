// The handlers of simulated nodes, behind the port through which actions reach nodes. Other nodes are asked as before.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include "engine/carry_out.h"
#include "objects/object_request.h"
#include "ports/node_link.h"

namespace vg::simulated {

class SimulatedLink final : public NodeLink {
 public:
  // Both outlive this; this outlives the cores' use.
  SimulatedLink(resources::Backend& backend, NodeLink& others);
  ~SimulatedLink() override;

  Task<Result<NodeAddress>> find(Core& core, std::string_view node) override;
  Task<Result<NodeAnswer>> call(Core& core, const NodeAddress& address, NodeRequest request) override;
  // The addresses of their guests are made up: somebody else may have them.
  bool has_guest_ports(std::string_view node) const override { return is_simulated(node); }
  Task<Result<NodeStream>> open(Core& core, const NodeAddress& address, std::string_view target) override;

 private:
  struct Writer;
  Writer& writer(Core& core);
  bool is_simulated(std::string_view node) const;

  resources::Backend& backend_;
  NodeLink& others_;
  std::mutex mutex_;
  std::map<Core*, std::unique_ptr<Writer>> writers_;  // one a core
};

}  // namespace vg::simulated
