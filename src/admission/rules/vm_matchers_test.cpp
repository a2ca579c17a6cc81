// How a VM names its instance type and preference: the examples of M01 to M10.

namespace vg::admission {}  // namespace vg::admission
