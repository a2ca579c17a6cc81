#include "simulate.h"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api_access.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/net.h"
#include "base/time_rfc3339.h"
#include "command.h"
#include "http/core.h"
#include "json/access.h"
#include "json/parse.h"
#include "json/write.h"
#include "kube/client.h"
#include "kube/cluster_access.h"
#include "kube/credentials.h"
#include "kube/rate_limiter.h"
#include "kube/reflector.h"
#include "local/state_folder.h"
#include "log_format.h"
#include "signals.h"
#include "simulated.h"

namespace vg::cmd {
namespace {

using json::Object;
using json::Value;

constexpr ResourceName vms{"kubevirt.io", "v1", "virtualmachines"};
constexpr ResourceName vmis{"kubevirt.io", "v1", "virtualmachineinstances"};
constexpr ResourceName migrations{"kubevirt.io", "v1", "virtualmachineinstancemigrations"};
// The account of virt-controller: the server takes the status of a VMI from KubeVirt's components alone. Acting as it
// needs the right to impersonate it, which administrators have and nobody else has unless they were given it.
constexpr std::string_view component = "system:serviceaccount:kubevirt:kubevirt-controller";
constexpr std::chrono::seconds retry_interval{1};

struct Options {
  std::string state, kubeconfig, ns;
  bool all = false, watch = false;
  Simulation simulation;

  std::vector<Flag> flags() {
    return {
        {"state", '\0', &state, "DIR", "state folder of the server, for its admin.kubeconfig (default as for serve)"},
        {"kubeconfig", '\0', &kubeconfig, "FILE",
         "kubeconfig of an administrator, instead of that in the state folder"},
        {"namespace", 'n', &ns, "NAMESPACE", "namespace of the VMIs (default \"default\"; with --all: all of them)"},
        {"all", '\0', &all, "", "every VMI, and every VM that is to run"},
        {"watch", 'w', &watch, "",
         "continue until stopped: VMs start, stop, restart and migrate as if there were nodes"},
        {"phase", '\0', &simulation.phase, phase_choices, "phase of the VMI"},
        {"node", '\0', &simulation.node, "NAME", "node that it seems to run on"},
        {"ip", '\0', &simulation.ip, "ADDRESS", "address of its first interface (default one made of its name)"},
        {"guest-agent", '\0', &simulation.guest_agent, "", "as if a guest agent were connected"},
    };
  }
};

std::string now() { return print_rfc3339(Timestamp::from(std::chrono::system_clock::now())); }

using Key = std::pair<std::string, std::string>;  // namespace and name

Status failure(int code, std::string message) {
  return {
      .code = code, .reason = code == 404 ? "NotFound" : "BadRequest", .message = std::move(message), .details = {}};
}

// The one who asks the server, as a component.
class Simulator {
 public:
  Simulator(kube::ClusterAccess access, const Options& options, Output output)
      : options_(options), output_(output), credentials_(std::move(access), clock_) {}

  Task<Result<void>> check_server(Core& core);
  Task<Result<std::vector<Key>>> all_keys(Core& core);
  // Fakes the VMI of this name, once.
  Task<Result<void>> fake(Core& core, Key key);

  // Follows everything until the loop stops. On the core.
  void follow(Core& core, std::set<std::string> names);
  void unfollow();
  void close() { client_.close(); }

 private:
  Task<Result<Value>> expanded(Core& core, const Value& vm, const Key& key);
  Task<Result<void>> create_vmi(Core& core, const Value& vm, const Key& key);
  Task<Result<void>> settle_vm(Core& core, const Key& key);
  void say(const Key& key, std::string_view what) const;

  bool is_meant(const Key& key) const { return names_.empty() || names_.contains(key.second); }
  void changed();
  Task<void> drain(Core& core);
  Task<void> look_again(Core& core);
  Task<Result<void>> carry_out(Core& core, const Key& key);
  Task<Result<void>> carry_out_migration(Core& core, const kube::CachedObject& object);
  void failed(const Key& key, const Status& why);
  kube::Reflector::Options follows(std::string_view plural) const;
  Simulation simulation() const {
    Simulation copy = options_.simulation;
    copy.now = now();
    return copy;
  }

  const Options& options_;
  Output output_;
  SystemClock clock_;
  kube::Credentials credentials_;
  kube::RateLimiter limiter_{clock_, {.per_second = 1000, .burst = 1000}};
  kube::Client client_{{.credentials = credentials_,
                        .limiter = limiter_,
                        .user_agent = "virtgate-simulate/" VIRTGATE_VERSION,
                        .headers = {{"Impersonate-User", std::string(component)},
                                    {"Impersonate-Group", "system:masters"},
                                    {"Impersonate-Group", "system:authenticated"}}}};
  // Of --watch.
  metrics::Registry metrics_;
  std::set<std::string> names_;  // empty: all
  std::unique_ptr<kube::Reflector> vms_, vmis_, migrations_;
  Core* core_ = nullptr;
  bool dirty_ = false;
  std::map<Key, std::pair<std::string, std::string>> seen_;  // the versions for which there was nothing left to do
  std::map<Key, std::pair<std::string, std::string>> seen_migrations_;
  std::map<Key, std::string> complaints_;
  Background draining_, waiting_;
};

void Simulator::say(const Key& key, std::string_view what) const {
  if (what.empty()) return;
  fmt::print(output_.out, "{}/{}: {}\n", key.first, key.second, what);
  std::fflush(output_.out);
}

// Where VMs really run, their status is none of our business.
Task<Result<void>> Simulator::check_server(Core& core) {
  const auto answer = co_await client_.ask(core, {.target = "/version", .subject = {"GET", "version"}});
  if (!answer) co_return fail(answer.error());
  if (!answer->body.contains("+virtgate-"))
    co_return fail(failure(400, "the server is not a standalone virtgate; VMs are simulated on such servers only"));
  co_return Result<void>();
}

Task<Result<std::vector<Key>>> Simulator::all_keys(Core& core) {
  std::set<Key> keys;
  for (const ResourceName& resource : {vms, vmis}) {
    auto list = co_await client_.list(core, resource, options_.ns, "", {});
    if (!list) co_return fail(list.error());
    const json::Array* items = json::get_array(*list, "items");
    for (const Value& item : items ? *items : json::Array()) {
      const Object* object = item.if_object();
      if (!object || (resource.plural == vms.plural && !is_to_start(*object))) continue;
      const Value* meta = json::find(item, "metadata");
      if (meta) keys.emplace(json::get_string_or(*meta, "namespace"), json::get_string_or(*meta, "name"));
    }
  }
  co_return std::vector<Key>(keys.begin(), keys.end());
}

// With its instance type and preference in its template.
Task<Result<Value>> Simulator::expanded(Core& core, const Value& vm, const Key& key) {
  const Value* spec = json::find(vm, "spec");
  if (!spec || (!json::find(*spec, "instancetype") && !json::find(*spec, "preference"))) co_return vm;
  const auto answer = co_await client_.ask(
      core, {.target = fmt::format("/apis/subresources.kubevirt.io/v1/namespaces/{}/virtualmachines/{}/expand-spec",
                                   key.first, key.second),
             .subject = {"GET", "virtualmachines/expand-spec"}});
  if (!answer) co_return fail(answer.error());
  co_return json::parse(answer->body, {});
}

Task<Result<void>> Simulator::create_vmi(Core& core, const Value& vm, const Key& key) {
  auto whole = co_await expanded(core, vm, key);
  if (!whole) co_return fail(whole.error());
  // What expanding leaves out.
  if (const Value* status = json::find(vm, "status")) whole->as_object()["status"] = *status;
  if (const Value* meta = json::find(vm, "metadata")) whole->as_object()["metadata"] = *meta;
  const std::string body = json::to_text(vmi_of(whole->as_object()));
  const auto made = co_await client_.create(core, vmis, key.first, body, false, {});
  if (!made && made.error().reason != "AlreadyExists") co_return fail(made.error());
  co_return Result<void>();
}

Task<Result<void>> Simulator::settle_vm(Core& core, const Key& key) {
  for (int attempt = 1;; ++attempt) {
    auto vm = co_await client_.get(core, {vms, key.first, key.second}, {});
    if (!vm && vm.error().code == 404) co_return Result<void>();
    if (!vm) co_return fail(vm.error());
    auto vmi = co_await client_.get(core, {vmis, key.first, key.second}, {});
    if (!vmi && vmi.error().code != 404) co_return fail(vmi.error());
    if (!simulate_vm_status(vm->as_object(), vmi ? &vmi->as_object() : nullptr, simulation())) co_return Result<void>();
    const auto written = co_await client_.update(core, {vms, key.first, key.second}, "status", *vm, false, {});
    if (written) continue;  // one request is dropped at a time
    if (written.error().code != 409 || attempt >= limits::simulate_attempts_max) co_return fail(written.error());
  }
}

Task<Result<void>> Simulator::fake(Core& core, Key key) {
  for (int attempt = 1;; ++attempt) {
    auto vmi = co_await client_.get(core, {vmis, key.first, key.second}, {});
    if (!vmi && vmi.error().code != 404) co_return fail(vmi.error());
    if (!vmi) {
      const auto vm = co_await client_.get(core, {vms, key.first, key.second}, {});
      if (!vm && vm.error().code == 404)
        co_return fail(failure(404, fmt::format("virtualmachineinstances.kubevirt.io \"{}\" not found, and no VM of "
                                                "that name; check the namespace ({})",
                                                key.second, key.first)));
      if (!vm) co_return fail(vm.error());
      if (!is_to_start(vm->as_object()))
        co_return fail(failure(400, fmt::format("VM \"{}\" has no VMI and is not to run; start it first (virtctl start "
                                                "{} -n {})",
                                                key.second, key.second, key.first)));
      if (auto made = co_await create_vmi(core, *vm, key); !made) co_return made;
      say(key, "VMI created");
      continue;
    }
    simulate_vmi(vmi->as_object(), simulation());
    const auto written = co_await client_.update(core, {vmis, key.first, key.second}, "", *vmi, false, {});
    if (written) break;
    if (written.error().code != 409 || attempt >= limits::simulate_attempts_max) co_return fail(written.error());
  }
  const Simulation& is = options_.simulation;
  say(key, fmt::format("phase {} on {}", is.phase, is.node));
  co_return co_await settle_vm(core, key);
}

// --- following -------------------------------------------------------------------------------------------------------

kube::Reflector::Options Simulator::follows(std::string_view plural) const {
  return {.name = std::string(plural),
          .group = "kubevirt.io",
          .version = "v1",
          .plural = std::string(plural),
          .ns = options_.ns};
}

void Simulator::follow(Core& core, std::set<std::string> names) {
  core_ = &core;
  names_ = std::move(names);
  for (auto [place, resource] : {std::pair(&vms_, vms), std::pair(&vmis_, vmis), std::pair(&migrations_, migrations)}) {
    *place = std::make_unique<kube::Reflector>(client_, follows(resource.plural), metrics_, clock_);
    // Posted: a copy tells of its first list just before it calls itself synced.
    (*place)->on_change([this] { core_->post([this] { changed(); }); });
  }
  for (auto* one : {&vms_, &vmis_, &migrations_}) (*one)->start(core);
}

void Simulator::unfollow() {
  draining_ = {};
  waiting_ = {};
  vms_.reset();
  vmis_.reset();
  migrations_.reset();
}

void Simulator::changed() {
  dirty_ = true;
  // Not before all are known: a VM whose VMI is not seen yet is not one without.
  if (!vms_->synced() || !vmis_->synced() || !migrations_->synced() || !draining_.done()) return;
  draining_ = Background(drain(*core_));
}

Task<void> Simulator::look_again(Core& core) {
  co_await core.sleep(retry_interval);
  core.post([this] { changed(); });  // when this has ended, so that it can be begun again
}

void Simulator::failed(const Key& key, const Status& why) {
  std::string& last = complaints_[key];
  if (why.code != 409 && why.code != 404 && last != why.message)
    log::warning("VM or VMI not simulated; trying again",
                 {{"namespace", key.first}, {"name", key.second}, {"reason", why.message}});
  last = why.message;
  if (waiting_.done()) waiting_ = Background(look_again(*core_));
}

Task<void> Simulator::drain(Core& core) {
  while (std::exchange(dirty_, false)) {
    std::set<Key> keys;
    for (const auto* copy : {vms_.get(), vmis_.get()})
      for (const auto& object : copy->list("")) keys.emplace(object->ns, object->name);
    std::erase_if(seen_, [&](const auto& entry) { return !keys.contains(entry.first); });
    std::erase_if(complaints_, [&](const auto& entry) { return !keys.contains(entry.first); });
    for (const Key& key : keys)
      if (is_meant(key))
        if (auto done = co_await carry_out(core, key); !done) failed(key, done.error());
    const auto moves = migrations_->list("");
    std::erase_if(seen_migrations_,
                  [&](const auto& entry) { return !migrations_->find(entry.first.first, entry.first.second); });
    for (const auto& object : moves)
      if (auto done = co_await carry_out_migration(core, *object); !done)
        failed({object->ns, object->name}, done.error());
  }
}

std::optional<Value> parsed(const kube::Reflector::ObjectPtr& object) {
  if (!object) return std::nullopt;
  auto value = json::parse(object->json, {});
  return value && value->is_object() ? std::optional(std::move(*value)) : std::nullopt;
}

const Object* object_of(const std::optional<Value>& value) { return value ? &value->get_object() : nullptr; }

Task<Result<void>> Simulator::carry_out(Core& core, const Key& key) {
  const auto vm_copy = vms_->find(key.first, key.second), vmi_copy = vmis_->find(key.first, key.second);
  const std::pair versions(vm_copy ? vm_copy->resource_version : "", vmi_copy ? vmi_copy->resource_version : "");
  if (const auto seen = seen_.find(key); seen != seen_.end() && seen->second == versions) co_return Result<void>();
  const auto vm = parsed(vm_copy), vmi = parsed(vmi_copy);
  const SimulationStep step = next_step(object_of(vm), object_of(vmi), simulation());
  Result<void> done;
  const auto note = [&](const auto& written) {
    if (!written) done = fail(written.error());
  };
  switch (step.kind) {
    case SimulationStep::Kind::none:
      break;
    case SimulationStep::Kind::create_vmi:
      done = co_await create_vmi(core, *vm, key);
      break;
    case SimulationStep::Kind::update_vmi:
      note(co_await client_.update(core, {vmis, key.first, key.second}, "", step.object, false, {}));
      break;
    case SimulationStep::Kind::delete_vmi:
      done = co_await client_.remove(core, {vmis, key.first, key.second}, false);
      break;
    case SimulationStep::Kind::delete_orphan: {
      const auto owner = co_await client_.get(core, {vms, key.first, key.second}, {});
      if (owner || owner.error().code != 404) co_return Result<void>();
      done = co_await client_.remove(core, {vmis, key.first, key.second}, false);
      break;
    }
    case SimulationStep::Kind::update_vm:
      note(co_await client_.update(core, {vms, key.first, key.second}, "", step.object, false, {}));
      break;
    case SimulationStep::Kind::update_vm_status:
      note(co_await client_.update(core, {vms, key.first, key.second}, "status", step.object, false, {}));
      break;
  }
  if (!done) co_return done;
  // What was written comes back as an event, and only then it is known that nothing is left to do.
  seen_[key] = versions;
  complaints_.erase(key);
  say(key, step.done);
  co_return done;
}

Task<Result<void>> Simulator::carry_out_migration(Core& core, const kube::CachedObject& object) {
  const auto migration = json::parse(object.json, {});
  if (!migration || !migration->is_object()) co_return Result<void>();
  const Value* spec = json::find(*migration, "spec");
  const Key key(object.ns, spec ? json::get_string_or(*spec, "vmiName") : std::string_view());
  const auto vmi_copy = vmis_->find(key.first, key.second);
  const std::pair versions(object.resource_version, vmi_copy ? vmi_copy->resource_version : std::string());
  const auto seen = seen_migrations_.find({object.ns, object.name});
  if (!is_meant(key) || (seen != seen_migrations_.end() && seen->second == versions)) co_return Result<void>();
  const auto vmi = parsed(vmi_copy);
  const MigrationStep step = next_migration_step(migration->get_object(), object_of(vmi), simulation());
  if (step.kind == MigrationStep::Kind::none) {
    seen_migrations_[{object.ns, object.name}] = versions;
    co_return Result<void>();
  }
  const bool of_vmi = step.kind == MigrationStep::Kind::update_vmi;
  const ObjectName name =
      of_vmi ? ObjectName{vmis, key.first, key.second} : ObjectName{migrations, object.ns, object.name};
  const std::string_view part = step.kind == MigrationStep::Kind::update_migration_status ? "status" : "";
  const auto written = co_await client_.update(core, name, part, step.object, false, {});
  if (!written) co_return fail(written.error());
  if (of_vmi) say(key, "VMI migrated");
  co_return Result<void>();
}

// --- the command -----------------------------------------------------------------------------------------------------

Task<void> fake_once(http::EventLoop& loop, Simulator& simulator, const Options& options, std::vector<Key> keys,
                     Result<void>& outcome) {
  outcome = co_await simulator.check_server(loop);
  if (outcome && options.all) {
    auto all = co_await simulator.all_keys(loop);
    if (all)
      keys = std::move(*all);
    else
      outcome = fail(all.error());
  }
  for (const Key& key : keys)
    if (outcome) outcome = co_await simulator.fake(loop, key);
  loop.stop();
}

Task<void> begin_to_follow(http::EventLoop& loop, Simulator& simulator, std::set<std::string> names,
                           Result<void>& outcome) {
  outcome = co_await simulator.check_server(loop);
  if (outcome)
    simulator.follow(loop, std::move(names));
  else
    loop.stop();
}

int simulate(const Options& options, const std::vector<std::string>& names, Output output) {
  const auto refused = [&](const Status& status) {
    fmt::print(output.err, "virtgate simulate: {}\n", status.message);
    return exit_failed;
  };
  auto access = find_api(options.kubeconfig, options.state);
  if (!access) return refused(access.error());
  const ProcessSignals signals;
  const auto loop = http::EventLoop::create(0);
  Result<void> outcome;
  {
    Simulator simulator(std::move(*access), options, output);
    const ProcessSignals::Watch stop(signals, std::chrono::hours(1), [&](int) { loop->stop(); }, [] {});
    Background task;
    loop->post([&] {
      std::vector<Key> keys;
      for (const std::string& name : names) keys.emplace_back(options.ns.empty() ? "default" : options.ns, name);
      task = Background(or_end(
          options.watch ? begin_to_follow(*loop, simulator, std::set<std::string>(names.begin(), names.end()), outcome)
                        : fake_once(*loop, simulator, options, std::move(keys), outcome)));
    });
    loop->run();
    task = {};
    simulator.unfollow();
    simulator.close();
  }
  return outcome ? exit_ok : refused(outcome.error());
}

}  // namespace

int run_simulate(std::span<const std::string_view> arguments, Output output) {
  Options options;
  const CommandLine command{
      .name = "simulate",
      .synopsis = "[flags] [VMI...]",
      .description =
          "Fakes running VMs on a standalone server that has no nodes, so that stop, restart, migrate, addvolume "
          "and everything else that needs a running VMI can be tested: it writes the status of VMIs as "
          "virt-controller and virt-handler do, and makes the VMI of a VM that is to run. Nothing is run. It acts "
          "as the account of virt-controller, so it needs the kubeconfig of an administrator.",
      .examples =
          "virtgate simulate demo                            # the VMI of the VM demo runs\n"
          "virtgate simulate demo --guest-agent --ip 10.0.0.7\n"
          "virtgate simulate demo --phase Failed\n"
          "virtgate simulate --all --watch &                 # for a CI job: all VMs, until it is stopped",
      .argument = "VMI",
      .arguments_max = SIZE_MAX};
  auto flags = options.flags();
  const auto names = read_command(command, flags, arguments, output);
  if (!names) return names.error();
  if (names->empty() && !options.all)
    return refuse_usage(command, "the name of a VMI is required; or pass --all", output);
  if (!names->empty() && options.all)
    return refuse_usage(command, "--all is mutually exclusive with the names of VMIs", output);
  if (!options.simulation.ip.empty() && !parse_ip(options.simulation.ip))
    return refuse_usage(command, fmt::format("--ip: \"{}\" is not an IP address", options.simulation.ip), output);
  if (!options.all && options.ns.empty()) options.ns = "default";
  set_log_format("", output.err);
  return simulate(options, *names, output);
}

}  // namespace vg::cmd
