// CustomResourceDefinitions, built from the tables when somebody asks: nothing of them is kept in memory.
#pragma once

#include "api/schema.h"
#include "json/value.h"

namespace vg::api {

// The structural schema of a type, as openAPIV3Schema carries it. The type must not contain itself; for the types of
// custom kinds the generator has made sure of that.
json::Object structural_schema(const Type& type, const json::StoragePtr& storage = {});

// The whole CustomResourceDefinition of a custom kind.
json::Object custom_resource_definition(const Kind& kind, const json::StoragePtr& storage = {});

}  // namespace vg::api
