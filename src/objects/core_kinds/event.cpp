#include <fmt/format.h>

#include "objects/core_kinds/checks.h"
#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::size_t word_bytes_max = 128;
constexpr std::size_t message_bytes_max = 1024;

void check_length(FieldCauses& causes, const Place& at, std::string_view value, std::size_t bytes_max) {
  if (value.size() > bytes_max) causes.invalid(at, fmt::format("must have at most {} bytes", bytes_max));
}

void check_word(FieldCauses& causes, const json::Object& object, std::string_view member) {
  const std::string_view value = text(object, member);
  if (value.empty()) causes.required(top(member), "required with eventTime");
  check_length(causes, top(member), value, word_bytes_max);
}

// An event stands beside the object it is about; that of an object without a namespace stands in default.
bool is_beside(std::string_view ns, std::string_view involved, std::string_view other_home) {
  return involved.empty() ? ns.empty() || ns == "default" || ns == other_home : ns == involved;
}

void check_place(FieldCauses& causes, bool beside) {
  if (!beside)
    causes.invalid(top("involvedObject").field("namespace"),
                   "must be the namespace of the object that the event is about");
}

// With an eventTime it is one of the newer events, of which more is asked.
void check_newer_event(FieldCauses& causes, const json::Object& object, std::string_view ns,
                       std::string_view involved) {
  check_place(causes, !involved.empty() || is_beside(ns, involved, "kube-system"));
  const std::string_view component = text(object, "reportingComponent");
  if (component.empty()) causes.required(top("reportingComponent"), "required with eventTime");
  causes.defects(top("reportingComponent"), component, qualified_name_defects(component));
  for (const std::string_view word : {"reportingInstance", "action", "reason"}) check_word(causes, object, word);
  check_length(causes, top("message"), text(object, "message"), message_bytes_max);
}

void validate_event(const json::Object& object, const json::Object* /*old*/, const WriteContext& /*context*/,
                    std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  const std::string_view ns = namespace_of(object);
  const std::string_view involved = text(members(object, "involvedObject"), "namespace");
  if (has(object, "eventTime"))
    check_newer_event(causes, object, ns, involved);
  else
    check_place(causes, is_beside(ns, involved, ""));
}

}  // namespace

constinit const Strategy event_strategy = {.group = "", .kind = "Event", .validate = validate_event};

}  // namespace vg::resources::core_kinds
