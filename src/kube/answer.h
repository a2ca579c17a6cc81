// What the API server's answers mean: pure functions.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "http/client.h"
#include "json/value.h"

namespace vg::kube {

// The Status of a refusal, from the text of an answer, which may be anything.
Status refusal_of(const http::Answer& answer);

// Lists of built-in kinds name kind and version once, for all items. This gives them to every item, as objects that are
// read one by one have them.
void name_items(json::Value& list);

// Whether an answer of 2xx is what was asked for. Whoever stands in for the API server for a moment may answer
// anything, and an object without content, or a list without items, would tell rules that all is well.
Result<void> check_object(const json::Value& answer, std::string_view name);
Result<void> check_list(const json::Value& answer);

// Whether, and after what pause, a request is worth another try. `attempt` counts from 1. `repeatable`: asking twice
// does no harm, even when the first time did arrive.
std::optional<std::chrono::milliseconds> retry_pause(const Result<http::Answer>& answer, bool repeatable, int attempt);

// The pause before the try after `failures` of them in a row, `random` out of 0 to 1 spreads it over its upper half.
std::chrono::milliseconds back_off(std::chrono::milliseconds first, std::chrono::milliseconds most, int failures,
                                   double random);

}  // namespace vg::kube
