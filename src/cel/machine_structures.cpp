// The structures that a VirtualMachineInstance is made of, by name.
// Written by tools/structures_import.py from a release's sources; do not edit.
// The notation is explained in structures.h.
#include "cel/structures.h"

namespace vg::cel {
namespace {

// clang-format off
constexpr Structure machine_structure_rows[] = {
    {"intstr.IntOrString", "Type/Type:int IntVal/IntVal:int StrVal/StrVal:string"},
    {"resource.Quantity", "Format/Format:string"},
    {"resource.infDecAmount", ""},
    {"resource.int64Amount", ""},
    {"v1.ACPI", "SlicNameRef:string MsdmNameRef:string"},
    {"v1.AccessCredential",
     "SSHPublicKey/sshPublicKey:SSHPublicKeyAccessCredential UserPassword:UserPasswordAccessCredential"},
    {"v1.AccessCredentialSecretSource", "SecretName:string"},
    {"v1.Affinity", "NodeAffinity:NodeAffinity PodAffinity:PodAffinity PodAntiAffinity:PodAntiAffinity"},
    {"v1.BIOS", "UseSerial:bool"},
    {"v1.BlockSize", "Custom:CustomBlockSize MatchVolume:FeatureState"},
    {"v1.Bootloader", "BIOS/bios:BIOS EFI/efi:EFI"},
    {"v1.CDRomTarget", "Bus:string ReadOnly/readonly:bool Tray:string"},
    {"v1.CPU",
     "Cores:uint Sockets:uint MaxSockets:uint Threads:uint Model:string Features:[]CPUFeature "
     "DedicatedCPUPlacement/dedicatedCpuPlacement:bool NUMA/numa:NUMA IsolateEmulatorThread:bool Realtime:Realtime"},
    {"v1.CPUFeature", "Name:string Policy:string"},
    {"v1.CPUTopology", "Cores:uint Sockets:uint Threads:uint"},
    {"v1.ChangedBlockTrackingStatus", "State:string BackupStatus:VirtualMachineInstanceBackupStatus"},
    {"v1.Chassis", "Manufacturer:string Version:string Serial:string Asset:string Sku:string"},
    {"v1.ClaimRequest", "ClaimName:string RequestName:string"},
    {"v1.ClientPassthroughDevices", ""},
    {"v1.Clock", "ClockOffset/:ClockOffset Timer:Timer UTC/:ClockOffsetUTC Timezone/:string"},
    {"v1.ClockOffset", "UTC/utc:ClockOffsetUTC Timezone:string"},
    {"v1.ClockOffsetUTC", "OffsetSeconds:int"},
    {"v1.CloudInitConfigDriveSource",
     "UserDataSecretRef/secretRef:LocalObjectReference UserDataBase64:string UserData:string "
     "NetworkDataSecretRef:LocalObjectReference NetworkDataBase64:string NetworkData:string"},
    {"v1.CloudInitNoCloudSource",
     "UserDataSecretRef/secretRef:LocalObjectReference UserDataBase64:string UserData:string "
     "NetworkDataSecretRef:LocalObjectReference NetworkDataBase64:string NetworkData:string"},
    {"v1.ConfigDriveSSHPublicKeyAccessCredentialPropagation", ""},
    {"v1.ConfigMapVolumeSource",
     "LocalObjectReference/:LocalObjectReference Optional:bool VolumeLabel:string Name/:string"},
    {"v1.ContainerDiskInfo", "Checksum:uint"},
    {"v1.ContainerDiskSource", "Image:string ImagePullSecret:string Path:string ImagePullPolicy:string"},
    {"v1.ContainerPathVolumeSource", "Path:string ReadOnly:bool"},
    {"v1.CustomBlockSize", "Logical:uint Physical:uint DiscardGranularity:uint"},
    {"v1.DHCPOptions",
     "BootFileName:string TFTPServerName/tftpServerName:string NTPServers/ntpServers:[]string "
     "PrivateOptions:[]DHCPPrivateOptions"},
    {"v1.DHCPPrivateOptions", "Option:int Value:string"},
    {"v1.DataVolumeSource", "Name:string Hotpluggable:bool"},
    {"v1.DeprecatedInterfaceMacvtap", ""},
    {"v1.DeprecatedInterfacePasst", ""},
    {"v1.DeprecatedInterfaceSlirp", ""},
    {"v1.Devices",
     "UseVirtioTransitional:bool DisableHotplug:bool Disks:[]Disk Watchdog:Watchdog Interfaces:[]Interface "
     "Inputs:[]Input AutoattachPodInterface:bool AutoattachGraphicsDevice:bool AutoattachSerialConsole:bool "
     "LogSerialConsole:bool AutoattachMemBalloon:bool AutoattachInputDevice:bool AutoattachVSOCK:bool Rng:Rng "
     "BlockMultiQueue:bool NetworkInterfaceMultiQueue/networkInterfaceMultiqueue:bool GPUs/gpus:[]GPU "
     "DownwardMetrics:DownwardMetrics PanicDevices:[]PanicDevice Filesystems:[]Filesystem HostDevices:[]HostDevice "
     "ClientPassthrough:ClientPassthroughDevices Sound:SoundDevice TPM/tpm:TPMDevice Video:VideoDevice"},
    {"v1.Diag288Watchdog", "Action:string"},
    {"v1.Disk",
     "Name:string DiskDevice/:DiskDevice BootOrder:uint Serial:string DedicatedIOThread:bool Cache:string IO/io:string "
     "Tag:string BlockSize:BlockSize Shareable:bool ErrorPolicy:string ChangedBlockTracking:bool Disk/:DiskTarget "
     "LUN/:LunTarget CDRom/:CDRomTarget"},
    {"v1.DiskDevice", "Disk:DiskTarget LUN/lun:LunTarget CDRom/cdrom:CDRomTarget"},
    {"v1.DiskIOThreads", "SupplementalPoolThreadCount:uint"},
    {"v1.DiskTarget", "Bus:string ReadOnly/readonly:bool PciAddress:string"},
    {"v1.DomainMemoryDumpInfo", "StartTimestamp:Time EndTimestamp:Time ClaimName:string TargetFileName:string"},
    {"v1.DomainSpec",
     "Resources:ResourceRequirements CPU/cpu:CPU Memory:Memory Machine:Machine Firmware:Firmware Clock:Clock "
     "Features:Features Devices:Devices IOThreadsPolicy/ioThreadsPolicy:string IOThreads/ioThreads:DiskIOThreads "
     "Chassis:Chassis LaunchSecurity:LaunchSecurity RebootPolicy:string"},
    {"v1.DownwardAPIVolumeFile",
     "Path:string FieldRef:ObjectFieldSelector ResourceFieldRef:ResourceFieldSelector Mode:int"},
    {"v1.DownwardAPIVolumeSource", "Fields:[]DownwardAPIVolumeFile VolumeLabel:string"},
    {"v1.DownwardMetrics", ""},
    {"v1.DownwardMetricsVolumeSource", ""},
    {"v1.EFI", "SecureBoot:bool Persistent:bool"},
    {"v1.EmptyDiskSource", "Capacity:resource.Quantity"},
    {"v1.EphemeralVolumeSource", "PersistentVolumeClaim:PersistentVolumeClaimVolumeSource"},
    {"v1.ExecAction", "Command:[]string"},
    {"v1.ExperimentalMigrationOptions", "StallDetector:StallDetectorOptions Compression:string"},
    {"v1.FeatureAPIC", "FeatureState/:FeatureState EndOfInterrupt:bool Enabled/:bool"},
    {"v1.FeatureHyperv",
     "Relaxed:FeatureState VAPIC/vapic:FeatureState Spinlocks:FeatureSpinlocks VPIndex/vpindex:FeatureState "
     "Runtime:FeatureState SyNIC/synic:FeatureState SyNICTimer/synictimer:SyNICTimer Reset:FeatureState "
     "VendorID/vendorid:FeatureVendorID Frequencies:FeatureState Reenlightenment:FeatureState "
     "TLBFlush/tlbflush:TLBFlush IPI/ipi:FeatureState EVMCS/evmcs:FeatureState"},
    {"v1.FeatureKVM", "Hidden:bool"},
    {"v1.FeatureSpinlocks", "FeatureState/:FeatureState Retries/spinlocks:uint Enabled/:bool"},
    {"v1.FeatureState", "Enabled:bool"},
    {"v1.FeatureVendorID", "FeatureState/:FeatureState VendorID/vendorid:string Enabled/:bool"},
    {"v1.Features",
     "ACPI/acpi:FeatureState APIC/apic:FeatureAPIC HypervPassthrough:HyperVPassthrough Hyperv:FeatureHyperv "
     "SMM/smm:FeatureState KVM/kvm:FeatureKVM Pvspinlock:FeatureState"},
    {"v1.FieldsV1", "Raw/:bytes"},
    {"v1.Filesystem", "Name:string Virtiofs:FilesystemVirtiofs"},
    {"v1.FilesystemVirtiofs", ""},
    {"v1.Firmware", "UUID/uuid:string Bootloader:Bootloader Serial:string KernelBoot:KernelBoot ACPI/acpi:ACPI"},
    {"v1.GPU",
     "Name:string DeviceName:string ClaimRequest/:ClaimRequest VirtualGPUOptions:VGPUOptions Tag:string "
     "ClaimName/:string RequestName/:string"},
    {"v1.GuestAgentPing", ""},
    {"v1.HPETTimer", "TickPolicy:string Enabled/present:bool"},
    {"v1.HTTPGetAction",
     "Path:string Port:intstr.IntOrString Host:string Scheme:string HTTPHeaders/httpHeaders:[]HTTPHeader"},
    {"v1.HTTPHeader", "Name:string Value:string"},
    {"v1.Handler",
     "Exec:ExecAction GuestAgentPing:GuestAgentPing HTTPGet/httpGet:HTTPGetAction TCPSocket/tcpSocket:TCPSocketAction"},
    {"v1.HostDevice",
     "Name:string DeviceName:string ClaimRequest/:ClaimRequest Tag:string ClaimName/:string RequestName/:string"},
    {"v1.HostDisk", "Path:string Type:string Capacity:resource.Quantity Shared:bool"},
    {"v1.HotplugVolumeStatus", "AttachPodName:string AttachPodUID:string"},
    {"v1.Hugepages", "PageSize:string"},
    {"v1.HyperVPassthrough", "Enabled:bool"},
    {"v1.HypervTimer", "Enabled/present:bool"},
    {"v1.I6300ESBWatchdog", "Action:string"},
    {"v1.InitrdInfo", "Checksum:uint"},
    {"v1.Input", "Bus:string Type:string Name:string"},
    {"v1.Interface",
     "Name:string Model:string InterfaceBindingMethod/:InterfaceBindingMethod Binding:PluginBinding Ports:[]Port "
     "PortRanges:[]PortRange MacAddress:string BootOrder:uint PciAddress:string DHCPOptions/dhcpOptions:DHCPOptions "
     "Tag:string ACPIIndex/acpiIndex:int State:string Bridge/:InterfaceBridge "
     "DeprecatedSlirp/:DeprecatedInterfaceSlirp Masquerade/:InterfaceMasquerade SRIOV/:InterfaceSRIOV "
     "DeprecatedMacvtap/:DeprecatedInterfaceMacvtap DeprecatedPasst/:DeprecatedInterfacePasst "
     "PasstBinding/:InterfacePasstBinding"},
    {"v1.InterfaceBindingMethod",
     "Bridge:InterfaceBridge DeprecatedSlirp/slirp:DeprecatedInterfaceSlirp Masquerade:InterfaceMasquerade "
     "SRIOV/sriov:InterfaceSRIOV DeprecatedMacvtap/macvtap:DeprecatedInterfaceMacvtap "
     "DeprecatedPasst/passt:DeprecatedInterfacePasst PasstBinding:InterfacePasstBinding"},
    {"v1.InterfaceBridge", ""},
    {"v1.InterfaceMasquerade", ""},
    {"v1.InterfacePasstBinding", ""},
    {"v1.InterfaceSRIOV", ""},
    {"v1.KVMTimer", "Enabled/present:bool"},
    {"v1.KernelBoot", "KernelArgs:string Container:KernelBootContainer"},
    {"v1.KernelBootContainer",
     "Image:string ImagePullSecret:string ImagePullPolicy:string KernelPath:string InitrdPath:string"},
    {"v1.KernelBootStatus", "KernelInfo:KernelInfo InitrdInfo:InitrdInfo"},
    {"v1.KernelInfo", "Checksum:uint"},
    {"v1.LabelSelector", "MatchLabels:map[string]string MatchExpressions:[]LabelSelectorRequirement"},
    {"v1.LabelSelectorRequirement", "Key:string Operator:string Values:[]string"},
    {"v1.LaunchSecurity", "SEV/sev:SEV SNP/snp:SEVSNP TDX/tdx:TDX"},
    {"v1.LocalObjectReference", "Name:string"},
    {"v1.LunTarget", "Bus:string ReadOnly/readonly:bool Reservation:bool"},
    {"v1.Machine", "Type:string"},
    {"v1.ManagedFieldsEntry",
     "Manager:string Operation:string APIVersion/apiVersion:string Time:Time FieldsType:string FieldsV1:FieldsV1 "
     "Subresource:string"},
    {"v1.Memory",
     "Hugepages:Hugepages Guest:resource.Quantity MaxGuest:resource.Quantity ReservedOverhead:ReservedOverhead"},
    {"v1.MemoryDumpVolumeSource",
     "PersistentVolumeClaimVolumeSource/:PersistentVolumeClaimVolumeSource Hotpluggable/:bool ClaimName/:string "
     "ReadOnly/:bool"},
    {"v1.MemoryStatus",
     "GuestAtBoot:resource.Quantity GuestCurrent:resource.Quantity GuestRequested:resource.Quantity "
     "MemoryOverhead:resource.Quantity"},
    {"v1.MultusNetwork", "NetworkName:string Default:bool"},
    {"v1.NUMA", "GuestMappingPassthrough:NUMAGuestMappingPassthrough"},
    {"v1.NUMAGuestMappingPassthrough", ""},
    {"v1.Network",
     "Name:string NetworkSource/:NetworkSource Pod/:PodNetwork Multus/:MultusNetwork ResourceClaim/:ClaimRequest"},
    {"v1.NetworkSource", "Pod:PodNetwork Multus:MultusNetwork ResourceClaim:ClaimRequest"},
    {"v1.NoCloudSSHPublicKeyAccessCredentialPropagation", ""},
    {"v1.NodeAffinity",
     "RequiredDuringSchedulingIgnoredDuringExecution:NodeSelector "
     "PreferredDuringSchedulingIgnoredDuringExecution:[]PreferredSchedulingTerm"},
    {"v1.NodeSelector", "NodeSelectorTerms:[]NodeSelectorTerm"},
    {"v1.NodeSelectorRequirement", "Key:string Operator:string Values:[]string"},
    {"v1.NodeSelectorTerm", "MatchExpressions:[]NodeSelectorRequirement MatchFields:[]NodeSelectorRequirement"},
    {"v1.ObjectFieldSelector", "APIVersion/apiVersion:string FieldPath:string"},
    {"v1.ObjectMeta",
     "Name:string GenerateName:string Namespace:string SelfLink:string UID/uid:string ResourceVersion:string "
     "Generation:int CreationTimestamp:Time DeletionTimestamp:Time DeletionGracePeriodSeconds:int "
     "Labels:map[string]string Annotations:map[string]string OwnerReferences:[]OwnerReference Finalizers:[]string "
     "ManagedFields:[]ManagedFieldsEntry"},
    {"v1.OwnerReference",
     "APIVersion/apiVersion:string Kind:string Name:string UID/uid:string Controller:bool BlockOwnerDeletion:bool"},
    {"v1.PITTimer", "TickPolicy:string Enabled/present:bool"},
    {"v1.PanicDevice", "Model:string"},
    {"v1.PersistentVolumeClaimInfo",
     "ClaimName:string AccessModes:[]string VolumeMode:string Capacity:map[string]resource.Quantity "
     "Requests:map[string]resource.Quantity Preallocated:bool FilesystemOverhead:string"},
    {"v1.PersistentVolumeClaimVolumeSource",
     "PersistentVolumeClaimVolumeSource/:PersistentVolumeClaimVolumeSource Hotpluggable:bool ClaimName/:string "
     "ReadOnly/:bool"},
    {"v1.PluginBinding", "Name:string"},
    {"v1.PodAffinity",
     "RequiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm "
     "PreferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm"},
    {"v1.PodAffinityTerm",
     "LabelSelector:LabelSelector Namespaces:[]string TopologyKey:string NamespaceSelector:LabelSelector "
     "MatchLabelKeys:[]string MismatchLabelKeys:[]string"},
    {"v1.PodAntiAffinity",
     "RequiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm "
     "PreferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm"},
    {"v1.PodDNSConfig", "Nameservers:[]string Searches:[]string Options:[]PodDNSConfigOption"},
    {"v1.PodDNSConfigOption", "Name:string Value:string"},
    {"v1.PodNetwork", "VMNetworkCIDR/vmNetworkCIDR:string VMIPv6NetworkCIDR/vmIPv6NetworkCIDR:string"},
    {"v1.Port", "Name:string Protocol:string Port:int"},
    {"v1.PortRange", "Protocol:string Start:int End:int"},
    {"v1.PreferredSchedulingTerm", "Weight:int Preference:NodeSelectorTerm"},
    {"v1.Probe",
     "Handler/:Handler InitialDelaySeconds:int TimeoutSeconds:int PeriodSeconds:int SuccessThreshold:int "
     "FailureThreshold:int Exec/:ExecAction GuestAgentPing/:GuestAgentPing HTTPGet/:HTTPGetAction "
     "TCPSocket/:TCPSocketAction"},
    {"v1.QemuGuestAgentSSHPublicKeyAccessCredentialPropagation", "Users:[]string"},
    {"v1.QemuGuestAgentUserPasswordAccessCredentialPropagation", ""},
    {"v1.RTCTimer", "TickPolicy:string Enabled/present:bool Track:string"},
    {"v1.Realtime", "Mask:string"},
    {"v1.ReservedOverhead", "AddedOverhead:resource.Quantity MemLock:string"},
    {"v1.ResourceFieldSelector", "ContainerName:string Resource:string Divisor:resource.Quantity"},
    {"v1.ResourceRequirements",
     "Requests:map[string]resource.Quantity Limits:map[string]resource.Quantity OvercommitGuestOverhead:bool"},
    {"v1.Rng", ""},
    {"v1.SEV", "Policy:SEVPolicy Attestation:SEVAttestation Session:string DHCert/dhCert:string"},
    {"v1.SEVAttestation", ""},
    {"v1.SEVPolicy", "EncryptedState:bool"},
    {"v1.SEVSNP", ""},
    {"v1.SSHPublicKeyAccessCredential",
     "Source:SSHPublicKeyAccessCredentialSource PropagationMethod:SSHPublicKeyAccessCredentialPropagationMethod"},
    {"v1.SSHPublicKeyAccessCredentialPropagationMethod",
     "ConfigDrive:ConfigDriveSSHPublicKeyAccessCredentialPropagation "
     "NoCloud:NoCloudSSHPublicKeyAccessCredentialPropagation "
     "QemuGuestAgent:QemuGuestAgentSSHPublicKeyAccessCredentialPropagation"},
    {"v1.SSHPublicKeyAccessCredentialSource", "Secret:AccessCredentialSecretSource"},
    {"v1.SecretVolumeSource", "SecretName:string Optional:bool VolumeLabel:string"},
    {"v1.ServiceAccountVolumeSource", "ServiceAccountName:string"},
    {"v1.SoundDevice", "Name:string Model:string"},
    {"v1.StallDetectorOptions",
     "StallMargin:int EwmaAlpha:string StallProgressTimeout:uint SwitchoverTimeout:uint PrecopyPossibleFactor:string "
     "PatienceWindowDecayFactor:string SearchLocalMinima:bool CompletionTimeoutFactor:string"},
    {"v1.StorageMigratedVolumeInfo",
     "VolumeName:string SourcePVCInfo:PersistentVolumeClaimInfo DestinationPVCInfo:PersistentVolumeClaimInfo"},
    {"v1.SyNICTimer", "FeatureState/:FeatureState Direct:FeatureState Enabled/:bool"},
    {"v1.SysprepSource", "Secret:LocalObjectReference ConfigMap:LocalObjectReference"},
    {"v1.TCPSocketAction", "Port:intstr.IntOrString Host:string"},
    {"v1.TDX", ""},
    {"v1.TLBFlush", "FeatureState/:FeatureState Direct:FeatureState Extended:FeatureState Enabled/:bool"},
    {"v1.TPMDevice", "Enabled:bool Persistent:bool"},
    {"v1.Time", "Time/Time:timestamp"},
    {"v1.Timer", "HPET/hpet:HPETTimer KVM/kvm:KVMTimer PIT/pit:PITTimer RTC/rtc:RTCTimer Hyperv:HypervTimer"},
    {"v1.Toleration", "Key:string Operator:string Value:string Effect:string TolerationSeconds:int"},
    {"v1.TopologyHints", "TSCFrequency/tscFrequency:int"},
    {"v1.TopologySpreadConstraint",
     "MaxSkew:int TopologyKey:string WhenUnsatisfiable:string LabelSelector:LabelSelector MinDomains:int "
     "NodeAffinityPolicy:string NodeTaintsPolicy:string MatchLabelKeys:[]string"},
    {"v1.TypeMeta", "Kind:string APIVersion/apiVersion:string"},
    {"v1.UserPasswordAccessCredential",
     "Source:UserPasswordAccessCredentialSource PropagationMethod:UserPasswordAccessCredentialPropagationMethod"},
    {"v1.UserPasswordAccessCredentialPropagationMethod",
     "QemuGuestAgent:QemuGuestAgentUserPasswordAccessCredentialPropagation"},
    {"v1.UserPasswordAccessCredentialSource", "Secret:AccessCredentialSecretSource"},
    {"v1.UtilityVolume",
     "Name:string PersistentVolumeClaimVolumeSource/:PersistentVolumeClaimVolumeSource Type:string ClaimName/:string "
     "ReadOnly/:bool"},
    {"v1.VGPUDisplayOptions", "Enabled:bool RamFB:FeatureState"},
    {"v1.VGPUOptions", "Display:VGPUDisplayOptions"},
    {"v1.VMIMConfigurationOptions",
     "NodeDrainTaintKey:string ParallelOutboundMigrationsPerNode:uint ParallelMigrationsPerCluster:uint "
     "AllowAutoConverge:bool BandwidthPerMigration:resource.Quantity CompletionTimeoutPerGiB:int MaxDowntimeMs:uint "
     "ProgressTimeout:int UtilityVolumesTimeout:int UnsafeMigrationOverride:bool AllowPostCopy:bool "
     "AllowWorkloadDisruption:bool DisableTLS:bool Network:string MatchSELinuxLevelOnMigration:bool "
     "ExperimentalMigrationOptions/experimental:ExperimentalMigrationOptions"},
    {"v1.VideoDevice", "Type:string"},
    {"v1.VirtualMachineInstance",
     "TypeMeta/:TypeMeta ObjectMeta/metadata:ObjectMeta Spec:VirtualMachineInstanceSpec "
     "Status:VirtualMachineInstanceStatus Kind/:string APIVersion/:string Name/:string GenerateName/:string "
     "Namespace/:string SelfLink/:string UID/:string ResourceVersion/:string Generation/:int CreationTimestamp/:Time "
     "DeletionTimestamp/:Time DeletionGracePeriodSeconds/:int Labels/:map[string]string Annotations/:map[string]string "
     "OwnerReferences/:[]OwnerReference Finalizers/:[]string ManagedFields/:[]ManagedFieldsEntry"},
    {"v1.VirtualMachineInstanceBackupStatus",
     "BackupName:string StartTimestamp:Time EndTimestamp:Time Completed:bool Failed:bool BackupMsg:string "
     "CheckpointName:string Volumes:[]v1alpha1.BackupVolumeInfo QuiesceStatus:string"},
    {"v1.VirtualMachineInstanceCommonMigrationState",
     "Node:string Pod:string MigrationUID:string DomainName:string DomainNamespace:string SyncAddress:string "
     "PersistentStatePVCName:string SelinuxContext:string VirtualMachineInstanceUID:string"},
    {"v1.VirtualMachineInstanceCondition",
     "Type:string Status:string LastProbeTime:Time LastTransitionTime:Time Reason:string Message:string"},
    {"v1.VirtualMachineInstanceGuestOSInfo",
     "Name:string KernelRelease:string Version:string PrettyName:string VersionID/versionId:string "
     "KernelVersion:string Machine:string ID/id:string"},
    {"v1.VirtualMachineInstanceMigrationSourceState",
     "VirtualMachineInstanceCommonMigrationState/:VirtualMachineInstanceCommonMigrationState "
     "NodeSelectors:map[string]string Node/:string Pod/:string MigrationUID/:string DomainName/:string "
     "DomainNamespace/:string SyncAddress/:string PersistentStatePVCName/:string SelinuxContext/:string "
     "VirtualMachineInstanceUID/:string"},
    {"v1.VirtualMachineInstanceMigrationState",
     "StartTimestamp:Time EndTimestamp:Time TargetNodeDomainReadyTimestamp:Time TargetNodeDomainDetected:bool "
     "TargetNodeAddress:string TargetDirectMigrationNodePorts:map[string]int TargetNode:string TargetPod:string "
     "TargetAttachmentPodUID:string SourceNode:string SourcePod:string Completed:bool Failed:bool AbortRequested:bool "
     "AbortStatus:string FailureReason:string MigrationUID/migrationUid:string Mode:string MigrationPolicyName:string "
     "VMIMConfigurationOptions/migrationConfiguration:VMIMConfigurationOptions TargetCPUSet:[]int "
     "TargetNodeTopology:string SourcePersistentStatePVCName:string TargetPersistentStatePVCName:string "
     "SourceState:VirtualMachineInstanceMigrationSourceState TargetState:VirtualMachineInstanceMigrationTargetState "
     "MigrationNetworkType:string TargetMemoryOverhead:resource.Quantity"},
    {"v1.VirtualMachineInstanceMigrationTargetState",
     "VirtualMachineInstanceCommonMigrationState/:VirtualMachineInstanceCommonMigrationState DomainReadyTimestamp:Time "
     "DomainDetected:bool NodeAddress:string DirectMigrationNodePorts:map[string]int AttachmentPodUID:string "
     "CPUSet/cpuSet:[]int NodeTopology:string Node/:string Pod/:string MigrationUID/:string DomainName/:string "
     "DomainNamespace/:string SyncAddress/:string PersistentStatePVCName/:string SelinuxContext/:string "
     "VirtualMachineInstanceUID/:string"},
    {"v1.VirtualMachineInstanceNetworkInterface",
     "IP/ipAddress:string MAC/mac:string Name:string IPs/ipAddresses:[]string PodInterfaceName:string "
     "InterfaceName:string InfoSource:string QueueCount:int LinkState:string"},
    {"v1.VirtualMachineInstancePhaseTransitionTimestamp", "Phase:string PhaseTransitionTimestamp:Time"},
    {"v1.VirtualMachineInstanceResourceClaim", "Name:string ResourceClaimName:string ResourceClaimTemplateName:string"},
    {"v1.VirtualMachineInstanceSpec",
     "PriorityClassName:string Domain:DomainSpec NodeSelector:map[string]string Affinity:Affinity SchedulerName:string "
     "ServiceAccountName:string Tolerations:[]Toleration TopologySpreadConstraints:[]TopologySpreadConstraint "
     "EvictionStrategy:string StartStrategy:string TerminationGracePeriodSeconds:int Volumes:[]Volume "
     "LivenessProbe:Probe ReadinessProbe:Probe Hostname:string Subdomain:string Networks:[]Network "
     "DNSPolicy/dnsPolicy:string DNSConfig/dnsConfig:PodDNSConfig AccessCredentials:[]AccessCredential "
     "Architecture:string ResourceClaims:[]VirtualMachineInstanceResourceClaim UtilityVolumes:[]UtilityVolume"},
    {"v1.VirtualMachineInstanceStatus",
     "NodeName:string Reason:string Conditions:[]VirtualMachineInstanceCondition Phase:string "
     "PhaseTransitionTimestamps:[]VirtualMachineInstancePhaseTransitionTimestamp "
     "Interfaces:[]VirtualMachineInstanceNetworkInterface GuestOSInfo:VirtualMachineInstanceGuestOSInfo "
     "MigrationState:VirtualMachineInstanceMigrationState MigrationMethod:string MigrationTransport:string "
     "QOSClass/qosClass:string LauncherContainerImageVersion:string EvacuationNodeName:string "
     "ActivePods:map[string]string VolumeStatus:[]VolumeStatus KernelBootStatus:KernelBootStatus "
     "FSFreezeStatus/fsFreezeStatus:string TopologyHints:TopologyHints VirtualMachineRevisionName:string "
     "RuntimeUser:uint VSOCKCID/VSOCKCID:uint SelinuxContext:string Machine:Machine CurrentCPUTopology:CPUTopology "
     "Memory:MemoryStatus MigratedVolumes:[]StorageMigratedVolumeInfo ChangedBlockTracking:ChangedBlockTrackingStatus"},
    {"v1.Volume",
     "Name:string VolumeSource/:VolumeSource HostDisk/:HostDisk "
     "PersistentVolumeClaim/:PersistentVolumeClaimVolumeSource CloudInitNoCloud/:CloudInitNoCloudSource "
     "CloudInitConfigDrive/:CloudInitConfigDriveSource Sysprep/:SysprepSource ContainerDisk/:ContainerDiskSource "
     "Ephemeral/:EphemeralVolumeSource EmptyDisk/:EmptyDiskSource DataVolume/:DataVolumeSource "
     "ConfigMap/:ConfigMapVolumeSource Secret/:SecretVolumeSource DownwardAPI/:DownwardAPIVolumeSource "
     "ServiceAccount/:ServiceAccountVolumeSource DownwardMetrics/:DownwardMetricsVolumeSource "
     "MemoryDump/:MemoryDumpVolumeSource ContainerPath/:ContainerPathVolumeSource"},
    {"v1.VolumeSource",
     "HostDisk:HostDisk PersistentVolumeClaim:PersistentVolumeClaimVolumeSource "
     "CloudInitNoCloud:CloudInitNoCloudSource CloudInitConfigDrive:CloudInitConfigDriveSource Sysprep:SysprepSource "
     "ContainerDisk:ContainerDiskSource Ephemeral:EphemeralVolumeSource EmptyDisk:EmptyDiskSource "
     "DataVolume:DataVolumeSource ConfigMap:ConfigMapVolumeSource Secret:SecretVolumeSource "
     "DownwardAPI:DownwardAPIVolumeSource ServiceAccount:ServiceAccountVolumeSource "
     "DownwardMetrics:DownwardMetricsVolumeSource MemoryDump:MemoryDumpVolumeSource "
     "ContainerPath:ContainerPathVolumeSource"},
    {"v1.VolumeStatus",
     "Name:string Target:string Phase:string Reason:string Message:string "
     "PersistentVolumeClaimInfo:PersistentVolumeClaimInfo HotplugVolume:HotplugVolumeStatus Size:int "
     "MemoryDumpVolume:DomainMemoryDumpInfo ContainerDiskVolume:ContainerDiskInfo"},
    {"v1.Watchdog", "Name:string WatchdogDevice/:WatchdogDevice I6300ESB/:I6300ESBWatchdog Diag288/:Diag288Watchdog"},
    {"v1.WatchdogDevice", "I6300ESB/i6300esb:I6300ESBWatchdog Diag288:Diag288Watchdog"},
    {"v1.WeightedPodAffinityTerm", "Weight:int PodAffinityTerm:PodAffinityTerm"},
    {"v1alpha1.BackupVolumeInfo", "VolumeName:string DiskTarget:string DataEndpoint:string MapEndpoint:string"},
};
// clang-format on

}  // namespace

std::span<const Structure> machine_structures() { return machine_structure_rows; }

}  // namespace vg::cel
