// For tests: an action's decision from JSON texts, and the decision as a line of text.
#pragma once

#include <fmt/format.h>

#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "actions/action.h"
#include "actions/action_case.h"
#include "actions/body.h"
#include "admission/admit.h"
#include "json/document.h"
#include "json/write.h"

namespace vg::actions::testing {

inline json::Value parse(std::string_view text) {
  auto document = json::parse(text, {});
  if (!document) throw std::logic_error(fmt::format("{}: {}", document.error().message, text));
  return std::move(*document);
}

inline std::string print(const Effect& effect) {
  if (const auto* patch = std::get_if<PatchObject>(&effect))
    return fmt::format("patch {}{}{} {}{}", patch->resource.plural, patch->part.empty() ? "" : "/", patch->part,
                       json::to_text(json::Value(patch->operations)), patch->dry_run ? " dry run" : "");
  if (const auto* create = std::get_if<CreateObject>(&effect))
    return fmt::format("create {}{}", json::to_text(create->object), create->dry_run ? " dry run" : "");
  if (const auto* call = std::get_if<CallNode>(&effect))
    return fmt::format("{} {}{}{}", call->method, call->suffix, call->forward_body ? " with the body" : "",
                       call->dry_run ? " dry run" : "");
  if (const auto* asked = std::get_if<AskComponents>(&effect)) {
    std::string text = fmt::format("{} {}", asked->collect ? "collect" : "order", asked->target);
    for (const Component& component : asked->components)
      text += fmt::format(" {}@{}", component.name, component.address);
    return asked->continue_token.empty() ? text : fmt::format("{} then {}", text, asked->continue_token);
  }
  if (const auto* stream = std::get_if<OpenStream>(&effect))
    return stream->kind == OpenStream::Kind::node
               ? fmt::format("stream {} {}", stream->node, stream->target)
               : fmt::format("stream {} {} {}", stream->protocol, stream->address, stream->port);
  if (const auto* reply = std::get_if<Reply>(&effect))
    return fmt::format("reply {} {}{}", reply->code, json::to_text(reply->document), reply->text);
  const Status& status = std::get<Refuse>(effect).status;
  return fmt::format("refuse {} {}", status.code, status.details.kind);
}

// "409 virtualmachine" for a refusal, else the effects, one a line.
inline std::string print(const Decision& decision) {
  if (!decision)
    return decision.error().details.kind.empty()
               ? std::to_string(decision.error().code)
               : fmt::format("{} {}", decision.error().code, decision.error().details.kind);
  std::string text;
  for (const Effect& effect : *decision) text += (text.empty() ? "" : "\n") + print(effect);
  return text;
}

// What an action is decided from. Objects get the name "demo" in namespace "ns".
class Given {
 public:
  Given(std::string_view resource, std::string_view name) : action_(find(resource, name)) {}

  Given& machine(std::string_view text) { return object(text, asked_.machine); }
  Given& instance(std::string_view text) { return object(text, asked_.instance); }
  Given& claim(std::string_view text) { return object(text, asked_.claim); }
  Given& cdi(std::string_view text) { return object(text, asked_.cdi); }
  Given& node(std::string_view text) { return object(text, asked_.node); }
  Given& kubevirt(std::string_view text) { return object(text, asked_.kubevirt); }
  Given& pod(std::string_view text) {
    asked_.pods.push_back(keep(parse(text)));
    return *this;
  }
  Given& state_claim(std::string_view text) {
    asked_.claims.push_back(keep(parse(text)));
    return *this;
  }
  // Read as the action reads it.
  Given& body(std::string_view text) {
    asked_.body = nullptr;
    asked_.body_problem.reset();
    auto value = read_body(action_, text, {});
    if (value)
      asked_.body = keep(std::move(*value));
    else
      asked_.body_problem = std::move(value.error());
    return *this;
  }
  Given& component(std::string name, std::string address) {
    asked_.components.push_back({.name = std::move(name), .address = std::move(address)});
    return *this;
  }
  Given& continued_at(std::string token) {
    asked_.continue_token = std::move(token);
    return *this;
  }
  Given& query(std::string_view text) {
    asked_.raw_query = text;
    return *this;
  }
  Given& port(std::string_view port, std::string_view protocol = {}) {
    asked_.port = port;
    asked_.protocol = protocol;
    return *this;
  }
  // spec.configuration of the KubeVirt object.
  Given& configuration(std::string_view text) {
    auto made = config::ClusterConfig::read(parse(fmt::format(R"({{"spec":{{"configuration":{}}}}})", text)), "7");
    if (!made) throw std::logic_error(made.error().message);
    config_ = std::move(*made);
    return *this;
  }

  // The row's checks in their order, then its decision: what a request would come to.
  Given& guests_have_pods() {
    asked_.guests_have_pods = true;
    return *this;
  }
  Decision decide() {
    if (!asked_.body && !asked_.body_problem && !action_.body_type.empty() && action_.body == Body::options) body("");
    const admission::Environment& environment = admission::offline_environment();
    const auto session = environment.lookups.open("somebody");
    const admission::Context context{.config = *config_,
                                     .lookups = session->lookups(),
                                     .randomness = environment.randomness,
                                     .own_namespace = "kubevirt",
                                     .now = {},
                                     .storage = {}};
    ActionCase asked{.action = action_, .config = *config_, .context = context, .ns = "ns", .name = "demo"};
    asked.raw_query = asked_.raw_query;
    asked.port = asked_.port;
    asked.protocol = asked_.protocol;
    asked.guests_have_pods = asked_.guests_have_pods;
    asked.machine = asked_.machine;
    asked.instance = asked_.instance;
    asked.claim = asked_.claim;
    asked.cdi = asked_.cdi;
    asked.node = asked_.node;
    asked.kubevirt = asked_.kubevirt;
    asked.body = asked_.body;
    asked.body_problem = asked_.body_problem;
    asked.pods = asked_.pods;
    asked.claims = asked_.claims;
    asked.components = asked_.components;
    asked.continue_token = asked_.continue_token;
    for (const GatherStep& step : action_.steps) {
      if (step.kind == StepKind::body && asked.body_problem) return fail(*asked.body_problem);
      if (step.kind != StepKind::check) continue;
      if (auto refusal = step.ask(asked)) return fail(std::move(*refusal));
    }
    return action_.decide(asked);
  }
  std::string outcome() { return print(decide()); }
  std::string message() {
    const auto decision = decide();
    return decision ? std::string() : decision.error().message;
  }

 private:
  // What an ActionCase holds, before there is one.
  struct Parts {
    const json::Value *machine = nullptr, *instance = nullptr, *claim = nullptr, *cdi = nullptr, *node = nullptr,
                      *kubevirt = nullptr, *body = nullptr;
    std::optional<Status> body_problem;
    std::vector<const json::Value*> pods, claims;
    std::string_view raw_query, port, protocol;
    bool guests_have_pods = false;
    std::vector<Component> components;
    std::string continue_token;
  };

  static const Action& find(std::string_view resource, std::string_view name) {
    for (const Action& action : actions())
      if (action.resource == resource && action.name == name) return action;
    throw std::logic_error(fmt::format("there is no action {}/{}", resource, name));
  }
  const json::Value* keep(json::Value value) { return &values_.emplace_back(std::move(value)); }
  Given& object(std::string_view text, const json::Value*& into) {
    json::Value value = parse(text);
    json::Value& metadata = value.get_object()["metadata"];
    json::Object& members = metadata.is_object() ? metadata.get_object() : metadata.emplace_object();
    if (!members.contains("name")) members["name"] = "demo";
    if (!members.contains("namespace")) members["namespace"] = "ns";
    into = keep(std::move(value));
    return *this;
  }

  const Action& action_;
  std::deque<json::Value> values_;
  config::ConfigPtr config_ = config::ClusterConfig::defaults("amd64");
  Parts asked_;
};

inline Given machine_action(std::string_view name) { return {"virtualmachines", name}; }
inline Given instance_action(std::string_view name) { return {"virtualmachineinstances", name}; }

// {"status":{"phase":"Running",...}} and the like.
inline std::string in_phase(std::string_view phase, std::string_view more = "") {
  return fmt::format(R"({{"metadata":{{"uid":"U"}},"status":{{"phase":"{}","nodeName":"node01"{}}}}})", phase, more);
}

}  // namespace vg::actions::testing
