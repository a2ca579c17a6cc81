#include <algorithm>
#include <array>

#include "catalog/catalog.h"
#include "catalog/conversion.h"
#include "objects/core_kinds/testing.h"

namespace vg::resources::core_kinds {
namespace {

// One good object of every kind in the table, with something in every part that the kind completes.
constexpr std::array<std::string_view, 53> samples = {
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
    R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"x","uid":"u"},)"
    R"("spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"nfs":{"server":"s","path":"/p"}}})",
    R"({"apiVersion":"v1","kind":"Endpoints","metadata":{"name":"x","uid":"u","namespace":"n"},)"
    R"("subsets":[{"addresses":[{"ip":"10.0.0.1"},{"ip":"10.0.0.2"}],"ports":[{"port":80,"name":"a"},)"
    R"({"port":81,"name":"b"}]}]})",
    R"({"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"x","uid":"u","namespace":"n"},)"
    R"("spec":{"limits":[{"type":"Container","max":{"cpu":"2"}}]}})",
    R"({"apiVersion":"v1","kind":"PodTemplate","metadata":{"name":"x","uid":"u","namespace":"n"},)"
    R"("template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"c",)"
    R"("image":"registry/i:1"}]}}})",
    R"({"apiVersion":"v1","kind":"ReplicationController","metadata":{"name":"x","uid":"u","namespace":"n"},)"
    R"("spec":{"replicas":2,"template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"c",)"
    R"("image":"registry/i:1"}]}}}})",
    R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x","uid":"u","namespace":"n"},)"
    R"("spec":{"selector":{"matchLabels":{"app":"a"}},"template":{"metadata":{"labels":{"app":"a"}},)"
    R"("spec":{"containers":[{"name":"c","image":"registry/i:1"}]}}}})",
    R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"x","uid":"u","namespace":"n"},)"
    R"("spec":{"selector":{"matchLabels":{"app":"a"}},"template":{"metadata":{"labels":{"app":"a"}},)"
    R"("spec":{"containers":[{"name":"c","image":"registry/i:1"}]}}}})",
    R"({"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"x","uid":"u","namespace":"n"},)"
    R"("spec":{"selector":{"matchLabels":{"app":"a"}},"template":{"metadata":{"labels":{"app":"a"}},)"
    R"("spec":{"containers":[{"name":"c","image":"registry/i:1"}]}},"serviceName":"s",)"
    R"("volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],)"
    R"("resources":{"requests":{"storage":"1Gi"}}}}]}})",
    R"({"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"x","uid":"u","namespace":"n"},)"
    R"("spec":{"selector":{"matchLabels":{"app":"a"}},"template":{"metadata":{"labels":{"app":"a"}},)"
    R"("spec":{"containers":[{"name":"c","image":"registry/i:1"}]}}}})",
    R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"x","uid":"u","namespace":"n"},)"
    R"("spec":{"template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"c",)"
    R"("image":"registry/i:1"}],"restartPolicy":"Never"}}}})",
    R"({"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"x","uid":"u","namespace":"n"},)"
    R"("spec":{"schedule":"*/5 * * * *","jobTemplate":{"spec":{"template":{"metadata":{"labels":{"app":"a"}},)"
    R"("spec":{"containers":[{"name":"c","image":"registry/i:1"}],"restartPolicy":"Never"}}}}}})",
    R"({"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"x","uid":"u",)"
    R"("namespace":"n"},"spec":{"maxReplicas":3,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment",)"
    R"("name":"d"}}})",
    R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"x","uid":"u",)"
    R"("namespace":"n"},"spec":{"minAvailable":"50%","selector":{"matchLabels":{"app":"a"}}}})",
    R"({"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"x","uid":"u","namespace":"n"},)"
    R"("spec":{"rules":[{"host":"a.example","http":{"paths":[{"path":"/","pathType":"Prefix",)"
    R"("backend":{"service":{"name":"s","port":{"number":80}}}}]}}]}})",
    R"({"apiVersion":"networking.k8s.io/v1","kind":"IngressClass","metadata":{"name":"x","uid":"u"},)"
    R"("spec":{"controller":"example.com/c"}})",
    R"({"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"x","uid":"u",)"
    R"("namespace":"n"},"spec":{"podSelector":{"matchLabels":{"app":"a"}},"ingress":[{"ports":[{"port":80}],)"
    R"("from":[{"ipBlock":{"cidr":"10.0.0.0/8"}}]}]}})",
    R"({"apiVersion":"networking.k8s.io/v1","kind":"IPAddress","metadata":{"name":"10.0.0.1","uid":"u"},)"
    R"("spec":{"parentRef":{"resource":"services","namespace":"n","name":"s"}}})",
    R"({"apiVersion":"networking.k8s.io/v1","kind":"ServiceCIDR","metadata":{"name":"x","uid":"u"},)"
    R"("spec":{"cidrs":["10.96.0.0/16"]}})",
    R"({"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"x","uid":"u",)"
    R"("namespace":"n"},"addressType":"IPv4","endpoints":[{"addresses":["10.0.0.1"]}],"ports":[{"port":80}]})",
    R"({"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":{"name":"x",)"
    R"("uid":"u"},)"
    R"("spec":{"request":"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlITk1IVUNBUUF3RXpFUk1BOEdBMVVFQXd3S)"
    R"(WMyOXRaV0p2Wkhrd1dUQVRCZ2NxaGtqT1BRSUJCZ2dxaGtqTwpQUU1CQndOQ0FBUUtvTURqTnpHRW4wZmgrZnJoWWZFaE45bjhEQ1ZQV)"
    R"(DNZMGVtQzRrdjkzS295anNaSmYzaWZGCkZhTlAyeWVIdVVoR0hXOTlhWURxZU5BM1FGWSszdW02b0FBd0NnWUlLb1pJemowRUF3SURTQ)"
    R"(UF3UlFJZ0NMcUIKd080Y2E3dFFuY1R4MlpGUWd2ZldvZkplanZ4N25TY1FQSU5rZmYwQ0lRQ1QrSVRUclVWWDZlanNGUzYrSzYvKwp0Z)"
    R"(EhXOXI4QndFdUE2ZGlSZmZmWmRnPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==",)"
    R"("signerName":"example.com/s","usages":["client auth"]}})",
    R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment","metadata":{"name":"x","uid":"u"},)"
    R"("spec":{"attacher":"csi.example","nodeName":"n","source":{"persistentVolumeName":"pv"}}})",
    R"({"apiVersion":"storage.k8s.io/v1","kind":"CSIDriver","metadata":{"name":"csi.example","uid":"u"},)"
    R"("spec":{}})",
    R"({"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":"x","uid":"u"},)"
    R"("spec":{"drivers":[{"name":"d","nodeID":"n"}]}})",
    R"({"apiVersion":"storage.k8s.io/v1","kind":"CSIStorageCapacity","metadata":{"name":"x","uid":"u",)"
    R"("namespace":"n"},"storageClassName":"c","capacity":"5Gi"})",
    R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttributesClass","metadata":{"name":"x","uid":"u"},)"
    R"("driverName":"d","parameters":{"iops":"100"}})",
    R"({"apiVersion":"node.k8s.io/v1","kind":"RuntimeClass","metadata":{"name":"x","uid":"u"},"handler":"kata"})",
    R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"x","uid":"u",)"
    R"("namespace":"n"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu"}}]}}})",
    R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate","metadata":{"name":"x","uid":"u",)"
    R"("namespace":"n"},"spec":{"spec":{"devices":{"requests":[{"name":"r",)"
    R"("exactly":{"deviceClassName":"gpu"}}]}}}})",
    R"({"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"x","uid":"u"},)"
    R"("spec":{"selectors":[{"cel":{"expression":"true"}}]}})",
    R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"x","uid":"u"},)"
    R"("spec":{"driver":"gpu.example","nodeName":"n","pool":{"name":"p","generation":1,"resourceSliceCount":1},)"
    R"("devices":[{"name":"d0","attributes":{"model":{"string":"x"}},"capacity":{"memory":{"value":"4Gi"}}}]}})",
    R"({"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"FlowSchema","metadata":{"name":"x","uid":"u"},)"
    R"("spec":{"priorityLevelConfiguration":{"name":"p"},"distinguisherMethod":{"type":"ByUser"},"rules":[)"
    R"({"subjects":[{"kind":"User","user":{"name":"*"}}],"nonResourceRules":[)"
    R"({"verbs":["get"],"nonResourceURLs":["/healthz"]}]}]}})",
    R"({"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"PriorityLevelConfiguration","metadata":{"name":"x",)"
    R"("uid":"u"},"spec":{"type":"Limited","limited":{"limitResponse":{"type":"Queue","queuing":{}}}}})",
    R"({"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"x",)"
    R"("uid":"u"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":["apps"],"apiVersions":["v1"],)"
    R"("operations":["CREATE"],"resources":["deployments"]}]},"validations":[{"expression":"true"}]}})",
    R"({"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicyBinding","metadata":{"name":"x",)"
    R"("uid":"u"},"spec":{"policyName":"p","validationActions":["Deny"]}})",
};

TEST(CoreKinds, SamplesCoverTheTable) {
  std::size_t covered = 0;
  for (const api::Kind& kind : api::kinds()) {
    if (!find_strategy(kind.group, kind.kind)) continue;
    if (find_resource(kind.group, kind.versions[0].name, kind.plural)->conversion) continue;
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
    const std::string_view kind = json::get_string_or(made.object.root(), "kind");
    if (kind == "Pod" || kind == "Job") continue;  // the service account or the selector would be taken away
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
