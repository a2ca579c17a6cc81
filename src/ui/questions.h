// What the page asks beside the API. Each answers a user who has shown who they are, with what that user may see.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/task.h"
#include "config/cluster_config.h"
#include "json/value.h"
#include "ports/authorizer.h"
#include "ports/node_link.h"
#include "ports/object_store.h"
#include "server/router.h"
#include "story/verdict.h"
#include "ui/service.h"

namespace vg::ui {

struct QuestionParts {
  const ObjectStore& store;
  Authorizer& authorizer;
  const config::ConfigSource& config;
  const Clock& clock;
};

// POST access, POST check, GET story/... Everything in the parts outlives the service.
void add_questions(UiService& service, const QuestionParts& parts);

// GET stats/...: counters of a guest, as its node tells them.
struct StatsParts {
  const ObjectStore& store;
  Authorizer& authorizer;
  NodeLink& nodes;
};
void add_stats_question(UiService& service, const StatsParts& parts);

// What they answer, for who adds them otherwise. The authorizer is asked for everything that the body names.
Task<void> answer_access(server::Call& call, const User& user, Authorizer& authorizer);
Task<void> answer_check(server::Call& call, const config::ConfigSource& config, const Clock& clock);

// --- parsing and telling, without anything that acts
// ------------------------------------------------------------------

// {"checks":[{"verb":"get","group":"kubevirt.io","resource":"virtualmachines",...}]}: views into the document.
Result<std::vector<AccessAttributes>> read_checks(const json::Value& body);

// "namespaces/NS/virtualmachines/NAME"
struct StoryTarget {
  story::Subject subject;
  std::string_view resource;  // plural
  std::string_view ns, name;
};
std::optional<StoryTarget> read_story_target(std::string_view path);
// The answer to a path that is none.
Status story_path_wanted();

// Where a guest runs, by its VMI; 409 when it does not.
Result<std::string> node_of_guest(const json::Value& vmi);

// {"verdict":{...},"verdicts":[...],"events":[...],"unread":[...]}
json::Value tell_story(story::Subject subject, const json::Value& facts, Timestamp now,
                       const std::vector<std::string>& unread);

// What `virtgate check` would say of this text: {"findings":[...]}
json::Value check_text(std::string text, const config::ConfigSource& config, const Clock& clock);

}  // namespace vg::ui
