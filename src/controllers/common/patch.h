// JSON patches that take hold only of what was read: whoever changed the value meanwhile wins, and the pass is
// repeated.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "json/access.h"
#include "json/equal.h"
#include "json/patch.h"
#include "json/pointer.h"

namespace vg::controllers {

// "test" of the value that was read, null for none. A test of what is not there against null succeeds.
inline void test_value(json::PatchBuilder& patch, std::string_view path, const json::Value* old) {
  patch.test(path, old ? *old : json::Value());
}

// The value at `path` becomes `wanted`; either may be null for not there. Nothing happens where both are. The object
// around it must exist.
inline void guarded_change(json::PatchBuilder& patch, std::string_view path, const json::Value* old,
                           const json::Value* wanted) {
  if (!old && !wanted) return;
  test_value(patch, path, old);
  if (!wanted)
    patch.remove(path);
  else if (old)
    patch.replace(path, *wanted);
  else
    patch.add(path, *wanted);
}

// A map where there was none: what somebody else has put there meanwhile would be lost otherwise.
inline void guarded_add(json::PatchBuilder& patch, std::string_view path, const json::Value& map) {
  guarded_change(patch, path, nullptr, &map);
}

// A path with the names below `root`, escaped.
inline std::string patch_path(std::string_view root, std::initializer_list<std::string_view> names) {
  std::string path(root);
  for (const std::string_view name : names) json::append_token(path, name);
  return path;
}

// What makes `wanted` of `old`: members that differ, down to where one of the two is no object. Lists are changed as a
// whole. Both in canonical form.
inline void guarded_diff(json::PatchBuilder& patch, const std::string& path, const json::Object& old,
                         const json::Object& wanted) {
  const auto differ = [&](std::string_view name, const json::Value* before, const json::Value* after) {
    std::string below = path;
    json::append_token(below, name);
    const json::Object* from = before ? before->if_object() : nullptr;
    const json::Object* to = after ? after->if_object() : nullptr;
    if (from && to)
      guarded_diff(patch, below, *from, *to);
    else if (!before || !after || !json::equal(*before, *after))
      guarded_change(patch, below, before, after);
  };
  for (const auto& member : old) differ(member.key(), &member.value(), json::find(wanted, member.key()));
  for (const auto& member : wanted)
    if (!json::find(old, member.key())) differ(member.key(), nullptr, &member.value());
}

}  // namespace vg::controllers
