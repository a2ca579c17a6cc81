// How much memory a machine gets, and in pages of which size.
#include <fmt/format.h>

#include <cstdint>
#include <optional>

#include "admission/rules/machine/amounts.h"
#include "admission/rules/machine/families.h"
#include "api/canonical_words.h"
#include "api/views/vmi_domain.h"

namespace vg::admission {
namespace {

using api::in_words;
using config::Gate;

// What is said of memory in several places of a spec, read once.
struct MemoryOf {
  const Machine& machine;
  api::kubevirt::Memory memory;
  Quantity request, limit;
  std::optional<std::int64_t> page;  // bytes; nothing without huge pages, or if their size is no amount

  explicit MemoryOf(const Machine& of)
      : machine(of),
        memory(of.spec.domain().memory()),
        request(amount_of(of.spec.domain().resources().requests()["memory"])),
        limit(amount_of(of.spec.domain().resources().limits()["memory"])) {
    if (!memory.hugepages()) return;
    if (const auto size = Quantity::parse(memory.hugepages().page_size())) page = size->value();
  }

  // What must fit into pages: what the pod asks for, or else the guest, or else the limit.
  std::int64_t in_pages() const {
    if (const auto asked = request.value(); asked != 0) return asked;
    const auto guest = amount_of(memory.guest()).value();
    return guest != 0 ? guest : limit.value();
  }
};

void invalid_request(const MemoryOf& of, Causes& causes, std::string message) {
  causes.invalid(of.machine.place.field("domain").field("resources").field("requests").field("memory"),
                 std::move(message));
}

void request_is_not_negative(const MemoryOf& of, Causes& causes) {
  if (of.request.value() < 0) invalid_request(of, causes, fmt::format("{}: must be 0 or more", of.request.to_string()));
}

void request_is_not_tiny(const MemoryOf& of, Causes& causes) {
  static constexpr std::int64_t bytes_min = 1000000;
  if (of.request.value() > 0 && of.request < Quantity::from_int(bytes_min))
    invalid_request(of, causes,
                    fmt::format("{}: must be 1M or more; check the suffix, for example Mi", of.request.to_string()));
}

void limit_is_not_negative(const MemoryOf& of, Causes& causes) {
  if (of.limit.value() < 0)
    causes.invalid(of.machine.place.field("domain").field("resources").field("limits").field("memory"),
                   fmt::format("{}: must be 0 or more", of.limit.to_string()));
}

void request_is_within_limit(const MemoryOf& of, Causes& causes) {
  if (of.limit.value() > 0 && of.request.value() > of.limit.value())
    invalid_request(
        of, causes,
        fmt::format("{}: must not be more than the memory limit ({}); lower the request, or raise the limit",
                    of.request.to_string(), of.limit.to_string()));
}

void invalid_page_size(const MemoryOf& of, Causes& causes) {
  causes.invalid(
      of.machine.place.field("domain").field("memory").field("hugepages").field("pageSize"),
      fmt::format("{}: must be a quantity, for example 2Mi or 1Gi", in_words(of.memory.hugepages().page_size())));
}

void page_size_is_an_amount(const MemoryOf& of, Causes& causes) {
  if (of.memory.hugepages() && !of.page) invalid_page_size(of, causes);
}

// Upstream divides by it.
void page_size_is_not_zero(const MemoryOf& of, Causes& causes) {
  if (of.page == 0 && of.in_pages() >= 0) invalid_page_size(of, causes);
}

// Upstream reads the guest's memory then, whether it is there or not.
void huge_pages_hold_something(const MemoryOf& of, Causes& causes) {
  if (of.page && of.request.value() == 0 && !of.memory.guest())
    causes.required(of.machine.place.field("domain").field("memory").field("guest"),
                    "the memory of the guest is required with hugepages");
}

bool is_below_a_page(const MemoryOf& of) { return of.in_pages() != 0 && of.in_pages() < *of.page; }

void memory_fills_a_page(const MemoryOf& of, Causes& causes) {
  if (of.page && is_below_a_page(of))
    invalid_request(of, causes,
                    fmt::format("{} bytes of memory must not be less than one huge page ({})", of.in_pages(),
                                of.memory.hugepages().page_size()));
}

void memory_fills_whole_pages(const MemoryOf& of, Causes& causes) {
  // Everything is a multiple of -1, and the processor cannot divide the smallest number by it.
  if (!of.page || of.page == 0 || of.page == -1 || is_below_a_page(of) || of.in_pages() % *of.page == 0) return;
  invalid_request(of, causes,
                  fmt::format("{} bytes of memory must be a multiple of the huge page size ({})", of.in_pages(),
                              of.memory.hugepages().page_size()));
}

// With live updates the limit follows the guest.
void guest_is_within_limit(const MemoryOf& of, Causes& causes) {
  if (of.machine.config().live_update() || !of.memory.guest()) return;
  const Quantity guest = amount_of(of.memory.guest());
  if (of.limit.value() != 0 && of.limit.value() < guest.value())
    causes.invalid(of.machine.place.field("domain").field("memory").field("guest"),
                   fmt::format("{}: must not be more than the memory limit ({}); lower it, or raise the limit",
                               guest.to_string(), of.limit.to_string()));
}

void memory_is_said(const Machine& machine, Causes& causes) {
  const auto memory = machine.spec.domain().memory();
  if (memory.guest() || memory.hugepages()) return;
  if (amount_of(machine.spec.domain().resources().requests()["memory"]).value() == 0)
    causes.required("",
                    "spec.domain.memory.guest, "
                    "spec.domain.memory.hugepages or spec.domain.resources.requests.memory");
}

void reserved_overhead_is_enabled(const Machine& machine, Causes& causes) {
  if (machine.spec.domain().memory().reserved_overhead() && !machine.enabled(Gate::reserved_overhead_memlock))
    causes.invalid(machine.place.field("domain").field("memory").field("reservedOverhead"),
                   "reservedOverhead requires the feature gate ReservedOverheadMemlock, which is disabled");
}

constexpr RuleOn<MemoryOf> memory_rows[] = {
    {"MEM-01", "the memory request must not be negative", "domain.resources.requests.memory", request_is_not_negative},
    {"MEM-02", "the memory request must be zero or at least 1M", "domain.resources.requests.memory",
     request_is_not_tiny},
    {"MEM-03", "the memory limit must not be negative", "domain.resources.limits.memory", limit_is_not_negative},
    {"MEM-04", "the memory request must not exceed the limit", "domain.resources.requests.memory",
     request_is_within_limit},
    {"MEM-05", "the huge page size must be a quantity", "domain.memory.hugepages.pageSize", page_size_is_an_amount},
    {"Q-08", "the huge page size must not be zero", "domain.memory.hugepages.pageSize", page_size_is_not_zero},
    {"Q-10", "hugepages requires a memory size", "domain.memory.guest", huge_pages_hold_something},
    {"MEM-06", "memory must not be less than one huge page", "domain.resources.requests.memory", memory_fills_a_page},
    {"MEM-07", "memory must be a multiple of the huge page size", "domain.resources.requests.memory",
     memory_fills_whole_pages},
    {"MEM-08", "without live updates, memory.guest must not exceed the limit", "domain.memory.guest",
     guest_is_within_limit},
};

constexpr MachineRule required_rows[] = {
    {"MEM-09", "a memory request, memory.guest or hugepages is required", "", memory_is_said},
};

constexpr MachineRule overhead_rows[] = {
    MachineRule{"MEM-10", "reservedOverhead requires its feature gate", "domain.memory.reservedOverhead",
                reserved_overhead_is_enabled}
        .of_gate(Gate::reserved_overhead_memlock),
};

void check_memory(const Machine& machine, Causes& causes) { ask_all<memory_rows>(MemoryOf(machine), causes); }

}  // namespace

const MachineFamily memory_family = {.check = check_memory, .list = list_rows<memory_rows>};
const MachineFamily memory_required_family = family_of<required_rows>;
const MachineFamily overhead_family = family_of<overhead_rows>;

}  // namespace vg::admission
