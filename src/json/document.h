// A value together with the memory it lives in, for callers that have no arena of their own: tests, files, caches.
#pragma once

#include <algorithm>
#include <boost/json/monotonic_resource.hpp>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "json/parse.h"
#include "json/value.h"

namespace vg::json {

class Document {
 public:
  // Holds null; `expected_bytes` is a hint for how much memory its values will take.
  explicit Document(std::size_t expected_bytes = 1024) : body_(std::make_unique<Body>(expected_bytes)) {}

  static Result<Document> parse(std::string_view text, const ParseOptions& options = {}) {
    // Values take about four times the bytes of compact text. Beyond some size growing step by step costs nothing.
    Document document(std::clamp<std::size_t>(4 * text.size(), 1024, 1024 * 1024));
    auto value = json::parse(text, document.storage(), options);
    if (!value) return fail(std::move(value.error()));
    document.body_->root = std::move(*value);
    return document;
  }

  Value& root() noexcept { return body_->root; }
  const Value& root() const noexcept { return body_->root; }
  StoragePtr storage() noexcept { return StoragePtr(&body_->memory); }

 private:
  // One allocation for both, so that moving a Document leaves its values where they are.
  struct Body {
    explicit Body(std::size_t bytes) : memory(bytes), root(StoragePtr(&memory)) {}
    boost::json::monotonic_resource memory;
    Value root;
  };
  std::unique_ptr<Body> body_;
};

}  // namespace vg::json
