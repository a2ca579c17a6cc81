#include <string>

#include "objects/core_kinds/testing.h"

namespace vg::resources::core_kinds {
namespace {

std::string service(const std::string& spec) {
  return R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"n"},"spec":{)" + spec + "}}";
}
const std::string port = R"("ports":[{"port":80}])";

TEST(CoreKindsService, IsCompletedOnCreate) {
  const Outcome made = create(service(R"("selector":{"a":"b"},)" + port));
  EXPECT_EQ(made.causes, CauseList());
  EXPECT_EQ(made.at("/spec"),
            R"({"internalTrafficPolicy":"Cluster","ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack",)"
            R"("ports":[{"port":80,"protocol":"TCP","targetPort":80}],"selector":{"a":"b"},)"
            R"("sessionAffinity":"None","type":"ClusterIP"})");
  EXPECT_EQ(made.at("/status"), R"({"loadBalancer":{}})");
}

TEST(CoreKindsService, AddressesAreKeptButNotInvented) {
  EXPECT_EQ(create(service(port)).at("/spec/clusterIP"), "");
  EXPECT_EQ(create(service(R"("clusterIP":"10.96.0.10",)" + port)).at("/spec/clusterIPs"), R"(["10.96.0.10"])");
  const Outcome v6 = create(service(R"("clusterIP":"fd00::1",)" + port));
  EXPECT_EQ(v6.at("/spec/ipFamilies"), R"(["IPv6"])");
}

TEST(CoreKindsService, Headless) {
  const Outcome plain = create(service(R"("clusterIP":"None","selector":{"a":"b"})"));
  EXPECT_EQ(plain.causes, CauseList());
  EXPECT_EQ(plain.at("/spec/clusterIPs"), R"(["None"])");
  EXPECT_EQ(plain.at("/spec/ipFamilyPolicy"), R"("SingleStack")");
  const Outcome by_hand = create(service(R"("clusterIP":"None")"));
  EXPECT_EQ(by_hand.at("/spec/ipFamilyPolicy"), R"("RequireDualStack")");
  EXPECT_EQ(by_hand.at("/spec/ipFamilies"), R"(["IPv4","IPv6"])");
  EXPECT_EQ(create(service(R"("type":"NodePort","clusterIP":"None",)" + port)).causes,
            one("Invalid", "spec.clusterIPs[0]"));
}

TEST(CoreKindsService, LoadBalancer) {
  const Outcome made = create(service(R"("type":"LoadBalancer",)" + port));
  EXPECT_EQ(made.causes, CauseList());
  EXPECT_EQ(made.at("/spec/externalTrafficPolicy"), R"("Cluster")");
  EXPECT_EQ(made.at("/spec/allocateLoadBalancerNodePorts"), "true");
  EXPECT_EQ(create(service(R"("loadBalancerSourceRanges":["10.0.0.0/8"],"loadBalancerClass":"a/b",)" + port)).causes,
            (CauseList{{"Forbidden", "spec.LoadBalancerSourceRanges"}, {"Forbidden", "spec.loadBalancerClass"}}));
}

TEST(CoreKindsService, SessionAffinity) {
  const Outcome made = create(service(R"("sessionAffinity":"ClientIP",)" + port));
  EXPECT_EQ(made.at("/spec/sessionAffinityConfig"), R"({"clientIP":{"timeoutSeconds":10800}})");
  EXPECT_EQ(
      create(service(R"("sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":{"timeoutSeconds":86401}},)" +
                     port))
          .causes,
      one("Invalid", "spec.sessionAffinityConfig.clientIP.timeoutSeconds"));
  EXPECT_EQ(create(service(R"("sessionAffinity":"Sticky",)" + port)).causes,
            one("NotSupported", "spec.sessionAffinity"));
}

TEST(CoreKindsService, ExternalName) {
  const Outcome made = create(service(R"("type":"ExternalName","externalName":"example.com.")"));
  EXPECT_EQ(made.causes, CauseList());
  EXPECT_EQ(made.at("/spec/ipFamilies"), "");
  EXPECT_EQ(create(service(R"("type":"ExternalName","clusterIP":"10.0.0.1")")).causes,
            (CauseList{{"Forbidden", "spec.clusterIPs"}, {"Required", "spec.externalName"}}));
}

TEST(CoreKindsService, Ports) {
  EXPECT_EQ(create(service(R"("selector":{"a":"b"})")).causes, one("Required", "spec.ports"));
  EXPECT_EQ(
      create(service(R"("ports":[{"port":0,"targetPort":"Web"},{"name":"a","port":80,"protocol":"ICMP"}])")).causes,
      (CauseList{{"Required", "spec.ports[0].name"},
                 {"Invalid", "spec.ports[0].port"},
                 {"Invalid", "spec.ports[0].targetPort"},
                 {"NotSupported", "spec.ports[1].protocol"}}));
  EXPECT_EQ(create(service(R"("ports":[{"name":"a","port":80},{"name":"a","port":80}])")).causes,
            (CauseList{{"Duplicate", "spec.ports[1].name"}, {"Duplicate", "spec.ports[1]"}}));
  EXPECT_EQ(create(service(R"("ports":[{"port":80,"nodePort":30080}])")).causes,
            one("Forbidden", "spec.ports[0].nodePort"));
  EXPECT_EQ(create(service(R"("ports":[{"name":"a","port":53,"protocol":"UDP"},{"name":"b","port":53}])")).causes,
            CauseList());
}

TEST(CoreKindsService, Addresses) {
  EXPECT_EQ(create(service(R"("clusterIP":"ten",)" + port)).causes, one("Invalid", "spec.clusterIPs[0]"));
  EXPECT_EQ(create(service(R"("clusterIP":"10.0.0.1","clusterIPs":["10.0.0.2"],)" + port)).causes,
            one("Invalid", "spec.clusterIPs"));
  EXPECT_EQ(create(service(R"("clusterIPs":["10.0.0.2"],)" + port)).causes, one("Invalid", "spec.clusterIPs"));
  EXPECT_EQ(create(service(R"("clusterIP":"10.0.0.1","ipFamilies":["IPv6"],)" + port)).causes,
            one("Invalid", "spec.clusterIPs[0]"));
  EXPECT_EQ(
      create(service(R"("externalIPs":["127.0.0.1","x","10.0.0.1","fe80::1"],)" + port)).causes,
      (CauseList{
          {"Invalid", "spec.externalIPs[0]"}, {"Invalid", "spec.externalIPs[1]"}, {"Invalid", "spec.externalIPs[3]"}}));
  EXPECT_EQ(create(service(R"("ipFamilies":["IPv4","IPv4"],"ipFamilyPolicy":"Any",)" + port)).causes,
            (CauseList{{"Duplicate", "spec.ipFamilies[1]"}, {"NotSupported", "spec.ipFamilyPolicy"}}));
}

TEST(CoreKindsService, UpdatesKeepWhatWasAllocated) {
  const std::string before =
      service(R"("type":"NodePort","clusterIP":"10.0.0.1","ports":[{"port":80,"nodePort":30080}])");
  const Outcome after = update(before, service(R"("type":"NodePort","ports":[{"port":81}])"));
  EXPECT_EQ(after.causes, CauseList());
  EXPECT_EQ(after.at("/spec/clusterIP"), R"("10.0.0.1")");
  EXPECT_EQ(after.at("/spec/ports/0/nodePort"), "30080");
  EXPECT_EQ(update(before, service(R"("type":"NodePort","clusterIP":"10.0.0.2",)" + port)).causes,
            one("Invalid", "spec.clusterIPs[0]"));
}

TEST(CoreKindsService, AChangeOfTypeDropsWhatItLost) {
  const std::string before = service(R"("type":"LoadBalancer","ports":[{"port":80,"nodePort":30080}])");
  const Outcome old = create(before);
  Outcome next = create(before);
  next.object.root().as_object()["spec"].as_object()["type"] = "ClusterIP";
  const Outcome after = write_object(next.whole(), &old.object);
  EXPECT_EQ(after.causes, CauseList());
  EXPECT_EQ(after.at("/spec/ports/0/nodePort"), "");
  EXPECT_EQ(after.at("/spec/externalTrafficPolicy"), "");
  EXPECT_EQ(after.at("/spec/allocateLoadBalancerNodePorts"), "");
}

TEST(CoreKindsService, Status) {
  const std::string balancer = service(R"("type":"LoadBalancer",)" + port);
  const auto with_status = [](std::string object, const std::string& ingress) {
    object.pop_back();
    return object + R"(,"status":{"loadBalancer":{"ingress":[)" + ingress + "]}}}";
  };
  const Outcome good = update(balancer, with_status(balancer, R"({"ip":"10.0.0.1"})"), "status");
  EXPECT_EQ(good.causes, CauseList());
  EXPECT_EQ(good.at("/status/loadBalancer/ingress/0/ipMode"), R"("VIP")");
  EXPECT_EQ(update(balancer, with_status(balancer, R"({"ip":"x","hostname":"10.0.0.1"})"), "status").causes,
            (CauseList{{"Invalid", "status.loadBalancer.ingress[0].ip"},
                       {"Invalid", "status.loadBalancer.ingress[0].hostname"}}));
  const std::string plain = service(port);
  EXPECT_EQ(update(plain, with_status(plain, R"({"ip":"10.0.0.1"})"), "status").causes,
            one("Forbidden", "status.loadBalancer.ingress"));
}

}  // namespace
}  // namespace vg::resources::core_kinds
