// The decisions about a write, between decoding and storing. Pure: objects in, changed objects or causes out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "catalog/catalog.h"
#include "json/value.h"
#include "objects/strategy.h"

namespace vg::resources {

// The object's namespace is the request's: filled in where it is missing, taken off where the kind has none. 400 when
// it says another one.
Result<void> settle_namespace(json::Object& object, const Resource& resource, std::string_view ns);

// What a client may not say about a new object goes, what the server says comes in.
void prepare_new(json::Object& object, const Resource& resource, const WriteContext& context, std::string_view uid);

// Makes of `object` what an update may make of `old`: through the main resource everything but the status (where that
// is a subresource), through "status" the status only. The generation grows when what is wanted changes.
// `known`: a member that is known to be the same in both, so that it need not be compared.
void prepare_changed(json::Value& object, const json::Value& old, const Resource& resource, const WriteContext& context,
                     std::string_view known = {});

// Everything that is wrong with the object; empty when nothing is. `old` is null for a create.
std::vector<StatusCause> find_causes(const json::Value& object, const json::Value* old, const Resource& resource,
                                     const WriteContext& context);
// The same of its metadata alone.
std::vector<StatusCause> find_metadata_causes(const json::Value& object, const json::Value* old,
                                              const Resource& resource);

// VMs and VMIs: what controllers write most of.
bool is_shown_by_controllers(const Resource& resource);

// What whoever creates or changes an object of this kind must know.
void add_kind_warning(const Resource& resource, std::vector<std::string>& warnings);

// Whether an update would change nothing that is kept.
bool same_object(const json::Object& object, const json::Object& old, std::string_view known = {});

// Kinds that may be updated without saying which version is meant.
bool takes_unconditional_update(const Resource& resource);
// Kinds whose deletion is answered with the object that went instead of a Status.
bool answers_with_deleted_object(const Resource& resource);

}  // namespace vg::resources
