#include "resources/output.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/time_rfc3339.h"
#include "resources/draft.h"
#include "resources/output_protobuf.h"

namespace vg::resources {
namespace {

// kube-apiserver also stops somewhere; whoever sends an object with a thousand unknown fields has seen enough.
constexpr std::size_t warnings_max = 50;
constexpr std::size_t warning_bytes_max = 256;

std::string warning_header(std::string_view text) {
  std::string out = "299 - \"";
  std::size_t written = 0;
  for (const char c : text) {
    if (++written > warning_bytes_max) break;
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) continue;  // would break the header
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  out.push_back('"');
  return out;
}

void append_table(std::string& out, const Context& context, const ObjectList& objects, const ListMeta& meta,
                  bool with_columns) {
  const std::string* include = context.query.find("includeObject");
  context.backend.table(out, {.resource = context.resource,
                              .api_version = context.api_version,
                              .table_version = context.answer.meta_version,
                              .include_object = include ? std::string_view(*include) : std::string_view(),
                              .objects = objects,
                              .meta = meta,
                              .with_columns = with_columns,
                              .now = context.backend.clock.wall_now()});
}

bool as_table(const Context& context) { return context.answer.form == Form::table && context.backend.table; }

void append_json(std::string& out, const Context& context, const StoredObject& object, Revision revision) {
  if (context.answer.form == Form::partial)
    append_partial_metadata(out, object, revision, context.answer.meta_version);
  else
    append_object(out, object, context.resource, context.api_version, revision);
}

// About what the objects take, so that a list of ten thousand is written without growing.
std::size_t size_hint(const ObjectList& objects) {
  constexpr std::size_t list_bytes = 512;
  return list_bytes + objects.bytes();
}

}  // namespace

std::string Context::now() const { return print_rfc3339(Timestamp::from(backend.clock.wall_now())); }

void append_list_meta(std::string& out, const ListMeta& meta) {
  fmt::format_to(std::back_inserter(out), FMT_COMPILE(R"({{"resourceVersion":"{}")"), meta.revision);
  if (!meta.continue_token.empty()) out.append(R"(,"continue":")").append(meta.continue_token).push_back('"');
  if (meta.remaining)
    fmt::format_to(std::back_inserter(out), FMT_COMPILE(R"(,"remainingItemCount":{})"), *meta.remaining);
  out.push_back('}');
}

void append_answer(std::string& out, const Context& context, const ObjectPtr& object, Revision revision,
                   bool with_columns) {
  if (context.answer.protobuf) {
    std::string json;
    append_json(json, context, *object, revision);
    append_as_protobuf(out, json, answer_type(context));
  } else if (as_table(context)) {
    append_table(out, context, ObjectList({object}), {.revision = revision}, with_columns);
  } else {
    append_json(out, context, *object, revision);
  }
}

void append_list(std::string& out, const Context& context, const ObjectList& objects, const ListMeta& meta) {
  if (context.answer.protobuf) {
    append_list_as_protobuf(out, context, objects, meta);
    return;
  }
  if (as_table(context)) {
    append_table(out, context, objects, meta, true);
    return;
  }
  const bool partial = context.answer.form == Form::partial;
  if (!partial) out.reserve(size_hint(objects));
  fmt::format_to(std::back_inserter(out), FMT_COMPILE(R"({{"apiVersion":"{}","kind":"{}","metadata":)"),
                 partial ? "meta.k8s.io/" + std::string(context.answer.meta_version) : context.api_version,
                 partial ? std::string_view("PartialObjectMetadataList") : context.resource.kind->list_kind);
  append_list_meta(out, meta);
  out.append(R"(,"items":[)");
  bool first = true;
  for (const auto& object : objects) {
    if (!first) out.push_back(',');
    first = false;
    if (partial || context.resource.kind->custom)
      append_json(out, context, *object, object->revision());
    else
      append_untyped_object(out, *object, context.resource);
  }
  out.append("]}");
}

void add_warnings(http::Response& response, const Context& context) {
  if (!context.version.warning.empty())
    response.headers.emplace_back("Warning", warning_header(context.version.warning));
  const std::size_t shown = std::min(context.warnings.size(), warnings_max);
  for (std::size_t i = 0; i < shown; ++i) response.headers.emplace_back("Warning", warning_header(context.warnings[i]));
}

std::string status_body(const Context& context, std::string json) {
  if (!context.answer.protobuf) return json;
  static const api::Type& type = *api::find_type("meta.Status");
  std::string out;
  append_as_protobuf(out, json, type);
  return out;
}

void respond_text(Context& context, int code, std::string body) {
  http::Response response{
      .status = code, .content_type = context.answer.content_type, .headers = {}, .body = std::move(body)};
  add_warnings(response, context);
  context.call.respond(std::move(response));
}

void respond_object(Context& context, int code, const ObjectPtr& object) {
  std::string body;
  body.reserve(object->json().size() + 64);
  append_answer(body, context, object, object->revision());
  respond_text(context, code, std::move(body));
}

void respond_status(Context& context, const Status& status) {
  if (status.code >= 400 && context.warnings.empty() && context.version.warning.empty()) {
    context.call.refuse(status);
    return;
  }
  http::Response response{
      .status = status.code, .content_type = "application/json", .headers = {}, .body = to_json(status)};
  if (status.details.retry_after_seconds > 0)
    response.headers.emplace_back("Retry-After", std::to_string(status.details.retry_after_seconds));
  add_warnings(response, context);
  context.call.respond(std::move(response));
}

}  // namespace vg::resources
