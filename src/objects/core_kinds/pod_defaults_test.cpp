#include <string>

#include "objects/core_kinds/testing.h"

namespace vg::resources::core_kinds {
namespace {

std::string pod(const std::string& spec, const std::string& rest = "") {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"n"},"spec":{)" + spec + "}" + rest +
         "}";
}
std::string container(const std::string& rest) { return R"("containers":[{"name":"c","image":"i")" + rest + "}]"; }

TEST(CoreKindsPodDefaults, TheSmallestPod) {
  const Outcome made = create(pod(container("")));
  EXPECT_EQ(made.causes, CauseList());
  EXPECT_EQ(made.at("/spec"), R"({"containers":[{"image":"i","imagePullPolicy":"Always","name":"c","resources":{},)"
                              R"("terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],)"
                              R"("dnsPolicy":"ClusterFirst","enableServiceLinks":true,"restartPolicy":"Always",)"
                              R"("schedulerName":"default-scheduler","securityContext":{},"serviceAccount":"default",)"
                              R"("serviceAccountName":"default","terminationGracePeriodSeconds":30})");
  EXPECT_EQ(made.at("/status"), R"({"phase":"Pending","qosClass":"BestEffort"})");
}

TEST(CoreKindsPodDefaults, WhatIsSaidStays) {
  const Outcome made = create(pod(
      R"("restartPolicy":"Never","dnsPolicy":"Default","terminationGracePeriodSeconds":0,"enableServiceLinks":false,
         "serviceAccount":"sa","securityContext":{"runAsUser":107},)" +
      container(R"(,"imagePullPolicy":"Never","terminationMessagePath":"/x")")));
  EXPECT_EQ(made.at("/spec/restartPolicy"), R"("Never")");
  EXPECT_EQ(made.at("/spec/dnsPolicy"), R"("Default")");
  EXPECT_EQ(made.at("/spec/terminationGracePeriodSeconds"), "0");
  EXPECT_EQ(made.at("/spec/enableServiceLinks"), "false");
  EXPECT_EQ(made.at("/spec/serviceAccountName"), R"("sa")");
  EXPECT_EQ(made.at("/spec/securityContext"), R"({"runAsUser":107})");
  EXPECT_EQ(made.at("/spec/containers/0/imagePullPolicy"), R"("Never")");
  EXPECT_EQ(made.at("/spec/containers/0/terminationMessagePath"), R"("/x")");
}

TEST(CoreKindsPodDefaults, MirrorPodsGetNoServiceAccount) {
  const Outcome made = create(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"n",
          "annotations":{"kubernetes.io/config.mirror":"x"}},
          "spec":{"nodeName":"a",)" +
      container("") + "}}");
  EXPECT_EQ(made.at("/spec/serviceAccountName"), "");
  EXPECT_EQ(made.causes, CauseList());
}

TEST(CoreKindsPodDefaults, Probes) {
  const Outcome made = create(pod(container(
      R"(,"livenessProbe":{"httpGet":{"port":80}},"readinessProbe":{"tcpSocket":{"port":"web"},"periodSeconds":5},
          "startupProbe":{"grpc":{"port":1}},"lifecycle":{"preStop":{"httpGet":{"port":80,"path":"/bye"}}})")));
  EXPECT_EQ(made.causes, CauseList());
  EXPECT_EQ(made.at("/spec/containers/0/livenessProbe"),
            R"({"failureThreshold":3,"httpGet":{"path":"/","port":80,"scheme":"HTTP"},"periodSeconds":10,)"
            R"("successThreshold":1,"timeoutSeconds":1})");
  EXPECT_EQ(made.at("/spec/containers/0/readinessProbe/periodSeconds"), "5");
  EXPECT_EQ(made.at("/spec/containers/0/startupProbe/grpc"), R"({"port":1,"service":""})");
  EXPECT_EQ(made.at("/spec/containers/0/lifecycle/preStop/httpGet"), R"({"path":"/bye","port":80,"scheme":"HTTP"})");
}

TEST(CoreKindsPodDefaults, Volumes) {
  const Outcome made = create(pod(container("") + R"(,"volumes":[{"name":"a"},{"name":"b","secret":{"secretName":"s"}},
      {"name":"c","configMap":{"name":"m","defaultMode":256}},{"name":"d","hostPath":{"path":"/d"}},
      {"name":"e","downwardAPI":{"items":[{"path":"x","fieldRef":{"fieldPath":"metadata.labels"}}]}},
      {"name":"f","projected":{"sources":[{"serviceAccountToken":{"path":"t"}}]}},
      {"name":"g","image":{"reference":"quay.io/a:1"}}])"));
  EXPECT_EQ(made.causes, CauseList());
  EXPECT_EQ(made.at("/spec/volumes/0"), R"({"emptyDir":{},"name":"a"})");
  EXPECT_EQ(made.at("/spec/volumes/1/secret/defaultMode"), "420");
  EXPECT_EQ(made.at("/spec/volumes/2/configMap/defaultMode"), "256");
  EXPECT_EQ(made.at("/spec/volumes/3/hostPath"), R"({"path":"/d","type":""})");
  EXPECT_EQ(made.at("/spec/volumes/4/downwardAPI/items/0/fieldRef/apiVersion"), R"("v1")");
  EXPECT_EQ(made.at("/spec/volumes/5/projected/defaultMode"), "420");
  EXPECT_EQ(made.at("/spec/volumes/5/projected/sources/0/serviceAccountToken/expirationSeconds"), "3600");
  EXPECT_EQ(made.at("/spec/volumes/6/image/pullPolicy"), R"("IfNotPresent")");
}

TEST(CoreKindsPodDefaults, RequestsFollowLimits) {
  const Outcome made =
      create(pod(container(R"(,"resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"0.5"}})")));
  EXPECT_EQ(made.at("/spec/containers/0/resources/requests"), R"({"cpu":"500m","memory":"1Gi"})");
  EXPECT_EQ(made.at("/status/qosClass"), R"("Burstable")");
}

TEST(CoreKindsPodDefaults, HostNetworkPorts) {
  const Outcome made = create(pod(R"("hostNetwork":true,)" + container(R"(,"ports":[{"containerPort":80}])")));
  EXPECT_EQ(made.at("/spec/containers/0/ports"), R"([{"containerPort":80,"hostPort":80,"protocol":"TCP"}])");
}

TEST(CoreKindsPodDefaults, FinerThanAThousandthIsRoundedUp) {
  const Outcome made = create(pod(container(R"(,"resources":{"requests":{"cpu":"0.1001","memory":"1"}})")));
  EXPECT_EQ(made.at("/spec/containers/0/resources/requests"), R"({"cpu":"101m","memory":"1"})");
}

std::string quality(const std::string& first, const std::string& second = "") {
  const std::string more = second.empty() ? "" : R"(,{"name":"d","image":"i","resources":)" + second + "}";
  return create(pod(R"("containers":[{"name":"c","image":"i","resources":)" + first + "}" + more + "]"))
      .at("/status/qosClass");
}

TEST(CoreKindsPodDefaults, QualityOfService) {
  const std::string both = R"({"limits":{"cpu":"1","memory":"1Gi"}})";
  EXPECT_EQ(quality("{}"), R"("BestEffort")");
  EXPECT_EQ(quality(both), R"("Guaranteed")");
  EXPECT_EQ(quality(both, both), R"("Guaranteed")");
  EXPECT_EQ(quality(both, "{}"), R"("Burstable")");
  EXPECT_EQ(quality(R"({"limits":{"cpu":"1"}})"), R"("Burstable")");
  EXPECT_EQ(quality(R"({"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"1","memory":"1Mi"}})"),
            R"("Burstable")");
  EXPECT_EQ(quality(R"({"requests":{"example.com/x":"1"},"limits":{"example.com/x":"1"}})"), R"("BestEffort")");
}

TEST(CoreKindsPodDefaults, GatesAreShown) {
  const Outcome made = create(pod(container("") + R"(,"schedulingGates":[{"name":"a/b"}])"));
  EXPECT_EQ(made.at("/status/conditions/0/reason"), R"("SchedulingGated")");
  EXPECT_EQ(json::to_text(read(made.whole()).root(), {.sort_keys = true}), made.whole());
}

TEST(CoreKindsPodDefaults, AddressesOfStatusAgree) {
  const std::string plain = pod(container(""));
  const auto status = [&](const std::string& text) {
    return update(plain, pod(container(""), R"(,"status":{"phase":"Running",)" + text + "}"), "status");
  };
  EXPECT_EQ(status(R"("podIP":"10.0.0.1")").at("/status/podIPs"), R"([{"ip":"10.0.0.1"}])");
  EXPECT_EQ(status(R"("podIPs":[{"ip":"10.0.0.1"}])").at("/status/podIP"), R"("10.0.0.1")");
  EXPECT_EQ(status(R"("podIP":"10.0.0.2","podIPs":[{"ip":"10.0.0.1"}])").at("/status/podIPs"),
            R"([{"ip":"10.0.0.2"}])");
  EXPECT_EQ(status(R"("podIP":"10.0.0.1")").at("/status/qosClass"), R"("BestEffort")");
}

}  // namespace
}  // namespace vg::resources::core_kinds
