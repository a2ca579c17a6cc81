// Kinds that are another form of objects which are stored: events.k8s.io/v1 Events are the events of the core group,
// and autoscaling/v1 HorizontalPodAutoscalers are those of v2. Requests for them are served by the stored kind; bodies
// are converted when they come in, answers when they go out.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "catalog/catalog.h"
#include "json/value.h"

namespace vg::resources {

struct Conversion {
  std::string_view group, version, plural;  // of the form that is shown
  std::string_view stored_key;
  // Both change an object in canonical form of the one type into one of the other, kind and apiVersion aside.
  void (*to_stored)(json::Object& object) = nullptr;
  void (*from_stored)(json::Object& object) = nullptr;
  // Fields by which the form can be selected, and what they are called in what is stored.
  std::span<const std::pair<std::string_view, std::string_view>> fields;
};

std::span<const Conversion> conversions();

// The stored name of a selectable field.
std::string_view stored_field(const Resource& shown, std::string_view field);

// `json` is an object as append_object() writes it; it becomes one of the form that `shown` is.
void convert_text(std::string& out, std::size_t start, const Resource& shown);

// From what a client sent, in canonical form, to what is stored.
void convert_to_stored(json::Object& object, const Resource& shown);
// And back; the object says then that it is of the form that is shown.
void convert_from_stored(json::Object& object, const Resource& shown);

}  // namespace vg::resources
