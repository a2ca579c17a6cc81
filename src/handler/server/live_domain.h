// The few things that streams need of a domain's live document. libvirt writes it in one way, so it is looked through
// and not parsed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vg::handler {

// The socket of that base name ("virt-serial0") on which the guest's QEMU listens. One that is not below `folder` is
// not ours to open, whoever wrote it there.
std::optional<std::string> find_socket(std::string_view xml, std::string_view folder, std::string_view base);

// The image file of that base name, under the same condition.
std::optional<std::string> find_image(std::string_view xml, std::string_view folder, std::string_view base);

// The context id of the guest's vsock; nothing: it has none. Those of the host are nobody's.
std::optional<std::uint32_t> vsock_cid(std::string_view xml);

// The alias of the first NIC of the user-mode network; empty: there is none.
std::string user_nic_alias(std::string_view xml);

}  // namespace vg::handler
