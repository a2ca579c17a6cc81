#include "offline/check.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "base/offline_limits.h"
#include "offline/catalogue.h"

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
};

// An object whose rules asked about others, of which more may come.
struct Open {
  Order order;
  std::map<std::string, std::size_t> asked;
};

class Run {
 public:
  Run(const Sources& sources, KnownObjects& known, const World& world, const CheckOptions& options)
      : sources_(sources), known_(known), world_(world), options_(options) {}

  Outcome run() {
    work([this](const Put& put) { read_all(put); });
    if (!open_.empty()) work([this](const Put& put) { read_open(put); });
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
        put({.source = i, .document = ++documents_, .piece = std::move(**piece)});
      }
    }
  }

  void do_job(const Job& job) {
    const PieceOfFile text{.file = sources_[job.source]->name(), .piece = job.piece, .document = job.document};
    Examination how{.world = world_, .options = options_};
    if (job.again.empty())
      how.learns = &known_;
    else
      how.wanted = [&](Order order) { return std::ranges::find(job.again, order) != job.again.end(); };
    const std::size_t objects = examine(text, how, [&](Order order, ObjectReport report) {
      if (job.again.empty() && !report.asked.empty()) leave_open(job, order, report);
      keep(order, std::move(report));
    });
    if (!job.again.empty()) return;
    const std::lock_guard lock(mutex_);
    outcome_.objects += objects;
    ++outcome_.documents;
  }

  void leave_open(const Job& job, Order order, ObjectReport& report) {
    const std::lock_guard lock(mutex_);
    open_.push_back({.order = order, .asked = std::move(report.asked)});
    locations_.try_emplace(job.document, Location{.source = job.source,
                                                  .offset = job.piece.offset,
                                                  .bytes = job.piece.text.size(),
                                                  .line = job.piece.line,
                                                  .column = job.piece.column});
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
    std::map<std::size_t, std::vector<Order>> again;
    for (const Open& open : open_)
      if (std::ranges::any_of(open.asked, [&](const auto& asked) { return known_.count(asked.first) != asked.second; }))
        again[open.order.document].push_back(open.order);
    for (auto& [document, orders] : again) {
      const Location& at = locations_.at(document);
      auto text = sources_[at.source]->read(at.offset, at.bytes);
      if (!text) {
        outcome_.unreadable.push_back(text.error().message);
        continue;
      }
      put({.source = at.source,
           .document = document,
           .piece = {.offset = at.offset, .line = at.line, .column = at.column, .text = std::move(*text)},
           .again = std::move(orders)});
    }
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
  std::map<std::size_t, Location> locations_;
  std::set<std::string> namespaces_;  // about which something was told
};

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
      learn({.file = source->name(), .piece = **piece, .document = (SIZE_MAX / 2'000'000) + ++document}, options,
            known);
    }
  }
}

Outcome check(const Sources& sources, KnownObjects& known, const World& world, const CheckOptions& options) {
  return Run(sources, known, world, options).run();
}

}  // namespace vg::offline
