#include <fmt/format.h>
#include <fmt/ranges.h>

#include <deque>
#include <string>

#include "admission/rules/examples.h"

namespace vg::admission {
namespace {

using std::string_view;

constexpr string_view update = "/virtualmachineinstances-validate-update";
constexpr string_view with_utilities = R"({"developerConfiguration":{"featureGates":["UtilityVolumes"]}})";

// --- machines with volumes -------------------------------------------------------------------------------------------

std::string pvc(string_view name, string_view claim = "c") {
  return fmt::format(R"({{"name":"{}","persistentVolumeClaim":{{"claimName":"{}"}}}})", name, claim);
}
std::string scsi(string_view name) { return fmt::format(R"({{"name":"{}","disk":{{"bus":"scsi"}}}})", name); }

using Items = std::vector<std::string>;

std::string machine(const Items& volumes, const Items& disks, string_view status = "{}", string_view more = "") {
  return fmt::format(R"({{"spec":{{"domain":{{"devices":{{"disks":[{}]{}}}}},"volumes":[{}]}},"status":{}}})",
                     fmt::join(disks, ","), more, fmt::join(volumes, ","), status);
}

// Volumes "0" and so on that the machine started with.
std::string started_with(int count) {
  std::string list;
  for (int i = 0; i < count; ++i) list += fmt::format(R"({}{{"name":"{}","target":""}})", i ? "," : "", i);
  return fmt::format(R"({{"volumeStatus":[{}]}})", list);
}

// --- examples --------------------------------------------------------------------------------------------------------

// Examples live as long as the program.
string_view keep(std::string text) {
  static std::deque<std::string> kept;
  return kept.emplace_back(std::move(text));
}
// Changes to the base of examples: who asks, the machine before and after.
string_view by_controller(string_view before, string_view after) {
  return keep(fmt::format(
      R"({{"userInfo":{{"username":"system:serviceaccount:kubevirt:kubevirt-controller"}},"oldObject":{},"object":{}}})",
      before, after));
}
string_view by_handler_of_n(string_view before, string_view after) {
  return keep(fmt::format(R"({{"userInfo":{{"username":"system:serviceaccount:kubevirt:kubevirt-handler",
                                           "extra":{{"authentication.kubernetes.io/node-name":["n"]}}}},
                               "oldObject":{},"object":{}}})",
                          before, after));
}
string_view utilities(string_view list, string_view before = "{}") {
  return by_controller(before, fmt::format(R"({{"spec":{{"utilityVolumes":[{}]}}}})", list));
}

// Made when somebody asks: their texts are put together.
std::vector<Example> make_vmi_update_examples() {
  static const std::string one = machine({pvc("0")}, {scsi("0")}, started_with(1));
  static const std::string two = machine({pvc("0"), pvc("1")}, {scsi("0"), scsi("1")}, started_with(1));
  return {
      {"UPD-02", update, "{}", R"({"operation":"CREATE"})", "400"},
      {"UPD-03", update, by_handler_of_n(R"({"status":{"nodeName":"n"}})", "{}"),
       R"({"userInfo":{"username":"system:serviceaccount:kubevirt:kubevirt-handler"}})", "FieldValueInvalid "},
      {"UPD-04", update, by_handler_of_n(R"({"status":{"nodeName":"m","migrationState":{"targetNode":"n"}}})", "{}"),
       by_handler_of_n(R"({"status":{"nodeName":"m"}})", "{}"), "FieldValueInvalid "},
      {"UPD-05", update, by_handler_of_n(R"({"status":{"nodeName":"n"}})", R"({"status":{"migrationState":{}}})"),
       by_handler_of_n(R"({"status":{"nodeName":"n"}})", R"({"status":{"migrationState":{"targetNode":"m"}}})"),
       "FieldValueInvalid "},
      {"UPD-06", update, by_controller("{}", R"({"spec":{"nodeSelector":{"a":"b"}}})"),
       R"({"object":{"spec":{"nodeSelector":{"a":"b"}}}})", "FieldValueNotSupported "},
      {"UPD-07", update, by_controller("{}", R"({"spec":{"domain":{"cpu":{"sockets":2}}}})"),
       by_controller("{}", R"({"spec":{"domain":{"cpu":{"maxSockets":2}}}})"), "FieldValueInvalid "},
      {"UPD-08", update,
       by_controller(R"({"spec":{"domain":{"memory":{"maxGuest":"1024Mi"}}}})",
                     R"({"spec":{"domain":{"memory":{"guest":"1Gi","maxGuest":"1Gi"}}}})"),
       by_controller(R"({"spec":{"domain":{"memory":{"maxGuest":"1Gi"}}}})",
                     R"({"spec":{"domain":{"memory":{"maxGuest":"2Gi"}}}})"),
       "FieldValueInvalid "},
      {"UPD-09", update, R"({"object":{"metadata":{"labels":{"kubevirt.io/foo":"a"}}}})",
       R"({"object":{"metadata":{"labels":{"kubevirt.io/created-by":"a"}}}})", "FieldValueNotSupported "},

      {"UTIL-02", update, by_controller("{}", R"({"spec":{"nodeSelector":{"a":"b"}}})"),
       utilities(R"({"name":"u","claimName":"c"})"), "FieldValueInvalid spec.utilityVolumes"},
      {"UTIL-03", update, utilities(R"({"name":"u","claimName":"c"})"), utilities(R"({"name":"","claimName":"c"})"),
       "FieldValueRequired spec.utilityVolumes[0].name", with_utilities},
      {"UTIL-04", update, utilities(R"({"name":"u","claimName":"c"},{"name":"v","claimName":"c"})"),
       utilities(R"({"name":"u","claimName":"c"},{"name":"u","claimName":"c"})"),
       "FieldValueDuplicate spec.utilityVolumes[1].name", with_utilities},
      {"UTIL-05", update, utilities(R"({"name":"u","claimName":"c"})"),
       by_controller("{}", R"({"spec":{"volumes":[{"name":"u","emptyDisk":{"capacity":"1Gi"}}],
                                     "utilityVolumes":[{"name":"u","claimName":"c"}]}})"),
       "FieldValueDuplicate spec.utilityVolumes[0].name", with_utilities},
      {"UTIL-06", update, utilities(R"({"name":"u","claimName":"c"})"), utilities(R"({"name":"u","claimName":""})"),
       "FieldValueRequired spec.utilityVolumes[0].claimName", with_utilities},
      {"UTIL-07", update,
       utilities(R"({"name":"u","claimName":"c"})",
                 R"({"status":{"volumeStatus":[{"name":"u","target":"","hotplugVolume":{}}]}})"),
       utilities(R"({"name":"u","claimName":"c"})", R"({"status":{"volumeStatus":[{"name":"u","target":""}]}})"),
       "FieldValueInvalid ", with_utilities},
      {"UTIL-08", update,
       utilities(R"({"name":"v","claimName":"d"})", R"({"spec":{"utilityVolumes":[{"name":"u","claimName":"c"}]}})"),
       utilities(R"({"name":"u","claimName":"d"})", R"({"spec":{"utilityVolumes":[{"name":"u","claimName":"c"}]}})"),
       "FieldValueInvalid ", with_utilities},

      {"HP-01", update, by_controller(one, two), by_controller(one, machine({pvc("0"), pvc("1")}, {scsi("0")})),
       "FieldValueInvalid "},
      {"HP-02", update, by_controller(two, one), by_controller(one, machine({}, {})), "FieldValueInvalid "},
      {"HP-03", update, by_controller(one, two),
       by_controller(machine({pvc("0")}, {scsi("0")}, started_with(2)), machine({pvc("1")}, {scsi("1")})),
       "FieldValueInvalid "},
      {"HP-04", update, by_controller(one, two), by_controller(one, machine({pvc("0", "other")}, {scsi("0")})),
       "FieldValueInvalid "},
      {"HP-05", update, by_controller(one, two), by_controller(one, machine({pvc("0")}, {scsi("x")})),
       "FieldValueInvalid "},
      {"HP-06", update, by_controller(two, one),
       by_controller(two, machine({pvc("0"), pvc("1", "other")}, {scsi("0"), scsi("1")})), "FieldValueInvalid "},
      {"HP-07", update, by_controller(two, one),
       by_controller(two, machine({pvc("0"), pvc("1")}, {scsi("0"), scsi("x")})), "FieldValueInvalid "},
      {"HP-08", update, by_controller(two, one),
       by_controller(two, machine({pvc("0"), pvc("1")}, {scsi("0"), R"({"name":"1","lun":{"bus":"scsi"}})"})),
       "FieldValueInvalid "},
      {"HP-09", update, by_controller(one, two),
       by_controller(one, machine({pvc("0"), R"({"name":"1","containerDisk":{"image":"i"}})"}, {scsi("0"), scsi("1")})),
       "FieldValueInvalid "},
      {"HP-10", update, by_controller(one, two),
       by_controller(one, machine({pvc("0"), pvc("1")}, {scsi("0"), scsi("x")})), "FieldValueInvalid "},
      {"HP-11", update, by_controller(one, two),
       by_controller(one, machine({pvc("0"), pvc("1")}, {scsi("0"), R"({"name":"1","disk":{"bus":"usb"}})"})),
       "FieldValueInvalid ", "{}", "HPD-02"},
  };
}

}  // namespace

std::span<const Example> vmi_update_examples() {
  static const std::vector<Example> rows = make_vmi_update_examples();
  return rows;
}

}  // namespace vg::admission
