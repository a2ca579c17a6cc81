#include "kube/lookups.h"

#include <fmt/format.h>

#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "admission/lookup_allowance.h"
#include "admission/lookup_name.h"
#include "base/limits.h"
#include "http/side_by_side.h"
#include "json/access.h"
#include "json/parse.h"
#include "kube/answer.h"
#include "kube/object_api.h"
#include "kube/paths.h"
#include "tracing/hand_over.h"

namespace vg::kube {
namespace {

using json::StoragePtr;

constexpr json::ParseOptions any_size{.bytes_max = SIZE_MAX};

json::Value* keep(json::Value value, const StoragePtr& storage) {
  void* place = storage->allocate(sizeof(json::Value), alignof(json::Value));
  return new (place) json::Value(std::move(value));
}

// Nobody's request is wrong when the API server says what cannot be read.
Status unreadable(const Status& why) {
  return Status::internal_error("the answer of the API server cannot be read: " + why.message);
}

Result<json::Value*> read(std::string_view text, const StoragePtr& storage) {
  admission::LookupAllowance::take(text.size());
  auto parsed = json::parse(text, storage, any_size);
  if (!parsed) return fail(unreadable(parsed.error()));
  return keep(std::move(*parsed), storage);
}

Result<std::vector<json::Value*>> read_items(std::string_view text, const StoragePtr& storage) {
  admission::LookupAllowance::take(text.size());
  auto listed = json::parse(text, storage, any_size);
  if (!listed) return fail(unreadable(listed.error()));
  if (auto good = check_list(*listed); !good) return fail(std::move(good.error()));
  name_items(*listed);
  std::vector<json::Value*> values;
  json::Array* items = json::get_array(*listed, "items");
  for (std::size_t i = 0; items && i < items->size(); ++i) values.push_back(keep(std::move((*items)[i]), storage));
  return values;
}

bool has_label(const json::Value& object, std::string_view label, std::string_view value) {
  return json::as_string(json::find_path(object, {"metadata", "labels", label})) == value;
}

class Session final : public admission::LookupSession, public admission::Lookups {
 public:
  Session(Client& client, const KubeLookups::Copies& copies, std::string_view asker, std::chrono::milliseconds time)
      : client_(client), copies_(copies), asker_(asker), time_(time) {}

  const admission::Lookups& lookups() const override { return *this; }

  Result<json::Value*> get(std::string_view resource, std::string_view ns, std::string_view name,
                           const StoragePtr& storage) const override {
    if (auto good = admission::check_lookup_name(resource, name); !good) return fail(std::move(good.error()));
    if (const Reflector* copy = copy_of(resource)) {
      const auto found = copy->find(ns, name);
      return found ? read(found->json, storage) : nullptr;
    }
    const auto known = resource_of_key(resource);
    if (!known) return fail(Status::internal_error(fmt::format("{} are not served", resource)));
    const auto* answer = ask(object_path({.resource = *known, .ns = ns, .name = name}), "GET", known->plural);
    if (!answer) return fail(not_there_yet());
    if (!*answer) return (*answer).error().code == 404 ? Result<json::Value*>(nullptr) : fail((*answer).error());
    auto object = read(**answer, storage);
    if (object)
      if (auto good = check_object(**object, name); !good) return fail(std::move(good.error()));
    return object;
  }

  Result<std::vector<json::Value*>> list(std::string_view resource, std::string_view ns,
                                         const StoragePtr& storage) const override {
    if (const Reflector* copy = copy_of(resource)) return from_copy(*copy, ns, storage);
    return listed(resource, ns, "", storage);
  }

  Result<std::vector<json::Value*>> list_labelled(std::string_view resource, std::string_view ns,
                                                  std::string_view label, std::string_view value,
                                                  const StoragePtr& storage) const override {
    const Reflector* copy = copy_of(resource);
    if (!copy)
      return listed(resource, ns, "?labelSelector=" + percent_encode(fmt::format("{}={}", label, value)), storage);
    auto all = from_copy(*copy, ns, storage);
    if (all) std::erase_if(*all, [&](const json::Value* object) { return !has_label(*object, label, value); });
    return all;
  }

  bool missed() const override { return !missing_.empty(); }

  std::chrono::milliseconds age(std::string_view resource) const override {
    const Reflector* copy = copy_of(resource);
    return copy ? copy->age() : std::chrono::milliseconds(0);
  }

  Task<void> fetch(Core& core) override {
    trace_ = tracing::take_over();
    ++rounds_;
    const std::vector<Missing> missing(missing_.begin(), missing_.end());
    missing_.clear();
    co_await http::side_by_side(core, missing.size(), limits::lookup_fetches_at_once_max,
                                [&](std::size_t index) -> Task<void> {
                                  const auto& [target, subject] = missing[index];
                                  answers_.insert_or_assign(target, co_await fetch_one(core, target, subject));
                                });
  }

 private:
  using Answers = std::map<std::string, Result<std::string>, std::less<>>;
  using Missing = std::pair<std::string, Subject>;

  Task<Result<std::string>> fetch_one(Core& core, const std::string& target, Subject subject) {
    // An object may name thousands of others: time is for all of them together, or one review would go on for hours.
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - std::chrono::steady_clock::now());
    if (left.count() <= 0 || ++fetched_ > limits::lookup_fetches_max || bytes_ > limits::lookup_answers_bytes_max)
      co_return fail(too_much());
    Question question{.target = target, .subject = subject, .timeout = left};
    question.body_limit_bytes =
        subject.verb == "LIST" ? limits::lookup_list_bytes_max : limits::lookup_object_bytes_max;
    question.asker = asker_;
    const tracing::HandOver trace(trace_);
    auto answer = co_await client_.ask(core, std::move(question));
    if (!answer) co_return fail(std::move(answer.error()));
    bytes_ += answer->body.size();
    if (bytes_ > limits::lookup_answers_bytes_max) co_return fail(too_much());
    co_return std::move(answer->body);
  }

  Status too_much() const {
    return Status::unavailable(fmt::format(
        "what the object refers to could not be looked up in time: at most {} look-ups of {} bytes, in {} ms and {} "
        "rounds, are made for one request; use fewer references, or try again",
        limits::lookup_fetches_max, limits::lookup_answers_bytes_max, time_.count(), limits::lookup_rounds_max));
  }
  static Status not_there_yet() { return Status::unavailable("the object has not been fetched yet"); }

  // Null where there is none, or an old one: then the API server is asked.
  const Reflector* copy_of(std::string_view resource) const {
    const auto found = copies_.find(resource);
    return found == copies_.end() || found->second->problem() ? nullptr : found->second;
  }

  // Null when it has to be fetched first.
  const Result<std::string>* ask(std::string target, std::string_view verb, std::string_view plural) const {
    if (const auto found = answers_.find(target); found != answers_.end()) return &found->second;
    if (rounds_ >= limits::lookup_rounds_max)
      return &answers_.emplace(std::move(target), fail(too_much())).first->second;
    missing_.insert_or_assign(std::move(target), Subject{.verb = verb, .resource = plural});
    return nullptr;
  }

  Result<std::vector<json::Value*>> listed(std::string_view resource, std::string_view ns, std::string_view query,
                                           const StoragePtr& storage) const {
    const auto known = resource_of_key(resource);
    if (!known) return fail(Status::internal_error(fmt::format("{} are not served", resource)));
    const auto* answer = ask(collection_path(*known, ns) + std::string(query), "LIST", known->plural);
    if (!answer) return fail(not_there_yet());
    if (!*answer) return fail((*answer).error());
    return read_items(**answer, storage);
  }

  static Result<std::vector<json::Value*>> from_copy(const Reflector& copy, std::string_view ns,
                                                     const StoragePtr& storage) {
    std::vector<json::Value*> values;
    std::size_t bytes = 0;
    for (const auto& object : copy.list(ns)) {
      bytes += object->json.size();
      if (bytes > limits::lookup_list_bytes_max)
        return fail(Status::internal_error(
            fmt::format("the {} of namespace \"{}\" have more than {} bytes, too many to read; delete those that "
                        "are not needed any more",
                        copy.name(), ns, limits::lookup_list_bytes_max)));
      auto value = read(object->json, storage);
      if (!value) return fail(std::move(value.error()));
      values.push_back(*value);
    }
    return values;
  }

  Client& client_;
  const KubeLookups::Copies& copies_;
  const std::string asker_;
  const std::chrono::milliseconds time_;
  const std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::now() + time_;
  mutable Answers answers_;
  mutable std::map<std::string, Subject> missing_;
  tracing::Context trace_;  // of what is fetched
  int rounds_ = 0;
  std::size_t fetched_ = 0, bytes_ = 0;
};

}  // namespace

std::unique_ptr<admission::LookupSession> KubeLookups::open(std::string_view asker) const {
  return std::make_unique<Session>(client_, copies_, asker, time_);
}

}  // namespace vg::kube
