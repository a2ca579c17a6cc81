#include "controllers/migration/make.h"

#include <fmt/format.h>

#include "base/names.h"
#include "controllers/common/owners.h"
#include "json/access.h"

namespace vg::controllers::migration {

Effect make(const Wanted& wanted, const json::StoragePtr& storage) {
  const std::string_view ns = metadata_text(wanted.vmi, "namespace"), vmi = metadata_text(wanted.vmi, "name");
  const std::string name = expand_generate_name(wanted.name_prefix, wanted.random);
  json::Value document({{"apiVersion", "kubevirt.io/v1"},
                        {"kind", "VirtualMachineInstanceMigration"},
                        {"metadata",
                         {{"name", name},
                          {"generateName", wanted.name_prefix},
                          {"namespace", ns},
                          {"annotations", {{wanted.annotation, wanted.annotation_value}}}}},
                        {"spec", {{"vmiName", vmi}, {"priority", wanted.priority}}}},
                       storage);
  if (!wanted.label.empty()) {
    json::Object& metadata = json::ensure_object(document.get_object(), "metadata");
    json::ensure_object(metadata, "labels")[wanted.label] = wanted.label_value;
  }
  return {.verb = Verb::create,
          .resource = kinds::migration,
          .ns = std::string(ns),
          .name = name,
          .identity = Identity::own(),
          .document = std::move(document),
          .soft_reason = "FailedCreate",
          .others_follow = true,
          .if_done = Event{.type = EventType::normal,
                           .reason = "SuccessfulCreate",
                           .message = fmt::format("created migration {}", name)},
          .if_failed =
              Event{.type = EventType::warning, .reason = "FailedCreate", .message = "no migration could be created"},
          .involved = event_object(wanted.vmi)};
}

}  // namespace vg::controllers::migration
