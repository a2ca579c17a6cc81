#include "admission/rules/examples.h"

namespace vg::admission {
namespace {

using std::string_view;

constexpr string_view no_declarative_hotplug =
    R"({"developerConfiguration":{"disabledFeatureGates":["DeclarativeHotplugVolumes"]}})";
constexpr string_view downward_metrics_on = R"({"developerConfiguration":{"featureGates":["DownwardMetrics"]}})";

constexpr Example disk_volumes_example_rows[] = {
    {"MAP-01", vmi, R"({"object":{"spec":{"domain":{"devices":{"disks":[{"name":"a","cdrom":{"bus":"sata"}}]}}}}})",
     R"({"object":{"spec":{"domain":{"devices":{"disks":[{"name":"a","disk":{"bus":"virtio"}}]}}}}})",
     "FieldValueInvalid spec.domain.devices.disks[0].name"},
    {"MAP-02", vmi,
     R"({"object":{"spec":{"domain":{"devices":{"disks":[{"name":"a","cdrom":{"bus":"sata"}}]}},
         "volumes":[{"name":"a","emptyDisk":{"capacity":"1Gi"}}]}}})",
     R"({"object":{"spec":{"domain":{"devices":{"disks":[{"name":"a","cdrom":{"bus":"sata"}}]}}}}})",
     "FieldValueInvalid spec.domain.devices.disks[0].name", no_declarative_hotplug},
    {"MAP-03", vmi,
     R"({"object":{"spec":{"domain":{"devices":{"disks":[{"name":"a","lun":{"bus":"scsi"}}]}},
         "volumes":[{"name":"a","dataVolume":{"name":"d"}}]}}})",
     R"({"object":{"spec":{"domain":{"devices":{"disks":[{"name":"a","lun":{"bus":"scsi"}}]}},
         "volumes":[{"name":"a","emptyDisk":{"capacity":"1Gi"}}]}}})",
     "FieldValueInvalid spec.domain.devices.disks[0].lun"},
    {"MAP-04", vmi,
     R"({"object":{"spec":{"domain":{"devices":{"disks":[{"name":"a","disk":{}}]}},
         "volumes":[{"name":"a","downwardMetrics":{}}]}}})",
     R"({"object":{"spec":{"domain":{"devices":{"disks":[{"name":"a","cdrom":{}}]}},
         "volumes":[{"name":"a","downwardMetrics":{}}]}}})",
     "FieldValueRequired spec.domain.devices.disks[0].disk", downward_metrics_on},
    {"MAP-05", vmi,
     R"({"object":{"spec":{"domain":{"devices":{"disks":[{"name":"a","disk":{"bus":"virtio"}}]}},
         "volumes":[{"name":"a","downwardMetrics":{}}]}}})",
     R"({"object":{"spec":{"domain":{"devices":{"disks":[{"name":"a","disk":{"bus":"sata"}}]}},
         "volumes":[{"name":"a","downwardMetrics":{}}]}}})",
     "FieldValueInvalid spec.domain.devices.disks[0].disk.bus", downward_metrics_on},
    {"BOOT-02", vmi,
     R"({"object":{"spec":{"domain":{"devices":{"disks":[{"name":"a","cdrom":{},"bootOrder":1},
         {"name":"b","cdrom":{},"bootOrder":2}]}}}}})",
     R"({"object":{"spec":{"domain":{"devices":{"disks":[{"name":"a","cdrom":{},"bootOrder":1},
         {"name":"b","cdrom":{},"bootOrder":1}]}}}}})",
     "FieldValueInvalid spec.domain.devices.disks[1].bootOrder"},
    {"BOOT-03", vmi,
     R"({"object":{"spec":{"domain":{"devices":{"interfaces":[{"name":"n","masquerade":{},"bootOrder":1}]}},
         "networks":[{"name":"n","pod":{}}]}}})",
     R"({"object":{"spec":{"domain":{"devices":{"interfaces":[{"name":"n","masquerade":{},"bootOrder":0}]}},
         "networks":[{"name":"n","pod":{}}]}}})",
     "FieldValueInvalid spec[0].bootOrder"},
    {"BOOT-04", vmi,
     R"({"object":{"spec":{"domain":{"devices":{"disks":[{"name":"a","cdrom":{},"bootOrder":1}],
         "interfaces":[{"name":"n","masquerade":{},"bootOrder":2}]}},"networks":[{"name":"n","pod":{}}]}}})",
     R"({"object":{"spec":{"domain":{"devices":{"disks":[{"name":"a","cdrom":{},"bootOrder":1}],
         "interfaces":[{"name":"n","masquerade":{},"bootOrder":1}]}},"networks":[{"name":"n","pod":{}}]}}})",
     "FieldValueInvalid spec.domain.devices.interfaces[0].bootOrder"},
    {"MAP-06", vmi,
     R"({"object":{"spec":{"domain":{"devices":{"filesystems":[{"name":"a","virtiofs":{}}]}},
         "volumes":[{"name":"a","configMap":{"name":"c"}}]}}})",
     R"({"object":{"spec":{"volumes":[{"name":"a","configMap":{"name":"c"}}]}}})",
     "FieldValueInvalid spec.domain.volumes[0].name"},
    {"MAP-07", vmi,
     R"({"object":{"spec":{"domain":{"devices":{"filesystems":[{"name":"a","virtiofs":{}}]}},
         "volumes":[{"name":"a","containerPath":{"path":"/data"}}]}}})",
     R"({"object":{"spec":{"domain":{"devices":{"filesystems":[{"name":"a","virtiofs":{}}],
         "disks":[{"name":"a","disk":{}}]}},"volumes":[{"name":"a","containerPath":{"path":"/data"}}]}}})",
     "FieldValueInvalid spec.domain.volumes[0]"},
    {"MAP-08", vmi,
     R"({"object":{"spec":{"domain":{"devices":{"filesystems":[{"name":"a","virtiofs":{}}]}},
         "volumes":[{"name":"a","containerPath":{"path":"/data"}}]}}})",
     R"({"object":{"spec":{"volumes":[{"name":"a","containerPath":{"path":"/data"}}]}}})",
     "FieldValueInvalid spec.domain.volumes[0]"},
    {"MAP-09", vmi,
     R"({"object":{"spec":{"domain":{"devices":{"filesystems":[{"name":"a","virtiofs":{}}]}},
         "volumes":[{"name":"a","containerPath":{"path":"/var/run/secrets"}}]}}})",
     R"({"object":{"spec":{"domain":{"devices":{"filesystems":[{"name":"a","virtiofs":{}}]}},
         "volumes":[{"name":"a","containerPath":{"path":"/var/run/kubevirt-private/x"}}]}}})",
     "FieldValueInvalid spec.domain.volumes[0].containerPath.path"},
};

}  // namespace

std::span<const Example> disk_volumes_examples() { return disk_volumes_example_rows; }

}  // namespace vg::admission
