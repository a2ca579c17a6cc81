#include "uploads/form.h"

#include "base/disk_limits.h"

namespace vg::uploads {
namespace {

// Of a Content-Disposition of a part.
bool is_file_part(std::string_view head) { return head.contains("name=\"file\"") || head.contains("name=file"); }

}  // namespace

std::optional<std::string> boundary_of(std::string_view content_type) {
  constexpr std::string_view form = "multipart/form-data", name = "boundary=";
  if (!content_type.starts_with(form)) return std::nullopt;
  const std::size_t at = content_type.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view value = content_type.substr(at + name.size());
  value = value.substr(0, value.find(';'));
  if (value.size() > 1 && value.front() == '"') value = value.substr(1, value.find('"', 1) - 1);
  constexpr std::size_t longest = 70;  // of the protocol
  if (value.empty() || value.size() > longest) return std::nullopt;
  return std::string(value);
}

Result<bool> FormReader::step_head() {
  const std::size_t end = pending_.find("\r\n\r\n");
  if (end == std::string::npos) {
    if (pending_.starts_with("--")) {  // the last boundary
      state_ = State::after;
      return true;
    }
    if (pending_.size() > limits::upload_part_head_bytes_max)
      return fail(Status::bad_request("the form has a part whose head has no end"));
    return false;
  }
  const bool wanted = is_file_part(std::string_view(pending_).substr(0, end)) && !found_;
  found_ = found_ || wanted;
  state_ = wanted ? State::file : State::outside;
  pending_.erase(0, end + 4);
  return true;
}

// What is surely before the next boundary goes on its way.
Result<bool> FormReader::step_part() {
  const std::size_t end = pending_.find(mark_);
  const std::size_t sure =
      end != std::string::npos ? end : pending_.size() - std::min(pending_.size(), mark_.size() - 1);
  if (state_ == State::file && sure > 0)
    if (auto taken = take_(std::string_view(pending_).substr(0, sure)); !taken) return fail(taken.error());
  if (end == std::string::npos) {
    pending_.erase(0, sure);
    return false;
  }
  ended_ = ended_ || state_ == State::file;
  pending_.erase(0, end + mark_.size());
  state_ = State::head;
  return true;
}

Result<bool> FormReader::step() {
  if (state_ == State::after) {
    pending_.clear();
    return false;
  }
  if (state_ == State::head) return step_head();
  return step_part();
}

Result<void> FormReader::put(std::string_view bytes) {
  pending_.append(bytes);
  while (true) {
    const auto more = step();
    if (!more) return fail(more.error());
    if (!*more) return {};
  }
}

Result<void> FormReader::finish() const {
  if (!found_) return fail(Status::bad_request("the form must have a part named file"));
  if (!ended_) return fail(Status::bad_request("the part named file has no end"));
  return {};
}

}  // namespace vg::uploads
