// What an action is to do, as a value. A decision is made of these; execute.cpp is the only place that carries them
// out.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
#include "json/value.h"
#include "ports/component_link.h"
#include "ports/object_api.h"

namespace vg::actions {

inline constexpr std::string_view kubevirt_group = "kubevirt.io";
inline constexpr ResourceName machines{kubevirt_group, "v1", "virtualmachines"};
inline constexpr ResourceName instances{kubevirt_group, "v1", "virtualmachineinstances"};
inline constexpr ResourceName migrations{kubevirt_group, "v1", "virtualmachineinstancemigrations"};

// What becomes of a write that the API refuses (spec subresources 4.2).
enum class Refused : std::uint8_t {
  internal,            // 500 with the reason inside
  internal_or_raced,   // the same, but 409 when the object was no longer what the patch tests for
  invalid_or_internal  // a 422 goes through as it is, everything else becomes 500
};

// A JSON patch with its tests, of the object itself or of its status.
struct PatchObject {
  ResourceName resource;
  std::string_view part;  // "" or "status"
  json::Array operations;
  bool dry_run = false;
  Refused refused = Refused::internal;
  json::Array undo = {};  // sent, with no promise, when an effect behind this one fails; empty: nothing
};

struct CreateObject {
  ResourceName resource;
  json::Value object;
  bool dry_run = false;
  // A label that holds the machine's name: of such objects only one may be unfinished, so a refused second one is a
  // conflict. Empty: there may be any number.
  std::string_view one_at_a_time = {};
};

// A request to the handler of the node that runs the instance.
struct CallNode {
  enum class Answer : std::uint8_t {
    none,      // only whether it worked
    document,  // JSON, passed on with sorted keys
    bytes,     // passed on as they are
  };
  std::string_view method = "PUT";
  std::string suffix;         // behind the instance's own path: "pause"
  bool forward_body = false;  // what the client sent, unread
  bool dry_run = false;       // look for the handler, but do not ask it
  Answer answer = Answer::none;
  std::string explain = {};  // goes in front of what went wrong
};

// From here on the connection carries a stream (spec subresources 3).
struct OpenStream {
  enum class Kind : std::uint8_t {
    node,   // bytes to and from a WebSocket of the node's handler, unread
    guest,  // messages to and from a socket of the guest
  };
  Kind kind = Kind::node;
  // Whose handler is asked, and for what, with its query. Of a guest stream only where guests are reached so.
  std::string node = {};
  std::string target = {};
  // Of a guest stream: where the guest listens.
  std::string address = {};
  std::string port = {};      // as the path has it
  std::string protocol = {};  // "tcp" or "udp"
};

// One question to components of KubeVirt. All must answer it as asked.
struct AskComponents {
  std::string_view target;  // "/start-profiler"
  std::vector<Component> components;
  bool collect = false;             // their profiles make up the answer
  std::string continue_token = {};  // where the next page of them begins; empty: this was the last one
};

// The answer. Without one it is empty, with the action's own code.
struct Reply {
  int code = 200;
  json::Value document = {};
  std::string text = {};  // instead of a document
};

// The answer after what stands before it was done all the same.
struct Refuse {
  Status status;
};

using Effect = std::variant<PatchObject, CreateObject, CallNode, AskComponents, OpenStream, Reply, Refuse>;
using Effects = std::vector<Effect>;

// In order. An error is a refusal before anything was done.
using Decision = Result<Effects>;

template <class... T>
Decision effects(T... list) {
  Effects all;
  all.reserve(sizeof...(list));
  (all.emplace_back(std::move(list)), ...);
  return all;
}

}  // namespace vg::actions
