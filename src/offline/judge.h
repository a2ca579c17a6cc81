// What the server would say to the creation of an object: the server's own write path, with the objects at hand in the
// place of its store, and nothing written.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "admission/context.h"
#include "base/clock.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "config/cluster_config.h"
#include "json/value.h"
#include "objects/decode.h"
#include "objects/write_options.h"
#include "offline/known_objects.h"
#include "ports/authorizer.h"
#include "ports/stored_object.h"

namespace vg::offline {

// What is there beside the object. Everything outlives the answer.
struct World {
  const KnownObjects& known;
  const config::ConfigSource& config;
  const Clock& clock;
  const admission::Randomness& randomness = admission::system_randomness();
  // Only what is at hand exists: what is named and not there is missing, and not somewhere else.
  bool complete = false;
};

struct ServerAnswer {
  std::optional<Status> refusal;  // as the server answers; nothing when it is let through
  std::string rule;               // that refused, where no cause has one
  std::string failure;            // why it could not be judged at all; empty otherwise
  ObjectPtr object;               // as it would be stored, when it is let through
  resources::FieldProblems fields;
  std::vector<std::string> warnings;
  std::set<Missing> missing;                 // that was looked for
  std::map<std::string, std::size_t> asked;  // see ObjectsBeside
};

struct Candidate {
  const resources::Resource& resource;
  const api::KindVersion& version;
  std::string_view ns;         // where it is to be made; empty: of the whole cluster
  const json::Value& object;   // as it was read; has to be an object
  const User* user = nullptr;  // who makes it; null: an administrator
};

// Unknown and repeated fields are told in `fields` and change nothing else. Where the world is not complete, what is
// refused only because something is not at hand is let through; missing then says what.
ServerAnswer judge(const Candidate& candidate, const World& world);

}  // namespace vg::offline
