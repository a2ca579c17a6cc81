// Services, in three parts: what is filled in, what is carried over or inferred, and what is checked.
#pragma once

#include <string_view>
#include <vector>

#include "json/value.h"
#include "objects/strategy.h"

namespace vg::resources::core_kinds {

inline constexpr std::string_view headless_address = "None";

void default_service(json::Object& object, const WriteContext& context);
void prepare_service_create(json::Object& object, const WriteContext& context);
void prepare_service_update(json::Object& object, const json::Object& old, const WriteContext& context);
void validate_service(const json::Object& object, const json::Object* old, const WriteContext& context,
                      std::vector<StatusCause>& causes);

// Whether the one address of the service is None: clients get the addresses of its pods instead.
bool is_headless(const json::Object& spec);
// NodePort and LoadBalancer services, and those with external addresses.
bool is_reachable_from_outside(const json::Object& spec);
bool has_health_check_port(const json::Object& spec);

}  // namespace vg::resources::core_kinds
