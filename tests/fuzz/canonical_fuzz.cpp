// Any JSON against the types: canonical form refuses it with a reason or reaches a form that it leaves alone, also
// after a trip through text; pruning, defaults and the two validations never fall over it.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "api/canonical.h"
#include "api/structural.h"
#include "api/webhook_schema.h"
#include "json/document.h"
#include "json/write.h"

namespace {

using vg::json::Document;
using vg::json::to_text;
using vg::json::Value;

void require(bool holds) {
  if (!holds) std::abort();
}

// Together they reach every shape of a value.
constexpr std::array<std::string_view, 8> type_names = {
    "kubevirt.VirtualMachine",   "kubevirt.VirtualMachineInstance", "kubevirt.KubeVirt",      "meta.ObjectMeta",
    "admission.AdmissionReview", "backup.VirtualMachineBackup",     "coordination.LeaseSpec", "k8s.Event",
};

void check_canonical(std::string_view text, const vg::api::Type& type) {
  auto document = Document::parse(text);
  if (!document) return;
  const auto done = vg::api::canonicalize(document->root(), type);
  if (!done) {
    require(done.error().code == 400 && !done.error().message.empty());
    return;
  }
  const std::string first = to_text(document->root());
  require(vg::api::canonicalize(document->root(), type).has_value());
  require(to_text(document->root()) == first);
  auto reread = Document::parse(first);
  require(reread.has_value());
  require(vg::api::canonicalize(reread->root(), type).has_value());
  require(to_text(reread->root()) == first);
}

void check_structural(std::string_view text, const vg::api::Kind& kind) {
  auto document = Document::parse(text);
  if (!document) return;
  Value& object = document->root();
  (void)vg::api::check_webhook_schema(kind.kind, object);
  (void)vg::api::validate_structure(object, kind);
  std::vector<std::string> unknown;
  if (!vg::api::prune(object, kind, &unknown)) return;
  vg::api::apply_defaults(object, kind);
  const std::string first = to_text(object);
  unknown.clear();
  require(vg::api::prune(object, kind, &unknown).has_value());
  require(unknown.empty());
  vg::api::apply_defaults(object, kind);
  require(to_text(object) == first);
  // Whatever is wrong was wrong before, so an update that changes nothing passes; only scaling has its own opinion.
  for (const vg::StatusCause& cause : vg::api::validate_structure(object, kind, &object)) {
    require(cause.field.starts_with('.'));
  }
}

}  // namespace

// The first byte chooses the type, the rest is the document.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const vg::api::Type* type = vg::api::find_type(type_names[data[0] % type_names.size()]);
  require(type != nullptr);
  check_canonical(text, *type);
  for (const vg::api::Kind& kind : vg::api::kinds()) {
    if (kind.type == type && kind.custom) check_structural(text, kind);
  }
  return 0;
}
