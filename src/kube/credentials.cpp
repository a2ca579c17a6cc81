#include "kube/credentials.h"

#include <fmt/format.h>

#include <utility>

#include "base/base64.h"
#include "base/files.h"
#include "base/limits.h"
#include "base/log.h"

namespace vg::kube {
namespace {

Result<std::string> read_credential(const Material& material) {
  if (!material.text.empty() || material.file.empty()) return material.text;
  return read_file(material.file, limits::config_file_bytes_max);
}

std::string trimmed(std::string text) {
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.pop_back();
  text.erase(0, text.find_first_not_of(" \t\r\n"));
  return text;
}

}  // namespace

Result<Credentials::Made> Credentials::read_files() const {
  auto authorities = read_credential(access_.authorities);
  auto certificate = read_credential(access_.certificate);
  auto key = read_credential(access_.key);
  for (const auto* part : {&authorities, &certificate, &key})
    if (!*part) return fail(part->error());
  return Made{.authorities = std::move(*authorities), .certificate = std::move(*certificate), .key = std::move(*key)};
}

Result<std::shared_ptr<const http::TlsClientContext>> Credentials::make_context(const Made& made) const {
  http::TlsClientConfig config;
  config.authorities_pem = made.authorities;
  config.certificate_pem = made.certificate;
  config.key_pem = made.key;
  config.verify = access_.verify;
  config.verify_name = access_.verify;
  return http::TlsClientContext::create(config);
}

// What is being replaced may be missing, half written or not fit together for a moment.
Result<std::shared_ptr<const http::TlsClientContext>> Credentials::one_before(const Status& why) {
  if (!context_) return fail(why);
  if (std::exchange(complaint_, why.message) != why.message)
    log::warning("the credentials for the API server cannot be loaded; the previous ones stay in use",
                 {{"reason", why.message}});
  return context_;
}

Result<std::shared_ptr<const http::TlsClientContext>> Credentials::tls() {
  auto made = read_files();
  const std::scoped_lock lock(mutex_);
  if (!made) return one_before(made.error());
  if (context_ && *made == made_) return context_;
  // Authorities that were emptied are no wish to trust those of the system.
  if (made->authorities.empty() && !access_.authorities.empty())
    return one_before(Status::internal_error(fmt::format("{} is empty", access_.authorities.file)));
  auto context = make_context(*made);
  if (!context) return one_before(context.error());
  complaint_.clear();
  context_ = std::move(*context);
  made_ = std::move(*made);
  return context_;
}

Result<std::string> Credentials::authorization() {
  if (!access_.basic.empty()) return "Basic " + base64_encode(access_.basic);
  if (access_.token.empty()) return std::string();
  if (access_.token.file.empty()) return "Bearer " + access_.token.text;
  const std::scoped_lock lock(mutex_);
  const auto now = clock_.steady_now();
  if (!token_read_ || now - read_at_ >= limits::kube_token_age_max) {
    auto text = read_file(access_.token.file, limits::config_file_bytes_max);
    if (text) *text = trimmed(std::move(*text));
    if (text && text->empty()) text = fail(Status::internal_error(fmt::format("{} is empty", access_.token.file)));
    // A token that is being replaced may be missing for a moment; the one before is good for a while.
    if (text)
      token_ = std::move(*text);
    else if (token_.empty())
      return fail(std::move(text.error()));
    else
      log::warning("the service account token cannot be read; the previous one stays in use",
                   {{"reason", text.error().message}});
    token_read_ = true;
    read_at_ = now;
  }
  return "Bearer " + token_;
}

void Credentials::doubt() {
  const std::scoped_lock lock(mutex_);
  token_read_ = false;
}

}  // namespace vg::kube
