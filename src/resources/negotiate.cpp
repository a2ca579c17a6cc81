#include "resources/negotiate.h"

#include <fmt/format.h>

#include <string>

namespace vg::resources {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string_view take_until(std::string_view& rest, char separator) {
  const auto end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return trim(part);
}

struct MediaType {
  std::string_view type, as, group, version;
  bool refused = false;  // q=0
};

MediaType read_media_type(std::string_view text) {
  MediaType media;
  media.type = take_until(text, ';');
  while (!text.empty()) {
    std::string_view parameter = take_until(text, ';');
    const std::string_view name = take_until(parameter, '=');
    if (name == "as") media.as = parameter;
    if (name == "g") media.group = parameter;
    if (name == "v") media.version = parameter;
    if (name == "q") media.refused = parameter == "0" || parameter == "0.0" || parameter == "0.00";
  }
  return media;
}

std::optional<Answer> answer_for(const MediaType& media, Protobuf protobuf) {
  if (media.refused) return std::nullopt;
  Answer answer;
  if (media.type == "application/yaml") {
    // Every JSON text is YAML as well.
    answer.content_type = "application/yaml";
  } else if (media.type == protobuf_type) {
    answer.content_type = protobuf_type;
    answer.protobuf = true;
    if (media.as.empty() && protobuf == Protobuf::none) return std::nullopt;
  } else if (media.type != "application/json" && media.type != "*/*" && media.type != "application/*") {
    return std::nullopt;
  }
  if (media.as.empty()) return answer;
  if (media.group != "meta.k8s.io" || (media.version != "v1" && media.version != "v1beta1")) return std::nullopt;
  if (media.as == "Table" && !answer.protobuf) {
    answer.form = Form::table;
    answer.meta_version = media.version;
    return answer;
  }
  if (media.as == "PartialObjectMetadata" || media.as == "PartialObjectMetadataList") {
    answer.form = Form::partial;
    answer.meta_version = media.version;
    answer.list = media.as == "PartialObjectMetadataList";
    return answer;
  }
  return std::nullopt;
}

// Types of media have no letter case.
std::string bare_type(std::optional<std::string_view> content_type) {
  std::string_view rest = content_type.value_or("");
  std::string type(take_until(rest, ';'));
  for (char& c : type)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return type;
}

}  // namespace

Result<Answer> negotiate(std::optional<std::string_view> accept, Protobuf protobuf) {
  if (!accept || trim(*accept).empty()) return Answer{};
  std::string_view rest = *accept;
  while (!rest.empty())
    if (auto answer = answer_for(read_media_type(take_until(rest, ',')), protobuf)) return *answer;
  return fail(Status::not_acceptable(
      fmt::format("{} can be had in application/json and application/yaml, also as Table or PartialObjectMetadata of "
                  "meta.k8s.io/v1; ask for one of them in the Accept header",
                  protobuf == Protobuf::objects ? "this, besides protobuf," : "this")));
}

Result<BodyFormat> body_format(std::optional<std::string_view> content_type, Protobuf protobuf) {
  const std::string type = bare_type(content_type);
  if (type.empty() || type == "application/json") return BodyFormat::json;
  if (type == "application/yaml") return BodyFormat::yaml;
  if (type == protobuf_type && protobuf == Protobuf::objects) return BodyFormat::protobuf;
  return fail(Status::unsupported_media_type(
      fmt::format("\"{}\" is not read here; send application/json or application/yaml", type)));
}

Result<PatchFormat> patch_format(std::optional<std::string_view> content_type) {
  const std::string type = bare_type(content_type);
  if (type == "application/json-patch+json") return PatchFormat::json_patch;
  if (type == "application/merge-patch+json") return PatchFormat::merge_patch;
  if (type == "application/strategic-merge-patch+json") return PatchFormat::strategic_merge_patch;
  if (type == "application/apply-patch+yaml") return PatchFormat::apply;
  return fail(Status::unsupported_media_type(
      fmt::format("\"{}\" is no kind of patch; use application/merge-patch+json or application/json-patch+json, or "
                  "application/strategic-merge-patch+json for Kubernetes' own kinds",
                  type)));
}

}  // namespace vg::resources
