// What libvirt tells of a host, read from its documents.
#pragma once

#include <libvirt/libvirt.h>

#include <string>
#include <string_view>

#include "base/status.h"
#include "hypervisor/hypervisor.h"

namespace vg::hypervisor {

// Pure: each adds what its document tells.
void read_capabilities(std::string_view document, HostFacts& facts);         // machine types of this architecture
void read_domain_capabilities(std::string_view document, HostFacts& facts);  // CPU models, host model, vendor
void read_baseline(std::string_view document, HostFacts& facts);             // CPU features

// Empty when /dev/kvm can be used, else why not.
std::string why_no_kvm();
// Blocks; the first time for seconds, because libvirt asks every QEMU what it can do.
Result<HostFacts> host_facts(virConnectPtr connection);

}  // namespace vg::hypervisor
