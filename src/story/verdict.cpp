#include "story/verdict.h"

#include "story/tables.h"

namespace vg::story {

std::span<const Row> rows(Subject subject) {
  switch (subject) {
    case Subject::vm:
      return vm_rows();
    case Subject::vmi:
      return vmi_rows();
    case Subject::migration:
      return migration_rows();
  }
  return {};
}

std::vector<Verdict> judge(Subject subject, const Facts& facts) {
  std::vector<Verdict> found;
  for (const Row& row : rows(subject)) {
    // What always applies is for when nothing else does.
    if (&row == &rows(subject).back() && !found.empty()) break;
    if (auto telling = row.tell(facts)) found.push_back({row.id, std::move(*telling)});
  }
  return found;
}

}  // namespace vg::story
