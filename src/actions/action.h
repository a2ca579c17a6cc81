// The table of everything that can be asked of a machine beside its objects: one row an action. Routes, discovery,
// OpenAPI, the attributes for authorization and `virtgate actions` all follow from it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "actions/effect.h"
#include "base/status.h"
#include "config/gates.h"

namespace vg::actions {

inline constexpr std::string_view group = "subresources.kubevirt.io";
inline constexpr std::string_view group_path = "/apis/subresources.kubevirt.io/";
inline constexpr std::array<std::string_view, 2> versions{"v1", "v1alpha3"};

struct ActionCase;

// Pure. What makes the request stop here, if anything does.
using Check = std::optional<Status> (*)(const ActionCase&);
// Pure. What to do.
using Decide = Decision (*)(const ActionCase&);

// What happens before an action is decided, in the order in which its refusals come.
enum class StepKind : std::uint8_t {
  check,           // ask a pure function
  body,            // read and decode; a body that cannot be read ends the request
  body_later,      // the same, but whether that matters is left to decide()
  machine,         // the VirtualMachine must exist
  machine_if,      // or not
  instance,        // the VirtualMachineInstance must exist
  instance_if,     // or not
  own_instance,    // the machine must exist, have an instance, and own it
  claim,           // the claim that a memory dump goes to
  cdi,             // the configuration of the importer, if there is one
  node,            // where the instance is, if that node is known
  launchers,       // launcher pods of the namespace
  own_launchers,   // launcher pods of the instance
  state_claims,    // claims with the machine's persistent state
  kubevirt,        // the KubeVirt object
  components,      // the pods of KubeVirt's components, all of them
  component_page,  // those on the page that the body asks for
};

struct GatherStep {
  StepKind kind = StepKind::check;
  Check ask = nullptr;
};

// A list that lies inside of a row.
template <class T>
class ShortList {
 public:
  constexpr ShortList(std::initializer_list<T> list) {
    for (const T& item : list) items_.at(count_++) = item;
  }
  constexpr const T* begin() const { return items_.data(); }
  constexpr const T* end() const { return items_.data() + count_; }

 private:
  std::array<T, 9> items_{};
  std::size_t count_ = 0;
};
using Steps = ShortList<GatherStep>;

enum class Body : std::uint8_t {
  none,       // not looked at
  options,    // JSON or YAML, leniently read (spec subresources 1.6, decoder D)
  strict,     // JSON alone, kept as it was sent (decoder E)
  first,      // JSON, of which the first value counts, kept as it was sent (decoder P)
  forwarded,  // goes to the node unread
};

// How a refusal looks.
enum class Failures : std::uint8_t {
  status,      // a Status
  text,        // 500 and a line of text, whatever went wrong (spec subresources 2.10)
  coded_text,  // a line of text, with the code that the Status would have (spec subresources 4.3)
};

// What OpenAPI says of an action beside its path and its body.
struct Documented {
  ShortList<int> codes = {};  // besides 401
  bool body_required = true;
  std::string_view reply = {};  // the type of a 200; "string" for a schema that says no more
  std::string_view query = {};  // parameters: "preserveSession:boolean", required ones with '!'
};

struct Action {
  std::string_view resource;   // "virtualmachines", "virtualmachineinstances"; empty: of the group, "" or a namespace
  std::string_view name;       // "start", "sev/setupsession"
  std::string_view method;     // of HTTP
  std::string_view operation;  // in OpenAPI, without the version
  std::string_view does;       // for people
  std::string_view body_type = {};  // in the schema: "kubevirt.StartOptions"
  Body body = Body::none;
  bool namespaced = true;
  int success = 200;
  std::string_view consumes = {};  // media type of the body; empty: any
  bool produces_json = false;      // and nothing else
  bool answers = true;             // false: success is told with an empty answer, though JSON is produced
  Failures failures = Failures::status;
  std::optional<config::Gate> gate = std::nullopt;  // 400 while it is off
  bool stream = false;                              // the connection goes on as one after the answer
  bool shows_guest = false;                         // what the guest shows or says; every stream does
  int listed = 0;  // place in the discovery document; 0: not there (spec subresources Q29)
  Steps steps = {};
  Decide decide = nullptr;
  Documented documented = {};

  // The verb that a role must allow. Reading the whole group is a list.
  std::string_view verb() const { return method == "PUT" ? "update" : namespaced ? "get" : "list"; }
};

std::span<const Action> actions();

// --- what access and audit ask, in both modes

// Whether something can be asked of objects of that resource.
bool has_actions(std::string_view resource);
// Actions of the group itself: those inside of a namespace are asked for by name, all others are open to anybody.
bool is_group_action(std::string_view name, bool namespaced);
// What a role must allow: a port is no part of it ("portforward/80/tcp" is "portforward").
std::string_view permitted_part(std::string_view subresource);
// Whether it opens the guest's console, display or ports.
bool shows_guest(std::string_view subresource);

// What a path behind the group and version means.
struct Found {
  const Action* action = nullptr;             // with the method that was asked for
  std::string_view port, protocol;            // of a port-forward
  std::array<std::string_view, 2> allowed{};  // methods that the path takes, when the asked one is not among them
};
// `resource` and `subresource` as a request's path has them; what is of the group itself has only a resource.
Found find_action(std::string_view method, std::string_view resource, std::string_view subresource, bool namespaced);

}  // namespace vg::actions
