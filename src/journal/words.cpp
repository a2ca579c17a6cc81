#include "journal/words.h"

#include <array>
#include <cstdint>

namespace vg::journal {
namespace {

using std::string_view;

// In files of earlier starts a word is its place here: new ones are added at the end. Of words that begin alike the
// longest stands first.
constexpr string_view words[] = {
    R"("],")",
    R"(":[[")",
    R"(","a":"kubectl/v1.)",
    " (linux/amd64) kubernetes",
    R"(","a":"virtctl/)",
    R"(","v":"update","g":"subresources.kubevirt.io","gv":"v1","r":"virtualmachineinstances","s":")",
    R"(","v":"update","g":"subresources.kubevirt.io","gv":"v1","r":"virtualmachines","s":")",
    R"(","v":"update","g":"kubevirt.io","gv":"v1","r":"virtualmachines","ns":")",
    R"(","v":"create","g":"kubevirt.io","gv":"v1","r":"virtualmachines","ns":")",
    R"(","v":"patch","g":"kubevirt.io","gv":"v1","r":"virtualmachines","ns":")",
    R"(","v":"delete","g":"kubevirt.io","gv":"v1","r":"virtualmachines","ns":")",
    R"(","v":")",
    R"(","gv":"v1","r":")",
    R"(","ns":"default","n":")",
    R"(","ns":")",
    R"(","n":")",
    R"(","uid":")",
    R"(","rv":")",
    R"(","re":")",
    R"(","m":")",
    R"(","w":")",
    "RBAC: allowed by ClusterRoleBinding ",
    "ClusterRoleBinding",
    "ClusterRole ",
    "RoleBinding",
    "system:serviceaccount:",
    R"(,"gr":[["system:masters"]])",
    R"(","cr":"certificate","de":"virtualmachines/)",
    R"(","cr":"certificate")",
    R"(","cr":"token")",
    R"(","cr":"front proxy")",
    R"(","de":"virtualmachineinstances/)",
    R"(","de":"virtualmachines/)",
    R"(,"de":"virtualmachineinstances/)",
    R"(,"de":"virtualmachines/)",
    R"(was changed","kubevirt.io/v1/namespaces/default/virtualmachines/)",
    R"(was created","kubevirt.io/v1/namespaces/default/virtualmachineinstancemigrations/kubevirt-migrate-vm-)",
    R"(was changed","kubevirt.io/v1/namespaces/)",
    R"(was created","kubevirt.io/v1/namespaces/)",
    R"(called the node","/v1/namespaces/)",
    "virtualmachineinstancemigrations",
    "virtualmachineinstances",
    "virtualmachines",
    "kubevirt.io/virtualmachineinstances default/",
    "kubevirt.io/virtualmachines default/",
    "kubevirt.io/",
    ", run strategy ",
    ", on node ",
    ", version ",
    "AgentConnected",
    "spec.template.spec.domain.",
    "spec.template.spec.",
    "metadata.",
    R"(,"us":)",
    R"(,"tn":)",
    R"("t":17)",
    R"(,"ts":[)",
    R"(,"id":")",
    R"(","u":")",
    "kubernetes-admin",
    "not found",
};
constexpr char escape = '\1';
constexpr std::uint8_t no_word = 0xff;
static_assert(std::size(words) < no_word);

// For each first byte, the words that begin with it, one after the other.
struct Index {
  std::array<std::uint8_t, 256> first{};
  std::array<std::uint8_t, std::size(words)> next{};
};

constexpr Index make_index() {
  Index index;
  index.first.fill(no_word);
  for (std::size_t i = std::size(words); i-- > 0;) {
    std::uint8_t& first = index.first[static_cast<unsigned char>(words[i].front())];
    index.next[i] = first;
    first = static_cast<std::uint8_t>(i);
  }
  return index;
}
constexpr Index index = make_index();

std::uint8_t word_at(string_view text) {
  for (std::uint8_t i = index.first[static_cast<unsigned char>(text.front())]; i != no_word; i = index.next[i])
    if (text.starts_with(words[i])) return i;
  return no_word;
}

// Printable, so that a line stays a line of text.
constexpr unsigned char first_number = 32;
static_assert(std::size(words) + first_number < 127);

}  // namespace

std::string shorten(string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::uint8_t word = word_at(text);
    if (word == no_word) {
      out += text.front();
      text.remove_prefix(1);
      continue;
    }
    out += escape;
    out += static_cast<char>(word + first_number);
    text.remove_prefix(words[word].size());
  }
  return out;
}

std::string restore(string_view text) {
  std::string out;
  out.reserve(2 * text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != escape || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const auto word = static_cast<std::size_t>(static_cast<unsigned char>(text[++i])) - first_number;
    if (word < std::size(words)) out += words[word];
  }
  return out;
}

}  // namespace vg::journal
