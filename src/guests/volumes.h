// What a node says about the volumes of its guests (spec vmi-lifecycle 3.8): the names of disks, and hotplugged volumes
// on their way in and out.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "controllers/vmi/draft.h"

namespace vg::guests {

// What the node knows of a volume.
struct VolumeFacts {
  std::string target = {};    // of the disk in the guest: "vda"; empty: there is none
  bool mounted = false;       // of one that is hotplugged: its disk is where the hypervisor looks for it
  std::int64_t iso_size = 0;  // of a disk that was made for this run; 0: none was
  bool dumped = false;        // of a memory dump: it is over
  std::string dump_failure = {};
};
// `is_wanted`: the spec has it.
using VolumeLook = std::function<VolumeFacts(std::string_view volume, std::string_view phase, bool is_wanted)>;

// One stage at a time; what it changes brings the VMI here again.
void update_volumes(controllers::vmi::Draft& guest, const VolumeLook& look);

}  // namespace vg::guests
