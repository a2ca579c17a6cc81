#include "guests/facts.h"

#include <libxml/parser.h>
#include <libxml/tree.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "base/node_limits.h"

namespace vg::guests {
namespace {

using std::string_view;

constexpr string_view user_alias = "ua-";
constexpr string_view agent_channel = "org.qemu.guest_agent.0";

string_view text_of(const xmlChar* text) {
  return text ? string_view(reinterpret_cast<const char*>(text)) : string_view();
}

bool is_named(const xmlNode* node, string_view name) {
  return node->type == XML_ELEMENT_NODE && text_of(node->name) == name;
}

const xmlNode* child(const xmlNode* node, string_view name) {
  for (const xmlNode* at = node ? node->children : nullptr; at; at = at->next)
    if (is_named(at, name)) return at;
  return nullptr;
}

template <class Fn>
void each(const xmlNode* node, string_view name, const Fn& fn) {
  for (const xmlNode* at = node ? node->children : nullptr; at; at = at->next)
    if (is_named(at, name)) fn(at);
}

std::string attribute(const xmlNode* node, const char* name) {
  if (!node) return {};
  const auto free_text = [](xmlChar* text) { xmlFree(text); };
  const std::unique_ptr<xmlChar, decltype(free_text)> value(
      xmlGetProp(node, reinterpret_cast<const xmlChar*>(name)));  // NOLINT: bytes are bytes
  return std::string(text_of(value.get()));
}

std::string content(const xmlNode* node) {
  if (!node) return {};
  const auto free_text = [](xmlChar* text) { xmlFree(text); };
  const std::unique_ptr<xmlChar, decltype(free_text)> value(xmlNodeGetContent(node));
  return std::string(text_of(value.get()));
}

std::uint64_t number(string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string alias_of(const xmlNode* node) {
  std::string alias = attribute(child(node, "alias"), "name");
  if (alias.starts_with(user_alias)) alias.erase(0, user_alias.size());
  return alias;
}

std::string element_text(xmlDoc* document, const xmlNode* node) {
  const auto free_buffer = [](xmlBuffer* buffer) { xmlBufferFree(buffer); };
  const std::unique_ptr<xmlBuffer, decltype(free_buffer)> buffer(xmlBufferCreate());
  if (!buffer ||
      xmlNodeDump(buffer.get(), document, const_cast<xmlNode*>(node), 0, 0) < 0)  // NOLINT: it is not changed
    return {};
  return std::string(text_of(xmlBufferContent(buffer.get())));
}

DiskFact read_disk(xmlDoc* document, const xmlNode* node) {
  const xmlNode* source = child(node, "source");
  DiskFact disk{.alias = alias_of(node),
                .target = attribute(child(node, "target"), "dev"),
                .source = attribute(source, "file"),
                .device = attribute(node, "device"),
                .bus = attribute(child(node, "target"), "bus"),
                .is_read_only = child(node, "readonly") != nullptr,
                .xml = element_text(document, node)};
  if (disk.source.empty()) disk.source = attribute(source, "dev");
  return disk;
}

NicFact read_nic(xmlDoc* document, const xmlNode* node) {
  NicFact nic{.alias = alias_of(node),
              .mac = attribute(child(node, "mac"), "address"),
              .target = attribute(child(node, "target"), "dev"),
              .xml = element_text(document, node)};
  if (std::string link = attribute(child(node, "link"), "state"); !link.empty()) nic.link = std::move(link);
  if (const std::uint64_t queues = number(attribute(child(node, "driver"), "queues")); queues > 0)
    nic.queues = static_cast<std::int64_t>(std::min<std::uint64_t>(queues, UINT16_MAX));
  return nic;
}

// libvirt hands out KiB, and counts what devices for memory have added to it.
std::uint64_t memory_of_domain(const xmlNode* domain) {
  return std::min(number(content(child(domain, "currentMemory"))), UINT64_MAX / 1024) * 1024;
}

void read_devices(xmlDoc* document, const xmlNode* devices, DomainFacts& facts) {
  each(devices, "disk", [&](const xmlNode* node) {
    if (facts.disks.size() < limits::domain_devices_max) facts.disks.push_back(read_disk(document, node));
  });
  each(devices, "interface", [&](const xmlNode* node) {
    if (facts.nics.size() < limits::domain_devices_max) facts.nics.push_back(read_nic(document, node));
  });
  each(devices, "controller", [&](const xmlNode* node) {
    if (attribute(node, "type") == "pci")
      facts.pci_index_max =
          std::max(facts.pci_index_max,
                   static_cast<std::uint32_t>(std::min<std::uint64_t>(number(attribute(node, "index")), UINT16_MAX)));
  });
  each(devices, "memory", [&](const xmlNode* node) { facts.memory_device = element_text(document, node); });
  each(devices, "channel", [&](const xmlNode* node) {
    const xmlNode* target = child(node, "target");
    if (attribute(target, "name") == agent_channel) facts.agent_connected = attribute(target, "state") == "connected";
  });
}

DomainFacts read_domain(xmlDoc* document, const xmlNode* domain) {
  DomainFacts facts{.uid = content(child(child(child(domain, "metadata"), "kubevirt"), "uid")),
                    .machine = attribute(child(child(domain, "os"), "type"), "machine"),
                    .type = attribute(domain, "type"),
                    .acpi = child(child(domain, "features"), "acpi") != nullptr,
                    .memory_bytes = memory_of_domain(domain)};
  const xmlNode* vcpu = child(domain, "vcpu");
  const std::string current = attribute(vcpu, "current");
  facts.vcpus = static_cast<std::uint32_t>(number(current.empty() ? content(vcpu) : current));
  read_devices(document, child(domain, "devices"), facts);
  return facts;
}

}  // namespace

const DiskFact* DomainFacts::disk(string_view alias) const {
  const auto found = std::ranges::find(disks, alias, &DiskFact::alias);
  return found == disks.end() ? nullptr : &*found;
}

const NicFact* DomainFacts::nic(string_view alias) const {
  const auto found = std::ranges::find(nics, alias, &NicFact::alias);
  return found == nics.end() ? nullptr : &*found;
}

Result<DomainFacts> read_facts(string_view xml) {
  if (xml.size() > limits::domain_document_bytes_max)
    return fail(Status::bad_request("the document of the domain is too long"));
  constexpr int options = XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_NOBLANKS;
  const auto free_document = [](xmlDoc* document) { xmlFreeDoc(document); };
  const std::unique_ptr<xmlDoc, decltype(free_document)> document(
      xmlReadMemory(xml.data(), static_cast<int>(xml.size()), "domain.xml", nullptr, options));
  const xmlNode* root = document ? xmlDocGetRootElement(document.get()) : nullptr;
  if (!root || !is_named(root, "domain")) return fail(Status::bad_request("the document is not a domain"));
  return read_domain(document.get(), root);
}

}  // namespace vg::guests
