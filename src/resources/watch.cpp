#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <coroutine>
#include <memory>
#include <optional>
#include <utility>

#include "base/limits.h"
#include "base/random.h"
#include "base/release.h"
#include "http/core.h"
#include "json/value.h"
#include "objects/draft.h"
#include "objects/object_meta.h"
#include "objects/turn.h"
#include "objects/wakeup.h"
#include "resources/output.h"
#include "resources/output_protobuf.h"
#include "resources/read.h"
#include "resources/selection.h"

namespace vg::resources {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Events go out together until there is so much of them: one write, one TLS record or a few.
constexpr std::size_t write_bytes = 64 * limits::kib;
constexpr std::size_t batch_changes = 512;
// A bookmark at the end of a watch saves its client a list; one so soon after another would say nothing new.
constexpr seconds bookmark_spacing{2};

// Telling one watch something costs a record and a call of the kernel, however little it is. So all watches together
// are told about 40,000 times a second at most: where there are many, each waits a little after it was told something,
// and gets more at once. Below 40 watches nobody waits.
constexpr std::chrono::microseconds spacing_each{25};

milliseconds spacing(std::size_t watches) {
  return std::min(std::chrono::floor<milliseconds>(spacing_each * watches), limits::watch_spacing_max);
}

// Signals at every bookmark and at the end.
Task<void> tick(Core& core, std::shared_ptr<Wakeup> wakeup, seconds every, seconds total) {
  seconds passed{0};
  while (passed < total) {
    const seconds step = std::min(every, total - passed);
    co_await core.sleep(step);
    passed += step;
    wakeup->signal();
  }
}

class Watches {
 public:
  explicit Watches(ApiBackend& backend) : backend_(backend), entered_(++backend.watches <= limits::watches_max) {}
  ~Watches() { --backend_.watches; }
  Watches(const Watches&) = delete;
  Watches& operator=(const Watches&) = delete;
  bool entered() const { return entered_; }

 private:
  ApiBackend& backend_;
  bool entered_;
};

class Stream {
 public:
  Stream(ApiRequest& context, const Selection& selection, Turn& turn)
      : context_(context), selection_(selection), turn_(turn) {}

  void event(std::string_view type, const ObjectPtr& object, Revision revision) {
    put(type,
        [&](std::string& out) { append_answer(out, context_, object, revision, !std::exchange(columns_sent_, true)); });
  }
  // The same for one that may be large.
  Task<void> large_event(std::string_view type, const ObjectPtr& object, Revision revision) {
    return make_off_loop(context_, turn_, [this, type, object, revision] { event(type, object, revision); });
  }

  // What a change means to somebody who only sees what the selection takes.
  struct Seen {
    std::string_view type;
    const ObjectPtr* object = nullptr;  // null: nothing
  };
  Seen seen(const Change& change) const {
    const bool after = change.type != ChangeType::removed && takes(*change.object);
    const bool before = change.previous && takes(*change.previous);
    if (after) return {before ? "MODIFIED" : "ADDED", &change.object};
    if (before) return {"DELETED", &change.previous};
    return {};
  }

  void bookmark(Revision revision, bool initial_events_end) {
    if (context_.answer.form == Form::table) return table_bookmark(revision, initial_events_end);
    const bool partial = context_.answer.form == Form::partial;
    const std::string json =
        fmt::format(FMT_COMPILE(R"({{"kind":"{}","apiVersion":"{}","metadata":{{"resourceVersion":"{}"{}}}}})"),
                    partial ? std::string_view("PartialObjectMetadata") : context_.resource.kind->kind,
                    partial ? std::string_view("meta.k8s.io/v1") : context_.api_version, revision,
                    initial_events_end ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : "");
    put("BOOKMARK", [&](std::string& out) {
      if (context_.answer.protobuf)
        append_as_protobuf(out, json, answer_type(context_));
      else
        out.append(json);
    });
  }

  void error(const Status& status) {
    put("ERROR", [&](std::string& out) { out.append(status_body(context_, to_json(status))); });
  }

  bool takes(const StoredObject& object) const { return selection_.everything() || selection_.matches(object); }

  bool takes_long(const StoredObject& object) const { return resources::takes_long(context_, object); }

  bool full() const { return out_.size() >= write_bytes; }
  Task<bool> flush() {
    if (out_.empty()) co_return true;
    const bool there = co_await context_.call.write(out_);
    clear_keeping(out_, 2 * write_bytes);  // a watch lives long, and one large object is no reason to keep its room
    co_return there;
  }

 private:
  // A client that reads tables reads nothing else: one row of an object that has no name.
  void table_bookmark(Revision revision, bool initial_events_end) {
    json::Object object;
    if (initial_events_end) metadata_of(object)["annotations"] = json::Object{{"k8s.io/initial-events-end", "true"}};
    const ObjectDraft draft = make_draft(std::as_const(object), context_.resource);
    event("BOOKMARK", unstored_object({context_.resource.key, "", ""}, draft, revision), revision);
  }

  // `append` writes the event's object in the form of the answer.
  template <class Append>
  void put(std::string_view type, Append append) {
    if (context_.answer.protobuf) {
      std::string object;
      append(object);
      append_watch_frame(out_, type, object);
      return;
    }
    fmt::format_to(std::back_inserter(out_), FMT_COMPILE(R"({{"type":"{}","object":)"), type);
    append(out_);
    out_.append("}\n");
  }

  ApiRequest& context_;
  const Selection& selection_;
  Turn& turn_;
  std::string out_;
  bool columns_sent_ = false;
};

std::string_view stream_type(const Answer& answer) {
  return answer.protobuf ? "application/vnd.kubernetes.protobuf;stream=watch" : "application/json";
}

seconds lifetime(const ListOptions& options) {
  if (options.timeout) return *options.timeout;
  // Spread, so that clients which began together do not all come back together.
  const auto spread = static_cast<std::uint64_t>((limits::watch_timeout_max - limits::watch_timeout_default).count());
  return limits::watch_timeout_default + seconds(random_u64() % (spread + 1));
}

bool begins_with_list(const ListOptions& options) {
  return options.send_initial_events.value_or(options.revision == 0);
}

struct Begin {
  ObjectList initial;  // everything; what is wanted of it is found out on the way
  Revision from = 0;
};

Result<Begin> begin(const ApiRequest& context, const ListOptions& options) {
  const ObjectStore& store = context.backend.store;
  if (const Revision newest = store.revision(); options.revision > newest)
    return fail(version_too_large(options.revision, newest));
  if (!begins_with_list(options)) {
    Begin result;
    result.from = options.revision != 0 ? options.revision : store.revision();
    return result;
  }
  auto page = store.list({.resource = context.resource.key, .ns = context.key_ns()});
  if (!page) return fail(std::move(page.error()));
  return Begin{.initial = std::move(page->objects), .from = page->revision};
}

// Everything that changed and was not told yet. Nothing when the watch is over.
Task<std::optional<Revision>> drain(Watch& watch, Stream& stream, Turn& turn) {
  while (true) {
    auto batch = watch.next(batch_changes);
    if (!batch) {
      stream.error(batch.error());
      co_await stream.flush();
      co_return std::nullopt;
    }
    for (auto& kept : batch->changes) {
      bool over = false;
      {
        // Gone before the client is waited for: it may be slow, and the object large.
        const Change change = std::move(kept);
        const Stream::Seen seen = stream.seen(change);
        if (seen.object && stream.takes_long(**seen.object))
          co_await stream.large_event(seen.type, *seen.object, change.revision);
        else if (seen.object)
          stream.event(seen.type, *seen.object, change.revision);
        over = turn.over(*change.object);
      }
      if (stream.full() && !co_await stream.flush()) co_return std::nullopt;
      if (over) co_await turn.pass();
    }
    if (!co_await stream.flush()) co_return std::nullopt;
    if (!batch->more) co_return batch->progress;
  }
}

Task<bool> send_initial(Stream& stream, const Begin& begin, const ListOptions& options, std::string_view name,
                        Turn& turn) {
  for (std::size_t i = 0; i < begin.initial.size(); ++i) {
    if (stream.full() && !co_await stream.flush()) co_return false;  // while the client lets it wait, no object is open
    const ObjectPtr object = begin.initial[i];
    if ((name.empty() || object->name() == name) && stream.takes(*object)) {
      if (stream.takes_long(*object))
        co_await stream.large_event("ADDED", object, object->revision());
      else
        stream.event("ADDED", object, object->revision());
    }
    if (turn.over(*object)) co_await turn.pass();
  }
  if (options.send_initial_events.value_or(false) && options.bookmarks) stream.bookmark(begin.from, true);
  co_return co_await stream.flush();
}

}  // namespace

Task<void> serve_watch(ApiRequest& context) {
  const auto options = read_list_options(context.query, true);
  if (!options) co_return respond_status(context, options.error());
  const auto selection = Selection::make(context.shown, options->labels, options->fields);
  if (!selection) co_return respond_status(context, selection.error());
  const Watches counted(context.api_backend);
  if (!counted.entered())
    co_return respond_status(context,
                             Status::too_many_requests("too many watches are open; close some, or try again later", 5));
  const auto held = context.call.hold(server::Hold::watch);
  if (!held) co_return respond_status(context, held.error());
  // From the selector, or from the path of a deprecated /watch/ request.
  const std::string name = context.info.name;
  auto start = begin(context, *options);
  if (!start) co_return respond_status(context, start.error());

  Core& core = context.call.core();
  const auto wakeup = std::make_shared<Wakeup>(core);
  auto watch = context.backend.store.watch({.resource = context.resource.key,
                                            .ns = std::string(context.key_ns()),
                                            .name = name,
                                            .from_revision = start->from},
                                           [wakeup] { wakeup->signal(); });
  if (!watch && watch.error().code != 410) co_return respond_status(context, watch.error());

  http::Response head{.status = 200, .content_type = stream_type(context.answer), .headers = {}, .body = {}};
  add_warnings(head, context);
  if (!co_await context.call.begin_stream(std::move(head))) co_return;
  Turn turn = context.turn();
  Stream stream(context, *selection, turn);
  if (!watch) {  // told inside the stream, where clients that resume look for it
    stream.error(watch.error());
    co_await stream.flush();
    co_return;
  }
  if (!co_await send_initial(stream, *start, *options, name, turn)) co_return;
  start->initial = {};
  context.call.leave_seat();

  const Clock& clock = context.backend.clock;
  const seconds total = lifetime(*options);
  const seconds interval = options->bookmarks ? limits::watch_bookmark_interval : total;
  const auto end = clock.steady_now() + total;
  auto marked = clock.steady_now();
  const Background ticker(tick(core, wakeup, interval, total));
  context.call.on_cancel([wakeup] { wakeup->signal(); });
  Revision progress = start->from;
  while (true) {
    // All watches that a change is news for wake up at once.
    co_await turn.pass();
    const auto drained = co_await drain(**watch, stream, turn);
    if (!drained) co_return;
    progress = *drained;
    const auto now = clock.steady_now();
    const bool over = now >= end || context.call.cancelled();
    // The ticks that wake us come a little early or late.
    const bool due = now - marked >= (over ? bookmark_spacing : interval - seconds(1));
    if (options->bookmarks && due) {
      marked = now;
      stream.bookmark(progress, false);
      if (!co_await stream.flush()) co_return;
    }
    if (over) co_return;
    co_await wakeup->wait();
    const auto next = now + spacing(context.api_backend.watches);
    if (const auto early = next - clock.steady_now(); early > milliseconds(0) && !context.call.cancelled())
      co_await core.sleep(std::chrono::ceil<milliseconds>(early));
  }
}

}  // namespace vg::resources
