#include "json/patch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/phrases.h"
#include "json/access.h"
#include "json/equal.h"
#include "json/pointer.h"
#include "json/write.h"

namespace vg::json {
namespace {

// Why an operation cannot be done, or nothing when it was.
using Refusal = std::optional<std::string>;

struct Operation;

// How deep a value nests; 0 for a scalar. Adds the number of visited values to `steps`.
std::size_t depth_of(const Value& value, std::size_t& steps) {
  std::size_t inside = 0;
  ++steps;
  if (const Object* object = value.if_object()) {
    for (const auto& member : *object) inside = std::max(inside, depth_of(member.value(), steps));
    return inside + 1;
  }
  if (const Array* array = value.if_array()) {
    for (const Value& element : *array) inside = std::max(inside, depth_of(element, steps));
    return inside + 1;
  }
  return 0;
}

// `end` is the number of elements, or one more where the place behind the last one is meant as well.
std::optional<std::size_t> element_index(std::string_view token, std::size_t end) {
  const bool from_end = token.size() > 1 && token.starts_with('-');
  const auto number = parse_index(from_end ? token.substr(1) : token);
  if (!number) return std::nullopt;
  if (!from_end) return *number < end ? number : std::nullopt;
  return *number >= 1 && *number <= end ? std::optional(end - *number) : std::nullopt;
}

Value* writable_child(Value& value, std::string_view token) {
  if (Object* object = value.if_object()) return find(*object, token);
  Array* array = value.if_array();
  const auto index = array ? element_index(token, array->size()) : std::nullopt;
  return index ? &(*array)[*index] : nullptr;
}

// One run of a patch over a document that may be left half-changed.
class PatchRun {
 public:
  explicit PatchRun(Value& root) : root_(root) {}

  Refusal execute(const Operation& operation);

 private:
  Refusal add(const Operation& operation);
  Refusal remove(const Operation& operation);
  Refusal replace(const Operation& operation);
  Refusal move(const Operation& operation);
  Refusal copy(const Operation& operation);
  Refusal test(const Operation& operation);

  Value* parent_of(const Pointer& path);
  Refusal insert(const Pointer& path, Value value);
  Refusal take(const Pointer& path, Value& out);
  Refusal check_depth(const Pointer& path, const Value& value);

  Value& root_;
  std::size_t steps_ = 0;
  std::size_t copied_bytes_ = 0;

  friend struct Operation;
};

struct Operation {
  using Method = Refusal (PatchRun::*)(const Operation&);
  struct Kind {
    std::string_view name;
    Method method;
    bool has_from;
  };
  static constexpr std::array<Kind, 6> kinds = {{{"add", &PatchRun::add, false},
                                                 {"remove", &PatchRun::remove, false},
                                                 {"replace", &PatchRun::replace, false},
                                                 {"move", &PatchRun::move, true},
                                                 {"copy", &PatchRun::copy, true},
                                                 {"test", &PatchRun::test, false}}};

  const Kind* kind;
  Pointer path;
  Pointer from;
  const Value* value;  // null when the operation has none
};

constexpr const char* no_parent = "the parent object or list does not exist";
constexpr const char* no_such_value = "the value does not exist";
constexpr const char* root_refused = "the whole document can only be replaced or tested";

Refusal PatchRun::execute(const Operation& operation) {
  if (auto refusal = (this->*operation.kind->method)(operation)) return refusal;
  if (steps_ > limits::patch_steps_max) return "the patch changes too many list elements; send it in parts";
  return std::nullopt;
}

Value* PatchRun::parent_of(const Pointer& path) {
  Value* at = &root_;
  for (std::size_t i = 0; i + 1 < path.tokens().size() && at; ++i) at = writable_child(*at, path.tokens()[i]);
  return at;
}

// Repeated insertions could otherwise nest without end; everything that walks values relies on this limit.
Refusal PatchRun::check_depth(const Pointer& path, const Value& value) {
  if (path.tokens().size() + depth_of(value, steps_) <= limits::json_depth_max) return std::nullopt;
  return fmt::format("the document would be nested deeper than {} levels", limits::json_depth_max);
}

Refusal PatchRun::insert(const Pointer& path, Value value) {
  Value* parent = path.is_root() ? nullptr : parent_of(path);
  if (!parent) return path.is_root() ? root_refused : no_parent;
  const std::string& key = path.tokens().back();
  if (Object* object = parent->if_object()) {
    object->insert_or_assign(key, std::move(value));
    return std::nullopt;
  }
  Array* array = parent->if_array();
  if (!array) return no_parent;
  const auto index = key == "-" ? std::optional(array->size()) : element_index(key, array->size() + 1);
  if (!index) return fmt::format("the index is out of range, the list has {} elements", array->size());
  steps_ += array->size() - *index;
  array->insert(array->begin() + *index, std::move(value));
  return std::nullopt;
}

Refusal PatchRun::take(const Pointer& path, Value& out) {
  Value* parent = path.is_root() ? nullptr : parent_of(path);
  if (!parent) return path.is_root() ? root_refused : no_parent;
  const std::string& key = path.tokens().back();
  Value* value = writable_child(*parent, key);
  if (!value) return no_such_value;
  out = std::move(*value);
  if (Object* object = parent->if_object()) {
    erase(*object, key);
    return std::nullopt;
  }
  Array& array = parent->get_array();
  steps_ += static_cast<std::size_t>(array.end() - value);
  array.erase(value);
  return std::nullopt;
}

Refusal PatchRun::add(const Operation& operation) {
  Value value = operation.value ? Value(*operation.value, root_.storage()) : Value(nullptr, root_.storage());
  if (auto refusal = check_depth(operation.path, value)) return refusal;
  return insert(operation.path, std::move(value));
}

Refusal PatchRun::remove(const Operation& operation) {
  Value removed(root_.storage());
  return take(operation.path, removed);
}

Refusal PatchRun::replace(const Operation& operation) {
  Value value = operation.value ? Value(*operation.value, root_.storage()) : Value(nullptr, root_.storage());
  if (auto refusal = check_depth(operation.path, value)) return refusal;
  if (operation.path.is_root()) {
    if (!value.is_structured()) return "the whole document must stay an object or a list";
    root_ = std::move(value);
    return std::nullopt;
  }
  Value* parent = parent_of(operation.path);
  if (!parent || !parent->is_structured()) return no_parent;
  const std::string& key = operation.path.tokens().back();
  if (Object* object = parent->if_object()) {
    object->insert_or_assign(key, std::move(value));
    return std::nullopt;
  }
  Value* element = writable_child(*parent, key);
  if (!element) return no_such_value;
  *element = std::move(value);
  return std::nullopt;
}

Refusal PatchRun::move(const Operation& operation) {
  Value value(root_.storage());
  if (auto refusal = take(operation.from, value)) return *refusal + " (from)";
  // Moving up or sideways cannot nest deeper than before, and needs no walk.
  if (operation.path.tokens().size() > operation.from.tokens().size()) {
    if (auto refusal = check_depth(operation.path, value)) return refusal;
  }
  return insert(operation.path, std::move(value));
}

Refusal PatchRun::copy(const Operation& operation) {
  if (operation.from.is_root()) return std::string(root_refused) + " (from)";
  Value* parent = parent_of(operation.from);
  if (!parent || !parent->is_structured()) return std::string(no_parent) + " (from)";
  const Value* source = writable_child(*parent, operation.from.tokens().back());
  if (!source && parent->is_array()) return std::string(no_such_value) + " (from)";
  if (!source) return insert(operation.path, Value(nullptr, root_.storage()));
  copied_bytes_ += size_hint(*source);
  if (copied_bytes_ > limits::patch_copy_bytes_max) {
    return fmt::format("the patch copies more than {} bytes", limits::patch_copy_bytes_max);
  }
  if (auto refusal = check_depth(operation.path, *source)) return refusal;
  return insert(operation.path, Value(*source, root_.storage()));
}

Refusal PatchRun::test(const Operation& operation) {
  static constexpr const char* differs = "the value is different";
  const bool expects_null = !operation.value || operation.value->is_null();
  const Value* value = &root_;
  if (!operation.path.is_root()) {
    Value* parent = parent_of(operation.path);
    if (!parent || !parent->is_structured()) return no_parent;
    value = writable_child(*parent, operation.path.tokens().back());
    if (!value && parent->is_array()) return no_such_value;
  }
  const bool same = !value || value->is_null() ? expects_null : operation.value && equal(*value, *operation.value);
  return same ? std::nullopt : Refusal(differs);
}

Status failed_operation(std::size_t index, const Object* source, std::string_view why) {
  Status status;
  status.code = 422;
  status.reason = "Invalid";
  const std::string_view name = source ? get_string_or(*source, "op", "?") : "?";
  const std::string_view path = source ? get_string_or(*source, "path", "?") : "?";
  status.message = fmt::format("operation {} of the patch ({:.32} at \"{:.256}\"): {}", index, name, path, why);
  if (name == "test") status.message = fmt::format("{}: {}", phrases::patch_test_failed, status.message);
  return status;
}

Result<Pointer> read_pointer(const Object& source, std::string_view member) {
  const auto text = get_string(source, member);
  if (!text) return fail(Status::bad_request(fmt::format("\"{}\" must be a string", member)));
  return Pointer::parse(*text);
}

Result<Operation> read_operation(const Object& source) {
  const auto name = get_string(source, "op");
  const auto kind = std::ranges::find(Operation::kinds, name.value_or(""), &Operation::Kind::name);
  if (kind == Operation::kinds.end()) {
    return fail(Status::bad_request("\"op\" must be add, remove, replace, move, copy or test"));
  }
  auto path = read_pointer(source, "path");
  if (!path) return fail(std::move(path.error()));
  auto from = kind->has_from ? read_pointer(source, "from") : Result<Pointer>();
  if (!from) return fail(std::move(from.error()));
  return Operation{&*kind, std::move(*path), std::move(*from), find(source, "value")};
}

Result<std::vector<Operation>> read_operations(const Array& list) {
  if (list.size() > limits::patch_operations_max) {
    return fail(Status::too_large(fmt::format("the patch has {} operations, at most {} are supported", list.size(),
                                              limits::patch_operations_max)));
  }
  std::vector<Operation> operations;
  operations.reserve(list.size());
  for (const Value& element : list) {
    const Object* source = element.if_object();
    if (!source) return fail(Status::bad_request("a JSON patch must be a list of objects with \"op\" and \"path\""));
    auto operation = read_operation(*source);
    if (!operation) return fail(failed_operation(operations.size(), source, operation.error().message));
    operations.push_back(std::move(*operation));
  }
  return operations;
}

// A copy without null members, in objects at any depth. Null elements of lists stay.
Value without_nulls(const Value& value, const StoragePtr& storage) {
  if (const Object* object = value.if_object()) {
    Object out(storage);
    out.reserve(object->size());
    for (const auto& member : *object) {
      if (!member.value().is_null()) out.emplace(member.key(), without_nulls(member.value(), storage));
    }
    return out;
  }
  if (const Array* array = value.if_array()) {
    Array out(storage);
    out.reserve(array->size());
    for (const Value& element : *array) out.push_back(without_nulls(element, storage));
    return out;
  }
  return Value(value, storage);
}

void merge(Object& target, const Object& patch) {
  for (const auto& member : patch) {
    if (member.value().is_null()) {
      erase(target, member.key());
      continue;
    }
    Object* inner = get_object(target, member.key());
    const Object* inner_patch = member.value().if_object();
    if (inner && inner_patch) {
      merge(*inner, *inner_patch);
    } else {
      target.insert_or_assign(member.key(), without_nulls(member.value(), target.storage()));
    }
  }
}

}  // namespace

Result<void> apply_json_patch(Value& document, const Value& patch) {
  Value work(document, document.storage());
  auto applied = apply_json_patch_in_place(work, patch);
  if (applied) document = std::move(work);
  return applied;
}

Result<void> apply_json_patch_in_place(Value& document, const Value& patch) {
  const Array* list = patch.if_array();
  if (!list) return fail(Status::bad_request("a JSON patch must be a list of objects with \"op\" and \"path\""));
  const auto operations = read_operations(*list);
  if (!operations) return fail(operations.error());
  PatchRun run(document);
  for (std::size_t i = 0; i < operations->size(); ++i) {
    if (const auto refusal = run.execute((*operations)[i])) {
      return fail(failed_operation(i, (*list)[i].if_object(), *refusal));
    }
  }
  return {};
}

Result<void> apply_merge_patch(Value& document, const Value& patch) {
  const Object* object = patch.if_object();
  if (!object) return fail(Status::bad_request("a merge patch must be an object"));
  if (!document.is_object()) document.emplace_object();
  merge(document.get_object(), *object);
  return {};
}

PatchBuilder& PatchBuilder::append(std::string_view op, std::string_view path, Value* value) {
  Object operation(3, operations_.storage());
  operation.emplace("op", boost::json::string_view(op));
  operation.emplace("path", boost::json::string_view(path));
  if (value) operation.emplace("value", std::move(*value));
  operations_.push_back(std::move(operation));
  return *this;
}

}  // namespace vg::json
