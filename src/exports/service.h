// Downloads of exports (spec copies 6.5, 6.9): the server behind VirtualMachineExports, on the API's own listener. It
// keeps nothing: each request is answered by what the store says of the export, its token and its source, and a
// download ends when the export is not ready any more.
#pragma once

#include <memory>
#include <string>

#include "admission/admit.h"
#include "controllers/world.h"
#include "ports/object_store.h"
#include "server/router.h"

namespace vg::exports {

class ExportService {
 public:
  struct Parts {
    const ObjectStore& store;
    const admission::Environment& environment;
    controllers::ServerPlace place;
    std::string folder;  // of the disks
  };
  explicit ExportService(Parts parts);
  ~ExportService();
  ExportService(const ExportService&) = delete;
  ExportService& operator=(const ExportService&) = delete;

  void add_routes(server::Router& router);

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace vg::exports
