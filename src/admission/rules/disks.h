// Rules about disks that stand in a domain, wherever the domain stands (spec work-objects 3.6).
#pragma once

#include <string_view>
#include <vector>

#include "admission/rule.h"
#include "json/value.h"

namespace vg::admission {

// As 0000:81:01.0: domain, bus, slot and function, in hexadecimal digits of either case.
bool is_pci_address(std::string_view address);

// DISK-01 to DISK-20 and BOOT-01. `disks`: the list, may be null. `base`: where it stands.
void check_disks(const json::Value* disks, const Place& base, Causes& causes);
void list_disk_rules(std::vector<RuleInfo>& out);

}  // namespace vg::admission
