// What a VM looked like when it was started (spec vm-controller 7): revisions, and the generation that its VMI shows.
#pragma once

#include <optional>
#include <string>

#include "controllers/vm/work.h"

namespace vg::controllers::vm {

// The VM spec that a revision holds, as {"spec": ...} in canonical form.
Value spec_of_revision(const Object& revision, const json::StoragePtr& storage);
// VMC-70
std::string start_revision_name(const Object& vm);
// VMC-71: has the revision of the present generation made and older ones deleted; the name of it.
std::string store_start_revision(Work& work);
// VMC-74: {"spec": ...} of the last start, in canonical form; nothing when there is none, or none that can be read.
std::optional<Value> last_start(const Work& work);
// VMC-76: the VMI shows the VM's generation when only what is outside of the template changed.
void bump_generation(Work& work);
// VMC-77 and VMC-78. `patch` gets what the VMI lacks.
struct Generations {
  std::optional<std::int64_t> observed;
  bool annotate = false;  // the VMI is to be told
};
Generations observed_generation(const World& world, const Object& vmi);

}  // namespace vg::controllers::vm
