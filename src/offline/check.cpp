#include "offline/check.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "base/offline_limits.h"
#include "offline/catalogue.h"
#include "offline/list_items.h"

namespace vg::offline {
namespace {

struct Job {
  std::size_t source = 0;
  std::size_t document = 0;
  Piece piece;
  std::vector<Order> again = {};  // only these objects; empty: all
};

// From one thread that reads to some that judge.
class Jobs {
 public:
  void put(Job job) {
    std::unique_lock lock(mutex_);
    taken_.wait(lock, [this] { return bytes_ < limits::waiting_documents_bytes_max; });
    bytes_ += job.piece.text.size();
    jobs_.push_back(std::move(job));
    added_.notify_one();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    added_.notify_all();
  }
  bool take(Job& job) {
    std::unique_lock lock(mutex_);
    added_.wait(lock, [this] { return ended_ || !jobs_.empty(); });
    if (jobs_.empty()) return false;
    job = std::move(jobs_.front());
    jobs_.pop_front();
    bytes_ -= job.piece.text.size();
    taken_.notify_one();
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable added_, taken_;
  std::deque<Job> jobs_;
  std::size_t bytes_ = 0;
  bool ended_ = false;
};

// Where a document stands, to be read once more.
struct Location {
  std::size_t source;
  std::uint64_t offset;
  std::size_t bytes, line, column;
  std::shared_ptr<const std::string> comments;
};

// An object whose rules asked about others, of which more may come.
struct Open {
  Order order;
  Order piece;  // that it stands in
  std::map<std::string, std::size_t> asked;
};

class Run {
 public:
  Run(const Sources& sources, KnownObjects& known, const World& world, const CheckOptions& options)
      : sources_(sources), known_(known), world_(world), options_(options) {}

  Outcome run() {
    work([this](const Put& put) { read_all(put); });
    if (!undivided_.empty()) work([this](const Put& put) { read_undivided(put); });
    if (!open_.empty()) work([this](const Put& put) { read_open(put); });
    // Those that exist beside the files have orders behind all of theirs.
    if (const auto late = known_.displaced();
        !late.empty() && *late.begin() < Order{.document = documents_ + 1}.number())
      work([&](const Put& put) { read_displaced(late, put); });
    return finish();
  }

 private:
  std::size_t threads() const {
    const std::size_t wanted = options_.threads ? options_.threads : std::thread::hardware_concurrency();
    return std::clamp<std::size_t>(wanted, 1, limits::check_threads_max);
  }

  using Put = std::function<void(Job)>;

  // Lets `fill` hand out jobs, and returns when all are done.
  template <class Fill>
  void work(Fill fill) {
    if (threads() == 1) return fill([this](const Job& job) { do_job(job); });
    Jobs jobs;
    std::vector<std::jthread> threads_now;
    for (std::size_t i = 0; i < threads(); ++i)
      threads_now.emplace_back([&] {
        for (Job job; jobs.take(job);) do_job(job);
      });
    fill([&](Job job) { jobs.put(std::move(job)); });
    jobs.end();
  }

  void read_all(const Put& put) {
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      PieceReader reader(*sources_[i]);
      ++outcome_.files;
      while (true) {
        auto piece = reader.next();
        if (!piece) {
          outcome_.unreadable.push_back(piece.error().message);
          break;
        }
        if (!*piece) break;
        put_document({.source = i, .document = ++documents_, .piece = std::move(**piece)}, put);
      }
    }
  }

  // A list goes item by item: its values together would take many times the memory of its text.
  void put_document(Job job, const Put& put) {
    auto items = ListItems::of(job.piece);
    if (!items) return put(std::move(job));
    {
      const std::lock_guard lock(mutex_);
      ++outcome_.documents;
      note_location(job);
    }
    while (auto item = items->next()) put({.source = job.source, .document = job.document, .piece = std::move(*item)});
  }

  // Of lists that turned out not to be divisible nothing is kept, and they are read as a whole.
  void read_undivided(const Put& put) {
    for (const std::size_t document : std::exchange(undivided_, {})) {
      forget(document);
      put_again({.document = document, .item = 0, .object = false}, {}, put);
    }
  }

  void forget(std::size_t document) {
    const std::lock_guard lock(mutex_);
    for (const auto& [order, report] : reports_)
      if (order.document == document) kept_ -= report.findings.size();
    std::erase_if(reports_, [&](const auto& entry) { return entry.first.document == document; });
    std::erase_if(open_, [&](const Open& open) { return open.order.document == document; });
    outcome_.objects -= std::exchange(items_judged_[document], 0);
    --outcome_.documents;
  }

  void do_job(const Job& job) {
    const PieceOfFile text{.file = sources_[job.source]->name(), .piece = job.piece, .document = job.document};
    Examination how{.world = world_, .options = options_};
    if (job.again.empty())
      how.learns = &known_;
    else
      how.wanted = [&](Order order) { return std::ranges::find(job.again, order) != job.again.end(); };
    const auto objects = examine(text, how, [&](Order order, ObjectReport report) {
      if (job.again.empty() && !report.asked.empty()) leave_open(job, order, report);
      keep(order, std::move(report));
    });
    if (!job.again.empty()) return;
    const std::lock_guard lock(mutex_);
    if (!objects) undivided_.insert(job.document);
    outcome_.objects += objects.value_or(0);
    if (job.piece.item > 0)
      items_judged_[job.document] += objects.value_or(0);
    else
      ++outcome_.documents;
  }

  static Order place_of(const Job& job) { return {.document = job.document, .item = job.piece.item, .object = false}; }

  void note_location(const Job& job) {
    locations_.try_emplace(place_of(job), Location{.source = job.source,
                                                   .offset = job.piece.offset,
                                                   .bytes = job.piece.text.size(),
                                                   .line = job.piece.line,
                                                   .column = job.piece.column,
                                                   .comments = job.piece.comments});
  }

  Location location_of(Order piece) {
    const std::lock_guard lock(mutex_);
    return locations_.at(piece);
  }

  void leave_open(const Job& job, Order order, ObjectReport& report) {
    const std::lock_guard lock(mutex_);
    open_.push_back({.order = order, .piece = place_of(job), .asked = std::move(report.asked)});
    note_location(job);
  }

  void keep(Order order, ObjectReport report) {
    const std::lock_guard lock(mutex_);
    reports_.erase(order);
    if (!report.failure.empty()) failures_.insert(std::move(report.failure));
    const bool tells = !report.findings.empty() || report.silenced > 0;
    if (!tells) return;
    if (kept_ >= limits::findings_max) {
      outcome_.left_out += report.findings.size();
      outcome_.refused_left_out = outcome_.refused_left_out || report.verdict.refused;
      return;
    }
    kept_ += report.findings.size();
    reports_.emplace(order, std::move(report));
  }

  // What was asked about, and changed since.
  void read_open(const Put& put) {
    std::map<Order, std::vector<Order>> again;
    for (const Open& open : open_)
      if (std::ranges::any_of(open.asked, [&](const auto& asked) { return known_.count(asked.first) != asked.second; }))
        again[open.piece].push_back(open.order);
    for (auto& [piece, orders] : again) put_again(piece, std::move(orders), put);
  }

  // Objects that were judged before another one of their name was read that stands before them. This is rare, so
  // nobody noted where they stand.
  void read_displaced(const std::set<std::size_t>& orders, const Put& put) {
    std::size_t document = 0;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      PieceReader reader(*sources_[i]);
      while (auto piece = reader.next()) {
        if (!*piece) break;
        std::vector<Order> again;
        const Order first{.document = ++document, .item = 0};
        for (auto at = orders.lower_bound(first.number()); at != orders.end(); ++at) {
          if (*at >= Order{.document = document + 1, .item = 0}.number()) break;
          again.push_back({.document = document, .item = *at - first.number()});
        }
        if (!again.empty())
          put({.source = i, .document = document, .piece = std::move(**piece), .again = std::move(again)});
      }
    }
  }

  void put_again(Order piece, std::vector<Order> orders, const Put& put) {
    const Location at = location_of(piece);
    auto text = sources_[at.source]->read(at.offset, at.bytes);
    if (!text) {
      outcome_.unreadable.push_back(text.error().message);
      return;
    }
    put({.source = at.source,
         .document = piece.document,
         .piece = {.offset = at.offset,
                   .line = at.line,
                   .column = at.column,
                   .text = std::move(*text),
                   .item = piece.item,
                   .comments = at.comments},
         .again = std::move(orders)});
  }

  // A namespace that nobody knows is told once, and not for each object in it.
  void drop_known_namespaces(ObjectReport& report) {
    std::erase_if(report.findings, [&](const Finding& finding) {
      return finding.id == ids::missing_object && finding.severity == Severity::warning &&
             finding.field == "metadata.namespace" && !namespaces_.insert(finding.message).second;
    });
  }

  Outcome finish() {
    outcome_.unreadable.insert(outcome_.unreadable.end(), failures_.begin(), failures_.end());
    for (auto& [order, report] : reports_) {
      outcome_.silenced += report.silenced;
      outcome_.left_out += report.left_out;
      if (!report.unknown_kind.empty()) ++outcome_.unknown_kinds[report.unknown_kind];
      drop_known_namespaces(report);
      if (report.findings.empty()) continue;
      std::ranges::move(report.findings, std::back_inserter(outcome_.findings));
      outcome_.verdicts.push_back(std::move(report.verdict));
    }
    return std::move(outcome_);
  }

  const Sources& sources_;
  KnownObjects& known_;
  const World& world_;
  const CheckOptions& options_;

  std::size_t documents_ = 0;  // of the reading thread
  std::mutex mutex_;
  Outcome outcome_;
  std::map<Order, ObjectReport> reports_;
  std::set<std::string> failures_;
  std::size_t kept_ = 0;
  std::vector<Open> open_;
  std::map<Order, Location> locations_;
  std::map<std::size_t, std::size_t> items_judged_;  // by document, of lists that went item by item
  std::set<std::size_t> undivided_;                  // documents of these that have to be read as a whole
  std::set<std::string> namespaces_;                 // about which something was told
};

}  // namespace

namespace {

// Item by item where that can be done.
void learn_document(const PieceOfFile& text, const CheckOptions& options, KnownObjects& known) {
  if (auto items = ListItems::of(text.piece)) {
    bool divided = true;
    while (auto item = items->next())
      divided = divided && learn({.file = text.file, .piece = *item, .document = text.document}, options, known);
    if (divided) return;
  }
  learn(text, options, known);
}

}  // namespace

void learn_all(const Sources& sources, const CheckOptions& options, KnownObjects& known,
               std::vector<std::string>& unreadable) {
  std::size_t document = 0;
  for (const auto& source : sources) {
    PieceReader reader(*source);
    while (true) {
      auto piece = reader.next();
      if (!piece) unreadable.push_back(piece.error().message);
      if (!piece || !*piece) break;
      // They come before everything that is checked, but are no repetition of it.
      learn_document({.file = source->name(), .piece = **piece, .document = (SIZE_MAX / 2'000'000) + ++document},
                     options, known);
    }
  }
}

Outcome check(const Sources& sources, KnownObjects& known, const World& world, const CheckOptions& options) {
  return Run(sources, known, world, options).run();
}

}  // namespace vg::offline
