// In which form a client sends and wants objects, from the headers alone (pure).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.h"

namespace vg::resources {

// What an answer looks like.
enum class Form : std::uint8_t {
  object,   // the object or list itself
  table,    // rows for people, as kubectl get shows them
  partial,  // only the metadata
};

struct Answer {
  Form form = Form::object;
  std::string_view content_type = "application/json";
  std::string_view meta_version = "v1";  // of meta.k8s.io, for tables and metadata: v1 or v1beta1
  bool protobuf = false;                 // never together with a table
  bool list = false;                     // the metadata of a list and not of one object
};

inline constexpr std::string_view protobuf_type = "application/vnd.kubernetes.protobuf";

// Whether objects of the resource can be had and sent in protobuf: Kubernetes' own kinds can, custom kinds cannot.
// Metadata alone can be had so of every kind.
enum class Protobuf : std::uint8_t { none, objects };

struct Offer {
  Protobuf protobuf = Protobuf::none;
  bool stream = false;   // a watch
  bool by_name = false;  // see `names_one_of`
  bool table = true;     // false: there are no columns for it, so a Table is no form of it
};

// The first form of the Accept header that can be served; 406 when there is none. No header takes everything.
Result<Answer> negotiate(std::optional<std::string_view> accept, const Offer& offer = {});

enum class BodyFormat : std::uint8_t { json, yaml, protobuf };
// The format of an object that is sent; 415 for one that is not read here. No content type means JSON.
Result<BodyFormat> body_format(std::optional<std::string_view> content_type, Protobuf protobuf = Protobuf::none);

enum class PatchFormat : std::uint8_t { json_patch, merge_patch, strategic_merge_patch, apply };
// 415 for what is no patch.
Result<PatchFormat> patch_format(std::optional<std::string_view> content_type);

}  // namespace vg::resources
