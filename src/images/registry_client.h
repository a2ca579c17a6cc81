// Registries, as the store asks them: by skopeo, in a work folder, with a way out that asks about each host.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/status.h"
#include "images/image_store.h"
#include "images/records.h"

namespace vg::images {

// Below the work folder: what skopeo brought.
inline constexpr const char* skopeo_folder = "skopeo";

// What may be written into the folder, a reserve left aside.
std::int64_t room_in(const std::string& folder);
// "quay.io/a/b:1" -> quay.io; what has no host is of Docker's registry, as everywhere.
std::string_view registry_of(std::string_view reference);

class RegistryClient {
 public:
  // All outlive it. `blocked`: networks that nobody is asked in; `stop`: the image is not wanted any more.
  RegistryClient(const WorkFolder& work, const PullRequest& request, const std::string& blocked,
                 const std::stop_token& stop)
      : work_(work), request_(request), blocked_(blocked), stop_(stop) {}

  // What the registry has under the reference, if it gives it to whoever asks: the digest of a manifest, or of a list.
  Result<std::string> ask() const;
  // Brings what has this digest.
  Result<void> bring(std::string_view digest) const;

 private:
  Result<std::vector<std::string>> command(std::string_view verb, std::string_view of_source) const;
  std::string source() const;
  const WorkFolder& work_;
  const PullRequest& request_;
  const std::string& blocked_;
  const std::stop_token& stop_;
};

// From a file or folder of this host ("oci:x", "docker-archive:x").
Result<void> bring_from(const WorkFolder& work, const std::string& source);

}  // namespace vg::images
