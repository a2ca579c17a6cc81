// The keys and certificates of a standalone server, in the folder pki/ of its state: made at the first start, kept at
// later ones, renewed before they expire. Nothing here ever replaces the authority: every client trusts it.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/static_tokens.h"
#include "base/parsed.h"
#include "base/status.h"
#include "local/certificates.h"

namespace vg::local {

struct PkiOptions {
  std::filesystem::path state;     // exists, and is locked by the caller
  std::vector<std::string> hosts;  // what the serving certificate covers besides its fixed names
  std::string server_url;          // where the administrator's kubeconfig points to
};

// A certificate that is made beside the fixed ones: of a node, or for talking to one.
struct LeafPlace {
  std::filesystem::path folder;  // exists
  std::string name;              // NAME.crt and NAME.key
  std::string common_name;
  std::vector<std::string> organizations = {};
  std::vector<std::string> hosts = {};
  Usage usage = Usage::client;
};

// Who the administrator's certificate and token stand for. The group may do everything, as in every Kubernetes.
inline constexpr std::string_view admin_user = "kubernetes-admin";
inline constexpr std::string_view admin_group = "system:masters";

// The text of pki/admin.token as the one token that it holds. The error says what is wrong with it.
Parsed<std::vector<auth::StaticToken>> parse_admin_token(std::string_view text);

class Pki {
 public:
  // After success every file exists and fits the others. What is damaged, foreign or readable by others is refused
  // with the file's name and the way out.
  static Result<std::unique_ptr<Pki>> open(PkiOptions options, Time now);

  // Forces what the first start made onto the disk; does nothing at later starts. It is apart from open() because it
  // waits for the disk many times, and nobody who wants to use the server should wait with it: until it is done, a
  // power failure costs an identity that is seconds old, and the next start says so. May be called from any thread.
  Result<void> sync() const;

  // Whether renew() would renew anything: cheap, to be asked often, since problem() is as old as the last question. Who
  // waits for a time that was reckoned before sleeps through a suspended host or a step of the clock. On the thread of
  // renew().
  bool is_due(Time now);
  // Renews what is about to expire (its key stays) and rewrites the kubeconfig to match. Says what it renewed.
  // To be called from one thread at a time.
  Result<std::vector<std::string>> renew(Time now);

  // From here on there is such a certificate, and renew() looks after it. Not beside renew().
  Result<void> keep(LeafPlace place, Time now);

  std::filesystem::path file(std::string_view name) const { return folder_ / name; }  // "ca.crt", "server.key", ...
  std::filesystem::path kubeconfig() const { return options_.state / "admin.kubeconfig"; }
  const std::string& admin_token() const { return token_; }
  std::string authority_pem() const { return authority_.certificate.to_pem(); }

  // May be called from any thread.
  Time authority_expires() const { return authority_expires_; }
  Time server_expires() const { return server_expires_; }
  Time admin_expires() const { return admin_expires_; }
  // What is not valid, whether it is not yet or no longer: the authority, or what could not be renewed.
  std::optional<std::string> problem() const;

 private:
  struct Pair {
    PrivateKey key;
    Certificate certificate;
  };
  struct Kept {
    LeafPlace place;
    Pair pair;
  };
  Pki(PkiOptions options, std::filesystem::path folder, Pair authority, Pair server, Pair admin, std::string token);
  enum class Durability { now, later };
  static Result<std::unique_ptr<Pki>> load(PkiOptions options, std::filesystem::path folder, Durability durability,
                                           Time now);
  static Result<void> create_authority(const std::filesystem::path& folder, Time now);
  static Result<Pair> load_authority(const std::filesystem::path& folder, Time now);
  static Result<Pair> load_leaf(const std::filesystem::path& folder, std::string_view name, const Pair& authority,
                                const LeafRequest& fresh, Durability durability);
  static Result<std::string> load_token(const std::filesystem::path& path, Durability durability);
  static Result<void> write(const std::filesystem::path& path, std::string_view text, unsigned mode,
                            Durability durability);
  Result<bool> renew_leaf(Pair& leaf, const std::filesystem::path& certificate, const LeafRequest& fresh, Time now);
  Result<void> write_kubeconfig();
  bool has_usable_kubeconfig(Time now) const;
  const char* find_problem(Time now) const;
  std::vector<std::filesystem::path> files() const;

  PkiOptions options_;
  std::filesystem::path folder_;
  bool made_now_ = false;
  Pair authority_, server_, admin_;
  std::vector<Kept> kept_;
  std::string token_;
  std::atomic<Time> authority_expires_, server_expires_, admin_expires_;
  std::atomic<const char*> problem_ = nullptr;
};

}  // namespace vg::local
