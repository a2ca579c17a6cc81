// What happens by itself when objects are deleted: the content of a namespace goes before the namespace, and what an
// owner leaves behind goes after it, before it, or stays, as the deletion asked.
//
// One task on one core. It follows the changes of every resource, remembers which objects to look at, and decides from
// what the store holds at that moment: looking twice does no harm, and a start looks at everything that could be
// unfinished. Users decide how many objects there are, how large, and what owns what, so it never works for long
// without letting the core's other tasks have their turn, and never holds more than a few objects open.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "housekeeping/controller.h"

namespace vg::resources {

// `gather_roles` is asked after roles changed: the writes that bring gathered rules up to date. May be empty.
std::unique_ptr<Controller> make_deletion_controller(ControllerParts parts,
                                                     std::function<std::vector<Write>()> gather_roles);

}  // namespace vg::resources
