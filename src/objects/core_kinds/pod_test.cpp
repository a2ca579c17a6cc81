#include <string>

#include "objects/core_kinds/testing.h"

namespace vg::resources::core_kinds {
namespace {

std::string pod(const std::string& spec) {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"n"},"spec":{)" + spec + "}}";
}
std::string container(const std::string& rest = "") {
  return R"("containers":[{"name":"c","image":"i:1")" + rest + "}]";
}
CauseList causes_of(const std::string& spec) { return create(pod(spec)).causes; }
CauseList container_causes(const std::string& rest) { return causes_of(container("," + rest)); }

TEST(CoreKindsPod, NeedsContainersWithNamesAndImages) {
  EXPECT_EQ(causes_of(""), one("Required", "spec.containers"));
  EXPECT_EQ(causes_of(R"("containers":[{},{"name":"C","image":" i"}])"),
            (CauseList{{"Required", "spec.containers[0].name"},
                       {"Required", "spec.containers[0].image"},
                       {"Invalid", "spec.containers[1].name"},
                       {"Invalid", "spec.containers[1].image"}}));
  EXPECT_EQ(causes_of(R"("containers":[{"name":"c","image":"i"},{"name":"c","image":"i"}],
                         "initContainers":[{"name":"c","image":"i"}])"),
            (CauseList{{"Duplicate", "spec.containers[1].name"}, {"Duplicate", "spec.initContainers[0].name"}}));
}

TEST(CoreKindsPod, Choices) {
  EXPECT_EQ(causes_of(R"("restartPolicy":"Sometimes","dnsPolicy":"Odd","preemptionPolicy":"",)" + container()),
            (CauseList{{"NotSupported", "spec.restartPolicy"},
                       {"NotSupported", "spec.dnsPolicy"},
                       {"Required", "spec.preemptionPolicy"}}));
  EXPECT_EQ(container_causes(R"("imagePullPolicy":"Often","terminationMessagePolicy":"Log")"),
            (CauseList{{"NotSupported", "spec.containers[0].terminationMessagePolicy"},
                       {"NotSupported", "spec.containers[0].imagePullPolicy"}}));
}

TEST(CoreKindsPod, Ports) {
  EXPECT_EQ(container_causes(R"("ports":[{"containerPort":0},{"containerPort":70000,"hostPort":-1,"protocol":"X"},
                                         {"name":"a","containerPort":1},{"name":"a","containerPort":2}])"),
            (CauseList{{"Required", "spec.containers[0].ports[0].containerPort"},
                       {"Invalid", "spec.containers[0].ports[1].containerPort"},
                       {"Invalid", "spec.containers[0].ports[1].hostPort"},
                       {"NotSupported", "spec.containers[0].ports[1].protocol"},
                       {"Duplicate", "spec.containers[0].ports[3].name"}}));
  EXPECT_EQ(causes_of(R"("containers":[{"name":"a","image":"i","ports":[{"containerPort":1,"hostPort":8}]},
                                       {"name":"b","image":"i","ports":[{"containerPort":2,"hostPort":8}]}])"),
            one("Duplicate", "spec.containers[1].ports[0].hostPort"));
  EXPECT_EQ(causes_of(R"("hostNetwork":true,)" + container(R"(,"ports":[{"containerPort":1,"hostPort":2}])")),
            one("Invalid", "spec.containers[0].ports[0].hostPort"));
}

TEST(CoreKindsPod, Variables) {
  EXPECT_EQ(
      container_causes(R"("env":[{"name":""},{"name":"A=B"},{"name":"1 x","value":"fine"},{"name":"C","valueFrom":{}},
      {"name":"D","value":"x","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}},
      {"name":"E","valueFrom":{"configMapKeyRef":{"name":"m","key":""}}},
      {"name":"F","valueFrom":{"fieldRef":{"fieldPath":"spec.nothing"}}},
      {"name":"G","valueFrom":{"fieldRef":{"fieldPath":"metadata.labels"}}},
      {"name":"H","valueFrom":{"fieldRef":{"fieldPath":"metadata.labels['a/b']"}}},
      {"name":"I","valueFrom":{"resourceFieldRef":{"resource":"limits.magic"}}}])"),
      (CauseList{{"Required", "spec.containers[0].env[0].name"},
                 {"Invalid", "spec.containers[0].env[1].name"},
                 {"Invalid", "spec.containers[0].env[3].valueFrom"},
                 {"Invalid", "spec.containers[0].env[4].valueFrom"},
                 {"Required", "spec.containers[0].env[5].valueFrom.configMapKeyRef.key"},
                 {"Invalid", "spec.containers[0].env[6].valueFrom.fieldRef.fieldPath"},
                 {"NotSupported", "spec.containers[0].env[7].valueFrom.fieldRef.fieldPath"},
                 {"NotSupported", "spec.containers[0].env[9].valueFrom.resourceFieldRef.resource"}}));
  EXPECT_EQ(container_causes(R"("envFrom":[{},{"prefix":"a=","secretRef":{"name":""}}])"),
            (CauseList{{"Invalid", "spec.containers[0].envFrom"},
                       {"Invalid", "spec.containers[0].envFrom[1].prefix"},
                       {"Required", "spec.containers[0].envFrom[1].secretRef.name"}}));
}

TEST(CoreKindsPod, MountsReferToVolumes) {
  EXPECT_EQ(container_causes(R"("volumeMounts":[{"name":"v","mountPath":"/v"}])"),
            one("NotFound", "spec.containers[0].volumeMounts[0].name"));
  const std::string volumes =
      R"(,"volumes":[{"name":"v","emptyDir":{}},{"name":"b","persistentVolumeClaim":{"claimName":"c"}}])";
  EXPECT_EQ(causes_of(container(R"(,"volumeMounts":[{"name":"v","mountPath":"/v"},{"name":"v","mountPath":"/v"},
      {"name":"v","mountPath":"","subPath":"../x","mountPropagation":"Bidirectional"}])") +
                      volumes),
            (CauseList{{"Invalid", "spec.containers[0].volumeMounts[1].mountPath"},
                       {"Required", "spec.containers[0].volumeMounts[2].mountPath"},
                       {"Invalid", "spec.containers[0].volumeMounts.subPath"},
                       {"Forbidden", "spec.containers[0].volumeMounts.mountPropagation"}}));
  EXPECT_EQ(
      causes_of(
          container(R"(,"volumeDevices":[{"name":"b","devicePath":"/dev/b"},{"name":"v","devicePath":"/dev/../v"}])") +
          volumes),
      (CauseList{{"Invalid", "spec.containers[0].volumeDevices[1].name"},
                 {"Invalid", "spec.containers[0].volumeDevices[1].devicePath"}}));
}

TEST(CoreKindsPod, Volumes) {
  const auto volumes = [](const std::string& list) { return causes_of(container() + R"(,"volumes":[)" + list + "]"); };
  EXPECT_EQ(volumes(R"({"name":"a"},{"name":"a"},{"name":"B"},{})"), (CauseList{{"Duplicate", "spec.volumes[1].name"},
                                                                                {"Invalid", "spec.volumes[2].name"},
                                                                                {"Required", "spec.volumes[3].name"}}));
  EXPECT_EQ(volumes(R"({"name":"a","emptyDir":{"sizeLimit":"-1"},"secret":{}})"),
            (CauseList{{"Forbidden", "spec.volumes[0].emptyDir.sizeLimit"}, {"Forbidden", "spec.volumes[0].secret"}}));
  EXPECT_EQ(volumes(R"({"name":"a","hostPath":{"path":"/a/../b","type":"Odd"}},{"name":"b","persistentVolumeClaim":{}},
                       {"name":"c","configMap":{"defaultMode":512,"items":[{"key":"","path":"/x"}]}},
                       {"name":"d","nfs":{"server":"s","path":"x"}})"),
            (CauseList{{"Invalid", "spec.volumes[0].hostPath.path"},
                       {"NotSupported", "spec.volumes[0].hostPath.type"},
                       {"Required", "spec.volumes[1].persistentVolumeClaim.claimName"},
                       {"Required", "spec.volumes[2].configMap.name"},
                       {"Invalid", "spec.volumes[2].configMap.defaultMode"},
                       {"Required", "spec.volumes[2].configMap.items[0].key"},
                       {"Invalid", "spec.volumes[2].configMap.items[0].path"},
                       {"Invalid", "spec.volumes[3].nfs.path"}}));
  EXPECT_EQ(volumes(R"({"name":"a","downwardAPI":{"items":[{"path":"x"}]}},
                       {"name":"b","projected":{"sources":[{"secret":{"name":"s","items":[{"key":"k","path":"x"}]}},
                         {"configMap":{"name":"m","items":[{"key":"k","path":"x"}]}},
                         {"serviceAccountToken":{"path":"","expirationSeconds":1}}]}})"),
            (CauseList{{"Required", "spec.volumes[0].downwardAPI"},
                       {"Invalid", "spec.volumes[1].projected"},
                       {"Invalid", "spec.volumes[1].projected.sources[2].serviceAccountToken.expirationSeconds"},
                       {"Required", "spec.volumes[1].projected.path"}}));
}

TEST(CoreKindsPod, Probes) {
  EXPECT_EQ(container_causes(R"("livenessProbe":{"successThreshold":2,"exec":{"command":[]},"httpGet":{"port":0}},
      "readinessProbe":{"terminationGracePeriodSeconds":5,"tcpSocket":{"port":"Web"}},
      "startupProbe":{"timeoutSeconds":-1},"lifecycle":{"preStop":{"sleep":{"seconds":31}}})"),
            (CauseList{{"Invalid", "spec.containers[0].lifecycle.preStop.sleep"},
                       {"Required", "spec.containers[0].livenessProbe.exec.command"},
                       {"Forbidden", "spec.containers[0].livenessProbe.httpGet"},
                       {"Invalid", "spec.containers[0].livenessProbe.successThreshold"},
                       {"Invalid", "spec.containers[0].readinessProbe.tcpSocket.port"},
                       {"Invalid", "spec.containers[0].readinessProbe.terminationGracePeriodSeconds"},
                       {"Required", "spec.containers[0].startupProbe"},
                       {"Invalid", "spec.containers[0].startupProbe.timeoutSeconds"}}));
  EXPECT_EQ(
      causes_of(container() + R"(,"initContainers":[{"name":"a","image":"i","livenessProbe":{"exec":{"command":["x"]}}},
      {"name":"b","image":"i","restartPolicy":"Always","livenessProbe":{"exec":{"command":["x"]}}}])"),
      one("Forbidden", "spec.initContainers[0].livenessProbe"));
}

TEST(CoreKindsPod, Resources) {
  EXPECT_EQ(container_causes(R"("resources":{"limits":{"cpu":"1","hugepages-2Mi":"3Mi","pods":"1"},
      "requests":{"cpu":"2","memory":"-1","example.com/x":"1500m"}})"),
            (CauseList{{"Invalid", "spec.containers[0].resources.limits[hugepages-2Mi]"},
                       {"Invalid", "spec.containers[0].resources.limits[pods]"},
                       {"Invalid", "spec.containers[0].resources.requests[example.com/x]"},
                       {"Invalid", "spec.containers[0].resources.requests[memory]"},
                       {"Invalid", "spec.containers[0].resources.requests[hugepages-2Mi]"},
                       {"Invalid", "spec.containers[0].resources.requests[pods]"},
                       {"Invalid", "spec.containers[0].resources.requests"},
                       {"Required", "spec.containers[0].resources.limits"}}));
  EXPECT_EQ(container_causes(R"("resources":{"limits":{"hugepages-1Gi":"2Gi"}})"),
            one("Forbidden", "spec.containers[0].resources"));
  EXPECT_EQ(container_causes(
                R"("resources":{"limits":{"memory":"1Gi","hugepages-1Gi":"2Gi","devices.kubevirt.io/kvm":"1"}})"),
            CauseList());
}

TEST(CoreKindsPod, Security) {
  EXPECT_EQ(container_causes(R"("securityContext":{"runAsUser":-1,"privileged":true,"allowPrivilegeEscalation":false,
      "seccompProfile":{"type":"Localhost"}})"),
            (CauseList{{"Invalid", "spec.containers[0].securityContext.runAsUser"},
                       {"Required", "spec.containers[0].securityContext.seccompProfile.localhostProfile"},
                       {"Invalid", "spec.containers[0].securityContext"}}));
  EXPECT_EQ(causes_of(R"("securityContext":{"fsGroup":-1,"supplementalGroups":[1,-2],"fsGroupChangePolicy":"Odd"},)" +
                      container()),
            (CauseList{{"Invalid", "spec.securityContext.fsGroup"},
                       {"Invalid", "spec.securityContext.supplementalGroups[1]"},
                       {"NotSupported", "spec.securityContext.fsGroupChangePolicy"}}));
}

TEST(CoreKindsPod, Scheduling) {
  EXPECT_EQ(
      causes_of(container() + R"(,"nodeSelector":{"a":"b c"},"tolerations":[{"value":"x"},{"key":"a","operator":"Near"},
      {"key":"a","operator":"Exists","value":"x","effect":"NoSchedule","tolerationSeconds":1}],
      "topologySpreadConstraints":[{"maxSkew":0,"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule"},
        {"maxSkew":1,"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule"}])"),
      (CauseList{{"Invalid", "spec.nodeSelector"},
                 {"Invalid", "spec.topologySpreadConstraints[0].maxSkew"},
                 {"Duplicate", "spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}"},
                 {"Invalid", "spec.tolerations[0].operator"},
                 {"NotSupported", "spec.tolerations[1].operator"},
                 {"Invalid", "spec.tolerations[2].effect"},
                 {"Invalid", "spec.tolerations[2].operator"}}));
}

TEST(CoreKindsPod, Affinity) {
  const auto affinity = [](const std::string& text) {
    return causes_of(container() + R"(,"affinity":{)" + text + "}");
  };
  EXPECT_EQ(
      affinity(R"("nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[]}})"),
      one("Required", "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"));
  EXPECT_EQ(
      affinity(R"("nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":101,"preference":
      {"matchExpressions":[{"key":"a","operator":"In","values":["not a label"]}],
       "matchFields":[{"key":"spec","operator":"In","values":["x"]}]}}]})"),
      (CauseList{{"Invalid", "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight"},
                 {"Invalid",
                  "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference."
                  "matchFields[0].key"}}));
  EXPECT_EQ(affinity(
                R"("podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{
              "topologyKey":"kubernetes.io/hostname",
      "labelSelector":{"matchExpressions":[{"key":"a","operator":"Odd"}]}}]})"),
            one("Invalid",
                "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector."
                "matchExpressions[0].operator"));
}

TEST(CoreKindsPod, NamesAndNumbers) {
  EXPECT_EQ(
      causes_of(container() + R"(,"nodeName":"N","hostname":"a.b","activeDeadlineSeconds":0,"priorityClassName":"P",
      "hostAliases":[{"ip":"x"}],"schedulingGates":[{"name":"a"},{"name":"a"}])"),
      (CauseList{{"Duplicate", "spec.schedulingGates[1]"},
                 {"Invalid", "spec.nodeName"},
                 {"Invalid", "spec.activeDeadlineSeconds"},
                 {"Invalid", "spec.hostname"},
                 {"Invalid", "spec.hostAliases[0].ip"},
                 {"Invalid", "spec.priorityClassName"},
                 {"Forbidden", "spec.nodeName"}}));
}

TEST(CoreKindsPod, Dns) {
  EXPECT_EQ(causes_of(R"("dnsPolicy":"None",)" + container()), one("Required", "spec.dnsConfig"));
  EXPECT_EQ(causes_of(
                R"("dnsConfig":{"nameservers":["1.1.1.1","x"],"searches":["_tcp.a_b.example.com.",".","A"],
             "options":[{}]},)" +
                container()),
            (CauseList{{"Invalid", "spec.dnsConfig.nameservers[1]"},
                       {"Invalid", "spec.dnsConfig.searches[2]"},
                       {"Required", "spec.dnsConfig.options[0]"}}));
}

TEST(CoreKindsPod, EphemeralContainersComeLater) {
  EXPECT_EQ(causes_of(container() + R"(,"ephemeralContainers":[{"name":"e","image":"i"}])"),
            one("Forbidden", "spec.ephemeralContainers"));
}

// What the server filled in must be sent back, as every client does that reads, changes and writes.
Outcome change(const std::string& spec, const std::string& pointer, const json::Value& value) {
  Outcome old = create(pod(spec));
  json::Document next = read(old.whole());
  json::Value* at = &next.root();
  for (std::string rest = pointer; !rest.empty();) {
    const std::size_t end = std::min(rest.find('/', 1), rest.size());
    const std::string name = rest.substr(1, end - 1);
    rest = rest.substr(end);
    at = at->is_array() ? &at->as_array()[std::stoul(name)] : &at->as_object()[name];
  }
  *at = value;
  return write_object(json::to_text(next.root()), &old.object);
}

TEST(CoreKindsPodChange, WhatMayChange) {
  EXPECT_EQ(change(container(), "/spec/containers/0/image", "other:2").causes, CauseList());
  EXPECT_EQ(change(container(), "/spec/activeDeadlineSeconds", 5).causes, CauseList());
  EXPECT_EQ(change(container(), "/spec/tolerations", {{{"key", "a"}, {"operator", "Exists"}}}).causes, CauseList());
  EXPECT_EQ(change(container(), "/metadata/labels", {{"a", "b"}}).causes, CauseList());
  EXPECT_EQ(change(container() + R"(,"schedulingGates":[{"name":"a"}])", "/spec/schedulingGates", json::Array()).causes,
            CauseList());
  EXPECT_EQ(change(container() + R"(,"schedulingGates":[{"name":"a"}])", "/spec/nodeSelector", {{"a", "b"}}).causes,
            CauseList());
}

TEST(CoreKindsPodChange, TheSpecIsCounted) {
  EXPECT_EQ(create(pod(container())).at("/metadata/generation"), "1");
  EXPECT_EQ(change(container(), "/metadata/labels", {{"a", "b"}}).at("/metadata/generation"), "1");
  EXPECT_EQ(change(container(), "/spec/containers/0/image", "other:2").at("/metadata/generation"), "2");
}

TEST(CoreKindsPodChange, WhatStays) {
  EXPECT_EQ(change(container(), "/spec/nodeName", "n").causes, one("Forbidden", "spec"));
  EXPECT_EQ(change(container(), "/spec/nodeSelector", {{"a", "b"}}).causes, one("Forbidden", "spec"));
  EXPECT_EQ(change(container(), "/spec/containers/0/command", {"x"}).causes, one("Forbidden", "spec"));
  EXPECT_EQ(change(container(R"(,"resources":{"limits":{"memory":"1Gi"}})"),
                   "/spec/containers/0/resources/limits/memory", "2Gi")
                .causes,
            one("Forbidden", "spec"));
  EXPECT_EQ(change(container() + R"(,"activeDeadlineSeconds":5)", "/spec/activeDeadlineSeconds", 6).causes,
            one("Invalid", "spec.activeDeadlineSeconds"));
  EXPECT_EQ(change(container() + R"(,"tolerations":[{"key":"a"}])", "/spec/tolerations", json::Array()).causes,
            one("Forbidden", "spec.tolerations"));
  EXPECT_EQ(change(container(), "/spec/schedulingGates", {{{"name", "a"}}}).causes,
            one("Forbidden", "spec.schedulingGates[0].name"));
  EXPECT_EQ(change(container() + R"(,"schedulingGates":[{"name":"a"}],"nodeSelector":{"a":"b"})", "/spec/nodeSelector",
                   {{"c", "d"}})
                .causes,
            one("Invalid", "spec.nodeSelector"));
}

TEST(CoreKindsPodChange, ContainersStay) {
  const Outcome more =
      update(pod(container()), pod(R"("containers":[{"name":"c","image":"i"},{"name":"d","image":"i"}])"));
  EXPECT_EQ(more.causes, one("Forbidden", "spec.containers"));
}

TEST(CoreKindsPodChange, Status) {
  const auto status = [](const std::string& text) {
    std::string next = pod(container());
    next.pop_back();
    return update(pod(container()), next + R"(,"status":{)" + text + "}}", "status").causes;
  };
  EXPECT_EQ(status(R"("phase":"Running","podIP":"10.0.0.1","hostIP":"10.0.0.2","hostIPs":[{"ip":"10.0.0.2"}],
      "conditions":[{"type":"Ready","status":"True"},
        {"type":"kubevirt.io/virtual-machine-unpaused","status":"True"}])"),
            CauseList());
  EXPECT_EQ(
      status(
          R"("qosClass":"Guaranteed","podIPs":[{"ip":"10.0.0.1"},{"ip":"10.0.0.2"}],"hostIP":"x","hostIPs":[{"ip":"y"}],
      "conditions":[{"type":"not a name","status":"True"}])"),
      (CauseList{{"Invalid", "status.conditions[0].Type"},
                 {"Invalid", "status.qosClass"},
                 {"Invalid", "status.podIPs"},
                 {"Invalid", "status.hostIPs[0].ip"},
                 {"Invalid", "status.hostIPs[0]"}}));
}

}  // namespace
}  // namespace vg::resources::core_kinds
