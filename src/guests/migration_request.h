// What the hypervisor is asked for when a guest moves to another node of this machine (spec launch 5.1).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "guests/case.h"
#include "hypervisor/hypervisor.h"

namespace vg::guests {

// Where a node has its things, as far as documents name them.
struct NodePaths {
  std::string state, sockets;
};

// RUN-MIG-06: by target name, in the order of the document.
std::vector<std::string> copied_disks(const json::Object& vmi, const DomainFacts& facts);

// The document of the running domain with the paths of the other node in place of this one's (RUN-MIG-07).
std::string moved_document(std::string document, const NodePaths& from, const NodePaths& to);

// Flags and parameters; where it goes is the caller's to fill in.
hypervisor::MigrationRequest migration_request(const Case& one);

}  // namespace vg::guests
