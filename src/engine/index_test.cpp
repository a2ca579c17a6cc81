#include "engine/index.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "engine/testing.h"

namespace vg::engine {
namespace {

class IndexTest : public EngineTest {
 protected:
  IndexTest() {
    create_object(controllers::kinds::vmi, R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance",
        "metadata":{"name":"a","namespace":"ns"},"spec":{"domain":{"memory":{"guest":"1Gi"},"devices":{}}}})");
    index_.see(*store_->get(controllers::kinds::vmi, "ns", "a"));
  }
  // The VMI gets a place on n1.
  static Pass placing() {
    Pass pass;
    pass.add({.verb = Verb::update,
              .resource = controllers::kinds::vmi,
              .ns = "ns",
              .name = "a",
              .identity = controllers::Identity::own(),
              .document = object(R"({"metadata":{"name":"a","namespace":"ns"},
                  "spec":{"domain":{"memory":{"guest":"1Gi"},"devices":{}}},"status":{"activePods":{"p":"n1"}}})")});
    return pass;
  }
  bool is_used() const { return !index_.kept().nodes.used("n1").empty(); }

  Opened opened_;
  Index index_{*store_, config_, clock_, opened_};
};

TEST_F(IndexTest, WhatAPassWantsCountsUntilItIsOver) {
  Index::Reservation reserved(index_);
  reserved.add(placing());
  EXPECT_TRUE(is_used());
  reserved.end(false);
  EXPECT_FALSE(is_used());
}

TEST_F(IndexTest, APassThatIsThrownOutLeavesNothingBehind) {
  try {
    Index::Reservation reserved(index_);
    reserved.add(placing());
    EXPECT_TRUE(is_used());
    throw std::runtime_error("while it is carried out");
  } catch (const std::runtime_error&) {
  }
  EXPECT_FALSE(is_used());
  // Nor are changes of the VMI left aside from then on.
  Index::Reservation again(index_);
  again.add(placing());
  again.end(true);
  EXPECT_TRUE(is_used());
  index_.see(*store_->get(controllers::kinds::vmi, "ns", "a"));
  EXPECT_FALSE(is_used());
}

}  // namespace
}  // namespace vg::engine
