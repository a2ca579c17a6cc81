#include "offline/reasons.h"

#include <algorithm>
#include <array>

namespace vg::offline {
namespace {

struct Reason {
  std::string_view subject;
  std::string_view why;
};

constexpr std::string_view gone = "KubeVirt has dropped what implemented it, so the setting would have no effect.";
constexpr std::string_view hotplug =
    "A volume is attached to a guest that runs: only some buses can take a device then, and the VMI must stay "
    "consistent.";
constexpr std::string_view changed_while_running =
    "The guest runs with what it was started with; only what can be changed under it may be changed.";
constexpr std::string_view per_architecture = "Firmware and devices differ from architecture to architecture.";

// In alphabetical order.
constexpr std::array reasons = std::to_array<Reason>({
    {"ACR",
     "Credentials reach the guest through cloud-init or the guest agent, and the way that is named must be there."},
    {"AFF", "The scheduler takes affinity as it stands; what it cannot read would leave the VM unscheduled."},
    {"AMD", per_architecture},
    {"ARC", "Machine type, firmware and defaults follow from the architecture, so it must be one that is supported."},
    {"ARM", per_architecture},
    {"BA", "A backup belongs to one VM, and two at once would take the same checkpoints."},
    {"BOOT", "The firmware tries devices by these numbers; two of the same leave the order open."},
    {"CD", "The path names the image inside of the container, from which the disk is made."},
    {"CF", "The instance type sizes the VM; a value of the VM's own beside it would leave open which one counts."},
    {"CL",
     "A clone copies a source that exists to a target that does not, by patches and filters that must be readable."},
    {"CLI",
     "cloud-init reads one source of data of limited size; what it cannot decode is lost to the guest without a word."},
    {"CPU", "Topology and features are handed to the hypervisor as they stand."},
    {"D", "New VMs get this interface; one that the cluster forbids would make every VM fail."},
    {"DHCP", "The guest's lease carries these options in a limited, numbered format."},
    {"DISC", gone},
    {"DISK", "Every disk becomes a device of the guest: its names must be unique, its bus and address must exist."},
    {"DNS", "Resolver settings are written into the pod, which has the same rules."},
    {"DRA", "A device that is claimed is found by the names of claim and request, which must lead somewhere."},
    {"DVT", "The volumes of these templates are made with the VM, and by this name the VM finds them."},
    {"DWM", "Metrics of the host are shown to the guest only where the cluster has allowed it."},
    {"E", "Deleting the pod of a VMI that can be migrated would end its guest, so it is migrated first."},
    {"EVI", "What happens to the VMI when its node is drained follows from this word."},
    {"EX", "An export copies the volumes of one source, whose kind decides how they are found."},
    {"FG", gone},
    {"FS", "A shared file system lets the guest into a volume directly, which the cluster has to allow."},
    {"FW", "The boot loader, its variables and its tables are given to the VM together, and some exclude each other."},
    {"G", gone},
    {"GPU", "Only one display can show the guest before its driver is loaded."},
    {"GRC", "Memory of these devices is shared with their node, which has to be arranged as a whole."},
    {"HDISK", "The file lies on a node's own disk, so the cluster has to allow it, and path and type must be clear."},
    {"HDV", "Devices of a node are given away only where the cluster has allowed it."},
    {"HP", hotplug},
    {"HPD", hotplug},
    {"HV", "These features of Hyper-V build on one another; the hypervisor does not start with one alone."},
    {"I", "The topology must come out in whole sockets, cores and threads."},
    {"ID", "Host name and subdomain become names in DNS."},
    {"IF", "An interface becomes a device of the guest: name, model and addresses must be ones that it can have."},
    {"IFB", "A binding says how the interface is connected; each needs a network of its kind."},
    {"IFS", "An interface can be taken away from or given to a guest that runs only where the binding supports it."},
    {"INP", "Input devices exist on these buses and of these types only."},
    {"IOT", "The threads for disks are divided by this policy, which must be clear about how many there are."},
    {"IT", "Every VM of this type gets these values."},
    {"ITW", "The VM itself is the place for it; a later release may drop it here."},
    {"L", "What may be added while the guest runs is bounded by what it was started with."},
    {"LS",
     "Encrypted guests exclude features through which their memory could be read, and need a boot loader that "
     "measures."},
    {"LSL", "A label selector that cannot be read selects nothing, or everything."},
    {"M", "Instance type and preference are found by name, kind and revision, or inferred from a volume."},
    {"MACH", "Guests of other machine types are not known to work with the nodes of this cluster."},
    {"MAP", "Disks and volumes are tied by their names, each to one of a kind that fits."},
    {"MC", "A migration moves one VMI that exists and runs, and one at a time."},
    {"MEM", "The guest gets exactly this memory from its node; amounts that contradict each other cannot be given."},
    {"META", "KubeVirt finds its own objects by these labels and annotations."},
    {"MP", "Migrations that the policy selects run with these limits."},
    {"MU", "A migration that has begun cannot become another one."},
    {"NDRA", "A network device that is claimed needs its claim, its gate, and a binding that can use it."},
    {"NET", "A pod has one network of its own, and every network needs an interface of the same name."},
    {"NUM", "The guest's memory nodes follow those of the host, which needs CPUs and pages of its own."},
    {"P", "Whether the VM runs follows from one of these two fields, and from nothing else."},
    {"PAN", per_architecture},
    {"PF", "Every VM with this preference gets these values where it says nothing itself."},
    {"PFW", "The old names mean the same and may go with a later release."},
    {"PIN", "CPUs can be dedicated only in whole numbers, with requests equal to limits."},
    {"PL", "A plugin is called by these expressions; one that fails would fail every VM it is asked about."},
    {"PO", "A pool finds its VMs by labels that its template has to give them."},
    {"PORT", "Ports are forwarded to the guest by number, protocol and name."},
    {"PR", "A reservation on a shared disk reaches other guests, so the cluster has to allow it."},
    {"PRB", "A probe has one way of asking, and thresholds that can be met."},
    {"PRNG", "Ranges of ports that overlap, or are too many, cannot be forwarded."},
    {"Q", "The amounts must be ones that memory can be divided into."},
    {"R", "Guests of this preference are not known to work with less."},
    {"RBT", "What a reboot of the guest does to the VMI is new, so the cluster has to allow it."},
    {"RE", "A restore replaces the volumes of a VM by those of a snapshot, so both must be there and at rest."},
    {"RES", "Requests and limits become those of the pod, which has the same rules."},
    {"RS", "A replica set finds its VMIs by labels that its template has to give them."},
    {"RT", "A guest with deadlines must not share its CPUs, nor move in memory."},
    {"S39", per_architecture},
    {"SN", "A snapshot is taken of a VM, and is what it is from then on."},
    {"SND", "Sound devices exist of these models only."},
    {"STR", "A guest can be started paused; other strategies do not exist."},
    {"T", "A VM without a template has nothing to run."},
    {"TSC", "The scheduler spreads VMs by these numbers and labels."},
    {"UPD", changed_while_running},
    {"UTIL", "These volumes are attached by KubeVirt's own components to a VMI that runs."},
    {"VID", "A video device needs the graphics that the other field turns off."},
    {"VMST", "Volumes that are being copied must stay what they are."},
    {"VOL", "Every volume has one source, found by a name that nothing else has."},
    {"VR", hotplug},
    {"VSK", "A channel from the guest to its host exists only where the cluster has allowed it."},
    {"W", "runStrategy says more, and a later release may drop the other field."},
});

}  // namespace

std::string_view reason_of(std::string_view id) {
  static constexpr std::string_view digits = "0123456789";
  // "S39" is a subject with a number in it: the letters end where the counting begins.
  const std::string_view counted = id.substr(0, id.find('-'));
  const std::string_view subject = id.contains('-') ? counted : counted.substr(0, counted.find_first_of(digits));
  const auto* found = std::ranges::lower_bound(reasons, subject, {}, &Reason::subject);
  return found != reasons.end() && found->subject == subject ? found->why : std::string_view();
}

}  // namespace vg::offline
