#include "local/pki.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/base64.h"
#include "base/files.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/random.h"
#include "local/refusal.h"

namespace vg::local {
namespace {

namespace fs = std::filesystem;
using std::chrono::days;
using std::chrono::minutes;

// Nobody should have to hand out a new authority while a server lives.
constexpr days authority_lifetime{3652};
// Clients that keep a leaf for long are rare, and a year is what current tools accept without complaint.
constexpr days leaf_lifetime{365};
// Early enough that a server which is restarted only now and then still renews in time.
constexpr days renewal_margin{30};
// For clients whose clock is behind.
constexpr minutes clock_skew{10};
constexpr std::size_t token_chars_min = 32;
constexpr std::size_t token_random_bytes = 32;
constexpr mode_t secret_mode = 0600, public_mode = 0644;

Result<std::string> read(const fs::path& path) {
  auto text = read_file(path.native(), limits::pki_file_bytes_max);
  if (!text) return refuse(text.error().message);
  return std::move(*text);
}

// A key that others can read may be copied already, so it is refused and not silently closed.
Result<std::string> read_secret(const fs::path& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && (info.st_mode & 077))
    return refuse(
        fmt::format("{} can be read by other users (mode {:o}); run: chmod 600 {} (and if others use this "
                    "host, stop the server and remove {}, so that new keys are created)",
                    path.native(), info.st_mode & 07777, path.native(), path.parent_path().native()));
  return read(path);
}

LeafRequest leaf(std::string common_name, Usage usage, Time now) {
  return {.common_name = std::move(common_name),
          .organizations = {},
          .hosts = {},
          .usage = usage,
          .not_before = now - clock_skew,
          .not_after = now + leaf_lifetime};
}

LeafRequest server_leaf(const PkiOptions& options, Time now) {
  LeafRequest request = leaf("virtgate", Usage::server, now);
  request.hosts = {"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "127.0.0.1", "::1"};
  for (const std::string& host : options.hosts)
    if (std::ranges::find(request.hosts, host) == request.hosts.end()) request.hosts.push_back(host);
  return request;
}

LeafRequest admin_leaf(Time now) {
  LeafRequest request = leaf(std::string(admin_user), Usage::client, now);
  request.organizations = {std::string(admin_group)};
  return request;
}

LeafRequest kept_leaf(const LeafPlace& place, Time now) {
  LeafRequest request = leaf(place.common_name, place.usage, now);
  request.organizations = place.organizations;
  request.hosts = place.hosts;
  return request;
}

// A leaf that outlives its authority would be refused by clients on a day when we believe it is good.
LeafRequest within(LeafRequest request, const Certificate& authority) {
  request.not_after = std::min(request.not_after, authority.not_after());
  return request;
}

bool is_valid_at(const Certificate& certificate, Time now) {
  return certificate.not_before() <= now && now < certificate.not_after();
}

bool covers_all(const Certificate& certificate, const LeafRequest& fresh) {
  return std::ranges::all_of(fresh.hosts, [&](const std::string& host) { return certificate.covers(host); });
}

bool needs_renewal(const Certificate& certificate, const LeafRequest& fresh, const Certificate& authority, Time now) {
  if (certificate.not_before() > now) return true;  // made while the clock was ahead
  if (certificate.not_after() - now < renewal_margin && certificate.not_after() < authority.not_after()) return true;
  return !covers_all(certificate, fresh);
}

// What stands behind the name in a kubeconfig as write_kubeconfig() makes it, decoded.
std::string decoded_field(std::string_view kubeconfig, std::string_view name) {
  const std::string label = fmt::format("    {}: ", name);
  const auto at = kubeconfig.find(label);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = kubeconfig.substr(at + label.size());
  return base64_decode(rest.substr(0, rest.find('\n'))).value_or(std::string());
}

// Whole or not at all for every reader, as write_file does it, but the disk gets it when it likes.
Result<void> write_unsynced(const fs::path& path, std::string_view text, mode_t mode) {
  const std::string fresh = path.native() + ".new";
  ::unlink(fresh.c_str());  // of a start that was cut short
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
  if (fd < 0) return refuse(std::strerror(errno));
  const bool whole =
      ::fchmod(fd, mode) == 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = whole ? 0 : errno;
  ::close(fd);
  if (!whole || ::rename(fresh.c_str(), path.c_str()) != 0) {
    const int why = whole ? errno : error ? error : ENOSPC;
    ::unlink(fresh.c_str());
    return refuse(std::strerror(why));
  }
  return {};
}

Result<void> sync_path(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool good = fd >= 0 && ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (good) return {};
  return refuse(fmt::format("cannot sync {} to the disk: {}", path.native(), std::strerror(error)));
}

bool is_token(std::string_view token) {
  return token.size() >= token_chars_min && token.size() <= limits::admin_token_chars_max &&
         std::ranges::all_of(token, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) || std::string_view("-._~+/=").contains(c);
         });
}

std::string_view without_line_end(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

}  // namespace

Parsed<std::vector<auth::StaticToken>> parse_admin_token(std::string_view text) {
  const std::string_view token = without_line_end(text);
  if (!is_token(token))
    return not_parsed(fmt::format("it has no valid token ({} to {} characters of A-Z a-z 0-9 - . _ ~ + / =)",
                                  token_chars_min, limits::admin_token_chars_max));
  std::vector<auth::StaticToken> tokens;
  tokens.push_back(
      {.token = std::string(token),
       .user = {.name = std::string(admin_user), .uid = {}, .groups = {std::string(admin_group)}, .extra = {}}});
  return tokens;
}

Pki::Pki(PkiOptions options, fs::path folder, Pair authority, Pair server, Pair admin, std::string token)
    : options_(std::move(options)),
      folder_(std::move(folder)),
      authority_(std::move(authority)),
      server_(std::move(server)),
      admin_(std::move(admin)),
      token_(std::move(token)),
      authority_expires_(authority_.certificate.not_after()),
      server_expires_(server_.certificate.not_after()),
      admin_expires_(admin_.certificate.not_after()) {}

Result<std::unique_ptr<Pki>> Pki::open(PkiOptions options, Time now) {
  const fs::path folder = options.state / "pki";
  std::error_code error;
  const bool exists = fs::exists(folder, error);
  if (error) return refuse(fmt::format("cannot read {}: {}", options.state.native(), error.message()));
  Result<std::unique_ptr<Pki>> pki;
  if (exists) {
    pki = load(std::move(options), folder, Durability::now, now);
  } else {
    // Made beside its place and moved there whole: a start that is cut short leaves everything or nothing.
    const fs::path fresh = options.state / "pki.new";
    fs::remove_all(fresh, error);
    if (::mkdir(fresh.c_str(), 0700) != 0)
      return refuse(fmt::format("cannot create {}: {}", fresh.native(), std::strerror(errno)));
    if (auto made = create_authority(fresh, now); !made) return fail(made.error());
    pki = load(std::move(options), fresh, Durability::later, now);
    if (!pki) return pki;
    fs::rename(fresh, folder, error);
    if (error) return refuse(fmt::format("cannot rename {}: {}", fresh.native(), error.message()));
    (*pki)->folder_ = folder;
    (*pki)->made_now_ = true;
  }
  if (!pki) return pki;
  if (auto renewed = (*pki)->renew(now); !renewed) return fail(renewed.error());
  return pki;
}

Result<std::unique_ptr<Pki>> Pki::load(PkiOptions options, fs::path folder, Durability durability, Time now) {
  auto authority = load_authority(folder, now);
  if (!authority) return fail(authority.error());
  auto server =
      load_leaf(folder, "server", *authority, within(server_leaf(options, now), authority->certificate), durability);
  if (!server) return fail(server.error());
  auto admin = load_leaf(folder, "admin", *authority, within(admin_leaf(now), authority->certificate), durability);
  if (!admin) return fail(admin.error());
  auto token = load_token(folder / "admin.token", durability);
  if (!token) return fail(token.error());
  return std::unique_ptr<Pki>(new Pki(std::move(options), std::move(folder), std::move(*authority), std::move(*server),
                                      std::move(*admin), std::move(*token)));
}

Result<void> Pki::write(const fs::path& path, std::string_view text, unsigned mode, Durability durability) {
  auto done = durability == Durability::now ? write_file(path.native(), text, mode) : write_unsynced(path, text, mode);
  if (!done) return refuse(fmt::format("cannot write {}: {}", path.native(), done.error().message));
  return {};
}

std::vector<fs::path> Pki::files() const {
  std::vector<fs::path> all;
  for (std::string_view name :
       {"ca.key", "ca.crt", "server.key", "server.crt", "admin.key", "admin.crt", "admin.token"})
    all.push_back(file(name));
  return all;
}

Result<void> Pki::sync() const {
  if (!made_now_) return {};
  for (const fs::path& path : files())
    if (auto done = sync_path(path); !done) return done;
  for (const fs::path& path : {folder_, options_.state})
    if (auto done = sync_path(path); !done) return done;
  return {};
}

Result<void> Pki::create_authority(const fs::path& folder, Time now) {
  auto key = PrivateKey::generate();
  if (!key) return fail(key.error());
  // A name of its own for each authority: clients and people tell two state folders apart by it.
  const std::string name = fmt::format("virtgate-ca-{:08x}", random_u64() & 0xffffffff);
  auto certificate = Certificate::make_authority(*key, name, now - clock_skew, now + authority_lifetime);
  if (!certificate) return fail(certificate.error());
  if (auto done = write(folder / "ca.key", key->to_pem(), secret_mode, Durability::later); !done) return done;
  return write(folder / "ca.crt", certificate->to_pem(), public_mode, Durability::later);
}

Result<std::string> Pki::load_token(const fs::path& path, Durability durability) {
  if (!fs::exists(path)) {
    std::string token = random_token(token_random_bytes);
    if (auto done = write(path, token, secret_mode, durability); !done) return fail(done.error());
    return token;
  }
  auto text = read_secret(path);
  if (!text) return text;
  auto tokens = parse_admin_token(*text);
  if (!tokens)
    return refuse(fmt::format("{}: {}; remove the file, and a new token is created at the next start", path.native(),
                              tokens.error()));
  return std::move(tokens->front().token);
}

Result<Pki::Pair> Pki::load_authority(const fs::path& folder, Time now) {
  const fs::path certificate_file = folder / "ca.crt", key_file = folder / "ca.key";
  const std::string way_out = fmt::format(
      "restore the file, or remove the folder {}: then a new CA is created at the next start, and every "
      "copy of the kubeconfig and of ca.crt must be replaced",
      folder.native());
  for (const fs::path& file : {certificate_file, key_file})
    if (!fs::exists(file)) return refuse(fmt::format("{} is missing; {}", file.native(), way_out));

  auto key_text = read_secret(key_file);
  if (!key_text) return fail(key_text.error());
  auto key = PrivateKey::from_pem(*key_text);
  if (!key) return refuse(fmt::format("{}: {}; {}", key_file.native(), key.error().message, way_out));
  auto text = read(certificate_file);
  if (!text) return fail(text.error());
  auto certificate = Certificate::from_pem(*text);
  if (!certificate)
    return refuse(fmt::format("{}: {}; {}", certificate_file.native(), certificate.error().message, way_out));

  if (!certificate->is_authority())
    return refuse(fmt::format("{} is not a CA certificate; {}", certificate_file.native(), way_out));
  if (!certificate->matches(*key))
    return refuse(fmt::format("{} does not match {}; {}", key_file.native(), certificate_file.native(), way_out));
  if (certificate->not_before() > now)
    return refuse(fmt::format("{} is not valid yet; check the clock of this host, and if it is right, {}",
                              certificate_file.native(), way_out));
  if (certificate->not_after() <= now)
    return refuse(fmt::format("{} has expired; {}", certificate_file.native(), way_out));
  return Pair{std::move(*key), std::move(*certificate)};
}

Result<Pki::Pair> Pki::load_leaf(const fs::path& folder, std::string_view name, const Pair& authority,
                                 const LeafRequest& fresh, Durability durability) {
  const fs::path certificate_file = folder / fmt::format("{}.crt", name);
  const fs::path key_file = folder / fmt::format("{}.key", name);
  const std::string way_out = fmt::format("remove {} and {}, and new ones are created at the next start",
                                          certificate_file.native(), key_file.native());
  const bool has_key = fs::exists(key_file);
  std::error_code ignored;
  // In this order, so that a start that is cut short never leaves a certificate beside a key it does not belong to.
  if (!has_key) fs::remove(certificate_file, ignored);

  auto key = [&]() -> Result<PrivateKey> {
    if (!has_key) return PrivateKey::generate();
    auto text = read_secret(key_file);
    if (!text) return fail(text.error());
    auto parsed = PrivateKey::from_pem(*text);
    if (!parsed) return refuse(fmt::format("{}: {}; {}", key_file.native(), parsed.error().message, way_out));
    return parsed;
  }();
  if (!key) return fail(key.error());
  if (!has_key)
    if (auto done = write(key_file, key->to_pem(), secret_mode, durability); !done) return fail(done.error());

  if (!fs::exists(certificate_file)) {
    auto certificate = Certificate::issue(authority.certificate, authority.key, *key, fresh);
    if (!certificate) return fail(certificate.error());
    if (auto done = write(certificate_file, certificate->to_pem(), public_mode, durability); !done)
      return fail(done.error());
    return Pair{std::move(*key), std::move(*certificate)};
  }
  auto text = read(certificate_file);
  if (!text) return fail(text.error());
  auto certificate = Certificate::from_pem(*text);
  if (!certificate)
    return refuse(fmt::format("{}: {}; {}", certificate_file.native(), certificate.error().message, way_out));
  if (!certificate->matches(*key))
    return refuse(fmt::format("{} does not match {}; {}", key_file.native(), certificate_file.native(), way_out));
  if (!certificate->signed_by(authority.certificate))
    return refuse(
        fmt::format("{} was not signed by {}/ca.crt; {}", certificate_file.native(), folder.native(), way_out));
  return Pair{std::move(*key), std::move(*certificate)};
}

Result<bool> Pki::renew_leaf(Pair& leaf, const fs::path& file, const LeafRequest& fresh, Time now) {
  if (!needs_renewal(leaf.certificate, fresh, authority_.certificate, now)) return false;
  auto certificate = Certificate::issue(authority_.certificate, authority_.key, leaf.key, fresh);
  if (!certificate) return fail(certificate.error());
  if (auto done = write(file, certificate->to_pem(), public_mode, Durability::now); !done) {
    if (!is_valid_at(leaf.certificate, now) || !covers_all(leaf.certificate, fresh)) return fail(done.error());
    log::warning("a certificate cannot be renewed; the present one is used as long as it is valid",
                 {{"certificate", file.native()}, {"error", done.error().message}});
    return false;
  }
  leaf.certificate = std::move(*certificate);
  return true;
}

bool Pki::is_due(Time now) {
  problem_.store(find_problem(now), std::memory_order_relaxed);
  const auto ends = [&](const Pair& pair, const LeafRequest& fresh) {
    return needs_renewal(pair.certificate, fresh, authority_.certificate, now);
  };
  return ends(server_, server_leaf(options_, now)) || ends(admin_, admin_leaf(now)) ||
         std::ranges::any_of(kept_, [&](const Kept& kept) { return ends(kept.pair, kept_leaf(kept.place, now)); });
}

const char* Pki::find_problem(Time now) const {
  if (!is_valid_at(authority_.certificate, now))
    return "the certificate of the CA is not valid now, so clients with this clock trust none that it signed; check "
           "the "
           "clock of this host";
  const auto is_good = [now](const Kept& kept) { return is_valid_at(kept.pair.certificate, now); };
  if (!is_valid_at(server_.certificate, now) || !is_valid_at(admin_.certificate, now) ||
      !std::ranges::all_of(kept_, is_good))
    return "a certificate is not valid now and could not be renewed; see the log";
  return nullptr;
}

std::optional<std::string> Pki::problem() const {
  const char* problem = problem_.load(std::memory_order_relaxed);
  return problem ? std::optional<std::string>(problem) : std::nullopt;
}

Result<std::vector<std::string>> Pki::renew(Time now) {
  std::vector<std::string> renewed;
  auto server =
      renew_leaf(server_, file("server.crt"), within(server_leaf(options_, now), authority_.certificate), now);
  if (!server) return fail(server.error());
  if (*server) renewed.emplace_back("server.crt");
  server_expires_ = server_.certificate.not_after();
  auto admin = renew_leaf(admin_, file("admin.crt"), within(admin_leaf(now), authority_.certificate), now);
  if (!admin) return fail(admin.error());
  if (*admin) renewed.emplace_back("admin.crt");
  admin_expires_ = admin_.certificate.not_after();
  for (Kept& kept : kept_) {
    const fs::path certificate = kept.place.folder / fmt::format("{}.crt", kept.place.name);
    auto again = renew_leaf(kept.pair, certificate, within(kept_leaf(kept.place, now), authority_.certificate), now);
    if (!again) return fail(again.error());
    if (*again) renewed.push_back(certificate.native());
  }
  if (auto done = write_kubeconfig(); !done) {
    if (!has_usable_kubeconfig(now)) return fail(done.error());
    log::warning("admin.kubeconfig cannot be brought up to date; the present one still lets the administrator in",
                 {{"error", done.error().message}, {"server", options_.server_url}});
  }
  return renewed;
}

Result<void> Pki::keep(LeafPlace place, Time now) {
  const LeafRequest fresh = within(kept_leaf(place, now), authority_.certificate);
  auto pair = load_leaf(place.folder, place.name, authority_, fresh, Durability::now);
  if (!pair) return fail(pair.error());
  const fs::path certificate = place.folder / fmt::format("{}.crt", place.name);
  if (auto renewed = renew_leaf(*pair, certificate, fresh, now); !renewed) return fail(renewed.error());
  kept_.push_back({.place = std::move(place), .pair = std::move(*pair)});
  return {};
}

// Whether the kubeconfig that is there, and perhaps names another address of this server, can be used with it.
bool Pki::has_usable_kubeconfig(Time now) const {
  struct stat info;
  if (::stat(kubeconfig().c_str(), &info) != 0 || (info.st_mode & 077) != 0) return false;
  const auto text = read_file(kubeconfig().native(), limits::pki_file_bytes_max);
  if (!text || decoded_field(*text, "certificate-authority-data") != authority_.certificate.to_pem()) return false;
  const auto certificate = Certificate::from_pem(decoded_field(*text, "client-certificate-data"));
  const auto key = PrivateKey::from_pem(decoded_field(*text, "client-key-data"));
  return certificate && key && certificate->matches(*key) && certificate->signed_by(authority_.certificate) &&
         is_valid_at(*certificate, now);
}

Result<void> Pki::write_kubeconfig() {
  const std::string wanted = fmt::format(
      "# Access for the administrator of this server. Whoever can read this file may do everything.\n"
      "apiVersion: v1\n"
      "kind: Config\n"
      "clusters:\n"
      "- name: virtgate\n"
      "  cluster:\n"
      "    server: \"{}\"\n"
      "    certificate-authority-data: {}\n"
      "users:\n"
      "- name: {}\n"
      "  user:\n"
      "    client-certificate-data: {}\n"
      "    client-key-data: {}\n"
      "contexts:\n"
      "- name: virtgate\n"
      "  context:\n"
      "    cluster: virtgate\n"
      "    user: {}\n"
      "    namespace: default\n"
      "current-context: virtgate\n",
      options_.server_url, base64_encode(authority_.certificate.to_pem()), admin_user,
      base64_encode(admin_.certificate.to_pem()), base64_encode(admin_.key.to_pem()), admin_user);
  struct stat info;
  const bool closed = ::stat(kubeconfig().c_str(), &info) == 0 && (info.st_mode & 077) == 0;
  if (closed)
    if (auto present = read_file(kubeconfig().native(), limits::pki_file_bytes_max); present && *present == wanted)
      return {};
  // Made from the other files, and compared with them at every start: it need not survive a power failure.
  return write(kubeconfig(), wanted, secret_mode, Durability::later);
}

}  // namespace vg::local
