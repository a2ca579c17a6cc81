// From the bytes of a request to an object of the resource: read, check what it claims to be, drop what the kind does
// not know, fill in the schema's defaults.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/negotiate.h"
#include "json/value.h"
#include "objects/strategy.h"
#include "objects/write_options.h"

namespace vg::resources {

// Paths of what was wrong with the text but can be ignored.
struct FieldProblems {
  std::vector<std::string> duplicate;
  std::vector<std::string> unknown;
  // How many members of the text begin before each of them, so that they can be told in its order. Only for a text of
  // one of Kubernetes' own types that has both: custom kinds are read first and pruned later, and told so.
  std::vector<std::size_t> duplicate_at = {};
  std::vector<std::size_t> unknown_at = {};
};

// Types of Kubernetes' own speak protobuf as well.
Protobuf protobuf_of(const api::Type& type);

// 400 when the text is empty, malformed or no object; 413 when it is too long. `type` is what is wanted: protobuf
// cannot be read without it, and is then in canonical form.
Result<json::Value> read_object(std::string_view body, BodyFormat format, const api::Type& type,
                                const json::StoragePtr& storage, FieldProblems* problems);

// What the members kind and apiVersion may be, before anybody asks which.
bool is_absent_or_text(const json::Value* value);

// 400 unless the object says that it is of this kind and version. Kubernetes' own kinds may leave it out. Afterwards
// both members are there.
Result<void> check_type(json::Object& object, const Resource& resource, std::string_view api_version);

// Brings the object into the form in which it is checked and stored. `problems` receives the fields that were dropped;
// null when nobody asks. 400 for a value that the kind's type cannot hold.
Result<void> shape_object(json::Value& object, const Resource& resource, const WriteContext& context,
                          FieldProblems* problems);

// The same after admission rules changed the object. What they write into a custom kind is taken as it is, nulls and
// all: kube-apiserver only fills in defaults again, and a null where the schema takes none is then found by its checks.
Result<void> reshape_object(json::Value& object, const Resource& resource, const WriteContext& context);

// What the problems mean under the wanted validation: 400 that lists them, or warnings, or nothing. `kind` and
// `version` begin the refusal of an object; a patch has none.
Result<void> judge_problems(const FieldProblems& problems, FieldValidation validation,
                            std::vector<std::string>& warnings, std::string_view kind = {},
                            std::string_view version = {});

// A value of a type of Kubernetes' own (DeleteOptions, Eviction, Scale, ...): unknown members dropped, in canonical
// form.
Result<void> shape_typed(json::Value& value, const api::Type& type, FieldProblems* problems = nullptr);

}  // namespace vg::resources
