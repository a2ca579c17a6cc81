// Any VMI in any context: it is refused with a reason, or becomes a document whose every element and attribute is known
// and whose text XML can carry; quickly, and not out of proportion. What is converted is either the input itself, or a
// VMI that the input's bytes choose (object_generator.h).
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/canonical.h"
#include "api/schema.h"
#include "domain/context_file.h"
#include "domain/convert.h"
#include "domain/derive.h"
#include "domain/xml.h"
#include "json/access.h"
#include "json/document.h"
#include "object_generator.h"

namespace {

using namespace vg;

// Of the processor, with sanitizers. The lists that numbers ask for are what takes longest.
constexpr double milliseconds_max = 1000;
// Lists that numbers ask for, and what the input itself holds.
constexpr std::size_t document_bytes_max = 16 * 1024 * 1024;

void require(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

double thread_milliseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// What the parser of an XML document would trip over.
void check_text(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    require(byte >= 0x20 || byte == '\n', "no control characters are written");
    if (text[at] == '&') require(text.find(';', at) < at + 8, "an ampersand begins a reference");
  }
}

void check(const domain::Vmi& vmi, const domain::DomainContext& context) {
  const double began = thread_milliseconds();
  const auto made = domain::convert(vmi, context);
  if (!made) {
    require(made.error().code == 422 && !made.error().message.empty(), "a refusal says why");
    return;
  }
  require(!domain::undeclared(*made), "the catalogue knows everything");
  const std::string text = domain::to_xml(*made);
  require(thread_milliseconds() - began < milliseconds_max, "it was quick");
  require(text.size() < document_bytes_max, "the document is in proportion");
  check_text(text);
}

bool canonical(json::Value& object) {
  const auto* kind = api::find_kind("kubevirt.io", "v1", "VirtualMachineInstance");
  return api::canonicalize(object, *kind->type).has_value();
}

// {"vmi": ..., "context": ...}, as the recordings have them.
void check_input(std::string_view text) {
  auto document = json::Document::parse(text);
  json::Value* object = document ? json::find(document->root(), "vmi") : nullptr;
  if (!object || !canonical(*object)) return;
  const domain::Vmi vmi(*object);
  const json::Value* file = json::find(document->root(), "context");
  const auto context = file ? domain::read_context(vmi, *file) : domain::derive(vmi);
  if (context) check(vmi, *context);
}

domain::Element host_device(fuzz::Choices& choices) {
  domain::Element device("hostdev");
  device.set("type", choices.once_in(4) ? "mdev" : "pci");
  if (!choices.once_in(8)) {
    auto& address = device.child("source").child("address").set("type", "pci").set("domain", "0x0000");
    address.set("bus", choices.byte()).set("slot", "0x00").set("function", "0x0");
  }
  if (choices.once_in(8)) device.child("address").set("type", "pci").set("domain", "0x0000");
  device.child("alias").set("name", choices.once_in(2) ? "ua-gpu-a" : "ua-gpu-b");
  return device;
}

void choose_host(fuzz::Choices& choices, domain::DomainContext& context) {
  domain::HostTopology cells;
  for (std::size_t left = choices.below(4); left > 0; --left) {
    domain::HostCell& cell = cells.emplace_back();
    cell.id = static_cast<std::uint32_t>(choices.below(4));
    for (std::size_t cpus = choices.below(12); cpus > 0; --cpus) {
      domain::HostCpu& cpu = cell.cpus.emplace_back();
      cpu.id = static_cast<std::uint32_t>(choices.below(32));
      for (std::size_t siblings = choices.below(4); siblings > 0; --siblings)
        cpu.siblings.push_back(static_cast<std::uint32_t>(choices.below(32)));
    }
  }
  if (!choices.once_in(8)) context.host_topology = std::move(cells);
  for (std::size_t left = choices.below(32); left > 0; --left)
    context.cpu_set.push_back(static_cast<std::uint32_t>(choices.below(32)));
}

void choose_probes(fuzz::Choices& choices, domain::DomainContext& context) {
  const std::uint32_t node = choices.byte() % 4;
  const std::uint64_t size = choices.of(fuzz::numbers) & 0xffffffff;
  domain::Probes& probes = context.probes;
  probes.block_size = [size](const std::string&, bool) -> Result<domain::BlockSizes> {
    return domain::BlockSizes{.logical = size % 3 == 0 ? 0 : size, .physical = size, .discard = size / 2};
  };
  probes.pci_numa_node = [node](const std::string& address) { return (node + address.size()) % 4; };
  probes.node_cpus = [](std::uint32_t of) { return std::vector<std::uint32_t>{of, of + 4, of + 8}; };
  probes.emulator_exists = [](const std::string&) { return true; };
  probes.smmuv3 = [] { return true; };
  probes.pci_ids = [](const std::string&) { return std::pair<std::string, std::string>("0x10de", "0x2342"); };
  probes.prefetchable_bytes = [size](const std::string&) { return size << 8; };
  probes.initiator_nodes = [] {
    return std::vector<std::uint32_t>{4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19};
  };
  probes.numa_distances = [](std::uint32_t) {
    std::map<std::uint32_t, std::uint64_t> all;
    for (std::uint32_t other = 0; other < 20; ++other) all[other] = 10 + other % 3;
    return all;
  };
}

void choose_context(fuzz::Choices& choices, domain::DomainContext& context) {
  choose_host(choices, context);
  if (choices.once_in(2)) choose_probes(choices, context);
  for (std::size_t left = choices.below(6); left > 0; --left) context.gpu_hostdevs.push_back(host_device(choices));
  context.pci_numa_aware = choices.once_in(2);
  context.grace_enabled = context.iommufd = choices.once_in(2);
  if (choices.once_in(4)) context.grace_aliases = {"gpu-a"};
  context.cross_arch = choices.once_in(8);
  context.hypervisor_device = !choices.once_in(8);
  context.allow_emulation = choices.once_in(2);
  if (choices.once_in(4)) context.block_pvc = context.block_dv = {"disk0", "a"};
  if (choices.once_in(4)) context.discard_ignore = {"disk0"};
}

void check_generated(fuzz::Choices& choices) {
  json::Document document;
  fuzz::Generator generator(choices, document.storage());
  const auto* kind = api::find_kind("kubevirt.io", "v1", "VirtualMachineInstance");
  document.root() = generator.object(*kind->type);
  if (!canonical(document.root())) return;
  const domain::Vmi vmi(document.root());
  auto context = domain::derive(vmi, {.free_page_reporting_disabled = choices.once_in(2),
                                      .serial_log_disabled = choices.once_in(2),
                                      .firmware_auto_selection = choices.once_in(2),
                                      .plugin_attachments = {{"a", "managedTap"}},
                                      .rom_folder = {},
                                      .rom_exists = {}});
  if (!context) return;
  choose_context(choices, *context);
  check(vmi, *context);
}

}  // namespace

// The highest bit of the first byte says whether the VMI is made or read.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  if ((data[0] & 0x80) == 0) {
    check_input({reinterpret_cast<const char*>(data), size});
    return 0;
  }
  fuzz::Choices choices({data + 1, size - 1});
  check_generated(choices);
  return 0;
}
