#include "resources/scale_answer.h"

#include <fmt/format.h>

#include "catalog/optional_parts.h"
#include "json/access.h"
#include "json/write.h"
#include "resources/output_protobuf.h"
#include "resources/tables/table_cells.h"

namespace vg::resources {
namespace {

json::Object metadata_alone(const json::Object& scale, std::string_view meta_version) {
  json::Object partial(scale.storage());
  partial["kind"] = "PartialObjectMetadata";
  partial["apiVersion"] = fmt::format("meta.k8s.io/{}", meta_version);
  partial.emplace("metadata", part(scale, "metadata"));
  return partial;
}

// The columns are the same for whatever is scaled.
constexpr std::string_view columns =
    R"([{"name":"Name","type":"string","format":"name","description":"What is scaled","priority":0},)"
    R"({"name":"Desired","type":"integer","format":"","description":"Replicas that are wanted","priority":0},)"
    R"({"name":"Available","type":"integer","format":"","description":"Replicas that there are","priority":0},)"
    R"({"name":"Age","type":"date","format":"","description":"How long there is what is scaled","priority":0}])";

void append_scale_table(std::string& out, const ApiRequest& context, const json::Object& scale) {
  const json::Object& metadata = part(scale, "metadata");
  out += fmt::format(R"({{"kind":"Table","apiVersion":"meta.k8s.io/{}","metadata":{{"resourceVersion":"{}"}},)",
                     context.answer.meta_version, json::get_string_or(metadata, "resourceVersion"));
  out.append(R"("columnDefinitions":)").append(columns).append(R"(,"rows":[{"cells":[)");
  Cells row(out, Timestamp::from(context.backend.clock.wall_now()));
  row.text(json::get_string_or(metadata, "name"));
  row.number(json::get_int_or(part(scale, "spec"), "replicas", 0));
  row.number(json::get_int_or(part(scale, "status"), "replicas", 0));
  row.age(json::find(metadata, "creationTimestamp"));
  out.push_back(']');
  const std::string* include = context.query.find("includeObject");
  if (!include || *include != "None") {
    out.append(R"(,"object":)");
    const bool whole = include && *include == "Object";
    json::write(json::Value(whole ? scale : metadata_alone(scale, context.answer.meta_version)), out);
  }
  out.append("}]}");
}

}  // namespace

void append_scale(std::string& out, const ApiRequest& context, const json::Object& scale) {
  if (context.answer.form == Form::table) return append_scale_table(out, context, scale);
  const bool partial = context.answer.form == Form::partial;
  const json::Object shown = partial ? metadata_alone(scale, context.answer.meta_version) : scale;
  if (context.answer.protobuf)
    append_as_protobuf(out, shown, partial ? answer_type(context) : scale_type());
  else
    json::write(json::Value(shown), out);
}

}  // namespace vg::resources
