// Plugins (spec work-objects 3.4).
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "admission/rule.h"
#include "api/canonical_words.h"
#include "api/view.h"
#include "base/joined.h"
#include "base/phrases.h"
#include "cel/compile.h"
#include "json/access.h"

namespace vg::admission {
namespace {

using std::string_view;

// The shortest path of the same meaning, by its text alone: as Go's path.Clean.
std::string clean_path(string_view path) {
  const bool rooted = path.starts_with('/');
  std::vector<string_view> kept;
  while (!path.empty()) {
    const auto slash = path.find('/');
    const string_view part = path.substr(0, slash);
    path = slash == path.npos ? string_view() : path.substr(slash + 1);
    if (part.empty() || part == ".") continue;
    if (part != "..")
      kept.push_back(part);
    else if (!kept.empty() && kept.back() != "..")
      kept.pop_back();
    else if (!rooted)
      kept.push_back(part);
  }
  const std::string cleaned = (rooted ? "/" : "") + joined(kept, "/");
  return cleaned.empty() ? "." : cleaned;
}

using Found = std::vector<StatusCause>;

void add(Found& found, string_view rule, std::string field, std::string message) {
  found.push_back(
      {.reason = "FieldValueInvalid", .message = std::move(message), .field = std::move(field), .rule = rule});
}

string_view text_of(const api::View& object, string_view member) {
  return api::Read<string_view>::or_zero(object.get(member));
}

class Plugin {
 public:
  explicit Plugin(const json::Value& object)
      : spec_(json::find(object, "spec")),
        domain_hooks_(spec_.get("domainHooks")),
        node_hooks_(spec_.get("nodeHooks")) {}

  Found problems() {
    Found found;
    check(found, "PL05", "spec.condition", text_of(spec_, "condition"), cel::domain_dialect(), cel::Purpose::condition);
    for (std::size_t i = 0; i < domain_hooks_.size(); ++i) check_domain_hook(found, i);
    for (std::size_t i = 0; i < node_hooks_.size(); ++i)
      check(found, "PL09", fmt::format("spec.nodeHooks[{}].condition", i), text_of(node_hooks_[i], "condition"),
            cel::node_dialect(), cel::Purpose::condition);
    for (std::size_t i = 0; i < domain_hooks_.size(); ++i) check_socket_path(found, i);
    return found;
  }

 private:
  void check(Found& found, string_view rule, std::string field, string_view expression, const cel::Dialect& dialect,
             cel::Purpose purpose) {
    if (expression.empty()) return;
    if (auto problem = compiler_.problem_with(expression, dialect, purpose))
      add(found, rule, std::move(field), std::move(*problem));
  }

  void check_domain_hook(Found& found, std::size_t i) {
    const api::View hook = domain_hooks_[i];
    check(found, "PL06", fmt::format("spec.domainHooks[{}].cel.expression", i),
          text_of(api::View(hook.get("cel")), "expression"), cel::domain_dialect(), cel::Purpose::mutation);
    check(found, "PL07", fmt::format("spec.domainHooks[{}].condition", i), text_of(hook, "condition"),
          cel::domain_dialect(), cel::Purpose::condition);
  }

  void check_socket_path(Found& found, std::size_t i) const {
    const api::View sidecar(domain_hooks_[i].get("sidecar"));
    if (!sidecar) return;
    const string_view path = text_of(sidecar, "socketPath");
    if (const std::string clean = clean_path(path); clean != path)
      add(found, "PL10", fmt::format("spec.domainHooks[{}].sidecar.socketPath", i),
          fmt::format("{1}: must be a clean path: {0}", clean, api::in_words(path)));
  }

  api::View spec_;
  api::List<api::View> domain_hooks_, node_hooks_;
  cel::Compiler compiler_;
};

// Unlike every other webhook, this one tells all causes, one message and no code; clients see a 400. So the rules are
// asked together, in their order.
void plugin_is_sound(const Case& judged, Causes& causes) {
  Found found = Plugin(*judged.object).problems();
  if (found.empty()) return;
  for (StatusCause& cause : found) cause.message = phrases::cause_message(cause.reason, cause.message);
  Status status{.code = 0,
                .reason = "Invalid",
                .message = phrases::with_field(found.front().field, found.front().message),
                .details = {}};
  status.details.causes = std::move(found);
  causes.refuse(std::move(status));
}

void list_plugin_rules(std::vector<RuleInfo>& rules) {
  constexpr RuleInfo rows[] = {
      {"PL05", "the condition of a plugin must be a CEL expression of type bool", "spec.condition"},
      {"PL06", "the expression of a domain hook must have type Domain", "spec.domainHooks[].cel.expression"},
      {"PL07", "the condition of a domain hook must have type bool", "spec.domainHooks[].condition"},
      {"PL09", "the condition of a node hook must have type bool", "spec.nodeHooks[].condition"},
      {"PL10", "socket paths must be clean", "spec.domainHooks[].sidecar.socketPath"},
  };
  rules.insert(rules.end(), std::begin(rows), std::end(rows));
}

constexpr Rule plugin_rule_table[] = {
    Rule{"PL05", "the spec of a plugin must be valid", "spec", plugin_is_sound}.stands_for(list_plugin_rules),
};

}  // namespace

std::span<const Rule> plugin_rules() { return plugin_rule_table; }

}  // namespace vg::admission
