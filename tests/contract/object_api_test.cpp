// What every ObjectApi (ports/object_api.h) does: on one machine resources::OwnObjects, in a cluster kube::KubeObjects.
#include <atomic>
#include <vector>

#include "base/limits.h"
#include "http/core.h"
#include "world.h"

namespace vg::contract {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr ResourceName vms{"kubevirt.io", "v1", "virtualmachines"};
constexpr ResourceName instances{"kubevirt.io", "v1", "virtualmachineinstances"};
constexpr ResourceName migrations{"kubevirt.io", "v1", "virtualmachineinstancemigrations"};
constexpr ResourceName config_maps{"", "v1", "configmaps"};
constexpr ResourceName pods{"", "v1", "pods"};
constexpr ResourceName nodes{"", "v1", "nodes"};

class ObjectApiContract : public ContractTest {
 protected:
  ObjectApi& api() { return world().objects(); }
  Core& core(std::size_t index = 0) { return world().core(index); }

  Result<json::Value> get(ResourceName resource, std::string_view name) { return get(resource, ns_, name); }
  Result<json::Value> get(ResourceName resource, std::string_view ns, std::string_view name) {
    return run(api().get(core(), {.resource = resource, .ns = ns, .name = name}, memory_.storage()));
  }
  Result<void> patch(ResourceName resource, std::string_view name, std::string_view operations,
                     std::string_view subresource = {}, bool dry_run = false) {
    const auto document = json::Document::parse(operations);
    auto patched = run(api().patch(core(), {.resource = resource, .ns = ns_, .name = name}, subresource,
                                   document->root().as_array(), dry_run));
    if (!patched) return fail(std::move(patched.error()));
    EXPECT_EQ(patched->name, name);
    EXPECT_FALSE(patched->uid.empty());
    EXPECT_FALSE(patched->version.empty());
    return {};
  }
  Result<std::string> make(ResourceName resource, std::string_view object, bool dry_run = false) {
    const auto document = json::Document::parse(object, {.bytes_max = SIZE_MAX});
    auto made = run(api().create(core(), resource, ns_, document->root(), dry_run));
    if (!made) return fail(std::move(made.error()));
    EXPECT_FALSE(made->uid.empty());
    return std::move(made->name);
  }
  // Names in the order of the list; "code" when it is refused.
  std::vector<std::string> list(ResourceName resource, std::string_view ns, Selectors selectors = {}) {
    const auto listed = run(api().list(core(), resource, ns, selectors, memory_.storage()));
    if (!listed) return {std::to_string(listed.error().code)};
    std::vector<std::string> names;
    for (const json::Value& value : *listed) names.emplace_back(text(value, {"metadata", "name"}));
    return names;
  }
  static std::string text(const json::Value& value, std::initializer_list<std::string_view> path) {
    return std::string(json::as_string(json::find_path(value, path)).value_or("(absent)"));
  }
  std::string vm_path(std::string_view name) const {
    return fmt::format("{}/{}", collection("kubevirt.io/v1", "virtualmachines"), name);
  }
  Reply make_vm(std::string_view name, std::string_view metadata = "") {
    return create(collection("kubevirt.io/v1", "virtualmachines"), vm(name, metadata));
  }
  Reply make_map(std::string_view name, std::string_view metadata = "", std::string_view data = "") {
    return create(collection("v1", "configmaps"), config_map(name, metadata, data));
  }
};

std::string code_and_reason(const Status& status) { return fmt::format("{} {}", status.code, status.reason); }
std::string code_and_reason(const Result<void>& result) {
  return result ? std::string("done") : code_and_reason(result.error());
}

// --- reading ---------------------------------------------------------------------------------------------------------

TEST_P(ObjectApiContract, AnObjectIsWhatItsUsersSee) {
  make_vm("a", R"(,"labels":{"x":"y"},"annotations":{"odd":"\u0000\"\\/é"})");
  const auto found = get(vms, "a");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, read(vm_path("a")).body.root());
  EXPECT_EQ(text(*found, {"kind"}), "VirtualMachine");
  EXPECT_EQ(text(*found, {"apiVersion"}), "kubevirt.io/v1");
  EXPECT_NE(text(*found, {"metadata", "resourceVersion"}), "(absent)");
}

TEST_P(ObjectApiContract, AnObjectOfTheWholeClusterNeedsNoNamespace) {
  create("/api/v1/nodes", fmt::format(R"({{"metadata":{{"name":"{}"}}}})", ns_));
  const auto found = get(nodes, "", ns_);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(text(*found, {"kind"}), "Node");
}

TEST_P(ObjectApiContract, AnObjectComesInTheVersionThatIsAskedFor) {
  create(collection("kubevirt.io/v1", "virtualmachineinstancepresets"),
         R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstancePreset","metadata":{"name":"p"},)"
         R"("spec":{"selector":{},"domain":{"devices":{}}}})");
  for (const std::string_view version : {"v1", "v1alpha3"}) {
    const ResourceName presets{"kubevirt.io", version, "virtualmachineinstancepresets"};
    const auto found = get(presets, "p");
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(text(*found, {"apiVersion"}), fmt::format("kubevirt.io/{}", version));
    const auto listed = run(api().list(core(), presets, ns_, {}, memory_.storage()));
    ASSERT_TRUE(listed) << listed.error().message;
    ASSERT_EQ(listed->size(), 1u);
    EXPECT_EQ(listed->front(), *found);
  }
}

TEST_P(ObjectApiContract, WhatIsNotThereIsNotFound) {
  make_vm("a");
  const auto missing = get(vms, "b");
  ASSERT_FALSE(missing);
  EXPECT_EQ(code_and_reason(missing.error()), "404 NotFound");
  EXPECT_EQ(missing.error().details.name, "b");
  EXPECT_EQ(missing.error().details.group, "kubevirt.io");
  EXPECT_EQ(missing.error().details.kind, "virtualmachines");
  EXPECT_EQ(get(vms, make_namespace(), "a").error().code, 404) << "in another namespace";
  EXPECT_EQ(get(vms, "no-such-namespace", "a").error().code, 404);
  EXPECT_EQ(get(instances, "a").error().code, 404) << "of another kind";
  // Whether roles are asked before the kind is looked for differs.
  EXPECT_THAT(get({"kubevirt.io", "v1", "unicorns"}, "a").error().code, AnyOf(403, 404));
  EXPECT_THAT(get({"kubevirt.io", "v7", "virtualmachines"}, "a").error().code, AnyOf(403, 404));
}

TEST_P(ObjectApiContract, ANameThatNoObjectCanHaveIsNotFoundAndNothingElse) {
  make_vm("a");
  for (const std::string_view name : {"", ".", "..", "a/", "a/status", "a%2fstatus", "../virtualmachines/a", "a?x=y"}) {
    const auto found = get(vms, name);
    ASSERT_FALSE(found) << name;
    EXPECT_EQ(code_and_reason(found.error()), "404 NotFound") << name;
    EXPECT_EQ(code_and_reason(patch(vms, name, R"([{"op":"add","path":"/metadata/labels","value":{}}])")),
              "404 NotFound")
        << name;
  }
}

TEST_P(ObjectApiContract, WhatIsDeletedIsGone) {
  make_map("a", R"(,"finalizers":["contract/wait"])");
  const std::string path = collection("v1", "configmaps") + "/a";
  remove(path);
  const auto going = get(config_maps, "a");
  ASSERT_TRUE(going) << "somebody has to finish first";
  EXPECT_NE(text(*going, {"metadata", "deletionTimestamp"}), "(absent)");
  merge(path, R"({"metadata":{"finalizers":null}})");
  EXPECT_EQ(get(config_maps, "a").error().code, 404);
  EXPECT_THAT(list(config_maps, ns_), IsEmpty());
}

TEST_P(ObjectApiContract, ListsAreByNamespaceAndName) {
  const std::string other = make_namespace();
  for (const std::string_view name : {"b", "c", "a"}) make_map(name, R"(,"labels":{"of":"list"})");
  create(collection("v1", "configmaps", other), config_map("0", R"(,"labels":{"of":"list"})"));
  EXPECT_THAT(list(config_maps, ns_), ElementsAre("a", "b", "c"));
  EXPECT_THAT(list(config_maps, ""), Contains("a")) << "all namespaces";
  std::vector<std::string> ours;
  for (const std::string& ns : {ns_, other})
    for (const std::string& name : list(config_maps, ns)) ours.push_back(ns + "/" + name);
  EXPECT_THAT(ours, ElementsAre(ns_ + "/a", ns_ + "/b", ns_ + "/c", other + "/0"));
  EXPECT_THAT(list(config_maps, "no-such-namespace"), IsEmpty());
  EXPECT_THAT(list({"", "v1", "unicorns"}, ns_), ElementsAre(AnyOf("403", "404")));
  const auto listed = run(api().list(core(), config_maps, ns_, {}, memory_.storage()));
  EXPECT_EQ(listed->front(), *get(config_maps, "a")) << "the same as one by one";
}

TEST_P(ObjectApiContract, ListsAreSelected) {
  const auto pod = [&](std::string_view name, std::string_view node, std::string_view label) {
    create(collection("v1", "pods"),
           fmt::format(R"({{"metadata":{{"name":"{}","labels":{{"app":"{}"}}}},"spec":{{"nodeName":"{}",)"
                       R"("containers":[{{"name":"c","image":"i"}}]}}}})",
                       name, label, node));
  };
  pod("one", "n1", "x");
  pod("two", "n2", "x");
  pod("three", "n1", "y");
  EXPECT_THAT(list(pods, ns_, {.labels = "app=x"}), ElementsAre("one", "two"));
  EXPECT_THAT(list(pods, ns_, {.labels = "app in (x,y),app!=x"}), ElementsAre("three"));
  EXPECT_THAT(list(pods, ns_, {.fields = "spec.nodeName=n1"}), ElementsAre("one", "three"));
  EXPECT_THAT(list(pods, ns_, {.labels = "app=x", .fields = "spec.nodeName=n1"}), ElementsAre("one"));
  EXPECT_THAT(list(pods, ns_, {.labels = "app=z"}), IsEmpty());
  EXPECT_THAT(list(pods, ns_, {.labels = "app in ("}), ElementsAre("400"));
  EXPECT_THAT(list(pods, ns_, {.fields = "spec.colour=red"}), ElementsAre("400"));
}

TEST_P(ObjectApiContract, ListsComeInPages) {
  for (const std::string_view name : {"a", "b", "c", "d", "e"}) make_map(name);
  const auto page_after = [&](std::string_view token, Selectors selectors = {}) {
    return run(api().list_page(core(), config_maps, ns_, {.selectors = selectors, .limit = 2, .continue_token = token},
                               memory_.storage()));
  };
  std::vector<std::string> pages;
  std::string token;
  do {
    const auto page = page_after(token);
    ASSERT_TRUE(page) << page.error().message;
    std::string& names = pages.emplace_back();
    for (const json::Value& value : page->objects) names += text(value, {"metadata", "name"});
    if (pages.size() == 1) remove(collection("v1", "configmaps") + "/d");
    token = page->continue_token;
  } while (!token.empty() && pages.size() < 10);
  EXPECT_THAT(pages, ElementsAre("ab", "cd", "e")) << "all pages show the moment of the first";
  EXPECT_EQ(page_after("nonsense").error().code, 400);
  EXPECT_EQ(page_after("", {.labels = "app in ("}).error().code, 400);
  EXPECT_EQ(page_after("", {.fields = "metadata.name=e"})->objects.size(), 1u);
}

// --- patching --------------------------------------------------------------------------------------------------------

TEST_P(ObjectApiContract, APatchIsAppliedAsAWhole) {
  make_vm("a", R"(,"labels":{"x":"1"})");
  EXPECT_EQ(code_and_reason(patch(vms, "a", R"([{"op":"test","path":"/metadata/labels/x","value":"1"},
      {"op":"replace","path":"/metadata/labels/x","value":"2"},{"op":"add","path":"/metadata/labels/y","value":""}])")),
            "done");
  const Reply after = read(vm_path("a"));
  EXPECT_EQ(after.at({"metadata", "labels"}), R"({"x":"2","y":""})");
  EXPECT_EQ(*get(vms, "a"), after.body.root());
}

TEST_P(ObjectApiContract, AnOperationThatFailsChangesNothing) {
  const std::string before = make_vm("a", R"(,"labels":{"x":"1"})").version();
  for (const std::string_view failing : {R"({"op":"test","path":"/metadata/labels/x","value":"0"})",
                                         R"({"op":"test","path":"/metadata/labels/none","value":"0"})",
                                         R"({"op":"remove","path":"/metadata/labels/none"})",
                                         R"({"op":"replace","path":"/spec/none/deeper","value":1})"}) {
    const auto refused =
        patch(vms, "a", fmt::format(R"([{{"op":"replace","path":"/metadata/labels/x","value":"2"}},{}])", failing));
    ASSERT_FALSE(refused) << failing;
    EXPECT_TRUE(is_failed_patch(refused.error())) << failing << ": " << to_json(refused.error());
  }
  EXPECT_EQ(read(vm_path("a")).version(), before);
}

TEST_P(ObjectApiContract, WhatIsNotThereCannotBePatched) {
  const auto refused = patch(vms, "a", R"([{"op":"add","path":"/metadata/labels","value":{}}])");
  ASSERT_FALSE(refused);
  EXPECT_EQ(code_and_reason(refused.error()), "404 NotFound");
  EXPECT_EQ(refused.error().details.name, "a");
}

TEST_P(ObjectApiContract, TheRefusalOfARuleHasItsCauses) {
  make_vm("a");
  const auto refused = patch(vms, "a", R"([{"op":"replace","path":"/spec/runStrategy","value":"Sometimes"}])");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 422);
  EXPECT_EQ(refused.error().reason, "Invalid");
  EXPECT_FALSE(refused.error().message.empty());
  EXPECT_FALSE(is_failed_patch(refused.error())) << "the patch itself was good";
  std::vector<std::string> fields;
  for (const StatusCause& cause : refused.error().details.causes) fields.push_back(cause.reason + " " + cause.field);
  EXPECT_THAT(fields, ElementsAre("FieldValueInvalid spec.runStrategy"));
  const auto unnamed = make(vms, R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{},)"
                                 R"("spec":{"runStrategy":"Halted","template":{"spec":{"domain":{"devices":{}}}}}})");
  EXPECT_EQ(unnamed.error().code, 422) << "an object needs a name";
}

TEST_P(ObjectApiContract, AStaleVersionIsAConflict) {
  const std::string before = make_vm("a").version();
  const auto by_version = [&](std::string_view version) {
    return code_and_reason(patch(vms, "a",
                                 fmt::format(R"([{{"op":"replace","path":"/metadata/resourceVersion",)"
                                             R"("value":"{}"}},{{"op":"add","path":"/metadata/labels",)"
                                             R"("value":{{"x":"{}"}}}}])",
                                             version, version)));
  };
  EXPECT_EQ(by_version(before), "done");
  EXPECT_EQ(by_version(before), "409 Conflict");
}

TEST_P(ObjectApiContract, TheStatusIsAPartOfItsOwn) {
  make_vm("a");
  constexpr std::string_view both = R"([{"op":"add","path":"/status","value":{"printableStatus":"Running"}},
      {"op":"add","path":"/metadata/annotations","value":{"x":"y"}}])";
  EXPECT_EQ(code_and_reason(patch(vms, "a", both, "status")), "done");
  Reply after = read(vm_path("a"));
  EXPECT_EQ(after.at({"status", "printableStatus"}), "Running");
  EXPECT_EQ(after.at({"metadata", "generation"}), "1") << "what is wanted is the same as before";
  EXPECT_EQ(code_and_reason(patch(vms, "a", R"([{"op":"replace","path":"/status/printableStatus","value":"Paused"},
      {"op":"replace","path":"/spec/runStrategy","value":"Manual"}])")),
            "done");
  after = read(vm_path("a"));
  EXPECT_EQ(after.at({"status", "printableStatus"}), "Running") << "it is written through its own part alone";
  EXPECT_EQ(after.at({"spec", "runStrategy"}), "Manual");
  const auto refused =
      patch(vms, "a", R"([{"op":"test","path":"/status/printableStatus","value":"Paused"}])", "status");
  ASSERT_FALSE(refused);
  EXPECT_TRUE(is_failed_patch(refused.error()));
  EXPECT_EQ(patch(vms, "a", "[]", "no-such-part").error().code, 404);
}

TEST_P(ObjectApiContract, ADryRunIsJudgedAndForgotten) {
  const std::string before = make_vm("a").version();
  EXPECT_EQ(
      code_and_reason(patch(vms, "a", R"([{"op":"replace","path":"/spec/runStrategy","value":"Manual"}])", {}, true)),
      "done");
  EXPECT_EQ(
      patch(vms, "a", R"([{"op":"replace","path":"/spec/runStrategy","value":"Sometimes"}])", {}, true).error().code,
      422);
  EXPECT_TRUE(is_failed_patch(patch(vms, "a", R"([{"op":"test","path":"/kind","value":"x"}])", {}, true).error()));
  EXPECT_EQ(read(vm_path("a")).version(), before);
  EXPECT_EQ(make(vms, vm("b"), true), "b");
  EXPECT_EQ(make(vms, vm("a"), true).error().reason, "AlreadyExists");
  EXPECT_EQ(get(vms, "b").error().code, 404);
}

// --- creating --------------------------------------------------------------------------------------------------------

TEST_P(ObjectApiContract, ANameIsTakenOnce) {
  EXPECT_EQ(make(vms, vm("a")), "a");
  const auto again = make(vms, vm("a"));
  ASSERT_FALSE(again);
  EXPECT_EQ(code_and_reason(again.error()), "409 AlreadyExists");
  EXPECT_EQ(again.error().details.name, "a");
  EXPECT_EQ(again.error().details.kind, "virtualmachines");
}

TEST_P(ObjectApiContract, ANameCanBeMade) {
  create(collection("kubevirt.io/v1", "virtualmachineinstances"),
         R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":{"name":"a"},)"
         R"("spec":{"domain":{"devices":{},"memory":{"guest":"64Mi"}}}})");
  const auto made = make(migrations, R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstanceMigration",
      "metadata":{"generateName":"move-"},"spec":{"vmiName":"a"}})");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(*made, StartsWith("move-"));
  EXPECT_EQ(text(*get(migrations, *made), {"spec", "vmiName"}), "a");
}

TEST_P(ObjectApiContract, WhatCannotBeCreatedIsRefused) {
  const auto document = json::Document::parse(config_map("a"));
  const auto nowhere = run(api().create(core(), config_maps, "no-such-namespace", document->root(), false));
  EXPECT_EQ(nowhere.error().code, 404);
  EXPECT_EQ(make(config_maps, config_map("a", R"(,"namespace":"elsewhere")")).error().code, 400);
  const auto named_badly = make(config_maps, config_map("A B"));
  EXPECT_EQ(code_and_reason(named_badly.error()), "422 Invalid");
  ASSERT_FALSE(named_badly.error().details.causes.empty());
  EXPECT_EQ(named_badly.error().details.causes.front().field, "metadata.name");
  EXPECT_THAT(make({"kubevirt.io", "v1", "unicorns"}, vm("a")).error().code, AnyOf(403, 404));
}

TEST_P(ObjectApiContract, LargeObjectsAreWhole) {
  const std::string large(limits::mib - limits::kib, 'x');  // Kubernetes takes no more in a ConfigMap
  EXPECT_EQ(make(config_maps, config_map("a", "", fmt::format(R"("k":"{}")", large))), "a");
  const auto found = get(config_maps, "a");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(text(*found, {"data", "k"}).size(), large.size());
  EXPECT_EQ(code_and_reason(patch(config_maps, "a", R"([{"op":"add","path":"/data/l","value":"y"}])")), "done");
  EXPECT_EQ(text(*get(config_maps, "a"), {"data", "l"}), "y");
  const auto too_large = make(
      config_maps, config_map("b", "", fmt::format(R"("k":"{}")", std::string(limits::object_body_bytes_max, 'x'))));
  EXPECT_EQ(too_large.error().code, 413);
}

TEST_P(ObjectApiContract, AListThatIsTooLongIsNoList) {
  const std::string text(limits::mib - limits::kib, 'x');
  for (std::size_t bytes = 0, i = 0; bytes <= limits::lookup_list_bytes_max; bytes += text.size(), ++i)
    make_map(fmt::format("m{}", i), i == 0 ? R"(,"labels":{"first":"yes"})" : "", fmt::format(R"("k":"{}")", text));
  EXPECT_THAT(list(config_maps, ns_), ElementsAre("500"));
  EXPECT_THAT(list(config_maps, ns_, {.labels = "first=yes"}), ElementsAre("m0"));
  world().ask("DELETE", collection("v1", "configmaps"), {}, {});
}

// --- several at once -------------------------------------------------------------------------------------------------

// Waits for all of them, on whatever cores they run.
class Countdown {
 public:
  explicit Countdown(int count) : left_(count) {}
  void one() {
    if (left_.fetch_sub(1) == 1) done_.set();
  }
  bool wait() { return done_.wait(); }

 private:
  std::atomic<int> left_;
  http::test::Event done_;
};

TEST_P(ObjectApiContract, OfThoseWhoTestTheSameOneWins) {
  make_map("a", "", R"("turn":"0")");
  constexpr int rounds = 3, callers = 6;
  for (int round = 0; round < rounds; ++round) {
    const auto operations = json::Document::parse(fmt::format(R"([{{"op":"test","path":"/data/turn","value":"{}"}},)"
                                                              R"({{"op":"replace","path":"/data/turn","value":"{}"}}])",
                                                              round, round + 1));
    std::atomic<int> won = 0, lost = 0;
    Countdown running(callers);
    const auto call = [&](Core& on) -> Task<void> {
      const auto result = co_await api().patch(on, {.resource = config_maps, .ns = ns_, .name = "a"}, {},
                                               operations->root().as_array(), false);
      EXPECT_TRUE(on.here());
      if (result)
        ++won;
      else if (is_failed_patch(result.error()) || result.error().code == 409)
        ++lost;
      running.one();
    };
    for (int i = 0; i < callers; ++i) {
      Core& on = core(static_cast<std::size_t>(i % 2));
      on.post([&, core = &on] { spawn(call(*core)); });
    }
    ASSERT_TRUE(running.wait());
    EXPECT_EQ(won, 1);
    EXPECT_EQ(lost, callers - 1);
  }
}

TEST_P(ObjectApiContract, EveryCallEndsOnItsCore) {
  make_map("a");
  for (std::size_t on : {0u, 1u}) {
    Core& here = core(on);
    const ObjectName object{.resource = config_maps, .ns = ns_, .name = "a"};
    const auto operations = json::Document::parse(R"([{"op":"add","path":"/data","value":{}}])");
    const auto made = json::Document::parse(config_map(fmt::format("made-{}", on)));
    EXPECT_TRUE(run(api().get(here, object, memory_.storage()), on));
    EXPECT_TRUE(run(api().list(here, config_maps, ns_, {}, memory_.storage()), on));
    EXPECT_TRUE(run(api().patch(here, object, {}, operations->root().as_array(), false), on));
    EXPECT_TRUE(run(api().create(here, config_maps, ns_, made->root(), false), on));
  }
}

// co_await Turn{core}: everything that is ready on the core goes first.
struct Turn {
  Core& core;
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) {
    core.post([coroutine] { coroutine.resume(); });
  }
  void await_resume() const {}
};

// A connection that is cut takes its request along, wherever that waits.
TEST_P(ObjectApiContract, ACallCanBeThrownAway) {
  make_map("a");
  const auto operations = json::Document::parse(R"([{"op":"add","path":"/data","value":{"x":"y"}}])");
  const auto call = [&](Core& on) -> Task<void> {
    (void)co_await api().patch(on, {.resource = config_maps, .ns = ns_, .name = "a"}, {}, operations->root().as_array(),
                               false);
    (void)co_await api().get(on, {.resource = config_maps, .ns = ns_, .name = "a"}, memory_.storage());
    for (;;) co_await on.sleep(std::chrono::hours(1));
  };
  const auto begin_and_drop = [&]() -> Task<void> {
    for (int turns = 0; turns < 64; turns += 7) {
      const Background thrown_away(call(core()));
      for (int i = 0; i < turns; ++i) co_await Turn{core()};
    }
  };
  run(begin_and_drop());
  EXPECT_EQ(code_and_reason(patch(config_maps, "a", R"([{"op":"add","path":"/data","value":{"x":"z"}}])")), "done");
  EXPECT_TRUE(get(config_maps, "a"));
}

TEST_P(ObjectApiContract, WithoutAnAnswerThereIsAnError) {
  ObjectApi* lost = world().lost_objects();
  if (!lost) return;
  const ObjectName object{.resource = config_maps, .ns = ns_, .name = "a"};
  const auto made = json::Document::parse(config_map("a"));
  EXPECT_EQ(run(lost->get(core(), object, memory_.storage())).error().code, 503);
  EXPECT_EQ(run(lost->list(core(), config_maps, ns_, {}, memory_.storage())).error().code, 503);
  EXPECT_EQ(run(lost->patch(core(), object, {}, json::Array(), false)).error().code, 503);
  EXPECT_EQ(run(lost->create(core(), config_maps, ns_, made->root(), false)).error().code, 503);
}

INSTANTIATE_TEST_SUITE_P(object_api, ObjectApiContract, both_modes(), mode_name);

}  // namespace
}  // namespace vg::contract
