// The functions and operators that expressions call when they run. Types are looked at here once more: what a document
// holds is known only now.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string_view>

#include "cel/value.h"

namespace re2 {
class RE2;
}

namespace vg::cel {

// What functions may use.
struct Runtime {
  Memory& memory;
  Meter& meter;
  const re2::RE2* pattern = nullptr;  // of the present call, where it is written out

  Value no_overload() const;
};

struct Builtin {
  std::string_view name;
  // `arguments` begin with the target of the call. None of them is an error.
  Value (*run)(Runtime& runtime, std::span<const Value> arguments);
};

// Whether a call has exactly arguments of these types.
inline bool are(std::span<const Value> arguments, std::initializer_list<Tag> tags) {
  return std::ranges::equal(arguments, tags, {}, &Value::tag);
}

// Null when there is none of that name. `check` of an access is not here: it asks others.
const Builtin* find_builtin(std::string_view name);

// The tables that find_builtin() looks into, one file each.
std::span<const Builtin> operator_builtins();
std::span<const Builtin> conversion_builtins();
std::span<const Builtin> time_builtins();
std::span<const Builtin> text_builtins();
std::span<const Builtin> list_builtins();
std::span<const Builtin> optional_builtins();
std::span<const Builtin> kubernetes_builtins();
std::span<const Builtin> network_builtins();
std::span<const Builtin> access_builtins();

// The text of a call like "%s has %d".format([a, b]).
Value format_text(Runtime& runtime, std::string_view format, const Value& values);

}  // namespace vg::cel
