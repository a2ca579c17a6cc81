// The last part of every write that changes an object, whichever way it was asked for: admission, rules, store.
#pragma once

#include <expected>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "admission/lookup_allowance.h"
#include "base/limits.h"
#include "base/off_loop.h"
#include "base/status.h"
#include "base/task.h"
#include "json/value.h"
#include "objects/object_request.h"
#include "objects/object_writes.h"
#include "objects/strategy.h"

namespace vg::resources {

// How long deciding about a write took, and the write itself, where that is recorded.
class WriteTimes {
 public:
  explicit WriteTimes(ObjectRequest& request) {
    if (request.deed.details) watch_.emplace(request.backend.clock, request.deed.details->times);
  }
  ~WriteTimes() {
    if (watch_) watch_->lap(decided_ ? record::Part::write : record::Part::decision);
  }
  WriteTimes(const WriteTimes&) = delete;
  WriteTimes& operator=(const WriteTimes&) = delete;
  void decided() {
    if (watch_) watch_->lap(record::Part::decision);
    decided_ = true;
  }

 private:
  std::optional<record::Stopwatch> watch_;
  bool decided_ = false;
};

struct Refused {
  Status status;
  bool raced = false;  // somebody else wrote or deleted it in between: with what is there now it may work
};
using Written = std::expected<ObjectPtr, Refused>;

// What the store says to a write of a version that is not the newest any more.
inline bool is_race(const Status& status) { return status.code == 409 || status.code == 404; }

inline std::unexpected<Refused> refused(Status status, bool raced = false) {
  return std::unexpected(Refused{std::move(status), raced});
}

inline Result<ObjectPtr> outcome_of(Written written) {
  if (!written) return fail(std::move(written.error().status));
  return std::move(*written);
}

// How much a write goes over: what the client sent, and what stands in the store. Decides whether it is worked on here
// or off the loop. Also takes the request's arena, which must happen on the core.
std::size_t work_bytes(ObjectRequest& request, const StoredObject* current = nullptr);

// admission::off_loop_with_lookups() for a step that asks the admission rules. The warnings of a try that is not the
// last one are forgotten.
template <class Fn>
Task<std::invoke_result_t<Fn&>> off_loop_with_lookups(ObjectRequest& request, std::size_t bytes, Fn fn) {
  const auto work_on = [&request, warned = request.warnings.size()](std::size_t large) {
    request.warnings.resize(warned);
    return request.work_on(large);
  };
  return admission::off_loop_with_lookups(request.core, bytes, work_on, std::move(fn));
}

// Of what a controller of this program writes, webhooks and schemas judge the spec of VMs and VMIs and the volumes that
// are asked for. Where both stay as they are, as in nearly all of its writes, there is nothing to ask: whose VMI it is
// (UPD-03 to UPD-05) is known by the pass, and a VM must be shown as it is whatever would be said of its spec today.
bool only_shows(const ObjectRequest& request, const json::Value& old, const json::Value& wanted);

// In which version the fields are named: the stored one, where the writer speaks of another form of the object.
std::string_view written_api_version(const ObjectRequest& request);

// What a strategy is told about the write; its views live as long as the request and `now`.
WriteContext write_context(const ObjectRequest& request, std::string_view now);

// What was sent as an object of the resource: checked and shaped, and what was wrong with its fields judged.
Result<json::Value> shape_sent(ObjectRequest& request, SentObject& sent, const WriteContext& write);

// 400 for an object that calls itself otherwise than the path does.
Result<void> check_name(const json::Object& object, std::string_view name);

// Makes the object (shaped, of the right name and namespace, and with what the request says settled): admission, rules,
// store. `managed_fields` is what an apply makes of them; otherwise all fields are the creator's.
Task<Result<ObjectPtr>> create_object(ObjectRequest& request, json::Value object, const WriteContext& write,
                                      std::optional<json::Value> managed_fields = std::nullopt);

// Replaces `current`, which `old` shows, by `wanted` (shaped, of the right name). Answers with the version that is then
// the newest; for a dry run with what it would be; for an update that let the object go with its last state.
// `managed_fields` is what an apply makes of them; otherwise they are kept up here.
Task<Written> change_object(ObjectRequest& request, const ObjectPtr& current, const json::Value& old,
                            json::Value wanted, const WriteContext& write,
                            std::optional<json::Value> managed_fields = std::nullopt);

// The LimitRanges of the request's namespace, as they are now.
Result<std::vector<json::Value>> limit_ranges(ObjectRequest& request, std::string_view name,
                                              const json::Object& object);
// 403 for a pod or claim that goes beyond them.
std::optional<Status> find_limit_problem(ObjectRequest& request, std::string_view name, const json::Object& object);

// The refusal of a role or a binding (of auth::rbac_group) that gives more than its writer has. `old` is null for a
// create. To be asked when nothing but rules that refuse comes after it.
Task<std::optional<Status>> find_escalation(ObjectRequest& request, std::size_t bytes, const json::Object& object,
                                            const json::Object* old);

// An owner that is named twice counts once; whoever names it so is warned.
void drop_repetitions(ObjectRequest& request, json::Value& object);

// Whether the object says which version of itself it replaces.
bool names_version(const json::Object& object);
// 422 for one that does not, of a kind that wants to know.
std::optional<Status> find_missing_version(const ObjectRequest& request, const json::Object& wanted);

// The body's metadata.resourceVersion and uid against the stored object. Nothing when they agree or are absent.
std::optional<Status> find_uid_conflict(const ObjectRequest& request, const json::Object& wanted,
                                        const StoredObject& current);
std::optional<Status> find_version_conflict(const ObjectRequest& request, const json::Object& wanted,
                                            const StoredObject& current);
std::optional<Status> find_conflict(const ObjectRequest& request, const json::Object& wanted,
                                    const StoredObject& current);

}  // namespace vg::resources
