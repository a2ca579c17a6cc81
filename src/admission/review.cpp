#include "admission/review.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "base/base64.h"
#include "base/joined.h"
#include "base/phrases.h"
#include "json/write.h"

namespace vg::admission {
namespace {

using json::Value;
using std::string_view;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool same_name(string_view a, string_view b) {
  return a.size() == b.size() && (a == b || std::ranges::equal(a, b, {}, lower, lower));
}

bool read_text(const Value& value, string_view& into) {
  const json::String* text = value.if_string();
  if (text) into = *text;
  return text != nullptr;
}

// One member of a structure: its name and how its value is read. False refuses the value's type.
template <class T>
struct Member {
  string_view name;
  bool (*read)(Value& value, T& into);
};

template <class T>
bool read_members(Value& value, T& into, std::span<const Member<T>> members) {
  json::Object* object = value.if_object();
  if (!object) return false;
  for (auto& entry : *object) {
    if (entry.value().is_null()) continue;
    for (const Member<T>& member : members) {
      if (!same_name(member.name, entry.key())) continue;
      if (!member.read(entry.value(), into)) return false;
      break;
    }
  }
  return true;
}

bool read_kind(Value& value, GroupVersionKind& into) {
  static constexpr Member<GroupVersionKind> members[] = {
      {"group", [](Value& v, GroupVersionKind& to) { return read_text(v, to.group); }},
      {"version", [](Value& v, GroupVersionKind& to) { return read_text(v, to.version); }},
      {"kind", [](Value& v, GroupVersionKind& to) { return read_text(v, to.kind); }},
  };
  return read_members<GroupVersionKind>(value, into, members);
}

bool read_resource(Value& value, GroupVersionResource& into) {
  static constexpr Member<GroupVersionResource> members[] = {
      {"group", [](Value& v, GroupVersionResource& to) { return read_text(v, to.group); }},
      {"version", [](Value& v, GroupVersionResource& to) { return read_text(v, to.version); }},
      {"resource", [](Value& v, GroupVersionResource& to) { return read_text(v, to.resource); }},
  };
  return read_members<GroupVersionResource>(value, into, members);
}

bool is_text_list(const Value& value) {
  const json::Array* list = value.if_array();
  return list && std::ranges::all_of(*list, [](const Value& item) { return item.is_string() || item.is_null(); });
}

bool read_groups(Value& value, UserInfo& into) {
  if (!is_text_list(value)) return false;
  into.groups = value.if_array();
  return true;
}

bool read_extra(Value& value, UserInfo& into) {
  const json::Object* extra = value.if_object();
  if (!extra || !std::ranges::all_of(
                    *extra, [](const auto& entry) { return entry.value().is_null() || is_text_list(entry.value()); }))
    return false;
  into.extra = extra;
  return true;
}

bool read_user(Value& value, UserInfo& into) {
  static constexpr Member<UserInfo> members[] = {
      {"username", [](Value& v, UserInfo& to) { return read_text(v, to.username); }},
      {"groups", read_groups},
      {"uid", [](Value& v, UserInfo& to) { return read_text(v, to.uid); }},
      {"extra", read_extra},
  };
  return read_members<UserInfo>(value, into, members);
}

bool read_dry_run(Value& value, Review& into) {
  const bool* flag = value.if_bool();
  if (flag) into.dry_run = *flag;
  return flag != nullptr;
}

bool read_request(Value& value, Review& into) {
  static constexpr Member<Review> members[] = {
      {"uid", [](Value& v, Review& to) { return read_text(v, to.uid); }},
      {"kind", [](Value& v, Review& to) { return read_kind(v, to.kind); }},
      {"resource", [](Value& v, Review& to) { return read_resource(v, to.resource); }},
      {"subResource", [](Value& v, Review& to) { return read_text(v, to.sub_resource); }},
      {"requestKind", [](Value& v, Review& to) { return read_kind(v, to.request_kind); }},
      {"requestResource", [](Value& v, Review& to) { return read_resource(v, to.request_resource); }},
      {"requestSubResource", [](Value& v, Review& to) { return read_text(v, to.request_sub_resource); }},
      {"name", [](Value& v, Review& to) { return read_text(v, to.name); }},
      {"namespace", [](Value& v, Review& to) { return read_text(v, to.name_space); }},
      {"operation", [](Value& v, Review& to) { return read_text(v, to.operation_name); }},
      {"userInfo", [](Value& v, Review& to) { return read_user(v, to.user); }},
      {"object", [](Value& v, Review& to) { return (to.object = &v) != nullptr; }},
      {"oldObject", [](Value& v, Review& to) { return (to.old_object = &v) != nullptr; }},
      {"dryRun", read_dry_run},
      {"options", [](Value& v, Review& to) { return (to.options = &v) != nullptr; }},
  };
  return read_members<Review>(value, into, members);
}

// What the envelope itself says; `kind` is not looked at, but Go wants it to be a string.
struct Envelope {
  Review review;
  string_view kind;
  bool has_request = false;
};

bool read_envelope(Value& value, Envelope& into) {
  static constexpr Member<Envelope> members[] = {
      {"kind", [](Value& v, Envelope& to) { return read_text(v, to.kind); }},
      {"apiVersion", [](Value& v, Envelope& to) { return read_text(v, to.review.api_version); }},
      {"request",
       [](Value& v, Envelope& to) {
         to.has_request = true;
         return read_request(v, to.review);
       }},
      // Nobody looks at it, but Go wants it to be an object.
      {"response", [](Value& v, Envelope&) { return v.is_object(); }},
  };
  return read_members<Envelope>(value, into, members);
}

// Members of one object, with a comma where one belongs.
class Members {
 public:
  explicit Members(std::string& out) : out_(out) { out_ += '{'; }
  std::string& name(string_view key) {
    if (!std::exchange(first_, false)) out_ += ',';
    out_ += '"';
    out_ += key;
    out_ += "\":";
    return out_;
  }
  void text(string_view key, string_view value) { json::write_string(value, name(key)); }
  void text_unless_empty(string_view key, string_view value) {
    if (!value.empty()) text(key, value);
  }
  void number_unless_zero(string_view key, int value) {
    if (value != 0) fmt::format_to(std::back_inserter(name(key)), "{}", value);
  }
  void end() { out_ += '}'; }

 private:
  std::string& out_;
  bool first_ = true;
};

template <class List, class Write>
void write_list(std::string& out, const List& list, Write write) {
  out += '[';
  bool first = true;
  for (const auto& item : list) {
    if (!std::exchange(first, false)) out += ',';
    write(item);
  }
  out += ']';
}

void write_cause(std::string& out, const StatusCause& cause) {
  Members members(out);
  members.text_unless_empty("reason", cause.reason);
  members.text_unless_empty("message", cause.message);
  members.text_unless_empty("field", cause.field);
  members.end();
}

void write_details(std::string& out, const StatusDetails& details) {
  Members members(out);
  members.text_unless_empty("name", details.name);
  members.text_unless_empty("group", details.group);
  members.text_unless_empty("kind", details.kind);
  members.text_unless_empty("uid", details.uid);
  if (!details.causes.empty())
    write_list(members.name("causes"), details.causes, [&](const StatusCause& cause) { write_cause(out, cause); });
  members.number_unless_zero("retryAfterSeconds", details.retry_after_seconds);
  members.end();
}

// Not to_json(Status): inside a review there is no kind and no "status": "Failure".
void write_refusal(std::string& out, const Status& status) {
  Members members(out);
  members.name("metadata") += "{}";
  members.text_unless_empty("message", status.message);
  members.text_unless_empty("reason", status.reason);
  if (status.details != StatusDetails{}) write_details(members.name("details"), status.details);
  members.number_unless_zero("code", status.code);
  members.end();
}

}  // namespace

Operation Review::operation() const {
  if (operation_name == "CREATE") return Operation::create;
  if (operation_name == "UPDATE") return Operation::update;
  if (operation_name == "DELETE") return Operation::remove;
  if (operation_name == "CONNECT") return Operation::connect;
  return Operation::other;
}

std::expected<Review, ReviewError> read_review(Value& document) {
  if (document.is_null()) return std::unexpected(ReviewError::no_request);  // Go: a no-op
  Envelope envelope;
  if (!read_envelope(document, envelope)) return std::unexpected(ReviewError::malformed);
  if (!envelope.has_request) return std::unexpected(ReviewError::no_request);
  return envelope.review;
}

Verdict Verdict::refuse(Status status) {
  Verdict verdict;
  verdict.allowed = false;
  verdict.refused.emplace(std::move(status));
  return verdict;
}

const Status& Verdict::refusal() const {
  static const Status none;
  return refused ? refused->status() : none;
}

std::string Verdict::rule_ids() const {
  std::vector<std::string_view> ids;
  if (!rule.empty()) ids.push_back(rule);
  for (const StatusCause& cause : refusal().details.causes)
    if (!cause.rule.empty() && std::ranges::find(ids, cause.rule) == ids.end()) ids.push_back(cause.rule);
  return joined(ids, ", ");
}

Verdict Verdict::error(std::string message) {
  return refuse({.code = 400, .reason = "", .message = std::move(message), .details = {}});
}

Verdict Verdict::invalid(std::vector<StatusCause> causes) {
  Status status{.code = 422, .reason = "Invalid", .message = "", .details = {}};
  const std::size_t all = causes.size();
  if (all > told_causes_max) causes.resize(told_causes_max);
  for (StatusCause& cause : causes) {
    cause.message = phrases::cause_message(cause.reason, cause.message);
    if (!status.message.empty()) status.message += ", ";
    status.message += phrases::with_field(cause.field, cause.message);
  }
  if (all > told_causes_max)
    status.message += fmt::format(", and {} more; fix these first to see the rest", all - told_causes_max);
  status.details.causes = std::move(causes);
  return refuse(std::move(status));
}

// Straight into text: the values stay where they are.
std::string print_patch(std::span<const PatchStep> patch) {
  std::string out;
  if (patch.empty()) return out;
  for (const PatchStep& step : patch) {
    out += out.empty() ? "[{\"op\":" : ",{\"op\":";
    json::write_string(step.op, out);
    out += ",\"path\":";
    json::write_string(step.path, out);
    out += ",\"value\":";
    json::write(*step.value, out);
    out += '}';
  }
  out += ']';
  return out;
}

json::Value patch_operations(std::span<const PatchStep> patch, const json::StoragePtr& storage) {
  json::Array operations(storage);
  for (const PatchStep& step : patch) {
    json::Object operation(storage);
    operation["op"] = step.op;
    operation["path"] = step.path;
    operation.emplace("value", *step.value);
    operations.emplace_back(std::move(operation));
  }
  return json::Value(std::move(operations));
}

void write_answer(std::string& out, bool mutating, const Review& review, const Verdict& verdict) {
  // Covers the rest of an allowing answer, and a refusal with a cause.
  constexpr std::size_t usual_bytes = 512;
  const std::string patch = print_patch(verdict.patch);
  out.reserve(out.size() + usual_bytes + patch.size() * 4 / 3);
  Members envelope(out);
  envelope.name("kind") += "\"AdmissionReview\"";
  // Mutating webhooks are registered for v1 only, and upstream writes it without looking (spec server Q20).
  envelope.text_unless_empty("apiVersion", mutating ? "admission.k8s.io/v1" : review.api_version);
  envelope.name("response");
  Members response(out);
  response.text("uid", review.uid);
  response.name("allowed") += verdict.allowed ? "true" : "false";
  if (!verdict.allowed) write_refusal(response.name("status"), verdict.refusal());
  if (!patch.empty()) {
    response.name("patch") += '"';
    append_base64(out, patch);
    out += '"';
    response.name("patchType") += "\"JSONPatch\"";
  }
  if (!verdict.warnings.empty())
    write_list(response.name("warnings"), verdict.warnings,
               [&](const std::string& warning) { json::write_string(warning, out); });
  response.end();
  envelope.end();
}

}  // namespace vg::admission
