// A rule is one function and one row. The order of rows is the order of causes; `virtgate rules` prints the rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "admission/context.h"
#include "admission/review.h"
#include "api/canonical_place.h"
#include "base/status.h"

namespace vg::admission {

using api::Place;

// What rules found. A rule either adds causes, or ends the matter.
class Causes {
 public:
  // Cold, as all that is on the way to a refusal: most reviews are let through, and should not walk around it.
  [[gnu::cold]] void invalid(std::string_view field, std::string message);
  [[gnu::cold]] void required(std::string_view field, std::string message);
  [[gnu::cold]] void not_found(std::string_view field, std::string message);
  [[gnu::cold]] void duplicate(std::string_view field, std::string message);
  [[gnu::cold]] void forbidden(std::string_view field, std::string message);
  [[gnu::cold]] void not_supported(std::string_view field, std::string message);
  [[gnu::cold]] void unexpected(std::string_view field, std::string message);
  // A place is printed only here, when a rule fired.
  [[gnu::cold]] void invalid(const Place& field, std::string message);
  [[gnu::cold]] void required(const Place& field, std::string message);
  [[gnu::cold]] void not_found(const Place& field, std::string message);
  [[gnu::cold]] void duplicate(const Place& field, std::string message);
  [[gnu::cold]] void forbidden(const Place& field, std::string message);
  [[gnu::cold]] void not_supported(const Place& field, std::string message);
  [[gnu::cold]] void add(std::string_view reason, std::string_view field, std::string message);

  void warn(std::string message) { warnings_.push_back(std::move(message)); }

  // Which rule is asked from now on: what it finds carries its id.
  void asked_by(std::string_view rule_id) { rule_ = rule_id; }

  // Ends the matter, whatever causes there are: no further rule is asked.
  void refuse(Status status) { end(Verdict::refuse(std::move(status))); }
  // The same, once something was done elsewhere.
  void refuse(Status status, SideEffect effect) {
    Verdict verdict = Verdict::refuse(std::move(status));
    verdict.effects.push_back(std::move(effect));
    end(std::move(verdict));
  }
  void error(std::string message) { end(Verdict::error(std::move(message))); }
  void allow() { end(Verdict::allow()); }

  bool empty() const { return causes_.empty(); }
  std::size_t size() const { return causes_.size(); }
  bool ended() const { return end_.has_value(); }
  // What it comes to; leaves nothing behind.
  Verdict verdict();

 private:
  static std::string print(const Place& place) { return api::print_place(place, api::PlaceStyle::brackets); }
  void end(Verdict verdict) {
    verdict.rule = rule_;
    if (!end_) end_ = std::move(verdict);
  }

  std::string_view rule_;  // that is asked now
  std::vector<StatusCause> causes_;
  std::vector<std::string> warnings_;
  std::optional<Verdict> end_;
};

enum class When : std::uint8_t { always, create, update };

// What is told of a rule to people.
struct RuleInfo {
  std::string_view id;     // as in the specification
  std::string_view holds;  // what must hold, as a sentence
  std::string_view field;  // where a cause points; empty for none, or when it depends
  std::optional<config::Gate> gate = {};
};

struct Rule {
  std::string_view id;     // as in the specification
  std::string_view holds;  // what must hold, as a sentence
  std::string_view field;  // where a cause points; empty for none, or when it depends
  void (*check)(const Case&, Causes&);
  When when = When::always;
  std::optional<config::Gate> gate = {};  // that the rule is about
  bool last = false;                      // with a cause so far, later rows are not asked
  // A row that stands for the rules of a machine: adds those.
  void (*behind)(std::vector<RuleInfo>&) = nullptr;

  // For rows that say more than the four they must: Rule{...}.on(When::create).stops().
  constexpr Rule on(When operation) const {
    Rule changed = *this;
    changed.when = operation;
    return changed;
  }
  constexpr Rule of_gate(config::Gate which) const {
    Rule changed = *this;
    changed.gate = which;
    return changed;
  }
  constexpr Rule stops() const {
    Rule changed = *this;
    changed.last = true;
    return changed;
  }
  constexpr Rule stands_for(void (*list)(std::vector<RuleInfo>&)) const {
    Rule changed = *this;
    changed.behind = list;
    return changed;
  }
};

// Asks one rule; `R` is a row that has an id and a check of such a subject.
template <class R, class Subject>
void ask(const R& rule, const Subject& subject, Causes& causes) {
  causes.asked_by(rule.id);
  rule.check(subject, causes);
}

// The row itself, or the rows that it stands for.
std::vector<RuleInfo> rules_behind(const Rule& rule);

// Asks the rows in order.
void ask_rules(std::span<const Rule> rules, const Case& judged, Causes& causes);

}  // namespace vg::admission
