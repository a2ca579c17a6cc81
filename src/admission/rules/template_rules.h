// What objects that make machines from a template have in common: replica sets, pools.
#pragma once

#include "admission/rule.h"
#include "json/value.h"

namespace vg::admission {

// The selector must be one, and find what the template makes (RS08, RS09, PO07, PO08).
void check_selector(const json::Value* selector, const json::Value* labels, Causes& causes);

// A listed gate whose feature is gone, while the machine still uses that feature (rule DG).
void check_discontinued(const Case& judged, const json::Value* vmi_spec, Causes& causes);

}  // namespace vg::admission
