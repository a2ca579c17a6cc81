// For tests of rules: a VMI that differs in one point from an ordinary one, and a look into the document it becomes.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/canonical.h"
#include "api/schema.h"
#include "domain/context_file.h"
#include "domain/convert.h"
#include "domain/xml.h"
#include "json/document.h"
#include "json/patch.h"

namespace vg::domain::testing {

// As a server stores it, for amd64: the full vector of spec domain 9.
inline constexpr std::string_view ordinary_vmi = R"({
  "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
  "metadata": {"name": "vm1", "namespace": "default", "uid": "U"},
  "spec": {
    "architecture": "amd64",
    "domain": {
      "cpu": {"cores": 1, "sockets": 1, "threads": 1, "maxSockets": 4, "model": "host-model"},
      "memory": {"guest": "1Gi", "maxGuest": "4Gi"},
      "machine": {"type": "q35"},
      "features": {"acpi": {"enabled": true}},
      "firmware": {"uuid": "F"},
      "resources": {},
      "devices": {
        "disks": [{"name": "root", "disk": {"bus": "virtio"}}],
        "interfaces": [{"name": "default", "masquerade": {}}]
      }
    },
    "networks": [{"name": "default", "pod": {}}],
    "volumes": [{"name": "root", "containerDisk": {"image": "i"}}]
  },
  "status": {"runtimeUser": 107}
})";

// The VMI after a merge patch, in canonical form.
inline json::Document vmi_with(std::string_view patch) {
  auto document = json::Document::parse(ordinary_vmi);
  auto changes = json::Document::parse(patch);
  EXPECT_TRUE(document && changes) << patch;
  EXPECT_TRUE(json::apply_merge_patch(document->root(), changes->root())) << patch;
  const auto* type = api::find_kind("kubevirt.io", "v1", "VirtualMachineInstance")->type;
  const auto done = api::canonicalize(document->root(), *type);
  EXPECT_TRUE(done) << patch << (done ? "" : done.error().message);
  return std::move(*document);
}

// Patches of spec.domain and of spec.domain.devices.
inline std::string dom(std::string_view patch) { return fmt::format(R"({{"spec":{{"domain":{}}}}})", patch); }
inline std::string dev(std::string_view patch) { return dom(fmt::format(R"({{"devices":{}}})", patch)); }
// One disk `d` over one volume, given without its braces: disk_on(R"("disk":{"bus":"sata"})", R"("emptyDisk":{})").
inline std::string disk_on(std::string_view disk, std::string_view volume, std::string_view status = "{}") {
  return fmt::format(
      R"({{"spec":{{"domain":{{"devices":{{"disks":[{{"name":"d",{}}}]}}}},"volumes":[{{"name":"d",{}}}]}},"status":{}}})",
      disk, volume, status);
}

using Change = std::function<void(DomainContext&)>;

// `context` is the text of a context file; `change` is for what a file cannot say.
inline Result<Element> converted(std::string_view patch, std::string_view context = "{}", const Change& change = {}) {
  const json::Document document = vmi_with(patch);
  const Vmi vmi(document.root());
  const auto file = json::Document::parse(context);
  EXPECT_TRUE(file) << context;
  auto derived = read_context(vmi, file->root());
  if (!derived) return fail(std::move(derived.error()));
  if (change) change(*derived);
  auto made = convert(vmi, *derived);
  if (made) EXPECT_EQ(undeclared(*made), std::nullopt);
  return made;
}

// The id of the rule that refused it.
inline std::string refused_by(const Result<Element>& made) {
  if (made) return "nothing refused it";
  EXPECT_EQ(made.error().code, 422);
  EXPECT_FALSE(made.error().message.empty());
  return made.error().details.causes.empty() ? "" : std::string(made.error().details.causes.front().rule);
}

// What stands at a place such as "devices/disk[1]/driver@type", or "os/kernel" for a text. "(none)" where there is
// nothing, "#3" for "devices/disk#": how many there are.
inline std::string at(const Element& root, std::string_view path) {
  const Element* here = &root;
  while (!path.empty() && path.front() != '@') {
    const auto end = std::min(path.find_first_of("/@"), path.size());
    std::string_view word = path.substr(0, end);
    path.remove_prefix(end < path.size() && path[end] == '/' ? end + 1 : end);
    const bool counted = word.ends_with('#');
    if (counted) word.remove_suffix(1);
    std::size_t wanted = 0;
    if (const auto bracket = word.find('['); bracket != word.npos) {
      wanted = static_cast<std::size_t>(std::stoi(std::string(word.substr(bracket + 1))));
      word = word.substr(0, bracket);
    }
    const Element* found = nullptr;
    std::size_t count = 0;
    for (const Element& child : here->children())
      if (child.name() == word && count++ == wanted) found = &child;
    if (counted) return fmt::format("#{}", count);
    if (!found) return "(none)";
    here = found;
  }
  if (path.empty()) return here->text();
  for (const auto& [name, value] : here->attributes())
    if (name == path.substr(1)) return value;
  return "(none)";
}

// One rule, one VMI: what is found where. Without places: the rule refuses it.
struct Row {
  std::string_view id;  // of the rule, with a word behind it where there are several
  std::string vmi;      // a merge patch
  std::vector<std::pair<std::string_view, std::string_view>> places = {};
  std::string_view context = "{}";
};

inline void PrintTo(const Row& row, std::ostream* out) { *out << row.id; }

// The name of a test: DOM_OS_02_a.
inline std::string name_of(const ::testing::TestParamInfo<Row>& row) {
  std::string name(row.param.id);
  for (char& c : name)
    if (c == '-' || c == ' ') c = '_';
  return name;
}

class DomainRule : public ::testing::TestWithParam<Row> {
 protected:
  void check() const {
    const Row& row = GetParam();
    const auto made = converted(row.vmi, row.context);
    if (row.places.empty()) {
      EXPECT_TRUE(row.id.starts_with(refused_by(made))) << refused_by(made);
      EXPECT_FALSE(refused_by(made).empty());
      return;
    }
    ASSERT_TRUE(made) << made.error().message;
    for (const auto& [path, wanted] : row.places) EXPECT_EQ(at(*made, path), wanted) << path << "\n" << to_xml(*made);
  }
};

}  // namespace vg::domain::testing
