// For tests: a VMI, a domain and what is remembered of both, put together from a few words.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "guests/case.h"
#include "json/document.h"

namespace vg::guests::testing {

inline constexpr Time noon{std::chrono::seconds(1'700'000'000)};
inline constexpr Steady steady_noon{std::chrono::hours(100)};

inline constexpr std::string_view live_document =
    R"(<domain type='qemu' id='1' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
  <name>default_vm1</name><uuid>5d307ca9-b3ef-428c-8861-06e72d69f223</uuid>
  <metadata><kubevirt xmlns="http://kubevirt.io"><uid>u-1</uid></kubevirt></metadata>
  <memory unit='KiB'>1048576</memory><currentMemory unit='KiB'>524288</currentMemory>
  <vcpu placement='static' current='2'>4</vcpu>
  <os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os>
  <features><acpi/></features>
  <devices>
    <disk type='file' device='disk'><source file='/guests/u-1/root.qcow2' index='1'/><target dev='vda' bus='virtio'/><alias name='ua-root'/></disk>
    <disk type='file' device='disk'><source file='/hot/more.img'/><target dev='sda' bus='scsi'/><alias name='ua-more'/></disk>
    <disk type='file' device='cdrom'><target dev='sdb' bus='sata'/><readonly/><alias name='ua-tray'/></disk>
    <controller type='pci' index='0' model='pcie-root'/><controller type='pci' index='7' model='pcie-root-port'/>
    <interface type='user'><mac address='02:00:00:00:00:01'/><model type='virtio'/><alias name='ua-default'/></interface>
    <interface type='user'><mac address='02:00:00:00:00:02'/><link state='down'/><driver queues='4'/><alias name='ua-second'/></interface>
    <channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0' state='connected'/></channel>
  </devices>
</domain>)";

struct Given {
  std::string phase = "Running";  // empty: there is no VMI
  std::string more_status = {}, more_spec = {}, more_metadata = {};
  std::optional<hypervisor::State> state = hypervisor::State::running;  // absent: no domain
  std::string_view reason = "Unknown";
  std::string domain_uid = "u-1";
  bool acpi = true;
  Remembered remembered = {.uid = "u-1"};
  Time now = noon;
  Steady steady = steady_noon;
};

// Keeps what a Case points to.
struct Made {
  explicit Made(const Given& given) : remembered(given.remembered) {
    if (!given.phase.empty())
      vmi = read(fmt::format(
          R"({{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":{{"name":"vm1","namespace":"default",
          "uid":"u-1","labels":{{"kubevirt.io/nodeName":"node01"}}{}}},"spec":{{"domain":{{"devices":{{
          "interfaces":[{{"name":"default","masquerade":{{}}}},{{"name":"second","bridge":{{}}}}]}}}},
          "networks":[{{"name":"second","multus":{{"networkName":"n"}}}},{{"name":"default","pod":{{}}}}]{}}},
          "status":{{"phase":"{}","nodeName":"node01"{}}}}})",
          given.more_metadata, given.more_spec, given.phase, given.more_status));
    if (given.state) {
      domain = {.name = "default_vm1", .uuid = "", .state = *given.state, .reason = given.reason};
      facts = *read_facts(live_document);
      facts.uid = given.domain_uid;
      facts.acpi = given.acpi;
    }
    one.emplace(Case{.vmi = vmi ? vmi->root().if_object() : nullptr,
                     .domain = given.state ? &domain : nullptr,
                     .facts = given.state ? &facts : nullptr,
                     .remembered = remembered,
                     .node = "node01",
                     .now = given.now,
                     .steady = given.steady});
  }
  static json::Document read(const std::string& text) {
    auto document = json::Document::parse(text);
    if (!document) throw std::invalid_argument(document.error().message + text);
    return std::move(*document);
  }

  Remembered remembered;
  std::optional<json::Document> vmi;
  hypervisor::Domain domain;
  DomainFacts facts;
  std::optional<Case> one;
};

}  // namespace vg::guests::testing
