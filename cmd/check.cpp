#include "check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "cluster_objects.h"
#include "command.h"
#include "inputs.h"
#include "offline/catalogue.h"
#include "offline/check.h"
#include "offline/report.h"

namespace vg::cmd {
namespace {

struct Options {
  InputFlags inputs;
  std::string kubeconfig;  // of a cluster whose objects and configuration count
  std::string format = "text", colour = "auto", validate = "strict";
  std::vector<std::string> skip;
  bool complete = false, strict = false;
  std::int64_t threads = 0;
};

const CommandLine command{
    .name = "check",
    .synopsis = "FILE... | DIR... | - [flags]",
    .description =
        "Validates manifests as the server would when they are created: defaults, schema and all rules, without a "
        "server. Objects of the same files count as existing. Exit code 0: nothing is refused, 1: something is, "
        "2: something could not be read. virtgate explain RULE-ID tells more about a finding.",
    .examples =
        "virtgate check vm.yaml\nkustomize build . | virtgate check -\n"
        "virtgate check manifests/ --with cluster/instancetypes.yaml --config kubevirt.yaml -o sarif",
    .argument = "FILE",
    .arguments_min = 1,
    .arguments_max = SIZE_MAX};

std::vector<Flag> flags_of(Options& options) {
  std::vector<Flag> flags = options.inputs.flags();
  const std::vector<Flag> own{
      {"output", 'o', &options.format, "text|json|sarif|junit|github", "the form of the report"},
      {"kubeconfig", '\0', &options.kubeconfig, "FILE",
       "a cluster that is asked for what the files do not have, and for the configuration; nothing is written there"},
      {"complete", '\0', &options.complete, "",
       "everything is in the files: what they name and do not have is missing"},
      {"strict", '\0', &options.strict, "", "warnings are refusals"},
      {"skip", '\0', &options.skip, "ID", "a warning that is not told; can be repeated"},
      {"validate", '\0', &options.validate, "strict|warn|ignore",
       "what to make of unknown and duplicate fields, as kubectl"},
      {"color", '\0', &options.colour, "auto|always|never", "colours in text; auto: on a terminal"},
      {"threads", '\0', &options.threads, "N", "threads to check with; 0: as many as there are processors"}};
  flags.insert(flags.end(), own.begin(), own.end());
  return flags;
}

resources::FieldValidation validation_of(std::string_view word) {
  using enum resources::FieldValidation;
  return word == "ignore" ? ignore : word == "warn" ? warn : strict;
}

bool wants_colour(std::string_view word, std::FILE* out) {
  if (word != "auto") return word == "always";
  return ::isatty(::fileno(out)) == 1 && std::getenv("NO_COLOR") == nullptr;
}

int exit_code(const offline::Outcome& outcome) {
  if (!outcome.unreadable.empty()) return exit_usage;
  return outcome.refused() ? exit_failed : exit_ok;
}

int refuse(std::string_view why, Output output) {
  fmt::print(output.err, "virtgate check: {}\n", why);
  return exit_usage;
}

// The configuration of the file that is named, else of the cluster, else the defaults.
Result<config::ConfigPtr> find_config(const Options& options, const ClusterObjects* cluster) {
  return cluster && options.inputs.config.empty() ? cluster->configuration() : read_config(options.inputs.config);
}

offline::CheckOptions check_options(const Options& options) {
  return {.ns = options.inputs.ns,
          .validation = validation_of(options.validate),
          .complete = options.complete,
          .strict = options.strict,
          .skip = {options.skip.begin(), options.skip.end()},
          .threads = static_cast<std::size_t>(std::max<std::int64_t>(options.threads, 0))};
}

void print_report(const offline::Outcome& outcome, const Options& options, Output output) {
  const offline::ReportOptions how{.colour = wants_colour(options.colour, output.out), .version = VIRTGATE_VERSION};
  for (const auto& form : offline::report_forms())
    if (form.name == options.format) fmt::print(output.out, "{}", form.write(outcome, how));
  for (const std::string& why : outcome.unreadable) fmt::print(output.err, "virtgate check: {}\n", why);
}

int check_files(const std::vector<std::string>& names, const Options& options, const ClusterObjects* cluster,
                Output output) {
  const auto config = find_config(options, cluster);
  if (!config) return refuse(config.error().message, output);
  const offline::CheckOptions how = check_options(options);
  std::vector<std::string> unreadable;
  const offline::Sources beside = open_inputs(options.inputs.with, unreadable);
  const offline::Sources sources = open_inputs(names, unreadable);
  offline::KnownObjects known(cluster);
  offline::learn_all(beside, how, known, unreadable);
  const config::FixedConfig fixed(*config);
  const SystemClock clock;
  // A cluster that was asked has everything that there is.
  const bool complete = options.complete || cluster;
  const offline::World world{.known = known, .config = fixed, .clock = clock, .complete = complete};
  offline::Outcome outcome = offline::check(sources, known, world, how);
  outcome.unreadable.insert(outcome.unreadable.begin(), unreadable.begin(), unreadable.end());
  print_report(outcome, options, output);
  return exit_code(outcome);
}

}  // namespace

int run_check(std::span<const std::string_view> arguments, Output output) {
  Options options;
  const auto names = read_command(command, flags_of(options), arguments, output);
  if (!names) return names.error();
  for (const std::string& id : options.skip) {
    const offline::CatalogueEntry* entry = offline::find_entry(id);
    if (!entry)
      return refuse_usage(command, fmt::format("--skip: there is no rule {}; see virtgate explain", id), output);
    if (!entry->warning)
      return refuse_usage(command, fmt::format("--skip: {} is not a warning; the server refuses what it finds", id),
                          output);
  }
  if (options.kubeconfig.empty()) return check_files(*names, options, nullptr, output);
  const auto cluster = ClusterObjects::open(options.kubeconfig);
  if (!cluster) return refuse(cluster.error().message, output);
  return check_files(*names, options, cluster->get(), output);
}

}  // namespace vg::cmd
