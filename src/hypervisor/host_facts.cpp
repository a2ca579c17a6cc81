#include "hypervisor/host_facts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <libxml/parser.h>
#include <libxml/xpath.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "base/hypervisor_limits.h"
#include "hypervisor/libvirt_handles.h"

namespace vg::hypervisor {
namespace {

// As libvirt names it, and as Kubernetes does.
constexpr std::pair<std::string_view, std::string_view> architectures[] = {
    {"x86_64", "amd64"}, {"aarch64", "arm64"}, {"s390x", "s390x"}};

struct FreeXml {
  void operator()(xmlDocPtr document) const { xmlFreeDoc(document); }
  void operator()(xmlXPathContextPtr context) const { xmlXPathFreeContext(context); }
  void operator()(xmlXPathObjectPtr found) const { xmlXPathFreeObject(found); }
  void operator()(xmlBufferPtr buffer) const { xmlBufferFree(buffer); }
  void operator()(xmlChar* text) const { xmlFree(text); }
};

// A document of libvirt, asked by XPath.
class Document {
 public:
  explicit Document(std::string_view text)
      : document_(xmlReadMemory(text.data(), static_cast<int>(text.size()), nullptr, nullptr,
                                XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING)),
        context_(document_ ? xmlXPathNewContext(document_.get()) : nullptr) {}

  // The texts of what it finds, each once, in the order of the document.
  std::vector<std::string> all(const std::string& path) const {
    std::vector<std::string> texts;
    const std::unique_ptr<xmlXPathObject, FreeXml> found(find(path));
    const int count = found && found->nodesetval ? found->nodesetval->nodeNr : 0;
    for (int i = 0; i < count; ++i) {
      const std::unique_ptr<xmlChar, FreeXml> text(xmlNodeGetContent(found->nodesetval->nodeTab[i]));
      if (text) texts.emplace_back(reinterpret_cast<const char*>(text.get()));
    }
    std::vector<std::string> once;
    for (std::string& each : texts)
      if (std::ranges::find(once, each) == once.end()) once.push_back(std::move(each));
    return once;
  }
  // The first element that it finds, as a document of its own with another name and without its attributes.
  std::string renamed(const std::string& path, const char* name) const {
    const std::unique_ptr<xmlXPathObject, FreeXml> found(find(path));
    if (!found || !found->nodesetval || found->nodesetval->nodeNr == 0) return "";
    const xmlNodePtr node = found->nodesetval->nodeTab[0];
    xmlNodeSetName(node, reinterpret_cast<const xmlChar*>(name));
    while (node->properties) xmlRemoveProp(node->properties);
    const std::unique_ptr<xmlBuffer, FreeXml> text(xmlBufferCreate());
    xmlNodeDump(text.get(), document_.get(), node, 0, 0);
    return reinterpret_cast<const char*>(xmlBufferContent(text.get()));
  }
  std::string first(const std::string& path) const {
    auto found = all(path);
    return found.empty() ? std::string() : std::move(found.front());
  }

 private:
  xmlXPathObjectPtr find(const std::string& path) const {
    if (!context_) return nullptr;
    return xmlXPathEvalExpression(reinterpret_cast<const xmlChar*>(path.c_str()), context_.get());
  }

  std::unique_ptr<xmlDoc, FreeXml> document_;
  std::unique_ptr<xmlXPathContext, FreeXml> context_;
};

std::string libvirt_architecture(const HostFacts& facts) {
  for (const auto& [theirs, ours] : architectures)
    if (ours == facts.architecture) return std::string(theirs);
  return facts.architecture;
}

std::string version_text(unsigned long version) {
  return fmt::format("{}.{}.{}", version / 1'000'000, version / 1'000 % 1'000, version % 1'000);
}

std::string versions(virConnectPtr connection) {
  unsigned long qemu = 0, libvirt = 0;
  virConnectGetVersion(connection, &qemu);
  virConnectGetLibVersion(connection, &libvirt);
  return fmt::format("QEMU {}, libvirt {}", version_text(qemu), version_text(libvirt));
}

std::string why_no_device(const char* path) {
  const int device = ::open(path, O_RDWR | O_CLOEXEC);
  if (device >= 0) {
    ::close(device);
    return "";
  }
  if (errno == ENOENT) return fmt::format("this host has no {}", path);
  return fmt::format("user {} cannot open {}: {}", ::geteuid(), path, std::generic_category().message(errno));
}

}  // namespace

void read_capabilities(std::string_view text, HostFacts& facts) {
  const Document document(text);
  const std::string machine = document.first("/capabilities/host/cpu/arch");
  facts.architecture = machine;
  for (const auto& [theirs, ours] : architectures)
    if (theirs == machine) facts.architecture = ours;
  facts.machine_types = document.all("/capabilities/guest/arch[@name='" + machine + "']//machine");
}

void read_domain_capabilities(std::string_view text, HostFacts& facts) {
  const Document document(text);
  const std::string cpu = "/domainCapabilities/cpu/mode";
  facts.cpu_models = document.all(cpu + "[@name='custom']/model[@usable='yes']");
  facts.known_models = document.all(cpu + "[@name='custom']/model");
  facts.host_model = document.first(cpu + "[@name='host-model']/model");
  facts.vendor = document.first(cpu + "[@name='host-model']/vendor");
  facts.required_features = document.all(cpu + "[@name='host-model']/feature[@policy='require']/@name");
}

void read_baseline(std::string_view text, HostFacts& facts) {
  facts.cpu_features = Document(text).all("/cpu/feature[@policy='require']/@name");
}

std::string why_no_kvm() { return why_no_device("/dev/kvm"); }

Result<HostFacts> host_facts(virConnectPtr connection) {
  HostFacts facts;
  facts.why_no_kvm = why_no_kvm();
  facts.why_no_vsock = why_no_device("/dev/vhost-vsock");
  facts.kvm = facts.why_no_kvm.empty();
  const char* kind = facts.kvm ? "kvm" : "qemu";
  auto host =
      bounded(Text(virConnectGetCapabilities(connection)), limits::live_document_bytes_max, "what the host can");
  if (!host) return fail(host.error());
  read_capabilities(*host, facts);
  const std::string machine = libvirt_architecture(facts);
  auto domain = bounded(Text(virConnectGetDomainCapabilities(connection, nullptr, machine.c_str(), nullptr, kind, 0)),
                        limits::live_document_bytes_max, "what a domain can");
  if (!domain) return fail(domain.error());
  read_domain_capabilities(*domain, facts);
  const std::string cpu = Document(*domain).renamed("/domainCapabilities/cpu/mode[@name='host-model']", "cpu");
  const char* documents[] = {cpu.c_str()};
  // Not every architecture has it; then there are no features to tell.
  if (const Text baseline(virConnectBaselineHypervisorCPU(connection, nullptr, machine.c_str(), nullptr, kind,
                                                          documents, 1, VIR_CONNECT_BASELINE_CPU_EXPAND_FEATURES));
      baseline)
    read_baseline(baseline.get(), facts);
  virNodeInfo node{};
  if (virNodeGetInfo(connection, &node) != 0) return fail(libvirt_error());
  facts.cpus = node.cpus;
  facts.memory_bytes = std::uint64_t{node.memory} * 1024;
  facts.hypervisor_version = versions(connection);
  return facts;
}

}  // namespace vg::hypervisor
