#include "uploads/decide.h"

#include <fmt/format.h>

#include "base/disk_limits.h"
#include "base/names.h"
#include "controllers/common/owners.h"
#include "controllers/storage/facts.h"
#include "controllers/storage/fill.h"
#include "json/access.h"

namespace vg::uploads {
namespace {

using controllers::annotation_of;
namespace mark = controllers::storage::mark;

constexpr std::string_view group = "upload.cdi.kubevirt.io", version = "v1beta1", plural = "uploadtokenrequests";

std::string lower_case(std::string_view text) {
  std::string made(text);
  for (char& c : made) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return made;
}

}  // namespace

Failed refuse(int status, std::string message) {
  return fail({.code = status, .reason = {}, .message = std::move(message), .details = {}});
}

http::Response text_answer(int status, std::string text) {
  return {.status = status,
          .content_type = "text/plain",
          .headers = {{"Access-Control-Allow-Origin", "*"},
                      {"Access-Control-Allow-Headers", "Authorization, *"},
                      {"Access-Control-Allow-Methods", "*"}},
          .body = std::move(text)};
}

// --- tokens ----------------------------------------------------------------------------------------------------------

Result<std::string> token_namespace(std::string_view method, std::string_view rest) {
  const std::size_t slash = rest.find('/');
  std::string ns(rest.substr(0, slash));
  if (slash == std::string_view::npos || rest.substr(slash + 1) != plural || !dns1123_label_defects(ns).empty())
    return fail(Status::not_found(std::string(group), std::string(plural), std::string(rest)));
  if (method != "POST")
    return fail(Status::method_not_supported(std::string(group), std::string(plural), std::string(method)));
  return ns;
}

AccessAttributes token_access(std::string_view ns) {
  return {.verb = "create",
          .path = {},
          .group = group,
          .version = version,
          .resource = plural,
          .subresource = {},
          .ns = ns,
          .name = {}};
}

Result<void> judge_access(const AccessDecision& decision, std::string_view user, std::string_view ns) {
  if (decision.allowed) return {};
  return fail(Status::forbidden(std::string(group), std::string(plural), "",
                                fmt::format("user \"{}\" may not create {} in namespace \"{}\"", user, plural, ns)));
}

Result<json::Document> token_answer(std::string_view body, const std::string& ns, const UploadTokens& tokens,
                                    UploadTokens::Time now) {
  auto document = json::Document::parse(body);
  if (!document || !document->root().is_object())
    return fail(Status::bad_request("the body must be an UploadTokenRequest"));
  json::Object& object = document->root().get_object();
  const json::Object* spec = json::get_object(object, "spec");
  const std::string claim(spec ? json::get_string_or(*spec, "pvcName") : std::string_view());
  if (!dns1123_subdomain_defects(claim).empty())
    return fail(Status::bad_request("spec.pvcName must be the name of a PVC"));
  object["kind"] = "UploadTokenRequest";
  object["apiVersion"] = fmt::format("{}/{}", group, version);
  json::ensure_object(object, "metadata")["namespace"] = ns;
  json::ensure_object(object, "status")["token"] = tokens.issue({.ns = ns, .claim = claim}, now);
  return std::move(*document);
}

// --- uploads ---------------------------------------------------------------------------------------------------------

std::string UploadTarget::job() const { return fmt::format("upload-{}", uid); }

Result<UploadRight> right_of(std::string_view authorization, const UploadTokens& tokens, UploadTokens::Time now) {
  const std::size_t blank = authorization.find(' ');
  if (blank == std::string_view::npos || lower_case(authorization.substr(0, blank)) != "bearer")
    return refuse(400, "a token is required: Authorization: Bearer TOKEN");
  auto right = tokens.read(authorization.substr(blank + 1), now);
  if (!right)
    return refuse(401, right.error() == TokenDefect::expired ? "the token has expired" : "the token is not valid");
  if (right->ns.empty() || right->claim.empty()) return refuse(400, "the token names no PVC");
  return std::move(*right);
}

Result<UploadLook> look_at(const UploadRight& right, const json::Object* claim, const std::optional<DiskClaim>& disk,
                           const json::Object* cdi_config) {
  if (!claim) return refuse(503, "the PVC does not exist");
  if (!controllers::storage::has_annotation(*claim, mark::upload_target))
    return refuse(503, "the PVC is no target of an upload");
  if (annotation_of(*claim, mark::pod_phase) == "Succeeded") return refuse(503, "the PVC has been filled already");
  const std::string_view content = annotation_of(*claim, mark::content_type);
  if (!content.empty() && content != "kubevirt" && content != "archive")
    return refuse(503, "the PVC has an unknown content type");
  UploadLook look;
  look.target = {.name = {.ns = right.ns, .name = right.claim},
                 .uid = std::string(controllers::metadata_text(*claim, "uid")),
                 .image = {}};
  if (!disk || disk->uid != look.target.uid) return look;
  look.ready = annotation_of(*claim, mark::pod_ready) == "true";
  look.filled = disk->filled_by == look.target.job();
  look.target.image = controllers::storage::upload_target_of(*claim, *disk, cdi_config);
  return look;
}

Result<bool> must_wait(const UploadLook& look, std::chrono::seconds waited) {
  if (look.ready) return false;
  if (waited >= limits::upload_ready_max) return refuse(503, "the PVC is not ready for an upload yet; try again");
  return true;
}

Result<Course> course_of(std::string_view method, bool async_path, bool archive) {
  const bool async = async_path && !archive;
  if (method == "HEAD" && async) return Course::possible;
  if (method != "POST") return refuse(404, "only POST is served here");
  return async ? Course::receive_async : Course::receive;
}

Result<void> may_receive(const UploadLook& look, bool others_receive, const std::optional<DiskJobStatus>& job) {
  const bool works = job && (job->state == DiskJobState::running || job->state == DiskJobState::waiting);
  if (others_receive || works) return refuse(503, "another upload into this PVC is in progress");
  // The claim will tell so in a moment.
  if (look.filled) return refuse(409, "the PVC has been filled already");
  return {};
}

Result<bool> is_converted(const std::optional<DiskJobStatus>& job) {
  if (!job || job->state == DiskJobState::succeeded) return true;
  if (job->state != DiskJobState::failed) return false;
  const bool theirs =
      job->error == DiskError::too_small || job->error == DiskError::no_space || job->error == DiskError::bad_image;
  return refuse(theirs ? 400 : 500, fmt::format("Saving stream failed: {}", job->message));
}

}  // namespace vg::uploads
