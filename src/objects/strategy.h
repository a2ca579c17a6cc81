// What is particular to a kind when it is written. Most kinds have nothing particular; each that has is a row in the
// table behind find_strategy(). Every function is pure: it changes the object it is given and returns causes.
#pragma once

#include <string_view>
#include <vector>

#include "api/schema.h"
#include "base/status.h"
#include "json/value.h"

namespace vg {
struct User;
}

namespace vg::resources {

struct WriteContext {
  std::string_view now_rfc3339;  // for the few defaults that hold a time
  std::string_view user;         // who asks
  const User* who = nullptr;     // all that is known of them; null where only the name is
  std::string_view subresource;  // "", "status", "scale", ...
  const api::Kind* kind = nullptr;
};

struct Strategy {
  std::string_view group;
  std::string_view kind;
  // Fills in what Kubernetes' own defaulting fills in. Runs on create and on update, before admission.
  void (*defaults)(json::Object& object, const WriteContext& context) = nullptr;
  // Resets what a client may not set on create (status, allocated fields) and sets what the server decides.
  void (*prepare_create)(json::Object& object, const WriteContext& context) = nullptr;
  // Carries over what a client may not change. For a kind with a status subresource the resource layer itself keeps
  // status on updates of the main resource and everything but status (and parts of metadata) on updates of status.
  void (*prepare_update)(json::Object& object, const json::Object& old, const WriteContext& context) = nullptr;
  // Field rules. `old` is null on create. Cause reasons and fields are Kubernetes'; the words are ours.
  void (*validate)(const json::Object& object, const json::Object* old, const WriteContext& context,
                   std::vector<StatusCause>& causes) = nullptr;
  // What everybody is told who creates or changes one; empty: nothing.
  std::string_view warning = {};
};

// Null for a kind with nothing particular.
const Strategy* find_strategy(std::string_view group, std::string_view kind);

}  // namespace vg::resources
