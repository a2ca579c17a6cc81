#include <algorithm>
#include <array>

#include "resources/core_kinds/testing.h"

namespace vg::resources::core_kinds {
namespace {

// One good object of every kind in the table, with something in every part that the kind completes.
constexpr std::array<std::string_view, 19> samples = {
    R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}})",
    R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},
        "spec":{"podCIDR":"10.1.0.0/24","taints":[{"key":"a","effect":"NoSchedule"},{"key":"a","effect":"NoExecute"}]},
        "status":{"capacity":{"cpu":"4","memory":"8Gi"}}})",
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"n"},"spec":{
        "containers":[{"name":"c","image":"i:1","ports":[{"containerPort":80}],
          "volumeMounts":[{"name":"v","mountPath":"/v"}],
          "livenessProbe":{"httpGet":{"port":80}},
          "env":[{"name":"N","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],
          "resources":{"limits":{"cpu":"1","memory":"1Gi"}}}],
        "volumes":[{"name":"v"},{"name":"s","secret":{"secretName":"s"}},{"name":"h","hostPath":{"path":"/h"}},
          {"name":"p","projected":{"sources":[{"serviceAccountToken":{"path":"t"}},
            {"downwardAPI":{"items":[{"path":"l","fieldRef":{"fieldPath":"metadata.labels"}}]}}]}},
          {"name":"e","ephemeral":{"volumeClaimTemplate":{"spec":{"accessModes":["ReadWriteOnce"],
            "resources":{"requests":{"storage":"1Gi"}}}}}}],
        "tolerations":[{"key":"a","operator":"Exists"}]}})",
    R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"n"},"stringData":{"a":"b"}})",
    R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"n"},
        "data":{"a":"b"},"binaryData":{"c":"ZA=="}})",
    R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"n"},
        "spec":{"type":"LoadBalancer","selector":{"a":"b"},"sessionAffinity":"ClientIP","ports":[{"port":80}]}})",
    R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"s","namespace":"n"},"secrets":[{"name":"x"}]})",
    R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"c","namespace":"n"},
        "spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}},
          "dataSource":{"kind":"PersistentVolumeClaim","name":"other"}}})",
    R"({"apiVersion":"v1","kind":"Event","metadata":{"name":"e","namespace":"n"},"involvedObject":{"namespace":"n"}})",
    R"({"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q","namespace":"n"},
        "spec":{"hard":{"pods":"4","requests.cpu":"1"},"scopes":["NotTerminating"]}})",
    R"({"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"r","namespace":"n"},
        "data":{"a":[]},"revision":1})",
    R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"p"},"value":10})",
    R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"s"},"provisioner":"example.com/x"})",
    R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"r","namespace":"n"},
        "rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]})",
    R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"r"},
        "rules":[{"verbs":["get"],"nonResourceURLs":["/healthz"]}]})",
    R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"r","namespace":"n"},
        "roleRef":{"kind":"Role","name":"r"},
        "subjects":[{"kind":"User","name":"u"},{"kind":"ServiceAccount","name":"s"}]})",
    R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"r"},
        "roleRef":{"kind":"ClusterRole","name":"r"},"subjects":[{"kind":"Group","name":"g"}]})",
    R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
        "metadata":{"name":"things.example.com"},
        "spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"things","kind":"Thing"},
          "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}})",
    R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"l","namespace":"n"},
        "spec":{"leaseDurationSeconds":15,"leaseTransitions":0}})",
};

TEST(CoreKinds, SamplesCoverTheTable) {
  std::size_t covered = 0;
  for (const api::Kind& kind : api::kinds()) {
    if (!find_strategy(kind.group, kind.kind)) continue;
    ++covered;
    const bool sampled = std::ranges::any_of(samples, [&](std::string_view sample) {
      const auto document = read(sample);
      return &kind_of(document.root()) == &kind;
    });
    EXPECT_TRUE(sampled) << kind.kind;
  }
  EXPECT_EQ(covered, samples.size());
}

TEST(CoreKinds, NothingParticularForOthers) {
  EXPECT_EQ(find_strategy("kubevirt.io", "VirtualMachine"), nullptr);
  EXPECT_EQ(find_strategy("apps", "Pod"), nullptr);
}

TEST(CoreKinds, SamplesAreAcceptedAndStayCanonical) {
  for (const std::string_view sample : samples) {
    const Outcome made = create(sample);
    EXPECT_EQ(made.causes, CauseList()) << sample;
    EXPECT_EQ(json::to_text(read(made.whole()).root(), {.sort_keys = true}), made.whole());
  }
}

TEST(CoreKinds, WritingTheSameAgainChangesNothing) {
  for (const std::string_view sample : samples) {
    const Outcome made = create(sample);
    for (const std::string_view subresource : {"", "status"}) {
      const Outcome again = write_object(made.whole(), &made.object, subresource);
      EXPECT_EQ(again.causes, CauseList()) << sample;
      EXPECT_EQ(again.whole(), made.whole());
    }
    // The manifest itself, without what the server filled in, as `kubectl replace` sends it.
    const Outcome replaced = write_object(sample, &made.object);
    if (json::get_string_or(made.object.root(), "kind") == "Pod") continue;  // its service account would be taken away
    EXPECT_EQ(replaced.causes, CauseList()) << sample;
    EXPECT_EQ(replaced.whole(), made.whole());
  }
}

// No input may take a rule by surprise: objects that hold nothing are only refused.
TEST(CoreKinds, EmptyObjectsAreNoSurprise) {
  for (const api::Kind& kind : api::kinds()) {
    if (!find_strategy(kind.group, kind.kind)) continue;
    const std::string api_version =
        kind.group.empty() ? "v1" : std::string(kind.group) + "/" + std::string(kind.versions[0].name);
    const std::string text =
        R"({"apiVersion":")" + api_version + R"(","kind":")" + std::string(kind.kind) + R"(","metadata":{"name":"x"}})";
    const Outcome made = create(text);
    write_object(text, &made.object);
    write_object(text, &made.object, "status");
  }
}

}  // namespace
}  // namespace vg::resources::core_kinds
