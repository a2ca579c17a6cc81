// What a placement takes from its node (spec vmi-lifecycle 5.3).
#include <algorithm>
#include <charconv>
#include <cmath>

#include "api/views/vmi.h"
#include "api/views/vmi_devices.h"
#include "api/views/vmi_domain.h"
#include "api/views/vmi_network.h"
#include "api/views/vmi_volumes.h"
#include "base/controller_limits.h"
#include "controllers/nodes.h"
#include "controllers/placement.h"
#include "json/access.h"

namespace vg::controllers {
namespace {

using api::View;
using api::kubevirt::CPU;
using api::kubevirt::DomainSpec;
using api::kubevirt::Interface;
using api::kubevirt::VirtualMachineInstance;
using api::kubevirt::VirtualMachineInstanceSpec;
using api::kubevirt::Volume;

constexpr std::int64_t mebi = std::int64_t{1} << 20;
constexpr std::int64_t default_cpu_allocation_ratio = 10;
constexpr std::int64_t default_memory_overcommit = 100;  // percent

constexpr std::string_view cpu = "cpu";
constexpr std::string_view memory = "memory";
constexpr std::string_view kvm_device = "devices.kubevirt.io/kvm";
constexpr std::string_view tun_device = "devices.kubevirt.io/tun";
constexpr std::string_view vhost_net_device = "devices.kubevirt.io/vhost-net";
constexpr std::string_view vhost_vsock_device = "devices.kubevirt.io/vhost-vsock";
constexpr std::string_view sev_device = "devices.kubevirt.io/sev";
constexpr std::string_view tdx_device = "devices.kubevirt.io/tdx";
constexpr std::string_view ephemeral_storage = "ephemeral-storage";
constexpr std::int64_t ephemeral_storage_overhead = 50'000'000;

struct Needs {
  Amounts requests, limits;
};

std::int64_t bytes_of(const api::QuantityView& amount) { return amount ? amount_of(memory, *amount.value()) : 0; }

Amounts amounts_of(const api::Map<api::QuantityView>& quantities) {
  Amounts amounts;
  for (const auto& [name, quantity] : quantities)
    if (quantity) amounts.emplace(name, amount_of(name, *quantity.value()));
  return amounts;
}

View developer(const config::ClusterConfig& config) {
  return View(json::find(config.configuration(), "developerConfiguration"));
}

std::int64_t setting(const config::ClusterConfig& config, std::string_view name, std::int64_t otherwise) {
  const auto value = json::as_int(developer(config).get(name));
  return value && *value > 0 ? *value : otherwise;
}

std::int64_t cpus_for_one(const config::ClusterConfig& config) {
  return setting(config, "cpuAllocationRatio", default_cpu_allocation_ratio);
}

bool is_dedicated(const DomainSpec& domain) { return domain.cpu().dedicated_cpu_placement(); }

// Whoever asks for exactly what is the limit wants it guaranteed; memory with a limit alone counts as asked for.
bool wants_guarantee(const DomainSpec& domain) {
  const Amounts requests = amounts_of(domain.resources().requests()), limits = amounts_of(domain.resources().limits());
  const std::int64_t memory_request = amount_in(requests, memory), memory_limit = amount_in(limits, memory);
  const std::int64_t cpu_request = amount_in(requests, cpu);
  return memory_limit != 0 && (memory_request == 0 || memory_request == memory_limit) && cpu_request != 0 &&
         cpu_request == amount_in(limits, cpu);
}

bool is_sev(const DomainSpec& domain) { return domain.launch_security().sev() || domain.launch_security().snp(); }

bool has_vfio(const DomainSpec& domain) {
  const auto devices = domain.devices();
  return !devices.host_devices().empty() || !devices.gpus().empty() ||
         std::ranges::any_of(devices.interfaces(), [](const Interface& one) { return bool(one.sriov()); });
}

std::int64_t probe_overhead(const VirtualMachineInstanceSpec& spec) {
  const std::int64_t probes =
      (spec.liveness_probe().has("exec") ? 1 : 0) + (spec.readiness_probe().has("exec") ? 1 : 0);
  return probes == 0 ? 0 : (100 + 10 * probes) * mebi;
}

std::int64_t guest_cpus(const DomainSpec& domain) {
  if (domain.cpu()) return std::max<std::int64_t>(vcpus_of(*domain.cpu().object()), 1);
  const auto whole = [](std::int64_t thousandths) { return (thousandths + 999) / 1000; };
  const Amounts limits = amounts_of(domain.resources().limits());
  if (limits.contains(cpu)) return std::max<std::int64_t>(whole(amount_in(limits, cpu)), 1);
  return std::max<std::int64_t>(whole(amount_in(amounts_of(domain.resources().requests()), cpu)), 1);
}

// Quantities of thousands are rounded up before they are divided or multiplied, as upstream does.
std::int64_t thousands(std::int64_t bytes) { return (bytes + 999) / 1000; }

std::int64_t times_ratio(std::int64_t overhead, const config::ClusterConfig& config) {
  const std::string_view text = json::get_string_or(config.configuration(), "additionalGuestMemoryOverheadRatio");
  double ratio = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), ratio);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size() || !std::isfinite(ratio))
    return overhead;
  const double more = static_cast<double>(thousands(overhead)) * (ratio - 1.0);
  const double bound = static_cast<double>(limits::placement_amount_max) / 1000.0;
  return overhead + static_cast<std::int64_t>(std::clamp(more, -bound, bound)) * 1000;
}

void ask(Needs& needs, std::string_view device) {
  for (Amounts* amounts : {&needs.requests, &needs.limits}) ++(*amounts)[std::string(device)];
}

void add_devices(Needs& needs, const DomainSpec& domain, const config::ClusterConfig& config) {
  const auto devices = domain.devices();
  const bool emulation = json::as_bool(developer(config).get("useEmulation")).value_or(false);
  const auto is_virtio = [](const Interface& one) { return one.model().empty() || one.model() == "virtio"; };
  if (!emulation) ask(needs, kvm_device);
  if (!devices.interfaces().empty() || devices.autoattach_pod_interface().value_or(true)) ask(needs, tun_device);
  if (!emulation && std::ranges::any_of(devices.interfaces(), is_virtio)) ask(needs, vhost_net_device);
  if (devices.autoattach_vsock().value_or(false)) ask(needs, vhost_vsock_device);
  if (is_sev(domain)) ask(needs, sev_device);
  if (domain.launch_security().tdx()) ask(needs, tdx_device);
  for (const auto& gpu : devices.gpus())
    if (!gpu.device_name().empty()) ask(needs, gpu.device_name());
  for (const auto& device : devices.host_devices())
    if (!device.device_name().empty()) ask(needs, device.device_name());
}

// The memory that is asked for before the overhead: what the user says, else what the guest gets.
void add_guest_memory(Needs& needs, const DomainSpec& domain, const config::ClusterConfig& config) {
  if (amount_in(needs.requests, memory) == 0 && amount_in(needs.limits, memory) != 0)
    needs.requests[std::string(memory)] = amount_in(needs.limits, memory);
  if (needs.requests.contains(memory)) return;
  std::int64_t guest = bytes_of(domain.memory().guest());
  if (!domain.memory().guest() && domain.memory().hugepages())
    guest = bytes_of(api::QuantityView(domain.memory().hugepages().get("pageSize")));
  if (guest > 0)
    needs.requests[std::string(memory)] = guest * 100 / setting(config, "memoryOvercommit", default_memory_overcommit);
}

// With huge pages the guest's memory is of that kind, and what is left is ordinary memory.
void add_huge_pages(Needs& needs, const DomainSpec& domain, std::int64_t overhead) {
  const std::string pages = "hugepages-" + std::string(domain.memory().hugepages().page_size());
  const std::int64_t request = amount_in(needs.requests, memory);
  const bool has_guest = bool(domain.memory().guest());
  const std::int64_t guest = bytes_of(domain.memory().guest());
  const std::int64_t huge = has_guest ? std::min(request, guest) : request;
  needs.requests[pages] = needs.limits[pages] = huge;
  const auto above_guest = [&](std::int64_t amount) {
    return has_guest ? std::max<std::int64_t>(amount - guest, 0) : 0;
  };
  needs.requests[std::string(memory)] = overhead + above_guest(request);
  if (needs.limits.contains(memory))
    needs.limits[std::string(memory)] = overhead + above_guest(amount_in(needs.limits, memory));
}

void add_overhead(Needs& needs, const DomainSpec& domain, std::int64_t overhead) {
  if (domain.memory().hugepages()) return add_huge_pages(needs, domain, overhead);
  if (!domain.resources().overcommit_guest_overhead()) needs.requests[std::string(memory)] += overhead;
  if (needs.limits.contains(memory)) needs.limits[std::string(memory)] += overhead;
}

void add_cpus(Needs& needs, const json::Object& vmi, const DomainSpec& domain, const config::ClusterConfig& config) {
  const std::int64_t threads = domain.io_threads().supplemental_pool_thread_count().value_or(0);
  const std::int64_t guest = domain.cpu() ? vcpus_of(*domain.cpu().object()) : 1;
  if (!is_dedicated(domain)) {
    if (!needs.requests.contains(cpu))
      needs.requests[std::string(cpu)] = (guest + threads) * 1000 / cpus_for_one(config);
    return;
  }
  std::int64_t whole = guest != 0 ? guest + threads : (amount_in(needs.limits, cpu) + 999) / 1000 + threads;
  if (domain.cpu().isolate_emulator_thread()) {
    const bool even =
        json::get_object(vmi, "metadata") && View(json::find(*json::get_object(vmi, "metadata"), "annotations"))
                                                 .has("alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity");
    whole += even && whole % 2 == 0 ? 2 : 1;
  }
  needs.requests[std::string(cpu)] = needs.limits[std::string(cpu)] = whole * 1000;
  if (needs.requests.contains(memory)) needs.limits[std::string(memory)] = amount_in(needs.requests, memory);
}

// Undoes what a growth adds to amounts that the user named (VMC-101g, VMC-104j).
void lessen(json::Object& domain, std::string_view name, std::int64_t less) {
  json::Object* resources = json::get_object(domain, "resources");
  for (const std::string_view kind : {"requests", "limits"}) {
    json::Object* amounts = resources ? json::get_object(*resources, kind) : nullptr;
    const json::Value* amount = amounts ? json::find(*amounts, name) : nullptr;
    if (!amount) continue;
    const std::int64_t left = std::max<std::int64_t>(amount_of(name, *amount) - less, 0);
    (*amounts)[name] =
        (name == cpu ? Quantity::from_milli(left) : Quantity::from_int(left, Quantity::Format::binary_si)).canonical();
  }
}

// The CPUs that the status shows instead of those of the spec.
void put_present_cpus(json::Object& domain, const json::Object& status, const config::ClusterConfig& config) {
  json::Object* topology = json::get_object(domain, "cpu");
  const json::Object* shown = json::get_object(status, "currentCPUTopology");
  if (!topology || !shown) return;
  const std::int64_t more = vcpus_of(*topology) - vcpus_of(*shown);
  for (const std::string_view part : {"cores", "sockets", "threads"})
    if (const json::Value* count = json::find(*shown, part)) (*topology)[part] = *count;
  lessen(domain, cpu, more * (1000 / cpus_for_one(config)));
}

void put_present_memory(json::Object& domain, const json::Object& status) {
  const json::Object* shown = json::get_object(status, "memory");
  const json::Value* has = shown ? json::find(*shown, "guestRequested") : nullptr;
  json::Object* asked = json::get_object(domain, memory);
  const json::Value* guest = asked ? json::find(*asked, "guest") : nullptr;
  if (!has || !guest) return;
  const std::int64_t more = amount_of(memory, *guest) - amount_of(memory, *has);
  (*asked)["guest"] = *has;
  lessen(domain, memory, more);
}

Needs needs_of(const json::Object& vmi, const config::ClusterConfig& config) {
  const DomainSpec domain = VirtualMachineInstance(&vmi).spec().domain();
  Needs needs{.requests = amounts_of(domain.resources().requests()), .limits = amounts_of(domain.resources().limits())};
  needs.requests[std::string(ephemeral_storage)] += ephemeral_storage_overhead;
  add_guest_memory(needs, domain, config);
  add_overhead(needs, domain, memory_overhead(vmi, config));
  add_cpus(needs, vmi, domain, config);
  add_devices(needs, domain, config);
  return needs;
}

}  // namespace

std::int64_t vcpus_of(const json::Object& cpu_object) {
  const CPU topology(&cpu_object);
  std::int64_t product = 0;
  for (const std::int64_t part : {topology.cores(), topology.sockets(), topology.threads()}) {
    if (part == 0) continue;
    product = product == 0 ? part : std::min(product * part, std::int64_t{1} << 31);
  }
  return product;
}

std::int64_t memory_overhead(const json::Object& vmi, const config::ClusterConfig& config) {
  const VirtualMachineInstanceSpec spec = VirtualMachineInstance(&vmi).spec();
  const DomainSpec domain = spec.domain();
  const auto devices = domain.devices();
  const std::int64_t request = amount_in(amounts_of(domain.resources().requests()), memory);
  const auto has_metrics = [](const Volume& volume) { return bool(volume.downward_metrics()); };

  std::int64_t overhead = 220 * mebi + thousands(request) * 1000 / 512 + 8 * mebi * guest_cpus(domain) + 8 * mebi;
  overhead += probe_overhead(spec);
  const std::pair<bool, std::int64_t> extras[] = {
      {devices.autoattach_graphics_device().value_or(true), 32 * mebi},
      {spec.architecture() == "arm64", 128 * mebi},
      {has_vfio(domain), 1024 * mebi},
      {bool(devices.tpm()) && devices.tpm().enabled().value_or(true), 53 * mebi},
      {is_sev(domain), 256 * mebi},
      {is_dedicated(domain) || wants_guarantee(domain), 100 * mebi},
      {std::ranges::any_of(spec.volumes(), has_metrics), mebi},
  };
  for (const auto& [applies, bytes] : extras)
    if (applies) overhead += bytes;
  overhead += bytes_of(domain.memory().reserved_overhead().added_overhead());
  return times_ratio(overhead, config);
}

Amounts placement_requests(const json::Object& vmi, const config::ClusterConfig& config) {
  return needs_of(vmi, config).requests;
}

Amounts present_requests(const json::Object& vmi, const config::ClusterConfig& config) {
  json::Object present(vmi);
  const json::Object* status = json::get_object(vmi, "status");
  json::Object* spec = json::get_object(present, "spec");
  json::Object* domain = spec ? json::get_object(*spec, "domain") : nullptr;
  if (status && domain) {
    put_present_cpus(*domain, *status, config);
    put_present_memory(*domain, *status);
  }
  return placement_requests(present, config);
}

std::string_view qos_class(const json::Object& vmi, const config::ClusterConfig& config) {
  const Needs needs = needs_of(vmi, config);
  const auto is_guaranteed = [&](std::string_view name) {
    const std::int64_t limit = amount_in(needs.limits, name);
    return limit != 0 && limit == amount_in(needs.requests, name);
  };
  return is_guaranteed(cpu) && is_guaranteed(memory) ? "Guaranteed" : "Burstable";
}

}  // namespace vg::controllers
