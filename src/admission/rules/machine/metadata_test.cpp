#include <gtest/gtest.h>

namespace vg::admission {
namespace {}  // namespace
}  // namespace vg::admission
