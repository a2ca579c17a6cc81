// What upstream's mutating webhooks answered, compared with what becomes of the same objects here.
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "admission/defaults/testing.h"
#include "api/webhook_schema.h"
#include "base/test_files.h"

namespace vg::admission::testing {
namespace {

using std::string_view;

bool is_empty(const Value& value) {
  const json::Object* object = value.if_object();
  const json::Array* list = value.if_array();
  const json::String* text = value.if_string();
  return value.is_null() || (object && object->empty()) || (list && list->empty()) || (text && text->empty());
}

// Empty and absent are the same.
void tidy(Value& value) {
  if (json::Array* list = value.if_array())
    for (Value& item : *list) tidy(item);
  json::Object* object = value.if_object();
  if (!object) return;
  std::vector<std::string> empty;
  for (auto& entry : *object) {
    tidy(entry.value());
    if (is_empty(entry.value())) empty.emplace_back(entry.key());
  }
  for (const std::string& key : empty) object->erase(key);
}

// Where two documents differ; "<any>" is like everything.
std::optional<std::string> difference(const Value& want, const Value& got, const std::string& at) {
  if (json::as_string(&want) == "<any>") return std::nullopt;
  const json::Object *a = want.if_object(), *b = got.if_object();
  if (a && b) {
    for (const auto& entry : *b)
      if (!a->contains(entry.key()))
        return at + "/" + std::string(entry.key()) + ": ours only: " + json::to_text(entry.value());
    for (const auto& entry : *a) {
      const std::string below = at + "/" + std::string(entry.key());
      const Value* other = json::find(*b, entry.key());
      if (!other) return below + ": recorded only: " + json::to_text(entry.value());
      if (auto found = difference(entry.value(), *other, below)) return found;
    }
    return std::nullopt;
  }
  const json::Array *c = want.if_array(), *d = got.if_array();
  if (c && d && c->size() == d->size()) {
    for (std::size_t i = 0; i < c->size(); ++i)
      if (auto found = difference((*c)[i], (*d)[i], at + "/" + std::to_string(i))) return found;
    return std::nullopt;
  }
  if (want == got) return std::nullopt;
  return at + ": recorded " + json::to_text(want) + ", ours " + json::to_text(got);
}

using CauseSet = std::set<std::pair<std::string, std::string>>;

CauseSet recorded_causes(const Value& expect) {
  CauseSet causes;
  if (const json::Array* list = json::get_array(expect, "causes"))
    for (const Value& cause : *list)
      causes.emplace(cause.as_array().at(0).as_string(), cause.as_array().at(1).as_string());
  return causes;
}

class Recordings : public DefaultsTest {
 protected:
  // nullopt: agrees.
  std::optional<std::string> differs(Value& recorded, const json::StoragePtr& storage);
  Verdict answer(const Webhook& webhook, const Review& review, const json::StoragePtr& storage);
  void configure(const Value& recorded);
};

void Recordings::configure(const Value& recorded) {
  const Value* wanted = json::find(recorded, "config");
  const Value* architecture =
      wanted ? json::find_path(*wanted, {"architectureConfiguration", "defaultArchitecture"}) : nullptr;
  config = configuration(wanted ? json::to_text(*wanted) : "{}", json::as_string(architecture).value_or("amd64"));
}

// The common steps before the defaults; the checks of resource and schema have tests of their own.
Verdict Recordings::answer(const Webhook& webhook, const Review& review, const json::StoragePtr& storage) {
  const Subject& subject = webhook.subjects.front();
  if (review.resource.resource != subject.resource) return Verdict::error("another resource");
  const api::Type& type = *api::find_kind(subject.kind_group, "", subject.kind)->type;
  const Context context{.config = *config,
                        .lookups = known,
                        .randomness = randomness,
                        .own_namespace = "kubevirt",
                        .now = {},
                        .storage = storage};
  if (subject.kind != "Pod") {
    if (auto causes = api::check_webhook_schema(subject.kind, *review.object); !causes.empty())
      return Verdict::invalid(std::move(causes));
    if (auto good = api::canonicalize(*review.object, type); !good) return Verdict::error(good.error().message);
  }
  const bool update = review.operation() == Operation::update;
  if (update)
    if (auto good = api::canonicalize(*review.old_object, type); !good) return Verdict::error(good.error().message);
  const Case judged{.context = context,
                    .review = review,
                    .webhook = webhook,
                    .object = review.object,
                    .old_object = update ? review.old_object : nullptr};
  return complete_by(webhook, judged);
}

std::optional<std::string> Recordings::differs(Value& recorded, const json::StoragePtr& storage) {
  configure(recorded);
  auto review = read_review(recorded);
  if (!review) return "the review cannot be read";
  const Value& expect = *json::find(recorded, "expect");
  if (json::get_int_or(expect, "status", 200) == 0) return std::nullopt;
  Value after(*review->object, storage);
  const Verdict verdict = answer(*find_webhook(json::get_string_or(recorded, "path")), *review, storage);
  if (verdict.allowed != json::get_bool_or(expect, "allowed", false))
    return (verdict.allowed ? "ours allows" : "ours refuses: " + verdict.refusal().message);
  if (!verdict.allowed && verdict.refusal().code != json::get_int_or(expect, "code", 0)) return "another code";
  CauseSet causes;
  for (const StatusCause& cause : verdict.refusal().details.causes) causes.emplace(cause.reason, cause.field);
  if (causes != recorded_causes(expect)) return "other causes";
  if (!verdict.patch.empty())
    if (auto good = json::apply_json_patch(after, patch_operations(verdict.patch, storage)); !good)
      return "the patch does not fit: " + good.error().message;
  const Value* wanted = json::find(expect, "after");
  if (!wanted) return verdict.patch.empty() ? std::nullopt : std::optional<std::string>("ours has a patch");
  Value want(*wanted, storage);
  tidy(want);
  tidy(after);
  return difference(want, after, "");
}

TEST_F(Recordings, EveryMutationLeavesTheRecordedObject) {
  std::ifstream fixtures(test_files::source("tests/conformance/fixtures.json"));
  const json::Document objects = parsed(std::string(std::istreambuf_iterator<char>(fixtures), {}));
  for (const Value& object : objects.root().as_array()) known.add(object);
  std::map<std::string, std::pair<int, int>> tally;  // of each path: asked, agreed
  int shown = 0;
  for (const auto& path_of_file : test_files::admission_recordings()) {
    std::ifstream file(path_of_file);
    for (std::string line; std::getline(file, line);) {
      if (line.find("-mutate") == std::string::npos) continue;
      json::Document recorded = parsed(line);
      const std::string path(json::get_string_or(recorded.root(), "path"));
      if (const Webhook* webhook = find_webhook(path); !webhook || !webhook->mutating()) continue;
      const std::string id(json::get_string_or(recorded.root(), "id"));
      const auto problem = differs(recorded.root(), recorded.storage());
      ++tally[path].first;
      tally[path].second += problem ? 0 : 1;
      if (problem && ++shown <= 20) ADD_FAILURE() << id << " " << path << "\n  " << *problem;
    }
  }
  EXPECT_GE(tally.size(), 4U);  // the fifth, of pods, is in the reviews that are not in the repository
  for (const auto& [path, counts] : tally) EXPECT_EQ(counts.first, counts.second) << path;
}

}  // namespace
}  // namespace vg::admission::testing
