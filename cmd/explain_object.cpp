#include "explain_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
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
#include "kube/story_facts.h"
#include "story/narrate.h"
#include "story/verdict.h"

namespace vg::cmd {
namespace {

using std::string_view;
using story::Subject;

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
  Gatherer(kube::ClusterAccess access, std::string ns)
      : credentials_(std::move(access), clock_), facts_(client_, {}, std::move(ns)) {}

  Task<Result<void>> gather(Core& core, Reference reference) {
    return facts_.gather(core, reference.subject, std::move(reference.name));
  }
  // The request of that id, and what its object has to tell.
  Task<Result<void>> gather_request(Core& core, std::string id);
  const json::Value& facts() const { return facts_.facts(); }
  const std::vector<kube::StoryFacts::Unread>& unread() const { return facts_.unread(); }
  void close() { client_.close(); }

 private:
  SystemClock clock_;
  kube::Credentials credentials_;
  kube::RateLimiter limiter_{clock_, {.per_second = 1000, .burst = 1000}};
  kube::Client client_{{.credentials = credentials_,
                        .limiter = limiter_,
                        .user_agent = "virtgate-explain/" VIRTGATE_VERSION,
                        .headers = {}}};
  kube::StoryFacts facts_;
};

// --- requests --------------------------------------------------------------------------------------------------------

constexpr ResourceName requests{"trace.virtgate.io", "v1", "requests"};

// The object that tells what became of a request; nothing for kinds that have no story.
std::optional<Reference> subject_of(story::Object request) {
  for (const json::Value& entry : request.list({"status", "objects"})) {
    const string_view name = story::migration_in(story::Object(&entry).text({"object"}));
    if (!name.empty()) return Reference{Subject::migration, std::string(name)};
  }
  const auto* word = std::ranges::find(words, request.text({"spec", "resource"}), &Word::word);
  const string_view name = request.text({"spec", "name"});
  if (word == std::end(words) || name.empty()) return std::nullopt;
  return Reference{word->subject, std::string(name)};
}

Task<Result<void>> Gatherer::gather_request(Core& core, std::string id) {
  auto found = co_await client_.list(core, requests, "", fmt::format("?fieldSelector=metadata.name%3D{}", id), {});
  if (!found) co_return fail(found.error());
  json::Array* items = json::get_array(*found, "items");
  if (!items || items->empty())
    co_return fail(Status::not_found(std::string(requests.group), std::string(requests.plural), id));
  facts_.facts().as_object()["request"] = std::move(items->front());
  const story::Object request(json::find(facts_.facts(), "request"));
  facts_.set_namespace(std::string(request.text({"metadata", "namespace"})));
  // What cannot be read of the object is left out; the request itself is told in any case.
  if (auto reference = subject_of(request)) (void)co_await gather(core, std::move(*reference));
  co_return Result<void>();
}

void print_verdict(const story::Verdict& verdict, std::FILE* out) {
  fmt::print(out, "{}", wrapped(fmt::format("{}.", verdict.telling.says), "  "));
  if (!verdict.telling.next.empty())
    fmt::print(out, "{}", wrapped(fmt::format("Next: {}.", verdict.telling.next), "  "));
}

void print_moments(const Gatherer& gatherer, std::FILE* out) {
  const story::Facts facts(gatherer.facts(), Timestamp::from(std::chrono::system_clock::now()));
  const auto moments = story::moments(facts, limits::story_moments_max);
  if (!moments.empty()) fmt::print(out, "\nWhat happened:\n");
  for (const story::Moment& moment : moments) fmt::print(out, "  {}  {}\n", print_rfc3339(moment.at), moment.what);
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
  print_moments(gatherer, out);
  for (const auto& [plural, why] : gatherer.unread())
    fmt::print(out, "\nCould not be read, so not considered: {}: {}\n", plural, why);
}

std::string asked_text(story::Object request) {
  const string_view part = request.text({"spec", "subresource"});
  return fmt::format("{} {}{}{} {} in namespace {}", request.text({"spec", "verb"}), request.text({"spec", "resource"}),
                     part.empty() ? "" : "/", part, request.text({"spec", "name"}),
                     request.text({"metadata", "namespace"}));
}

// What it was decided from.
void print_decision(story::Object request, std::FILE* out) {
  if (const string_view by = request.text({"status", "decidedBy"}); !by.empty())
    fmt::print(out, "   decided by {}\n", by);
  for (const json::Value& entry : request.list({"status", "rules"}))
    fmt::print(out, "   rule {} at {}\n", story::Object(&entry).text({"id"}), story::Object(&entry).text({"field"}));
  for (const json::Value& entry : request.list({"status", "seen"})) {
    const story::Object seen(&entry);
    const std::int64_t age = seen.number({"ageMilliseconds"});
    fmt::print(out, "   saw {}: {}{}\n", seen.text({"object"}), seen.text({"state"}),
               age > 0 ? fmt::format(" (as of {} ms before)", age) : std::string());
  }
}

void print_effects(story::Object request, std::FILE* out) {
  for (const json::Value& entry : request.list({"status", "objects"})) {
    const story::Object touched(&entry);
    const string_view uid = touched.text({"uid"}), version = touched.text({"resourceVersion"});
    fmt::print(out, "   {} {}{}{}{}{}\n", touched.text({"object"}), touched.text({"action"}),
               uid.empty() ? "" : ", uid ", uid, version.empty() ? "" : ", resource version ", version);
  }
  if (const string_view uid = request.text({"status", "uid"}); !uid.empty())
    fmt::print(out, "   uid {}, resource version {}\n", uid, request.text({"status", "resourceVersion"}));
  for (const json::Value& entry : request.list({"status", "changes"})) {
    const string_view value = story::Object(&entry).text({"value"});
    fmt::print(out, "   changed {}{}{}\n", story::Object(&entry).text({"field"}), value.empty() ? "" : ": ", value);
  }
}

// The four questions of an operator, in their order.
void print_request(story::Object request, std::FILE* out) {
  const string_view user = request.text({"spec", "user"}), by = request.text({"status", "allowedBy"}),
                    credential = request.text({"spec", "credential"});
  fmt::print(out, "request {}, {}\n\n", request.name(), request.text({"metadata", "creationTimestamp"}));
  fmt::print(out, "1. What was asked for\n");
  fmt::print(out, "{}",
             wrapped(fmt::format("{}{}{}{}", asked_text(request), user.empty() ? "" : ", by user ", user,
                                 request.flag({"spec", "dryRun"}) ? " (dry run)" : ""),
                     "   "));
  fmt::print(out, "2. Was it let in\n");
  fmt::print(
      out, "{}",
      wrapped(fmt::format("{} {}{}{}{}{}", request.number({"status", "code"}), request.text({"status", "reason"}),
                          by.empty() ? "" : "allowed by: ", by, credential.empty() ? "" : "; known by: ", credential),
              "   "));
  print_decision(request, out);
  fmt::print(out, "3. What it touched\n");
  print_effects(request, out);
  fmt::print(out, "4. What became of it\n");
  fmt::print(out, "{}", wrapped(fmt::format("{}.", request.text({"status", "verdict"})), "   "));
  if (const string_view next = request.text({"status", "next"}); !next.empty())
    fmt::print(out, "{}", wrapped(fmt::format("Next: {}.", next), "   "));
}

Task<void> gather_and_stop(http::EventLoop& loop, Gatherer& gatherer, Reference reference, Result<void>& outcome) {
  outcome = co_await gatherer.gather(loop, std::move(reference));
  loop.stop();
}

Task<void> gather_request_and_stop(http::EventLoop& loop, Gatherer& gatherer, std::string id, Result<void>& outcome) {
  outcome = co_await gatherer.gather_request(loop, std::move(id));
  loop.stop();
}

// Runs a task of a gatherer to its end, which stops the loop.
template <class MakeTask>
std::unique_ptr<Gatherer> run_gatherer(const ExplainOptions& options, Result<void>& outcome, MakeTask make) {
  auto access = find_api(options.kubeconfig, options.state);
  if (!access) {
    outcome = fail(access.error());
    return nullptr;
  }
  const auto loop = http::EventLoop::create(0);
  auto gatherer = std::make_unique<Gatherer>(std::move(*access), options.ns);
  {
    Background task;
    loop->post([&] { task = Background(or_end(make(*loop, *gatherer))); });
    loop->run();
  }
  gatherer->close();
  return gatherer;
}

}  // namespace

bool is_object_reference(string_view text) { return text.contains('/'); }

bool is_request_id(string_view text) {
  const std::size_t dash = text.find('-');
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return dash == 8 && text.size() > 9 && std::ranges::all_of(text.substr(0, dash), is_hex) &&
         std::ranges::all_of(text.substr(dash + 1), is_hex);
}

int explain_request(string_view id, const ExplainOptions& options, Output output) {
  Result<void> outcome;
  const auto gatherer = run_gatherer(options, outcome, [&](http::EventLoop& loop, Gatherer& reader) {
    return gather_request_and_stop(loop, reader, std::string(id), outcome);
  });
  if (!outcome) {
    fmt::print(output.err, "virtgate explain: {}\n", outcome.error().message);
    return exit_failed;
  }
  print_request(story::Object(&gatherer->facts()).at({"request"}), output.out);
  print_moments(*gatherer, output.out);
  return exit_ok;
}

int explain_object(string_view text, const ExplainOptions& options, Output output) {
  const auto refused = [&](string_view why, int code) {
    fmt::print(output.err, "virtgate explain: {}\n", why);
    return code;
  };
  const auto reference = read_reference(text);
  if (!reference || reference->name.empty())
    return refused(fmt::format("\"{}\" is not vm/NAME, vmi/NAME or migration/NAME", text), exit_usage);
  Result<void> outcome;
  const auto gatherer = run_gatherer(options, outcome, [&](http::EventLoop& loop, Gatherer& reader) {
    return gather_and_stop(loop, reader, *reference, outcome);
  });
  if (!outcome) return refused(outcome.error().message, exit_failed);
  print_story(text, reference->subject, *gatherer, output.out);
  return exit_ok;
}

}  // namespace vg::cmd
