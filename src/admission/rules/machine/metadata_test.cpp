#include <gtest/gtest.h>

namespace vg::admission {}  // namespace vg::admission
