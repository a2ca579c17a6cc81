// The structures that libvirt's domain is made of in Go's libvirtxml, by name.
// Written by tools/structures_import.py from a release's sources; do not edit.
// The notation is explained in structures.h.
#include "cel/structures.h"

namespace vg::cel {
namespace {

// clang-format off
constexpr Structure domain_structure_rows[] = {
    {"libvirtxml.Domain",
     "XMLName:xml.Name Type:string ID:int Name:string UUID:string HWUUID:string GenID:DomainGenID Title:string "
     "Description:string Metadata:DomainMetadata MaximumMemory:DomainMaxMemory Memory:DomainMemory "
     "CurrentMemory:DomainCurrentMemory BlockIOTune:DomainBlockIOTune MemoryTune:DomainMemoryTune "
     "MemoryBacking:DomainMemoryBacking VCPU:DomainVCPU VCPUs:DomainVCPUs IOThreads:uint IOThreadIDs:DomainIOThreadIDs "
     "DefaultIOThread:DomainDefaultIOThread CPUTune:DomainCPUTune NUMATune:DomainNUMATune IOMMUFD:DomainIOMMUFD "
     "Resource:DomainResource SysInfo:[]DomainSysInfo Bootloader:string BootloaderArgs:string OS:DomainOS "
     "IDMap:DomainIDMap ThrottleGroups:DomainThrottleGroups Features:DomainFeatureList CPU:DomainCPU Clock:DomainClock "
     "OnPoweroff:string OnReboot:string OnCrash:string PM:DomainPM Perf:DomainPerf Devices:DomainDeviceList "
     "SecLabel:[]DomainSecLabel KeyWrap:DomainKeyWrap LaunchSecurity:DomainLaunchSecurity "
     "QEMUCommandline:DomainQEMUCommandline QEMUCapabilities:DomainQEMUCapabilities QEMUOverride:DomainQEMUOverride "
     "QEMUDeprecation:DomainQEMUDeprecation LXCNamespace:DomainLXCNamespace BHyveCommandline:DomainBHyveCommandline "
     "VMWareDataCenterPath:DomainVMWareDataCenterPath XenCommandline:DomainXenCommandline"},
    {"libvirtxml.DomainACPI", "Tables:[]DomainACPITable"},
    {"libvirtxml.DomainACPITable", "Type:string Path:string"},
    {"libvirtxml.DomainAddress",
     "PCI:DomainAddressPCI Drive:DomainAddressDrive VirtioSerial:DomainAddressVirtioSerial CCID:DomainAddressCCID "
     "USB:DomainAddressUSB SpaprVIO:DomainAddressSpaprVIO VirtioS390:DomainAddressVirtioS390 CCW:DomainAddressCCW "
     "VirtioMMIO:DomainAddressVirtioMMIO ISA:DomainAddressISA DIMM:DomainAddressDIMM "
     "Unassigned:DomainAddressUnassigned"},
    {"libvirtxml.DomainAddressCCID", "Controller:uint Slot:uint"},
    {"libvirtxml.DomainAddressCCW", "CSSID:uint SSID:uint DevNo:uint"},
    {"libvirtxml.DomainAddressDIMM", "Slot:uint Base:uint"},
    {"libvirtxml.DomainAddressDrive", "Controller:uint Bus:uint Target:uint Unit:uint"},
    {"libvirtxml.DomainAddressISA", "IOBase:uint IRQ:uint"},
    {"libvirtxml.DomainAddressMDev", "UUID:string"},
    {"libvirtxml.DomainAddressPCI",
     "Domain:uint Bus:uint Slot:uint Function:uint MultiFunction:string ZPCI:DomainAddressZPCI"},
    {"libvirtxml.DomainAddressSpaprVIO", "Reg:uint"},
    {"libvirtxml.DomainAddressUSB", "Bus:uint Port:string Device:uint"},
    {"libvirtxml.DomainAddressUnassigned", ""},
    {"libvirtxml.DomainAddressVirtioMMIO", ""},
    {"libvirtxml.DomainAddressVirtioS390", ""},
    {"libvirtxml.DomainAddressVirtioSerial", "Controller:uint Bus:uint Port:uint"},
    {"libvirtxml.DomainAddressZPCI", "UID:uint FID:uint"},
    {"libvirtxml.DomainAlias", "Name:string"},
    {"libvirtxml.DomainAudio",
     "XMLName:xml.Name ID:int TimerPeriod:uint None:DomainAudioNone ALSA:DomainAudioALSA "
     "CoreAudio:DomainAudioCoreAudio Jack:DomainAudioJack OSS:DomainAudioOSS PulseAudio:DomainAudioPulseAudio "
     "SDL:DomainAudioSDL SPICE:DomainAudioSPICE File:DomainAudioFile DBus:DomainAudioDBus PipeWire:DomainAudioPipeWire"},
    {"libvirtxml.DomainAudioALSA", "Input:DomainAudioALSAChannel Output:DomainAudioALSAChannel"},
    {"libvirtxml.DomainAudioALSAChannel",
     "DomainAudioChannel:DomainAudioChannel Dev:string MixingEngine:string FixedSettings:string Voices:uint "
     "Settings:DomainAudioChannelSettings BufferLength:uint"},
    {"libvirtxml.DomainAudioChannel",
     "MixingEngine:string FixedSettings:string Voices:uint Settings:DomainAudioChannelSettings BufferLength:uint"},
    {"libvirtxml.DomainAudioChannelSettings", "Frequency:uint Channels:uint Format:string"},
    {"libvirtxml.DomainAudioCoreAudio", "Input:DomainAudioCoreAudioChannel Output:DomainAudioCoreAudioChannel"},
    {"libvirtxml.DomainAudioCoreAudioChannel",
     "DomainAudioChannel:DomainAudioChannel BufferCount:uint MixingEngine:string FixedSettings:string Voices:uint "
     "Settings:DomainAudioChannelSettings BufferLength:uint"},
    {"libvirtxml.DomainAudioDBus", "Input:DomainAudioDBusChannel Output:DomainAudioDBusChannel"},
    {"libvirtxml.DomainAudioDBusChannel",
     "DomainAudioChannel:DomainAudioChannel MixingEngine:string FixedSettings:string Voices:uint "
     "Settings:DomainAudioChannelSettings BufferLength:uint"},
    {"libvirtxml.DomainAudioFile", "Path:string Input:DomainAudioFileChannel Output:DomainAudioFileChannel"},
    {"libvirtxml.DomainAudioFileChannel",
     "DomainAudioChannel:DomainAudioChannel MixingEngine:string FixedSettings:string Voices:uint "
     "Settings:DomainAudioChannelSettings BufferLength:uint"},
    {"libvirtxml.DomainAudioJack", "Input:DomainAudioJackChannel Output:DomainAudioJackChannel"},
    {"libvirtxml.DomainAudioJackChannel",
     "DomainAudioChannel:DomainAudioChannel ServerName:string ClientName:string ConnectPorts:string ExactName:string "
     "MixingEngine:string FixedSettings:string Voices:uint Settings:DomainAudioChannelSettings BufferLength:uint"},
    {"libvirtxml.DomainAudioNone", "Input:DomainAudioNoneChannel Output:DomainAudioNoneChannel"},
    {"libvirtxml.DomainAudioNoneChannel",
     "DomainAudioChannel:DomainAudioChannel MixingEngine:string FixedSettings:string Voices:uint "
     "Settings:DomainAudioChannelSettings BufferLength:uint"},
    {"libvirtxml.DomainAudioOSS",
     "TryMMap:string Exclusive:string DSPPolicy:int Input:DomainAudioOSSChannel Output:DomainAudioOSSChannel"},
    {"libvirtxml.DomainAudioOSSChannel",
     "DomainAudioChannel:DomainAudioChannel Dev:string BufferCount:uint TryPoll:string MixingEngine:string "
     "FixedSettings:string Voices:uint Settings:DomainAudioChannelSettings BufferLength:uint"},
    {"libvirtxml.DomainAudioPipeWire",
     "RuntimeDir:string Input:DomainAudioPulseAudioChannel Output:DomainAudioPulseAudioChannel"},
    {"libvirtxml.DomainAudioPulseAudio",
     "ServerName:string Input:DomainAudioPulseAudioChannel Output:DomainAudioPulseAudioChannel"},
    {"libvirtxml.DomainAudioPulseAudioChannel",
     "DomainAudioChannel:DomainAudioChannel Name:string StreamName:string Latency:uint MixingEngine:string "
     "FixedSettings:string Voices:uint Settings:DomainAudioChannelSettings BufferLength:uint"},
    {"libvirtxml.DomainAudioSDL", "Driver:string Input:DomainAudioSDLChannel Output:DomainAudioSDLChannel"},
    {"libvirtxml.DomainAudioSDLChannel",
     "DomainAudioChannel:DomainAudioChannel BufferCount:uint MixingEngine:string FixedSettings:string Voices:uint "
     "Settings:DomainAudioChannelSettings BufferLength:uint"},
    {"libvirtxml.DomainAudioSPICE", "Input:DomainAudioSPICEChannel Output:DomainAudioSPICEChannel"},
    {"libvirtxml.DomainAudioSPICEChannel",
     "DomainAudioChannel:DomainAudioChannel MixingEngine:string FixedSettings:string Voices:uint "
     "Settings:DomainAudioChannelSettings BufferLength:uint"},
    {"libvirtxml.DomainBHyveCommandline",
     "XMLName:xml.Name Args:[]DomainBHyveCommandlineArg Envs:[]DomainBHyveCommandlineEnv"},
    {"libvirtxml.DomainBHyveCommandlineArg", "Value:string"},
    {"libvirtxml.DomainBHyveCommandlineEnv", "Name:string Value:string"},
    {"libvirtxml.DomainBIOS", "UseSerial:string RebootTimeout:int"},
    {"libvirtxml.DomainBackendDomain", "Name:string"},
    {"libvirtxml.DomainBlockIOTune", "Weight:uint Device:[]DomainBlockIOTuneDevice"},
    {"libvirtxml.DomainBlockIOTuneDevice",
     "Path:string Weight:uint ReadIopsSec:uint WriteIopsSec:uint ReadBytesSec:uint WriteBytesSec:uint"},
    {"libvirtxml.DomainBootDevice", "Dev:string"},
    {"libvirtxml.DomainBootMenu", "Enable:string Timeout:string"},
    {"libvirtxml.DomainCPU",
     "XMLName:xml.Name Match:string Mode:string Check:string Migratable:string DeprecatedFeatures:string "
     "Model:DomainCPUModel Vendor:string Topology:DomainCPUTopology Cache:DomainCPUCache "
     "MaxPhysAddr:DomainCPUMaxPhysAddr Features:[]DomainCPUFeature Numa:DomainNuma"},
    {"libvirtxml.DomainCPUCache", "Level:uint Mode:string"},
    {"libvirtxml.DomainCPUCacheTune",
     "VCPUs:string ID:string Cache:[]DomainCPUCacheTuneCache Monitor:[]DomainCPUCacheTuneMonitor"},
    {"libvirtxml.DomainCPUCacheTuneCache", "ID:uint Level:uint Type:string Size:uint Unit:string"},
    {"libvirtxml.DomainCPUCacheTuneMonitor", "Level:uint VCPUs:string"},
    {"libvirtxml.DomainCPUFeature", "Policy:string Name:string"},
    {"libvirtxml.DomainCPUMaxPhysAddr", "Mode:string Bits:uint Limit:uint"},
    {"libvirtxml.DomainCPUMemoryTune",
     "VCPUs:string Nodes:[]DomainCPUMemoryTuneNode Monitor:[]DomainCPUMemoryTuneMonitor"},
    {"libvirtxml.DomainCPUMemoryTuneMonitor", "Level:uint VCPUs:string"},
    {"libvirtxml.DomainCPUMemoryTuneNode", "ID:uint Bandwidth:uint"},
    {"libvirtxml.DomainCPUModel", "Fallback:string Value:string VendorID:string"},
    {"libvirtxml.DomainCPUTopology", "Sockets:int Dies:int Clusters:int Cores:int Threads:int"},
    {"libvirtxml.DomainCPUTune",
     "Shares:DomainCPUTuneShares Period:DomainCPUTunePeriod Quota:DomainCPUTuneQuota GlobalPeriod:DomainCPUTunePeriod "
     "GlobalQuota:DomainCPUTuneQuota EmulatorPeriod:DomainCPUTunePeriod EmulatorQuota:DomainCPUTuneQuota "
     "IOThreadPeriod:DomainCPUTunePeriod IOThreadQuota:DomainCPUTuneQuota VCPUPin:[]DomainCPUTuneVCPUPin "
     "EmulatorPin:DomainCPUTuneEmulatorPin IOThreadPin:[]DomainCPUTuneIOThreadPin VCPUSched:[]DomainCPUTuneVCPUSched "
     "EmulatorSched:DomainCPUTuneEmulatorSched IOThreadSched:[]DomainCPUTuneIOThreadSched "
     "CacheTune:[]DomainCPUCacheTune MemoryTune:[]DomainCPUMemoryTune"},
    {"libvirtxml.DomainCPUTuneEmulatorPin", "CPUSet:string"},
    {"libvirtxml.DomainCPUTuneEmulatorSched", "Scheduler:string Priority:int"},
    {"libvirtxml.DomainCPUTuneIOThreadPin", "IOThread:uint CPUSet:string"},
    {"libvirtxml.DomainCPUTuneIOThreadSched", "IOThreads:string Scheduler:string Priority:int"},
    {"libvirtxml.DomainCPUTunePeriod", "Value:uint"},
    {"libvirtxml.DomainCPUTuneQuota", "Value:int"},
    {"libvirtxml.DomainCPUTuneShares", "Value:uint"},
    {"libvirtxml.DomainCPUTuneVCPUPin", "VCPU:uint CPUSet:string"},
    {"libvirtxml.DomainCPUTuneVCPUSched", "VCPUs:string Scheduler:string Priority:int"},
    {"libvirtxml.DomainCell",
     "ID:uint CPUs:string Memory:uint Unit:string MemAccess:string Discard:string Distances:DomainCellDistances "
     "Caches:[]DomainCellCache"},
    {"libvirtxml.DomainCellCache",
     "Level:uint Associativity:string Policy:string Size:DomainCellCacheSize Line:DomainCellCacheLine"},
    {"libvirtxml.DomainCellCacheLine", "Value:string Unit:string"},
    {"libvirtxml.DomainCellCacheSize", "Value:string Unit:string"},
    {"libvirtxml.DomainCellDistances", "Siblings:[]DomainCellSibling"},
    {"libvirtxml.DomainCellSibling", "ID:uint Value:uint"},
    {"libvirtxml.DomainChannel",
     "XMLName:xml.Name Source:DomainChardevSource Protocol:DomainChardevProtocol Target:DomainChannelTarget "
     "Log:DomainChardevLog ACPI:DomainDeviceACPI Alias:DomainAlias Address:DomainAddress"},
    {"libvirtxml.DomainChannelTarget",
     "VirtIO:DomainChannelTargetVirtIO Xen:DomainChannelTargetXen GuestFWD:DomainChannelTargetGuestFWD"},
    {"libvirtxml.DomainChannelTargetGuestFWD", "Address:string Port:string"},
    {"libvirtxml.DomainChannelTargetVirtIO", "Name:string State:string"},
    {"libvirtxml.DomainChannelTargetXen", "Name:string State:string"},
    {"libvirtxml.DomainChardevLog", "File:string Append:string"},
    {"libvirtxml.DomainChardevProtocol", "Type:string"},
    {"libvirtxml.DomainChardevSource",
     "Null:DomainChardevSourceNull VC:DomainChardevSourceVC Pty:DomainChardevSourcePty Dev:DomainChardevSourceDev "
     "File:DomainChardevSourceFile Pipe:DomainChardevSourcePipe StdIO:DomainChardevSourceStdIO "
     "UDP:DomainChardevSourceUDP TCP:DomainChardevSourceTCP UNIX:DomainChardevSourceUNIX "
     "SpiceVMC:DomainChardevSourceSpiceVMC SpicePort:DomainChardevSourceSpicePort NMDM:DomainChardevSourceNMDM "
     "QEMUVDAgent:DomainChardevSourceQEMUVDAgent DBus:DomainChardevSourceDBus"},
    {"libvirtxml.DomainChardevSourceDBus", "Channel:string"},
    {"libvirtxml.DomainChardevSourceDev", "Path:string SecLabel:[]DomainDeviceSecLabel"},
    {"libvirtxml.DomainChardevSourceFile", "Path:string Append:string SecLabel:[]DomainDeviceSecLabel"},
    {"libvirtxml.DomainChardevSourceNMDM", "Master:string Slave:string"},
    {"libvirtxml.DomainChardevSourceNull", ""},
    {"libvirtxml.DomainChardevSourcePipe", "Path:string SecLabel:[]DomainDeviceSecLabel"},
    {"libvirtxml.DomainChardevSourcePty", "Path:string SecLabel:[]DomainDeviceSecLabel"},
    {"libvirtxml.DomainChardevSourceQEMUVDAgent",
     "Mouse:DomainChardevSourceQEMUVDAgentMouse ClipBoard:DomainChardevSourceQEMUVDAgentClipBoard"},
    {"libvirtxml.DomainChardevSourceQEMUVDAgentClipBoard", "CopyPaste:string"},
    {"libvirtxml.DomainChardevSourceQEMUVDAgentMouse", "Mode:string"},
    {"libvirtxml.DomainChardevSourceReconnect", "Enabled:string Timeout:uint"},
    {"libvirtxml.DomainChardevSourceSpicePort", "Channel:string"},
    {"libvirtxml.DomainChardevSourceSpiceVMC", ""},
    {"libvirtxml.DomainChardevSourceStdIO", ""},
    {"libvirtxml.DomainChardevSourceTCP",
     "Mode:string Host:string Service:string TLS:string Reconnect:DomainChardevSourceReconnect"},
    {"libvirtxml.DomainChardevSourceUDP",
     "BindHost:string BindService:string ConnectHost:string ConnectService:string"},
    {"libvirtxml.DomainChardevSourceUNIX",
     "Mode:string Path:string Reconnect:DomainChardevSourceReconnect SecLabel:[]DomainDeviceSecLabel"},
    {"libvirtxml.DomainChardevSourceVC", ""},
    {"libvirtxml.DomainClock",
     "Offset:string Basis:string Adjustment:string TimeZone:string Start:uint Timer:[]DomainTimer"},
    {"libvirtxml.DomainConsole",
     "XMLName:xml.Name TTY:string Source:DomainChardevSource Protocol:DomainChardevProtocol Target:DomainConsoleTarget "
     "Log:DomainChardevLog ACPI:DomainDeviceACPI Alias:DomainAlias Address:DomainAddress"},
    {"libvirtxml.DomainConsoleTarget", "Type:string Port:uint"},
    {"libvirtxml.DomainController",
     "XMLName:xml.Name Type:string Index:uint Model:string Driver:DomainControllerDriver PCI:DomainControllerPCI "
     "USB:DomainControllerUSB VirtIOSerial:DomainControllerVirtIOSerial XenBus:DomainControllerXenBus "
     "NVME:DomainControllerNVME ACPI:DomainDeviceACPI Alias:DomainAlias Address:DomainAddress"},
    {"libvirtxml.DomainControllerDriver",
     "Queues:uint CmdPerLUN:uint MaxSectors:uint IOEventFD:string IOThread:uint IOMMU:string ATS:string Packed:string "
     "PagePerVQ:string IOThreads:DomainControllerDriverIOThreads"},
    {"libvirtxml.DomainControllerDriverIOThread", "ID:uint Queues:[]DomainControllerDriverIOThreadQueue"},
    {"libvirtxml.DomainControllerDriverIOThreadQueue", "ID:uint"},
    {"libvirtxml.DomainControllerDriverIOThreads", "IOThread:[]DomainControllerDriverIOThread"},
    {"libvirtxml.DomainControllerNVME", "Serial:string"},
    {"libvirtxml.DomainControllerPCI",
     "Model:DomainControllerPCIModel Target:DomainControllerPCITarget Hole64:DomainControllerPCIHole64"},
    {"libvirtxml.DomainControllerPCIHole64", "Size:uint Unit:string"},
    {"libvirtxml.DomainControllerPCIModel", "Name:string"},
    {"libvirtxml.DomainControllerPCITarget",
     "ChassisNr:uint Chassis:uint Port:uint BusNr:uint Index:uint NUMANode:uint Hotplug:string MemReserve:uint"},
    {"libvirtxml.DomainControllerUSB", "Port:uint Master:DomainControllerUSBMaster"},
    {"libvirtxml.DomainControllerUSBMaster", "StartPort:uint"},
    {"libvirtxml.DomainControllerVirtIOSerial", "Ports:uint Vectors:uint"},
    {"libvirtxml.DomainControllerXenBus", "MaxGrantFrames:uint MaxEventChannels:uint"},
    {"libvirtxml.DomainCrypto",
     "Model:string Type:string Backend:DomainCryptoBackend Alias:DomainAlias Address:DomainAddress"},
    {"libvirtxml.DomainCryptoBackend", "BuiltIn:DomainCryptoBackendBuiltIn LKCF:DomainCryptoBackendLKCF Queues:uint"},
    {"libvirtxml.DomainCryptoBackendBuiltIn", ""},
    {"libvirtxml.DomainCryptoBackendLKCF", ""},
    {"libvirtxml.DomainCurrentMemory", "Value:uint Unit:string"},
    {"libvirtxml.DomainDefaultIOThread", "PoolMin:uint PoolMax:uint"},
    {"libvirtxml.DomainDeviceACPI", "Index:uint Nodeset:string"},
    {"libvirtxml.DomainDeviceBoot", "Order:uint LoadParm:string"},
    {"libvirtxml.DomainDeviceList",
     "Emulator:string Disks:[]DomainDisk Controllers:[]DomainController Leases:[]DomainLease "
     "Filesystems:[]DomainFilesystem Interfaces:[]DomainInterface Smartcards:[]DomainSmartcard Serials:[]DomainSerial "
     "Parallels:[]DomainParallel Consoles:[]DomainConsole Channels:[]DomainChannel Inputs:[]DomainInput "
     "TPMs:[]DomainTPM Graphics:[]DomainGraphic Sounds:[]DomainSound Audios:[]DomainAudio Videos:[]DomainVideo "
     "Hostdevs:[]DomainHostdev RedirDevs:[]DomainRedirDev RedirFilters:[]DomainRedirFilter Hubs:[]DomainHub "
     "Watchdogs:[]DomainWatchdog MemBalloon:DomainMemBalloon RNGs:[]DomainRNG NVRAM:DomainNVRAM Panics:[]DomainPanic "
     "Shmems:[]DomainShmem Memorydevs:[]DomainMemorydev IOMMU:DomainIOMMU IOMMUs:[]DomainIOMMU VSock:DomainVSock "
     "Crypto:[]DomainCrypto PStore:DomainPStore"},
    {"libvirtxml.DomainDeviceSecLabel", "Model:string LabelSkip:string Relabel:string Label:string"},
    {"libvirtxml.DomainDisk",
     "XMLName:xml.Name Device:string RawIO:string SGIO:string Snapshot:string Model:string Driver:DomainDiskDriver "
     "Auth:DomainDiskAuth Source:DomainDiskSource BackingStore:DomainDiskBackingStore "
     "BackendDomain:DomainBackendDomain Geometry:DomainDiskGeometry BlockIO:DomainDiskBlockIO Mirror:DomainDiskMirror "
     "Target:DomainDiskTarget IOTune:DomainDiskIOTune ThrottleFilters:ThrottleFilters ReadOnly:DomainDiskReadOnly "
     "Shareable:DomainDiskShareable Transient:DomainDiskTransient Serial:string WWN:string Vendor:string "
     "Product:string Encryption:DomainDiskEncryption Boot:DomainDeviceBoot ACPI:DomainDeviceACPI Alias:DomainAlias "
     "Address:DomainAddress"},
    {"libvirtxml.DomainDiskAuth", "Username:string Secret:DomainDiskSecret"},
    {"libvirtxml.DomainDiskBackingStore",
     "Index:uint Format:DomainDiskFormat Source:DomainDiskSource BackingStore:DomainDiskBackingStore"},
    {"libvirtxml.DomainDiskBlockIO", "LogicalBlockSize:uint PhysicalBlockSize:uint DiscardGranularity:uint"},
    {"libvirtxml.DomainDiskCookie", "Name:string Value:string"},
    {"libvirtxml.DomainDiskCookies", "Cookies:[]DomainDiskCookie"},
    {"libvirtxml.DomainDiskDataStore", "Format:DomainDiskFormat Source:DomainDiskSource"},
    {"libvirtxml.DomainDiskDriver",
     "Name:string Type:string Cache:string ErrorPolicy:string RErrorPolicy:string IO:string IOEventFD:string "
     "EventIDX:string CopyOnRead:string Discard:string DiscardNoUnref:string IOThread:uint "
     "IOThreads:DomainDiskIOThreads DetectZeros:string Queues:uint QueueSize:uint IOMMU:string ATS:string "
     "Packed:string PagePerVQ:string MetadataCache:DomainDiskMetadataCache Statistics:DomainDiskStatistics"},
    {"libvirtxml.DomainDiskEncryption", "Format:string Engine:string Secrets:[]DomainDiskSecret"},
    {"libvirtxml.DomainDiskFormat", "Type:string MetadataCache:DomainDiskMetadataCache"},
    {"libvirtxml.DomainDiskGeometry", "Cylinders:uint Headers:uint Sectors:uint Trans:string"},
    {"libvirtxml.DomainDiskIOThread", "ID:uint Queues:[]DomainDiskIOThreadQueue"},
    {"libvirtxml.DomainDiskIOThreadQueue", "ID:uint"},
    {"libvirtxml.DomainDiskIOThreads", "IOThread:[]DomainDiskIOThread"},
    {"libvirtxml.DomainDiskIOTune",
     "TotalBytesSec:uint ReadBytesSec:uint WriteBytesSec:uint TotalIopsSec:uint ReadIopsSec:uint WriteIopsSec:uint "
     "TotalBytesSecMax:uint ReadBytesSecMax:uint WriteBytesSecMax:uint TotalIopsSecMax:uint ReadIopsSecMax:uint "
     "WriteIopsSecMax:uint TotalBytesSecMaxLength:uint ReadBytesSecMaxLength:uint WriteBytesSecMaxLength:uint "
     "TotalIopsSecMaxLength:uint ReadIopsSecMaxLength:uint WriteIopsSecMaxLength:uint SizeIopsSec:uint "
     "GroupName:string"},
    {"libvirtxml.DomainDiskLatencyHistogram", "Type:string Bin:[]DomainDiskLatencyHistogramBin"},
    {"libvirtxml.DomainDiskLatencyHistogramBin", "Start:uint"},
    {"libvirtxml.DomainDiskMetadataCache", "MaxSize:DomainDiskMetadataCacheSize"},
    {"libvirtxml.DomainDiskMetadataCacheSize", "Unit:string Value:int"},
    {"libvirtxml.DomainDiskMirror",
     "Job:string Ready:string Format:DomainDiskFormat Source:DomainDiskSource BackingStore:DomainDiskBackingStore"},
    {"libvirtxml.DomainDiskReadOnly", ""},
    {"libvirtxml.DomainDiskReservations", "Enabled:string Managed:string Migration:string Source:DomainChardevSource"},
    {"libvirtxml.DomainDiskSecret", "Type:string Usage:string UUID:string"},
    {"libvirtxml.DomainDiskShareable", ""},
    {"libvirtxml.DomainDiskSlice", "Type:string Offset:uint Size:uint"},
    {"libvirtxml.DomainDiskSlices", "Slices:[]DomainDiskSlice"},
    {"libvirtxml.DomainDiskSource",
     "File:DomainDiskSourceFile Block:DomainDiskSourceBlock Dir:DomainDiskSourceDir Network:DomainDiskSourceNetwork "
     "Volume:DomainDiskSourceVolume NVME:DomainDiskSourceNVME VHostUser:DomainChardevSource "
     "VHostVDPA:DomainDiskSourceVHostVDPA Ctl:DomainDiskSourceCtl StartupPolicy:string Index:uint "
     "Encryption:DomainDiskEncryption Reservations:DomainDiskReservations Slices:DomainDiskSlices "
     "SSL:DomainDiskSourceSSL Cookies:DomainDiskCookies Readahead:DomainDiskSourceReadahead "
     "Timeout:DomainDiskSourceTimeout DataStore:DomainDiskDataStore"},
    {"libvirtxml.DomainDiskSourceBlock", "Dev:string SecLabel:[]DomainDeviceSecLabel"},
    {"libvirtxml.DomainDiskSourceCtl", "Dev:string"},
    {"libvirtxml.DomainDiskSourceDir", "Dir:string"},
    {"libvirtxml.DomainDiskSourceFile", "File:string FDGroup:string SecLabel:[]DomainDeviceSecLabel"},
    {"libvirtxml.DomainDiskSourceHost", "Transport:string Name:string Port:string Socket:string"},
    {"libvirtxml.DomainDiskSourceNVME", "PCI:DomainDiskSourceNVMEPCI"},
    {"libvirtxml.DomainDiskSourceNVMEPCI", "Managed:string Namespace:uint Address:DomainAddressPCI"},
    {"libvirtxml.DomainDiskSourceNetwork",
     "Protocol:string Name:string Query:string TLS:string TLSHostname:string Hosts:[]DomainDiskSourceHost "
     "Identity:DomainDiskSourceNetworkIdentity KnownHosts:DomainDiskSourceNetworkKnownHosts "
     "Initiator:DomainDiskSourceNetworkInitiator Snapshot:DomainDiskSourceNetworkSnapshot "
     "Config:DomainDiskSourceNetworkConfig Reconnect:DomainDiskSourceNetworkReconnect Auth:DomainDiskAuth"},
    {"libvirtxml.DomainDiskSourceNetworkConfig", "File:string"},
    {"libvirtxml.DomainDiskSourceNetworkIQN", "Name:string"},
    {"libvirtxml.DomainDiskSourceNetworkIdentity",
     "User:string Group:string UserName:string Keyfile:string AgentSock:string"},
    {"libvirtxml.DomainDiskSourceNetworkInitiator", "IQN:DomainDiskSourceNetworkIQN"},
    {"libvirtxml.DomainDiskSourceNetworkKnownHosts", "Path:string"},
    {"libvirtxml.DomainDiskSourceNetworkReconnect", "Delay:string"},
    {"libvirtxml.DomainDiskSourceNetworkSnapshot", "Name:string"},
    {"libvirtxml.DomainDiskSourceReadahead", "Size:string"},
    {"libvirtxml.DomainDiskSourceSSL", "Verify:string"},
    {"libvirtxml.DomainDiskSourceTimeout", "Seconds:string"},
    {"libvirtxml.DomainDiskSourceVHostVDPA", "Dev:string"},
    {"libvirtxml.DomainDiskSourceVolume", "Pool:string Volume:string Mode:string SecLabel:[]DomainDeviceSecLabel"},
    {"libvirtxml.DomainDiskStatistic", "Interval:uint"},
    {"libvirtxml.DomainDiskStatistics",
     "Statistic:[]DomainDiskStatistic LatencyHistogram:[]DomainDiskLatencyHistogram"},
    {"libvirtxml.DomainDiskTarget",
     "Dev:string Bus:string Tray:string Removable:string RotationRate:uint DPOFUA:string"},
    {"libvirtxml.DomainDiskTransient", "ShareBacking:string"},
    {"libvirtxml.DomainFeature", ""},
    {"libvirtxml.DomainFeatureAIA", "Value:string"},
    {"libvirtxml.DomainFeatureAPIC", "EOI:string"},
    {"libvirtxml.DomainFeatureAsyncTeardown", "Enabled:string"},
    {"libvirtxml.DomainFeatureCFPC", "Value:string"},
    {"libvirtxml.DomainFeatureCapabilities",
     "Policy:string AuditControl:DomainFeatureCapability AuditWrite:DomainFeatureCapability "
     "BlockSuspend:DomainFeatureCapability Chown:DomainFeatureCapability DACOverride:DomainFeatureCapability "
     "DACReadSearch:DomainFeatureCapability FOwner:DomainFeatureCapability FSetID:DomainFeatureCapability "
     "IPCLock:DomainFeatureCapability IPCOwner:DomainFeatureCapability Kill:DomainFeatureCapability "
     "Lease:DomainFeatureCapability LinuxImmutable:DomainFeatureCapability MACAdmin:DomainFeatureCapability "
     "MACOverride:DomainFeatureCapability MkNod:DomainFeatureCapability NetAdmin:DomainFeatureCapability "
     "NetBindService:DomainFeatureCapability NetBroadcast:DomainFeatureCapability NetRaw:DomainFeatureCapability "
     "SetGID:DomainFeatureCapability SetFCap:DomainFeatureCapability SetPCap:DomainFeatureCapability "
     "SetUID:DomainFeatureCapability SysAdmin:DomainFeatureCapability SysBoot:DomainFeatureCapability "
     "SysChRoot:DomainFeatureCapability SysModule:DomainFeatureCapability SysNice:DomainFeatureCapability "
     "SysPAcct:DomainFeatureCapability SysPTrace:DomainFeatureCapability SysRawIO:DomainFeatureCapability "
     "SysResource:DomainFeatureCapability SysTime:DomainFeatureCapability SysTTYCnofig:DomainFeatureCapability "
     "SysLog:DomainFeatureCapability WakeAlarm:DomainFeatureCapability"},
    {"libvirtxml.DomainFeatureCapability", "State:string"},
    {"libvirtxml.DomainFeatureGIC", "Version:string"},
    {"libvirtxml.DomainFeatureHPT", "Resizing:string MaxPageSize:DomainFeatureHPTPageSize"},
    {"libvirtxml.DomainFeatureHPTPageSize", "Unit:string Value:string"},
    {"libvirtxml.DomainFeatureHyperV",
     "DomainFeature:DomainFeature Mode:string Relaxed:DomainFeatureState VAPIC:DomainFeatureState "
     "Spinlocks:DomainFeatureHyperVSpinlocks VPIndex:DomainFeatureState Runtime:DomainFeatureState "
     "Synic:DomainFeatureState STimer:DomainFeatureHyperVSTimer Reset:DomainFeatureState "
     "VendorId:DomainFeatureHyperVVendorId Frequencies:DomainFeatureState ReEnlightenment:DomainFeatureState "
     "TLBFlush:DomainFeatureHyperVTLBFlush IPI:DomainFeatureState EVMCS:DomainFeatureState AVIC:DomainFeatureState "
     "EMSRBitmap:DomainFeatureState XMMInput:DomainFeatureState"},
    {"libvirtxml.DomainFeatureHyperVSTimer",
     "DomainFeatureState:DomainFeatureState Direct:DomainFeatureState State:string"},
    {"libvirtxml.DomainFeatureHyperVSpinlocks", "DomainFeatureState:DomainFeatureState Retries:uint State:string"},
    {"libvirtxml.DomainFeatureHyperVTLBFlush",
     "DomainFeatureState:DomainFeatureState Direct:DomainFeatureState Extended:DomainFeatureState State:string"},
    {"libvirtxml.DomainFeatureHyperVVendorId", "DomainFeatureState:DomainFeatureState Value:string State:string"},
    {"libvirtxml.DomainFeatureIBS", "Value:string"},
    {"libvirtxml.DomainFeatureIOAPIC", "Driver:string"},
    {"libvirtxml.DomainFeatureKVM",
     "Hidden:DomainFeatureState HintDedicated:DomainFeatureState PollControl:DomainFeatureState "
     "PVIPI:DomainFeatureState DirtyRing:DomainFeatureKVMDirtyRing"},
    {"libvirtxml.DomainFeatureKVMDirtyRing", "DomainFeatureState:DomainFeatureState Size:uint State:string"},
    {"libvirtxml.DomainFeatureList",
     "PAE:DomainFeature ACPI:DomainFeature APIC:DomainFeatureAPIC HAP:DomainFeatureState Viridian:DomainFeature "
     "PrivNet:DomainFeature HyperV:DomainFeatureHyperV KVM:DomainFeatureKVM Xen:DomainFeatureXen "
     "PVSpinlock:DomainFeatureState PMU:DomainFeatureState VMPort:DomainFeatureState GIC:DomainFeatureGIC "
     "SMM:DomainFeatureSMM IOAPIC:DomainFeatureIOAPIC HPT:DomainFeatureHPT HTM:DomainFeatureState "
     "NestedHV:DomainFeatureState Capabilities:DomainFeatureCapabilities VMCoreInfo:DomainFeatureState "
     "MSRS:DomainFeatureMSRS CCFAssist:DomainFeatureState CFPC:DomainFeatureCFPC SBBC:DomainFeatureSBBC "
     "IBS:DomainFeatureIBS TCG:DomainFeatureTCG AsyncTeardown:DomainFeatureAsyncTeardown RAS:DomainFeatureState "
     "PS2:DomainFeatureState AIA:DomainFeatureAIA Virtualization:DomainFeature"},
    {"libvirtxml.DomainFeatureMSRS", "Unknown:string"},
    {"libvirtxml.DomainFeatureSBBC", "Value:string"},
    {"libvirtxml.DomainFeatureSMM", "State:string TSeg:DomainFeatureSMMTSeg"},
    {"libvirtxml.DomainFeatureSMMTSeg", "Unit:string Value:uint"},
    {"libvirtxml.DomainFeatureState", "State:string"},
    {"libvirtxml.DomainFeatureTCG", "TBCache:DomainFeatureTCGTBCache"},
    {"libvirtxml.DomainFeatureTCGTBCache", "Unit:string Size:uint"},
    {"libvirtxml.DomainFeatureXen", "E820Host:DomainFeatureXenE820Host Passthrough:DomainFeatureXenPassthrough"},
    {"libvirtxml.DomainFeatureXenE820Host", "State:string"},
    {"libvirtxml.DomainFeatureXenPassthrough", "State:string Mode:string"},
    {"libvirtxml.DomainFilesystem",
     "XMLName:xml.Name AccessMode:string Model:string MultiDevs:string FMode:string DMode:string "
     "Driver:DomainFilesystemDriver Binary:DomainFilesystemBinary IDMap:DomainFilesystemIDMap "
     "Source:DomainFilesystemSource Target:DomainFilesystemTarget ReadOnly:DomainFilesystemReadOnly "
     "SpaceHardLimit:DomainFilesystemSpaceHardLimit SpaceSoftLimit:DomainFilesystemSpaceSoftLimit "
     "Boot:DomainDeviceBoot ACPI:DomainDeviceACPI Alias:DomainAlias Address:DomainAddress"},
    {"libvirtxml.DomainFilesystemBinary",
     "Path:string XAttr:string Cache:DomainFilesystemBinaryCache Sandbox:DomainFilesystemBinarySandbox "
     "Lock:DomainFilesystemBinaryLock ThreadPool:DomainFilesystemBinaryThreadPool "
     "OpenFiles:DomainFilesystemBinaryOpenFiles"},
    {"libvirtxml.DomainFilesystemBinaryCache", "Mode:string"},
    {"libvirtxml.DomainFilesystemBinaryLock", "POSIX:string Flock:string"},
    {"libvirtxml.DomainFilesystemBinaryOpenFiles", "Max:uint"},
    {"libvirtxml.DomainFilesystemBinarySandbox", "Mode:string"},
    {"libvirtxml.DomainFilesystemBinaryThreadPool", "Size:uint"},
    {"libvirtxml.DomainFilesystemDriver",
     "Type:string Format:string Name:string WRPolicy:string IOMMU:string ATS:string Packed:string PagePerVQ:string "
     "Queue:uint"},
    {"libvirtxml.DomainFilesystemIDMap", "UID:[]DomainFilesystemIDMapEntry GID:[]DomainFilesystemIDMapEntry"},
    {"libvirtxml.DomainFilesystemIDMapEntry", "Start:uint Target:uint Count:uint"},
    {"libvirtxml.DomainFilesystemReadOnly", ""},
    {"libvirtxml.DomainFilesystemSource",
     "Mount:DomainFilesystemSourceMount Block:DomainFilesystemSourceBlock File:DomainFilesystemSourceFile "
     "Template:DomainFilesystemSourceTemplate RAM:DomainFilesystemSourceRAM Bind:DomainFilesystemSourceBind "
     "Volume:DomainFilesystemSourceVolume"},
    {"libvirtxml.DomainFilesystemSourceBind", "Dir:string"},
    {"libvirtxml.DomainFilesystemSourceBlock", "Dev:string"},
    {"libvirtxml.DomainFilesystemSourceFile", "File:string"},
    {"libvirtxml.DomainFilesystemSourceMount", "Dir:string Socket:string"},
    {"libvirtxml.DomainFilesystemSourceRAM", "Usage:uint Units:string"},
    {"libvirtxml.DomainFilesystemSourceTemplate", "Name:string"},
    {"libvirtxml.DomainFilesystemSourceVolume", "Pool:string Volume:string"},
    {"libvirtxml.DomainFilesystemSpaceHardLimit", "Value:uint Unit:string"},
    {"libvirtxml.DomainFilesystemSpaceSoftLimit", "Value:uint Unit:string"},
    {"libvirtxml.DomainFilesystemTarget", "Dir:string"},
    {"libvirtxml.DomainGenID", "Value:string"},
    {"libvirtxml.DomainGraphic",
     "XMLName:xml.Name SDL:DomainGraphicSDL VNC:DomainGraphicVNC RDP:DomainGraphicRDP Desktop:DomainGraphicDesktop "
     "Spice:DomainGraphicSpice EGLHeadless:DomainGraphicEGLHeadless DBus:DomainGraphicDBus Audio:DomainGraphicAudio"},
    {"libvirtxml.DomainGraphicAudio", "ID:uint"},
    {"libvirtxml.DomainGraphicDBus", "Address:string P2P:string GL:DomainGraphicDBusGL"},
    {"libvirtxml.DomainGraphicDBusGL", "Enable:string RenderNode:string"},
    {"libvirtxml.DomainGraphicDesktop", "Display:string FullScreen:string"},
    {"libvirtxml.DomainGraphicEGLHeadless", "GL:DomainGraphicEGLHeadlessGL"},
    {"libvirtxml.DomainGraphicEGLHeadlessGL", "RenderNode:string"},
    {"libvirtxml.DomainGraphicListener",
     "Address:DomainGraphicListenerAddress Network:DomainGraphicListenerNetwork Socket:DomainGraphicListenerSocket"},
    {"libvirtxml.DomainGraphicListenerAddress", "Address:string"},
    {"libvirtxml.DomainGraphicListenerNetwork", "Address:string Network:string"},
    {"libvirtxml.DomainGraphicListenerSocket", "Socket:string"},
    {"libvirtxml.DomainGraphicRDP",
     "Port:int AutoPort:string ReplaceUser:string MultiUser:string Username:string Passwd:string Listen:string "
     "Listeners:[]DomainGraphicListener"},
    {"libvirtxml.DomainGraphicSDL", "Display:string XAuth:string FullScreen:string GL:DomainGraphicsSDLGL"},
    {"libvirtxml.DomainGraphicSpice",
     "Port:int TLSPort:int AutoPort:string Listen:string Keymap:string DefaultMode:string Passwd:string "
     "PasswdValidTo:string Connected:string Listeners:[]DomainGraphicListener Channel:[]DomainGraphicSpiceChannel "
     "Image:DomainGraphicSpiceImage JPEG:DomainGraphicSpiceJPEG ZLib:DomainGraphicSpiceZLib "
     "Playback:DomainGraphicSpicePlayback Streaming:DomainGraphicSpiceStreaming Mouse:DomainGraphicSpiceMouse "
     "ClipBoard:DomainGraphicSpiceClipBoard FileTransfer:DomainGraphicSpiceFileTransfer GL:DomainGraphicSpiceGL"},
    {"libvirtxml.DomainGraphicSpiceChannel", "Name:string Mode:string"},
    {"libvirtxml.DomainGraphicSpiceClipBoard", "CopyPaste:string"},
    {"libvirtxml.DomainGraphicSpiceFileTransfer", "Enable:string"},
    {"libvirtxml.DomainGraphicSpiceGL", "Enable:string RenderNode:string"},
    {"libvirtxml.DomainGraphicSpiceImage", "Compression:string"},
    {"libvirtxml.DomainGraphicSpiceJPEG", "Compression:string"},
    {"libvirtxml.DomainGraphicSpiceMouse", "Mode:string"},
    {"libvirtxml.DomainGraphicSpicePlayback", "Compression:string"},
    {"libvirtxml.DomainGraphicSpiceStreaming", "Mode:string"},
    {"libvirtxml.DomainGraphicSpiceZLib", "Compression:string"},
    {"libvirtxml.DomainGraphicVNC",
     "Socket:string Port:int AutoPort:string WebSocket:int Keymap:string SharePolicy:string Passwd:string "
     "PasswdValidTo:string Connected:string PowerControl:string Listen:string Wait:string "
     "Listeners:[]DomainGraphicListener"},
    {"libvirtxml.DomainGraphicsSDLGL", "Enable:string"},
    {"libvirtxml.DomainHostDevProductVendorID", "ID:string"},
    {"libvirtxml.DomainHostdev",
     "Managed:string SubsysUSB:DomainHostdevSubsysUSB SubsysSCSI:DomainHostdevSubsysSCSI "
     "SubsysSCSIHost:DomainHostdevSubsysSCSIHost SubsysPCI:DomainHostdevSubsysPCI SubsysMDev:DomainHostdevSubsysMDev "
     "CapsStorage:DomainHostdevCapsStorage CapsMisc:DomainHostdevCapsMisc CapsNet:DomainHostdevCapsNet "
     "Boot:DomainDeviceBoot ROM:DomainROM ACPI:DomainDeviceACPI Alias:DomainAlias Address:DomainAddress"},
    {"libvirtxml.DomainHostdevCapsMisc", "Source:DomainHostdevCapsMiscSource"},
    {"libvirtxml.DomainHostdevCapsMiscSource", "Char:string"},
    {"libvirtxml.DomainHostdevCapsNet", "Source:DomainHostdevCapsNetSource IP:[]DomainIP Route:[]DomainRoute"},
    {"libvirtxml.DomainHostdevCapsNetSource", "Interface:string"},
    {"libvirtxml.DomainHostdevCapsStorage", "Source:DomainHostdevCapsStorageSource"},
    {"libvirtxml.DomainHostdevCapsStorageSource", "Block:string"},
    {"libvirtxml.DomainHostdevSubsysMDev",
     "Model:string Display:string RamFB:string Source:DomainHostdevSubsysMDevSource"},
    {"libvirtxml.DomainHostdevSubsysMDevSource", "Address:DomainAddressMDev"},
    {"libvirtxml.DomainHostdevSubsysPCI",
     "Display:string RamFB:string Driver:DomainHostdevSubsysPCIDriver Source:DomainHostdevSubsysPCISource "
     "Teaming:DomainInterfaceTeaming"},
    {"libvirtxml.DomainHostdevSubsysPCIDriver", "Name:string Model:string IommuFD:string"},
    {"libvirtxml.DomainHostdevSubsysPCISource", "WriteFiltering:string Address:DomainAddressPCI"},
    {"libvirtxml.DomainHostdevSubsysSCSI",
     "SGIO:string RawIO:string Source:DomainHostdevSubsysSCSISource ReadOnly:DomainDiskReadOnly "
     "Shareable:DomainDiskShareable"},
    {"libvirtxml.DomainHostdevSubsysSCSIAdapter", "Name:string"},
    {"libvirtxml.DomainHostdevSubsysSCSIHost", "Model:string Source:DomainHostdevSubsysSCSIHostSource"},
    {"libvirtxml.DomainHostdevSubsysSCSIHostSource", "Protocol:string WWPN:string"},
    {"libvirtxml.DomainHostdevSubsysSCSISource",
     "Host:DomainHostdevSubsysSCSISourceHost ISCSI:DomainHostdevSubsysSCSISourceISCSI"},
    {"libvirtxml.DomainHostdevSubsysSCSISourceHost",
     "Adapter:DomainHostdevSubsysSCSIAdapter Address:DomainAddressDrive"},
    {"libvirtxml.DomainHostdevSubsysSCSISourceIQN", "Name:string"},
    {"libvirtxml.DomainHostdevSubsysSCSISourceISCSI",
     "Name:string Host:[]DomainDiskSourceHost Auth:DomainDiskAuth Initiator:DomainHostdevSubsysSCSISourceInitiator"},
    {"libvirtxml.DomainHostdevSubsysSCSISourceInitiator", "IQN:DomainHostdevSubsysSCSISourceIQN"},
    {"libvirtxml.DomainHostdevSubsysUSB", "Source:DomainHostdevSubsysUSBSource"},
    {"libvirtxml.DomainHostdevSubsysUSBSource",
     "GuestReset:string StartUpPolicy:string Address:DomainAddressUSB Product:DomainHostDevProductVendorID "
     "Vendor:DomainHostDevProductVendorID"},
    {"libvirtxml.DomainHub", "Type:string ACPI:DomainDeviceACPI Alias:DomainAlias Address:DomainAddress"},
    {"libvirtxml.DomainIDMap", "UIDs:[]DomainIDMapRange GIDs:[]DomainIDMapRange"},
    {"libvirtxml.DomainIDMapRange", "Start:uint Target:uint Count:uint"},
    {"libvirtxml.DomainIOMMU",
     "Model:string Driver:DomainIOMMUDriver ACPI:DomainDeviceACPI Alias:DomainAlias Address:DomainAddress"},
    {"libvirtxml.DomainIOMMUDriver",
     "IntRemap:string CachingMode:string EIM:string IOTLB:string AWBits:uint DMATranslation:string Passthrough:string "
     "XTSup:string PCIBus:uint Granule:DomainIOMMUDriverGranule"},
    {"libvirtxml.DomainIOMMUDriverGranule", "Size:uint Unit:string Mode:string"},
    {"libvirtxml.DomainIOMMUFD", "Enabled:string FDGroup:string"},
    {"libvirtxml.DomainIOThread", "ID:uint PoolMin:uint PoolMax:uint Poll:DomainIOThreadPoll"},
    {"libvirtxml.DomainIOThreadIDs", "IOThreads:[]DomainIOThread"},
    {"libvirtxml.DomainIOThreadPoll", "Max:uint Grow:uint Shrink:uint"},
    {"libvirtxml.DomainIP", "Address:string Family:string Prefix:uint"},
    {"libvirtxml.DomainInput",
     "XMLName:xml.Name Type:string Bus:string Model:string Driver:DomainInputDriver Source:DomainInputSource "
     "ACPI:DomainDeviceACPI Alias:DomainAlias Address:DomainAddress"},
    {"libvirtxml.DomainInputDriver", "IOMMU:string ATS:string Packed:string PagePerVQ:string"},
    {"libvirtxml.DomainInputSource", "Passthrough:DomainInputSourcePassthrough EVDev:DomainInputSourceEVDev"},
    {"libvirtxml.DomainInputSourceEVDev", "Dev:string Grab:string GrabToggle:string Repeat:string"},
    {"libvirtxml.DomainInputSourcePassthrough", "EVDev:string"},
    {"libvirtxml.DomainInterface",
     "XMLName:xml.Name Managed:string TrustGuestRXFilters:string MAC:DomainInterfaceMAC Source:DomainInterfaceSource "
     "Boot:DomainDeviceBoot VLan:DomainInterfaceVLan VirtualPort:DomainInterfaceVirtualPort IP:[]DomainInterfaceIP "
     "Route:[]DomainInterfaceRoute PortForward:[]DomainInterfaceSourcePortForward Script:DomainInterfaceScript "
     "DownScript:DomainInterfaceScript BackendDomain:DomainBackendDomain Target:DomainInterfaceTarget "
     "Guest:DomainInterfaceGuest Model:DomainInterfaceModel Driver:DomainInterfaceDriver "
     "Backend:DomainInterfaceBackend FilterRef:DomainInterfaceFilterRef Tune:DomainInterfaceTune "
     "Teaming:DomainInterfaceTeaming Link:DomainInterfaceLink MTU:DomainInterfaceMTU "
     "Bandwidth:DomainInterfaceBandwidth PortOptions:DomainInterfacePortOptions Coalesce:DomainInterfaceCoalesce "
     "ROM:DomainROM ACPI:DomainDeviceACPI Alias:DomainAlias Address:DomainAddress"},
    {"libvirtxml.DomainInterfaceBackend",
     "Type:string Tap:string VHost:string LogFile:string Hostname:string FQDN:string"},
    {"libvirtxml.DomainInterfaceBandwidth",
     "Inbound:DomainInterfaceBandwidthParams Outbound:DomainInterfaceBandwidthParams"},
    {"libvirtxml.DomainInterfaceBandwidthParams", "Average:int Peak:int Burst:int Floor:int"},
    {"libvirtxml.DomainInterfaceCoalesce", "RX:DomainInterfaceCoalesceRX"},
    {"libvirtxml.DomainInterfaceCoalesceRX", "Frames:DomainInterfaceCoalesceRXFrames"},
    {"libvirtxml.DomainInterfaceCoalesceRXFrames", "Max:uint"},
    {"libvirtxml.DomainInterfaceDriver",
     "Name:string TXMode:string IOEventFD:string EventIDX:string Queues:uint RXQueueSize:uint TXQueueSize:uint "
     "IOMMU:string ATS:string Packed:string PagePerVQ:string RSS:string RSSHashReport:string "
     "Host:DomainInterfaceDriverHost Guest:DomainInterfaceDriverGuest"},
    {"libvirtxml.DomainInterfaceDriverGuest", "CSum:string TSO4:string TSO6:string ECN:string UFO:string"},
    {"libvirtxml.DomainInterfaceDriverHost",
     "CSum:string GSO:string TSO4:string TSO6:string ECN:string UFO:string MrgRXBuf:string"},
    {"libvirtxml.DomainInterfaceFilterParam", "Name:string Value:string"},
    {"libvirtxml.DomainInterfaceFilterRef", "Filter:string Parameters:[]DomainInterfaceFilterParam"},
    {"libvirtxml.DomainInterfaceGuest", "Dev:string Actual:string"},
    {"libvirtxml.DomainInterfaceIP", "Address:string Family:string Prefix:uint Peer:string"},
    {"libvirtxml.DomainInterfaceLink", "State:string"},
    {"libvirtxml.DomainInterfaceMAC", "Address:string Type:string Check:string"},
    {"libvirtxml.DomainInterfaceMTU", "Size:uint"},
    {"libvirtxml.DomainInterfaceModel", "Type:string"},
    {"libvirtxml.DomainInterfacePortOptions", "Isolated:string"},
    {"libvirtxml.DomainInterfaceRoute",
     "Family:string Address:string Netmask:string Prefix:uint Gateway:string Metric:uint"},
    {"libvirtxml.DomainInterfaceScript", "Path:string"},
    {"libvirtxml.DomainInterfaceSource",
     "User:DomainInterfaceSourceUser Ethernet:DomainInterfaceSourceEthernet VHostUser:DomainInterfaceSourceVHostUser "
     "Server:DomainInterfaceSourceServer Client:DomainInterfaceSourceClient MCast:DomainInterfaceSourceMCast "
     "Network:DomainInterfaceSourceNetwork Bridge:DomainInterfaceSourceBridge Internal:DomainInterfaceSourceInternal "
     "Direct:DomainInterfaceSourceDirect Hostdev:DomainInterfaceSourceHostdev UDP:DomainInterfaceSourceUDP "
     "VDPA:DomainInterfaceSourceVDPA Null:DomainInterfaceSourceNull VDS:DomainInterfaceSourceVDS"},
    {"libvirtxml.DomainInterfaceSourceBridge", "Bridge:string"},
    {"libvirtxml.DomainInterfaceSourceClient", "Address:string Port:uint Local:DomainInterfaceSourceLocal"},
    {"libvirtxml.DomainInterfaceSourceDirect", "Dev:string Mode:string"},
    {"libvirtxml.DomainInterfaceSourceEthernet", "IP:[]DomainInterfaceIP Route:[]DomainInterfaceRoute"},
    {"libvirtxml.DomainInterfaceSourceHostdev", "PCI:DomainHostdevSubsysPCISource USB:DomainHostdevSubsysUSBSource"},
    {"libvirtxml.DomainInterfaceSourceInternal", "Name:string"},
    {"libvirtxml.DomainInterfaceSourceLocal", "Address:string Port:uint"},
    {"libvirtxml.DomainInterfaceSourceMCast", "Address:string Port:uint Local:DomainInterfaceSourceLocal"},
    {"libvirtxml.DomainInterfaceSourceNetwork", "Network:string PortGroup:string Bridge:string PortID:string"},
    {"libvirtxml.DomainInterfaceSourceNull", ""},
    {"libvirtxml.DomainInterfaceSourcePortForward",
     "Proto:string Address:string Dev:string Ranges:[]DomainInterfaceSourcePortForwardRange"},
    {"libvirtxml.DomainInterfaceSourcePortForwardRange", "Start:uint End:uint To:uint Exclude:string"},
    {"libvirtxml.DomainInterfaceSourceServer", "Address:string Port:uint Local:DomainInterfaceSourceLocal"},
    {"libvirtxml.DomainInterfaceSourceUDP", "Address:string Port:uint Local:DomainInterfaceSourceLocal"},
    {"libvirtxml.DomainInterfaceSourceUser", "Dev:string"},
    {"libvirtxml.DomainInterfaceSourceVDPA", "Device:string"},
    {"libvirtxml.DomainInterfaceSourceVDS", "SwitchID:string PortID:int PortGroupID:string ConnectionID:int"},
    {"libvirtxml.DomainInterfaceSourceVHostUser", "Chardev:DomainChardevSource Dev:string"},
    {"libvirtxml.DomainInterfaceTarget", "Dev:string Managed:string"},
    {"libvirtxml.DomainInterfaceTeaming", "Type:string Persistent:string"},
    {"libvirtxml.DomainInterfaceTune", "SndBuf:uint"},
    {"libvirtxml.DomainInterfaceVLan", "Trunk:string Tags:[]DomainInterfaceVLanTag"},
    {"libvirtxml.DomainInterfaceVLanTag", "ID:uint NativeMode:string"},
    {"libvirtxml.DomainInterfaceVirtualPort", "Params:DomainInterfaceVirtualPortParams"},
    {"libvirtxml.DomainInterfaceVirtualPortParams",
     "Any:DomainInterfaceVirtualPortParamsAny VEPA8021QBG:DomainInterfaceVirtualPortParamsVEPA8021QBG "
     "VNTag8011QBH:DomainInterfaceVirtualPortParamsVNTag8021QBH "
     "OpenVSwitch:DomainInterfaceVirtualPortParamsOpenVSwitch MidoNet:DomainInterfaceVirtualPortParamsMidoNet"},
    {"libvirtxml.DomainInterfaceVirtualPortParamsAny",
     "ManagerID:uint TypeID:uint TypeIDVersion:uint InstanceID:string ProfileID:string InterfaceID:string"},
    {"libvirtxml.DomainInterfaceVirtualPortParamsMidoNet", "InterfaceID:string"},
    {"libvirtxml.DomainInterfaceVirtualPortParamsOpenVSwitch", "InterfaceID:string ProfileID:string"},
    {"libvirtxml.DomainInterfaceVirtualPortParamsVEPA8021QBG",
     "ManagerID:uint TypeID:uint TypeIDVersion:uint InstanceID:string"},
    {"libvirtxml.DomainInterfaceVirtualPortParamsVNTag8021QBH", "ProfileID:string"},
    {"libvirtxml.DomainKeyWrap", "Ciphers:[]DomainKeyWrapCipher"},
    {"libvirtxml.DomainKeyWrapCipher", "Name:string State:string"},
    {"libvirtxml.DomainLXCNamespace",
     "XMLName:xml.Name ShareNet:DomainLXCNamespaceMap ShareIPC:DomainLXCNamespaceMap ShareUTS:DomainLXCNamespaceMap"},
    {"libvirtxml.DomainLXCNamespaceMap", "Type:string Value:string"},
    {"libvirtxml.DomainLaunchSecurity",
     "SEV:DomainLaunchSecuritySEV SEVSNP:DomainLaunchSecuritySEVSNP S390PV:DomainLaunchSecurityS390PV "
     "TDX:DomainLaunchSecurityTDX"},
    {"libvirtxml.DomainLaunchSecurityS390PV", ""},
    {"libvirtxml.DomainLaunchSecuritySEV",
     "KernelHashes:string CBitPos:uint ReducedPhysBits:uint Policy:uint DHCert:string Session:string"},
    {"libvirtxml.DomainLaunchSecuritySEVSNP",
     "KernelHashes:string AuthorKey:string VCEK:string CBitPos:uint ReducedPhysBits:uint Policy:uint "
     "GuestVisibleWorkarounds:string IDBlock:string IDAuth:string HostData:string"},
    {"libvirtxml.DomainLaunchSecurityTDX",
     "Policy:uint MrConfigId:string MrOwner:string MrOwnerConfig:string "
     "QuoteGenerationService:DomainLaunchSecurityTDXQGS"},
    {"libvirtxml.DomainLaunchSecurityTDXQGS", "Path:string"},
    {"libvirtxml.DomainLease", "Lockspace:string Key:string Target:DomainLeaseTarget"},
    {"libvirtxml.DomainLeaseTarget", "Path:string Offset:uint"},
    {"libvirtxml.DomainLoader", "Path:string Readonly:string Secure:string Stateless:string Type:string Format:string"},
    {"libvirtxml.DomainMaxMemory", "Value:uint Unit:string Slots:uint"},
    {"libvirtxml.DomainMemBalloon",
     "XMLName:xml.Name Model:string AutoDeflate:string FreePageReporting:string Driver:DomainMemBalloonDriver "
     "Stats:DomainMemBalloonStats ACPI:DomainDeviceACPI Alias:DomainAlias Address:DomainAddress"},
    {"libvirtxml.DomainMemBalloonDriver", "IOMMU:string ATS:string Packed:string PagePerVQ:string"},
    {"libvirtxml.DomainMemBalloonStats", "Period:uint"},
    {"libvirtxml.DomainMemory", "Value:uint Unit:string DumpCore:string"},
    {"libvirtxml.DomainMemoryAccess", "Mode:string"},
    {"libvirtxml.DomainMemoryAllocation", "Mode:string Threads:uint"},
    {"libvirtxml.DomainMemoryBacking",
     "MemoryHugePages:DomainMemoryHugepages MemoryNosharepages:DomainMemoryNosharepages "
     "MemoryLocked:DomainMemoryLocked MemorySource:DomainMemorySource MemoryAccess:DomainMemoryAccess "
     "MemoryAllocation:DomainMemoryAllocation MemoryDiscard:DomainMemoryDiscard"},
    {"libvirtxml.DomainMemoryDiscard", ""},
    {"libvirtxml.DomainMemoryHugepage", "Size:uint Unit:string Nodeset:string"},
    {"libvirtxml.DomainMemoryHugepages", "Hugepages:[]DomainMemoryHugepage"},
    {"libvirtxml.DomainMemoryLocked", ""},
    {"libvirtxml.DomainMemoryNosharepages", ""},
    {"libvirtxml.DomainMemorySource", "Type:string"},
    {"libvirtxml.DomainMemoryTune",
     "HardLimit:DomainMemoryTuneLimit SoftLimit:DomainMemoryTuneLimit MinGuarantee:DomainMemoryTuneLimit "
     "SwapHardLimit:DomainMemoryTuneLimit"},
    {"libvirtxml.DomainMemoryTuneLimit", "Value:uint Unit:string"},
    {"libvirtxml.DomainMemorydev",
     "XMLName:xml.Name Model:string Access:string Discard:string Driver:DomainMemorydevDriver UUID:string "
     "Source:DomainMemorydevSource Target:DomainMemorydevTarget ACPI:DomainDeviceACPI Alias:DomainAlias "
     "Address:DomainAddress"},
    {"libvirtxml.DomainMemorydevDriver", "IOMMU:string ATS:string Packed:string PagePerVQ:string"},
    {"libvirtxml.DomainMemorydevSource",
     "NodeMask:string PageSize:DomainMemorydevSourcePagesize Path:string AlignSize:DomainMemorydevSourceAlignsize "
     "PMem:DomainMemorydevSourcePMem"},
    {"libvirtxml.DomainMemorydevSourceAlignsize", "Value:uint Unit:string"},
    {"libvirtxml.DomainMemorydevSourcePMem", ""},
    {"libvirtxml.DomainMemorydevSourcePagesize", "Value:uint Unit:string"},
    {"libvirtxml.DomainMemorydevTarget",
     "DynamicMemslots:string Size:DomainMemorydevTargetSize Node:DomainMemorydevTargetNode "
     "Label:DomainMemorydevTargetLabel Block:DomainMemorydevTargetBlock Requested:DomainMemorydevTargetRequested "
     "ReadOnly:DomainMemorydevTargetReadOnly Address:DomainMemorydevTargetAddress"},
    {"libvirtxml.DomainMemorydevTargetAddress", "Base:uint"},
    {"libvirtxml.DomainMemorydevTargetBlock", "Value:uint Unit:string"},
    {"libvirtxml.DomainMemorydevTargetLabel", "Size:DomainMemorydevTargetSize"},
    {"libvirtxml.DomainMemorydevTargetNode", "Value:uint"},
    {"libvirtxml.DomainMemorydevTargetReadOnly", ""},
    {"libvirtxml.DomainMemorydevTargetRequested", "Value:uint Unit:string"},
    {"libvirtxml.DomainMemorydevTargetSize", "Value:uint Unit:string"},
    {"libvirtxml.DomainMetadata", "XML:string"},
    {"libvirtxml.DomainNUMAInterconnectBandwidth",
     "Initiator:uint Target:uint Cache:uint Type:string Value:uint Unit:string"},
    {"libvirtxml.DomainNUMAInterconnectLatency", "Initiator:uint Target:uint Cache:uint Type:string Value:uint"},
    {"libvirtxml.DomainNUMAInterconnects",
     "Latencies:[]DomainNUMAInterconnectLatency Bandwidths:[]DomainNUMAInterconnectBandwidth"},
    {"libvirtxml.DomainNUMATune", "Memory:DomainNUMATuneMemory MemNodes:[]DomainNUMATuneMemNode"},
    {"libvirtxml.DomainNUMATuneMemNode", "CellID:uint Mode:string Nodeset:string"},
    {"libvirtxml.DomainNUMATuneMemory", "Mode:string Nodeset:string Placement:string"},
    {"libvirtxml.DomainNVRAM", "ACPI:DomainDeviceACPI Alias:DomainAlias Address:DomainAddress"},
    {"libvirtxml.DomainNVRam",
     "NVRam:string Source:DomainDiskSource Template:string Format:string TemplateFormat:string"},
    {"libvirtxml.DomainNuma", "Cell:[]DomainCell Interconnects:DomainNUMAInterconnects"},
    {"libvirtxml.DomainOS",
     "Type:DomainOSType Firmware:string FirmwareInfo:DomainOSFirmwareInfo Init:string InitArgs:[]string "
     "InitEnv:[]DomainOSInitEnv InitDir:string InitUser:string InitGroup:string Loader:DomainLoader NVRam:DomainNVRam "
     "VarStore:DomainVarStore Kernel:string Initrd:string Cmdline:string Shim:string DTB:string ACPI:DomainACPI "
     "BootDevices:[]DomainBootDevice BootMenu:DomainBootMenu BIOS:DomainBIOS SMBios:DomainSMBios"},
    {"libvirtxml.DomainOSFirmwareFeature", "Enabled:string Name:string"},
    {"libvirtxml.DomainOSFirmwareInfo", "Features:[]DomainOSFirmwareFeature"},
    {"libvirtxml.DomainOSInitEnv", "Name:string Value:string"},
    {"libvirtxml.DomainOSType", "Arch:string Machine:string Type:string"},
    {"libvirtxml.DomainPM", "SuspendToMem:DomainPMPolicy SuspendToDisk:DomainPMPolicy"},
    {"libvirtxml.DomainPMPolicy", "Enabled:string"},
    {"libvirtxml.DomainPStore",
     "Backend:string Path:string Size:DomainPStoreSize ACPI:DomainDeviceACPI Alias:DomainAlias Address:DomainAddress"},
    {"libvirtxml.DomainPStoreSize", "Size:uint Unit:string"},
    {"libvirtxml.DomainPanic",
     "XMLName:xml.Name Model:string ACPI:DomainDeviceACPI Alias:DomainAlias Address:DomainAddress"},
    {"libvirtxml.DomainParallel",
     "XMLName:xml.Name Source:DomainChardevSource Protocol:DomainChardevProtocol Target:DomainParallelTarget "
     "Log:DomainChardevLog ACPI:DomainDeviceACPI Alias:DomainAlias Address:DomainAddress"},
    {"libvirtxml.DomainParallelTarget", "Type:string Port:uint"},
    {"libvirtxml.DomainPerf", "Events:[]DomainPerfEvent"},
    {"libvirtxml.DomainPerfEvent", "Name:string Enabled:string"},
    {"libvirtxml.DomainQEMUCapabilities",
     "XMLName:xml.Name Add:[]DomainQEMUCapabilitiesEntry Del:[]DomainQEMUCapabilitiesEntry"},
    {"libvirtxml.DomainQEMUCapabilitiesEntry", "Name:string"},
    {"libvirtxml.DomainQEMUCommandline",
     "XMLName:xml.Name Args:[]DomainQEMUCommandlineArg Envs:[]DomainQEMUCommandlineEnv"},
    {"libvirtxml.DomainQEMUCommandlineArg", "Value:string"},
    {"libvirtxml.DomainQEMUCommandlineEnv", "Name:string Value:string"},
    {"libvirtxml.DomainQEMUDeprecation", "XMLName:xml.Name Behavior:string"},
    {"libvirtxml.DomainQEMUOverride", "XMLName:xml.Name Devices:[]DomainQEMUOverrideDevice"},
    {"libvirtxml.DomainQEMUOverrideDevice", "Alias:string Frontend:DomainQEMUOverrideFrontend"},
    {"libvirtxml.DomainQEMUOverrideFrontend", "Properties:[]DomainQEMUOverrideProperty"},
    {"libvirtxml.DomainQEMUOverrideProperty", "Name:string Type:string Value:string"},
    {"libvirtxml.DomainRNG",
     "XMLName:xml.Name Model:string Driver:DomainRNGDriver Rate:DomainRNGRate Backend:DomainRNGBackend "
     "ACPI:DomainDeviceACPI Alias:DomainAlias Address:DomainAddress"},
    {"libvirtxml.DomainRNGBackend",
     "Random:DomainRNGBackendRandom EGD:DomainRNGBackendEGD BuiltIn:DomainRNGBackendBuiltIn"},
    {"libvirtxml.DomainRNGBackendBuiltIn", ""},
    {"libvirtxml.DomainRNGBackendEGD", "Source:DomainChardevSource Protocol:DomainChardevProtocol"},
    {"libvirtxml.DomainRNGBackendRandom", "Device:string"},
    {"libvirtxml.DomainRNGDriver", "IOMMU:string ATS:string Packed:string PagePerVQ:string"},
    {"libvirtxml.DomainRNGRate", "Bytes:uint Period:uint"},
    {"libvirtxml.DomainROM", "Bar:string File:string Enabled:string"},
    {"libvirtxml.DomainRedirDev",
     "XMLName:xml.Name Bus:string Source:DomainChardevSource Protocol:DomainChardevProtocol Boot:DomainDeviceBoot "
     "ACPI:DomainDeviceACPI Alias:DomainAlias Address:DomainAddress"},
    {"libvirtxml.DomainRedirFilter", "USB:[]DomainRedirFilterUSB"},
    {"libvirtxml.DomainRedirFilterUSB", "Class:uint Vendor:uint Product:uint Version:string Allow:string"},
    {"libvirtxml.DomainResource", "Partition:string FibreChannel:DomainResourceFibreChannel"},
    {"libvirtxml.DomainResourceFibreChannel", "AppID:string"},
    {"libvirtxml.DomainRoute", "Family:string Address:string Gateway:string"},
    {"libvirtxml.DomainSMBios", "Mode:string"},
    {"libvirtxml.DomainSecLabel",
     "Type:string Model:string Relabel:string Label:string ImageLabel:string BaseLabel:string"},
    {"libvirtxml.DomainSerial",
     "XMLName:xml.Name Source:DomainChardevSource Protocol:DomainChardevProtocol Target:DomainSerialTarget "
     "Log:DomainChardevLog ACPI:DomainDeviceACPI Alias:DomainAlias Address:DomainAddress"},
    {"libvirtxml.DomainSerialTarget", "Type:string Port:uint Model:DomainSerialTargetModel"},
    {"libvirtxml.DomainSerialTargetModel", "Name:string"},
    {"libvirtxml.DomainShmem",
     "XMLName:xml.Name Name:string Role:string Size:DomainShmemSize Model:DomainShmemModel Server:DomainShmemServer "
     "MSI:DomainShmemMSI ACPI:DomainDeviceACPI Alias:DomainAlias Address:DomainAddress"},
    {"libvirtxml.DomainShmemMSI", "Enabled:string Vectors:uint IOEventFD:string"},
    {"libvirtxml.DomainShmemModel", "Type:string"},
    {"libvirtxml.DomainShmemServer", "Path:string"},
    {"libvirtxml.DomainShmemSize", "Value:uint Unit:string"},
    {"libvirtxml.DomainSmartcard",
     "XMLName:xml.Name Passthrough:DomainChardevSource Protocol:DomainChardevProtocol Host:DomainSmartcardHost "
     "HostCerts:[]DomainSmartcardHostCert Database:string ACPI:DomainDeviceACPI Alias:DomainAlias "
     "Address:DomainAddress"},
    {"libvirtxml.DomainSmartcardHost", ""},
    {"libvirtxml.DomainSmartcardHostCert", "File:string"},
    {"libvirtxml.DomainSound",
     "XMLName:xml.Name Model:string MultiChannel:string Streams:uint Codec:[]DomainSoundCodec Audio:DomainSoundAudio "
     "ACPI:DomainDeviceACPI Alias:DomainAlias Driver:DomainSoundDriver Address:DomainAddress"},
    {"libvirtxml.DomainSoundAudio", "ID:uint"},
    {"libvirtxml.DomainSoundCodec", "Type:string"},
    {"libvirtxml.DomainSoundDriver", "IOMMU:string ATS:string Packed:string PagePerVQ:string"},
    {"libvirtxml.DomainSysInfo", "SMBIOS:DomainSysInfoSMBIOS FWCfg:DomainSysInfoFWCfg"},
    {"libvirtxml.DomainSysInfoBIOS", "Entry:[]DomainSysInfoEntry"},
    {"libvirtxml.DomainSysInfoBaseBoard", "Entry:[]DomainSysInfoEntry"},
    {"libvirtxml.DomainSysInfoChassis", "Entry:[]DomainSysInfoEntry"},
    {"libvirtxml.DomainSysInfoEntry", "Name:string File:string Value:string"},
    {"libvirtxml.DomainSysInfoFWCfg", "Entry:[]DomainSysInfoEntry"},
    {"libvirtxml.DomainSysInfoMemory", "Entry:[]DomainSysInfoEntry"},
    {"libvirtxml.DomainSysInfoOEMStrings", "Entry:[]string"},
    {"libvirtxml.DomainSysInfoProcessor", "Entry:[]DomainSysInfoEntry"},
    {"libvirtxml.DomainSysInfoSMBIOS",
     "BIOS:DomainSysInfoBIOS System:DomainSysInfoSystem BaseBoard:[]DomainSysInfoBaseBoard "
     "Chassis:DomainSysInfoChassis Processor:[]DomainSysInfoProcessor Memory:[]DomainSysInfoMemory "
     "OEMStrings:DomainSysInfoOEMStrings"},
    {"libvirtxml.DomainSysInfoSystem", "Entry:[]DomainSysInfoEntry"},
    {"libvirtxml.DomainTPM",
     "XMLName:xml.Name Model:string Backend:DomainTPMBackend ACPI:DomainDeviceACPI Alias:DomainAlias "
     "Address:DomainAddress"},
    {"libvirtxml.DomainTPMBackend",
     "Passthrough:DomainTPMBackendPassthrough Emulator:DomainTPMBackendEmulator External:DomainTPMBackendExternal"},
    {"libvirtxml.DomainTPMBackendDevice", "Path:string"},
    {"libvirtxml.DomainTPMBackendEmulator",
     "Version:string Encryption:DomainTPMBackendEncryption PersistentState:string Debug:uint "
     "ActivePCRBanks:DomainTPMBackendPCRBanks Source:DomainTPMBackendSource Profile:DomainTPMBackendProfile"},
    {"libvirtxml.DomainTPMBackendEncryption", "Secret:string"},
    {"libvirtxml.DomainTPMBackendExternal", "Source:DomainChardevSource"},
    {"libvirtxml.DomainTPMBackendPCRBank", ""},
    {"libvirtxml.DomainTPMBackendPCRBanks",
     "SHA1:DomainTPMBackendPCRBank SHA256:DomainTPMBackendPCRBank SHA384:DomainTPMBackendPCRBank "
     "SHA512:DomainTPMBackendPCRBank"},
    {"libvirtxml.DomainTPMBackendPassthrough", "Device:DomainTPMBackendDevice"},
    {"libvirtxml.DomainTPMBackendProfile", "Source:string RemoveDisabled:string Name:string"},
    {"libvirtxml.DomainTPMBackendSource", "File:DomainTPMBackendSourceFile Dir:DomainTPMBackendSourceDir"},
    {"libvirtxml.DomainTPMBackendSourceDir", "Path:string"},
    {"libvirtxml.DomainTPMBackendSourceFile", "Path:string"},
    {"libvirtxml.DomainThrottleGroups", "ThrottleGroups:[]DomainDiskIOTune"},
    {"libvirtxml.DomainTimer",
     "Name:string Track:string TickPolicy:string CatchUp:DomainTimerCatchUp Frequency:uint Mode:string Present:string"},
    {"libvirtxml.DomainTimerCatchUp", "Threshold:uint Slew:uint Limit:uint"},
    {"libvirtxml.DomainVCPU", "Placement:string CPUSet:string Current:uint Value:uint"},
    {"libvirtxml.DomainVCPUs", "VCPU:[]DomainVCPUsVCPU"},
    {"libvirtxml.DomainVCPUsVCPU", "Id:uint Enabled:string Hotpluggable:string Order:uint"},
    {"libvirtxml.DomainVMWareDataCenterPath", "XMLName:xml.Name Value:string"},
    {"libvirtxml.DomainVSock",
     "XMLName:xml.Name Model:string CID:DomainVSockCID Driver:DomainVSockDriver ACPI:DomainDeviceACPI "
     "Alias:DomainAlias Address:DomainAddress"},
    {"libvirtxml.DomainVSockCID", "Auto:string Address:string"},
    {"libvirtxml.DomainVSockDriver", "IOMMU:string ATS:string Packed:string PagePerVQ:string"},
    {"libvirtxml.DomainVarStore", "Path:string Template:string"},
    {"libvirtxml.DomainVideo",
     "XMLName:xml.Name Model:DomainVideoModel Driver:DomainVideoDriver ACPI:DomainDeviceACPI Alias:DomainAlias "
     "Address:DomainAddress"},
    {"libvirtxml.DomainVideoAccel", "Accel3D:string Accel2D:string RenderNode:string"},
    {"libvirtxml.DomainVideoDriver",
     "Name:string VGAConf:string IOMMU:string ATS:string Packed:string PagePerVQ:string"},
    {"libvirtxml.DomainVideoModel",
     "Type:string Heads:uint Ram:uint VRam:uint VRam64:uint VGAMem:uint Primary:string Blob:string EDID:string "
     "Accel:DomainVideoAccel Resolution:DomainVideoResolution"},
    {"libvirtxml.DomainVideoResolution", "X:uint Y:uint"},
    {"libvirtxml.DomainWatchdog",
     "XMLName:xml.Name Model:string Action:string ACPI:DomainDeviceACPI Alias:DomainAlias Address:DomainAddress"},
    {"libvirtxml.DomainXenCommandline", "XMLName:xml.Name Args:[]DomainXenCommandlineArg"},
    {"libvirtxml.DomainXenCommandlineArg", "Value:string"},
    {"libvirtxml.ThrottleFilter", "Group:string"},
    {"libvirtxml.ThrottleFilters", "ThrottleFilter:[]ThrottleFilter"},
    {"xml.Name", "Space:string Local:string"},
};
// clang-format on

}  // namespace

std::span<const Structure> domain_structures() { return domain_structure_rows; }

}  // namespace vg::cel
