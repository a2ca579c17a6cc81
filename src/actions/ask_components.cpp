#include "actions/ask_components.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "actions/components.h"
#include "base/limits.h"
#include "base/parsed.h"
#include "json/write.h"

namespace vg::actions {
namespace {

class Collector {
 public:
  Collector(const AskComponents& asked, server::Call& call)
      : asked_(asked), call_(call), profiles_(asked.collect ? asked.components.size() : 0) {}

  // False when what the others say does not matter any more. An order goes to all of them, whoever fails.
  bool take(std::size_t index, Result<NodeAnswer> answer) {
    if (const auto good = judge(index, std::move(answer)); !good) note(index, good.error());
    return !asked_.collect || (failed_ == 0 && !call_.cancelled());
  }

  Result<std::string> result() const {
    if (failed_ > 0)
      return fail(Status::internal_error(
          fmt::format("{} of {} components failed to answer {}: {}{}", failed_, asked_.components.size(), asked_.target,
                      told_, failed_ > limits::component_failures_told_max ? ", and others" : "")));
    return asked_.collect ? document() : std::string();
  }

 private:
  Parsed<void> judge(std::size_t index, Result<NodeAnswer> answer) {
    if (!answer) return not_parsed(std::move(answer.error().message));
    if (answer->status != 200)
      return not_parsed(fmt::format("code {}, {}", answer->status,
                                    std::string_view(answer->body).substr(0, limits::component_failure_bytes_max)));
    if (!asked_.collect) return {};
    auto profiles = read_profiles(answer->body);
    if (!profiles) return not_parsed(std::move(profiles.error()));
    bytes_ += profiles->size();
    if (bytes_ > limits::component_page_bytes_max)
      return not_parsed("its profiles are too large for one answer; use a smaller pageSize");
    profiles_[index] = std::move(*profiles);
    return {};
  }

  void note(std::size_t index, std::string_view why) {
    if (++failed_ > limits::component_failures_told_max) return;
    told_ += fmt::format("{}{}: {}", told_.empty() ? "" : "; ", asked_.components[index].name, why);
  }

  std::string document() const {
    std::string text;
    text.reserve(bytes_ + asked_.components.size() * 128 + 128);
    text = R"({"componentResults":{)";
    for (std::size_t i = 0; i < profiles_.size(); ++i) {
      if (i > 0) text += ',';
      json::write_string(asked_.components[i].name, text);
      text += ':';
      text += profiles_[i];
    }
    text += '}';
    if (!asked_.continue_token.empty()) {
      text += R"(,"continue":)";
      json::write_string(asked_.continue_token, text);
    }
    return text + '}';
  }

  const AskComponents& asked_;
  server::Call& call_;
  std::vector<std::string> profiles_;  // by component, when they are collected
  std::size_t bytes_ = 0, failed_ = 0;
  std::string told_;
};

}  // namespace

Task<Result<std::string>> ask_components(const AskComponents& asked, ComponentLink& link, server::Call& call) {
  Collector collector(asked, call);
  const ComponentQuestion question{
      .target = asked.target,
      .answer_bytes_max = asked.collect ? limits::component_profiles_bytes_max : limits::component_order_bytes_max};
  auto done = co_await link.ask_all(
      call.core(), asked.components, question,
      [&collector](std::size_t index, Result<NodeAnswer> answer) { return collector.take(index, std::move(answer)); });
  if (!done) co_return fail(std::move(done.error()));
  if (asked.collect && call.cancelled())
    co_return fail(Status::unavailable("the client left before the profiles were complete"));
  co_return collector.result();
}

}  // namespace vg::actions
