#include "admission/rules/disks.h"
#include "admission/rules/machine/families.h"
#include "api/views/vmi_devices.h"
#include "api/views/vmi_domain.h"

namespace vg::admission {
namespace {

void check_disk_list(const Machine& machine, Causes& causes) {
  const Place domain = machine.place.field("domain"), devices = domain.field("devices");
  check_disks(machine.spec.domain().devices().get("disks"), devices.field("disks"), causes);
}

}  // namespace

const MachineFamily disk_list_family = {.check = check_disk_list, .list = list_disk_rules};

}  // namespace vg::admission
