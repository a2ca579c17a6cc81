#include "domain/catalogue.h"

#include <algorithm>
#include <array>

namespace vg::domain {
namespace {

// spec domain 2.2; "never" rows are left out.
constexpr std::array shape_table = std::to_array<Shape>({
    {"access", "mode", ""},
    {"acpi", "", "table"},
    {"address", "type domain bus slot function controller target unit uuid device cssid ssid devno", ""},
    {"alias", "name", ""},
    {"allocation", "mode", ""},
    {"apic", "", ""},
    {"backend", "type version persistent_state logFile model", ""},
    {"backingStore", "type", "format source"},
    {"baseBoard", "", "entry"},
    {"bios", "useserial", "entry"},
    {"blockio", "logical_block_size physical_block_size discard_granularity", ""},
    {"boot", "order", ""},
    {"bootmenu", "enable timeout", ""},
    {"capacity", "", ""},
    {"cell", "id cpus memory unit", "distances"},
    {"channel", "type", "source target"},
    {"channel/target", "name type address port state", ""},
    {"chassis", "", "entry"},
    {"cid", "auto address", ""},
    {"clock", "offset timezone adjustment", "timer"},
    {"cmdline", "", ""},
    {"console", "type", "target source alias"},
    {"console/target", "type port", ""},
    {"controller", "type index model", "driver alias address pcihole64 target"},
    {"controller/driver", "iothread queues iommu", ""},
    {"controller/target", "busNr", "node"},
    {"cpu", "mode", "model feature topology numa"},
    {"cpu/model", "", ""},
    {"cputune", "", "vcpupin iothreadpin emulatorpin"},
    {"dataStore", "type", "format source"},
    {"devices", "",
     "emulator interface channel hostdev panic controller video graphics memballoon disk input serial console watchdog "
     "rng filesystem redirdev sound tpm vsock memory iommu"},
    {"dhCert", "", ""},
    {"direct", "state", ""},
    {"disk", "device type model",
     "source target serial driver readonly alias backingStore boot address blockio filesystemOverhead capacity "
     "shareable"},
    {"disk/driver", "cache error_policy io name type iothread queues discard iommu", "iothreads"},
    {"disk/serial", "", ""},
    {"disk/target", "bus dev tray", ""},
    {"distances", "", "sibling"},
    {"domain", "type xmlns:qemu",
     "name memory maxMemory memoryBacking os sysinfo devices clock qemu:commandline metadata features cpu vcpu vcpus "
     "cputune numatune iothreads launchSecurity on_reboot iommufd"},
    {"driver/iothreads", "", "iothread"},
    {"emulator", "", ""},
    {"emulatorpin", "cpuset", ""},
    {"entry", "name", ""},
    {"evmcs", "state", ""},
    {"extended", "state", ""},
    {"feature", "enabled name policy", ""},
    {"features", "", "acpi apic hyperv smm kvm pvspinlock pmu vmport"},
    {"filesystem", "type accessMode", "source target driver"},
    {"filesystem/driver", "type queue", ""},
    {"filesystem/source", "dir socket", ""},
    {"filesystem/target", "dir", ""},
    {"filesystemOverhead", "", ""},
    {"firmware", "", "feature"},
    {"format", "type", ""},
    {"frequencies", "state", ""},
    {"graphics", "autoport defaultMode passwdValidTo port tlsPort type", "listen"},
    {"hidden", "state", ""},
    {"hint-dedicated", "state", ""},
    {"hostdev", "type managed mode model display ramfb", "source boot address alias driver acpi"},
    {"hostdev/acpi", "nodeset", ""},
    {"hostdev/driver", "iommufd", ""},
    {"hostdev/source", "", "address"},
    {"hugepages", "", "page"},
    {"hyperv", "mode",
     "relaxed vapic spinlocks vpindex runtime synic stimer reset vendor_id frequencies reenlightenment tlbflush ipi "
     "evmcs"},
    {"initrd", "", ""},
    {"input", "type bus model", "alias address"},
    {"interface", "type", "address source target model mac mtu boot link alias driver rom acpi backend portForward ip"},
    {"interface/acpi", "index", ""},
    {"interface/driver", "name queues iommu", ""},
    {"interface/ip", "family address prefix", ""},
    {"interface/model", "type", ""},
    {"interface/source", "network dev bridge mode", ""},
    {"interface/target", "dev managed", ""},
    {"iommu", "model", "driver"},
    {"iommu/driver", "pciBus accel ats ril ssidSize oas", ""},
    {"iommufd", "enabled fdgroup", ""},
    {"iothread", "id", ""},
    {"iothreadpin", "iothread cpuset", ""},
    {"iothreads", "", ""},
    {"ipi", "state", ""},
    {"kernel", "", ""},
    {"kubevirt", "xmlns", "uid"},
    {"kvm", "", "hidden hint-dedicated"},
    {"launchSecurity", "type", "dhCert session policy quoteGenerationService"},
    {"link", "state", ""},
    {"listen", "type address socket", ""},
    {"loader", "readonly secure type", ""},
    {"log", "file append", ""},
    {"mac", "address", ""},
    {"maxMemory", "unit slots", ""},
    {"memballoon", "model freePageReporting", "stats address driver"},
    {"memballoon/driver", "iommu", ""},
    {"memnode", "cellid mode nodeset", ""},
    {"memory", "unit", ""},
    {"memoryBacking", "", "hugepages source access allocation nosharepages"},
    {"memoryBacking/source", "type", ""},
    {"metadata", "", "kubevirt"},
    {"mtu", "size", ""},
    {"name", "", ""},
    {"node", "", ""},
    {"nosharepages", "", ""},
    {"numa", "", "cell"},
    {"numatune", "", "memory memnode"},
    {"numatune/memory", "mode nodeset", ""},
    {"nvram", "template format", ""},
    {"on_reboot", "", ""},
    {"os", "firmware", "firmware type acpi smbios bootmenu bios loader nvram kernel initrd cmdline"},
    {"page", "size unit nodeset", ""},
    {"panic", "model", ""},
    {"pcihole64", "unit", ""},
    {"pmu", "state", ""},
    {"policy", "", ""},
    {"portForward", "proto address dev", "range"},
    {"pvspinlock", "state", ""},
    {"qemu:arg", "value", ""},
    {"qemu:commandline", "", "qemu:env qemu:arg"},
    {"qemu:env", "name value", ""},
    {"quoteGenerationService", "path", ""},
    {"range", "start end to exclude", ""},
    {"readonly", "", ""},
    {"redirdev", "type bus", "source"},
    {"reenlightenment", "state", ""},
    {"relaxed", "state", ""},
    {"reservations", "managed migration", "source"},
    {"reservations/source", "type path mode", ""},
    {"reset", "state", ""},
    {"rng", "model", "backend address driver"},
    {"rng/driver", "iommu", ""},
    {"rom", "enabled", ""},
    {"runtime", "state", ""},
    {"serial", "type", "target source alias log"},
    {"serial/target", "port", ""},
    {"session", "", ""},
    {"shareable", "", ""},
    {"sibling", "id value", ""},
    {"smbios", "mode", ""},
    {"smm", "", ""},
    {"sound", "model", "alias"},
    // Of disks, and of what stands behind one; of consoles, channels and redirected devices.
    {"source", "dev file name mode path", "reservations dataStore"},
    {"spinlocks", "state retries", ""},
    {"stats", "period", ""},
    {"stimer", "state", "direct extended"},
    {"synic", "state", ""},
    {"sysinfo", "type", "system bios baseBoard chassis"},
    {"system", "", "entry"},
    {"table", "type", ""},
    {"timer", "name tickpolicy present track frequency", ""},
    {"tlbflush", "state", "direct extended"},
    {"topology", "sockets cores threads", ""},
    {"tpm", "model", "backend"},
    {"type", "arch machine", ""},
    {"uid", "", ""},
    {"vapic", "state", ""},
    {"vcpu", "placement", ""},
    {"vcpupin", "vcpu cpuset", ""},
    {"vcpus", "", "vcpu"},
    {"vcpus/vcpu", "id enabled hotpluggable", ""},
    {"vendor_id", "state value", ""},
    {"video", "", "model"},
    {"video/model", "type heads ram vram vgamem", ""},
    {"vmport", "state", ""},
    {"vpindex", "state", ""},
    {"vsock", "model", "cid"},
    {"watchdog", "model action", "alias address"},
});
static_assert(std::ranges::is_sorted(shape_table, {}, &Shape::element));

const Shape* find(std::string_view parent, std::string_view element) {
  // "parent/element" without making one: rows are few and sorted, so those of one parent stand together.
  const auto key = [&](const Shape& row) {
    const auto slash = row.element.find('/');
    const bool below = slash != row.element.npos;
    return std::pair(below ? row.element.substr(0, slash) : row.element, below ? row.element.substr(slash + 1) : "");
  };
  const auto wanted = parent.empty() ? std::pair(element, std::string_view()) : std::pair(parent, element);
  const auto* found = std::ranges::lower_bound(shape_table, wanted, {}, key);
  return found != shape_table.end() && key(*found) == wanted ? found : nullptr;
}

}  // namespace

std::span<const Shape> catalogue() { return shape_table; }

const Shape* shape_of(std::string_view parent, std::string_view element) {
  const Shape* special = parent.empty() ? nullptr : find(parent, element);
  return special ? special : find({}, element);
}

std::size_t rank_in(std::string_view names, std::string_view word) {
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = std::min(names.find(' ', at), names.size());
    if (names.substr(at, end - at) == word) return at;
    at = end + 1;
  }
  return names.size();
}

}  // namespace vg::domain
