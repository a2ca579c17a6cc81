#include "engine/event_text.h"

#include <algorithm>
#include <string>

#include "base/limits.h"
#include "base/names.h"
#include "json/write.h"

namespace vg::engine {
namespace {

bool is_plain(const NewEvent& of) {
  const controllers::EventObject& involved = of.involved;
  const std::string_view texts[] = {involved.api_version,      involved.kind,   involved.name,    involved.uid,
                                    involved.resource_version, of.event.reason, of.event.message, of.uid,
                                    of.source.component,       of.manager};
  return std::ranges::none_of(texts, [](std::string_view text) { return text.empty(); }) && involved.ns == of.ns &&
         dns1123_subdomain_defects(of.name).empty();
}

class Text {
 public:
  explicit Text(std::string& out) : out_(out) {}
  Text& operator<<(std::string_view literal) {
    out_.append(literal);
    return *this;
  }
  // A member of the object that is being written: `before` is what stands between it and the one before.
  Text& member(std::string_view before, std::string_view value) {
    out_.append(before);
    json::write_string(value, out_);
    return *this;
  }

 private:
  std::string& out_;
};

void write_owners(Text& text, const NewEvent& of) {
  const bool host = !of.source.host.empty();
  text.member(R"("managedFields":[{"manager":)", of.manager)
          .member(R"(,"operation":"Update","apiVersion":"v1","time":)", of.now)
      << R"(,"fieldsType":"FieldsV1","fieldsV1":{"f:count":{},"f:firstTimestamp":{},"f:involvedObject":{},)"
         R"("f:lastTimestamp":{},"f:message":{},"f:reason":{},"f:reportingComponent":{},)"
      << (host ? R"("f:reportingInstance":{},"f:source":{"f:component":{},"f:host":{}},"f:type":{}}}]})"
               : R"("f:source":{"f:component":{}},"f:type":{}}}]})");
}

void write_content(Text& text, const NewEvent& of) {
  const controllers::EventObject& involved = of.involved;
  text.member(R"(,"involvedObject":{"kind":)", involved.kind)
      .member(R"(,"namespace":)", involved.ns)
      .member(R"(,"name":)", involved.name)
      .member(R"(,"uid":)", involved.uid)
      .member(R"(,"apiVersion":)", involved.api_version)
      .member(R"(,"resourceVersion":)", involved.resource_version)
      .member(R"(},"reason":)", of.event.reason)
      .member(R"(,"message":)", of.event.message)
      .member(R"(,"source":{"component":)", of.source.component);
  if (!of.source.host.empty()) text.member(R"(,"host":)", of.source.host);
  text.member(R"(},"firstTimestamp":)", of.now)
      .member(R"(,"lastTimestamp":)", of.now)
      .member(R"(,"count":1,"type":)", type_name(of.event.type))
      .member(R"(,"eventTime":null,"reportingComponent":)", of.source.component)
      .member(R"(,"reportingInstance":)", of.source.host);
}

}  // namespace

std::optional<ObjectDraft> plain_event(const NewEvent& event) {
  if (!is_plain(event)) return std::nullopt;
  ObjectDraft draft;
  draft.uid = event.uid;
  draft.json.reserve(1280);
  Text text(draft.json);
  text.member(R"({"apiVersion":"v1","kind":"Event","metadata":{"name":)", event.name)
          .member(R"(,"namespace":)", event.ns)
          .member(R"(,"uid":)", event.uid)
      << ",";
  draft.revision_offset = static_cast<std::uint32_t>(draft.json.size());
  text.member(R"("creationTimestamp":)", event.now) << ",";
  write_owners(text, event);
  write_content(text, event);
  text << "}";
  if (draft.json.size() > limits::stored_object_bytes_max) return std::nullopt;
  return draft;
}

}  // namespace vg::engine
