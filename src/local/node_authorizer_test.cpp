#include "local/node_authorizer.h"

#include <gmock/gmock.h>

#include "auth/node_identity.h"
#include "local/rbac.h"
#include "local/rbac_test_support.h"

namespace vg::local {
namespace {

constexpr std::string_view vmis = "kubevirt.io/virtualmachineinstances";

User node(std::string name) {
  return {.name = "system:serviceaccount:kubevirt:kubevirt-handler",
          .uid = {},
          .groups = {std::string(auth::nodes_group), std::string(auth::authenticated_group)},
          .extra = {{std::string(auth::node_name_extra), {std::move(name)}}}};
}

// A VMI that mounts one of everything, each called after the place that names it.
constexpr std::string_view mounts_all = R"("volumes":[
  {"name":"a","secret":{"secretName":"s-volume"}},
  {"name":"b","cloudInitNoCloud":{"secretRef":{"name":"s-user"},"networkDataSecretRef":{"name":"s-network"}}},
  {"name":"c","cloudInitConfigDrive":{"secretRef":{"name":"s-drive"}}},
  {"name":"d","sysprep":{"secret":{"name":"s-sysprep"},"configMap":{"name":"c-sysprep"}}},
  {"name":"e","containerDisk":{"image":"x","imagePullSecret":"s-pull"}},
  {"name":"f","configMap":{"name":"c-volume"}},
  {"name":"g","persistentVolumeClaim":{"claimName":"p-claim"}},
  {"name":"h","dataVolume":{"name":"p-data"}},
  {"name":"i","ephemeral":{"persistentVolumeClaim":{"claimName":"p-ephemeral"}}},
  {"name":"j","serviceAccount":{"serviceAccountName":"a-one"}}],
  "accessCredentials":[{"sshPublicKey":{"source":{"secret":{"secretName":"s-keys"}}}}],
  "domain":{"firmware":{"kernelBoot":{"container":{"image":"k","imagePullSecret":"s-kernel"}}}})";

class NodeAuthorizerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    put("ns", "here", "one", mounts_all, "");
    put("ns", "there", "two", R"("volumes":[{"name":"a","secret":{"secretName":"s-there"}}])", "");
    put("ns", "moving", "two", R"("volumes":[{"name":"a","secret":{"secretName":"s-moving"}}])",
        R"("kubevirt.io/migrationTargetNodeName":"one")");
    // Says that it is on the node without being there: what users write counts for nothing.
    put("ns", "liar", "two", R"("nodeSelector":{"kubernetes.io/hostname":"one"},
        "volumes":[{"name":"a","secret":{"secretName":"s-liar"}}])",
        "");
  }

  void put(std::string_view ns, std::string_view name, std::string_view on, std::string_view spec,
           std::string_view labels) {
    const std::string json = fmt::format(
        R"({{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":{{"name":"{0}","namespace":"{1}",
            "uid":"u-{0}","labels":{{{2}}}}},"spec":{{{3}}},"status":{{"nodeName":"{4}"}}}})",
        name, ns, labels, spec, on);
    store_.put(vmis, json);
  }

  bool may(std::string_view verb, std::string_view resource, std::string_view ns, std::string_view name,
           std::string_view selector = {}, std::string_view who = "one", std::string_view subresource = {}) {
    const auto slash = resource.find('/');
    const bool grouped = slash != std::string_view::npos;
    AccessAttributes asked{.verb = verb,
                           .path = {},
                           .group = grouped ? resource.substr(0, slash) : "",
                           .version = "v1",
                           .resource = grouped ? resource.substr(slash + 1) : resource,
                           .subresource = subresource,
                           .ns = ns,
                           .name = name,
                           .label_selector = selector};
    const auto decided = run(authorizer_.authorize(idle_core(), node(std::string(who)), asked));
    return decided && decided->allowed;
  }

  TestStore store_;
  Rbac rbac_{*store_.store, at_once};
  NodeAuthorizer authorizer_{rbac_, *store_.store};
};

TEST_F(NodeAuthorizerTest, ReachesItsOwnVmisAndNoOthers) {
  for (const std::string_view verb : {"get", "update", "patch"}) {
    EXPECT_TRUE(may(verb, vmis, "ns", "here")) << verb;
    EXPECT_TRUE(may(verb, vmis, "ns", "moving")) << verb;
    EXPECT_FALSE(may(verb, vmis, "ns", "there")) << verb;
    EXPECT_FALSE(may(verb, vmis, "ns", "liar")) << verb;
    // One that is gone is asked for by whoever still has a guest of it.
    EXPECT_EQ(may(verb, vmis, "other", "here"), verb == "get") << verb;
    EXPECT_EQ(may(verb, vmis, "ns", "none"), verb == "get") << verb;
  }
  EXPECT_FALSE(may("delete", vmis, "ns", "here"));
  EXPECT_FALSE(may("create", vmis, "ns", ""));
  EXPECT_FALSE(may("get", "kubevirt.io/virtualmachines", "ns", "here"));
}

TEST_F(NodeAuthorizerTest, SeesWhereAVmiWentThatItHad) {
  store_.put(vmis, R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":{"name":"gone",
      "namespace":"ns","uid":"u"},"spec":{"volumes":[{"name":"a","secret":{"secretName":"s-gone"}}]},
      "status":{"nodeName":"two","migrationState":{"sourceNode":"one","targetNode":"two"}}})");
  EXPECT_TRUE(may("get", vmis, "ns", "gone"));
  EXPECT_FALSE(may("update", vmis, "ns", "gone"));
  EXPECT_FALSE(may("get", "secrets", "ns", "s-gone"));
  EXPECT_FALSE(may("get", vmis, "ns", "gone", {}, "three"));
}

// Rules let nobody write one; here it is as if there were none.
TEST_F(NodeAuthorizerTest, AVolumeOfTwoSourcesGivesNothing) {
  put("ns", "double", "one", R"("volumes":[{"name":"a","persistentVolumeClaim":{"claimName":"p-double"},
      "serviceAccount":{"serviceAccountName":"a-double"},"secret":null},
      {"name":"b","secret":{"secretName":"s-single"},"configMap":null}])",
      "");
  EXPECT_FALSE(may("get", "persistentvolumeclaims", "ns", "p-double"));
  EXPECT_FALSE(may("create", "serviceaccounts", "ns", "a-double", {}, "one", "token"));
  EXPECT_TRUE(may("create", "serviceaccounts", "ns", "a-one", {}, "one", "token"));
  EXPECT_TRUE(may("get", "secrets", "ns", "s-single"));
}

TEST_F(NodeAuthorizerTest, ListsWhatIsLabelledWithItsName) {
  for (const std::string_view verb : {"list", "watch"}) {
    EXPECT_TRUE(may(verb, vmis, "", "", "kubevirt.io/nodeName=one"));
    EXPECT_TRUE(may(verb, vmis, "", "", "kubevirt.io/migrationTargetNodeName=one"));
    for (const std::string_view selector :
         {"", "kubevirt.io/nodeName=two", "kubevirt.io/nodeName", "kubevirt.io/nodeName!=one",
          "kubevirt.io/nodeName in (one,two)", "kubevirt.io/nodeName=one1"})
      EXPECT_FALSE(may(verb, vmis, "", "", selector)) << selector;
  }
}

TEST_F(NodeAuthorizerTest, ReadsWhatItsVmisMount) {
  for (const std::string_view name :
       {"s-volume", "s-user", "s-network", "s-drive", "s-sysprep", "s-pull", "s-keys", "s-kernel", "s-moving"})
    EXPECT_TRUE(may("get", "secrets", "ns", name)) << name;
  for (const std::string_view name : {"c-volume", "c-sysprep"})
    EXPECT_TRUE(may("get", "configmaps", "ns", name)) << name;
  for (const std::string_view name : {"p-claim", "p-data", "p-ephemeral"})
    EXPECT_TRUE(may("get", "persistentvolumeclaims", "ns", name)) << name;
  for (const std::string_view name : {"s-there", "s-liar", "c-volume", "none"})
    EXPECT_FALSE(may("get", "secrets", "ns", name)) << name;
  EXPECT_FALSE(may("get", "secrets", "other", "s-volume"));
  EXPECT_FALSE(may("get", "secrets", "ns", "s-volume", {}, "two"));
  EXPECT_TRUE(may("get", "secrets", "ns", "s-there", {}, "two"));
  for (const std::string_view verb : {"list", "watch", "update", "delete"}) {
    EXPECT_FALSE(may(verb, "secrets", "ns", "s-volume")) << verb;
    EXPECT_FALSE(may(verb, "secrets", "ns", "")) << verb;
  }
}

TEST_F(NodeAuthorizerTest, ReadsTheNetworksOfItsVmis) {
  put("ns", "wired", "one", R"("networks":[{"name":"a","multus":{"networkName":"blue"}},
      {"name":"b","multus":{"networkName":"ns/red"}},{"name":"c","multus":{"networkName":"other/green"}}])",
      "");
  constexpr std::string_view attachments = "k8s.cni.cncf.io/network-attachment-definitions";
  for (const std::string_view name : {"blue", "red"}) {
    EXPECT_TRUE(may("get", attachments, "ns", name)) << name;
    EXPECT_FALSE(may("get", attachments, "ns", name, {}, "two")) << name;
    EXPECT_FALSE(may("get", attachments, "other", name)) << name;
    EXPECT_FALSE(may("list", attachments, "ns", name)) << name;
  }
  EXPECT_FALSE(may("get", attachments, "ns", "green"));
  EXPECT_FALSE(may("get", attachments, "other", "green")) << "of another namespace";
  EXPECT_TRUE(may("get", attachments, "default", "any")) << "everybody's";
  EXPECT_FALSE(may("get", attachments, "default", ""));
}

TEST_F(NodeAuthorizerTest, WritesItsOwnNode) {
  for (const std::string_view verb : {"get", "list", "watch", "update", "patch"}) {
    EXPECT_TRUE(may(verb, "nodes", "", "one")) << verb;
    EXPECT_FALSE(may(verb, "nodes", "", "two")) << verb;
    EXPECT_FALSE(may(verb, "nodes", "", "")) << verb;
  }
  EXPECT_FALSE(may("delete", "nodes", "", "one"));
  EXPECT_FALSE(may("create", "pods", "kubevirt", ""));
  EXPECT_FALSE(may("update", "pods", "kubevirt", "virt-handler-two"));
}

TEST_F(NodeAuthorizerTest, OthersAreAskedOfTheRoles) {
  const User jane = user("jane", {"system:masters"});
  AccessAttributes asked{};
  asked.verb = "get";
  asked.resource = "secrets";
  EXPECT_TRUE(run(authorizer_.authorize(idle_core(), jane, asked))->allowed);
  EXPECT_FALSE(run(authorizer_.authorize(idle_core(), user("joe"), asked))->allowed);
  // Neither the group nor the name of a node alone makes one.
  User half = node("one");
  half.extra.clear();
  EXPECT_EQ(auth::node_of(half), "");
  half = node("one");
  half.groups.clear();
  EXPECT_EQ(auth::node_of(half), "");
}

}  // namespace
}  // namespace vg::local
