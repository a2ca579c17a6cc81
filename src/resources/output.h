// Answers in the form that was asked for.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/off_loop.h"
#include "ports/object_store.h"
#include "resources/api_request.h"

namespace vg::resources {

// The "metadata" of a list.
struct ListMeta {
  Revision revision = 0;
  std::string continue_token = {};
  std::optional<std::size_t> remaining = {};
};
void append_list_meta(std::string& out, const ListMeta& meta);

// What follows is in the form that was asked for: JSON or protobuf.

// One object on its own, or inside an event. `revision` is the one to show. A table names its columns unless
// `with_columns` is false (the events of a watch after the first).
void append_answer(std::string& out, const ApiRequest& context, const ObjectPtr& object, Revision revision,
                   bool with_columns = true);

// Answers with a list. One that is long goes out in pieces, as fast as the client takes them and in turns with
// everybody else on the core; what is held of it is one piece.
Task<void> respond_list(ApiRequest& context, const ObjectList& objects, const ListMeta& meta);
// The body of such an answer is sent as a whole up to here, and in pieces of this size beyond.
inline constexpr std::size_t piece_bytes = 128 * 1024;

// A Status that was written as JSON.
std::string status_body(const ApiRequest& context, std::string json);

// Whether an answer is made of what an object says, as a table, protobuf or another form of the kind is; as JSON it
// only has to be copied.
bool is_made(const ApiRequest& context);
// Writes something of the object, in the form of the answer: by a worker where that takes long:
//
//   if (takes_long(context, *object)) co_await make_off_loop(context, turn, fn); else fn();
inline bool takes_long(const ApiRequest& context, const StoredObject& object) {
  return object.memory_bytes() >= off_loop_bytes_min && is_made(context);
}
Task<void> make_off_loop(ApiRequest& context, Turn& turn, std::function<void()> fn);

void respond_object(ApiRequest& context, int code, const ObjectPtr& object);
// The same, off the loop where the answer takes long to make.
Task<void> answer_object(ApiRequest& context, int code, ObjectPtr object);
// A body that is ready.
void respond_text(ApiRequest& context, int code, std::string body);
// The refusal, or the success that a deletion is answered with, with the warnings that were collected; always as JSON.
void respond_status(ApiRequest& context, const Status& status);

// Warning: 299 - "text", one header each.
void add_warnings(http::Response& response, const ApiRequest& context);

}  // namespace vg::resources
