// OpenAPI, built from the tables when somebody asks: nothing of it is kept in memory.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "api/schema.h"
#include "json/value.h"

namespace vg::api {

enum class OpenApiVersion : std::uint8_t { v2, v3 };

// Whom the definitions are for.
enum class OpenApiFlavour : std::uint8_t {
  // What upstream's virt-api publishes and checks with, its adjustments included: a quantity may be a number, some
  // times may be null, the CRDs' limits are unknown.
  upstream,
  // What a Kubernetes API server would publish of these kinds, limits included, for kubectl explain.
  served,
};

// Every definition that can be reached from `roots`, by name: the "definitions" of v2, the "schemas" of v3.
json::Object openapi_definitions(OpenApiVersion version, OpenApiFlavour flavour, std::span<const Type* const> roots,
                                 const json::StoragePtr& storage = {});

// The document of one group and version, as /openapi/v3/apis/GROUP/VERSION serves it: definitions and paths of its
// kinds. `title` and `release` say whose API it is. Empty when no kind has that version.
json::Object openapi_v3_document(std::string_view group, std::string_view version, std::string_view title,
                                 std::string_view release, const json::StoragePtr& storage = {});

// All groups in one document, as /openapi/v2 serves them.
json::Object openapi_v2_document(std::string_view title, std::string_view release,
                                 const json::StoragePtr& storage = {});

}  // namespace vg::api
