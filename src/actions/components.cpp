#include "actions/components.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/base64.h"
#include "base/net.h"
#include "base/selector.h"
#include "http/request_parser.h"
#include "json/access.h"
#include "json/arena.h"
#include "json/parse.h"
#include "json/write.h"

namespace vg::actions {
namespace {

constexpr std::array<std::string_view, 4> name_prefixes{"virt-api-", "virt-operator-", "virt-handler-",
                                                        "virt-controller-"};
constexpr std::size_t page_size_default = 10, page_size_max = 20;

std::string_view text_at(const json::Value& value, std::initializer_list<std::string_view> path) {
  return json::as_string(json::find_path(value, path)).value_or("");
}

bool is_ready(const json::Value& pod) {
  const json::Value* conditions = json::find_path(pod, {"status", "conditions"});
  const json::Array* list = conditions ? conditions->if_array() : nullptr;
  return list && std::ranges::any_of(*list, [](const json::Value& condition) {
           return text_at(condition, {"type"}) == "Ready" && text_at(condition, {"status"}) == "True";
         });
}

Status wrong_member(std::string_view name, std::string_view must_be) {
  return Status::bad_request(fmt::format("{} of the profile request must be {}", name, must_be));
}

Result<void> read_text(const json::Value& value, std::string_view name, std::string_view& into) {
  if (value.is_null()) return {};
  const auto text = json::as_string(&value);
  if (!text) return fail(wrong_member(name, "a string"));
  into = *text;
  return {};
}

Result<void> read_page_size(const json::Value& value, std::int64_t& into) {
  if (value.is_null()) return {};
  if (!value.is_int64()) return fail(wrong_member("pageSize", "a whole number"));
  into = value.get_int64();
  return {};
}

std::unexpected<std::string> no_profiles(std::string_view why) {
  return not_parsed(fmt::format("the answer has no profiles: {}", why));
}

}  // namespace

std::optional<Component> component_of(const json::Value& pod) {
  const std::string_view name = text_at(pod, {"metadata", "name"});
  const bool known =
      std::ranges::any_of(name_prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
  if (!known || text_at(pod, {"status", "phase"}) != "Running") return std::nullopt;
  if (json::find_path(pod, {"metadata", "deletionTimestamp"}) || !is_ready(pod)) return std::nullopt;
  // In digits: a name would be looked up, and whoever answers for it would be asked.
  const std::string_view address = text_at(pod, {"status", "podIP"});
  return Component{.name = std::string(name), .address = std::string(parse_ip(address) ? address : std::string_view())};
}

Result<ProfilesRequest> read_profiles_request(const json::Value& body) {
  ProfilesRequest request;
  std::int64_t page_size = 0;
  const json::Object* object = body.if_object();
  if (!object && !body.is_null())
    return fail(Status::bad_request("the profile request must be an object, for example {\"pageSize\": 10}"));
  for (std::size_t i = 0; object && i < object->size(); ++i) {
    const auto& member = *(object->begin() + static_cast<std::ptrdiff_t>(i));
    Result<void> read;
    if (http::equal_ignoring_case(member.key(), "labelSelector"))
      read = read_text(member.value(), "labelSelector", request.label_selector);
    if (http::equal_ignoring_case(member.key(), "continue"))
      read = read_text(member.value(), "continue", request.continue_token);
    if (http::equal_ignoring_case(member.key(), "pageSize")) read = read_page_size(member.value(), page_size);
    if (!read) return fail(std::move(read.error()));
  }
  if (const auto selector = LabelSelector::parse(request.label_selector); !selector)
    return fail(Status::bad_request(fmt::format("labelSelector of the profile request: {}", selector.error())));
  request.page_size = page_size <= 0 ? page_size_default : std::min(static_cast<std::size_t>(page_size), page_size_max);
  return request;
}

Parsed<std::string> read_profiles(std::string_view answer) {
  json::Arena arena;
  const auto document = json::parse(answer, arena.storage(), {.bytes_max = answer.size()});
  if (!document) return no_profiles(document.error().message);
  if (!document->is_object()) return no_profiles("it is not an object");
  const json::Value* data = json::find(*document, "pprofData");
  std::string text = R"({"pprofData":)";
  if (!data || data->is_null()) return text + "{}}";
  if (!data->is_object()) return no_profiles("pprofData is not an object");
  for (const auto& profile : data->get_object()) {
    const auto bytes = json::as_string(&profile.value());
    if (!bytes || !base64_decode_lenient(*bytes))
      return no_profiles(fmt::format("\"{}\" is not base64", std::string_view(profile.key())));
  }
  json::write(*data, text, {.escape_html = true, .sort_keys = true});
  return text + "}";
}

}  // namespace vg::actions
