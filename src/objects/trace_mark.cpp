#include "objects/trace_mark.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "json/access.h"
#include "objects/own_writes.h"

namespace vg::resources {
namespace {

constexpr std::array annotations_of_traces{tracing::traceparent_annotation, tracing::tracestate_annotation};

bool is_component(const ObjectRequest& request) {
  return request.manager != own_writers::virt_api &&
         request.user.name.starts_with(
             fmt::format("system:serviceaccount:{}:", request.backend.admission.own_namespace));
}

}  // namespace

void keep_trace_marks(json::Object& metadata, const json::Object* old) {
  json::Object* wanted = json::get_object(metadata, "annotations");
  const json::Object* before = old ? json::get_object(*old, "annotations") : nullptr;
  for (const std::string_view name : annotations_of_traces) {
    const json::Value* kept = before ? json::find(*before, name) : nullptr;
    const json::Value* sent = wanted ? json::find(*wanted, name) : nullptr;
    if (!kept && !sent) continue;
    if (!kept) {
      json::erase(*wanted, name);
      continue;
    }
    if (!wanted) {
      metadata["annotations"] = json::Object(metadata.storage());
      wanted = json::get_object(metadata, "annotations");
      if (!wanted) return;
    }
    (*wanted)[name] = *kept;
  }
  if (wanted && wanted->empty() && !(before && before->empty())) json::erase(metadata, "annotations");
}

bool marks_trace(const ObjectRequest& request, bool is_new) {
  if (!tracing::Tracer::active() || !request.resource.kind->custom || request.options.dry_run) return false;
  return span_of(request).recorded() && (is_new || !is_component(request));
}

void mark_trace(json::Object& metadata, const tracing::Context& context) {
  json::Value& annotations = metadata["annotations"];
  if (!annotations.is_object()) annotations = json::Object(metadata.storage());
  json::Object& marks = annotations.get_object();
  marks[tracing::traceparent_annotation] = tracing::print_traceparent(context);
  marks[tracing::tracestate_annotation] = context.state;
}

}  // namespace vg::resources
