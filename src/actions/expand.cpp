// A machine with everything written out that its instance type and preference stand for (spec subresources 2.15, 2.16).
#include "admission/instancetype/expand.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "actions/action_case.h"
#include "actions/decisions.h"
#include "api/canonical.h"
#include "api/schema.h"
#include "api/webhook_schema.h"
#include "json/access.h"

namespace vg::actions {
namespace {

const api::Type& machine_type() {
  static const api::Type& type = *api::find_type("kubevirt.VirtualMachine");
  return type;
}

// In canonical form: what upstream has read is what its types hold. An empty node selector is one, and conflicts with
// that of an instance type.
Result<json::Value> read_machine(const json::Value& source, const ActionCase& asked) {
  json::Value machine(source, asked.storage);
  if (auto done = api::canonicalize(machine, machine_type(), {}, api::Empties::kept); !done)
    return fail(std::move(done.error()));
  return machine;
}

Status unlike_schema(std::vector<StatusCause> causes) {
  Status status = Status::bad_request(
      fmt::format("the body is not a valid VirtualMachine: {}{}", causes.front().message,
                  causes.size() > 1 ? fmt::format("; {} more in details.causes", causes.size() - 1) : std::string()));
  status.details.causes = std::move(causes);
  return status;
}

// What is sent must be for the namespace that it is sent to, and needs not say so.
std::optional<Status> settle_namespace(json::Value& machine, const ActionCase& asked) {
  json::Object& metadata = json::ensure_object(machine.get_object(), "metadata");
  const std::string_view said = json::get_string_or(metadata, "namespace");
  if (!said.empty() && said != asked.ns)
    return Status::bad_request(fmt::format(
        "metadata.namespace \"{}\" of the VM does not match the namespace of the path, \"{}\"; change one of them",
        said, asked.ns));
  metadata["namespace"] = text_of(asked.ns, asked);
  return std::nullopt;
}

// As Go writes it.
Result<json::Value> expanded(const json::Value& machine, const ActionCase& asked) {
  auto made = admission::expand_vm(machine.get_object(), asked.context);
  if (!made) return made;
  if (auto done = api::canonicalize(*made, machine_type()); !done) return fail(std::move(done.error()));
  return made;
}

Decision reply(json::Value document) { return effects(Reply{.code = 200, .document = std::move(document)}); }

}  // namespace

Decision decide_expand_machine(const ActionCase& asked) {
  auto machine = read_machine(*asked.machine, asked);
  if (machine) machine = expanded(*machine, asked);
  if (!machine)
    return fail(
        Status::internal_error(fmt::format("VM \"{}\" cannot be expanded: {}", asked.name, machine.error().message)));
  return reply(std::move(*machine));
}

Decision decide_expand_sent(const ActionCase& asked) {
  if (auto causes = api::check_webhook_schema("VirtualMachine", *asked.body); !causes.empty())
    return fail(unlike_schema(std::move(causes)));
  auto machine = read_machine(*asked.body, asked);
  if (!machine) return fail(Status::bad_request(std::move(machine.error().message)));
  if (auto elsewhere = settle_namespace(*machine, asked)) return fail(std::move(*elsewhere));
  machine = expanded(*machine, asked);
  if (!machine) return fail(Status::bad_request(fmt::format("the VM cannot be expanded: {}", machine.error().message)));
  return reply(std::move(*machine));
}

}  // namespace vg::actions
