// Keeps the objects of system_objects.h as kube-apiserver and kube-controller-manager do: they come with their
// namespace, and come back when somebody deletes or changes them.
//
// One task on one core. What changed is only ever a reason to look at a namespace; what is to be done follows from what
// the store holds then.
#pragma once

#include <memory>

#include "housekeeping/controller.h"
#include "housekeeping/system_objects.h"

namespace vg::resources {

std::unique_ptr<Controller> make_system_controller(ControllerParts parts, SystemFacts facts);

}  // namespace vg::resources
