#include "journal/service.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/background.h"
#include "base/limits.h"
#include "catalog/negotiate.h"
#include "journal/document.h"
#include "json/access.h"
#include "json/arena_pool.h"
#include "json/document.h"
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

// RFC 9111 5.5; kubectl prints it. Names of pods and reasons alone, so nothing has to be escaped.
std::string warning_of(std::string text) {
  std::ranges::replace_if(text, [](char c) { return c < ' ' || c > '~' || c == '"' || c == '\\'; }, ' ');
  return fmt::format("299 - \"{}\"", text);
}

Timestamp timestamp_now(const Clock& clock) { return Timestamp::from(clock.wall_now()); }

class Reading {
 public:
  Reading(const Service::Parts& parts, Others* others, server::Call& call, const User& user, Selection selection,
          resources::Answer answer)
      : parts_(parts),
        others_(others),
        call_(call),
        user_(user),
        viewer_(call.core(), parts.authorizer, user),
        selection_(std::move(selection)),
        answer_(answer) {}

  Task<void> get(const RequestInfo& info) {
    const auto kept = parts_.journal.find(info.name);
    if (!kept || !takes(selection_, kept->entry) || !co_await viewer_.sees(kept->entry)) {
      if (!kept && others_)
        if (auto answered = co_await others_->get(call_, user_)) co_return call_.respond(std::move(*answered));
      co_return call_.refuse(Status::not_found(std::string(api_group), std::string(plural), info.name));
    }
    json::LeasedArena arena;
    const Shown shown = co_await show(*kept, Depth::whole);
    json::Value answer = shown_as(shown, arena.storage());
    if (answer_.form == Form::table)
      answer = table(json::Array({std::move(answer)}, arena.storage()), kept->sequence, arena.storage());
    respond(answer);
  }

  Task<void> list(std::uint64_t after) {
    std::uint64_t newest = parts_.journal.newest();
    const auto found = co_await gather(after, newest + 1);
    json::Document document(std::size_t{64} * limits::kib);
    json::Array items(document.storage());
    for (const Shown& shown : found) items.push_back(shown_as(shown, document.storage()));
    if (others_) {
      OfOthers theirs = co_await others_->list(call_, user_, after, document.storage());
      for (json::Value& item : theirs.items) items.push_back(std::move(item));
      missing_ = std::move(theirs.missing);
      newest = std::max(newest, settle_order(items));
    }
    if (answer_.form == Form::table) co_return respond(table(std::move(items), newest, document.storage()));
    respond(json::Value({{"apiVersion", api_version},
                         {"kind", "RequestList"},
                         {"metadata", {{"resourceVersion", fmt::format("{}", newest)}}},
                         {"items", std::move(items)}},
                        document.storage()));
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
    const auto place = others_ ? others_->begin_watch() : nullptr;
    const Background looks = place ? Background(signal_again_and_again(call_.core(), wakeup)) : Background();
    std::uint64_t theirs_from = from;
    Clock::Steady look_at = {};
    while (!call_.cancelled()) {
      // What comes here wakes this up more often than others are to be asked.
      if (const auto at = parts_.clock.steady_now(); place && at >= look_at) {
        look_at = at + limits::journal_peer_look_interval;
        if (!co_await write_theirs(theirs_from)) co_return;
      }
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
  static Task<void> signal_again_and_again(Core& core, std::shared_ptr<resources::Wakeup> wakeup) {
    while (true) {
      co_await core.sleep(limits::journal_peer_look_interval);
      wakeup->signal();
    }
  }

  // What other replicas have recorded since the last look. False: the client is gone.
  Task<bool> write_theirs(std::uint64_t& from) {
    json::Document document(std::size_t{16} * limits::kib);
    OfOthers theirs = co_await others_->list(call_, user_, from, document.storage());
    from = std::max(from, settle_order(theirs.items));
    std::string text;
    for (json::Value& item : theirs.items) {
      json::Array one({std::move(item)}, document.storage());
      add_event(answer_.form == Form::table ? table(std::move(one), from, document.storage()) : std::move(one[0]),
                text);
    }
    co_return text.empty() || co_await call_.write(text);
  }

  static std::uint64_t place_of(const json::Value& item) {
    const json::Value* version = json::find_path(item, {"metadata", "resourceVersion"});
    if (!version) version = json::find_path(item, {"object", "metadata", "resourceVersion"});
    const string_view text = json::as_string(version).value_or("");
    std::uint64_t place = 0;
    std::from_chars(text.data(), text.data() + text.size(), place);
    return place;
  }

  // By time, the newest of as many as were asked for. The place of the newest; 0: there are none.
  std::uint64_t settle_order(json::Array& items) const {
    std::vector<std::pair<std::uint64_t, std::size_t>> order;
    for (std::size_t i = 0; i < items.size(); ++i) order.emplace_back(place_of(items[i]), i);
    std::ranges::sort(order);
    if (order.size() > selection_.limit)
      order.erase(order.begin(), order.end() - static_cast<std::ptrdiff_t>(selection_.limit));
    json::Array sorted(items.storage());
    for (const auto& [place, index] : order) sorted.push_back(std::move(items[index]));
    items = std::move(sorted);
    return order.empty() ? 0 : order.back().first;
  }

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
        // Who asks for one by its name, in whatever namespace, wants to know all of it.
        found.push_back(co_await show(std::move(kept), selection_.name.empty() ? Depth::row : Depth::whole));
      }
      if (before <= after + 1) break;
      co_await call_.core().sleep(std::chrono::milliseconds(0));  // others have their turn between pages
    }
    std::ranges::reverse(found);
    co_return found;
  }

  // A row, or the object itself.
  json::Value shown_as(const Shown& shown, const json::StoragePtr& storage) const {
    return answer_.form == Form::table ? to_row(shown.view(), timestamp_now(parts_.clock), storage)
                                       : to_object(shown.view(), storage);
  }

  json::Value table(json::Array rows, std::uint64_t version, const json::StoragePtr& storage) {
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
      json::Value item = shown_as(shown, arena.storage());
      if (answer_.form == Form::table)
        item = table(json::Array({std::move(item)}, arena.storage()), shown.kept.sequence, arena.storage());
      add_event(item, text);
    }
    return text;
  }

  static void add_event(const json::Value& object, std::string& text) {
    text += R"({"type":"ADDED","object":)";
    json::write(object, text);
    text += "}\n";
  }

  void respond(const json::Value& value) {
    http::Response response{.status = 200, .content_type = answer_.content_type, .headers = {}, .body = {}};
    json::write(value, response.body);
    for (const std::string& why : missing_) response.headers.emplace_back("Warning", warning_of(why));
    call_.respond(std::move(response));
  }

  const Service::Parts& parts_;
  Others* const others_;
  server::Call& call_;
  const User& user_;
  std::vector<std::string> missing_;  // replicas that did not answer
  Viewer viewer_;
  Selection selection_;
  resources::Answer answer_;
  bool columns_sent_ = false;
};

// Where a watch begins, or a list of another replica that knows the rest.
std::uint64_t start_of(string_view query, string_view parameter, std::uint64_t newest) {
  const auto version = resources::query_value(query, parameter);
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
  return serve(call, info, user, parts_.others);
}

Task<void> Service::serve_replica(server::Call& call, const RequestInfo& info, const User& user) const {
  return serve(call, info, user, nullptr);
}

Task<void> Service::serve(server::Call& call, const RequestInfo& info, const User& user, Others* others) const {
  if (info.version != "v1" || info.resource != plural || !info.subresource.empty())
    co_return call.refuse(Status::not_found(std::string(api_group), info.resource, info.name));
  const string_view verb = info.verb;
  if (verb != "get" && verb != "list" && verb != "watch")
    co_return call.refuse(Status::method_not_supported(std::string(api_group), std::string(plural), verb));
  const auto answer = resources::negotiate(call.request().headers.find("accept"), {.stream = verb == "watch"});
  if (!answer) co_return call.refuse(answer.error());
  auto selection = read_selection(info, call.request().query);
  if (!selection) co_return call.refuse(selection.error());
  Reading reading(parts_, others, call, user, std::move(*selection), *answer);
  if (verb == "get") co_return co_await reading.get(info);
  const string_view query = call.request().query;
  if (verb == "list")
    co_return co_await reading.list(others ? 0 : start_of(query, since_parameter, parts_.journal.newest()));
  // Where there are others, places are times: one that is newer than all here may be that of another replica.
  co_await reading.watch(start_of(query, "resourceVersion", others ? UINT64_MAX : parts_.journal.newest()));
}

}  // namespace vg::journal
