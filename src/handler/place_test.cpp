#include "handler/place.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "base/descriptor.h"
#include "base/tree.h"

namespace vg::handler {
namespace {

namespace fs = std::filesystem;

// QEMU can write to the folder of its node, and nest folders there.
TEST(Place, SocketsOfMigrationsAreRemovedWhateverIsBesideThem) {
  std::string name = (fs::temp_directory_path() / "place-XXXXXX").native();
  const fs::path root = ::mkdtemp(name.data());
  const std::string sockets = root / "node01";
  const fs::path shared = moves_folder(sockets), own = own_moves_folder(sockets);
  fs::create_directories(own);
  for (const fs::path& folder : {shared, own})
    for (const char* socket : {"u1-ram", "u2-ram"}) std::ofstream(folder / socket) << "";
  fs::create_directories(own / "u1-folder" / "u1-deeper");
  Descriptor at(::open(own.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int level = 0; level < 300; ++level) {
    ASSERT_EQ(::mkdirat(at.get(), "a", 0700), 0);
    at = Descriptor(::openat(at.get(), "a", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(at);
  }
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit few{.rlim_cur = 256, .rlim_max = before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &few);
  remove_moves(sockets, "u1");
  ::setrlimit(RLIMIT_NOFILE, &before);
  for (const fs::path& folder : {shared, own}) {
    EXPECT_FALSE(fs::exists(folder / "u1-ram"));
    EXPECT_TRUE(fs::exists(folder / "u2-ram")) << "of another guest";
  }
  EXPECT_TRUE(fs::exists(own / "u1-folder" / "u1-deeper"));
  EXPECT_TRUE(remove_tree(AT_FDCWD, root));
}

}  // namespace
}  // namespace vg::handler
