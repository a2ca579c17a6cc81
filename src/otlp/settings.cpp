#include "otlp/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/files.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/tracing_limits.h"

namespace vg::otlp {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;
using std::chrono::milliseconds;

constexpr std::uint16_t http_port = 80, https_port = 443;

// One variable, or the one for traces alone, which goes first.
class Variables {
 public:
  Variables(const Environment& environment, std::vector<std::string>& warnings)
      : environment_(environment), warnings_(warnings) {}

  // An empty one counts as not set.
  std::string text(const std::string& name) const {
    auto value = environment_(name.c_str());
    return value ? std::move(*value) : std::string();
  }
  std::string of_exporter(std::string_view what) const {
    std::string own = text(fmt::format("OTEL_EXPORTER_OTLP_TRACES_{}", what));
    return own.empty() ? text(fmt::format("OTEL_EXPORTER_OTLP_{}", what)) : own;
  }
  std::int64_t number(std::string_view name, std::string_view value, std::int64_t usual, std::int64_t max) {
    if (value.empty()) return usual;
    std::int64_t read = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), read);
    if (error == std::errc() && end == value.data() + value.size() && read > 0 && read <= max) return read;
    warn(fmt::format("{} must be a number from 1 to {}; {} is used", name, max, usual));
    return usual;
  }
  void warn(std::string text) { warnings_.push_back(std::move(text)); }

 private:
  const Environment& environment_;
  std::vector<std::string>& warnings_;
};

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    const int low = high < 0 ? -1 : hex_value(text[i + 2]);
    if (text[i] != '%' || low < 0) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::string_view trim(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// "key=value,key2=value2" as W3C Baggage. Nothing when it is something else.
std::optional<Pairs> parse_pairs(std::string_view text) {
  Pairs pairs;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find(','));
    text.remove_prefix(std::min(pair.size() + 1, text.size()));
    if (trim(pair).empty()) continue;
    const auto at = pair.find('=');
    if (at == pair.npos || trim(pair.substr(0, at)).empty() || pairs.size() == limits::span_settings_max)
      return std::nullopt;
    pairs.emplace_back(trim(pair.substr(0, at)), percent_decoded(trim(pair.substr(at + 1))));
  }
  return pairs;
}

bool is_field_name(std::string_view name) {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return std::ranges::all_of(name, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || marks.contains(c);
  });
}
bool is_field_value(std::string_view value) {
  return std::ranges::all_of(value, [](char c) { return (c >= ' ' && c <= '~') || c == '\t'; });
}

// "http://host[:port][/path]". Without credentials, which would be shown with it: there is a variable for them.
bool read_endpoint(std::string_view url, Settings& settings) {
  constexpr std::string_view plain = "http://", secure = "https://";
  settings.tls = url.starts_with(secure);
  if (!settings.tls && !url.starts_with(plain)) return false;
  url.remove_prefix(settings.tls ? secure.size() : plain.size());
  const auto slash = url.find('/');
  std::string_view host = url.substr(0, slash);
  settings.path = slash == url.npos ? std::string_view() : url.substr(slash);
  settings.port = settings.tls ? https_port : http_port;
  if (host.contains('@') || settings.path.find_first_of("?# \t\r\n") != std::string::npos) return false;
  const auto bracket = host.rfind(']');
  const auto colon = host.rfind(':');
  if (colon != host.npos && (bracket == host.npos || colon > bracket)) {
    const std::string_view digits = host.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), settings.port);
    if (error != std::errc() || end != digits.data() + digits.size() || settings.port == 0) return false;
    host = host.substr(0, colon);
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty() || host.find_first_of("[] \t\r\n") != host.npos) return false;
  settings.host = host;
  return true;
}

void find_endpoint(Variables& variables, Settings& settings) {
  const std::string own = variables.text("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
  const std::string common = variables.text("OTEL_EXPORTER_OTLP_ENDPOINT");
  if (own.empty() && common.empty()) return;
  const std::string disabled = variables.text("OTEL_SDK_DISABLED");
  const std::string exporter = variables.text("OTEL_TRACES_EXPORTER");
  if (disabled == "true" || exporter == "none") return;
  const std::string protocol = variables.of_exporter("PROTOCOL");
  if ((!exporter.empty() && exporter != "otlp") || (!protocol.empty() && protocol != "http/protobuf"))
    return variables.warn("spans are sent as otlp over http/protobuf alone; nothing is traced");
  if (!read_endpoint(own.empty() ? common : own, settings)) {
    settings.host.clear();
    return variables.warn(
        "OTEL_EXPORTER_OTLP_ENDPOINT must be a URL like http://collector:4318, with credentials in "
        "OTEL_EXPORTER_OTLP_HEADERS; nothing is traced");
  }
  // The one for all signals is a base, the one for traces is used as it is.
  if (own.empty()) {
    if (settings.path.ends_with('/')) settings.path.pop_back();
    settings.path += "/v1/traces";
  } else if (settings.path.empty()) {
    settings.path = "/";
  }
}

void read_headers(Variables& variables, Settings& settings) {
  auto headers = parse_pairs(variables.of_exporter("HEADERS"));
  const bool good = headers && std::ranges::all_of(*headers, [](const auto& header) {
                      return is_field_name(header.first) && is_field_value(header.second);
                    });
  if (good)
    settings.headers = std::move(*headers);
  else
    variables.warn("OTEL_EXPORTER_OTLP_HEADERS must be a list like name=value,name2=value2; no fields are added");
}

void set_attribute(Pairs& attributes, std::string_view key, std::string value) {
  const auto found = std::ranges::find(attributes, key, &Pairs::value_type::first);
  if (found == attributes.end())
    attributes.emplace_back(key, std::move(value));
  else
    found->second = std::move(value);
}

void read_resource(Variables& variables, Settings& settings, std::string_view service) {
  settings.resource.emplace_back("service.name", service);
  if (const auto more = parse_pairs(variables.text("OTEL_RESOURCE_ATTRIBUTES")))
    for (const auto& [key, value] : *more) set_attribute(settings.resource, key, value);
  else
    variables.warn("OTEL_RESOURCE_ATTRIBUTES must be a list like key=value,key2=value2; none are added");
  if (const std::string name = variables.text("OTEL_SERVICE_NAME"); !name.empty())
    set_attribute(settings.resource, "service.name", name);
}

void read_sampler(Variables& variables, Settings& settings) {
  const auto sampler =
      tracing::parse_sampler(variables.text("OTEL_TRACES_SAMPLER"), variables.text("OTEL_TRACES_SAMPLER_ARG"));
  if (sampler)
    settings.sampler = *sampler;
  else
    variables.warn(
        "OTEL_TRACES_SAMPLER must be [parentbased_]always_on, always_off or traceidratio, and "
        "OTEL_TRACES_SAMPLER_ARG a ratio from 0 to 1; parentbased_always_on is used");
}

}  // namespace

std::string Settings::endpoint() const {
  return fmt::format("{}://{}:{}{}", tls ? "https" : "http", host.contains(':') ? fmt::format("[{}]", host) : host,
                     port, path);
}

Settings read_settings(const Environment& environment, std::string_view service) {
  Settings settings{.timeout = limits::span_timeout_default,
                    .queue_max = limits::span_queue_default,
                    .batch_max = limits::span_batch_default,
                    .delay = limits::span_delay_default};
  Variables variables(environment, settings.warnings);
  find_endpoint(variables, settings);
  if (!settings.on()) return settings;
  read_headers(variables, settings);
  read_resource(variables, settings, service);
  read_sampler(variables, settings);
  settings.authority_file = variables.of_exporter("CERTIFICATE");
  if (const std::string packing = variables.of_exporter("COMPRESSION"); !packing.empty() && packing != "none")
    variables.warn("OTEL_EXPORTER_OTLP_COMPRESSION is not supported; spans are sent as they are");
  const std::int64_t time_max = limits::span_time_max.count();
  settings.timeout = milliseconds(variables.number("OTEL_EXPORTER_OTLP_TIMEOUT", variables.of_exporter("TIMEOUT"),
                                                   settings.timeout.count(), time_max));
  const auto queue = [&](const char* name, std::int64_t usual, std::int64_t max) {
    return variables.number(name, variables.text(name), usual, max);
  };
  settings.delay = milliseconds(queue("OTEL_BSP_SCHEDULE_DELAY", settings.delay.count(), time_max));
  settings.queue_max = queue("OTEL_BSP_MAX_QUEUE_SIZE", settings.queue_max, limits::span_queue_max);
  settings.batch_max = queue("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", settings.batch_max, limits::span_batch_max);
  settings.batch_max = std::min(settings.batch_max, settings.queue_max);
  return settings;
}

Result<Settings> read_process_settings(std::string_view service) {
  Settings settings = read_settings(
      [](const char* name) {
        const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before the first thread
        return value ? std::optional<std::string>(value) : std::nullopt;
      },
      service);
  for (const std::string& warning : settings.warnings) log::warning(warning);
  if (settings.authority_file.empty()) return settings;
  auto read = read_file(settings.authority_file, limits::config_file_bytes_max);
  if (!read) return fail(std::move(read.error()));
  settings.authorities_pem = std::move(*read);
  return settings;
}

}  // namespace vg::otlp
