#include "api/canonical.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "json/access.h"
#include "json/arena.h"
#include "json/document.h"
#include "json/write.h"

namespace vg::api {
namespace {

// The canonical bytes, or "refused: " and the message.
std::string canonical(std::string_view type_name, std::string_view text) {
  const Type* type = find_type(type_name);
  if (!type) return "no such type";
  auto document = json::Document::parse(text);
  if (!document) return "no JSON: " + document.error().message;
  const auto done = canonicalize(document->root(), *type);
  if (!done) {
    EXPECT_EQ(done.error().code, 400);
    EXPECT_EQ(done.error().reason, "BadRequest");
    return "refused: " + done.error().message;
  }
  std::string bytes = json::to_text(document->root());
  // Whatever comes out is canonical already.
  const auto again = canonicalize(document->root(), *type);
  EXPECT_TRUE(again) << bytes;
  EXPECT_EQ(json::to_text(document->root()), bytes);
  return bytes;
}

struct Example {
  std::string_view type;
  std::string_view given;
  std::string_view wanted;
};

void expect_all(std::initializer_list<Example> examples) {
  for (const Example& example : examples) {
    EXPECT_EQ(canonical(example.type, example.given), example.wanted) << example.type << " " << example.given;
  }
}

constexpr std::string_view disk = "kubevirt.Disk";
constexpr std::string_view meta = "meta.ObjectMeta";

TEST(Canonical, DropsWhatTheTypeDoesNotKnow) {
  expect_all({
      {disk, R"({"name":"a","colour":"red","x":{"y":[1]}})", R"({"name":"a"})"},
      {meta, R"({"labels":{"kept":"x"},"unknown":1})", R"({"labels":{"kept":"x"}})"},
  });
}

TEST(Canonical, WritesFieldsInTheOrderOfTheType) {
  expect_all({
      {disk, R"({"tag":"t","serial":"s","bootOrder":1,"disk":{"readonly":true,"bus":"sata"},"name":"a"})",
       R"({"name":"a","disk":{"bus":"sata","readonly":true},"bootOrder":1,"serial":"s","tag":"t"})"},
  });
}

TEST(Canonical, SortsMapsByTheBytesOfTheirKeys) {
  expect_all({
      {meta, R"({"labels":{"b":"1","B":"2","a/b":"3","ä":"4","a":"5"}})",
       R"({"labels":{"B":"2","a":"5","a/b":"3","b":"1","ä":"4"}})"},
  });
}

TEST(Canonical, MatchesNamesWithoutRegardToCaseAsGoDoes) {
  expect_all({
      {disk, R"({"NAME":"a","BootOrder":2})", R"({"name":"a","bootOrder":2})"},
      // The exact name is no better than another spelling: what comes later wins.
      {disk, R"({"name":"a","Name":"b"})", R"({"name":"b"})"},
      {disk, R"({"Name":"b","name":"a"})", R"({"name":"a"})"},
      // Keys of maps are no names.
      {meta, R"({"LABELS":{"A":"1","a":"2"}})", R"({"labels":{"A":"1","a":"2"}})"},
  });
}

TEST(Canonical, UnitesObjectsGivenUnderTwoSpellings) {
  expect_all({
      {disk, R"({"name":"a","disk":{"bus":"sata"},"Disk":{"readonly":true}})",
       R"({"name":"a","disk":{"bus":"sata","readonly":true}})"},
      {disk, R"({"name":"a","disk":{"bus":"sata"},"Disk":{"bus":"scsi"}})", R"({"name":"a","disk":{"bus":"scsi"}})"},
      {meta, R"({"labels":{"a":"1","b":"2"},"Labels":{"b":"3","c":"4"}})", R"({"labels":{"a":"1","b":"3","c":"4"}})"},
      {meta, R"({"finalizers":["a"],"Finalizers":["b"]})", R"({"finalizers":["b"]})"},
      // A null takes a pointer, a map or a list away, and leaves everything else as it is.
      {disk, R"({"name":"a","disk":{"bus":"sata"},"Disk":null})", R"({"name":"a"})"},
      {disk, R"({"name":"a","Name":null})", R"({"name":"a"})"},
      {meta, R"({"labels":{"a":"1"},"Labels":null})", R"({})"},
      // What is overridden had to be decodable all the same.
      {disk, R"({"name":1,"Name":"b"})", "refused: name: expected a string, got 1"},
      {meta, R"({"labels":{"a":1},"Labels":{"a":"x"}})", "refused: labels[a]: expected a string, got 1"},
  });
}

TEST(Canonical, ManySpellingsOfOneNameCostNoMoreThanTheirSize) {
  std::string text = "{";
  for (int spelling = 0; spelling < 512; ++spelling) {
    std::string name = "annotations";
    for (std::size_t at = 0; at < 9; ++at) {
      if (spelling >> at & 1) name[at] = static_cast<char>(name[at] - 32);
    }
    text += (spelling ? ",\"" : "\"") + name + "\":{\"k" + std::to_string(spelling) + "\":\"v\"}";
  }
  const std::string out = canonical(meta, text + "}");
  EXPECT_TRUE(out.starts_with(R"({"annotations":{"k0":"v","k1":"v","k10":"v")")) << out.substr(0, 100);
}

TEST(Canonical, NullIsTheZeroValue) {
  expect_all({
      {disk, R"({"name":null,"bootOrder":null,"disk":null,"serial":null})", R"({"name":""})"},
      {meta, R"({"name":null,"labels":null,"creationTimestamp":null,"generation":null})", R"({})"},
      {meta, R"({"labels":{"a":null}})", R"({"labels":{"a":""}})"},
      {meta, R"({"finalizers":["a",null]})", R"({"finalizers":["a",""]})"},
      {meta, R"({"ownerReferences":[null]})",
       R"({"ownerReferences":[{"apiVersion":"","kind":"","name":"","uid":""}]})"},
      {meta, "null", "{}"},
  });
}

TEST(Canonical, LeavesOutWhatGoCallsEmpty) {
  expect_all({
      {meta, R"({"name":"","labels":{},"finalizers":[],"generation":0})", R"({})"},
      // Not what hangs at a pointer: that somebody wrote it is a value too.
      {disk, R"({"name":"a","bootOrder":0,"dedicatedIOThread":false,"disk":{},"serial":""})",
       R"({"name":"a","disk":{},"bootOrder":0,"dedicatedIOThread":false})"},
  });
}

TEST(Canonical, WritesWhatGoAlwaysWrites) {
  expect_all({
      {disk, "{}", R"({"name":""})"},
      {"kubevirt.VirtualMachineInstance", "{}",
       R"({"metadata":{},"spec":{"domain":{"resources":{},"devices":{}}},"status":{"guestOSInfo":{},"runtimeUser":0}})"},
      {"kubevirt.TokenBucketRateLimiter", "{}", R"({"qps":0,"burst":0})"},
      // A pointer, a list and a map that must be written are null when nil; a list that is only empty stays empty.
      {"kubevirt.FreezeUnfreezeTimeout", "{}", R"({"unfreezeTimeout":null})"},
      {"meta.APIGroupList", "{}", R"({"groups":null})"},
      {"meta.APIGroupList", R"({"groups":[]})", R"({"groups":[]})"},
      {"meta.APIGroupList", R"({"groups":null})", R"({"groups":null})"},
  });
}

TEST(Canonical, EmbeddedStructsStandAmongTheOtherFields) {
  expect_all({
      {"kubevirt.VirtualMachineInstance", R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance"})",
       R"({"kind":"VirtualMachineInstance","apiVersion":"kubevirt.io/v1","metadata":{},)"
       R"("spec":{"domain":{"resources":{},"devices":{}}},"status":{"guestOSInfo":{},"runtimeUser":0}})"},
      {"kubevirt.GPU", R"({"name":"g","requestName":"r","claimName":"c"})",
       R"({"name":"g","claimName":"c","requestName":"r"})"},
      {"kubevirt.GPU", R"({"name":"g"})", R"({"name":"g"})"},
  });
}

// As rules want it: what Go has in memory, not what it would write.
TEST(Canonical, KeepsEmptyListsMapsAndEmbeddedStructsWhenAsked) {
  const auto kept = [](std::string_view type, std::string_view text) {
    auto document = json::Document::parse(text);
    EXPECT_TRUE(canonicalize(document->root(), *find_type(type), {}, Empties::kept)) << text;
    return json::to_text(document->root());
  };
  EXPECT_EQ(kept("kubevirt.GPU", R"({"name":"g","claimName":"","tag":""})"), R"({"name":"g","claimName":""})");
  EXPECT_EQ(kept("kubevirt.GPU", R"({"name":"g","deviceName":""})"), R"({"name":"g"})");
  EXPECT_EQ(kept("kubevirt.Devices", R"({"hostDevices":[],"gpus":null,"disableHotplug":false})"),
            R"({"hostDevices":[]})");
  EXPECT_EQ(kept(meta, R"({"labels":{},"annotations":null,"name":""})"), R"({"labels":{}})");
  EXPECT_EQ(canonical("kubevirt.GPU", R"({"name":"g","claimName":""})"), R"({"name":"g"})");
  EXPECT_EQ(canonical("kubevirt.Devices", R"({"hostDevices":[]})"), "{}");
}

TEST(Canonical, IntegersAreDigitsThatFitTheirType) {
  expect_all({
      {disk, R"({"name":"a","bootOrder":18446744073709551615})", R"({"name":"a","bootOrder":18446744073709551615})"},
      {disk, R"({"name":"a","bootOrder":-1})",
       "refused: bootOrder: expected a whole number from 0 to 18446744073709551615, got -1"},
      {disk, R"({"name":"a","bootOrder":1.0})",
       "refused: bootOrder: expected a whole number from 0 to 18446744073709551615, got 1"},
      {disk, R"({"name":"a","bootOrder":1e3})",
       "refused: bootOrder: expected a whole number from 0 to 18446744073709551615, got 1000"},
      {disk, R"({"name":"a","bootOrder":"1"})",
       R"(refused: bootOrder: expected a whole number from 0 to 18446744073709551615, got "1")"},
      {"kubevirt.CPU", R"({"cores":4294967295})", R"({"cores":4294967295})"},
      {"kubevirt.CPU", R"({"cores":4294967296})",
       "refused: cores: expected a whole number from 0 to 4294967295, got 4294967296"},
      {meta, R"({"generation":9223372036854775807})", R"({"generation":9223372036854775807})"},
      {meta, R"({"generation":9223372036854775808})",
       "refused: generation: expected a whole number from -9223372036854775808 to 9223372036854775807, "
       "got 9223372036854775808"},
      {"kubevirt.Probe", R"({"periodSeconds":-2147483649})",
       "refused: periodSeconds: expected a whole number from -2147483648 to 2147483647, got -2147483649"},
      {"kubevirt.ComponentConfig", R"({"replicas":255})", R"({"replicas":255})"},
      {"kubevirt.ComponentConfig", R"({"replicas":256})",
       "refused: replicas: expected a whole number from 0 to 255, got 256"},
  });
}

TEST(Canonical, NumbersArePrintedByThePrecisionOfTheirType) {
  expect_all({
      {"kubevirt.TokenBucketRateLimiter", R"({"qps":0.1,"burst":5})", R"({"qps":0.1,"burst":5})"},
      {"kubevirt.TokenBucketRateLimiter", R"({"qps":16777217,"burst":5})", R"({"qps":16777216,"burst":5})"},
      {"kubevirt.TokenBucketRateLimiter", R"({"qps":3.14159265358979,"burst":0})", R"({"qps":3.1415927,"burst":0})"},
      {"kubevirt.TokenBucketRateLimiter", R"({"qps":1e39,"burst":0})",
       "refused: qps: expected a number of single precision, got 1e+39"},
      {"kubevirt.VirtualMachineInstanceGuestOSUser", R"({"userName":"u","loginTime":1.5})",
       R"({"userName":"u","loginTime":1.5})"},
      {"kubevirt.VirtualMachineInstanceGuestOSUser", R"({"userName":"u","loginTime":9007199254740993})",
       R"({"userName":"u","loginTime":9007199254740992})"},
      {"kubevirt.VirtualMachineInstanceGuestOSUser", R"({"userName":"u","loginTime":"1"})",
       R"(refused: loginTime: expected a number, got "1")"},
  });
}

TEST(Canonical, StringsAndBooleansAreNothingElse) {
  expect_all({
      {disk, R"({"name":1})", "refused: name: expected a string, got 1"},
      {disk, R"({"name":["a"]})", "refused: name: expected a string, got a list"},
      {disk, R"({"name":"a","dedicatedIOThread":"true"})",
       R"(refused: dedicatedIOThread: expected true or false, got "true")"},
      {disk, R"({"name":"a","dedicatedIOThread":0})", "refused: dedicatedIOThread: expected true or false, got 0"},
      {disk, R"([])", "refused: the object: expected an object, got a list"},
      {disk, R"({"disk":"sata"})", R"(refused: disk: expected an object, got "sata")"},
      {meta, R"({"labels":["a"]})", "refused: labels: expected an object, got a list"},
      {meta, R"({"finalizers":"a"})", R"(refused: finalizers: expected a list, got "a")"},
      {meta, R"({"finalizers":["a",2]})", "refused: finalizers[1]: expected a string, got 2"},
      {meta, R"({"labels":{"a.b/c":true}})", "refused: labels[a.b/c]: expected a string, got true"},
  });
}

TEST(Canonical, QuantitiesAreWrittenOneWay) {
  constexpr std::string_view type = "k8s.ResourceRequirements";
  expect_all({
      {type, R"({"requests":{"memory":"1024Mi","cpu":"0.5"}})", R"({"requests":{"cpu":"500m","memory":"1Gi"}})"},
      {type, R"({"requests":{"cpu":2}})", R"({"requests":{"cpu":"2"}})"},
      {type, R"({"requests":{"cpu":1.5}})", R"({"requests":{"cpu":"1500m"}})"},
      {type, R"({"requests":{"cpu":null}})", R"({"requests":{"cpu":"0"}})"},
      {type, R"({"requests":{"cpu":" 1 "}})", R"({"requests":{"cpu":"1"}})"},
      {type, R"({"requests":{"cpu":""}})",
       R"(refused: requests[cpu]: expected a quantity such as 500m, 2 or 4Gi, got "")"},
      {type, R"({"requests":{"cpu":"many"}})",
       R"(refused: requests[cpu]: expected a quantity such as 500m, 2 or 4Gi, got "many")"},
      {type, R"({"requests":{"cpu":true}})",
       "refused: requests[cpu]: expected a quantity such as 500m, 2 or 4Gi, got true"},
      // No pointer and no way to be empty: it is always there. A pointer keeps what was said.
      {"kubevirt.HostDisk", R"({"path":"/a","type":"Disk"})", R"({"path":"/a","type":"Disk","capacity":"0"})"},
      {"kubevirt.Memory", R"({"guest":"0"})", R"({"guest":"0"})"},
      {"kubevirt.Memory", R"({"guest":null})", "{}"},
  });
}

TEST(Canonical, TimesAreInUtcToTheSecond) {
  expect_all({
      {meta, R"({"creationTimestamp":"2026-01-02T03:04:05.678+02:00"})",
       R"({"creationTimestamp":"2026-01-02T01:04:05Z"})"},
      {meta, R"({"creationTimestamp":"0001-01-01T00:00:00Z"})", R"({})"},
      // Behind a pointer Go would write it as null once, and leave it out the second time.
      {meta, R"({"deletionTimestamp":"0001-01-01T00:00:00Z"})", R"({})"},
      {meta, R"({"creationTimestamp":"yesterday"})",
       R"(refused: creationTimestamp: expected a time such as 2026-01-02T03:04:05Z, got "yesterday")"},
      {meta, R"({"creationTimestamp":""})",
       R"(refused: creationTimestamp: expected a time such as 2026-01-02T03:04:05Z, got "")"},
      {meta, R"({"creationTimestamp":1})",
       "refused: creationTimestamp: expected a time such as 2026-01-02T03:04:05Z, got 1"},
      {meta, R"({"creationTimestamp":"9999-12-31T23:59:59-23:00"})",
       R"(refused: creationTimestamp: expected a time such as 2026-01-02T03:04:05Z, got "9999-12-31T23:59:59-23:00")"},
      {"kubevirt.VirtualMachineInstanceCondition", R"({"type":"Ready","status":"True"})",
       R"({"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":null})"},
  });
}

TEST(Canonical, MicroTimesHaveSixDigits) {
  constexpr std::string_view type = "coordination.LeaseSpec";
  expect_all({
      {type, R"({"renewTime":"2026-01-02T03:04:05.678900+02:00"})", R"({"renewTime":"2026-01-02T01:04:05.678900Z"})"},
      {type, R"({"renewTime":"2026-01-02T03:04:05Z"})",
       R"(refused: renewTime: expected a time such as 2026-01-02T03:04:05.000000Z, got "2026-01-02T03:04:05Z")"},
      {type, R"({"renewTime":"2026-01-02T03:04:05.6789000Z"})",
       R"(refused: renewTime: expected a time such as 2026-01-02T03:04:05.000000Z, got "2026-01-02T03:04:05.6789000Z")"},
  });
}

TEST(Canonical, DurationsAreWrittenAsGoPrintsThem) {
  constexpr std::string_view type = "kubevirt.FreezeUnfreezeTimeout";
  expect_all({
      {type, R"({"unfreezeTimeout":"90s"})", R"({"unfreezeTimeout":"1m30s"})"},
      {type, R"({"unfreezeTimeout":"0"})", R"({"unfreezeTimeout":"0s"})"},
      {type, R"({"unfreezeTimeout":null})", R"({"unfreezeTimeout":null})"},
      {type, R"({"unfreezeTimeout":5})", "refused: unfreezeTimeout: expected a duration such as 1m30s, got 5"},
      {type, R"({"unfreezeTimeout":""})", R"(refused: unfreezeTimeout: expected a duration such as 1m30s, got "")"},
  });
}

TEST(Canonical, BytesAreBase64) {
  constexpr std::string_view type = "admission.AdmissionResponse";
  expect_all({
      {type, R"({"uid":"u","allowed":true,"patch":"aGk="})", R"({"uid":"u","allowed":true,"patch":"aGk="})"},
      // Line ends are ignored, the unused bits of the last character too.
      {type, R"({"uid":"u","allowed":true,"patch":"aG\nl="})", R"({"uid":"u","allowed":true,"patch":"aGk="})"},
      // To Go it is also a list of small numbers.
      {type, R"({"uid":"u","allowed":true,"patch":[104,105]})", R"({"uid":"u","allowed":true,"patch":"aGk="})"},
      {type, R"({"uid":"u","allowed":true,"patch":""})", R"({"uid":"u","allowed":true})"},
      {type, R"({"uid":"u","allowed":true,"patch":null})", R"({"uid":"u","allowed":true})"},
      {type, R"({"uid":"u","allowed":true,"patch":"a"})", R"(refused: patch: expected base64 in a string, got "a")"},
      {type, R"({"uid":"u","allowed":true,"patch":[256]})", "refused: patch: expected base64 in a string, got a list"},
  });
}

TEST(Canonical, IntOrStringIsEither) {
  constexpr std::string_view type = "k8s.TCPSocketAction";
  expect_all({
      {type, R"({"port":80})", R"({"port":80})"},
      {type, R"({"port":"http"})", R"({"port":"http"})"},
      {type, R"({"port":null})", R"({"port":0})"},
      {type, R"({})", R"({"port":0})"},
      {type, R"({"port":2147483648})",
       "refused: port: expected a string or a whole number from -2147483648 to 2147483647, got 2147483648"},
      {type, R"({"port":1.5})",
       "refused: port: expected a string or a whole number from -2147483648 to 2147483647, got 1.5"},
  });
}

TEST(Canonical, RawValuesStayAsTheyAre) {
  constexpr std::string_view request =
      R"({"uid":"u","kind":{"group":"","version":"","kind":""},"resource":{"group":"","version":"","resource":""},)"
      R"("operation":"CREATE","userInfo":{},"object":{"b":1,"a":[null,{}]},"oldObject":null,"options":null})";
  expect_all({
      {"admission.AdmissionRequest", R"({"uid":"u","operation":"CREATE","object":{"b":1,"a":[null,{}]}})", request},
      {meta, R"({"managedFields":[{"manager":"m","fieldsV1":{"f:z":{},"f:a":{"x":null}}}]})",
       R"({"managedFields":[{"manager":"m","fieldsV1":{"f:z":{},"f:a":{"x":null}}}]})"},
  });
}

TEST(Canonical, MachineSpecsGetTheirAddressesRewritten) {
  const std::string spec =
      R"({"domain":{"devices":{"interfaces":[{"name":"a","dhcpOptions":{"ntpServers":["010.0.0.001","::FFFF:1.2.3.4","x"]}}]}},)"
      R"("dnsConfig":{"nameservers":["8.8.008.8","FE80:0::1","no address"]},)"
      R"("networks":[{"name":"a","pod":{"vmNetworkCIDR":"010.2.0.1/24","vmIPv6NetworkCIDR":"FD00::1/120"}}]})";
  EXPECT_EQ(
      canonical("kubevirt.VirtualMachineInstanceSpec", spec),
      R"({"domain":{"resources":{},"devices":{"interfaces":[{"name":"a","dhcpOptions":{"ntpServers":["10.0.0.1","1.2.3.4","x"]}}]}},)"
      R"("networks":[{"name":"a","pod":{"vmNetworkCIDR":"10.2.0.1/24","vmIPv6NetworkCIDR":"FD00::1/120"}}],)"
      R"("dnsConfig":{"nameservers":["8.8.8.8","fe80::1","no address"]}})");
}

TEST(Canonical, NamesThePlaceOfAMistake) {
  EXPECT_EQ(
      canonical("kubevirt.VirtualMachine",
                R"({"spec":{"template":{"spec":{"domain":{"devices":{"disks":[{},{"disk":{"readonly":"no"}}]}}}}}})"),
      "refused: spec.template.spec.domain.devices.disks[1].disk.readonly: expected true or false, got \"no\"");
  auto document = json::Document::parse("[]");
  const Place root;
  const auto done = canonicalize(document->root(), *find_type(meta), root.field("metadata"));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "metadata: expected an object, got a list");
}

TEST(Canonical, LongTextsAreCutInMessages) {
  const std::string message = canonical(disk, R"({"name":"a","dedicatedIOThread":")" + std::string(5000, 'x') + "\"}");
  EXPECT_LT(message.size(), 200u);
}

TEST(Canonical, StaysInTheMemoryOfTheDocument) {
  json::Arena arena;
  auto value = json::parse(R"({"serial":"s","name":"a","disk":{"readonly":true,"bus":"sata"}})", arena.storage());
  ASSERT_TRUE(value);
  ASSERT_TRUE(canonicalize(*value, *find_type(disk)));
  EXPECT_EQ(value->storage(), arena.storage());
  EXPECT_EQ(value->as_object().at("disk").storage(), arena.storage());
  EXPECT_EQ(value->as_object().at("disk").as_object().storage(), arena.storage());
}

TEST(Canonical, EveryTypeTakesAnEmptyObjectAndNull) {
  for (const Type& type : types()) {
    const std::string empty = canonical(type.name, "{}");
    EXPECT_TRUE(empty.starts_with('{')) << type.name << " " << empty;
    EXPECT_EQ(canonical(type.name, "null"), empty) << type.name;
  }
}

}  // namespace
}  // namespace vg::api
