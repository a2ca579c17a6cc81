// Which writes a webhook is registered for (spec server 5.2 and 5.3).
#pragma once

#include <cstdint>

#include "admission/webhook.h"

namespace vg::admission {

enum class Operations : std::uint8_t { create_and_update, create, update };

Operations operations_of(const Webhook& webhook);

}  // namespace vg::admission
