// Any body sent to any webhook: it is refused, or answered with a review that is well-formed JSON and says what it
// must.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "admission/admit.h"
#include "admission/review.h"
#include "admission/webhook.h"
#include "json/access.h"
#include "json/document.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

// The first byte chooses the webhook.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vg;
  if (size == 0) return 0;
  const auto webhooks = admission::webhooks();
  const admission::Webhook& webhook = webhooks[data[0] % webhooks.size()];
  auto document = json::Document::parse({reinterpret_cast<const char*>(data) + 1, size - 1});
  if (!document) return 0;
  const auto review = admission::read_review(document->root());
  if (!review) return 0;
  const std::string uid(review->uid);
  const admission::Verdict verdict =
      admission::admit(webhook, *review, admission::offline_environment(), document->storage());

  std::string answer;
  admission::write_answer(answer, webhook.mutating, *review, verdict);
  const auto written = json::Document::parse(answer);
  require(written.has_value());
  const json::Value* response = json::find(written->root(), "response");
  require(response && json::get_string(*response, "uid") == uid);
  require(json::get_bool(*response, "allowed") == verdict.allowed);
  require(verdict.allowed == (json::find(*response, "status") == nullptr));
  if (webhook.mutating) require(json::get_string(written->root(), "apiVersion") == "admission.k8s.io/v1");
  return 0;
}
