// Server-side apply and updates of generated objects. The input chooses, byte by byte, what two managers say of an
// object: labels, finalizers, disks by their names, with repetitions. Whatever they say, applying ends, an outcome can
// be written and read again, and whoever applies or writes the same once more changes nothing.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "api/schema.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"
#include "objects/managed_fields.h"

namespace {

using vg::json::Array;
using vg::json::Document;
using vg::json::Object;
using vg::json::StoragePtr;
using vg::json::Value;
using vg::resources::Applied;
using vg::resources::apply_configuration;
using vg::resources::FieldWriter;

void require(bool holds) {
  if (!holds) std::abort();
}

class Choices {
 public:
  explicit Choices(std::string_view bytes) : bytes_(bytes) {}
  unsigned next(unsigned below) {
    if (bytes_.empty()) return 0;
    const auto byte = static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
    return byte % below;
  }
  bool left() const { return !bytes_.empty(); }

 private:
  std::string_view bytes_;
};

std::string text_of(unsigned number) { return std::string(1, static_cast<char>('a' + number)); }

Object disk(Choices& choices, const StoragePtr& storage) {
  Object made(storage);
  if (choices.next(8) != 0) made["name"] = text_of(choices.next(5));
  if (choices.next(2) != 0) made["bootOrder"] = choices.next(3);
  if (choices.next(3) == 0) made["disk"] = Object(storage);
  return made;
}

Value configuration(Choices& choices, const StoragePtr& storage) {
  Object object(storage);
  object["apiVersion"] = "kubevirt.io/v1";
  object["kind"] = "VirtualMachine";
  Object& metadata = vg::json::ensure_object(object, "metadata");
  metadata["name"] = "v";
  for (unsigned left = choices.next(16); left > 0; --left) {
    switch (choices.next(5)) {
      case 0:
        vg::json::ensure_object(metadata, "labels")[text_of(choices.next(6))] = text_of(choices.next(4));
        break;
      case 1:
        vg::json::ensure_array(metadata, "finalizers").push_back(Value("a/" + text_of(choices.next(6)), storage));
        break;
      case 2:
        vg::json::ensure_object(object, "spec")[choices.next(8) ? "runStrategy" : "unknown"] = text_of(choices.next(3));
        break;
      case 3:
        vg::json::ensure_path(object, {"spec", "template", "spec", "domain", "cpu"})["cores"] = choices.next(3);
        break;
      default:
        vg::json::ensure_array(vg::json::ensure_path(object, {"spec", "template", "spec", "domain", "devices"}),
                               "disks")
            .emplace_back(disk(choices, storage));
    }
  }
  return Value(std::move(object));
}

Value stored(Applied applied) {
  // No empty list is ever stored.
  if (!applied.managed_fields.get_array().empty())
    vg::json::ensure_object(applied.object.get_object(), "metadata")["managedFields"] =
        std::move(applied.managed_fields);
  return std::move(applied.object);
}

// The object as it is after an update, or after it was made.
Value updated(const Value& old, Value wanted, const vg::api::Kind& kind, const FieldWriter& writer,
              const StoragePtr& storage) {
  auto owners = old.get_object().empty() ? vg::resources::track_creation(wanted, kind, writer, storage)
                                         : vg::resources::track_change(old, wanted, kind, writer, storage);
  Object& metadata = vg::json::ensure_object(wanted.get_object(), "metadata");
  vg::json::erase(metadata, "managedFields");
  if (owners) metadata["managedFields"] = std::move(*owners);
  return wanted;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const vg::api::Kind& kind = *vg::api::find_kind("kubevirt.io", "v1", "VirtualMachine");
  Choices choices({reinterpret_cast<const char*>(data), size});
  Document memory(1 << 16);
  const StoragePtr storage = memory.storage();
  Value live(Object(storage), storage);
  for (int step = 0; step < 6 && choices.left(); ++step) {
    const FieldWriter writer{.manager = choices.next(2) ? "one" : "two",
                             .api_version = "kubevirt.io/v1",
                             .subresource = {},
                             .now = "2026-01-01T00:00:00Z"};
    const bool force = choices.next(2) != 0;
    Value wanted = configuration(choices, storage);
    if (choices.next(3) == 0) {
      live = updated(live, std::move(wanted), kind, writer, storage);
      require(vg::json::to_text(updated(live, Value(live, storage), kind, writer, storage)) == vg::json::to_text(live));
      continue;
    }
    const std::string before = vg::json::to_text(live);
    auto applied = apply_configuration(live, wanted, kind, writer, force, storage);
    require(vg::json::to_text(live) == before);
    if (!applied) {
      require(applied.error().code == 400 || applied.error().code == 409);
      require(applied.error().code != 409 || !force);
      continue;
    }
    live = stored(std::move(*applied));
    const std::string after = vg::json::to_text(live);
    const auto read = Document::parse(after);
    require(read.has_value() && vg::json::to_text(read->root()) == after);
    auto again = apply_configuration(live, wanted, kind, writer, false, storage);
    require(again.has_value());
    require(vg::json::to_text(stored(std::move(*again))) == after);
  }
  return 0;
}
