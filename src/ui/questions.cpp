#include "ui/questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "auth/forbidden.h"
#include "base/off_loop.h"
#include "base/ui_limits.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"
#include "objects/draft.h"
#include "offline/examine.h"
#include "offline/source.h"
#include "story/narrate.h"
#include "ui/answers.h"

namespace vg::ui {
namespace {

using server::Call;
using std::string_view;
using story::Subject;

constexpr string_view group = "kubevirt.io";

// By Subject.
struct SubjectRow {
  string_view plural, key;
};
constexpr std::array<SubjectRow, 3> subjects{
    {{"virtualmachines", "vm"}, {"virtualmachineinstances", "vmi"}, {"virtualmachineinstancemigrations", "migration"}}};

std::string stored_name(string_view api_group, string_view plural) {
  return api_group.empty() ? std::string(plural) : fmt::format("{}/{}", api_group, plural);
}

AccessAttributes attributes(string_view verb, string_view api_group, string_view plural, string_view ns,
                            string_view name = {}) {
  AccessAttributes asked{};
  asked.verb = verb;
  asked.group = api_group;
  asked.version = "v1";
  asked.resource = plural;
  asked.ns = ns;
  asked.name = name;
  return asked;
}

// --- story -----------------------------------------------------------------------------------------------------------

struct Neighbour {
  string_view key, api_group, plural;
  bool in_namespace;
};
constexpr Neighbour neighbours[] = {
    {"claims", "", "persistentvolumeclaims", true},
    {"dataVolumes", "cdi.kubevirt.io", "datavolumes", true},
    {"events", "", "events", true},
    {"nodes", "", "nodes", false},
    {"migrations", group, "virtualmachineinstancemigrations", false},
};

// What this user may read of what a story is told from.
struct Readable {
  bool vm = false, vmi = false, kubevirt = false;
  std::array<bool, std::size(neighbours)> lists{};
  std::vector<std::string> unread;
};

class Story {
 public:
  Story(const QuestionParts& parts, Call& call, const User& user, StoryTarget target)
      : parts_(parts), call_(call), user_(user), target_(target) {}

  Task<void> answer() {
    const auto own = attributes("get", group, target_.resource, target_.ns, target_.name);
    const auto decision = co_await parts_.authorizer.authorize(call_.core(), user_, own);
    if (!decision) co_return refuse(call_, decision.error());
    if (!decision->allowed) co_return refuse(call_, auth::forbidden(user_, own, decision->reason));
    if (!stored(target_.subject, target_.name))
      co_return refuse(call_,
                       Status::not_found(std::string(group), std::string(target_.resource), std::string(target_.name)));
    co_await find_readable();
    // Lists of a namespace are long, and opened one by one.
    if (auto seated = co_await call_.work_on(off_loop_bytes_min); !seated) co_return refuse(call_, seated.error());
    auto told = co_await off_loop(call_.core(), off_loop_bytes_min, [this]() -> Result<std::string> { return tell(); });
    if (!told) co_return refuse(call_, told.error());
    respond(call_, {.status = 200, .content_type = "application/json", .body = std::move(*told)});
  }

 private:
  Task<bool> may(AccessAttributes asked) {
    const auto decision = co_await parts_.authorizer.authorize(call_.core(), user_, asked);
    co_return decision && decision->allowed;
  }

  Task<void> find_readable() {
    readable_.vm = co_await may(attributes("get", group, subjects[0].plural, target_.ns));
    readable_.vmi = co_await may(attributes("get", group, subjects[1].plural, target_.ns));
    readable_.kubevirt = co_await may(attributes("get", group, "kubevirts", "kubevirt", "kubevirt"));
    for (std::size_t i = 0; i < std::size(neighbours); ++i) {
      const Neighbour& one = neighbours[i];
      readable_.lists[i] =
          co_await may(attributes("list", one.api_group, one.plural, one.in_namespace ? target_.ns : string_view()));
      if (!readable_.lists[i]) readable_.unread.emplace_back(one.plural);
    }
  }

  ObjectPtr stored(Subject subject, string_view name) const {
    if (name.empty()) return nullptr;
    return parts_.store.get(stored_name(group, subjects[static_cast<std::size_t>(subject)].plural), target_.ns, name);
  }

  void put(json::Document& facts, string_view key, const ObjectPtr& object) const {
    if (object) facts.root().get_object()[key] = resources::load_object(*object, facts.storage());
  }

  void put_list(json::Document& facts, const Neighbour& of) const {
    const std::string resource = stored_name(of.api_group, of.plural);
    ListQuery query{.resource = resource,
                    .ns = of.in_namespace ? target_.ns : string_view(),
                    .limit = limits::ui_story_objects_max};
    // Events are named after their object.
    if (of.key == "events")
      query.matches = [this](const StoredObject& event) {
        return event.name().size() > target_.name.size() && event.name().starts_with(target_.name) &&
               event.name()[target_.name.size()] == '.';
      };
    const auto page = parts_.store.list(query);
    if (!page) return;
    json::Array items(facts.storage());
    for (const ObjectPtr& object : page->objects) {
      json::Value item = resources::load_object(*object, facts.storage());
      if (of.key != "events" || story::Object(&item).text({"involvedObject", "name"}) == target_.name)
        items.push_back(std::move(item));
    }
    facts.root().get_object()[of.key] = std::move(items);
  }

  std::string tell() const {
    json::Document facts(std::size_t{64} * 1024);
    facts.root().emplace_object();
    put(facts, subjects[static_cast<std::size_t>(target_.subject)].key, stored(target_.subject, target_.name));
    // A VM and its VMI have one name.
    const std::string vmi(target_.subject == Subject::migration
                              ? story::Object(&facts.root()).text({"migration", "spec", "vmiName"})
                              : target_.name);
    if (target_.subject == Subject::migration && readable_.vm) put(facts, "vm", stored(Subject::vm, vmi));
    if (target_.subject != Subject::vmi && readable_.vmi) put(facts, "vmi", stored(Subject::vmi, vmi));
    if (readable_.kubevirt)
      put(facts, "kubevirt", parts_.store.get(stored_name(group, "kubevirts"), "kubevirt", "kubevirt"));
    for (std::size_t i = 0; i < std::size(neighbours); ++i)
      if (readable_.lists[i] && (neighbours[i].key != "migrations" || target_.subject == Subject::migration))
        put_list(facts, neighbours[i]);
    return json::to_text(
        tell_story(target_.subject, facts.root(), Timestamp::from(parts_.clock.wall_now()), readable_.unread));
  }

  const QuestionParts& parts_;
  Call& call_;
  const User& user_;
  const StoryTarget target_;
  Readable readable_;
};

json::Object verdict_json(const story::Verdict& verdict) {
  return {{"id", verdict.id}, {"text", verdict.telling.says}, {"next", verdict.telling.next}};
}

// --- check -----------------------------------------------------------------------------------------------------------

json::Object finding_json(const offline::Finding& finding) {
  json::Object out{{"line", finding.line},
                   {"column", finding.column},
                   {"field", finding.field},
                   {"rule", finding.id},
                   {"severity", finding.severity == offline::Severity::refusal ? "error" : "warning"},
                   {"message", finding.message}};
  if (!finding.advice.empty()) out["advice"] = finding.advice;
  return out;
}

class Findings {
 public:
  void add(const offline::ObjectReport& report) {
    for (const offline::Finding& finding : report.findings)
      if (finding.severity != offline::Severity::note && findings_.size() < limits::ui_findings_max)
        findings_.push_back(finding_json(finding));
    if (!report.failure.empty()) add(report.failure);
    if (!report.unknown_kind.empty()) unknown_.emplace_back(report.unknown_kind);
  }
  // About the text as a whole.
  void add(const std::string& problem) {
    findings_.push_back(json::Object{
        {"line", 0}, {"column", 0}, {"field", ""}, {"rule", ""}, {"severity", "error"}, {"message", problem}});
  }
  json::Value document() && {
    return json::Object{{"findings", std::move(findings_)}, {"notChecked", std::move(unknown_)}};
  }

 private:
  json::Array findings_, unknown_;
};

}  // namespace

Result<std::vector<AccessAttributes>> read_checks(const json::Value& body) {
  const json::Array* checks = json::get_array(body, "checks");
  if (!checks) return fail(Status::bad_request("the body must be an object with a list of checks"));
  if (checks->size() > limits::ui_access_checks_max)
    return fail(
        Status::bad_request(fmt::format("at most {} checks can be asked at once", limits::ui_access_checks_max)));
  std::vector<AccessAttributes> read;
  for (const json::Value& check : *checks) {
    AccessAttributes asked{};
    asked.verb = json::get_string_or(check, "verb");
    asked.group = json::get_string_or(check, "group");
    asked.version = json::get_string_or(check, "version");
    asked.resource = json::get_string_or(check, "resource");
    asked.subresource = json::get_string_or(check, "subresource");
    asked.ns = json::get_string_or(check, "namespace");
    asked.name = json::get_string_or(check, "name");
    if (asked.verb.empty() || asked.resource.empty())
      return fail(Status::bad_request("each check must have a verb and a resource"));
    read.push_back(asked);
  }
  return read;
}

Status story_path_wanted() {
  return Status::bad_request(
      "the path must be namespaces/NS/RESOURCE/NAME, with a resource of virtualmachines, virtualmachineinstances, "
      "virtualmachineinstancemigrations");
}

std::optional<StoryTarget> read_story_target(string_view path) {
  std::array<string_view, 4> parts;  // "namespaces", its name, the resource, its name
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t slash = path.find('/');
    if ((slash == path.npos) != (i + 1 == parts.size())) return std::nullopt;
    parts[i] = path.substr(0, slash);
    if (parts[i].empty() || parts[i].starts_with('.')) return std::nullopt;
    if (slash != path.npos) path.remove_prefix(slash + 1);
  }
  const auto* row = std::ranges::find(subjects, parts[2], &SubjectRow::plural);
  if (parts[0] != "namespaces" || row == subjects.end()) return std::nullopt;
  return StoryTarget{.subject = static_cast<Subject>(row - subjects.begin()),
                     .resource = row->plural,
                     .ns = parts[1],
                     .name = parts[3]};
}

json::Value tell_story(Subject subject, const json::Value& document, Timestamp now,
                       const std::vector<std::string>& unread) {
  const story::Facts facts(document, now);
  json::Array verdicts, events, missing;
  for (const story::Verdict& verdict : story::judge(subject, facts)) verdicts.push_back(verdict_json(verdict));
  for (const story::Moment& moment : story::moments(facts, limits::ui_story_moments_max))
    events.push_back(json::Object{{"time", print_rfc3339(moment.at)}, {"text", moment.what}});
  for (const std::string& one : unread) missing.emplace_back(one);
  json::Value first = verdicts.front();
  return json::Object{{"verdict", std::move(first)},
                      {"verdicts", std::move(verdicts)},
                      {"events", std::move(events)},
                      {"unread", std::move(missing)}};
}

json::Value check_text(std::string text, const config::ConfigSource& config, const Clock& clock) {
  const auto source = offline::text_source("-", std::move(text));
  const offline::KnownObjects known;
  const config::FixedConfig fixed(config.current());
  const offline::World world{.known = known, .config = fixed, .clock = clock};
  const offline::CheckOptions options;
  Findings found;
  // It is about one object. Some more are checked; a list of thousands is for the command.
  const auto wanted = [](offline::Order order) { return !order.object || order.item < limits::ui_check_objects_max; };
  const offline::Examination how{.world = world, .options = options, .learns = nullptr, .wanted = wanted};
  offline::PieceReader reader(*source);
  for (std::size_t document = 1;; ++document) {
    const auto piece = reader.next();
    if (!piece) {
      found.add(piece.error().message);
      break;
    }
    if (!*piece) break;
    if (document > limits::ui_check_objects_max) {
      found.add("the text has too many documents to be checked here; use virtgate check");
      break;
    }
    (void)offline::examine({.file = "-", .piece = **piece, .document = document}, how,
                           [&](offline::Order, const offline::ObjectReport& report) { found.add(report); });
  }
  return std::move(found).document();
}

// --- answers
// ----------------------------------------------------------------------------------------------------------

Task<void> answer_access(Call& call, const User& user, Authorizer& authorizer) {
  const auto body = co_await call.read_body(limits::ui_access_body_bytes_max);
  if (!body) co_return refuse(call, body.error());
  const auto document = json::Document::parse(*body);
  if (!document) co_return refuse(call, document.error());
  const auto checks = read_checks(document->root());
  if (!checks) co_return refuse(call, checks.error());
  json::Array allowed;
  for (const AccessAttributes& asked : *checks) {
    const auto decision = co_await authorizer.authorize(call.core(), user, asked);
    allowed.emplace_back(decision && decision->allowed);  // what is not known is not allowed
  }
  respond_json(call, 200, json::Object{{"allowed", std::move(allowed)}});
}

Task<void> answer_check(Call& call, const config::ConfigSource& config, const Clock& clock) {
  const auto body = co_await call.read_body(limits::ui_check_bytes_max);
  if (!body) co_return refuse(call, body.error());
  if (auto seated = co_await call.work_on(off_loop_bytes_min); !seated) co_return refuse(call, seated.error());
  std::string text(*body);
  auto told = co_await off_loop(call.core(), off_loop_bytes_min, [&]() -> Result<std::string> {
    return json::to_text(check_text(std::move(text), config, clock));
  });
  if (!told) co_return refuse(call, told.error());
  respond(call, {.status = 200, .content_type = "application/json", .body = std::move(*told)});
}

void add_questions(UiService& service, const QuestionParts& parts) {
  service.add_question("POST", "access", [parts](Call& call, const User& user, string_view) -> Task<void> {
    return answer_access(call, user, parts.authorizer);
  });
  service.add_question("POST", "check", [parts](Call& call, const User&, string_view) -> Task<void> {
    return answer_check(call, parts.config, parts.clock);
  });
  service.add_question("GET", "story/", [parts](Call& call, const User& user, string_view rest) -> Task<void> {
    const auto target = read_story_target(rest);
    if (!target) co_return refuse(call, story_path_wanted());
    Story story(parts, call, user, *target);
    co_await story.answer();
  });
}

}  // namespace vg::ui
