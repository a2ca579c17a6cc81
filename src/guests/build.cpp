#include "guests/build.h"

#include <fmt/format.h>

#include <charconv>

#include "api/view.h"
#include "domain/convert.h"
#include "domain/derive.h"
#include "json/access.h"

namespace vg::guests {
namespace {

using domain::Element;

std::uint64_t hash(std::string_view text) {  // FNV-1a
  std::uint64_t value = 14695981039346656037U;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return value ^ (value >> 32);
}

domain::Settings settings_of(const Wanted& wanted) {
  domain::Settings settings;
  settings.serial_log_disabled = true;
  settings.rom_folder = wanted.host.rom_folder;
  settings.rom_exists = wanted.host.file_exists;
  const json::Object& configuration = wanted.config.configuration();
  if (const json::Object* options = json::get_object(configuration, "virtualMachineOptions"))
    settings.free_page_reporting_disabled = json::find(*options, "disableFreePageReporting") != nullptr;
  return settings;
}

// Where there is no pod there is neither tap nor bridge: the guest's network is QEMU's own.
void put_node(const Wanted& wanted, domain::DomainContext& context) {
  context.hypervisor_device = wanted.host.kvm;
  context.allow_emulation = true;
  context.tap_type = "user";
  // What a guest prints would fill the disk: nothing bounds that file without libvirt's log daemon.
  context.serial_log = false;
  for (const auto& [volume, format] : wanted.disk_formats) context.disk_info.insert_or_assign(volume, format);
  // Disks that track their changed blocks have a data store, which libvirt knows since 10.10: the guest runs without.
  context.cbt.clear();
  context.probes = wanted.host.more_probes;
  wanted.put_paths(context);
}

// libvirt would make up a path with the number of the start and the name in it, which is too long for a socket's.
void finish_channel(Element& channel, const std::string& serial) {
  const Element* target = channel.find("target");
  if (!target || target->get("name") != "org.qemu.guest_agent.0" || channel.find("source")) return;
  channel.child("source").set("mode", "bind").set("path", serial.substr(0, serial.rfind('/') + 1) + "agent");
}

std::uint64_t number_in(const Element* element) {
  std::uint64_t number = 0;
  if (element) std::from_chars(element->text().data(), element->text().data() + element->text().size(), number);
  return number;
}

// Memory can be added later: libvirt before 10.1 wants a slot for it, and every libvirt a NUMA node to add it to.
void make_growable(Element& document) {
  Element* most = document.find("maxMemory");
  if (!most) return;
  if (most->get("slots") == "0") most->set("slots", 1);
  Element& numa = document.child("cpu").child("numa");
  if (numa.find("cell")) return;
  const std::uint64_t cpus = number_in(document.find("vcpu")), bytes = number_in(document.find("memory"));
  numa.add("cell")
      .set("id", 0)
      .set("cpus", cpus > 1 ? fmt::format("0-{}", cpus - 1) : std::string("0"))
      .set("memory", bytes / 1024)
      .set("unit", "KiB");
}

// Where CPUs are emulated guests run slower, but they run.
void suit_emulation(Element& document) {
  // Nobody's CPUs: the nearest to "all that there is" is all that the emulator has.
  Element* cpu = document.find("cpu");
  if (cpu && cpu->get("mode") == "host-passthrough") cpu->set("mode", "maximum");
  // Hyper-V's interfaces are the kernel's, and their clock with them.
  if (Element* features = document.find("features")) features->remove("hyperv");
  if (Element* clock = document.find("clock"))
    std::erase_if(clock->children(), [](const Element& timer) { return timer.get("name") == "hypervclock"; });
}

void finish(Element& document, const domain::Vmi& vmi, const Wanted& wanted, const std::string& serial) {
  document.child("metadata").child("kubevirt").child("uid").set_text(vmi.metadata.uid());
  for (Element& device : document.child("devices").children())
    if (device.name() == "interface")
      place_interface(device, wanted.vmi.get_object(), wanted.bridges);
    else if (device.name() == "channel")
      finish_channel(device, serial);
  make_growable(document);
  if (!wanted.host.kvm) suit_emulation(document);
}

}  // namespace

std::string made_mac(std::string_view uid, std::string_view interface) {
  const std::uint64_t value = hash(fmt::format("{}/{}", uid, interface));
  return fmt::format("02:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", value >> 32 & 0xff, value >> 24 & 0xff,
                     value >> 16 & 0xff, value >> 8 & 0xff, value & 0xff);
}

std::string loopback_address(std::string_view uid) {
  const std::uint64_t value = hash(uid);
  // 127.0.x.y is where people and programs have their own things.
  return fmt::format("127.{}.{}.{}", 64 + (value >> 16) % 128, value >> 8 & 0xff, 1 + (value & 0xff) % 254);
}

Result<Built> build(const Wanted& wanted) {
  const domain::Vmi vmi(wanted.vmi);
  auto context = domain::derive(vmi, settings_of(wanted));
  if (!context) return fail(std::move(context.error()));
  put_node(wanted, *context);
  auto document = domain::convert(vmi, *context);
  if (!document) return fail(std::move(document.error()));
  finish(*document, vmi, wanted, context->paths.at(domain::Path::serial));
  if (auto done = domain::complete_disks(*document, wanted.host.probes); !done) return fail(std::move(done.error()));
  const auto ports = domain::spare_ports(vmi, *document);
  if (!ports) return fail(ports.error());
  std::string place = context->paths.at(domain::Path::hotplug_image, {{"volume", "-"}});
  place.resize(place.rfind('/') == std::string::npos ? 0 : place.rfind('/'));
  return Built{.document = std::move(*document), .spare_ports = *ports, .hotplug_folder = std::move(place)};
}

}  // namespace vg::guests
