// A review whose look-ups have to be fetched first is judged in rounds, on one parsed document. What comes of it must
// be what comes of it where everything is at hand.
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "admission/admit.h"
#include "admission/defaults/testing.h"
#include "admission/testing.h"
#include "base/test_files.h"

namespace vg::admission::testing {
namespace {

struct RoundsTest : DefaultsTest {
  const ManualClock clock{Clock::Wall(std::chrono::seconds(1767323045))};

  RoundsTest() {
    std::ifstream fixtures(test_files::source("tests/conformance/fixtures.json"));
    const json::Document objects = parsed(std::string(std::istreambuf_iterator<char>(fixtures), {}));
    for (const Value& object : objects.root().as_array()) known.add(object);
  }

  std::string direct(const std::string& text, const config::ConfigSource& source) {
    json::Document document = parsed(text);
    const auto review = read_review(document.root());
    if (!review) return "unreadable";
    const ReadyLookups lookups(known);
    const Webhook& webhook = *find_webhook(json::get_string_or(document.root(), "path"));
    const Verdict verdict =
        admit(webhook, *review, {.config = source, .lookups = lookups, .clock = clock, .randomness = randomness},
              document.storage());
    return answer(webhook, *review, verdict);
  }
  // The same in rounds, of which there were so many.
  std::string in_rounds(const std::string& text, const config::ConfigSource& source, int& rounds) {
    json::Document document = parsed(text);
    const auto review = read_review(document.root());
    if (!review) return "unreadable";
    HesitantSession session(known, HesitantSession::Fetches::one_at_a_time);
    const ReadyLookups unused(known);
    const Environment environment{.config = source, .lookups = unused, .clock = clock, .randomness = randomness};
    const Webhook& webhook = *find_webhook(json::get_string_or(document.root(), "path"));
    Judgement judgement(webhook, *review, environment, session.lookups(), document.storage());
    for (judgement.ask(); session.lookups().missed(); judgement.ask()) session.fetch_now();
    rounds = session.rounds;
    return answer(webhook, *review, judgement.verdict());
  }
  static std::string answer(const Webhook& webhook, const Review& review, const Verdict& verdict) {
    std::string out;
    write_answer(out, webhook.mutating(), review, verdict);
    return out;
  }
};

TEST_F(RoundsTest, EveryRecordedReviewIsJudgedAlike) {
  std::map<std::string, int> fetched;  // by path: reviews that needed it
  int shown = 0;
  for (const auto& path_of_file : test_files::admission_recordings()) {
    std::ifstream file(path_of_file);
    for (std::string line; std::getline(file, line);) {
      const json::Document recorded = parsed(line);
      const std::string path(json::get_string_or(recorded.root(), "path"));
      if (!find_webhook(path)) continue;
      const Value* wanted = json::find(recorded.root(), "config");
      const config::FixedConfig source(configuration(wanted ? json::to_text(*wanted) : "{}"));
      int rounds = 0;
      const std::string got = in_rounds(line, source, rounds);
      if (rounds == 0) continue;
      ++fetched[path];
      const std::string want = direct(line, source);
      if (got != want && ++shown <= 10)
        ADD_FAILURE() << json::get_string_or(recorded.root(), "id") << " " << path << "\n  at once: " << want
                      << "\n  in rounds: " << got;
    }
  }
  EXPECT_EQ(shown, 0);
  for (const std::string_view path :
       {"/virtualmachines-mutate", "/virtualmachines-validate", "/virtualmachineinstances-mutate"})
    EXPECT_GT(fetched[std::string(path)], 10) << path;
}

constexpr std::string_view inferring_vm =
    R"({"path":"/virtualmachines-mutate","request":{"uid":"u","operation":"CREATE","namespace":"n",
        "resource":{"group":"kubevirt.io","version":"v1","resource":"virtualmachines"},
        "object":{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"m","namespace":"n"},
          "spec":{"runStrategy":"Halted","instancetype":{"inferFromVolume":"disk"},"preference":{"inferFromVolume":"disk"},
            "dataVolumeTemplates":[{"metadata":{"name":"made"},
              "spec":{"storage":{},"sourceRef":{"kind":"DataSource","name":"images","namespace":"n"}}}],
            "template":{"spec":{"domain":{"devices":{}},
              "volumes":[{"name":"disk","persistentVolumeClaim":{"claimName":"claim"}}]}}}}}})";

struct InferringRoundsTest : RoundsTest {
  InferringRoundsTest() {
    known.add_text(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"claim","namespace":"n",
        "labels":{"instancetype.kubevirt.io/default-instancetype":"big",
                  "instancetype.kubevirt.io/default-preference":"fine"}}})");
    known.add_text(R"({"apiVersion":"instancetype.kubevirt.io/v1beta1","kind":"VirtualMachineClusterPreference",
        "metadata":{"name":"fine"},"spec":{"machine":{"preferredMachineType":"q35-fine"}}})");
    known.add_text(R"({"apiVersion":"cdi.kubevirt.io/v1beta1","kind":"DataSource","metadata":{"name":"images",
        "namespace":"n","labels":{"template.kubevirt.io/architecture":"arm64"}},"spec":{"source":{}}})");
  }
};

// What one answer leads to is asked in the next round, everything else together: the claim and the image, then the
// preference that the claim names.
TEST_F(InferringRoundsTest, OnlyAnswersThatLeadOnTakeARound) {
  json::Document document = parsed(inferring_vm);
  const auto review = read_review(document.root());
  HesitantSession session(known, HesitantSession::Fetches::everything);
  Judgement judgement(*find_webhook("/virtualmachines-mutate"), *review, offline_environment(), session.lookups(),
                      document.storage());
  for (judgement.ask(); session.lookups().missed(); judgement.ask()) session.fetch_now();
  EXPECT_EQ(session.rounds, 2);
  ASSERT_TRUE(judgement.verdict().allowed) << judgement.verdict().refusal().message;
  const std::string patch = print_patch(judgement.verdict().patch);
  for (const std::string_view part : {R"("instancetype":{"name":"big"})", R"("preference":{"name":"fine"})",
                                      R"("architecture":"arm64")", R"("type":"q35-fine")"})
    EXPECT_TRUE(patch.contains(part)) << part << "\n" << patch;
}

TEST_F(InferringRoundsTest, InRoundsItComesToTheSame) {
  const config::FixedConfig source(config);
  int rounds = 0;
  const std::string text(inferring_vm);
  EXPECT_EQ(in_rounds(text, source, rounds), direct(text, source));
  EXPECT_EQ(rounds, 3);
}

// A refusal of one round may come of what was missing, and is not the answer.
TEST_F(InferringRoundsTest, WhatIsMissingForGoodIsRefusedAsEver) {
  known = KnownObjects();
  const config::FixedConfig source(config);
  int rounds = 0;
  const std::string text(inferring_vm), answer = in_rounds(text, source, rounds);
  EXPECT_EQ(answer, direct(text, source));
  EXPECT_TRUE(answer.contains("not found")) << answer;
}

}  // namespace
}  // namespace vg::admission::testing
