#include "resources/output.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>

#include "base/limits.h"
#include "base/off_loop.h"
#include "base/release.h"
#include "base/time_rfc3339.h"
#include "objects/draft.h"
#include "objects/turn.h"
#include "resources/output_protobuf.h"

namespace vg::resources {
namespace {

std::string warning_header(std::string_view text) {
  std::string out = "299 - \"";
  std::size_t written = 0;
  for (const char c : text) {
    if (++written > limits::warning_bytes_max) break;
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) continue;  // would break the header
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  out.push_back('"');
  return out;
}

std::unique_ptr<ListText> table_for(const ApiRequest& context, const ListMeta& meta, bool with_columns) {
  const std::string* include = context.query.find("includeObject");
  return context.api_backend.table({.resource = context.resource,
                                    .shown = context.shown,
                                    .api_version = context.api_version,
                                    .table_version = context.answer.meta_version,
                                    .include_object = include ? std::string_view(*include) : std::string_view(),
                                    .meta = meta,
                                    .with_columns = with_columns,
                                    .now = context.backend.clock.wall_now()});
}

bool as_table(const ApiRequest& context) { return context.answer.form == Form::table; }

void append_json(std::string& out, const ApiRequest& context, const StoredObject& object, Revision revision) {
  if (context.answer.form == Form::partial)
    append_partial_metadata(out, object, revision, context.answer.meta_version);
  else
    append_shown(out, object, context.shown, context.api_version, revision);
}

class JsonList final : public ListText {
 public:
  JsonList(const ApiRequest& context, const ListMeta& meta) : context_(context), meta_(meta) {}

  void open(std::string& out) override {
    fmt::format_to(std::back_inserter(out), FMT_COMPILE(R"({{"apiVersion":"{}","kind":"{}","metadata":)"),
                   partial_ ? "meta.k8s.io/" + std::string(context_.answer.meta_version) : context_.api_version,
                   partial_ ? std::string_view("PartialObjectMetadataList") : context_.resource.kind->list_kind);
    append_list_meta(out, meta_);
    out.append(R"(,"items":[)");
  }
  void add(std::string& out, const StoredObject& object) override {
    if (!std::exchange(first_, false)) out.push_back(',');
    if (partial_ || context_.resource.kind->custom)
      append_json(out, context_, object, object.revision());
    else
      append_untyped_object(out, object, context_.shown);
  }
  void close(std::string& out) override { out.append("]}"); }

 private:
  const ApiRequest& context_;
  const ListMeta& meta_;
  const bool partial_ = context_.answer.form == Form::partial;
  bool first_ = true;
};

// About what a short list takes, so that it is written without growing.
std::size_t size_hint(const ObjectList& objects) {
  constexpr std::size_t list_bytes = 512, object_bytes = 1536;
  return list_bytes + std::min(objects.size() * object_bytes, piece_bytes);
}

http::Response head_of(const ApiRequest& context) {
  http::Response head{.status = 200, .content_type = context.answer.content_type, .headers = {}, .body = {}};
  add_warnings(head, context);
  return head;
}

// An answer that becomes a stream when it turns out to be long.
class Pieces {
 public:
  explicit Pieces(ApiRequest& context) : context_(context) {}

  std::string& out() { return out_; }
  bool full() const { return out_.size() >= piece_bytes; }
  // False when the client is gone.
  Task<bool> send() {
    if (!std::exchange(streaming_, true) && !co_await context_.call.begin_stream(head_of(context_))) co_return false;
    const bool there = co_await context_.call.write(out_);
    clear_keeping(out_, 4 * piece_bytes);  // a large object is no reason to keep its room
    co_return there;
  }
  Task<void> finish() {
    if (streaming_)
      co_await send();
    else
      respond_text(context_, 200, std::move(out_));
  }

 private:
  ApiRequest& context_;
  std::string out_;
  bool streaming_ = false;
};

Task<void> respond_text_list(ApiRequest& context, const ObjectList& objects, const ListMeta& meta) {
  const std::unique_ptr<ListText> text =
      as_table(context) ? table_for(context, meta, true) : std::make_unique<JsonList>(context, meta);
  Pieces pieces(context);
  Turn turn = context.turn();
  pieces.out().reserve(size_hint(objects));
  text->open(pieces.out());
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (pieces.full() && !co_await pieces.send()) co_return;  // while the client lets it wait, no object is open
    const ObjectPtr object = objects[i];
    if (takes_long(context, *object))
      co_await make_off_loop(context, turn, [&] { text->add(pieces.out(), *object); });
    else
      text->add(pieces.out(), *object);
    if (turn.over(*object)) co_await turn.pass();
  }
  text->close(pieces.out());
  co_await pieces.finish();
}

// The length of a protobuf list stands before it. So a long one is made twice, first to measure it: that takes time,
// but keeping it would take as much memory as it is long, for as long as the client likes.
Task<void> respond_protobuf_list(ApiRequest& context, const ObjectList& objects, const ListMeta& meta) {
  ProtobufList list(context, meta);
  Pieces pieces(context);
  Turn turn = context.turn();
  std::string beginning, item;
  list.open(beginning);
  std::size_t bytes = beginning.size();
  std::size_t kept = 0;  // objects that are in `beginning`
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const ObjectPtr object = objects[i];
    item.clear();
    if (takes_long(context, *object))
      co_await make_off_loop(context, turn, [&] { list.add(item, *object); });
    else
      list.add(item, *object);
    bytes += item.size();
    if (kept == i && beginning.size() + item.size() <= limits::protobuf_kept_bytes_max) {
      beginning += item;
      ++kept;
    }
    if (turn.over(*object)) co_await turn.pass();
  }
  pieces.out() = list.head(bytes) + beginning;
  beginning = {};
  for (std::size_t i = kept; i < objects.size(); ++i) {
    if (pieces.full() && !co_await pieces.send()) co_return;
    const ObjectPtr object = objects[i];
    if (takes_long(context, *object))
      co_await make_off_loop(context, turn, [&] { list.add(pieces.out(), *object); });
    else
      list.add(pieces.out(), *object);
    if (turn.over(*object)) co_await turn.pass();
  }
  co_await pieces.finish();
}

}  // namespace

bool is_made(const ApiRequest& context) {
  return context.answer.protobuf || context.answer.form == Form::table ||
         (context.shown.conversion && context.answer.form != Form::partial);
}

Task<void> make_off_loop(ApiRequest& context, Turn& turn, std::function<void()> fn) {
  constexpr std::chrono::milliseconds pause{20};
  const TurnQueue::Work held = co_await turn.worker();
  for (int attempt = 1; attempt <= limits::list_worker_attempts_max && !context.call.cancelled(); ++attempt) {
    const Result<void> done = co_await off_loop(context.call.core(), off_loop_bytes_min, [&]() -> Result<void> {
      fn();
      return {};
    });
    if (done) co_return;
    co_await context.call.core().sleep(pause);  // bodies have all the workers
  }
  fn();
}

void append_list_meta(std::string& out, const ListMeta& meta) {
  fmt::format_to(std::back_inserter(out), FMT_COMPILE(R"({{"resourceVersion":"{}")"), meta.revision);
  if (!meta.continue_token.empty()) out.append(R"(,"continue":")").append(meta.continue_token).push_back('"');
  if (meta.remaining)
    fmt::format_to(std::back_inserter(out), FMT_COMPILE(R"(,"remainingItemCount":{})"), *meta.remaining);
  out.push_back('}');
}

void append_answer(std::string& out, const ApiRequest& context, const ObjectPtr& object, Revision revision,
                   bool with_columns) {
  if (context.answer.protobuf) {
    std::string json;
    append_json(json, context, *object, revision);
    append_as_protobuf(out, json, answer_type(context));
  } else if (as_table(context)) {
    const ListMeta meta{.revision = revision};
    const auto table = table_for(context, meta, with_columns);
    table->open(out);
    table->add(out, *object);
    table->close(out);
  } else {
    append_json(out, context, *object, revision);
  }
}

Task<void> respond_list(ApiRequest& context, const ObjectList& objects, const ListMeta& meta) {
  return context.answer.protobuf ? respond_protobuf_list(context, objects, meta)
                                 : respond_text_list(context, objects, meta);
}

void add_warnings(http::Response& response, const ApiRequest& context) {
  if (!context.version.warning.empty())
    response.headers.emplace_back("Warning", warning_header(context.version.warning));
  const std::size_t shown = std::min(context.warnings.size(), limits::warnings_max);
  for (std::size_t i = 0; i < shown; ++i) response.headers.emplace_back("Warning", warning_header(context.warnings[i]));
}

std::string status_body(const ApiRequest& context, std::string json) {
  if (!context.answer.protobuf) return json;
  static const api::Type& type = *api::find_type("meta.Status");
  std::string out;
  append_as_protobuf(out, json, type);
  return out;
}

void respond_text(ApiRequest& context, int code, std::string body) {
  if (context.bodies && !context.answer.protobuf) context.bodies->answer = body;
  http::Response response{
      .status = code, .content_type = context.answer.content_type, .headers = {}, .body = std::move(body)};
  add_warnings(response, context);
  context.call.respond(std::move(response));
}

void respond_object(ApiRequest& context, int code, const ObjectPtr& object) {
  std::string body;
  body.reserve(object->json().size() + 64);
  append_answer(body, context, object, object->revision());
  respond_text(context, code, std::move(body));
}

void respond_status(ApiRequest& context, const Status& status) {
  if (record::Details* details = context.call.details()) details->decided_by = context.refused_by;
  if (status.code >= 400 && context.warnings.empty() && context.version.warning.empty()) {
    context.call.refuse(status);
    return;
  }
  if (status.code >= 400) context.call.note_refusal(status);
  http::Response response{
      .status = status.code, .content_type = "application/json", .headers = {}, .body = to_json(status)};
  if (status.details.retry_after_seconds > 0)
    response.headers.emplace_back("Retry-After", std::to_string(status.details.retry_after_seconds));
  add_warnings(response, context);
  context.call.respond(std::move(response));
}

Task<void> answer_object(ApiRequest& context, int code, ObjectPtr object) {
  context.deed.uid = object->uid();
  context.deed.revision = object->revision();
  const auto write = [&]() -> Result<std::string> {
    std::string text;
    text.reserve(object->json().size() + 64);
    append_answer(text, context, object, object->revision());
    return text;
  };
  auto body = co_await off_loop(context.core, is_made(context) ? object->json().size() : 0, write);
  // There is no worker for it at present. But the change is made, and who made it has to hear that.
  if (!body) body = write();
  respond_text(context, code, std::move(*body));
}

}  // namespace vg::resources
