// When a look-up fails, is that an answer? That a name cannot exist is one. That nobody could be asked is none: the
// failure is ours, the store's or the API server's, and the next try may go well.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/context.h"
#include "base/request_record.h"
#include "base/status.h"

namespace vg::admission {

// Another try may tell.
constexpr bool may_pass(int code) { return code >= 500 || code == 429 || code == 408; }
// 401 and 403 are about our own account: they stay until an operator does something.
constexpr bool leaves_unknown(int code) { return may_pass(code) || code == 401 || code == 403; }

// Passes look-ups on and remembers the first that left its answer unknown. Rules and defaults may read a failure as
// "there is none"; what was decided so must not let anything through.
class WatchedLookups final : public Lookups {
 public:
  explicit WatchedLookups(const Lookups& lookups) : lookups_(lookups) {}

  Result<json::Value*> get(std::string_view resource, std::string_view ns, std::string_view name,
                           const json::StoragePtr& storage) const override {
    auto found = watched(resource, lookups_.get(resource, ns, name, storage));
    if (seen_) [[unlikely]]
      tell(resource, ns, name, !found ? std::string_view("unknown") : *found ? "found" : "not found");
    return found;
  }
  Result<std::vector<json::Value*>> list(std::string_view resource, std::string_view ns,
                                         const json::StoragePtr& storage) const override {
    auto found = watched(resource, lookups_.list(resource, ns, storage));
    if (seen_) [[unlikely]]
      tell(resource, ns, "*", found ? "listed" : "unknown");
    return found;
  }
  Result<std::vector<json::Value*>> list_labelled(std::string_view resource, std::string_view ns,
                                                  std::string_view label, std::string_view value,
                                                  const json::StoragePtr& storage) const override {
    auto found = watched(resource, lookups_.list_labelled(resource, ns, label, value, storage));
    if (seen_) [[unlikely]]
      tell(resource, ns, "*", found ? "listed" : "unknown");
    return found;
  }
  bool missed() const override { return lookups_.missed(); }
  std::chrono::milliseconds age(std::string_view resource) const override { return lookups_.age(resource); }

  // From here on what is looked up is written down there, each once.
  void tell_in(std::vector<record::Seen>* seen) { seen_ = seen; }

  // What was unknown before may be known now.
  void begin_again() { failure_.reset(); }

  // The verdict as it is when every look-up had an answer. Otherwise nothing is let through: what a moment can mend is
  // told in place of every verdict, since a refusal may come of what was not found; but evictions have an answer of
  // their own that asks for another try (rules/eviction.cpp).
  Verdict settle(Verdict verdict, const Webhook& webhook) {
    if (failure_) [[unlikely]]
      return settle_unknown(std::move(verdict), webhook);
    return verdict;
  }

 private:
  template <class T>
  Result<T> watched(std::string_view resource, Result<T> found) const {
    if (!found && !failure_ && leaves_unknown(found.error().code)) note(resource, found.error());
    return found;
  }
  [[gnu::cold]] void tell(std::string_view resource, std::string_view ns, std::string_view name,
                          std::string_view state) const;
  [[gnu::cold]] void note(std::string_view resource, const Status& why) const;
  [[gnu::cold]] Verdict settle_unknown(Verdict verdict, const Webhook& webhook);

  const Lookups& lookups_;
  std::vector<record::Seen>* seen_ = nullptr;
  mutable std::optional<Status> failure_;
  mutable bool may_pass_ = true;
};

}  // namespace vg::admission
