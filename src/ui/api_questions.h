// The questions of the page where objects are at an API server: it is asked with the token of the user who signed in.
#pragma once

#include "base/clock.h"
#include "config/cluster_config.h"
#include "kube/client.h"
#include "ui/service.h"
#include "ui/sessions.h"

namespace vg::ui {

struct ApiQuestionParts {
  kube::Client& client;  // without credentials of its own
  const Sessions& sessions;
  const config::ConfigSource& config;
  const Clock& clock;
};

// POST access, POST check, GET story/... Everything in the parts outlives the service.
void add_api_questions(UiService& service, const ApiQuestionParts& parts);

}  // namespace vg::ui
