// The claim that a DataVolume makes (spec storage 3.1, 3.2).
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "controllers/controller.h"

namespace vg::controllers::storage {

// What is put into the claim, after a DataSource was followed (DV-100).
struct Source {
  std::string_view kind = {};            // "http", "registry", "blank", "upload", "pvc"; empty: nothing that is known
  const json::Object* object = nullptr;  // its members
  std::string pvc_ns = {}, pvc_name = {};
  const json::Object* data_source = nullptr;
};
Source source_of(const World& world, const json::Object& data_volume);

// GROW and SHRINK of 3.1. `overhead`: a decimal fraction as CDIConfig has it.
std::int64_t grown(std::int64_t bytes, double overhead);
std::int64_t shrunk(std::int64_t bytes, double overhead);
// Of a class, as the CDIConfig says; it may be null.
double overhead_of(const World& world, std::string_view storage_class);
double overhead_in(const json::Object* cdi_config, std::string_view storage_class);
// DV-89, DV-107: how large the image in a claim becomes. SHRINK of what was asked for; without overhead all there is.
std::int64_t image_bytes(const json::Object& claim, std::int64_t capacity, double overhead);

// Why there is no claim yet, as conditions tell it.
struct NoClaim {
  std::string reason, message;
  bool wait = false;  // nothing to try again: something else has to change
};
std::expected<json::Value, NoClaim> render_claim(const Turn& turn, const json::Object& data_volume,
                                                 const Source& source);

}  // namespace vg::controllers::storage
