// The world of a node's pass: it sees one VMI and nothing else.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/world.h"

namespace vg::handler {

class NoWorld final : public controllers::World {
 public:
  using Objects = std::vector<const json::Object*>;
  using Names = std::vector<std::string>;

  const json::Object* get(std::string_view, std::string_view, std::string_view) const override { return nullptr; }
  Objects list(std::string_view, std::string_view) const override { return {}; }
  Objects labelled(std::string_view, std::string_view, std::string_view, std::string_view) const override { return {}; }
  Objects owned_by(std::string_view, std::string_view, std::string_view) const override { return {}; }
  std::uint64_t creation_order(std::string_view, std::string_view, std::string_view) const override { return 0; }
  Names vmis_with_claim(std::string_view, std::string_view) const override { return {}; }
  Names vms_with_claim(std::string_view, std::string_view) const override { return {}; }
  Names referring(std::string_view, std::string_view, std::string_view) const override { return {}; }
  const controllers::Nodes& nodes() const override { return nodes_; }
  const controllers::Migrations& migrations() const override { return migrations_; }
  const DiskView& disks() const override { return disks_; }

 private:
  controllers::Nodes nodes_;
  controllers::Migrations migrations_;
  NoDisks disks_;
};

}  // namespace vg::handler
