// The page at /ui as `virtgate serve` has it: sessions go by the credentials of this server.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/parsed.h"
#include "ports/node_link.h"
#include "server/router.h"
#include "standalone_api.h"
#include "ui/service.h"
#include "ui/sessions.h"

namespace vg::cmd {

inline constexpr std::string_view ui_session_help =
    "how long a browser stays signed in at most, such as 12h; one that is not used for an hour is signed out";

// What --ui-session says.
Parsed<std::chrono::seconds> parse_ui_session(std::string_view text);

class Page {
 public:
  // Before the first request. The API and the clock outlive this.
  Page(StandaloneApi& api, std::chrono::seconds session_age_max, const Clock& clock);

  // The nodes outlive this.
  void add_routes(server::Router& router, NodeLink& nodes);

 private:
  StandaloneApi& api_;
  ui::Sessions sessions_;
  ui::UiService service_;
};

}  // namespace vg::cmd
