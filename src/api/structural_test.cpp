#include "api/structural.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/structural_formats.h"
#include "api/structural_rules.h"
#include "base/limits.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"

namespace vg::api {
namespace {

const Kind& kind_named(std::string_view name) {
  for (const Kind& kind : kinds()) {
    if (kind.kind == name) return kind;
  }
  ADD_FAILURE() << "no kind " << name;
  return kinds()[0];
}

json::Document document(std::string_view text) {
  auto parsed = json::Document::parse(text);
  EXPECT_TRUE(parsed) << text;
  return std::move(*parsed);
}

std::string pruned(std::string_view kind, std::string_view text, std::vector<std::string>* unknown = nullptr) {
  auto object = document(text);
  const auto done = prune(object.root(), kind_named(kind), unknown);
  return done ? json::to_text(object.root()) : "refused: " + done.error().message;
}

std::string defaulted(std::string_view kind, std::string_view text) {
  auto object = document(text);
  apply_defaults(object.root(), kind_named(kind));
  return json::to_text(object.root());
}

// "Reason field" of every cause, in order.
std::vector<std::string> brief(const std::vector<StatusCause>& causes) {
  std::vector<std::string> result;
  for (const StatusCause& cause : causes) {
    // That a field is required is said by the reason alone.
    EXPECT_TRUE(!cause.message.empty() || cause.reason == "FieldValueRequired") << cause.field;
    result.push_back(cause.reason + " " + cause.field);
  }
  return result;
}

std::vector<std::string> mistakes(std::string_view kind, std::string_view text) {
  return brief(validate_structure(document(text).root(), kind_named(kind)));
}

std::vector<std::string> mistakes_of_update(std::string_view kind, std::string_view old_text, std::string_view text) {
  const auto old_object = document(old_text);
  return brief(validate_structure(document(text).root(), kind_named(kind), &old_object.root()));
}

using List = std::vector<std::string>;

// A machine whose volumes are `volumes`.
std::string machine(std::string_view volumes, std::string_view more_spec = "") {
  return R"({"spec":{"template":{"spec":{"domain":{"devices":{}},"volumes":)" + std::string(volumes) +
         std::string(more_spec) + "}}}}";
}

// --- pruning
// ----------------------------------------------------------------------------------------------------------

TEST(Prune, RemovesWhatTheSchemaDoesNotKnow) {
  std::vector<std::string> unknown;
  EXPECT_EQ(pruned("VirtualMachine",
                   R"({"kind":"VirtualMachine","zoo":1,"spec":{"b":{"c":1},"template":{"spec":{"domain":{"devices":)"
                   R"({"disks":[{"name":"a"},{"name":"b","x":[{}]}]}}}}},"aaa":{}})",
                   &unknown),
            R"({"kind":"VirtualMachine","spec":{"template":{"spec":{"domain":{"devices":)"
            R"({"disks":[{"name":"a"},{"name":"b"}]}}}}}})");
  EXPECT_EQ(unknown, (List{"aaa", "spec.b", "spec.template.spec.domain.devices.disks[1].x", "zoo"}));
}

TEST(Prune, MindsTheCaseOfNames) {
  std::vector<std::string> unknown;
  EXPECT_EQ(pruned("VirtualMachine", R"({"spec":{"Running":true,"running":false}})", &unknown),
            R"({"spec":{"running":false}})");
  EXPECT_EQ(unknown, List{"spec.Running"});
}

TEST(Prune, KeepsTheKeysOfMaps) {
  EXPECT_EQ(pruned("VirtualMachine", R"({"spec":{"template":{"spec":{"nodeSelector":{"any/key":"v"}}}}})"),
            R"({"spec":{"template":{"spec":{"nodeSelector":{"any/key":"v"}}}}})");
}

TEST(Prune, KeepsWhatTheSchemaPreserves) {
  // The metadata of a template is whatever its writer wanted.
  EXPECT_EQ(pruned("VirtualMachine", R"({"spec":{"template":{"metadata":{"x":{"y":[null]},"name":"a"}}}})"),
            R"({"spec":{"template":{"metadata":{"x":{"y":[null]},"name":"a"}}}})");
}

TEST(Prune, DropsNullsThatTheSchemaDoesNotTake) {
  EXPECT_EQ(pruned("VirtualMachine", R"({"spec":{"running":null,"template":{"metadata":null,"spec":null}}})"),
            R"({"spec":{"template":{"metadata":null}}})");
  // In a list there is no way to drop one.
  EXPECT_EQ(pruned("VirtualMachine", R"({"spec":{"dataVolumeTemplates":[null]}})"),
            R"({"spec":{"dataVolumeTemplates":[null]}})");
}

TEST(Prune, ReadsTheMetadataOfTheObjectByItsType) {
  std::vector<std::string> unknown;
  EXPECT_EQ(
      pruned(
          "VirtualMachine",
          R"({"metadata":{"zzz":1,"name":"a","Name":"b","labels":{"x":"y"},"ownerReferences":[{"uid":"u","more":1}],)"
          R"("managedFields":[{"manager":"m","fieldsV1":{"f:spec":{}}}],"creationTimestamp":null},"spec":{}})",
          &unknown),
      R"({"metadata":{"name":"a","labels":{"x":"y"},"ownerReferences":[{"apiVersion":"","kind":"","name":"","uid":"u"}],)"
      R"("managedFields":[{"manager":"m","fieldsV1":{"f:spec":{}}}]},"spec":{}})");
  EXPECT_EQ(unknown, (List{"metadata.Name", "metadata.ownerReferences[0].more", "metadata.zzz"}));
  EXPECT_EQ(pruned("VirtualMachine", R"({"metadata":{"labels":{"x":1}}})"),
            "refused: metadata.labels[x]: expected a string, got 1");
  EXPECT_EQ(pruned("VirtualMachine", R"([])"), "refused: the object must be a JSON object");
}

TEST(Prune, ListsOnlySoManyUnknownFields) {
  std::string text = "{";
  for (std::size_t count = 0; count < limits::causes_max + 500; ++count) {
    text += (count ? ",\"x" : "\"x") + std::to_string(count) + "\":1";
  }
  std::vector<std::string> unknown;
  EXPECT_EQ(pruned("VirtualMachine", text + "}", &unknown), "{}");
  EXPECT_EQ(unknown.size(), limits::causes_max);
}

// --- defaults
// ---------------------------------------------------------------------------------------------------------

TEST(StructuralDefaults, FillInWhatIsMissing) {
  EXPECT_EQ(defaulted("VirtualMachineRestore", R"({"spec":{}})"),
            R"({"spec":{"targetReadinessPolicy":"WaitGracePeriod"}})");
  EXPECT_EQ(defaulted("VirtualMachineRestore", R"({"spec":{"targetReadinessPolicy":null}})"),
            R"({"spec":{"targetReadinessPolicy":"WaitGracePeriod"}})");
  EXPECT_EQ(defaulted("VirtualMachineRestore", R"({"spec":{"targetReadinessPolicy":"StopTarget"}})"),
            R"({"spec":{"targetReadinessPolicy":"StopTarget"}})");
  // Nothing is made just to hold a default.
  EXPECT_EQ(defaulted("VirtualMachineRestore", "{}"), "{}");
  EXPECT_EQ(defaulted("VirtualMachine", machine(R"([{"name":"a","containerPath":{"path":"/x"}}])")),
            machine(R"([{"name":"a","containerPath":{"path":"/x","readOnly":true}}])"));
  EXPECT_EQ(defaulted("VirtualMachine", "[]"), "[]");
}

TEST(StructuralDefaults, EveryOneOfThemIsJson) {
  for (const Type& type : types()) {
    for (const Field& field : type.fields) {
      if (!field.crd || field.crd->default_json.empty()) continue;
      EXPECT_TRUE(json::Document::parse(field.crd->default_json)) << type.name << "." << field.name;
    }
  }
}

// --- validation
// -------------------------------------------------------------------------------------------------------

TEST(ValidateStructure, AcceptsWhatFits) {
  EXPECT_EQ(mistakes("VirtualMachine", machine("[]")), List{});
  EXPECT_EQ(mistakes("VirtualMachineInstancetype", R"({"spec":{"cpu":{"guest":1},"memory":{"guest":"1Gi"}}})"), List{});
  EXPECT_EQ(mistakes("VirtualMachineInstancetype", R"({"spec":{"cpu":{"guest":1.0},"memory":{"guest":1}}})"), List{});
}

TEST(ValidateStructure, NamesMissingFields) {
  EXPECT_EQ(mistakes("VirtualMachineInstancetype", "{}"), List{"FieldValueRequired spec"});
  EXPECT_EQ(mistakes("VirtualMachineInstancetype", R"({"spec":{"memory":{}}})"),
            (List{"FieldValueRequired spec.memory.guest", "FieldValueRequired spec.cpu"}));
}

TEST(ValidateStructure, ComparesTypes) {
  EXPECT_EQ(mistakes("VirtualMachineInstancetype",
                     R"({"spec":{"cpu":{"guest":"1","model":2,"dedicatedCPUPlacement":"yes"},"memory":[],"gpus":{}}})"),
            (List{"FieldValueTypeInvalid spec.cpu.guest", "FieldValueTypeInvalid spec.cpu.model",
                  "FieldValueTypeInvalid spec.cpu.dedicatedCPUPlacement", "FieldValueTypeInvalid spec.memory",
                  "FieldValueTypeInvalid spec.gpus"}));
  EXPECT_EQ(mistakes("VirtualMachineInstancetype", R"({"spec":{"cpu":{"guest":1.5},"memory":{"guest":"1Gi"}}})"),
            List{"FieldValueTypeInvalid spec.cpu.guest"});
  EXPECT_EQ(mistakes("VirtualMachineInstancetype", R"({"spec":{"cpu":null,"memory":{"guest":"1Gi"}}})"),
            List{"FieldValueTypeInvalid spec.cpu"});
  // Keys of maps are printed like fields here.
  EXPECT_EQ(mistakes("VirtualMachineInstancetype",
                     R"({"spec":{"cpu":{"guest":1},"memory":{"guest":"1"},"nodeSelector":{"a/b":1}}})"),
            List{"FieldValueTypeInvalid spec.nodeSelector.a/b"});
  EXPECT_EQ(mistakes("VirtualMachine", "1"), List{"FieldValueTypeInvalid <nil>"});
}

TEST(ValidateStructure, TheSecondFailureOfAQuantityHasNoPlace) {
  EXPECT_EQ(mistakes("VirtualMachineInstancetype", R"({"spec":{"cpu":{"guest":1},"memory":{"guest":true}}})"),
            (List{"FieldValueTypeInvalid spec.memory.guest", "FieldValueInvalid <nil>"}));
  EXPECT_EQ(mistakes("VirtualMachineInstancetype", R"({"spec":{"cpu":{"guest":1},"memory":{"guest":"big"}}})"),
            List{"FieldValueInvalid spec.memory.guest"});
}

TEST(ValidateStructure, ChecksBoundsLengthsAndCounts) {
  EXPECT_EQ(mistakes("VirtualMachineInstancetype",
                     R"({"spec":{"cpu":{"guest":1},"memory":{"guest":"1","overcommitPercent":101}}})"),
            List{"FieldValueInvalid spec.memory.overcommitPercent"});
  EXPECT_EQ(mistakes("VirtualMachineInstancetype",
                     R"({"spec":{"cpu":{"guest":1},"memory":{"guest":"1","overcommitPercent":-1}}})"),
            List{"FieldValueInvalid spec.memory.overcommitPercent"});
  std::string many = "[";
  for (int count = 0; count < 257; ++count)
    many += (count ? ",{\"name\":\"v" : "{\"name\":\"v") + std::to_string(count) + "\"}";
  EXPECT_EQ(mistakes("VirtualMachine", machine(many + "]")),
            (List{"FieldValueTooMany spec.template.spec.volumes", "FieldValueInvalid <nil>"}));
  const std::string path = R"([{"name":"a","containerPath":{"path":"/)" + std::string(4096, 'x') + R"("}}])";
  EXPECT_EQ(mistakes("VirtualMachine", machine(path)),
            (List{"FieldValueTooLong spec.template.spec.volumes[0].containerPath.path", "FieldValueInvalid <nil>"}));
  // Characters count, not bytes.
  std::string umlauts;
  for (int count = 0; count < 4095; ++count) umlauts += "ä";
  EXPECT_EQ(mistakes("VirtualMachine", machine(R"([{"name":"a","containerPath":{"path":"/)" + umlauts + R"("}}])")),
            List{});
}

TEST(ValidateStructure, ChecksEnumerations) {
  EXPECT_EQ(
      mistakes(
          "VirtualMachineRestore",
          R"({"spec":{"target":{"kind":"a","name":"b"},"virtualMachineSnapshotName":"s","targetReadinessPolicy":"x"}})"),
      List{"FieldValueNotSupported spec.targetReadinessPolicy"});
}

TEST(ValidateStructure, ChecksTimes) {
  const auto with_time = [](std::string_view time) {
    return R"({"spec":{"domain":{"devices":{}}},"status":{"phaseTransitionTimestamps":[{"phaseTransitionTimestamp":)" +
           std::string(time) + "}]}}";
  };
  EXPECT_EQ(mistakes("VirtualMachineInstance", with_time(R"("2026-01-02T03:04:05Z")")), List{});
  EXPECT_EQ(mistakes("VirtualMachineInstance", with_time(R"("now")")),
            (List{"FieldValueTypeInvalid status.phaseTransitionTimestamps[0].phaseTransitionTimestamp",
                  "FieldValueInvalid <nil>"}));
  EXPECT_EQ(mistakes("VirtualMachineInstance", with_time("null")),
            (List{"FieldValueTypeInvalid status.phaseTransitionTimestamps[0].phaseTransitionTimestamp",
                  "FieldValueInvalid <nil>"}));
}

TEST(ValidateStructure, ElementsOfListsWithKeysDiffer) {
  const auto with_claims = [](std::string_view claims) {
    return R"({"spec":{"domain":{"devices":{}},"resourceClaims":)" + std::string(claims) + "}}";
  };
  EXPECT_EQ(mistakes("VirtualMachineInstance", with_claims(R"([{"name":"a"},{"name":"b"}])")), List{});
  EXPECT_EQ(mistakes("VirtualMachineInstance", with_claims(R"([{"name":"a"},{"name":"b"},{"name":"a"},{"name":"a"}])")),
            List{"FieldValueDuplicate spec.resourceClaims[2]"});
}

TEST(ValidateStructure, RulesOfTheSchemaHold) {
  const auto with_path = [](std::string_view path, std::string_view domain = R"({"devices":{}})") {
    return R"({"spec":{"domain":)" + std::string(domain) + R"(,"volumes":[{"name":"a","containerPath":{"path":")" +
           std::string(path) + R"("}}]}})";
  };
  const std::string before = with_path("x");
  const List refused{"FieldValueInvalid spec.volumes[0].containerPath.path"};
  EXPECT_EQ(mistakes("VirtualMachineInstance", before), refused);
  EXPECT_EQ(mistakes_of_update("VirtualMachineInstance", before, before), List{});
  EXPECT_EQ(mistakes_of_update("VirtualMachineInstance", before, with_path("x", R"({"devices":{},"cpu":{"cores":1}})")),
            List{});
  EXPECT_EQ(mistakes_of_update("VirtualMachineInstance", before, with_path("y")), refused);
}

TEST(ValidateStructure, ChecksTheFieldsBehindScaling) {
  const auto with_replicas = [](std::string_view replicas) {
    return R"({"spec":{"selector":{},"template":{"spec":{"domain":{"devices":{}}}},"replicas":)" +
           std::string(replicas) + "}}";
  };
  EXPECT_EQ(mistakes("VirtualMachineInstanceReplicaSet", with_replicas("3")), List{});
  EXPECT_EQ(mistakes("VirtualMachineInstanceReplicaSet", with_replicas("-1")),
            List{"FieldValueInvalid .spec.replicas"});
  EXPECT_EQ(mistakes("VirtualMachineInstanceReplicaSet", with_replicas("2147483648")),
            List{"FieldValueInvalid .spec.replicas"});
}

TEST(ValidateStructure, StopsAtSoManyCauses) {
  std::string claims = "[1";
  for (std::size_t count = 0; count < 2 * limits::causes_max; ++count) claims += ",1";
  const auto causes = mistakes("VirtualMachine", R"({"spec":{"dataVolumeTemplates":)" + claims + "]}}");
  EXPECT_EQ(causes.size(), limits::causes_max);
}

TEST(ValidateStatus, LooksAtTheStatusOnly) {
  const auto object = document(R"({"spec":{"template":1},"status":{"ready":"x"}})");
  EXPECT_EQ(brief(validate_status_structure(object.root(), kind_named("VirtualMachine"))),
            (List{"FieldValueTypeInvalid status.ready", "FieldValueInvalid <nil>"}));
  EXPECT_EQ(brief(validate_status_structure(document("{}").root(), kind_named("VirtualMachine"))), List{});
}

// --- what the tables need from the code
// -------------------------------------------------------------------------------

void for_each_facts(const Node& node, auto act) {
  for (const Node* at = &node; at; at = at->element) {
    if (at->crd) act(*at->crd);
  }
}

TEST(StructuralRules, CodeAndSchemaNameTheSameRules) {
  for (const Rule& rule : rules()) EXPECT_NE(find_rule(rule.name), nullptr) << rule.name;
  EXPECT_EQ(find_rule("no-such-rule"), nullptr);
}

TEST(StructuralFormats, EveryPatternHasItsScanner) {
  std::set<std::string_view> patterns;
  for (const Type& type : types()) {
    for (const Field& field : type.fields) {
      for_each_facts(field, [&](const CrdFacts& facts) {
        if (!facts.pattern.empty()) patterns.insert(facts.pattern);
      });
    }
  }
  EXPECT_GE(patterns.size(), 3u);
  for (const std::string_view pattern : patterns) EXPECT_NE(find_pattern(pattern), nullptr) << pattern;
}

TEST(StructuralFormats, Patterns) {
  const TextCheck share = find_pattern(R"(^(0(?:\.\d{1,3})?|1)$)");
  ASSERT_NE(share, nullptr);
  for (const char* good : {"0", "1", "0.1", "0.12", "0.123"}) EXPECT_TRUE(share(good)) << good;
  for (const char* bad : {"", "2", "1.0", "0.", "0.1234", "00", "0.1a", "0.1\n"}) EXPECT_FALSE(share(bad)) << bad;
  const TextCheck reason = find_pattern(R"(^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$)");
  ASSERT_NE(reason, nullptr);
  for (const char* good : {"A", "Ab1", "A:b", "a_"}) EXPECT_TRUE(reason(good)) << good;
  for (const char* bad : {"", "1a", "_a", "a:", "a b", "a-b"}) EXPECT_FALSE(reason(bad)) << bad;
  const TextCheck type = find_pattern(find_type("meta.Condition")->find("type")->crd->pattern);
  ASSERT_NE(type, nullptr);
  for (const char* good : {"Ready", "a", "example.com/Ready", "a-b.c/x_y.z-1"}) EXPECT_TRUE(type(good)) << good;
  for (const char* bad : {"", "/a", "a/", "a/b/c", "A.b/c", "-a", "a-", "a..b/c", ".a/b"})
    EXPECT_FALSE(type(bad)) << bad;
}

TEST(StructuralFormats, Quantities) {
  for (const char* good : {"1", "+1", "-1", "1.", ".5", "1.5Gi", "100m", "1e3", "1E-3", "12E", "5n", "1e1.5"}) {
    EXPECT_TRUE(looks_like_quantity(good)) << good;
  }
  for (const char* bad : {"", ".", "Gi", "1 ", " 1", "1GiB", "1ki", "1e", "++1", "1,5", "0x1", "1i", "e3", "1.5.1"}) {
    EXPECT_FALSE(looks_like_quantity(bad)) << bad;
  }
}

TEST(StructuralFormats, DateTimes) {
  for (const char* good : {"2026-01-02T03:04:05Z", "2026-01-02t03:04:05z", "2026-01-02T03:04:05.123Z",
                           "2026-01-02T03:04:05,123+02:00", "2024-02-29T23:59:59-23:59", "2026-01-02T03:04:05Ztail"}) {
    EXPECT_TRUE(is_date_time(good)) << good;
  }
  for (const char* bad : {"", "T", "2026-01-02", "2026-01-02 03:04:05Z", "2026-02-29T03:04:05Z", "2026-13-01T03:04:05Z",
                          "2026-01-02T24:04:05Z", "2026-01-02T03:60:05Z", "2026-01-02T03:04:60Z", "2026-01-02T03:04:05",
                          "2026-01-02T3:04:05Z", "2026-01-02T03:04:05.Z", "2026-1-2T03:04:05Z",
                          "2026-01-02T03:04:05+0200", "02026-01-02T03:04:05Z"}) {
    EXPECT_FALSE(is_date_time(bad)) << bad;
  }
}

TEST(StructuralFormats, NumbersThatPassForIntegers) {
  for (const double good : {0.0, 1.0, -1.0, 9007199254740991.0, 1e15, 1000000000.5})
    EXPECT_TRUE(is_json_integer(good)) << good;
  for (const double bad : {0.5, -0.5, 1.5, 9007199254740992.0, 1e300, -1e16}) EXPECT_FALSE(is_json_integer(bad)) << bad;
}

}  // namespace
}  // namespace vg::api
