#include "cel/builtins.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "base/phrases.h"

namespace vg::cel {

Value Runtime::no_overload() const { return Value::of_text(phrases::no_such_overload, Tag::error); }

const Builtin* find_builtin(std::string_view name) {
  static const auto all = [] {
    std::unordered_map<std::string_view, const Builtin*> rows;
    for (const auto table :
         {operator_builtins(), conversion_builtins(), time_builtins(), text_builtins(), list_builtins(),
          optional_builtins(), kubernetes_builtins(), network_builtins(), access_builtins()})
      for (const Builtin& row : table) rows.emplace(row.name, &row);
    return rows;
  }();
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace vg::cel
