// Where the generated tables meet schema.cpp. Everybody else calls the functions of schema.h.
#pragma once

#include "api/schema.h"

namespace vg::api::tables {

extern const std::span<const Type> types;
extern const std::span<const Kind> kinds;
extern const std::span<const Rule> rules;

}  // namespace vg::api::tables
