// The domain of a VMI on this node: the conversion that everybody shares, with what a node has in place of a pod.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/status.h"
#include "config/cluster_config.h"
#include "domain/context.h"
#include "domain/prepare.h"
#include "guests/networks.h"
#include "json/value.h"

namespace vg::guests {

// What the host is like.
struct Host {
  bool kvm = false;
  std::string rom_folder = {};                               // firmware for EFI
  std::function<bool(const std::string&)> file_exists = {};  // empty: every file is there
  // Why guests cannot be attached to that bridge; empty: they can, as far as is known before it is tried.
  std::function<std::string(const std::string& bridge)> bridge_problem = {};
  domain::DiskProbes probes = {};
  domain::Probes more_probes = {};
};

struct Wanted {
  const json::Value& vmi;  // canonical
  const config::ClusterConfig& config;
  const Host& host;
  std::function<void(domain::DomainContext&)> put_paths;
  std::map<std::string, std::string, std::less<>> disk_formats;  // of container disks, by volume
  Bridges bridges = {};                                          // of secondary networks
};

struct Built {
  domain::Element document;
  std::uint32_t spare_ports = 0;
  std::string hotplug_folder = {};  // where hotplugged volumes are; without a slash at the end
};
Result<Built> build(const Wanted& wanted);

// Of an interface that has none: locally administered, the same as long as the VMI lives (UNET-15).
std::string made_mac(std::string_view uid, std::string_view interface);
// Where the ports of a guest are reached (UNET-11): an address of this machine alone, for this VMI alone as far as a
// hash goes.
std::string loopback_address(std::string_view uid);

}  // namespace vg::guests
