// What LimitRanges do to pods and claims: they fill in requests and limits of containers, and refuse what is too small,
// too large, or promises much more than it asks for. Pure; the LimitRanges of the namespace are given.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "json/value.h"

namespace vg::resources {

// Whether objects of the resource are limited at all.
bool has_limits(std::string_view key);

// How many amounts have to be looked at for the object: those that the LimitRanges name, for each container that they
// are about. Each takes some microseconds, and a default makes the pod larger.
std::size_t limit_work(const json::Object& object, std::span<const json::Value> ranges);

// Gives the containers of a new pod what they do not say themselves.
void apply_limit_defaults(json::Object& pod, std::span<const json::Value> ranges);

// What is wrong with the object, in Kubernetes' words; empty when nothing is.
std::vector<std::string> find_limit_problems(const json::Object& object, std::string_view key,
                                             std::span<const json::Value> ranges);

}  // namespace vg::resources
