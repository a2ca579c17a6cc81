// What every source of look-ups (admission/lookup_session.h) does: on one machine over admission::StoreLookups, in a
// cluster kube::KubeLookups.
#include <chrono>
#include <functional>
#include <set>
#include <vector>

#include "admission/lookup_failure.h"
#include "base/limits.h"
#include "world.h"

namespace vg::contract {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view vms = "kubevirt.io/virtualmachines";
constexpr std::string_view config_maps = "configmaps";
constexpr std::string_view presets = "kubevirt.io/virtualmachineinstancepresets";

class LookupsContract : public ContractTest {
 protected:
  using Decide = std::function<void(const admission::Lookups&)>;

  // As a request is judged: once more after each fetching, until nothing is missing.
  // Returns how often something had to be fetched.
  int judge(const Decide& decide, std::size_t core = 0) { return judge(world().lookups(), decide, core); }
  int judge(const admission::LookupSource& source, const Decide& decide, std::size_t core = 0) {
    const auto session = source.open("somebody");
    return run(judge_on(world().core(core), *session, decide), core);
  }
  static Task<int> judge_on(Core& core, admission::LookupSession& session, const Decide& decide) {
    for (int fetched = 0;; ++fetched) {
      decide(session.lookups());
      if (!session.lookups().missed()) co_return fetched;
      co_await session.fetch(core);
    }
  }

  Result<json::Value*> get(std::string_view resource, std::string_view ns, std::string_view name) {
    Result<json::Value*> found = nullptr;
    judge([&](const admission::Lookups& lookups) { found = lookups.get(resource, ns, name, memory_.storage()); });
    return found;
  }
  // Names in the order of the list; "code" when it fails.
  std::vector<std::string> names(
      const std::function<Result<std::vector<json::Value*>>(const admission::Lookups&)>& ask) {
    Result<std::vector<json::Value*>> found;
    judge([&](const admission::Lookups& lookups) { found = ask(lookups); });
    if (!found) return {std::to_string(found.error().code)};
    std::vector<std::string> out;
    for (const json::Value* value : *found)
      out.emplace_back(json::as_string(json::find_path(*value, {"metadata", "name"})).value_or("?"));
    return out;
  }
  std::vector<std::string> list(std::string_view resource, std::string_view ns) {
    return names([&](const admission::Lookups& lookups) { return lookups.list(resource, ns, memory_.storage()); });
  }
  std::vector<std::string> labelled(std::string_view resource, std::string_view label, std::string_view value) {
    return names([&](const admission::Lookups& lookups) {
      return lookups.list_labelled(resource, ns_, label, value, memory_.storage());
    });
  }

  std::string path_of(std::string_view group_version, std::string_view plural, std::string_view name) const {
    return fmt::format("{}/{}", collection(group_version, plural), name);
  }
  void make_preset(std::string_view name, std::string_view label) {
    const Reply made = create(collection("kubevirt.io/v1", "virtualmachineinstancepresets"),
                              fmt::format(R"({{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstancePreset",)"
                                          R"("metadata":{{"name":"{}","labels":{{"kind":"{}"}}}},)"
                                          R"("spec":{{"selector":{{}},"domain":{{"devices":{{}}}}}}}})",
                                          name, label));
    world().await_copy(presets, ns_, name, made.version());
  }
  void make_map(std::string_view name, std::string_view metadata = "", std::string_view data = "") {
    create(collection("v1", "configmaps"), config_map(name, metadata, data));
  }
};

// What nobody decides by, and copies leave out.
json::Value without_managed_fields(const json::Value& value) {
  json::Value copy(value, json::StoragePtr());
  if (json::Object* metadata = json::get_object(copy, "metadata")) json::erase(*metadata, "managedFields");
  return copy;
}

TEST_P(LookupsContract, AnObjectIsWhatItsUsersSee) {
  create(collection("kubevirt.io/v1", "virtualmachines"), vm("a", R"(,"labels":{"x":"y"})"));
  const auto found = get(vms, ns_, "a");
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_TRUE(*found);
  EXPECT_EQ(**found, read(path_of("kubevirt.io/v1", "virtualmachines", "a")).body.root());
}

TEST_P(LookupsContract, WhatIsNotThereIsNothing) {
  create(collection("kubevirt.io/v1", "virtualmachines"), vm("a"));
  EXPECT_EQ(get(vms, ns_, "b"), nullptr);
  EXPECT_EQ(get(vms, make_namespace(), "a"), nullptr) << "in another namespace";
  EXPECT_EQ(get(vms, "no-such-namespace", "a"), nullptr);
  EXPECT_EQ(get("kubevirt.io/virtualmachineinstances", ns_, "a"), nullptr) << "of another kind";
}

TEST_P(LookupsContract, ObjectsOfTheWholeCluster) {
  create("/apis/instancetype.kubevirt.io/v1beta1/virtualmachineclusterinstancetypes",
         fmt::format(R"({{"apiVersion":"instancetype.kubevirt.io/v1beta1","kind":"VirtualMachineClusterInstancetype",)"
                     R"("metadata":{{"name":"{}"}},"spec":{{"cpu":{{"guest":1}},"memory":{{"guest":"1Gi"}}}}}})",
                     ns_));
  constexpr std::string_view types = "instancetype.kubevirt.io/virtualmachineclusterinstancetypes";
  const auto found = get(types, "", ns_);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_TRUE(*found);
  EXPECT_EQ(get(types, "", "another"), nullptr);
}

TEST_P(LookupsContract, NamesThatCannotBeAskedForAreNoAnswer) {
  make_preset("p", "x");
  for (const std::string_view resource : {vms, presets})
    for (const std::string_view name : {"", ".", "..", "p/status", "p%2f", "../x/p"}) {
      const auto found = get(resource, ns_, name);
      ASSERT_FALSE(found) << resource << " " << name;
      EXPECT_EQ(found.error().code, 400) << resource << " " << name;
    }
}

TEST_P(LookupsContract, ListsAreByName) {
  for (const std::string_view name : {"b", "a", "c"}) make_map(name);
  const std::string other = make_namespace();
  create(collection("v1", "configmaps", other), config_map("0"));
  EXPECT_THAT(list(config_maps, ns_), ElementsAre("a", "b", "c"));
  EXPECT_THAT(list(config_maps, other), ElementsAre("0"));
  EXPECT_THAT(list(config_maps, "no-such-namespace"), IsEmpty());
  EXPECT_THAT(list(config_maps, ""), ::testing::IsSupersetOf({"a", "b", "c", "0"}));
}

TEST_P(LookupsContract, ListedObjectsAreWhatTheirUsersSee) {
  make_map("a", R"(,"labels":{"x":"y"})", R"("k":"v")");
  json::Value listed;
  judge([&](const admission::Lookups& lookups) {
    const auto found = lookups.list(config_maps, ns_, memory_.storage());
    if (found && found->size() == 1) listed = *found->front();
  });
  EXPECT_EQ(listed, read(path_of("v1", "configmaps", "a")).body.root());
}

TEST_P(LookupsContract, ListsByOneLabel) {
  make_map("a", R"(,"labels":{"kind":"x","more":"z"})");
  make_map("b", R"(,"labels":{"kind":"y"})");
  make_map("c", R"(,"labels":{"kind":"x"})");
  make_map("d", R"(,"labels":{"kind":""})");
  make_map("e");
  EXPECT_THAT(labelled(config_maps, "kind", "x"), ElementsAre("a", "c"));
  EXPECT_THAT(labelled(config_maps, "kind", "z"), IsEmpty());
  EXPECT_THAT(labelled(config_maps, "kind", ""), ElementsAre("d")) << "an empty value is another thing than none";
  EXPECT_THAT(labelled(config_maps, "none", ""), IsEmpty());
}

// Some kinds are kept as copies in a cluster.
TEST_P(LookupsContract, SmallSetsAreTheSame) {
  EXPECT_THAT(list(presets, ns_), IsEmpty());
  EXPECT_EQ(get(presets, ns_, "b"), nullptr);
  make_preset("b", "x");
  make_preset("a", "y");
  EXPECT_THAT(list(presets, ns_), ElementsAre("a", "b"));
  EXPECT_THAT(labelled(presets, "kind", "x"), ElementsAre("b"));
  EXPECT_THAT(list(presets, make_namespace()), IsEmpty());
  const auto found = get(presets, ns_, "a");
  ASSERT_TRUE(found && *found);
  json::Value seen =
      without_managed_fields(read(path_of("kubevirt.io/v1", "virtualmachineinstancepresets", "a")).body.root());
  json::Value known = without_managed_fields(**found);
  for (json::Value* value : {&seen, &known}) json::erase(value->get_object(), "apiVersion");
  EXPECT_EQ(known, seen) << "in whatever version";
}

TEST_P(LookupsContract, ChangesAreSeen) {
  const std::string map = path_of("v1", "configmaps", "a");
  make_map("a", "", R"("k":"1")");
  const auto value = [&] {
    const auto found = get(config_maps, ns_, "a");
    return found && *found ? std::string(json::as_string(json::find_path(**found, {"data", "k"})).value_or("?"))
                           : "none";
  };
  EXPECT_EQ(value(), "1");
  merge(map, R"({"data":{"k":"2"}})");
  EXPECT_EQ(value(), "2");
  remove(map);
  EXPECT_EQ(value(), "none");

  make_preset("p", "x");
  EXPECT_THAT(labelled(presets, "kind", "x"), ElementsAre("p"));
  const std::string preset = path_of("kubevirt.io/v1", "virtualmachineinstancepresets", "p");
  const Reply changed = merge(preset, R"({"metadata":{"labels":{"kind":"y"}}})");
  world().await_copy(presets, ns_, "p", changed.version());
  EXPECT_THAT(labelled(presets, "kind", "x"), IsEmpty());
  EXPECT_THAT(labelled(presets, "kind", "y"), ElementsAre("p"));
  remove(preset);
  world().await_copy(presets, ns_, "p", "");
  EXPECT_THAT(list(presets, ns_), IsEmpty());
}

TEST_P(LookupsContract, OneAnswerMayLeadToTheNextQuestion) {
  make_map("a", "", R"("next":"b")");
  make_map("b", "", R"("next":"c")");
  make_map("c", "", R"("next":"")");
  std::string way;
  judge([&](const admission::Lookups& lookups) {
    way.clear();
    std::string name = "a";
    while (!name.empty()) {
      const auto found = lookups.get(config_maps, ns_, name, memory_.storage());
      if (!found || !*found) return;
      way += name;
      name = json::as_string(json::find_path(**found, {"data", "next"})).value_or("");
    }
    way += '.';
  });
  EXPECT_EQ(way, "abc.");
}

TEST_P(LookupsContract, ValuesBelongToWhoeverAsked) {
  make_map("a", "", R"("k":"1")");
  make_preset("p", "x");
  const std::pair<std::string_view, std::string_view> objects[] = {{config_maps, "a"}, {presets, "p"}};
  for (const auto& [resource, name] : objects) {
    bool changed = false;
    judge([&](const admission::Lookups& lookups) {
      const auto first = lookups.get(resource, ns_, name, memory_.storage());
      if (!first || !*first) return;
      (*first)->get_object()["metadata"] = nullptr;
      const auto second = lookups.get(resource, ns_, name, memory_.storage());
      changed = second && *second && json::get_object(**second, "metadata");
    });
    EXPECT_TRUE(changed) << resource << ": another look-up shows the object as it is";
  }
}

TEST_P(LookupsContract, WhoAsksForNothingFetchesNothing) {
  EXPECT_EQ(judge([](const admission::Lookups&) {}), 0);
  const auto session = world().lookups().open("somebody");
  run(session->fetch(world().core(0)));
  EXPECT_FALSE(session->lookups().missed());
}

TEST_P(LookupsContract, EverythingThatIsMissingComesAtOnce) {
  constexpr int count = 40;
  for (int i = 0; i < count; ++i) make_map(fmt::format("m{}", i));
  int found = 0;
  const int fetched = judge([&](const admission::Lookups& lookups) {
    found = 0;
    for (int i = 0; i < count; ++i) {
      const auto map = lookups.get(config_maps, ns_, fmt::format("m{}", i), memory_.storage());
      found += map && *map ? 1 : 0;
    }
    const auto all = lookups.list(config_maps, ns_, memory_.storage());
    found += all ? static_cast<int>(all->size()) : 0;
  });
  EXPECT_EQ(found, 2 * count);
  EXPECT_LE(fetched, 1);
}

// However many were asked for: they have one time together.
TEST_P(LookupsContract, WhereNobodyAnswersItIsSaidSoonThatNothingIsKnown) {
  constexpr int count = 40;
  std::set<int> codes;
  const auto began = std::chrono::steady_clock::now();
  judge(world().lost_lookups(), [&](const admission::Lookups& lookups) {
    codes.clear();
    for (int i = 0; i < count; ++i) {
      const auto maps = lookups.list(config_maps, fmt::format("n{}", i), memory_.storage());
      codes.insert(maps ? 200 : maps.error().code);
    }
  });
  EXPECT_LT(std::chrono::steady_clock::now() - began, count * World::lost_time / 4);
  for (const int code : codes) EXPECT_TRUE(admission::may_pass(code)) << code;
}

TEST_P(LookupsContract, EveryFetchEndsOnItsCore) {
  make_map("a");
  for (const std::size_t core : {0u, 1u}) {
    Result<json::Value*> found = nullptr;
    judge([&](const admission::Lookups& lookups) { found = lookups.get(config_maps, ns_, "a", memory_.storage()); },
          core);
    EXPECT_TRUE(found && *found);
  }
}

TEST_P(LookupsContract, AListThatIsTooLongIsNoList) {
  const std::string text(limits::mib - limits::kib, 'x');
  for (std::size_t bytes = 0, i = 0; bytes <= limits::lookup_list_bytes_max; bytes += text.size(), ++i)
    make_map(fmt::format("m{}", i), i == 0 ? R"(,"labels":{"first":"yes"})" : "", fmt::format(R"("k":"{}")", text));
  EXPECT_THAT(list(config_maps, ns_), ElementsAre("500"));
  EXPECT_THAT(labelled(config_maps, "first", "yes"), ElementsAre("m0"));
  world().ask("DELETE", collection("v1", "configmaps"), {}, {});
}

INSTANTIATE_TEST_SUITE_P(lookups, LookupsContract, both_modes(), mode_name);

}  // namespace
}  // namespace vg::contract
