// DOM-MEM
#include <fmt/format.h>

#include <algorithm>

#include "domain/conversion.h"
#include "domain/refusal.h"

namespace vg::domain {

Quantity guest_memory(const Vmi& vmi) {
  if (vmi.dom.memory().guest()) return amount_of(vmi.dom.memory().guest());
  const auto request = requested(vmi, "memory"), limit = limited(vmi, "memory");
  if (limit && !request) return *limit;
  return request.value_or(Quantity());
}

Result<std::uint64_t> bytes_of(const Quantity& amount, std::string_view field) {
  // Upstream takes one off whatever it cannot read as a plain integer, a fraction or not.
  const auto whole = amount.as_int64();
  const std::int64_t bytes = whole ? *whole : amount.value() - 1;
  if (bytes < 0)
    return refuse("DOM-MEM-04", field, fmt::format("{}: must not be negative", in_quotes(amount.to_string())));
  return static_cast<std::uint64_t>(bytes);
}

namespace {

constexpr std::string_view guest_field = "spec.domain.memory.guest";

}  // namespace

Result<void> write_memory(Conversion& c) {
  const auto memory = c.vmi.dom.memory();
  Quantity amount = guest_memory(c.vmi);
  if (memory.max_guest()) {
    if (!memory.guest()) return require("DOM-MEM-03", guest_field, "maxGuest is set");
    const Quantity most = amount_of(memory.max_guest());
    if (most != amount) {  // DOM-MEM-03
      const auto bytes = bytes_of(most, "spec.domain.memory.maxGuest");
      if (!bytes) return fail(bytes.error());
      c.domain.child("maxMemory").set("unit", "b").set("slots", 0).set_text(*bytes);
    }
  }
  const auto bytes = bytes_of(amount, guest_field);
  if (!bytes) return fail(bytes.error());
  c.domain.child("memory").set("unit", "b").set_text(*bytes);  // DOM-MEM-02
  return {};
}

namespace {

// DOM-MEM-06
bool shares_memory(const Vmi& vmi) {
  const auto filesystems = vmi.dev.filesystems();
  const auto interfaces = vmi.dev.interfaces();
  return std::any_of(filesystems.begin(), filesystems.end(),
                     [](const kubevirt::Filesystem& one) { return static_cast<bool>(one.virtiofs()); }) ||
         std::any_of(interfaces.begin(), interfaces.end(),
                     [](const kubevirt::Interface& one) { return static_cast<bool>(one.passt_binding()); });
}

}  // namespace

Result<void> write_memory_backing(Conversion& c) {
  const bool shared = shares_memory(c.vmi), hugepages = static_cast<bool>(c.vmi.dom.memory().hugepages());
  if (!shared && !hugepages) return {};
  Element& backing = c.domain.child("memoryBacking");
  if (hugepages) backing.child("hugepages");  // DOM-MEM-05
  if (shared) backing.child("access").set("mode", "shared");
  if (!shared && c.vmi.annotations[annotation::memfd] == "false") return {};
  // DOM-MEM-07
  backing.child("source").set("type", "memfd");
  c.domain.child("cpu")
      .child("numa")
      .add("cell")
      .set("id", 0)
      .set("cpus", fmt::format("0-{}", static_cast<std::uint32_t>(c.written_vcpus - 1)))
      .set("memory", guest_memory(c.vmi).value() / 1024)
      .set("unit", "KiB");
  return {};
}

}  // namespace vg::domain
