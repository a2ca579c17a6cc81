#include <utility>

#include "base/limits.h"
#include "base/off_loop.h"
#include "json/access.h"
#include "objects/change.h"
#include "objects/decode.h"
#include "objects/draft.h"
#include "objects/object_writes.h"
#include "objects/rules.h"
#include "objects/write_in_line.h"

namespace vg::resources {
namespace {

// What a controller only shows is in shape already; whether it does is known when the stored object was read.
bool is_shaped_late(const ObjectRequest& request) {
  return request.own && is_shown_by_controllers(request.resource) && !request.shown.conversion;
}

Task<Written> update_once(ObjectRequest& request, json::Value& object, const WriteContext& write) {
  json::Object& members = object.get_object();
  const bool conditional = names_version(members);
  const ObjectPtr current = request.find(request.name);
  if (!current) co_return refused(request.not_found(request.name));
  if (auto conflict = find_uid_conflict(request, members, *current)) co_return refused(std::move(*conflict));
  if (auto missing = find_missing_version(request, members)) co_return refused(std::move(*missing));
  if (auto conflict = find_version_conflict(request, members, *current)) co_return refused(std::move(*conflict));
  if (auto seated = co_await request.work_on(work_bytes(request, current.get())); !seated)
    co_return refused(std::move(seated.error()));
  json::Value wanted(request.storage());
  auto old = co_await off_loop(request.core, work_bytes(request, current.get()), [&]() -> Result<json::Value> {
    // Only an update that may be tried again needs its object a second time.
    wanted = conditional ? std::move(object) : json::Value(object, request.storage());
    json::Value stored = load_object(*current, request.storage());
    if (is_shaped_late(request) && !only_shows(request, stored, wanted))
      if (auto shaped = shape_object(wanted, request.resource, write, nullptr); !shaped)
        return fail(std::move(shaped.error()));
    return stored;
  });
  if (!old) co_return refused(std::move(old.error()));
  co_return co_await change_object(request, current, *old, std::move(wanted), write);
}

Task<Written> update_shaped(ObjectRequest& request, json::Value object, const WriteContext& write) {
  if (names_version(object.get_object())) co_return co_await update_once(request, object, write);
  co_return co_await write_in_line(request, request.name, [&] { return update_once(request, object, write); });
}

}  // namespace

Task<Result<ObjectPtr>> update(ObjectRequest& request, SentObject sent) {
  const std::string now = request.now();
  const WriteContext write = write_context(request, now);
  auto object = co_await off_loop(request.core, work_bytes(request), [&]() -> Result<json::Value> {
    if (!is_shaped_late(request)) return shape_sent(request, sent, write);
    if (auto typed = check_type(sent.object.get_object(), request.shown, request.api_version); !typed)
      return fail(std::move(typed.error()));
    return std::move(sent.object);
  });
  if (!object) co_return fail(std::move(object.error()));
  json::Object& members = object->get_object();
  if (auto settled = settle_namespace(members, request.resource, request.ns); !settled)
    co_return fail(std::move(settled.error()));
  if (auto named = check_name(members, request.name); !named) co_return fail(std::move(named.error()));
  co_return outcome_of(co_await update_shaped(request, std::move(*object), write));
}

}  // namespace vg::resources
