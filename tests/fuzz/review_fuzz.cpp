// Any review sent to any webhook: it is refused, or answered in time with a review that is well-formed JSON and says
// what it must. What is sent is either the input itself, or an object that the input's bytes choose (see
// review_generator.h).
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

#include "admission/admit.h"
#include "admission/review.h"
#include "admission/webhook.h"
#include "json/access.h"
#include "json/document.h"
#include "json/patch.h"
#include "review_generator.h"

namespace {

using namespace vg;

// Of the processor, so that a busy machine changes nothing. Whoever made the request waits for so long at most.
constexpr double answer_milliseconds_max = 50;

void require(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

double thread_milliseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

void check_answer(const admission::Webhook& webhook, const admission::Review& review, std::string_view uid,
                  const admission::Verdict& verdict) {
  std::string answer;
  admission::write_answer(answer, webhook.mutating(), review, verdict);
  const auto written = json::Document::parse(answer);
  require(written.has_value(), "the answer is JSON");
  const json::Value* response = json::find(written->root(), "response");
  require(response && json::get_string(*response, "uid") == uid, "the answer bears the uid");
  require(json::get_bool(*response, "allowed") == verdict.allowed, "the answer says whether it is allowed");
  require(verdict.allowed == (json::find(*response, "status") == nullptr), "a refusal has a status");
  if (webhook.mutating())
    require(json::get_string(written->root(), "apiVersion") == "admission.k8s.io/v1", "mutators speak v1");
}

void check_verdict(const admission::Webhook& webhook, const admission::Verdict& verdict) {
  require(verdict.allowed || verdict.refusal().code == 0 || verdict.refusal().code >= 400,
          "a refusal has a code of one");
  require(verdict.allowed || !verdict.refusal().message.empty(), "a refusal says why");
  require(verdict.patch.empty() || (verdict.allowed && webhook.mutating()), "only mutators that allow patch");
  for (const admission::SideEffect& effect : verdict.effects) {
    require(!effect.resource.empty() && !effect.name.empty(), "an effect names its object");
    require(effect.patch.is_array(), "an effect's patch is a list of operations");
  }
}

// The API server applies the patch to the object as it sent it.
void check_patch(const admission::Verdict& verdict, json::Value& sent) {
  if (verdict.patch.empty()) return;
  const auto patch = json::Document::parse(admission::print_patch(verdict.patch));
  require(patch.has_value(), "the patch is JSON");
  require(json::apply_json_patch(sent, patch->root()).has_value(), "the patch fits the object");
}

void judge(const admission::Webhook& webhook, json::Document& document, const admission::Environment& environment) {
  const auto review = admission::read_review(document.root());
  if (!review) return;
  const std::string uid(review->uid);
  json::Value sent = review->object ? json::Value(*review->object, document.storage()) : json::Value();
  const double began = thread_milliseconds();
  const admission::Verdict verdict = admission::admit(webhook, *review, environment, document.storage());
  const double took = thread_milliseconds() - began;
  check_verdict(webhook, verdict);
  check_patch(verdict, sent);
  check_answer(webhook, *review, uid, verdict);
  // What is made once for the whole program is not the first review's fault.
  static bool warm = false;
  require(!warm || took < answer_milliseconds_max, "the answer came in time");
  warm = true;
}

}  // namespace

// The first byte chooses the webhook, and with its highest bit whether the review is made or read.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto webhooks = admission::webhooks();
  const admission::Webhook& webhook = webhooks[(data[0] & 0x7f) % webhooks.size()];
  if ((data[0] & 0x80) == 0) {
    auto document = json::Document::parse({reinterpret_cast<const char*>(data) + 1, size - 1});
    if (document) judge(webhook, *document, admission::offline_environment());
    return 0;
  }
  fuzz::Choices choices({data + 1, size - 1});
  const config::FixedConfig config(fuzz::make_config(choices));
  const SystemClock clock;
  json::Document document;
  json::Object envelope(document.storage());
  envelope["request"] = fuzz::make_request(webhook, choices, document.storage());
  document.root() = std::move(envelope);
  const fuzz::GeneratedLookups generated(choices);
  const admission::ReadyLookups lookups(generated);
  judge(webhook, document, {.config = config, .lookups = lookups, .clock = clock});
  return 0;
}
