#include "journal/service.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "catalog/negotiate.h"
#include "journal/document.h"
#include "json/arena_pool.h"
#include "json/write.h"

namespace vg::journal {
namespace {

using resources::Form;
using resources::RequestInfo;
using std::string_view;

constexpr string_view plural = "requests";
constexpr std::size_t page_entries = 128;

// What a list asks for beside its namespace; empty takes all.
struct Selection {
  std::string ns, name;                                  // of the Request itself
  std::string target_name, resource, user, subresource;  // by fieldSelector
  std::size_t limit = limits::journal_list_max;
};

struct SelectorField {
  string_view field;
  std::string Selection::* value;
};
constexpr SelectorField selector_fields[] = {
    {"metadata.name", &Selection::name},    {"metadata.namespace", &Selection::ns},
    {"spec.name", &Selection::target_name}, {"spec.resource", &Selection::resource},
    {"spec.user", &Selection::user},        {"spec.subresource", &Selection::subresource},
};

Result<void> read_selector(string_view text, Selection& selection) {
  while (!text.empty()) {
    const string_view term = text.substr(0, text.find(','));
    text.remove_prefix(std::min(term.size() + 1, text.size()));
    const std::size_t sign = term.find('=');
    const auto* row = std::ranges::find(selector_fields, term.substr(0, sign), &SelectorField::field);
    if (sign == term.npos || row == std::end(selector_fields))
      return fail(Status::bad_request(
          fmt::format("fieldSelector: \"{}\" is not supported; use metadata.name, spec.name, spec.resource, "
                      "spec.subresource or spec.user, each with =",
                      term)));
    string_view value = term.substr(sign + 1);
    if (value.starts_with('=')) value.remove_prefix(1);
    selection.*row->value = value;
  }
  return {};
}

Result<Selection> read_selection(const RequestInfo& info, string_view query) {
  Selection selection;
  selection.ns = info.ns;
  selection.name = info.name;
  if (const auto fields = resources::query_value(query, "fieldSelector"))
    if (auto read = read_selector(*fields, selection); !read) return fail(read.error());
  if (const auto limit = resources::query_value(query, "limit")) {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(limit->data(), limit->data() + limit->size(), number);
    if (error != std::errc() || end != limit->data() + limit->size())
      return fail(Status::bad_request(fmt::format("limit must be a number, not \"{}\"", *limit)));
    if (number > 0) selection.limit = std::min(number, limits::journal_list_max);
  }
  return selection;
}

bool takes(const Selection& selection, const Entry& entry) {
  const auto fits = [](const std::string& wanted, string_view there) { return wanted.empty() || wanted == there; };
  return fits(selection.ns, namespace_of(entry)) && fits(selection.name, entry.id) &&
         fits(selection.target_name, entry.name) && fits(selection.resource, entry.resource) &&
         fits(selection.user, entry.user) && fits(selection.subresource, entry.subresource);
}

// Who may see what, asked once for each kind and namespace in a request.
class Viewer {
 public:
  Viewer(Core& core, Authorizer& authorizer, const User& user) : core_(core), authorizer_(authorizer), user_(user) {}

  // Whoever asked for it themselves, or may read what it is about.
  Task<bool> sees(const Entry& entry) {
    if (is_own(entry)) co_return true;
    if (co_await may("get", target_group(entry), entry.resource, entry.ns, "")) co_return true;
    if (entry.name.empty()) co_return false;
    co_return co_await may("get", target_group(entry), entry.resource, entry.ns, entry.name);
  }
  // Decisions count for one look: a watch goes on for long, and a role may be taken away meanwhile.
  void forget() { known_.clear(); }
  Task<bool> sees_user(const Entry& entry) {
    if (is_own(entry)) co_return true;
    co_return co_await may("identify", api_group, plural, namespace_of(entry), "");
  }

 private:
  bool is_own(const Entry& entry) const {
    return entry.user == user_.name && (entry.impersonated_by.empty() || entry.impersonated_by == user_.name);
  }
  // The subresource API has no objects of its own.
  static string_view target_group(const Entry& entry) {
    return entry.group == "subresources.kubevirt.io" ? string_view("kubevirt.io") : string_view(entry.group);
  }

  Task<bool> may(string_view verb, string_view group, string_view resource, string_view ns, string_view name) {
    std::string key = fmt::format("{} {}/{} {} {}", verb, group, resource, ns, name);
    if (const auto known = known_.find(key); known != known_.end()) co_return known->second;
    const auto decision = co_await authorizer_.authorize(core_, user_,
                                                         {.verb = verb,
                                                          .resource_request = true,
                                                          .path = {},
                                                          .group = group,
                                                          .version = "v1",
                                                          .resource = resource,
                                                          .subresource = {},
                                                          .ns = ns,
                                                          .name = name});
    const bool allowed = decision && decision->allowed;  // who knows no answer shows nothing
    known_.emplace(std::move(key), allowed);
    co_return allowed;
  }

  Core& core_;
  Authorizer& authorizer_;
  const User& user_;
  std::map<std::string, bool> known_;
};

Timestamp now(const Clock& clock) { return Timestamp::from(clock.wall_now()); }

class Reading {
 public:
  Reading(const Service::Parts& parts, server::Call& call, const User& user, Selection selection,
          resources::Answer answer)
      : parts_(parts),
        call_(call),
        viewer_(call.core(), parts.authorizer, user),
        selection_(std::move(selection)),
        answer_(answer) {}

  Task<void> get(const RequestInfo& info) {
    const auto kept = parts_.journal.find(info.name);
    if (!kept || !takes(selection_, kept->entry) || !co_await viewer_.sees(kept->entry))
      co_return call_.refuse(Status::not_found(std::string(api_group), std::string(plural), info.name));
    json::LeasedArena arena;
    const Shown shown = co_await show(*kept, Depth::whole);
    json::Value answer = answer_.form == Form::table ? table({&shown, 1}, kept->sequence, arena.storage())
                                                     : to_object(shown.view(), arena.storage());
    respond(answer);
  }

  Task<void> list() {
    const std::uint64_t newest = parts_.journal.newest();
    const auto found = co_await gather(0, newest + 1);
    json::LeasedArena arena;
    if (answer_.form == Form::table) co_return respond(table(found, newest, arena.storage()));
    json::Array items(arena.storage());
    for (const Shown& shown : found) items.push_back(to_object(shown.view(), arena.storage()));
    respond(json::Value({{"apiVersion", api_version},
                         {"kind", "RequestList"},
                         {"metadata", {{"resourceVersion", fmt::format("{}", newest)}}},
                         {"items", std::move(items)}},
                        arena.storage()));
  }

  // Nobody needs to hear of a request at once: what came since the last time is told together.
  Task<void> watch(std::uint64_t from) {
    const auto held = call_.hold(server::Hold::watch);
    if (!held) co_return call_.refuse(held.error());
    if (!co_await call_.begin_stream({.status = 200, .content_type = answer_.content_type, .headers = {}, .body = {}}))
      co_return;
    call_.leave_seat();
    const auto wakeup = parts_.journal.subscribe(call_.core());
    call_.on_cancel([wakeup] { wakeup->signal(); });
    while (!call_.cancelled()) {
      const std::uint64_t newest = parts_.journal.newest();
      if (newest > from) {
        const std::string events = events_of(co_await gather(from, newest + 1));
        if (!events.empty() && !co_await call_.write(events)) co_return;
        from = newest;
      }
      co_await wakeup->wait();
    }
  }

 private:
  struct Shown {
    Kept kept;
    Outcome outcome;
    bool shows_user = false;
    View view() const { return {.kept = kept, .outcome = outcome, .shows_user = shows_user}; }
  };

  Task<Shown> show(Kept kept, Depth depth) {
    const bool shows_user = co_await viewer_.sees_user(kept.entry);
    Outcome outcome = co_await parts_.follow(call_.core(), kept.entry, depth);
    co_return Shown{.kept = std::move(kept), .outcome = std::move(outcome), .shows_user = shows_user};
  }

  // Those between two places that the selection takes and the user may see: the newest, in the order of time.
  Task<std::vector<Shown>> gather(std::uint64_t after, std::uint64_t before) {
    viewer_.forget();
    std::vector<Shown> found;
    std::size_t looked_at = 0;
    while (found.size() < selection_.limit && looked_at < limits::journal_scan_max) {
      std::vector<Kept> page = parts_.journal.before(before, page_entries);
      if (page.empty()) break;
      looked_at += page.size();
      before = page.back().sequence;
      for (Kept& kept : page) {
        if (kept.sequence <= after || found.size() == selection_.limit) break;
        if (!takes(selection_, kept.entry) || !co_await viewer_.sees(kept.entry)) continue;
        // Otherwise a selection by a user's name would tell what the column hides.
        if (!selection_.user.empty() && !co_await viewer_.sees_user(kept.entry)) continue;
        found.push_back(co_await show(std::move(kept), Depth::row));
      }
      if (before <= after + 1) break;
      co_await call_.core().sleep(std::chrono::milliseconds(0));  // others have their turn between pages
    }
    std::ranges::reverse(found);
    co_return found;
  }

  json::Value table(std::span<const Shown> found, std::uint64_t version, const json::StoragePtr& storage) {
    json::Array rows(storage);
    for (const Shown& shown : found) rows.push_back(to_row(shown.view(), now(parts_.clock), storage));
    json::Value whole(
        {{"kind", "Table"},
         {"apiVersion", "meta.k8s.io/v1"},
         {"metadata", {{"resourceVersion", fmt::format("{}", version)}}},
         {"columnDefinitions", std::exchange(columns_sent_, true) ? json::Array(storage) : columns(storage)},
         {"rows", std::move(rows)}},
        storage);
    return whole;
  }

  std::string events_of(const std::vector<Shown>& found) {
    std::string text;
    for (const Shown& shown : found) {
      json::LeasedArena arena;
      text += R"({"type":"ADDED","object":)";
      json::write(answer_.form == Form::table ? table({&shown, 1}, shown.kept.sequence, arena.storage())
                                              : to_object(shown.view(), arena.storage()),
                  text);
      text += "}\n";
    }
    return text;
  }

  void respond(const json::Value& value) {
    http::Response response{.status = 200, .content_type = answer_.content_type, .headers = {}, .body = {}};
    json::write(value, response.body);
    call_.respond(std::move(response));
  }

  const Service::Parts& parts_;
  server::Call& call_;
  Viewer viewer_;
  Selection selection_;
  resources::Answer answer_;
  bool columns_sent_ = false;
};

std::uint64_t start_of(string_view query, std::uint64_t newest) {
  const auto version = resources::query_value(query, "resourceVersion");
  std::uint64_t number = 0;
  if (!version || version->empty()) return 0;
  const auto [end, error] = std::from_chars(version->data(), version->data() + version->size(), number);
  return error == std::errc() && end == version->data() + version->size() ? std::min(number, newest) : newest;
}

}  // namespace

Follow follow_in(const ObjectStore& store, const Clock& clock) {
  return [&store, &clock](Core&, const Entry& entry, Depth depth) -> Task<Outcome> {
    // NOLINTNEXTLINE(cppcoreguidelines-avoid-capturing-lambda-coroutines): the service outlives its requests
    co_return follow(entry, store, Timestamp::from(clock.wall_now()), depth);
  };
}

Task<void> Service::serve(server::Call& call, const RequestInfo& info, const User& user) const {
  if (info.version != "v1" || info.resource != plural || !info.subresource.empty())
    co_return call.refuse(Status::not_found(std::string(api_group), info.resource, info.name));
  const string_view verb = info.verb;
  if (verb != "get" && verb != "list" && verb != "watch")
    co_return call.refuse(Status::method_not_supported(std::string(api_group), std::string(plural), verb));
  const auto answer = resources::negotiate(call.request().headers.find("accept"), {.stream = verb == "watch"});
  if (!answer) co_return call.refuse(answer.error());
  auto selection = read_selection(info, call.request().query);
  if (!selection) co_return call.refuse(selection.error());
  Reading reading(parts_, call, user, std::move(*selection), *answer);
  if (verb == "get") co_return co_await reading.get(info);
  if (verb == "list") co_return co_await reading.list();
  co_await reading.watch(start_of(call.request().query, parts_.journal.newest()));
}

}  // namespace vg::journal
