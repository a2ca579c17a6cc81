// Uploads of images over HTTP (spec storage 7): tokens for them, and the endpoints that CDI's upload proxy has.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "ports/authorizer.h"
#include "ports/disk_agent.h"
#include "ports/object_store.h"
#include "server/router.h"

namespace vg::uploads {

class UploadService {
 public:
  struct Parts {
    const ObjectStore& store;
    Authorizer& authorizer;
    DiskAgent& disks;
    const Clock& clock;
    std::string folder;  // of the disks
  };
  explicit UploadService(Parts parts);
  ~UploadService();
  UploadService(const UploadService&) = delete;
  UploadService& operator=(const UploadService&) = delete;

  void add_routes(server::Router& router);

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace vg::uploads
