#include "simulated/link.h"

#include <fmt/format.h>

#include "base/controller_limits.h"
#include "controllers/nodes.h"
#include "json/access.h"
#include "json/arena_pool.h"
#include "objects/draft.h"
#include "simulated/calls.h"
#include "simulated/console.h"
#include "simulated/settings.h"

namespace vg::simulated {
namespace {

// No host can be called so.
constexpr std::string_view host_prefix = "simulated:";

bool is_ours(const NodeAddress& address) { return address.host.starts_with(host_prefix); }
std::string_view node_of(const NodeAddress& address) {
  return std::string_view(address.host).substr(host_prefix.size());
}

// The VMI with this target, if it is on the node that was asked.
std::optional<json::Value> find_vmi(const ObjectStore& store, const CallTarget& target, std::string_view node,
                                    const json::StoragePtr& storage) {
  const ObjectPtr stored = store.get(controllers::kinds::vmi, target.ns, target.name);
  if (!stored) return std::nullopt;
  json::Value vmi = resources::load_object(*stored, storage);
  const json::Object* status = json::get_object(vmi, "status");
  if (!status || json::get_string_or(*status, "nodeName") != node) return std::nullopt;
  return vmi;
}

NodeAnswer not_found(const CallTarget& target) {
  return {.status = 404, .phrase = "Not Found", .body = fmt::format("VMI \"{}\" is not on this node", target.name)};
}

controllers::Pass pass_of(Answered& answered, const CallTarget& target, std::string_view node) {
  controllers::Pass pass;
  pass.host = node;
  if (!answered.vmi) return pass;
  pass.add({.verb = controllers::Verb::update,
            .resource = controllers::kinds::vmi,
            .ns = std::string(target.ns),
            .name = std::string(target.name),
            .identity = controllers::Identity::own(),
            .document = json::Value(std::move(*answered.vmi)),
            .account = controllers::Account::handler,
            .also_told = std::move(answered.told)});
  return pass;
}

}  // namespace

struct SimulatedLink::Writer {
  Writer(resources::Backend& backend, Core& core) : carrier({.backend = backend, .core = core, .events = events}) {}
  engine::EventRecorder events;
  engine::Carrier carrier;
};

SimulatedLink::SimulatedLink(resources::Backend& backend, NodeLink& others) : backend_(backend), others_(others) {}
SimulatedLink::~SimulatedLink() = default;

SimulatedLink::Writer& SimulatedLink::writer(Core& core) {
  const std::scoped_lock lock(mutex_);
  auto& writer = writers_[&core];
  if (!writer) writer = std::make_unique<Writer>(backend_, core);
  return *writer;
}

bool SimulatedLink::is_simulated(std::string_view node) const {
  const ObjectPtr stored = node.empty() ? nullptr : backend_.store.get(controllers::kinds::node, "", node);
  return stored && stored->label(node_label) == "true";
}

Task<Result<NodeAddress>> SimulatedLink::find(Core& core, std::string_view node) {
  if (!is_simulated(node)) co_return co_await others_.find(core, node);
  co_return NodeAddress{.host = fmt::format("{}{}", host_prefix, node), .port = 0};
}

Task<Result<NodeAnswer>> SimulatedLink::call(Core& core, const NodeAddress& address, NodeRequest request) {
  if (!is_ours(address)) co_return co_await others_.call(core, address, request);
  const CallTarget target = read_target(request.target);
  for (int attempt = 1;; ++attempt) {
    json::LeasedArena arena;
    const auto vmi = find_vmi(backend_.store, target, node_of(address), arena.storage());
    if (!vmi) co_return not_found(target);
    Answered answered = answer_call({.vmi = vmi->get_object(),
                                     .what = target.what,
                                     .body = request.body,
                                     .now = backend_.clock.wall_now(),
                                     .storage = arena.storage()});
    if (!answered.vmi) co_return std::move(answered.answer);
    const controllers::Pass pass = pass_of(answered, target, node_of(address));
    const engine::EventSource source{.component = "virt-handler", .host = pass.host};
    const auto involved = controllers::event_object(vmi->get_object());
    const engine::Done done = co_await writer(core).carrier.carry_out(pass, involved, source);
    if (!done.hard) co_return std::move(answered.answer);
    if (!engine::is_lost_race(*done.hard) || attempt >= limits::simulated_attempts_max) co_return fail(*done.hard);
  }
}

Task<Result<NodeStream>> SimulatedLink::open(Core& core, const NodeAddress& address, std::string_view target) {
  if (!is_ours(address)) co_return co_await others_.open(core, address, target);
  const CallTarget asked = read_target(target);
  json::LeasedArena arena;
  NodeStream opened;
  if (!find_vmi(backend_.store, asked, node_of(address), arena.storage())) {
    opened.refusal = not_found(asked);
  } else if (asked.what.starts_with("portforward/")) {
    opened.stream = open_console(core, "");
  } else if (asked.what != "console") {
    opened.refusal = {.status = 501,
                      .phrase = "Not Implemented",
                      .body = fmt::format("{} is not supported by simulated nodes", asked.what)};
  } else {
    opened.stream =
        open_console(core, fmt::format("VMI {}/{} is simulated: this console echoes.\r\n", asked.ns, asked.name));
  }
  co_return opened;
}

}  // namespace vg::simulated
