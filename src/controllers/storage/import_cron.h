// DataImportCrons: a DataSource is kept at the newest version of an image (spec storage 9).
#pragma once

#include <optional>
#include <string>

#include "controllers/controller.h"

namespace vg::controllers {

inline constexpr std::string_view import_crons_key = "cdi.kubevirt.io/dataimportcrons";

Controller import_cron_controller();

namespace storage {

// A pass over one of them: the object as it was read, and as it will be.
struct CronWork {
  CronWork(const Turn& turn, const json::Object& cron);

  const Turn& turn;
  const json::Object& cron;
  json::Value wanted;
  Pass pass = {};

  const json::Object& spec() const;
  std::string_view option(std::string_view member) const;  // of the spec
  // http, registry, pvc, ... of the template; null: it has none of that kind.
  const json::Object* source(std::string_view member) const;
  std::string_view wanted_digest() const;  // empty: none is known yet
  json::Object& status();
  void annotate(std::string_view name, std::string_view value);
  // Writes what has become different.
  void write();
};

// DIC-01: which version there is, asked at the beginning and by the schedule. What went wrong, if anything.
std::string follow_source(CronWork& work);

// "docker://host/image:tag" -> "docker://host/image@sha256:..."
std::string pinned(std::string_view url, std::string_view digest);
// DIC-02: "fedora", "sha256:0123456789abcdef" -> "fedora-0123456789ab"
std::string import_name(std::string_view data_source, std::string_view digest);

}  // namespace storage
}  // namespace vg::controllers
