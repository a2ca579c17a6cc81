// Any bytes as an object in protobuf: they are refused with a reason, or become an object in canonical form that comes
// back the same through protobuf and through text.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "api/canonical.h"
#include "api/protobuf.h"
#include "json/document.h"
#include "json/write.h"

namespace {

using vg::json::Document;
using vg::json::to_text;

void require(bool holds) {
  if (!holds) std::abort();
}

// Together they reach every shape that has a form in protobuf.
constexpr std::array<std::string_view, 12> type_names = {
    "k8s.Pod",
    "k8s.Secret",
    "k8s.Service",
    "k8s.Event",
    "k8s.ResourceQuota",
    "apps.ControllerRevision",
    "coordination.Lease",
    "rbac.Role",
    "authorization.SubjectAccessReview",
    "authentication.TokenReview",
    "meta.DeleteOptions",
    "meta.Status",
};

void check(std::string_view message, const vg::api::Type& type) {
  Document memory;
  auto value = vg::api::decode_protobuf(message, type, memory.storage());
  if (!value) {
    require(value.error().code == 400 && !value.error().message.empty());
    return;
  }
  const std::string text = to_text(*value);
  require(vg::api::canonicalize(*value, type).has_value());
  require(to_text(*value) == text);
  const auto back =
      vg::api::decode_protobuf(vg::api::encode_protobuf(value->get_object(), type), type, memory.storage());
  require(back.has_value() && to_text(*back) == text);
  auto reread = Document::parse(text);
  require(reread.has_value() && to_text(reread->root()) == text);
}

}  // namespace

// The first byte chooses the type, the rest is the body.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  const vg::api::Type* type = vg::api::find_type(type_names[data[0] % type_names.size()]);
  require(type != nullptr);
  if (const auto object = vg::api::open_protobuf(body))
    check(object->message, *type);
  else
    check(body, *type);
  return 0;
}
