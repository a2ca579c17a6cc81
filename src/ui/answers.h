// Answers below /ui: each tells the browser what its page may do.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "json/value.h"
#include "server/router.h"
#include "ui/assets.h"

namespace vg::ui {

// Nothing from elsewhere is loaded or run, nothing inside of other pages, no script or style that is not a file of
// ours.
inline constexpr std::string_view content_security_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

// What each answer must have; respond() and those that use it add it.
void add_page_fields(http::Response& response);
void respond(server::Call& call, http::Response response);
void respond_json(server::Call& call, int status, const json::Value& document);
void refuse(server::Call& call, const Status& status);

// Whether the client takes gzip, by its Accept-Encoding.
bool takes_gzip(const http::Headers& headers);
// Whether what the client has is still right, by its If-None-Match.
bool has_already(const http::Headers& headers, std::string_view etag);

Task<void> serve_asset(server::Call& call, const Asset& asset);

}  // namespace vg::ui
