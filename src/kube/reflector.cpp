#include "kube/reflector.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/background.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/random.h"
#include "json/access.h"
#include "json/arena.h"
#include "json/parse.h"
#include "json/write.h"
#include "kube/answer.h"
#include "kube/paths.h"

namespace vg::kube {
namespace {

constexpr std::size_t page_objects = 500;
constexpr int setbacks_before_list = 5;
// A watch that ends sooner than this without a word is cut by somebody; resuming at once would only keep both busy.
constexpr std::chrono::milliseconds short_watch{250};

double random_fraction() { return static_cast<double>(random_u64() >> 11) / 9007199254740992.0; }

}  // namespace

Reflector::Reflector(Client& client, Options options, metrics::Registry& metrics, const Clock& clock)
    : client_(client),
      options_(std::move(options)),
      clock_(clock),
      count_(
          metrics.gauges("virtgate_cache_objects", "Objects in the cache of a resource of the API server.", {"cache"})
              .with({options_.name})),
      fresh_(metrics
                 .gauges("virtgate_cache_fresh", "1 while the cache follows the API server, 0 while it does not.",
                         {"cache"})
                 .with({options_.name})),
      lists_(metrics.counters("virtgate_cache_lists_total", "How often the cache was listed as a whole.", {"cache"})
                 .with({options_.name})),
      failures_(
          metrics
              .counters("virtgate_cache_failures_total", "How often a list or a watch of the cache failed.", {"cache"})
              .with({options_.name})) {}

void Reflector::start(Core& core) {
  core_ = &core;
  begin();
}

void Reflector::refresh() {
  if (!core_) return;
  running_ = Background();
  setbacks_ = 0;
  begin();
}

void Reflector::begin() {
  running_ = Background(keep_running(*core_, "following " + options_.name, [this] { return run(*core_); }));
}

std::string Reflector::selector_query() const {
  std::string query;
  if (!options_.field_selector.empty()) query += "&fieldSelector=" + percent_encode(options_.field_selector);
  if (!options_.label_selector.empty()) query += "&labelSelector=" + percent_encode(options_.label_selector);
  return query;
}

Task<void> Reflector::run(Core& core) {
  for (;;) {
    const auto ended = co_await turn(core);
    if (const auto pause = pause_after(ended); pause.count() > 0) co_await core.sleep(pause);
  }
}

// A list, if one is needed, and a watch from there on.
Task<Result<Reflector::Ended>> Reflector::turn(Core& core) {
  progressed_ = false;
  if (must_list_) {
    auto listed = co_await relist(core);
    if (!listed) co_return fail(std::move(listed.error()));
  }
  co_return co_await watch(core);
}

// However a turn ends, turns that bring nothing become rarer: neither we nor the server are kept busy for nothing. A
// watch that never brings anything is not trusted: a list tells what it may have held back.
std::chrono::milliseconds Reflector::pause_after(const Result<Ended>& ended) {
  setbacks_ = progressed_ ? 0 : setbacks_ + 1;
  if (setbacks_ >= setbacks_before_list || (ended && *ended == Ended::expired)) must_list_ = true;
  if (!ended) failed(ended.error());
  if (ended && progressed_) return std::chrono::milliseconds(0);
  return back_off(options_.times.first_pause, options_.times.longest_pause, std::max(setbacks_, 1), random_fraction());
}

Result<void> Reflector::add_page(json::Value& page, Objects& objects) {
  json::Array* items = json::get_array(page, "items");
  for (std::size_t i = 0; items && i < items->size(); ++i) {
    auto object = read_object((*items)[i]);
    if (!object) return fail(std::move(object.error()));
    Key key(object->ns, object->name);
    objects.insert_or_assign(std::move(key), std::make_shared<const CachedObject>(std::move(*object)));
  }
  return {};
}

Task<Result<void>> Reflector::relist(Core& core) {
  Objects objects;
  std::string more, resource_version;
  for (int pages = 0; pages == 0 || !more.empty(); ++pages) {
    if (pages == limits::kube_pages_max) co_return fail(Status::internal_error("a list does not end"));
    json::Arena arena;
    std::string query = fmt::format("?limit={}{}", page_objects, selector_query());
    if (!more.empty()) query += "&continue=" + percent_encode(more);
    auto page = co_await client_.list(core, resource(), options_.ns, std::move(query), arena.storage());
    if (!page) co_return fail(std::move(page.error()));
    const json::Object* metadata = json::get_object(*page, "metadata");
    resource_version = metadata ? json::get_string_or(*metadata, "resourceVersion") : std::string_view();
    more = metadata ? json::get_string_or(*metadata, "continue") : std::string_view();
    if (auto added = add_page(*page, objects); !added) co_return added;
  }
  if (resource_version.empty()) co_return fail(Status::internal_error("a list has no resource version"));
  lists_->add();
  replace(std::move(objects), std::move(resource_version));
  co_return Result<void>();
}

void Reflector::replace(Objects objects, std::string resource_version) {
  resource_version_ = std::move(resource_version);
  must_list_ = false;
  {
    const std::unique_lock lock(mutex_);
    objects_ = std::move(objects);
    count_->set(static_cast<double>(objects_.size()));
  }
  worked();
  if (changed_) changed_();
  synced_.store(true, std::memory_order_release);
}

Task<Result<Reflector::Ended>> Reflector::watch(Core& core) {
  const auto seconds = options_.times.watch.count() +
                       static_cast<std::int64_t>(random_fraction() * static_cast<double>(options_.times.watch.count()));
  Question question{
      .target = fmt::format("{}?watch=true&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}{}",
                            collection_path(resource(), options_.ns), percent_encode(resource_version_), seconds,
                            selector_query()),
      .subject = {"WATCH", options_.plural}};
  auto stream = co_await client_.open(core, std::move(question), options_.times.silence);
  if (!stream && stream.error().code == 410) co_return Ended::expired;
  if (!stream) co_return fail(std::move(stream.error()));
  worked();
  const auto began = clock_.steady_now();
  auto ended = co_await read_events(*stream);
  if (clock_.steady_now() - began >= short_watch) progressed_ = true;
  co_return ended;
}

Task<Result<Reflector::Ended>> Reflector::read_events(http::AnswerStream& stream) {
  LineSplitter lines;
  for (;;) {
    const auto piece = co_await stream.read();
    if (!piece) co_return fail(piece.error());
    if (piece->empty()) co_return Ended::orderly;
    heard_.store(clock_.steady_now(), std::memory_order_relaxed);
    auto taken = lines.add(*piece) ? take_lines(lines) : fail(Status::internal_error("a watch event is too large"));
    if (!taken) {
      // Asked again from the same place, the server would send the same again.
      must_list_ = true;
      progressed_ = false;
      co_return taken;
    }
    if (*taken == Ended::expired) co_return taken;
  }
}

// All whole lines that are there. Ended::orderly: go on.
Result<Reflector::Ended> Reflector::take_lines(LineSplitter& lines) {
  bool changed = false;
  Result<Ended> taken = Ended::orderly;
  while (taken && *taken == Ended::orderly) {
    const auto line = lines.next();
    if (!line) break;
    auto event = read_event(*line);
    const bool bookmark = event && event->type == EventType::bookmark;
    taken = event ? take(std::move(*event)) : fail(std::move(event.error()));
    changed |= taken && *taken == Ended::orderly && !bookmark;
  }
  if (changed && changed_) changed_();
  return taken;
}

// Ended::orderly: go on.
Result<Reflector::Ended> Reflector::take(WatchEvent event) {
  if (event.type == EventType::error) {
    if (event.error.code == 410) return Ended::expired;
    return fail(std::move(event.error));
  }
  if (!event.object.resource_version.empty()) resource_version_ = event.object.resource_version;
  progressed_ = true;
  if (event.type == EventType::bookmark) return Ended::orderly;
  const std::unique_lock lock(mutex_);
  Key key(event.object.ns, event.object.name);
  if (event.type == EventType::removed)
    objects_.erase(key);
  else
    objects_.insert_or_assign(std::move(key), std::make_shared<const CachedObject>(std::move(event.object)));
  count_->set(static_cast<double>(objects_.size()));
  return Ended::orderly;
}

void Reflector::worked() {
  heard_.store(clock_.steady_now(), std::memory_order_relaxed);
  fresh_->set(1);
  bool again = false;
  {
    const std::unique_lock lock(mutex_);
    again = failing_since_.has_value();
    failing_since_.reset();
  }
  if (again) log::info("the cache follows the API server again", {{"cache", options_.name}});
}

void Reflector::failed(const Status& why) {
  failures_->add();
  fresh_->set(0);
  bool news = false;
  {
    const std::unique_lock lock(mutex_);
    news = last_failure_ != why.message || !failing_since_;
    if (!failing_since_) failing_since_ = clock_.steady_now();
    last_failure_ = why.message;
  }
  if (news)
    log::warning("the cache cannot follow the API server; cached objects stay in use",
                 {{"cache", options_.name}, {"reason", why.message}});
  if (trouble_) trouble_();
}

std::optional<std::string> Reflector::problem() const {
  const std::shared_lock lock(mutex_);
  if (!synced()) return last_failure_.empty() ? "not listed yet" : fmt::format("not listed yet: {}", last_failure_);
  if (!failing_since_ || clock_.steady_now() - *failing_since_ < options_.times.stale_after) return std::nullopt;
  return "the cache is stale, the API server cannot be followed";
}

Reflector::ObjectPtr Reflector::find(std::string_view ns, std::string_view name) const {
  const std::shared_lock lock(mutex_);
  const auto found = objects_.find(Key(ns, name));
  return found == objects_.end() ? nullptr : found->second;
}

std::vector<Reflector::ObjectPtr> Reflector::list(std::string_view ns) const {
  std::vector<ObjectPtr> found;
  const std::shared_lock lock(mutex_);
  for (auto at = ns.empty() ? objects_.begin() : objects_.lower_bound(Key(ns, "")); at != objects_.end(); ++at) {
    if (!ns.empty() && at->first.first != ns) break;
    found.push_back(at->second);
  }
  return found;
}

}  // namespace vg::kube
