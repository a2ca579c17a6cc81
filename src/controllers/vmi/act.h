// What the controller does for a VMI before it writes down how it is (spec vmi-lifecycle 2.2).
#pragma once

#include "controllers/vmi/draft.h"

namespace vg::controllers::vmi {

// Placements that are over leave the draft: of a VMI that ended, the source of a completed migration, the target of a
// failed one, and with a deletion what had no node yet.
void drop_ended_placements(Draft& draft);
// VMI-A01..A12, A15 and A16: makes the placement and finds a node for it, or says what is in the way.
void act(Draft& draft);
// What made the placements of this program (VMI-U04): upstream has the image of the launcher here.
std::string launcher_image();
// A migration's receiving half between clusters, which waits to be told where it goes.
bool waits_for_sender(const Draft& draft);

}  // namespace vg::controllers::vmi
