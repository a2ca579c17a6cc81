// PCI addresses in the guest: DOM-PCI.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "domain/element.h"

namespace vg::domain {

// A hexadecimal number as libvirt writes it, without what says so.
std::string_view without_0x(std::string_view text);
// <address type="pci"> from a text such as 0000:81:00.0 (DOM-PCI-01).
Result<Element> pci_address(std::string_view text, std::string_view rule, std::string_view field);
// The text of an <address>, as the host names the device.
std::string pci_text(const Element& address);
// An <address type="pci"> whose parts are given.
Element pci_address_at(std::string_view bus, std::string_view slot);

// Every element that has or needs a place on a PCI bus, in the order in which they get one (DOM-PCI-03). Ends with the
// first failure.
Result<void> visit_pci_devices(Element& devices, const std::function<Result<void>(Element&)>& visit);

}  // namespace vg::domain
