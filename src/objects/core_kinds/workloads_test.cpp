// Workloads, jobs, budgets and autoscalers: what is filled in and what is refused.
#include <string>

#include "objects/core_kinds/testing.h"

namespace vg::resources::core_kinds {
namespace {

const std::string pod = R"({"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}})";
const std::string ending =
    R"({"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}})";

std::string object(const std::string& api_version, const std::string& kind, const std::string& spec) {
  return R"({"apiVersion":")" + api_version + R"(","kind":")" + kind +
         R"(","metadata":{"name":"x","namespace":"n","uid":"u"},"spec":{)" + spec + "}}";
}

std::string workload(const std::string& kind, const std::string& more = "", const std::string& label = "b") {
  return object(
      "apps/v1", kind,
      R"("selector":{"matchLabels":{"a":")" + label + R"("}},"template":)" + pod + (more.empty() ? "" : ",") + more);
}

TEST(CoreKindsDeployment, Defaults) {
  const Outcome made = create(workload("Deployment"));
  EXPECT_EQ(made.causes, CauseList());
  EXPECT_EQ(made.at("/spec/replicas"), "1");
  EXPECT_EQ(made.at("/spec/strategy"),
            R"({"rollingUpdate":{"maxSurge":"25%","maxUnavailable":"25%"},"type":"RollingUpdate"})");
  EXPECT_EQ(made.at("/spec/revisionHistoryLimit"), "10");
  EXPECT_EQ(made.at("/spec/progressDeadlineSeconds"), "600");
  EXPECT_EQ(made.at("/metadata/generation"), "1");
  EXPECT_EQ(made.at("/status"), "{}");
  EXPECT_EQ(made.at("/spec/template/spec/restartPolicy"), R"("Always")");
  EXPECT_EQ(made.at("/spec/template/spec/containers/0/imagePullPolicy"), R"("Always")");
  // Filled in when a pod is made, not before.
  EXPECT_EQ(made.at("/spec/template/spec/enableServiceLinks"), "");
}

TEST(CoreKindsDeployment, Refusals) {
  EXPECT_EQ(create(workload("Deployment", "", "z")).causes, one("Invalid", "spec.template.metadata.labels"));
  EXPECT_EQ(create(object("apps/v1", "Deployment", R"("template":)" + pod)).causes, one("Required", "spec.selector"));
  EXPECT_EQ(create(object("apps/v1", "Deployment", R"("selector":{},"template":)" + pod)).causes,
            one("Invalid", "spec.selector"));
  EXPECT_EQ(create(workload("Deployment", R"("replicas":-1)")).causes, one("Invalid", "spec.replicas"));
  EXPECT_EQ(create(workload("Deployment", R"("strategy":{"type":"Slowly"})")).causes,
            one("NotSupported", "spec.strategy"));
  EXPECT_EQ(create(workload("Deployment", R"("strategy":{"type":"Recreate","rollingUpdate":{}})")).causes,
            one("Forbidden", "spec.strategy.rollingUpdate"));
  EXPECT_EQ(create(workload("Deployment", R"("strategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":0}})")).causes,
            one("Invalid", "spec.strategy.rollingUpdate.maxUnavailable"));
  EXPECT_EQ(create(workload("Deployment", R"("strategy":{"rollingUpdate":{"maxUnavailable":"101%"}})")).causes,
            one("Invalid", "spec.strategy.rollingUpdate.maxUnavailable"));
  EXPECT_EQ(create(workload("Deployment", R"("strategy":{"rollingUpdate":{"maxSurge":"few"}})")).causes,
            one("Invalid", "spec.strategy.rollingUpdate.maxSurge"));
  EXPECT_EQ(create(workload("Deployment", R"("minReadySeconds":600)")).causes,
            one("Invalid", "spec.progressDeadlineSeconds"));
  const std::string job_pod =
      object("apps/v1", "Deployment", R"("selector":{"matchLabels":{"a":"b"}},"template":)" + ending);
  EXPECT_EQ(create(job_pod).causes, one("NotSupported", "spec.template.spec.restartPolicy"));
}

TEST(CoreKindsDeployment, ChangesCountAndTheSelectorStays) {
  EXPECT_EQ(update(workload("Deployment"), workload("Deployment", R"("replicas":2)")).at("/metadata/generation"), "2");
  EXPECT_EQ(update(workload("Deployment"), workload("Deployment")).at("/metadata/generation"), "1");
  std::string annotated = workload("Deployment");
  annotated.replace(annotated.find(R"("metadata":{)"), 12, R"("metadata":{"annotations":{"n":"1"},)");
  EXPECT_EQ(update(workload("Deployment"), annotated).at("/metadata/generation"), "2") << "annotations count too";
  const std::string other =
      object("apps/v1", "Deployment",
             R"("selector":{"matchExpressions":[{"key":"a","operator":"Exists"}]},"template":)" + pod);
  EXPECT_EQ(update(workload("Deployment"), other).causes, one("Invalid", "spec.selector"));
}

TEST(CoreKindsStatefulSet, ClaimsAreVolumesAndStay) {
  const std::string claim =
      R"("volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],)"
      R"("resources":{"requests":{"storage":"1Gi"}}}}])";
  const std::string mounting = R"({"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i",)"
                               R"("volumeMounts":[{"name":"data","mountPath":"/d"}]}]}})";
  const std::string set =
      object("apps/v1", "StatefulSet", R"("selector":{"matchLabels":{"a":"b"}},"template":)" + mounting + "," + claim);
  const Outcome made = create(set);
  EXPECT_EQ(made.causes, CauseList());
  EXPECT_EQ(made.at("/spec/podManagementPolicy"), R"("OrderedReady")");
  EXPECT_EQ(made.at("/spec/updateStrategy"),
            R"({"rollingUpdate":{"maxUnavailable":1,"partition":0},"type":"RollingUpdate"})");
  EXPECT_EQ(made.at("/spec/persistentVolumeClaimRetentionPolicy"), R"({"whenDeleted":"Retain","whenScaled":"Retain"})");
  EXPECT_EQ(made.at("/spec/volumeClaimTemplates/0/spec/volumeMode"), R"("Filesystem")");
  EXPECT_EQ(made.at("/spec/volumeClaimTemplates/0/status/phase"), R"("Pending")");
  EXPECT_EQ(update(set, workload("StatefulSet")).causes, one("Forbidden", "spec"));
  EXPECT_EQ(create(workload("StatefulSet", R"("podManagementPolicy":"Random")")).causes,
            one("Invalid", "spec.podManagementPolicy"));
  EXPECT_EQ(create(workload("StatefulSet", R"("serviceName":"A")")).causes, one("Invalid", "spec.serviceName"));
}

TEST(CoreKindsDaemonSet, OneWayToReplace) {
  EXPECT_EQ(create(workload("DaemonSet")).at("/spec/updateStrategy"),
            R"({"rollingUpdate":{"maxSurge":0,"maxUnavailable":1},"type":"RollingUpdate"})");
  EXPECT_EQ(create(workload("DaemonSet", R"("updateStrategy":{"type":"Odd"})")).causes,
            one("NotSupported", "spec.updateStrategy"));
  EXPECT_EQ(create(workload("DaemonSet", R"("updateStrategy":{"rollingUpdate":{"maxSurge":1}})")).causes,
            one("Invalid", "spec.updateStrategy.rollingUpdate.maxSurge"));
  EXPECT_EQ(create(workload("DaemonSet", R"("updateStrategy":{"rollingUpdate":{"maxUnavailable":0}})")).causes,
            one("Required", "spec.updateStrategy.rollingUpdate.maxUnavailable"));
  EXPECT_EQ(create(workload("DaemonSet")).at("/status"),
            R"({"currentNumberScheduled":0,"desiredNumberScheduled":0,"numberMisscheduled":0,"numberReady":0})");
}

TEST(CoreKindsReplicationController, TakesLabelsOfItsPods) {
  const Outcome made = create(object("v1", "ReplicationController", R"("template":)" + pod));
  EXPECT_EQ(made.causes, CauseList());
  EXPECT_EQ(made.at("/spec/selector"), R"({"a":"b"})");
  EXPECT_EQ(made.at("/metadata/labels"), R"({"a":"b"})");
  EXPECT_EQ(create(object("v1", "ReplicationController", "")).causes,
            (CauseList{{"Required", "spec.selector"}, {"Required", "spec.template"}}));
}

TEST(CoreKindsJob, IsKnownByItsUid) {
  const Outcome made = create(object("batch/v1", "Job", R"("template":)" + ending));
  EXPECT_EQ(made.causes, CauseList());
  EXPECT_EQ(made.at("/spec/selector"), R"({"matchLabels":{"batch.kubernetes.io/controller-uid":"u"}})");
  EXPECT_EQ(made.at("/spec/template/metadata/labels/batch.kubernetes.io~1job-name"), R"("x")");
  EXPECT_EQ(made.at("/metadata/labels"), R"({"a":"b"})");
  for (const auto& [field, value] :
       std::initializer_list<std::pair<const char*, const char*>>{{"parallelism", "1"},
                                                                  {"completions", "1"},
                                                                  {"backoffLimit", "6"},
                                                                  {"completionMode", R"("NonIndexed")"},
                                                                  {"suspend", "false"},
                                                                  {"podReplacementPolicy", R"("TerminatingOrFailed")"}})
    EXPECT_EQ(made.at(std::string("/spec/") + field), value) << field;
}

TEST(CoreKindsJob, WithoutLabelsHasThoseOfItsPods) {
  const Outcome made = create(object(
      "batch/v1", "Job", R"("template":{"spec":{"containers":[{"name":"c","image":"i"}],"restartPolicy":"Never"}})"));
  EXPECT_EQ(made.causes, CauseList());
  EXPECT_EQ(made.at("/metadata/labels"), made.at("/spec/template/metadata/labels"));
  EXPECT_EQ(made.at("/metadata/labels/job-name"), R"("x")");
}

TEST(CoreKindsJob, Refusals) {
  const auto job = [](const std::string& more) { return object("batch/v1", "Job", R"("template":)" + ending + more); };
  EXPECT_EQ(create(object("batch/v1", "Job", R"("template":)" + pod)).causes,
            one("Required", "spec.template.spec.restartPolicy"));
  EXPECT_EQ(create(job(R"(,"parallelism":-1)")).causes, one("Invalid", "spec.parallelism"));
  EXPECT_EQ(create(job(R"(,"completionMode":"Random")")).causes, one("NotSupported", "spec.completionMode"));
  EXPECT_EQ(create(job(R"(,"completionMode":"Indexed","parallelism":1)")).causes, one("Required", "spec.completions"));
  EXPECT_EQ(create(job(R"(,"backoffLimitPerIndex":1)")).causes, one("Invalid", "spec.backoffLimitPerIndex"));
  EXPECT_EQ(create(job(R"(,"managedBy":"me")")).causes, one("Invalid", "spec.managedBy"));
}

TEST(CoreKindsCronJob, Schedules) {
  const auto made = [](const std::string& schedule) {
    return create(object("batch/v1", "CronJob",
                         R"("schedule":")" + schedule + R"(","jobTemplate":{"spec":{"template":)" + ending + "}}"))
        .causes;
  };
  for (const char* good : {"*/5 * * * *", "0 0 1 1 *", "@daily", "0 9-17/2 * jan-mar mon,fri", "@every 1h30m"})
    EXPECT_EQ(made(good), CauseList()) << good;
  for (const char* bad : {"* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 7", "@never",
                          "5-1 * * * *", "*/0 * * * *", "TZ=UTC * * * * *", "a * * * *", "* * * * * *"})
    EXPECT_EQ(made(bad), one("Invalid", "spec.schedule")) << bad;
  EXPECT_EQ(made(""), one("Required", "spec.schedule"));
}

TEST(CoreKindsPodDisruptionBudget, OneOfTwoNumbers) {
  const auto budget = [](const std::string& spec) { return create(object("policy/v1", "PodDisruptionBudget", spec)); };
  EXPECT_EQ(budget(R"("minAvailable":1)").causes, CauseList());
  EXPECT_EQ(budget(R"("minAvailable":1)").at("/status"),
            R"({"currentHealthy":0,"desiredHealthy":0,"disruptionsAllowed":0,"expectedPods":0})");
  EXPECT_EQ(budget(R"("minAvailable":1,"maxUnavailable":1)").causes, one("Invalid", "spec"));
  EXPECT_EQ(budget(R"("minAvailable":"200%")").causes, one("Invalid", "spec.minAvailable"));
  EXPECT_EQ(budget(R"("maxUnavailable":-1)").causes, one("Invalid", "spec.maxUnavailable"));
  EXPECT_EQ(budget(R"("unhealthyPodEvictionPolicy":"Maybe")").causes,
            one("NotSupported", "spec.unhealthyPodEvictionPolicy"));
}

TEST(CoreKindsAutoscaler, DefaultsAndMetrics) {
  const auto scaler = [](const std::string& more) {
    return create(object("autoscaling/v2", "HorizontalPodAutoscaler",
                         R"("maxReplicas":3,"scaleTargetRef":{"kind":"Deployment","name":"d"})" + more));
  };
  EXPECT_EQ(scaler("").at("/spec/minReplicas"), "1");
  EXPECT_EQ(scaler("").at("/spec/metrics/0/resource/target"), R"({"averageUtilization":80,"type":"Utilization"})");
  EXPECT_EQ(scaler(R"(,"behavior":{"scaleDown":{}})").at("/spec/behavior/scaleDown"),
            R"({"policies":[{"periodSeconds":15,"type":"Percent","value":100}],"selectPolicy":"Max"})");
  EXPECT_EQ(scaler(R"(,"minReplicas":4)").causes, one("Invalid", "spec.maxReplicas"));
  EXPECT_EQ(scaler(R"(,"metrics":[{"type":"Pods"}])").causes, one("Required", "spec.metrics[0].pods"));
  EXPECT_EQ(
      scaler(R"(,"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization"}}}])").causes,
      one("Required", "spec.metrics[0].resource.target.averageUtilization"));
}

}  // namespace
}  // namespace vg::resources::core_kinds
