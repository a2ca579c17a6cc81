#include "explain_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

#include "api_access.h"
#include "base/clock.h"
#include "base/offline_limits.h"
#include "command.h"
#include "http/core.h"
#include "json/access.h"
#include "kube/client.h"
#include "kube/credentials.h"
#include "kube/rate_limiter.h"
#include "story/narrate.h"
#include "story/verdict.h"

namespace vg::cmd {
namespace {

using std::string_view;
using story::Subject;

constexpr ResourceName vms{"kubevirt.io", "v1", "virtualmachines"};
constexpr ResourceName vmis{"kubevirt.io", "v1", "virtualmachineinstances"};
constexpr ResourceName migrations{"kubevirt.io", "v1", "virtualmachineinstancemigrations"};
constexpr ResourceName kubevirts{"kubevirt.io", "v1", "kubevirts"};
constexpr ResourceName claims{"", "v1", "persistentvolumeclaims"};
constexpr ResourceName data_volumes{"cdi.kubevirt.io", "v1beta1", "datavolumes"};
constexpr ResourceName nodes{"", "v1", "nodes"};
constexpr ResourceName events{"", "v1", "events"};

struct Word {
  string_view word;
  Subject subject;
};
constexpr Word words[] = {
    {"vm", Subject::vm},
    {"vms", Subject::vm},
    {"virtualmachine", Subject::vm},
    {"virtualmachines", Subject::vm},
    {"vmi", Subject::vmi},
    {"vmis", Subject::vmi},
    {"virtualmachineinstance", Subject::vmi},
    {"virtualmachineinstances", Subject::vmi},
    {"migration", Subject::migration},
    {"vmim", Subject::migration},
    {"vmims", Subject::migration},
    {"virtualmachineinstancemigration", Subject::migration},
    {"virtualmachineinstancemigrations", Subject::migration},
};

struct Reference {
  Subject subject;
  std::string name;
};

std::optional<Reference> read_reference(string_view text) {
  const std::size_t slash = text.find('/');
  const auto* word = std::ranges::find(words, text.substr(0, slash), &Word::word);
  if (slash == text.npos || word == std::end(words)) return std::nullopt;
  return Reference{word->subject, std::string(text.substr(slash + 1))};
}

// Gathers what the verdicts need, as the user who asks may read it.
class Gatherer {
 public:
  Gatherer(kube::ClusterAccess access, std::string ns) : ns_(std::move(ns)), credentials_(std::move(access), clock_) {}

  Task<Result<void>> gather(Core& core, Reference reference);
  const json::Value& facts() const { return facts_; }
  const std::vector<std::string>& unread() const { return unread_; }
  void close() { client_.close(); }

 private:
  // An object that must be there; one that may be missing; a list that may be forbidden.
  Task<Result<void>> need(Core& core, string_view key, ResourceName resource, std::string name);
  Task<void> want(Core& core, string_view key, ObjectName object);
  Task<void> want_list(Core& core, string_view key, ResourceName resource, string_view ns, std::string query = {});
  string_view vmi_name(const Reference& reference) const;

  std::string ns_;
  SystemClock clock_;
  kube::Credentials credentials_;
  kube::RateLimiter limiter_{clock_, {.per_second = 1000, .burst = 1000}};
  kube::Client client_{{.credentials = credentials_,
                        .limiter = limiter_,
                        .user_agent = "virtgate-explain/" VIRTGATE_VERSION,
                        .headers = {}}};
  json::Value facts_ = json::Object();
  std::vector<std::string> unread_;
};

Task<Result<void>> Gatherer::need(Core& core, string_view key, ResourceName resource, std::string name) {
  auto found = co_await client_.get(core, {resource, ns_, name}, {});
  if (!found) co_return fail(found.error());
  facts_.as_object()[key] = std::move(*found);
  co_return Result<void>();
}

Task<void> Gatherer::want(Core& core, string_view key, ObjectName object) {
  auto found = co_await client_.get(core, object, {});
  if (found)
    facts_.as_object()[key] = std::move(*found);
  else if (found.error().code != 404)
    unread_.push_back(fmt::format("{}: {}", object.resource.plural, found.error().message));
}

Task<void> Gatherer::want_list(Core& core, string_view key, ResourceName resource, string_view ns, std::string query) {
  auto found = co_await client_.list(core, resource, ns, std::move(query), {});
  json::Array* items = found ? json::get_array(*found, "items") : nullptr;
  if (items)
    facts_.as_object()[key] = std::move(*items);
  else if (!found && found.error().code != 404)
    unread_.push_back(fmt::format("{}: {}", resource.plural, found.error().message));
}

// A VM and its VMI have one name.
string_view Gatherer::vmi_name(const Reference& reference) const {
  if (reference.subject != Subject::migration) return reference.name;
  return story::Object(&facts_).text({"migration", "spec", "vmiName"});
}

Task<Result<void>> Gatherer::gather(Core& core, Reference reference) {
  struct Needed {
    string_view key;
    ResourceName resource;
  };
  static constexpr Needed needed[] = {{"vm", vms}, {"vmi", vmis}, {"migration", migrations}};  // by Subject
  const auto& [key, resource] = needed[static_cast<std::size_t>(reference.subject)];
  if (auto there = co_await need(core, key, resource, reference.name); !there) co_return there;
  const std::string vmi(vmi_name(reference));
  if (reference.subject == Subject::migration) co_await want(core, "vm", {vms, ns_, vmi});
  if (reference.subject != Subject::vmi) co_await want(core, "vmi", {vmis, ns_, vmi});
  co_await want(core, "kubevirt", {kubevirts, "kubevirt", "kubevirt"});
  co_await want_list(core, "claims", claims, ns_);
  co_await want_list(core, "dataVolumes", data_volumes, ns_);
  co_await want_list(core, "nodes", nodes, "");
  if (reference.subject == Subject::migration) co_await want_list(core, "migrations", migrations, "");
  co_await want_list(core, "events", events, ns_,
                     fmt::format("?fieldSelector=involvedObject.name%3D{}", reference.name));
  co_return Result<void>();
}

void print_verdict(const story::Verdict& verdict, std::FILE* out) {
  fmt::print(out, "{}", wrapped(fmt::format("{}.", verdict.telling.says), "  "));
  if (!verdict.telling.next.empty())
    fmt::print(out, "{}", wrapped(fmt::format("Next: {}.", verdict.telling.next), "  "));
}

void print_story(string_view reference, Subject subject, const Gatherer& gatherer, std::FILE* out) {
  const story::Facts facts(gatherer.facts(), Timestamp::from(std::chrono::system_clock::now()));
  const auto verdicts = story::judge(subject, facts);
  fmt::print(out, "{} ({})\n", reference, verdicts.front().id);
  print_verdict(verdicts.front(), out);
  for (const story::Verdict& verdict : verdicts | std::views::drop(1)) {
    fmt::print(out, "\nAlso ({}):\n", verdict.id);
    print_verdict(verdict, out);
  }
  const auto moments = story::moments(facts, limits::story_moments_max);
  if (!moments.empty()) fmt::print(out, "\nWhat happened:\n");
  for (const story::Moment& moment : moments) fmt::print(out, "  {}  {}\n", print_rfc3339(moment.at), moment.what);
  for (const std::string& unread : gatherer.unread())
    fmt::print(out, "\nCould not be read, so not considered: {}\n", unread);
}

Task<void> gather_and_stop(http::EventLoop& loop, Gatherer& gatherer, Reference reference, Result<void>& outcome) {
  outcome = co_await gatherer.gather(loop, std::move(reference));
  loop.stop();
}

}  // namespace

bool is_object_reference(string_view text) { return text.contains('/'); }

int explain_object(string_view text, const ExplainOptions& options, Output output) {
  const auto refused = [&](string_view why, int code) {
    fmt::print(output.err, "virtgate explain: {}\n", why);
    return code;
  };
  const auto reference = read_reference(text);
  if (!reference || reference->name.empty())
    return refused(fmt::format("\"{}\" is not vm/NAME, vmi/NAME or migration/NAME", text), exit_usage);
  auto access = find_api(options.kubeconfig, options.state);
  if (!access) return refused(access.error().message, exit_failed);
  const auto loop = http::EventLoop::create(0);
  Gatherer gatherer(std::move(*access), options.ns);
  Result<void> outcome;
  {
    Background task;
    loop->post([&] { task = Background(gather_and_stop(*loop, gatherer, *reference, outcome)); });
    loop->run();
  }
  gatherer.close();
  if (!outcome) return refused(outcome.error().message, exit_failed);
  print_story(text, reference->subject, gatherer, output.out);
  return exit_ok;
}

}  // namespace vg::cmd
