// Questions to the authorizer are put together here; `check` asks them (evaluate.cpp).
#include <algorithm>

#include "cel/builtins.h"

namespace vg::cel {
namespace {

using std::string_view;
using Arguments = std::span<const Value>;

Value of(Runtime& runtime, const AccessCheck& check, Tag tag) {
  Value value(tag);
  value.access = runtime.memory.make(check);
  return value;
}

bool takes_texts(Arguments arguments, Tag target, std::size_t texts) {
  return arguments.size() == texts + 1 && arguments[0].is(target) &&
         std::ranges::all_of(arguments.subspan(1), [](const Value& value) { return value.is(Tag::string); });
}

Value path(Runtime& runtime, Arguments arguments) {
  if (!takes_texts(arguments, Tag::authorizer, 1)) return runtime.no_overload();
  if (arguments[1].text.empty()) return Value::of_text("path must not be empty", Tag::error);
  AccessCheck check = *arguments[0].access;
  check.path_check = true;
  check.path = arguments[1].text;
  return of(runtime, check, Tag::access);
}

Value group(Runtime& runtime, Arguments arguments) {
  if (!takes_texts(arguments, Tag::authorizer, 1)) return runtime.no_overload();
  AccessCheck check = *arguments[0].access;
  check.group = arguments[1].text;
  return of(runtime, check, Tag::access);
}

Value service_account(Runtime& runtime, Arguments arguments) {
  if (!takes_texts(arguments, Tag::authorizer, 2)) return runtime.no_overload();
  AccessCheck check = *arguments[0].access;
  check.service_account_ns = arguments[1].text;
  check.service_account = arguments[2].text;
  if (check.service_account_ns.empty() || check.service_account.empty())
    return Value::of_text("a service account has a namespace and a name", Tag::error);
  return of(runtime, check, Tag::authorizer);
}

Value resource(Runtime& runtime, Arguments arguments) {
  if (!takes_texts(arguments, Tag::access, 1) || arguments[0].access->resource_known) return runtime.no_overload();
  AccessCheck check = *arguments[0].access;
  check.resource = arguments[1].text;
  check.resource_known = true;
  return of(runtime, check, Tag::access);
}

template <string_view AccessCheck::* part>
Value narrowed(Runtime& runtime, Arguments arguments) {
  if (!takes_texts(arguments, Tag::access, 1) || !arguments[0].access->resource_known) return runtime.no_overload();
  AccessCheck check = *arguments[0].access;
  check.*part = arguments[1].text;
  return of(runtime, check, Tag::access);
}

// Roles do not know selectors: what is allowed with one is what is allowed without.
Value selected(Runtime& runtime, Arguments arguments) {
  if (!takes_texts(arguments, Tag::access, 1) || !arguments[0].access->resource_known) return runtime.no_overload();
  return arguments[0];
}

Value allowed(Runtime& runtime, Arguments arguments) {
  return arguments[0].is(Tag::decision) ? Value::of(arguments[0].decision->allowed) : runtime.no_overload();
}
Value reason(Runtime& runtime, Arguments arguments) {
  return arguments[0].is(Tag::decision) ? Value::of_text(arguments[0].decision->reason) : runtime.no_overload();
}
Value errored(Runtime& runtime, Arguments arguments) {
  return arguments[0].is(Tag::decision) ? Value::of(!arguments[0].decision->error.empty()) : runtime.no_overload();
}
Value error(Runtime& runtime, Arguments arguments) {
  return arguments[0].is(Tag::decision) ? Value::of_text(arguments[0].decision->error) : runtime.no_overload();
}

constexpr Builtin access_rows[] = {
    {"path", path},
    {"group", group},
    {"serviceAccount", service_account},
    {"resource", resource},
    {"subresource", narrowed<&AccessCheck::subresource>},
    {"namespace", narrowed<&AccessCheck::ns>},
    {"name", narrowed<&AccessCheck::name>},
    {"fieldSelector", selected},
    {"labelSelector", selected},
    {"allowed", allowed},
    {"reason", reason},
    {"errored", errored},
    {"error", error},
};

}  // namespace

std::span<const Builtin> access_builtins() { return access_rows; }

}  // namespace vg::cel
