// For tests of whoever asks rules: look-ups that have to be fetched first.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/lookup_session.h"

namespace vg::admission::testing {

// A session that has every answer only after it was fetched.
class HesitantSession final : public LookupSession, private Lookups {
 public:
  enum class Fetches { everything, one_at_a_time };

  HesitantSession(const Lookups& known, Fetches fetches) : known_(known), fetches_(fetches) {}

  int rounds = 0;                          // of fetching
  std::function<void()> on_fetch = [] {};  // called in each of them

  const Lookups& lookups() const override { return *this; }
  Task<void> fetch(Core&) override {
    fetch_now();
    co_return;
  }
  void fetch_now() {
    ++rounds;
    on_fetch();
    if (fetches_ == Fetches::one_at_a_time && !missing_.empty())
      fetched_.insert(*missing_.begin());
    else
      fetched_.merge(missing_);
    missing_.clear();
  }

 private:
  Result<json::Value*> get(std::string_view resource, std::string_view ns, std::string_view name,
                           const json::StoragePtr& storage) const override {
    if (!is_there(fmt::format("{} {} {}", resource, ns, name))) return fail(not_yet());
    return known_.get(resource, ns, name, storage);
  }
  Result<std::vector<json::Value*>> list(std::string_view resource, std::string_view ns,
                                         const json::StoragePtr& storage) const override {
    if (!is_there(fmt::format("{} {}", resource, ns))) return fail(not_yet());
    return known_.list(resource, ns, storage);
  }
  Result<std::vector<json::Value*>> list_labelled(std::string_view resource, std::string_view ns,
                                                  std::string_view label, std::string_view value,
                                                  const json::StoragePtr& storage) const override {
    if (!is_there(fmt::format("{} {} {}={}", resource, ns, label, value))) return fail(not_yet());
    return known_.list_labelled(resource, ns, label, value, storage);
  }
  bool missed() const override { return !missing_.empty(); }

  static Status not_yet() { return Status::unavailable("not fetched yet"); }
  bool is_there(std::string question) const {
    if (fetched_.contains(question)) return true;
    missing_.insert(std::move(question));
    return false;
  }

  const Lookups& known_;
  const Fetches fetches_;
  std::set<std::string> fetched_;
  mutable std::set<std::string> missing_;
};

}  // namespace vg::admission::testing
