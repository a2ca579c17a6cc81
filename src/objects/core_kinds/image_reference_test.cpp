#include "objects/core_kinds/image_reference.h"

#include <gtest/gtest.h>

#include <string>

namespace vg::resources::core_kinds {
namespace {

TEST(CoreKindsImage, LatestIsSaidOrMeant) {
  for (const std::string_view image :
       {"i", "i:latest", "a/b", "localhost:5000/a/b", "quay.io/kubevirt/virt-launcher", "Registry/a", "[::1]:5000/a",
        "x/a.b_c__d--e", "i:latest@sha256:0123456789abcdef0123456789abcdef"})
    EXPECT_TRUE(names_latest_image(image)) << image;
}

TEST(CoreKindsImage, OtherTagsAndDigests) {
  for (const std::string_view image :
       {"i:1", "localhost:5000/a:v1.0_x-y", "quay.io/a/b:devel", "i@sha256:0123456789abcdef0123456789abcdef"})
    EXPECT_FALSE(names_latest_image(image)) << image;
}

TEST(CoreKindsImage, WhatIsNoNameMeansNoTag) {
  for (const std::string& image :
       {std::string(), std::string("Upper"), std::string("a//b"), std::string("a/"), std::string("a..b"),
        std::string("a._b"), std::string("-a"), std::string("a-"), std::string("i:"), std::string("i: latest"),
        std::string("i@sha256:zz"), std::string("host:port/a"), std::string(64, 'a'), std::string(300, 'a')})
    EXPECT_FALSE(names_latest_image(image)) << image;
}

}  // namespace
}  // namespace vg::resources::core_kinds
