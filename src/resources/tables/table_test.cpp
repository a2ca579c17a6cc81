#include "resources/tables/table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/test_files.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"
#include "objects/draft.h"
#include "resources/tables/table_cells.h"

namespace vg::resources {
namespace {

using json::Array;
using json::Object;
using json::Value;

Timestamp at(std::string_view text) { return *parse_rfc3339(text); }
const Timestamp now = at("2026-01-01T12:00:00Z");

json::Document parsed(std::string_view text) {
  auto document = json::Document::parse(text);
  EXPECT_TRUE(document) << text;
  return document ? std::move(*document) : json::Document();
}

// As the store has it. What is not given is what most tests do not look at.
ObjectPtr stored(const Resource& resource, std::string_view json, Revision revision = 7) {
  const json::Document document = parsed(json);
  const ObjectDraft draft = make_draft(document.root().as_object(), resource);
  const std::string facts = pack_facts(draft);
  const Value* name = json::find_path(document.root(), {"metadata", "name"});
  return StoredObject::make({.resource = resource.key,
                             .name = json::as_string(name).value_or(""),
                             .facts = facts,
                             .json = draft.json,
                             .revision_offset = draft.revision_offset,
                             .stamp = {.revision = revision}});
}

std::string table(const TableRequest& request, const std::vector<ObjectPtr>& objects) {
  std::string out;
  Table table(request);
  table.open(out);
  for (const auto& object : objects) table.add(out, *object);
  table.close(out);
  return out;
}

// The cells of the only row, as JSON.
std::string cells(std::string_view key, std::string_view json) {
  const Resource* resource = find_resource(key);
  EXPECT_TRUE(resource) << key;
  const ObjectPtr object = stored(*resource, json);
  const json::Document out = parsed(table(
      {.resource = *resource, .api_version = resource->storage_api_version, .revision = 7, .now = now}, {object}));
  const Array& rows = *json::get_array(out.root(), "rows");
  const Array& row = *json::get_array(rows.at(0), "cells");
  EXPECT_EQ(row.size(), json::get_array(out.root(), "columnDefinitions")->size()) << key;
  return json::to_text(row);
}

std::string columns(std::string_view key) {
  const Resource* resource = find_resource(key);
  EXPECT_TRUE(resource) << key;
  const json::Document out =
      parsed(table({.resource = *resource, .api_version = resource->storage_api_version, .now = now}, {}));
  std::string names;
  for (const Value& column : *json::get_array(out.root(), "columnDefinitions")) {
    names += json::get_string_or(column, "name");
    names += json::get_int_or(column, "priority", 0) == 0 ? "|" : "+|";
  }
  return names;
}

TEST(HumanAge, AsKubectlPrintsIt) {
  const auto age = [](std::int64_t seconds) {
    return human_age(Timestamp{.seconds = 0}, Timestamp{.seconds = seconds});
  };
  constexpr std::int64_t m = 60, h = 60 * m, d = 24 * h, y = 365 * d;
  EXPECT_EQ(age(-2), "<invalid>");
  EXPECT_EQ(age(-1), "0s");
  EXPECT_EQ(age(0), "0s");
  EXPECT_EQ(age(119), "119s");
  EXPECT_EQ(age(120), "2m");
  EXPECT_EQ(age(121), "2m1s");
  EXPECT_EQ(age(10 * m - 1), "9m59s");
  EXPECT_EQ(age(10 * m + 30), "10m");
  EXPECT_EQ(age(3 * h - 1), "179m");
  EXPECT_EQ(age(3 * h), "3h");
  EXPECT_EQ(age(3 * h + 5 * m), "3h5m");
  EXPECT_EQ(age(8 * h + 5 * m), "8h");
  EXPECT_EQ(age(48 * h - 1), "47h");
  EXPECT_EQ(age(48 * h), "2d");
  EXPECT_EQ(age(3 * d + 4 * h), "3d4h");
  EXPECT_EQ(age(8 * d + 4 * h), "8d");
  EXPECT_EQ(age(2 * y - 1), "729d");
  EXPECT_EQ(age(2 * y), "2y");
  EXPECT_EQ(age(3 * y + 5 * d), "3y5d");
  EXPECT_EQ(age(9 * y + 5 * d), "9y");
  EXPECT_EQ(human_age({.seconds = 9, .nanoseconds = 500'000'000}, {.seconds = 10, .nanoseconds = 0}), "0s");
  EXPECT_EQ(human_age({.seconds = INT64_MIN}, {.seconds = INT64_MAX}), "292471208677y");
  EXPECT_EQ(human_age({.seconds = INT64_MAX}, {.seconds = INT64_MIN}), "<invalid>");
}

TEST(Table, ColumnsOfAMachine) {
  EXPECT_EQ(columns("kubevirt.io/virtualmachineinstances"),
            "Name|Age|Phase|IP|NodeName|Ready|Live-Migratable+|Paused+|");
  EXPECT_EQ(columns("kubevirt.io/virtualmachineinstancemigrations"), "Name|Phase|VMI|") << "columns of its own: no age";
  EXPECT_EQ(columns("instancetype.kubevirt.io/virtualmachineinstancetypes"), "Name|Age|") << "none of its own: the age";
  EXPECT_EQ(columns("rbac.authorization.k8s.io/roles"), "Name|Created At|");
}

TEST(Table, CellsOfCustomKinds) {
  EXPECT_EQ(cells("kubevirt.io/virtualmachineinstances", R"({"metadata":{"name":"a",
      "creationTimestamp":"2026-01-01T11:55:00Z"},"status":{"phase":"Running","nodeName":"n1",
      "interfaces":[{"ipAddress":"10.0.0.1"},{"ipAddress":"10.0.0.2"}],
      "conditions":[{"type":"Paused","status":"False"},{"type":"Ready","status":"True"}]}})"),
            R"(["a","5m","Running","10.0.0.1","n1","True",null,"False"])");
  EXPECT_EQ(cells("kubevirt.io/virtualmachineinstances", R"({"metadata":{"name":"a"}})"),
            R"(["a",null,null,null,null,null,null,null])");
  EXPECT_EQ(cells("pool.kubevirt.io/virtualmachinepools",
                  R"({"metadata":{"name":"p"},"spec":{"replicas":3},"status":{"replicas":2.7,"readyReplicas":"x"}})"),
            R"(["p",3,2,null,null])");
  EXPECT_EQ(cells("snapshot.kubevirt.io/virtualmachinerestores",
                  R"({"metadata":{"name":"r"},"spec":{"target":{"kind":{"odd":1},"name":5}},
                      "status":{"complete":true,"restoreTime":"yesterday"}})"),
            R"(["r","{\"odd\":1}","5",true,"<invalid>"])");
}

TEST(Table, RowsCarryWhatWasAskedFor) {
  const Resource& resource = *find_resource("kubevirt.io/virtualmachines");
  const ObjectPtr object = stored(resource, R"({"metadata":{"name":"a","namespace":"n"},"spec":{"x":1}})", 9);
  const auto row = [&](std::string_view include, std::string_view version) {
    const json::Document out = parsed(table({.resource = resource,
                                             .api_version = "kubevirt.io/v1alpha3",
                                             .table_version = version,
                                             .include_object = include,
                                             .revision = 12,
                                             .now = now},
                                            {object}));
    EXPECT_EQ(json::get_string_or(out.root(), "apiVersion"), "meta.k8s.io/" + std::string(version));
    const Value* shown = json::find(json::get_array(out.root(), "rows")->at(0), "object");
    return shown ? json::to_text(*shown) : "none";
  };
  EXPECT_EQ(row("", "v1"), R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{)"
                           R"("name":"a","namespace":"n","resourceVersion":"9"}})");
  EXPECT_EQ(row("Metadata", "v1beta1"),
            R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1beta1","metadata":{)"
            R"("name":"a","namespace":"n","resourceVersion":"9"}})");
  EXPECT_EQ(row("Object", "v1"), R"({"apiVersion":"kubevirt.io/v1alpha3","kind":"VirtualMachine","metadata":{)"
                                 R"("name":"a","namespace":"n","resourceVersion":"9"},"spec":{"x":1}})");
  EXPECT_EQ(row("None", "v1"), "none");
}

TEST(Table, MetadataAndLaterEvents) {
  const Resource& resource = *find_resource("configmaps");
  const ObjectPtr object = stored(resource, R"({"metadata":{"name":"a"}})", 9);
  const json::Document page = parsed(table({.resource = resource,
                                            .api_version = "v1",
                                            .revision = 12,
                                            .continue_token = "to\"ken",
                                            .remaining = 3,
                                            .now = now},
                                           {}));
  EXPECT_EQ(json::to_text(*json::find(page.root(), "metadata")),
            R"({"resourceVersion":"12","continue":"to\"ken","remainingItemCount":3})");
  EXPECT_TRUE(json::get_array(page.root(), "rows")->empty());

  const json::Document event = parsed(table({.resource = resource,
                                             .api_version = "v1",
                                             .revision = 15,
                                             .row_revision = 15,
                                             .with_columns = false,
                                             .now = now},
                                            {object}));
  EXPECT_TRUE(json::find(event.root(), "columnDefinitions")->is_null());
  const Value& row = json::get_array(event.root(), "rows")->at(0);
  EXPECT_EQ(json::as_string(json::find_path(row, {"object", "metadata", "resourceVersion"})), "15");
}

TEST(Table, EveryKindHasAsManyCellsAsColumns) {
  for (const Resource& resource : resources()) {
    if (!resource.stored) continue;
    cells(resource.key, "{}");
    cells(resource.key, R"({"metadata":{"name":"a","creationTimestamp":5,"labels":[]},"spec":[1],"status":"x"})");
    cells(resource.key, R"({"metadata":{"name":"a"},"spec":{"ports":[null,1],"containers":[1],"initContainers":[null],
        "selector":{"a":1}},"status":{"conditions":[null,1,{"type":1}],"containerStatuses":[1,{"state":1}],
        "initContainerStatuses":[null],"hard":{"cpu":1},"addresses":[7]},"subjects":[1],"roleRef":4,"data":7})");
  }
}

// --- Kubernetes' own kinds
// ------------------------------------------------------------------------------------------------

constexpr std::string_view meta = R"("metadata":{"name":"a","creationTimestamp":"2026-01-01T11:00:00Z"})";

std::string object(std::string_view rest, std::string_view metadata = meta) {
  return "{" + std::string(metadata) + (rest.empty() ? "" : ",") + std::string(rest) + "}";
}

TEST(BuiltinTable, Namespaces) {
  EXPECT_EQ(cells("namespaces", object(R"("status":{"phase":"Active"})")), R"(["a","Active","60m"])");
}

TEST(BuiltinTable, Nodes) {
  EXPECT_EQ(columns("nodes"),
            "Name|Status|Roles|Age|Version|Internal-IP+|External-IP+|OS-Image+|Kernel-Version+|Container-Runtime+|");
  EXPECT_EQ(
      cells("nodes", R"({"metadata":{"name":"n","creationTimestamp":"2026-01-01T11:00:00Z","labels":{
      "node-role.kubernetes.io/worker":"","node-role.kubernetes.io/control-plane":"","kubernetes.io/role":"edge"}},
      "spec":{"unschedulable":true},"status":{"conditions":[{"type":"Ready","status":"True"}],
      "addresses":[{"type":"Hostname","address":"n"},{"type":"InternalIP","address":"10.0.0.1"}],
      "nodeInfo":{"kubeletVersion":"v1.35.0","osImage":"Debian"}}})"),
      R"(["n","Ready,SchedulingDisabled","control-plane,edge,worker","60m","v1.35.0","10.0.0.1","<none>","Debian",)"
      R"("<unknown>","<unknown>"])");
  EXPECT_EQ(cells("nodes", object(R"("status":{"conditions":[{"type":"Ready","status":"Unknown"}]})")),
            R"(["a","NotReady","<none>","60m","","<none>","<none>","<unknown>","<unknown>","<unknown>"])");
}

TEST(BuiltinTable, Services) {
  EXPECT_EQ(
      cells("services", object(R"("spec":{"type":"NodePort","clusterIPs":["10.1.0.1"],"selector":{"b":"2","a":"1"},
      "ports":[{"port":80,"nodePort":30080,"protocol":"TCP"},{"port":53,"protocol":"UDP"}]})")),
      R"(["a","NodePort","10.1.0.1","<none>","80:30080/TCP,53/UDP","60m","a=1,b=2"])");
  EXPECT_EQ(cells("services", object(R"("spec":{"type":"LoadBalancer","externalIPs":["9.9.9.9"]},
      "status":{"loadBalancer":{"ingress":[{"hostname":"z"},{"ip":"8.8.8.8"}]}})")),
            R"(["a","LoadBalancer","<none>","8.8.8.8,z,9.9.9.9","<none>","60m","<none>"])");
  EXPECT_EQ(cells("services", object(R"("spec":{"type":"LoadBalancer"})")),
            R"(["a","LoadBalancer","<none>","<pending>","<none>","60m","<none>"])");
  EXPECT_EQ(cells("services", object(R"("spec":{"type":"ExternalName","externalName":"example.com"})")),
            R"(["a","ExternalName","<none>","example.com","<none>","60m","<none>"])");
}

TEST(BuiltinTable, Claims) {
  EXPECT_EQ(cells("persistentvolumeclaims",
                  object(R"("spec":{"storageClassName":"fast","volumeMode":"Block"},"status":{"phase":"Pending"})")),
            R"(["a","Pending","","","","fast","<unset>","60m","Block"])");
  EXPECT_EQ(cells("persistentvolumeclaims",
                  object(R"("spec":{"volumeName":"pv1"},"status":{"phase":"Bound","capacity":{"storage":"10Gi"},
                            "accessModes":["ReadWriteMany","ReadWriteOnce"]})")),
            R"(["a","Bound","pv1","10Gi","RWO,RWX","","<unset>","60m","<unset>"])");
}

TEST(BuiltinTable, Data) {
  EXPECT_EQ(cells("secrets", object(R"("type":"Opaque","data":{"x":"","y":""})")), R"(["a","Opaque",2,"60m"])");
  EXPECT_EQ(cells("configmaps", object(R"("data":{"x":""},"binaryData":{"y":""})")), R"(["a",2,"60m"])");
  EXPECT_EQ(cells("serviceaccounts", object("")), R"(["a","60m"])");
  EXPECT_EQ(cells("coordination.k8s.io/leases", object(R"("spec":{"holderIdentity":"me"})")), R"(["a","me","60m"])");
  EXPECT_EQ(cells("apps/controllerrevisions",
                  R"({"metadata":{"name":"r","ownerReferences":[{"kind":"Other","name":"o"},{"controller":true,
                     "apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","name":"vm"}]},"revision":4})"),
            R"(["r","virtualmachine.kubevirt.io/vm",4,"<unknown>"])");
  EXPECT_EQ(cells("resourcequotas",
                  object(R"("status":{"hard":{"pods":"5","limits.cpu":"2","cpu":"1"},"used":{"pods":"1"}})")),
            R"(["a","cpu: 0/1, pods: 1/5","limits.cpu: 0/2","60m"])");
}

TEST(BuiltinTable, Classes) {
  EXPECT_EQ(cells("storage.k8s.io/storageclasses",
                  R"({"metadata":{"name":"s","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},
                     "provisioner":"p","allowVolumeExpansion":true})"),
            R"x(["s (default)","p","Delete","Immediate",true,"<unknown>"])x");
  EXPECT_EQ(cells("scheduling.k8s.io/priorityclasses", object(R"("value":1000,"preemptionPolicy":"Never")")),
            R"(["a",1000,false,"60m","Never"])");
}

TEST(BuiltinTable, Events) {
  EXPECT_EQ(cells("events", object(R"("type":"Normal","reason":"Started","message":" up \n","count":3,
      "firstTimestamp":"2026-01-01T11:00:00Z","lastTimestamp":"2026-01-01T11:59:00Z",
      "source":{"component":"c","host":"h"},
      "involvedObject":{"kind":"VirtualMachine","name":"vm","fieldPath":"spec.x"})")),
            R"(["60s","Normal","Started","virtualmachine/vm","spec.x","c, h","up","60m",3,"a"])");
  EXPECT_EQ(cells("events", object(R"("eventTime":"2026-01-01T11:00:00.000000Z","firstTimestamp":null,
      "series":{"count":9,"lastObservedTime":"2026-01-01T11:59:30.000000Z"},"reportingComponent":"rc",
      "involvedObject":{"kind":"Node"})")),
            R"(["30s","","","node","","rc","","60m",9,"a"])");
}

TEST(BuiltinTable, Roles) {
  EXPECT_EQ(cells("rbac.authorization.k8s.io/roles", object("")), R"(["a","2026-01-01T11:00:00Z"])");
  EXPECT_EQ(cells("rbac.authorization.k8s.io/rolebindings",
                  object(R"("roleRef":{"kind":"Role","name":"r"},"subjects":[{"kind":"User","name":"u1"},
                     {"kind":"User","name":"u2"},{"kind":"ServiceAccount","namespace":"n","name":"s"}])")),
            R"(["a","Role/r","60m","u1, u2","","n/s"])");
}

TEST(BuiltinTable, Pods) {
  EXPECT_EQ(columns("pods"), "Name|Ready|Status|Restarts|Age|IP+|Node+|Nominated Node+|Readiness Gates+|");
  EXPECT_EQ(
      cells("pods", object(R"("spec":{"containers":[{},{}],"nodeName":"n1","readinessGates":[{"conditionType":"G"}]},
      "status":{"phase":"Running","podIP":"10.0.0.9","conditions":[{"type":"G","status":"True"}],
      "containerStatuses":[{"ready":true,"state":{"running":{}}},{"ready":false,"restartCount":3,
      "state":{"waiting":{"reason":"CrashLoopBackOff"}},
      "lastState":{"terminated":{"finishedAt":"2026-01-01T11:58:00Z"}}}]})")),
      R"x(["a","1/2","CrashLoopBackOff","3 (2m ago)","60m","10.0.0.9","n1","<none>","1/1"])x");
  const auto status = [](std::string_view rest, std::string_view metadata = meta) {
    const json::Document row = parsed(cells("pods", object(rest, metadata)));
    return std::string(*json::as_string(&row.root().as_array().at(2)));
  };
  EXPECT_EQ(status(R"("status":{"phase":"Pending"})"), "Pending");
  EXPECT_EQ(status(R"("status":{"phase":"Failed","reason":"Evicted"})"), "Evicted");
  EXPECT_EQ(status(R"("status":{"phase":"Pending","conditions":[{"type":"PodScheduled","reason":"SchedulingGated"}]})"),
            "SchedulingGated");
  EXPECT_EQ(status(R"("spec":{"initContainers":[{"name":"i"},{"name":"j"}]},"status":{"phase":"Pending",
      "initContainerStatuses":[{"state":{"terminated":{"exitCode":0}}},{"state":{"running":{}}}]})"),
            "Init:1/2");
  EXPECT_EQ(status(R"("status":{"initContainerStatuses":[{"state":{"terminated":{"exitCode":3}}}]})"),
            "Init:ExitCode:3");
  EXPECT_EQ(status(R"("status":{"initContainerStatuses":[{"state":{"waiting":{"reason":"ErrImagePull"}}}]})"),
            "Init:ErrImagePull");
  EXPECT_EQ(status(R"("status":{"containerStatuses":[{"state":{"terminated":{"signal":9}}}]})"), "Signal:9");
  EXPECT_EQ(status(R"("status":{"containerStatuses":[{"state":{"terminated":{"reason":"Completed"}}},
      {"ready":true,"state":{"running":{}}}]})"),
            "NotReady");
  constexpr std::string_view deleted = R"("metadata":{"name":"a","deletionTimestamp":"2026-01-01T11:00:00Z"})";
  EXPECT_EQ(status(R"("status":{"phase":"Running"})", deleted), "Terminating");
  EXPECT_EQ(status(R"("status":{"phase":"Succeeded"})", deleted), "Succeeded");
  EXPECT_EQ(status(R"("status":{"phase":"Running","reason":"NodeLost"})", deleted), "Unknown");
}

TEST(BuiltinTable, ASidecarCountsAsReady) {
  const json::Document row = parsed(cells("pods", object(R"("spec":{"containers":[{}],"initContainers":[{"name":"s",
      "restartPolicy":"Always"}]},"status":{"phase":"Running","initContainerStatuses":[{"name":"s","started":true,
      "ready":true,"restartCount":2,"state":{"running":{}}}],
      "containerStatuses":[{"ready":true,"restartCount":1,"state":{"running":{}}}]})")));
  EXPECT_EQ(row.root().as_array().at(1), "2/2");
  EXPECT_EQ(row.root().as_array().at(3), "3");
}

// --- what was recorded
// ------------------------------------------------------------------------------------------------------

// Ages and descriptions change or are ours; empty and absent are alike.
std::string comparable(const Value& answer) {
  std::string out =
      std::string(json::get_string_or(answer, "kind")) + " " + std::string(json::get_string_or(answer, "apiVersion"));
  std::vector<bool> volatile_cell;
  for (const Value& column : *json::get_array(answer, "columnDefinitions")) {
    out += "\ncolumn";
    for (const std::string_view key : {"name", "type", "format"})
      out += " " + std::string(json::get_string_or(column, key));
    out += " " + std::to_string(json::get_int_or(column, "priority", 0));
    const std::string_view name = json::get_string_or(column, "name");
    volatile_cell.push_back(name == "Age" || name == "CreationTime");
  }
  for (const Value& row : *json::get_array(answer, "rows")) {
    out += "\nrow";
    const Array& row_cells = *json::get_array(row, "cells");
    for (std::size_t i = 0; i < row_cells.size(); ++i)
      out += " " + (volatile_cell.at(i) ? std::string("<any>") : json::to_text(row_cells[i]));
    Object metadata = *json::as_object(json::find_path(row, {"object", "metadata"}));
    for (const std::string_view key : {"resourceVersion", "uid", "creationTimestamp", "managedFields"})
      metadata.erase(key);
    out += " " + std::string(json::as_string(json::find_path(row, {"object", "kind"})).value_or("")) + " ";
    json::write(metadata, out, {.sort_keys = true});
  }
  return out;
}

TEST(Table, AnswersAsRecorded) {
  std::ifstream file(test_files::recording("rest.jsonl"));
  int compared = 0;
  const Resource& resource = *find_resource("kubevirt.io/virtualmachines");
  for (std::string line; std::getline(file, line);) {
    if (!line.contains("as=Table")) continue;
    const json::Document scenario = parsed(line);
    for (const Value& step : *json::get_array(scenario.root(), "steps")) {
      const Value* want = json::find_path(step, {"expect", "body"});
      if (!want || json::get_string_or(*want, "kind") != "Table") continue;
      ASSERT_TRUE(json::get_string_or(step, "path").contains("/virtualmachines"));
      // The objects as the earlier steps made them; their specs are not shown.
      std::vector<ObjectPtr> objects;
      for (const Value& row : *json::get_array(*want, "rows")) {
        Object metadata = *json::as_object(json::find_path(row, {"object", "metadata"}));
        metadata["creationTimestamp"] = "2026-01-01T11:59:00Z";
        const Object whole{{"metadata", metadata}, {"spec", Object{{"running", false}}}};
        objects.push_back(stored(resource, json::to_text(Value(whole))));
      }
      const json::Document got =
          parsed(table({.resource = resource, .api_version = "kubevirt.io/v1", .revision = 20, .now = now}, objects));
      EXPECT_EQ(comparable(got.root()), comparable(*want));
      ++compared;
    }
  }
  EXPECT_EQ(compared, 2);
}

TEST(BuiltinTable, Workloads) {
  constexpr std::string_view pods =
      R"("template":{"spec":{"nodeSelector":{"k":"v"},"containers":[{"name":"a","image":"i"},{"name":"b","image":"j"}]}})";
  const auto object = [&](std::string_view spec, std::string_view status) {
    return fmt::format(R"({{"metadata":{{"name":"w"}},"spec":{{{}{}{}}},"status":{{{}}}}})", spec,
                       spec.empty() ? "" : ",", pods, status);
  };
  EXPECT_EQ(columns("apps/deployments"), "Name|Ready|Up-to-date|Available|Age|Containers+|Images+|Selector+|");
  EXPECT_EQ(cells("apps/deployments", object(R"("replicas":3,"selector":{"matchLabels":{"x":"y"}})",
                                             R"("readyReplicas":2,"updatedReplicas":1,"availableReplicas":2)")),
            R"(["w","2/3",1,2,"<unknown>","a,b","i,j","x=y"])");
  EXPECT_EQ(cells("apps/daemonsets", object("", R"("desiredNumberScheduled":4,"numberReady":3)")),
            R"(["w",4,0,3,0,0,"k=v","<unknown>","a,b","i,j","<none>"])");
  EXPECT_EQ(cells("apps/statefulsets", object(R"("replicas":2)", R"("readyReplicas":1)")),
            R"(["w","1/2","<unknown>","a,b","i,j"])");
  EXPECT_EQ(cells("replicationcontrollers", object(R"("replicas":2,"selector":{"x":"y"})", R"("replicas":1)")),
            R"(["w",2,1,0,"<unknown>","a,b","i,j","x=y"])");
}

TEST(BuiltinTable, Jobs) {
  const auto job = [](std::string_view spec, std::string_view status) {
    return cells("batch/jobs",
                 fmt::format(R"({{"metadata":{{"name":"j"}},"spec":{{{}}},"status":{{{}}}}})", spec, status));
  };
  EXPECT_EQ(job(R"("completions":3)", R"("succeeded":1)"), R"(["j","Running","1/3","","<unknown>","","","<none>"])");
  EXPECT_EQ(job(R"("parallelism":4)", R"("conditions":[{"type":"Failed","status":"True"}])"),
            R"(["j","Failed","0/1 of 4","","<unknown>","","","<none>"])");
  EXPECT_EQ(job(R"("completions":1)", R"("succeeded":1,"startTime":"2026-01-02T03:00:00Z",)"
                                      R"("completionTime":"2026-01-02T03:01:30Z",)"
                                      R"("conditions":[{"type":"Complete","status":"True"}])"),
            R"(["j","Complete","1/1","90s","<unknown>","","","<none>"])");
  EXPECT_EQ(cells("batch/cronjobs", R"({"metadata":{"name":"c"},"spec":{"schedule":"@daily","suspend":true},
      "status":{"active":[{}]}})"),
            R"(["c","@daily","<none>","True",1,"<none>","<unknown>","","","<none>"])");
}

TEST(BuiltinTable, AutoscalersShowTwoMetrics) {
  EXPECT_EQ(cells("autoscaling/horizontalpodautoscalers", R"({"metadata":{"name":"h"},"spec":{"maxReplicas":5,
      "scaleTargetRef":{"kind":"D","name":"d"},"metrics":[
      {"type":"Resource","resource":{"name":"cpu","target":{"averageUtilization":60}}},
      {"type":"External","external":{"target":{"averageValue":"7"}}},{"type":"Pods"}]},
      "status":{"currentReplicas":2,"currentMetrics":[{"type":"Resource","resource":{"current":{"averageUtilization":30}}}]}})"),
            R"(["h","D/d","cpu: 30%/60%, <unknown>/7 (avg) + 1 more...","<unset>",5,2,"<unknown>"])");
}

TEST(BuiltinTable, NetworksAndStorage) {
  EXPECT_EQ(cells("networking.k8s.io/ingresses", R"({"metadata":{"name":"i"},"spec":{"tls":[{}],"rules":[{"host":"a"},
      {"host":"b"},{"host":"c"},{"host":"d"}]},"status":{"loadBalancer":{"ingress":[{"hostname":"z"},{"ip":"1.2.3.4"}]}}})"),
            R"(["i","<none>","a,b,c + 1 more...","1.2.3.4,z","80, 443","<unknown>"])");
  EXPECT_EQ(cells("endpoints",
                  R"({"metadata":{"name":"e"},"subsets":[{"addresses":[{"ip":"fd00::1"}],"ports":[{"port":1}]}]})"),
            R"(["e","[fd00::1]:1","<unknown>"])");
  EXPECT_EQ(cells("endpoints", R"({"metadata":{"name":"e"}})"), R"(["e","<none>","<unknown>"])");
  EXPECT_EQ(cells("persistentvolumes", R"({"metadata":{"name":"p"},"spec":{"capacity":{"storage":"1Gi"},
      "accessModes":["ReadWriteMany","ReadWriteOnce"],"claimRef":{"namespace":"n","name":"c"},"storageClassName":"s",
      "persistentVolumeReclaimPolicy":"Delete","volumeMode":"Block"},"status":{"phase":"Bound"}})"),
            R"(["p","1Gi","RWO,RWX","Delete","Bound","n/c","s","<unset>","","<unknown>","Block"])");
  EXPECT_EQ(
      cells("storage.k8s.io/csidrivers", R"({"metadata":{"name":"d"},"spec":{"tokenRequests":[{"audience":"a"}]}})"),
      R"(["d",true,false,false,"a",false,"<none>","<unknown>"])");
  EXPECT_EQ(cells("policy/poddisruptionbudgets", R"({"metadata":{"name":"b"},"spec":{"maxUnavailable":1}})"),
            R"(["b","N/A","1",0,"<unknown>"])");
}

TEST(BuiltinTable, CertificatesAndServices) {
  EXPECT_EQ(cells("certificates.k8s.io/certificatesigningrequests", R"({"metadata":{"name":"c"},
      "spec":{"signerName":"s","username":"u","expirationSeconds":3600},
      "status":{"certificate":"eA==","conditions":[{"type":"Approved"}]}})"),
            R"(["c","<unknown>","s","u","60m","Approved,Issued"])");
  EXPECT_EQ(cells("apiregistration.k8s.io/apiservices", R"({"metadata":{"name":"v1."},
      "status":{"conditions":[{"type":"Available","status":"True"}]}})"),
            R"(["v1.","Local","True","<unknown>"])");
  EXPECT_EQ(cells("resource.k8s.io/resourceclaims",
                  R"({"metadata":{"name":"r"},"status":{"allocation":{},"reservedFor":[{}]}})"),
            R"(["r","allocated,reserved","<unknown>"])");
}

}  // namespace
}  // namespace vg::resources
