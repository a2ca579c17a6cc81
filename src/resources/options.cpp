#include "resources/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/limits.h"
#include "base/phrases.h"
#include "json/access.h"
#include "server/path.h"

namespace vg::resources {
namespace {

constexpr std::string_view meta_group = "meta.k8s.io";

Status invalid_options(std::string_view kind, std::vector<StatusCause> causes) {
  return Status::invalid(std::string(meta_group), std::string(kind), "", std::move(causes));
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || text.empty()) return std::nullopt;
  return value;
}

// As Kubernetes reads flags in a query: present means yes unless the value says no.
bool read_flag(const std::string* value) { return value && *value != "0" && *value != "false" && *value != "False"; }

void check_dry_run(const std::vector<std::string_view>& values, std::vector<StatusCause>& causes) {
  for (const std::string_view value : values) {
    if (value == "All") continue;
    causes.push_back({.reason = "FieldValueNotSupported",
                      .message = fmt::format("\"{}\": supported values: All", value),
                      .field = "dryRun"});
  }
}

Result<std::optional<std::int64_t>> read_seconds(const Query& query, std::string_view name) {
  const std::string* text = query.find(name);
  if (!text) return std::nullopt;
  if (const auto number = number_in<std::int64_t>(*text)) return number;
  return fail(Status::bad_request(fmt::format("{} must be a whole number, not \"{}\"", name, *text)));
}

Propagation propagation_of(std::string_view policy, std::vector<StatusCause>& causes) {
  if (policy == "Background") return Propagation::background;
  if (policy == "Foreground") return Propagation::foreground;
  if (policy == "Orphan") return Propagation::orphan;
  causes.push_back({.reason = "FieldValueNotSupported",
                    .message = fmt::format("\"{}\": supported values: Background, Foreground, Orphan", policy),
                    .field = "propagationPolicy"});
  return Propagation::unset;
}

// What body and query share, as texts and values.
struct RawDelete {
  std::vector<std::string_view> dry_run;
  std::optional<std::string_view> propagation;
  std::optional<bool> orphan;
  std::optional<std::int64_t> grace;
  std::optional<std::string_view> uid, revision;
};

Result<RawDelete> raw_from_body(const json::Value& body) {
  const json::Object* object = body.if_object();
  if (!object) return fail(Status::bad_request("the body of a deletion must be a DeleteOptions object"));
  const std::string_view kind = json::get_string_or(*object, "kind");
  if (!kind.empty() && kind != "DeleteOptions")
    return fail(Status::bad_request(fmt::format("the body of a deletion must be DeleteOptions, not \"{}\"", kind)));
  RawDelete raw;
  if (const auto* dry_run = json::get_array(*object, "dryRun"))
    for (const auto& value : *dry_run) raw.dry_run.push_back(json::as_string(&value).value_or(""));
  raw.propagation = json::get_string(*object, "propagationPolicy");
  raw.orphan = json::get_bool(*object, "orphanDependents");
  raw.grace = json::get_int(*object, "gracePeriodSeconds");
  if (const auto* preconditions = json::get_object(*object, "preconditions")) {
    raw.uid = json::get_string(*preconditions, "uid");
    raw.revision = json::get_string(*preconditions, "resourceVersion");
  }
  return raw;
}

Result<RawDelete> raw_from_query(const Query& query) {
  RawDelete raw;
  raw.dry_run = query.all("dryRun");
  if (const auto* policy = query.find("propagationPolicy")) raw.propagation = *policy;
  if (const auto* orphan = query.find("orphanDependents")) raw.orphan = read_flag(orphan);
  auto grace = read_seconds(query, "gracePeriodSeconds");
  if (!grace) return fail(std::move(grace.error()));
  raw.grace = *grace;
  if (const auto* uid = query.find("uid"); uid && !uid->empty()) raw.uid = *uid;
  if (const auto* version = query.find("resourceVersion"); version && !version->empty()) raw.revision = *version;
  return raw;
}

Result<Revision> read_revision(std::string_view text) {
  if (text.empty()) return 0;
  if (const auto number = number_in<Revision>(text)) return *number;
  const std::string detail = fmt::format("\"{}\": use the version of an object or a list, or remove it", text);
  return fail(
      Status::bad_request(phrases::with_field("resourceVersion", phrases::cause_message("FieldValueInvalid", detail))));
}

StatusCause forbidden(std::string_view field, std::string message) {
  return {.reason = "FieldValueForbidden", .message = std::move(message), .field = std::string(field)};
}

// The combinations that make sense (Kubernetes' API concepts, "resource versions").
std::vector<StatusCause> check_versions(const ListOptions& options, bool watch, std::string_view match) {
  std::vector<StatusCause> causes;
  const bool initial_stated = options.send_initial_events.has_value();
  if (!watch && initial_stated)
    causes.push_back(forbidden("sendInitialEvents", "sendInitialEvents is supported only for a watch"));
  if (watch) {
    if (initial_stated && options.match != VersionMatch::not_older_than)
      causes.push_back(
          forbidden("resourceVersionMatch", "sendInitialEvents requires resourceVersionMatch=NotOlderThan"));
    if (!initial_stated && !match.empty())
      causes.push_back(forbidden("resourceVersionMatch", "resourceVersionMatch of a watch requires sendInitialEvents"));
    // A watch from any version begins with what is there, as if it had asked for that.
    const bool from_any = options.resource_version.empty() || options.resource_version == "0";
    if (!options.continue_token.empty() && (!match.empty() || (!initial_stated && from_any)))
      causes.push_back(forbidden("resourceVersionMatch", "continue is not supported for a watch; remove it"));
    if (!match.empty() && options.match != VersionMatch::not_older_than)
      causes.push_back({.reason = "FieldValueNotSupported",
                        .message = fmt::format("\"{}\": supported values: NotOlderThan", match),
                        .field = "resourceVersionMatch"});
    return causes;
  }
  if (match.empty()) return causes;
  if (options.resource_version.empty())
    causes.push_back(forbidden("resourceVersionMatch", "resourceVersionMatch requires resourceVersion"));
  if (!options.continue_token.empty())
    causes.push_back(forbidden("resourceVersionMatch", "mutually exclusive with continue"));
  if (options.match == VersionMatch::unset) {
    causes.push_back({.reason = "FieldValueNotSupported",
                      .message = fmt::format("\"{}\": supported values: Exact, NotOlderThan", match),
                      .field = "resourceVersionMatch"});
  }
  if (options.match == VersionMatch::exact && options.resource_version == "0")
    causes.push_back(forbidden("resourceVersionMatch", "Exact is mutually exclusive with resourceVersion 0"));
  return causes;
}

void check_field_manager(std::string_view manager, std::vector<StatusCause>& causes) {
  const auto invalid = [&](std::string message) {
    causes.push_back({.reason = "FieldValueInvalid", .message = std::move(message), .field = "fieldManager"});
  };
  if (manager.size() > limits::field_manager_bytes_max)
    causes.push_back(
        {.reason = "FieldValueTooLong",
         .message = fmt::format("must have at most {} bytes, has {}", limits::field_manager_bytes_max, manager.size()),
         .field = "fieldManager"});
  if (std::ranges::any_of(manager, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
    invalid("must contain only printable characters");
}

}  // namespace

Query::Query(std::string_view raw_query) {
  if (raw_query.empty()) return;
  for (auto& parameter : server::read_query(raw_query))
    parameters_.emplace_back(std::move(parameter.name), std::move(parameter.value));
}

const std::string* Query::find(std::string_view name) const {
  for (const auto& [key, value] : parameters_)
    if (key == name) return &value;
  return nullptr;
}

std::vector<std::string_view> Query::all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : parameters_)
    if (key == name) values.push_back(value);
  return values;
}

Result<WriteOptions> read_write_options(const Query& query, std::string_view kind) {
  WriteOptions options;
  std::vector<StatusCause> causes;
  const auto dry_run = query.all("dryRun");
  check_dry_run(dry_run, causes);
  options.dry_run = !dry_run.empty();
  if (const auto* validation = query.find("fieldValidation"); validation && !validation->empty()) {
    if (*validation == "Strict") {
      options.field_validation = FieldValidation::strict;
    } else if (*validation == "Ignore") {
      options.field_validation = FieldValidation::ignore;
    } else if (*validation != "Warn") {
      causes.push_back({.reason = "FieldValueNotSupported",
                        .message = fmt::format("\"{}\": supported values: Ignore, Warn, Strict", *validation),
                        .field = "fieldValidation"});
    }
  }
  if (const auto* manager = query.find("fieldManager")) {
    options.field_manager = *manager;
    check_field_manager(*manager, causes);
  }
  if (const auto* force = query.find("force"); force && !force->empty())
    options.force = *force == "true" || *force == "1";
  if (!causes.empty()) return fail(invalid_options(kind, std::move(causes)));
  return options;
}

Result<DeleteOptions> read_delete_options(const Query& query, const json::Value* body) {
  auto raw = body ? raw_from_body(*body) : raw_from_query(query);
  if (!raw) return fail(std::move(raw.error()));
  std::vector<StatusCause> causes;
  DeleteOptions options;
  if (raw->propagation) options.propagation = propagation_of(*raw->propagation, causes);
  check_dry_run(raw->dry_run, causes);
  if (raw->orphan && raw->propagation) {
    causes.push_back({.reason = "FieldValueInvalid",
                      .message = "mutually exclusive with orphanDependents; remove one of them",
                      .field = "propagationPolicy"});
  }
  if (!causes.empty()) return fail(invalid_options("DeleteOptions", std::move(causes)));
  options.dry_run = !raw->dry_run.empty();
  if (raw->orphan) options.propagation = *raw->orphan ? Propagation::orphan : Propagation::background;
  options.cascade_stated = raw->orphan.has_value() && !*raw->orphan;
  // Kubernetes reads a negative period as the smallest one that is still graceful.
  if (raw->grace) options.grace_period_seconds = *raw->grace < 0 ? 1 : *raw->grace;
  options.uid = raw->uid;
  if (raw->revision) {
    auto revision = read_revision(*raw->revision);
    if (!revision) return fail(std::move(revision.error()));
    options.revision = *revision;
  }
  return options;
}

Result<ListOptions> read_list_options(const Query& query, bool watch) {
  ListOptions options;
  if (const auto* text = query.find("labelSelector")) {
    auto selector = LabelSelector::parse(*text);
    if (!selector)
      return fail(Status::bad_request(fmt::format("invalid label selector \"{:.256}\": {}", *text, selector.error())));
    options.labels = std::move(*selector);
  }
  if (const auto* text = query.find("fieldSelector")) {
    auto selector = FieldSelector::parse(*text);
    if (!selector)
      return fail(Status::bad_request(fmt::format("invalid field selector \"{:.256}\": {}", *text, selector.error())));
    options.fields = std::move(*selector);
  }
  auto limit = read_seconds(query, "limit");
  if (!limit) return fail(std::move(limit.error()));
  if (*limit && **limit > 0) options.limit = std::min(static_cast<std::size_t>(**limit), limits::list_page_objects_max);
  auto timeout = read_seconds(query, "timeoutSeconds");
  if (!timeout) return fail(std::move(timeout.error()));
  if (*timeout && **timeout > 0) options.timeout = std::min(std::chrono::seconds(**timeout), limits::watch_timeout_max);
  if (const auto* token = query.find("continue")) options.continue_token = *token;
  if (const auto* version = query.find("resourceVersion")) options.resource_version = *version;
  // Whoever takes any version gets it whole, as from kube-apiserver's cache.
  if (options.resource_version == "0" && options.continue_token.empty()) options.limit = 0;
  options.bookmarks = read_flag(query.find("allowWatchBookmarks"));
  if (const auto* initial = query.find("sendInitialEvents")) options.send_initial_events = read_flag(initial);
  std::string_view match;
  if (const auto* text = query.find("resourceVersionMatch")) match = *text;
  if (match == "Exact") options.match = VersionMatch::exact;
  if (match == "NotOlderThan") options.match = VersionMatch::not_older_than;
  auto causes = check_versions(options, watch, match);
  if (!causes.empty()) return fail(invalid_options("ListOptions", std::move(causes)));
  auto revision = read_revision(options.resource_version);
  if (!revision) return fail(std::move(revision.error()));
  options.revision = *revision;
  return options;
}

}  // namespace vg::resources
