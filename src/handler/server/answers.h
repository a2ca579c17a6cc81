// Answers of a handler: text, as virt-handler gives it (spec subresources 3.6).
#pragma once

#include <string>
#include <utility>

#include "base/status.h"
#include "http/exchange.h"

namespace vg::handler {

inline http::Response text(int status, std::string words) {
  return {.status = status, .content_type = "text/plain", .headers = {}, .body = std::move(words)};
}
inline http::Response accepted() { return {.status = 202, .content_type = {}, .headers = {}, .body = {}}; }
inline http::Response answer_of(const Result<void>& done, int otherwise) {
  return done ? accepted() : text(otherwise, done.error().message);
}

}  // namespace vg::handler
