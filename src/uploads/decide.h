// What is decided about uploads and the tokens for them (spec storage 7.2, 7.4): pure, each refusal with its status.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "http/exchange.h"
#include "json/document.h"
#include "ports/authorizer.h"
#include "ports/disk_agent.h"
#include "uploads/tokens.h"

namespace vg::uploads {

// Clients of CDI read texts here, not a Status: the code and the message are all that counts.
Failed refuse(int status, std::string message);
// UPL-15: web pages of any origin upload. The header with the token is named, since browsers do not take it for any.
http::Response text_answer(int status, std::string text);

// --- tokens ----------------------------------------------------------------------------------------------------------

// UPL-10: the namespace of ".../namespaces/NAMESPACE/uploadtokenrequests", `rest` being what follows "namespaces/".
Result<std::string> token_namespace(std::string_view method, std::string_view rest);
// UPL-11
AccessAttributes token_access(std::string_view ns);
Result<void> judge_access(const AccessDecision& decision, std::string_view user, std::string_view ns);
// UPL-10, UPL-11: the request as it came, with the token in its status.
Result<json::Document> token_answer(std::string_view body, const std::string& ns, const UploadTokens& tokens,
                                    UploadTokens::Time now);

// --- uploads ---------------------------------------------------------------------------------------------------------

// A claim that takes an upload.
struct UploadTarget {
  DiskClaimName name;
  std::string uid;
  ImageTarget image;
  std::string job() const;
};
struct UploadLook {
  bool ready = false, filled = false;
  UploadTarget target;
};

// UPL-20 to UPL-22
Result<UploadRight> right_of(std::string_view authorization, const UploadTokens& tokens, UploadTokens::Time now);
// UPL-23, UPL-25: an error when it will not become ready. The claim and the CDIConfig may be null.
Result<UploadLook> look_at(const UploadRight& right, const json::Object* claim, const std::optional<DiskClaim>& disk,
                           const json::Object* cdi_config);
// UPL-24: whether to look again, after so long.
Result<bool> must_wait(const UploadLook& look, std::chrono::seconds waited);

enum class Course : std::uint8_t { possible, receive, receive_async };  // possible: told, and nothing is received
// UPL-26, UPL-27
Result<Course> course_of(std::string_view method, bool async_path, bool archive);
// UPL-28
Result<void> may_receive(const UploadLook& look, bool others_receive, const std::optional<DiskJobStatus>& job);
// UPL-29, UPL-30: whether the conversion is over.
Result<bool> is_converted(const std::optional<DiskJobStatus>& job);

}  // namespace vg::uploads
