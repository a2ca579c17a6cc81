// The last part of every write that changes an object, whichever way it was asked for: admission, rules, store.
#pragma once

#include <algorithm>
#include <expected>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "admission/lookup_allowance.h"
#include "base/status.h"
#include "base/task.h"
#include "base/off_loop.h"
#include "json/value.h"
#include "resources/context.h"
#include "resources/strategy.h"

namespace vg::resources {

struct Refused {
  Status status;
  bool raced = false;  // somebody else wrote in between: with the newest version it may work
};
using Written = std::expected<ObjectPtr, Refused>;

inline std::unexpected<Refused> refused(Status status, bool raced = false) {
  return std::unexpected(Refused{std::move(status), raced});
}

// How often a write that names no version is tried again on the newest one, as kube-apiserver does.
inline constexpr int write_attempts_max = 5;

// How much a write goes over: what the client sent, and what stands in the store. Decides whether it is worked on here
// or off the loop. Also takes the request's arena, which must happen on the core.
std::size_t work_bytes(Context& context, const StoredObject* current = nullptr);

// co_await off_loop(...) for a step that asks the admission rules: also off the loop when what they have to look
// up is large. `fn` may then be called a second time, so it changes nothing before it has asked them, but to the same
// effect.
template <class Fn>
Task<std::invoke_result_t<Fn&>> off_loop_with_lookups(Context& context, std::size_t bytes, Fn fn) {
  if (bytes < off_loop_bytes_min) {
    const std::size_t warned = context.warnings.size();
    try {
      const admission::LookupAllowance allowance(off_loop_bytes_min);
      co_return fn();
    } catch (const admission::LookupTooLarge& large) {
      bytes = std::max(large.bytes, off_loop_bytes_min);
    }
    context.warnings.resize(warned);
    if (auto seated = co_await context.call.work_on(bytes); !seated) co_return fail(std::move(seated.error()));
  }
  co_return co_await off_loop(context.call.core(), bytes, std::move(fn));
}

// Whether an answer is made of what an object says, as a table or protobuf is; as JSON it only has to be copied.
inline bool is_made(const Answer& answer) { return answer.protobuf || answer.form == Form::table; }

// Answers with the object as it stands now.
Task<void> answer_object(Context& context, int code, ObjectPtr object);

// Under which name the fields belong to whoever writes.
std::string manager_of(const Context& context);
// In which version they are named: the stored one, where the client speaks of another form of the object.
std::string_view written_api_version(const Context& context);

// What a strategy is told about the write; its views live as long as the context and `now`.
WriteContext write_context(const Context& context, std::string_view now);

// The body as an object of the resource: read, checked and shaped; problems with fields are judged.
Task<Result<json::Value>> read_body_object(Context& context, FieldValidation validation, const WriteContext& write);

// Makes the object (shaped, of the right name and namespace, and with what the request says settled): admission, rules,
// store. `managed_fields` is what an apply makes of them; otherwise all fields are the creator's.
Task<Result<ObjectPtr>> create_object(Context& context, json::Value object, bool dry_run, const WriteContext& write,
                                      std::optional<json::Value> managed_fields = std::nullopt);

// Replaces `current`, which `old` shows, by `wanted` (shaped, of the right name). Answers with the version that is then
// the newest; for a dry run with what it would be; for an update that let the object go with its last state.
// `managed_fields` is what an apply makes of them; otherwise they are kept up here.
Task<Written> change_object(Context& context, const ObjectPtr& current, const json::Value& old, json::Value wanted,
                            bool dry_run, const WriteContext& write,
                            std::optional<json::Value> managed_fields = std::nullopt);

// The LimitRanges of the request's namespace, as they are now.
Result<std::vector<json::Value>> limit_ranges(Context& context);
// 403 for a pod or claim that goes beyond them.
std::optional<Status> find_limit_problem(Context& context, std::string_view name, const json::Object& object);

// An owner that is named twice counts once; whoever names it so is warned.
void drop_repetitions(Context& context, json::Value& object);

// Whether the object says which version of itself it replaces.
bool names_version(const json::Object& object);
// 422 for one that does not, of a kind that wants to know.
std::optional<Status> find_missing_version(const Context& context, const json::Object& wanted);

// The body's metadata.resourceVersion and uid against the stored object. Nothing when they agree or are absent.
std::optional<Status> find_uid_conflict(const Context& context, const json::Object& wanted,
                                        const StoredObject& current);
std::optional<Status> find_version_conflict(const Context& context, const json::Object& wanted,
                                            const StoredObject& current);
std::optional<Status> find_conflict(const Context& context, const json::Object& wanted, const StoredObject& current);

}  // namespace vg::resources
