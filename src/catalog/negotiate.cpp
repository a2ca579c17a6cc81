#include "catalog/negotiate.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "base/trimmed.h"
#include "catalog/accept.h"

namespace vg::resources {
namespace {

constexpr std::array offered_types{json_type, yaml_type, protobuf_type};

std::optional<Answer> answer_for(const AcceptClause& clause, const Offer& offer) {
  Answer answer;
  if (clause.type == yaml_type)
    answer.content_type = yaml_type;
  else if (clause.type == protobuf_type)
    answer.content_type = protobuf_type;
  else if (!accepts(clause, json_type))
    return std::nullopt;
  answer.protobuf = answer.content_type == protobuf_type;
  if (!clause.stream.empty() && (clause.stream != "watch" || answer.content_type == yaml_type)) return std::nullopt;
  if (!clause.converts()) {
    if (answer.protobuf && offer.protobuf == Protobuf::none) return std::nullopt;
    return answer;
  }
  if (clause.group != "meta.k8s.io" || (clause.version != "v1" && clause.version != "v1beta1")) return std::nullopt;
  answer.meta_version = clause.version;
  if (clause.as == "Table" && offer.table && !answer.protobuf) {
    answer.form = Form::table;
    return answer;
  }
  if (clause.as != "PartialObjectMetadata" && clause.as != "PartialObjectMetadataList") return std::nullopt;
  answer.form = Form::partial;
  answer.list = clause.as == "PartialObjectMetadataList";
  return answer;
}

std::optional<Answer> choose_answer(std::string_view accept, const Offer& offer) {
  const std::vector<AcceptClause> clauses = read_accept(accept);
  if (offer.by_name && !names_one_of(clauses, offered_types)) return std::nullopt;
  for (const AcceptClause& clause : clauses) {
    const auto answer = answer_for(clause, offer);
    if (!answer) continue;
    // Nothing tells where one YAML document of a stream ends.
    if (offer.stream && answer->content_type == yaml_type) return std::nullopt;
    return answer;
  }
  return std::nullopt;
}

// Types of media have no letter case.
std::string bare_type(std::optional<std::string_view> content_type) {
  const std::string_view text = content_type.value_or("");
  std::string type(trimmed(text.substr(0, text.find(';')), header_blanks));
  for (char& c : type)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return type;
}

}  // namespace

Result<Answer> negotiate(std::optional<std::string_view> accept, const Offer& offer) {
  if (!accept || *accept == json_type || *accept == "*/*") return Answer{};  // most requests
  if (auto answer = choose_answer(*accept, offer)) return *answer;
  return fail(Status::not_acceptable(fmt::format(
      "{} is available as application/json and application/yaml, also as {}PartialObjectMetadata of meta.k8s.io/v1; "
      "send one of them in the Accept header",
      offer.protobuf == Protobuf::objects ? "this resource, besides protobuf," : "this",
      offer.table ? "Table or " : "")));
}

Result<BodyFormat> body_format(std::optional<std::string_view> content_type, Protobuf protobuf) {
  const std::string type = bare_type(content_type);
  if (type.empty() || type == json_type) return BodyFormat::json;
  if (type == yaml_type) return BodyFormat::yaml;
  if (type == protobuf_type && protobuf == Protobuf::objects) return BodyFormat::protobuf;
  return fail(Status::unsupported_media_type(
      fmt::format("\"{}\" is not supported; send application/json or application/yaml", type)));
}

Result<PatchFormat> patch_format(std::optional<std::string_view> content_type) {
  const std::string type = bare_type(content_type);
  if (type == "application/json-patch+json") return PatchFormat::json_patch;
  if (type == "application/merge-patch+json") return PatchFormat::merge_patch;
  if (type == "application/strategic-merge-patch+json") return PatchFormat::strategic_merge_patch;
  if (type == "application/apply-patch+yaml") return PatchFormat::apply;
  return fail(Status::unsupported_media_type(fmt::format(
      "\"{}\" is not a supported patch type; use application/merge-patch+json or application/json-patch+json, or "
      "application/strategic-merge-patch+json for Kubernetes' own kinds",
      type)));
}

}  // namespace vg::resources
