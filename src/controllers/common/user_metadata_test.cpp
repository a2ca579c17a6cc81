#include "controllers/common/user_metadata.h"

#include <gtest/gtest.h>

#include "json/document.h"
#include "json/parse.h"
#include "json/write.h"

namespace vg::controllers {
namespace {

TEST(UserMetadataTest, WhatIsReservedIsLeftOut) {
  json::Document document;
  const auto given = json::parse(R"({"name":"n","generateName":"g","uid":"u","resourceVersion":"1","generation":2,
      "ownerReferences":[{"uid":"o","controller":true}],"deletionTimestamp":"t","deletionGracePeriodSeconds":1,
      "creationTimestamp":"t","selfLink":"s","managedFields":[{}],"finalizers":["f"],
      "labels":{"app":"a","kubevirt.io/created-by":"x","kubevirt.io/nodeName":"x","kubevirt.io/migrationJobUID":"x",
                "kubevirt.io/migrationTargetNodeName":"x","kubevirt.io/schedulable":"x","kubevirt.io/install-strategy":"x"},
      "annotations":{"a":"b","trace.virtgate.io/user":"admin","trace.virtgate.io/request":"r","trace.virtgate.io/x":"x",
                     "virtgate.io/clone-asker":"{}"}})",
                                 document.storage());
  ASSERT_TRUE(given);
  EXPECT_EQ(json::to_text(json::Value(user_metadata(&given->get_object(), document.storage()))),
            R"({"name":"n","generateName":"g","finalizers":["f"],"labels":{"app":"a"},"annotations":{"a":"b"}})");
  EXPECT_TRUE(user_metadata(nullptr, document.storage()).empty());
}

}  // namespace
}  // namespace vg::controllers
