// Where tests find what the repository keeps for them: facts, documents, recordings. Included by tests alone.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace vg::test_files {

// A file of the repository, by its path from the top. Whoever runs a test by hand does so there, or sets the variable.
inline std::filesystem::path source(std::string_view path) {
  const char* top = std::getenv("VIRTGATE_SOURCE_DIR");
  return std::filesystem::path(top ? top : ".") / path;
}

// A recording of tests/conformance, which the build has unpacked beside the test programs.
inline std::filesystem::path recording(std::string_view name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "recordings" / name;
}

// The recorded reviews; those made from upstream's tests are not in the repository, and count where they are found.
inline std::vector<std::filesystem::path> admission_recordings() {
  std::vector<std::filesystem::path> all = {recording("admission-generated.jsonl")};
  auto upstream = source("../shared/conformance/admission-upstream.jsonl");
  if (std::filesystem::exists(upstream)) all.push_back(std::move(upstream));
  return all;
}

}  // namespace vg::test_files
