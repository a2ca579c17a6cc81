// The rules for what every object carries: name, labels, finalizers, owners, and the fields that only the server sets.
// All of it is pure; reasons and fields of causes are Kubernetes' own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/metadata.h"
#include "json/value.h"

namespace vg::resources {

inline constexpr std::string_view foreground_finalizer = "foregroundDeletion";
inline constexpr std::string_view orphan_finalizer = "orphan";

// Whether everybody can tell whose it is: it has a domain, or is one of Kubernetes' own.
bool is_whole_finalizer(std::string_view name);
bool has_finalizer(const json::Object& metadata, std::string_view name);
// True when something changed.
bool add_finalizer(json::Object& metadata, std::string_view name);
bool remove_finalizer(json::Object& metadata, std::string_view name);

// Takes off what the server does not keep or does not take from clients.
void drop_unkept_metadata(json::Object& metadata);

// An owner that is named twice counts once. True when one was dropped.
bool drop_repeated_owners(json::Object& metadata);

// Of finalizers that `old` does not have and that are accepted, but could be anybody's.
void add_finalizer_warnings(const json::Object& metadata, const json::Object& old, std::vector<std::string>& warnings);

// What only the server may say about a new object. Name and namespace must be settled before.
void stamp_new_object(json::Object& metadata, std::string_view uid, std::string_view now);

// What an update cannot change is taken from the old object where Kubernetes does so silently; the rest is found by
// check_metadata_change.
void carry_over_metadata(json::Object& metadata, const json::Object& old);

// Everything that can be wrong with metadata by itself.
void check_metadata(const json::Object& metadata, const Resource& resource, std::vector<StatusCause>& causes);
// What an update must not do.
void check_metadata_change(const json::Object& metadata, const json::Object& old, std::vector<StatusCause>& causes);

}  // namespace vg::resources
