// Networks, storage, devices, certificates and limit ranges: what is filled in and what is refused.
#include <string>

#include "objects/core_kinds/testing.h"

namespace vg::resources::core_kinds {
namespace {

std::string object(const std::string& api_version, const std::string& kind, const std::string& rest,
                   const std::string& name = "x") {
  return R"({"apiVersion":")" + api_version + R"(","kind":")" + kind + R"(","metadata":{"name":")" + name +
         R"(","namespace":"n"},)" + rest + "}";
}

CauseList causes(const std::string& api_version, const std::string& kind, const std::string& rest) {
  return create(object(api_version, kind, rest)).causes;
}

TEST(CoreKindsIngress, RulesAndBackends) {
  const auto ingress = [](const std::string& spec) {
    return causes("networking.k8s.io/v1", "Ingress", R"("spec":{)" + spec + "}");
  };
  const auto path = [&](const std::string& members) {
    return ingress(R"("rules":[{"http":{"paths":[{)" + members + R"(}]}}])");
  };
  const std::string backend = R"("backend":{"service":{"name":"s","port":{"number":80}}})";
  EXPECT_EQ(path(R"("pathType":"Prefix","path":"/",)" + backend), CauseList());
  EXPECT_EQ(path(backend), one("Required", "spec.rules[0].http.paths[0].pathType"));
  EXPECT_EQ(path(R"("pathType":"Exact","path":"a",)" + backend), one("Invalid", "spec.rules[0].http.paths[0].path"));
  EXPECT_EQ(path(R"("pathType":"Exact","path":"/a//b",)" + backend),
            one("Invalid", "spec.rules[0].http.paths[0].path"));
  EXPECT_EQ(path(R"("pathType":"Some","path":"/",)" + backend),
            one("NotSupported", "spec.rules[0].http.paths[0].pathType"));
  EXPECT_EQ(ingress(""), one("Invalid", "spec"));
  EXPECT_EQ(ingress(R"("defaultBackend":{"service":{"name":"s","port":{}}})"), one("Required", "spec.defaultBackend"));
  EXPECT_EQ(ingress(R"("rules":[{"host":"1.2.3.4"}])"), one("Invalid", "spec.rules[0].host"));
  EXPECT_EQ(ingress(R"("rules":[{"host":"a.*"}])"), one("Invalid", "spec.rules[0].host"));
  EXPECT_EQ(ingress(R"("rules":[{"host":"*.example.com"}])"), CauseList());
}

TEST(CoreKindsIngressClass, ControllerAndParameters) {
  const auto ingress_class = [](const std::string& spec) {
    return object("networking.k8s.io/v1", "IngressClass", R"("spec":{)" + spec + "}");
  };
  EXPECT_EQ(create(ingress_class(R"("controller":"c")")).causes, one("Invalid", "spec.controller"));
  const std::string good = ingress_class(R"("controller":"a.io/c","parameters":{"kind":"K","name":"n"})");
  EXPECT_EQ(create(good).at("/spec/parameters/scope"), R"("Cluster")");
  EXPECT_EQ(update(good, ingress_class(R"("controller":"b.io/c")")).causes, one("Invalid", "spec.controller"));
}

TEST(CoreKindsAddresses, OfServicesAndTheirRanges) {
  const auto address = [](const std::string& spec) {
    return object("networking.k8s.io/v1", "IPAddress", R"("spec":{)" + spec + "}");
  };
  const std::string parent = R"("parentRef":{"resource":"services","namespace":"n","name":"s"})";
  EXPECT_EQ(create(address(parent)).causes, CauseList());
  EXPECT_EQ(create(address("")).causes, one("Required", "spec.parentRef"));
  EXPECT_EQ(create(address(R"("parentRef":{"resource":"services"})")).causes, one("Required", "spec.parentRef.name"));
  EXPECT_EQ(
      update(address(parent), address(R"("parentRef":{"resource":"services","namespace":"n","name":"t"})")).causes,
      one("Invalid", "spec.parentRef"));

  const auto range = [](const std::string& cidrs) {
    return object("networking.k8s.io/v1", "ServiceCIDR", R"("spec":{"cidrs":[)" + cidrs + "]}");
  };
  const std::string v4 = R"("10.96.0.0/16")", v6 = R"("fd00::/112")";
  EXPECT_EQ(create(range(v4 + "," + v6)).causes, CauseList());
  EXPECT_EQ(create(range("")).causes, one("Required", "spec.cidrs"));
  EXPECT_EQ(create(range(R"("10.0.0.1")")).causes, one("Invalid", "spec.cidrs[0]"));
  EXPECT_EQ(create(range(v4 + R"(,"10.97.0.0/16")")).causes, one("Invalid", "spec.cidrs"));
  EXPECT_EQ(update(range(v4), range(v4 + "," + v6)).causes, CauseList());
  EXPECT_EQ(update(range(v4), range(v6)).causes, one("Invalid", "spec.cidrs[0]"));
  EXPECT_EQ(update(range(v4 + "," + v6), range(v4)).causes, one("Invalid", "spec.cidrs"));
}

TEST(CoreKindsNetworkPolicy, TypesPortsAndPeers) {
  const auto policy = [](const std::string& spec) {
    return create(object("networking.k8s.io/v1", "NetworkPolicy", R"("spec":{"podSelector":{})" + spec + "}"));
  };
  EXPECT_EQ(policy("").at("/spec/policyTypes"), R"(["Ingress"])");
  EXPECT_EQ(policy(R"(,"egress":[{}])").at("/spec/policyTypes"), R"(["Ingress","Egress"])");
  EXPECT_EQ(policy(R"(,"ingress":[{"ports":[{"port":80}]}])").at("/spec/ingress/0/ports/0/protocol"), R"("TCP")");
  EXPECT_EQ(policy(R"(,"ingress":[{"ports":[{"port":80,"endPort":70}]}])").causes,
            one("Invalid", "spec.ingress[0].ports[0].endPort"));
  EXPECT_EQ(policy(R"(,"ingress":[{"from":[{}]}])").causes, one("Required", "spec.ingress[0].from[0]"));
  EXPECT_EQ(policy(R"(,"ingress":[{"from":[{"ipBlock":{"cidr":"1.2.3.4"}}]}])").causes,
            one("Invalid", "spec.ingress[0].from[0].ipBlock.cidr"));
  EXPECT_EQ(policy(R"(,"policyTypes":["Sideways"])").causes, one("NotSupported", "spec.policyTypes[0]"));
}

TEST(CoreKindsEndpoints, AddressesAndPorts) {
  const auto endpoints = [](const std::string& subset) {
    return causes("v1", "Endpoints", R"("subsets":[{)" + subset + "}]");
  };
  EXPECT_EQ(endpoints(R"("addresses":[{"ip":"10.0.0.1"}],"ports":[{"port":80}])"), CauseList());
  EXPECT_EQ(endpoints(""), one("Required", "subsets[0]"));
  EXPECT_EQ(endpoints(R"("addresses":[{"ip":"127.0.0.1"}])"), one("Invalid", "subsets[0].addresses[0].ip"));
  EXPECT_EQ(endpoints(R"("addresses":[{"ip":"10.0.0.1"}],"ports":[{"port":80},{"port":0,"name":"b"}])"),
            (CauseList{{"Required", "subsets[0].ports[0].name"}, {"Invalid", "subsets[0].ports[1].port"}}));
}

TEST(CoreKindsEndpointSlice, OneTypeOfAddress) {
  const auto slice = [](const std::string& rest) { return object("discovery.k8s.io/v1", "EndpointSlice", rest); };
  const std::string good =
      slice(R"("addressType":"IPv4","endpoints":[{"addresses":["10.0.0.1"]}],"ports":[{"port":1}])");
  EXPECT_EQ(create(good).causes, CauseList());
  EXPECT_EQ(create(good).at("/ports/0"), R"({"name":"","port":1,"protocol":"TCP"})");
  EXPECT_EQ(create(slice(R"("addressType":"IPv4","endpoints":[{"addresses":["fd00::1"]}])")).causes,
            one("Invalid", "endpoints[0].addresses"));
  EXPECT_EQ(create(slice(R"("addressType":"IPX","endpoints":[])")).causes, one("NotSupported", "addressType"));
  EXPECT_EQ(
      update(good, slice(R"("addressType":"FQDN","endpoints":[{"addresses":["a.b"]}],"ports":[{"port":1}])")).causes,
      one("Invalid", "addressType"));
}

TEST(CoreKindsPersistentVolume, DefaultsAndSources) {
  const auto volume = [](const std::string& spec) {
    return object("v1", "PersistentVolume", R"("spec":{)" + spec + "}");
  };
  const std::string base = R"("capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"])";
  const std::string good = volume(base + R"(,"hostPath":{"path":"/d"})");
  const Outcome made = create(good);
  EXPECT_EQ(made.causes, CauseList());
  EXPECT_EQ(made.at("/spec/persistentVolumeReclaimPolicy"), R"("Retain")");
  EXPECT_EQ(made.at("/spec/volumeMode"), R"("Filesystem")");
  EXPECT_EQ(made.at("/spec/hostPath"), R"({"path":"/d","type":""})");
  EXPECT_EQ(made.at("/status/phase"), R"("Pending")");
  EXPECT_EQ(create(volume(base)).causes, one("Required", "spec"));
  EXPECT_EQ(create(volume(base + R"(,"local":{"path":"/d"})")).causes, one("Required", "spec.nodeAffinity"));
  EXPECT_EQ(create(volume(base + R"(,"nfs":{"server":"s","path":"/"},"hostPath":{"path":"/"})")).causes,
            one("Forbidden", "spec.nfs"));
  EXPECT_EQ(create(volume(R"("accessModes":["ReadWriteOnce"],"hostPath":{"path":"/d"})")).causes,
            (CauseList{{"Required", "spec.capacity"}, {"NotSupported", "spec.capacity"}}));
  EXPECT_EQ(update(good, volume(base + R"(,"hostPath":{"path":"/e"})")).causes,
            one("Forbidden", "spec.persistentvolumesource"));
}

TEST(CoreKindsLimitRange, FillsInAndCompares) {
  const auto range = [](const std::string& limit) {
    return create(object("v1", "LimitRange", R"("spec":{"limits":[{)" + limit + "}]}"));
  };
  const Outcome made = range(R"("type":"Container","max":{"cpu":"2"},"min":{"memory":"1Mi"})");
  EXPECT_EQ(made.causes, CauseList());
  EXPECT_EQ(made.at("/spec/limits/0/default"), R"({"cpu":"2"})");
  EXPECT_EQ(made.at("/spec/limits/0/defaultRequest"), R"({"cpu":"2","memory":"1Mi"})");
  EXPECT_EQ(range(R"("type":"Pod","max":{"cpu":"1"},"min":{"cpu":"2"})").causes,
            one("Invalid", "spec.limits[0].min[cpu]"));
  EXPECT_EQ(range(R"("type":"Pod","default":{"cpu":"1"})").causes, one("Forbidden", "spec.limits[0].default"));
  EXPECT_EQ(range(R"("type":"Room","max":{"cpu":"1"})").causes, one("NotSupported", "spec.limits[0].type"));
  EXPECT_EQ(range(R"("type":"PersistentVolumeClaim")").causes, one("Required", "spec.limits[0].limits"));
}

TEST(CoreKindsStorageDrivers, DefaultsAndRefusals) {
  const Outcome driver = create(object("storage.k8s.io/v1", "CSIDriver", R"("spec":{})", "d.example"));
  EXPECT_EQ(driver.causes, CauseList());
  EXPECT_EQ(driver.at("/spec"),
            R"({"attachRequired":true,"fsGroupPolicy":"ReadWriteOnceWithFSType","podInfoOnMount":false,)"
            R"("requiresRepublish":false,"seLinuxMount":false,"storageCapacity":false,)"
            R"("volumeLifecycleModes":["Persistent"]})");
  EXPECT_EQ(causes("storage.k8s.io/v1", "VolumeAttachment", R"("spec":{"attacher":"a","nodeName":"n","source":{}})"),
            one("Required", "spec.source"));
  EXPECT_EQ(causes("storage.k8s.io/v1", "CSINode", R"("spec":{"drivers":[{"name":"a","nodeID":""}]})"),
            one("Required", "spec.drivers[0].nodeID"));
  EXPECT_EQ(causes("storage.k8s.io/v1", "VolumeAttributesClass", R"("driverName":"d")"), one("Required", "parameters"));
  EXPECT_EQ(causes("storage.k8s.io/v1", "CSIStorageCapacity", R"("storageClassName":"c","capacity":"-1")"),
            one("Invalid", "capacity"));
}

TEST(CoreKindsDevices, ClaimsAndSlices) {
  const auto claim = [](const std::string& request) {
    return object("resource.k8s.io/v1", "ResourceClaim", R"("spec":{"devices":{"requests":[{)" + request + "}]}}");
  };
  const std::string good = claim(R"("name":"r","exactly":{"deviceClassName":"gpu"})");
  EXPECT_EQ(create(good).at("/spec/devices/requests/0/exactly"),
            R"({"allocationMode":"ExactCount","count":1,"deviceClassName":"gpu"})");
  EXPECT_EQ(create(claim(R"("name":"r")")).causes, one("Required", "spec.devices.requests[0]"));
  EXPECT_EQ(create(claim(R"("name":"r","exactly":{"deviceClassName":"g","allocationMode":"All","count":2})")).causes,
            one("Invalid", "spec.devices.requests[0].exactly.count"));
  EXPECT_EQ(update(good, claim(R"("name":"s","exactly":{"deviceClassName":"gpu"})")).causes, one("Invalid", "spec"));
  const auto slice = [](const std::string& where) {
    return causes("resource.k8s.io/v1", "ResourceSlice",
                  R"("spec":{"driver":"d.io","pool":{"name":"p","generation":0,"resourceSliceCount":1})" + where + "}");
  };
  EXPECT_EQ(slice(R"(,"allNodes":true)"), CauseList());
  EXPECT_EQ(slice(""), one("Required", "spec"));
  EXPECT_EQ(slice(R"(,"allNodes":true,"nodeName":"n")"), one("Invalid", "spec"));
}

TEST(CoreKindsRuntimeClass, TheHandlerStays) {
  const auto runtime = [](const std::string& handler) {
    return object("node.k8s.io/v1", "RuntimeClass", R"("handler":")" + handler + "\"");
  };
  EXPECT_EQ(create(runtime("A")).causes, one("Invalid", "handler"));
  EXPECT_EQ(update(runtime("a"), runtime("b")).causes, one("Invalid", "handler"));
}

TEST(CoreKindsCertificateRequest, OnlyWhoAsksIsBelieved) {
  const auto request = [](const std::string& spec) {
    return create(object("certificates.k8s.io/v1", "CertificateSigningRequest", R"("spec":{)" + spec + "}"));
  };
  const Outcome made = request(
      R"("request":"bm8=","signerName":"a.io/s","usages":["client auth"],"username":"root","groups":["system:masters"])");
  EXPECT_EQ(made.at("/spec/username"), R"("jane")");
  EXPECT_EQ(made.at("/spec/groups"), "");
  EXPECT_EQ(made.causes, one("Invalid", "spec.request"));
  EXPECT_EQ(request(R"("request":"bm8=","signerName":"s","usages":["flying","flying"],"expirationSeconds":1)").causes,
            (CauseList{{"Invalid", "spec.request"},
                       {"NotSupported", "spec.usages[0]"},
                       {"NotSupported", "spec.usages[1]"},
                       {"Duplicate", "spec.usages[1]"},
                       {"Invalid", "spec.signerName"},
                       {"Invalid", "spec.expirationSeconds"}}));
}

std::string flow_schema(const std::string& spec, const std::string& name = "x") {
  return R"({"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"FlowSchema","metadata":{"name":")" + name +
         R"(","uid":"u"},"spec":{)" + spec + "}}";
}
std::string priority_level(const std::string& spec, const std::string& name = "x") {
  return R"({"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"PriorityLevelConfiguration","metadata":{"name":")" +
         name + R"(","uid":"u"},"spec":{)" + spec + "}}";
}

TEST(CoreKindsFlowSchema, PrecedenceMethodAndLevel) {
  const std::string level = R"("priorityLevelConfiguration":{"name":"p"})";
  const Outcome made = create(flow_schema(level));
  EXPECT_EQ(made.causes, CauseList());
  EXPECT_EQ(made.at("/spec/matchingPrecedence"), "1000");
  EXPECT_EQ(made.at("/metadata/generation"), "1");
  EXPECT_EQ(create(flow_schema("")).causes, one("Required", "spec.priorityLevelConfiguration.name"));
  EXPECT_EQ(create(flow_schema(R"("priorityLevelConfiguration":{"name":"P"})")).causes,
            one("Invalid", "spec.priorityLevelConfiguration.name"));
  for (const char* number : {"-1", "1", "10001"})
    EXPECT_EQ(create(flow_schema(level + R"(,"matchingPrecedence":)" + number)).causes,
              one("Invalid", "spec.matchingPrecedence"))
        << number;
  for (const char* number : {"2", "10000"})
    EXPECT_EQ(create(flow_schema(level + R"(,"matchingPrecedence":)" + number)).causes, CauseList()) << number;
  EXPECT_EQ(create(flow_schema(level + R"(,"matchingPrecedence":1)", "exempt")).causes, CauseList());
  EXPECT_EQ(create(flow_schema(level + R"(,"distinguisherMethod":{"type":"ByMoon"})")).causes,
            one("NotSupported", "spec.distinguisherMethod.type"));
}

TEST(CoreKindsFlowSchema, WhoIsMeant) {
  const auto subject = [](const std::string& text) {
    return create(flow_schema(R"("priorityLevelConfiguration":{"name":"p"},"rules":[{"subjects":[)" + text +
                              R"(],"nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]}])"))
        .causes;
  };
  const std::string at = "spec.rules[0].subjects";
  EXPECT_EQ(subject(R"({"kind":"User","user":{"name":"*"}})"), CauseList());
  EXPECT_EQ(subject(R"({"kind":"ServiceAccount","serviceAccount":{"name":"*","namespace":"n"}})"), CauseList());
  EXPECT_EQ(subject(""), one("Required", at));
  EXPECT_EQ(subject(R"({"kind":"Moon"})"), one("NotSupported", at + "[0].kind"));
  EXPECT_EQ(subject(R"({"kind":"Group"})"), one("Required", at + "[0].group"));
  EXPECT_EQ(subject(R"({"kind":"Group","group":{"name":""}})"), one("Required", at + "[0].group.name"));
  EXPECT_EQ(subject(R"({"kind":"Group","group":{"name":"g"},"user":{"name":"u"}})"), one("Forbidden", at + "[0].user"));
  EXPECT_EQ(
      subject(R"({"kind":"ServiceAccount","serviceAccount":{}})"),
      (CauseList{{"Required", at + "[0].serviceAccount.name"}, {"Required", at + "[0].serviceAccount.namespace"}}));
}

TEST(CoreKindsFlowSchema, WhichRequestsAreMeant) {
  const auto rule = [](const std::string& text) {
    return create(flow_schema(R"("priorityLevelConfiguration":{"name":"p"},"rules":[{"subjects":[{"kind":"User",)"
                              R"("user":{"name":"u"}}])" +
                              text + "}]"))
        .causes;
  };
  const auto url = [&](const std::string& text) {
    return rule(R"(,"nonResourceRules":[{"verbs":["get"],"nonResourceURLs":[")" + text + R"("]}])");
  };
  const auto resource = [&](const std::string& text) { return rule(R"(,"resourceRules":[{)" + text + "}]"); };
  const std::string first = "spec.rules[0].resourceRules[0].";
  EXPECT_EQ(rule(""), one("Required", "spec.rules[0]"));
  for (const char* good : {"/", "*", "/a/*", "/healthz"}) EXPECT_EQ(url(good), CauseList()) << good;
  for (const char* bad : {"", "a", "/a b", "/a//b", "/a*", "/*/*"})
    EXPECT_EQ(url(bad), one("Invalid", "spec.rules[0].nonResourceRules[0].nonResourceURLs[0]")) << bad;
  const std::string good = R"("verbs":["get"],"apiGroups":[""],"resources":["pods"])";
  EXPECT_EQ(resource(good + R"(,"namespaces":["n"])"), CauseList());
  EXPECT_EQ(resource(good + R"(,"clusterScope":true)"), CauseList());
  EXPECT_EQ(resource(good), one("Required", first + "namespaces"));
  EXPECT_EQ(resource(good + R"(,"namespaces":["N"])"), one("Invalid", first + "namespaces[0]"));
  EXPECT_EQ(resource(good + R"(,"namespaces":["*","n"])"), one("Invalid", first + "namespaces"));
  EXPECT_EQ(
      resource(R"("verbs":["fly"],"apiGroups":["*","a"],"clusterScope":true)"),
      (CauseList{
          {"NotSupported", first + "verbs"}, {"Invalid", first + "apiGroups"}, {"Required", first + "resources"}}));
}

TEST(CoreKindsPriorityLevel, LimitedAndExempt) {
  const Outcome made = create(
      priority_level(R"("type":"Limited","limited":{"limitResponse":{"type":"Queue","queuing":{"queues":128}}})"));
  EXPECT_EQ(made.causes, CauseList());
  EXPECT_EQ(made.at("/spec/limited/nominalConcurrencyShares"), "30");
  EXPECT_EQ(made.at("/spec/limited/lendablePercent"), "0");
  EXPECT_EQ(made.at("/spec/limited/limitResponse/queuing"), R"({"handSize":8,"queueLengthLimit":50,"queues":128})");
  const Outcome exempt = create(priority_level(R"("type":"Exempt","exempt":{})", "exempt"));
  EXPECT_EQ(exempt.causes, CauseList());
  EXPECT_EQ(exempt.at("/spec/exempt"), R"({"lendablePercent":0,"nominalConcurrencyShares":0})");

  EXPECT_EQ(create(priority_level(R"("type":"Exempt")")).causes, one("Invalid", "spec.type"));
  EXPECT_EQ(create(priority_level(R"("type":"Moon")")).causes, one("NotSupported", "spec.type"));
  EXPECT_EQ(create(priority_level(R"("type":"Limited")")).causes, one("Required", "spec.limited"));
  const auto limited = [](const std::string& text) {
    return create(priority_level(R"("type":"Limited","limited":{)" + text + "}")).causes;
  };
  EXPECT_EQ(limited(R"("limitResponse":{"type":"Reject"},"nominalConcurrencyShares":0)"), CauseList());
  EXPECT_EQ(limited(""), one("NotSupported", "spec.limited.limitResponse.type"));
  EXPECT_EQ(limited(R"("limitResponse":{"type":"Queue"})"), one("Required", "spec.limited.limitResponse.queuing"));
  EXPECT_EQ(limited(R"("limitResponse":{"type":"Reject","queuing":{}})"),
            one("Forbidden", "spec.limited.limitResponse.queuing"));
  EXPECT_EQ(limited(R"("limitResponse":{"type":"Reject"},"nominalConcurrencyShares":-1,"lendablePercent":101,)"
                    R"("borrowingLimitPercent":-1)"),
            (CauseList{{"Invalid", "spec.limited.nominalConcurrencyShares"},
                       {"Invalid", "spec.limited.lendablePercent"},
                       {"Invalid", "spec.limited.borrowingLimitPercent"}}));
  const auto queuing = [&](const std::string& text) {
    return limited(R"("limitResponse":{"type":"Queue","queuing":{)" + text + "}}");
  };
  const std::string at = "spec.limited.limitResponse.queuing.";
  EXPECT_EQ(queuing(R"("queues":64,"handSize":10)"), CauseList()) << "60 bits";
  EXPECT_EQ(queuing(R"("queues":65,"handSize":10)"), one("Invalid", at + "handSize")) << "61 bits";
  EXPECT_EQ(queuing(R"("queues":4,"handSize":5)"), one("Invalid", at + "handSize"));
  EXPECT_EQ(queuing(R"("queues":10000001,"handSize":1,"queueLengthLimit":-1)"),
            (CauseList{{"Invalid", at + "queueLengthLimit"}, {"Invalid", at + "queues"}}));
}

}  // namespace
}  // namespace vg::resources::core_kinds
