#include "store/packer.h"

namespace vg::store {

Packer& Packers::of(std::string_view resource) {
  const auto found = packers_.find(resource);
  return found != packers_.end() ? found->second : packers_.emplace(std::string(resource), Packer()).first->second;
}

}  // namespace vg::store
