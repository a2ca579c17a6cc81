// The part `file` of a multipart form, taken as it comes (spec storage 7.4).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace vg::uploads {

// Of a Content-Type; nothing when it is no form.
std::optional<std::string> boundary_of(std::string_view content_type);

class FormReader {
 public:
  using Sink = std::function<Result<void>(std::string_view)>;
  FormReader(std::string_view boundary, Sink take) : mark_("\r\n--" + std::string(boundary)), take_(std::move(take)) {
    pending_ = "\r\n";  // the first boundary has no line before it
  }

  Result<void> put(std::string_view bytes);
  // All has come. 400 when there was no such part, or it has no end.
  Result<void> finish() const;

 private:
  enum class State : std::uint8_t { outside, head, file, after };
  // False when more bytes are needed.
  Result<bool> step();
  Result<bool> step_head();
  Result<bool> step_part();

  std::string mark_;
  Sink take_;
  std::string pending_;
  State state_ = State::outside;
  bool found_ = false, ended_ = false;
};

}  // namespace vg::uploads
