#include "hypervisor/domain_stats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/hypervisor_limits.h"

namespace vg::hypervisor {
namespace {

constexpr std::uint64_t stats_unit_bytes = 1024;

class StatsTable {
 public:
  StatsTable(virTypedParameterPtr list, int count) : list_(list), count_(count) {}

  // Counters are of one type or the other by their name; what is absent or below zero counts as none.
  std::uint64_t number(const std::string& name) const {
    const virTypedParameter* found = virTypedParamsGet(list_, count_, name.c_str());
    if (!found) return 0;
    switch (found->type) {
      case VIR_TYPED_PARAM_ULLONG:
        return found->value.ul;
      case VIR_TYPED_PARAM_UINT:
        return found->value.ui;
      case VIR_TYPED_PARAM_LLONG:
        return found->value.l < 0 ? 0 : static_cast<std::uint64_t>(found->value.l);
      case VIR_TYPED_PARAM_INT:
        return found->value.i < 0 ? 0 : static_cast<std::uint64_t>(found->value.i);
      default:
        return 0;
    }
  }
  std::string text(const std::string& name) const {
    const char* value = nullptr;
    return virTypedParamsGetString(list_, count_, name.c_str(), &value) == 1 && value ? value : "";
  }
  bool has(const std::string& name) const { return virTypedParamsGet(list_, count_, name.c_str()) != nullptr; }
  std::uint64_t devices(const std::string& group) const {
    return std::min<std::uint64_t>(number(group + ".count"), limits::stats_devices_max);
  }

 private:
  virTypedParameterPtr list_;
  int count_;
};

struct StatsRecords {
  ~StatsRecords() { virDomainStatsRecordListFree(list); }
  virDomainStatsRecordPtr* list = nullptr;
};

// Numbers of vCPUs have holes where some are switched off.
std::uint64_t vcpu_time(const StatsTable& all) {
  std::uint64_t sum = 0;
  const auto most = std::min<std::uint64_t>(all.number("vcpu.maximum"), limits::stats_devices_max);
  for (std::uint64_t i = 0; i < most; ++i) sum += all.number(fmt::format("vcpu.{}.time", i));
  return sum;
}

}  // namespace

DomainStats read_stats(virTypedParameterPtr list, int count) {
  const StatsTable all(list, count);
  DomainStats stats{.cpu_time_ns = all.number("cpu.time"),
                    .vcpus = all.number("vcpu.current"),
                    .vcpu_time_ns = vcpu_time(all),
                    .memory_available_bytes = all.number("balloon.available") * stats_unit_bytes,
                    .memory_unused_bytes = all.number("balloon.unused") * stats_unit_bytes,
                    .memory_rss_bytes = all.number("balloon.rss") * stats_unit_bytes,
                    .memory_balloon_bytes = all.number("balloon.current") * stats_unit_bytes};
  for (std::uint64_t i = 0; i < all.devices("block"); ++i) {
    const std::string at = fmt::format("block.{}.", i);
    stats.disks.push_back({.target = all.text(at + "name"),
                           .read_bytes = all.number(at + "rd.bytes"),
                           .write_bytes = all.number(at + "wr.bytes"),
                           .read_requests = all.number(at + "rd.reqs"),
                           .write_requests = all.number(at + "wr.reqs")});
  }
  for (std::uint64_t i = 0; i < all.devices("net"); ++i) {
    const std::string at = fmt::format("net.{}.", i);
    // Nobody counts what a user-mode NIC sends: libvirt reads counters of the host's devices, and QEMU keeps none.
    if (!all.has(at + "rx.bytes")) continue;
    stats.nics.push_back({.target = all.text(at + "name"),
                          .receive_bytes = all.number(at + "rx.bytes"),
                          .transmit_bytes = all.number(at + "tx.bytes"),
                          .receive_packets = all.number(at + "rx.pkts"),
                          .transmit_packets = all.number(at + "tx.pkts")});
  }
  return stats;
}

Result<DomainStats> stats_of(virDomainPtr domain) {
  constexpr unsigned groups = VIR_DOMAIN_STATS_CPU_TOTAL | VIR_DOMAIN_STATS_BALLOON | VIR_DOMAIN_STATS_VCPU |
                              VIR_DOMAIN_STATS_INTERFACE | VIR_DOMAIN_STATS_BLOCK;
  std::array<virDomainPtr, 2> asked{domain, nullptr};
  StatsRecords records;
  const int count =
      virDomainListGetStats(asked.data(), groups, &records.list, VIR_CONNECT_GET_ALL_DOMAINS_STATS_NOWAIT);
  if (count < 0) return fail(libvirt_error());
  if (count == 0) return fail(Status::unavailable("libvirt has no statistics of the domain"));
  return read_stats(records.list[0]->params, records.list[0]->nparams);
}

}  // namespace vg::hypervisor
