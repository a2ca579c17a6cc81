#include "catalog/negotiate.h"

#include <gtest/gtest.h>

namespace vg::resources {
namespace {

TEST(Negotiate, TakesTheFirstFormThatCanBeServed) {
  EXPECT_EQ(negotiate(std::nullopt)->form, Form::object);
  EXPECT_EQ(negotiate("*/*")->form, Form::object);
  EXPECT_EQ(negotiate("application/json")->form, Form::object);
  EXPECT_EQ(negotiate("application/vnd.kubernetes.protobuf, application/json")->form, Form::object);
  const auto kubectl = negotiate(
      "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/"
      "json");
  EXPECT_EQ(kubectl->form, Form::table);
  EXPECT_EQ(kubectl->meta_version, "v1");
  EXPECT_EQ(negotiate("application/json;as=Table;v=v9;g=meta.k8s.io,application/json")->form, Form::object);
  EXPECT_EQ(negotiate("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")->form, Form::partial);
  EXPECT_EQ(negotiate("application/yaml")->content_type, "application/yaml");
}

TEST(Negotiate, ProtobufIsForKubernetesOwnKindsAndForMetadata) {
  const auto first =
      negotiate("application/vnd.kubernetes.protobuf, application/json", {.protobuf = Protobuf::objects});
  EXPECT_TRUE(first->protobuf);
  EXPECT_EQ(first->content_type, protobuf_type);
  EXPECT_FALSE(
      negotiate("application/json, application/vnd.kubernetes.protobuf", {.protobuf = Protobuf::objects})->protobuf);
  EXPECT_FALSE(negotiate("*/*", {.protobuf = Protobuf::objects})->protobuf);
  EXPECT_FALSE(negotiate("application/vnd.kubernetes.protobuf, application/json")->protobuf);
  EXPECT_EQ(negotiate("application/vnd.kubernetes.protobuf").error().code, 406);
  const char* metadata = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
  EXPECT_EQ(negotiate(metadata)->form, Form::partial);
  EXPECT_TRUE(negotiate(metadata)->protobuf);
  const auto table = negotiate(
      "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1,application/json;as=Table;g=meta.k8s.io;v=v1",
      {.protobuf = Protobuf::objects});
  EXPECT_EQ(table->form, Form::table);
  EXPECT_FALSE(table->protobuf);
}

TEST(Negotiate, WhatHasNoColumnsIsNoTable) {
  const char* table = "application/json;as=Table;v=v1;g=meta.k8s.io";
  EXPECT_EQ(negotiate(table, {.table = false}).error().code, 406);
  EXPECT_FALSE(negotiate(table, {.table = false}).error().message.contains("Table"));
  EXPECT_EQ(negotiate(std::string(table) + ",application/json", {.table = false})->form, Form::object);
}

TEST(Negotiate, TheHeaviestClauseWins) {
  EXPECT_EQ(negotiate("application/json;q=0.1, application/yaml;q=0.9")->content_type, "application/yaml");
  EXPECT_EQ(negotiate("*/*, application/yaml")->content_type, "application/yaml");
  EXPECT_EQ(negotiate("application/json;as=Table;g=meta.k8s.io;v=v1;q=0.2,application/json;q=0.4")->form, Form::object);
  EXPECT_EQ(negotiate("application/json;q=0")->content_type, "application/json");
}

TEST(Negotiate, KubernetesOwnKindsAreAskedForByName) {
  for (const char* accept : {"application/*", "*", "application/*;as=Table;g=meta.k8s.io;v=v1"}) {
    EXPECT_TRUE(negotiate(accept)) << accept;
    EXPECT_FALSE(negotiate(accept, {.by_name = true})) << accept;
  }
  EXPECT_TRUE(negotiate("text/html, */*;q=0.1", {.by_name = true}));
  EXPECT_EQ(negotiate("application/*;q=0.5,application/yaml", {.by_name = true})->content_type, "application/yaml");
}

TEST(Negotiate, AWatchIsNoYaml) {
  EXPECT_FALSE(negotiate("application/yaml, application/json", {.stream = true}));
  EXPECT_TRUE(negotiate("application/json;stream=watch", {.stream = true}));
}

TEST(Negotiate, RefusesWhatItDoesNotKnow) {
  for (const char* accept : {"application/vnd.nothing", "text/plain", "application/json;as=Fish;v=v1;g=meta.k8s.io",
                             "application/json;g=meta.k8s.io;v=v1", "application/json;stream=other"}) {
    const auto answer = negotiate(accept);
    ASSERT_FALSE(answer) << accept;
    EXPECT_EQ(answer.error().code, 406);
  }
}

TEST(BodyFormat, IsJsonUnlessSaidOtherwise) {
  EXPECT_EQ(*body_format(std::nullopt), BodyFormat::json);
  EXPECT_EQ(*body_format("application/json; charset=utf-8"), BodyFormat::json);
  EXPECT_EQ(*body_format("Application/JSON"), BodyFormat::json);
  EXPECT_EQ(*body_format("application/yaml"), BodyFormat::yaml);
  EXPECT_EQ(body_format("text/plain").error().code, 415);
  EXPECT_EQ(body_format("application/vnd.kubernetes.protobuf").error().code, 415);
  EXPECT_EQ(*body_format("application/vnd.kubernetes.protobuf", Protobuf::objects), BodyFormat::protobuf);
}

TEST(PatchFormat, MustBeSaid) {
  EXPECT_EQ(*patch_format("application/json-patch+json"), PatchFormat::json_patch);
  EXPECT_EQ(*patch_format("application/merge-patch+json"), PatchFormat::merge_patch);
  EXPECT_EQ(*patch_format("application/strategic-merge-patch+json"), PatchFormat::strategic_merge_patch);
  EXPECT_EQ(*patch_format("application/apply-patch+yaml"), PatchFormat::apply);
  EXPECT_EQ(patch_format("application/json").error().code, 415);
  EXPECT_EQ(patch_format(std::nullopt).error().code, 415);
}

}  // namespace
}  // namespace vg::resources
