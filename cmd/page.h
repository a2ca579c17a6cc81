// The page at /ui as `virtgate serve` has it: sessions go by the credentials of this server.
#pragma once

#include <chrono>

#include "base/background.h"
#include "base/clock.h"
#include "ports/node_link.h"
#include "server/router.h"
#include "standalone_api.h"
#include "ui/service.h"
#include "ui/sessions.h"

namespace vg::cmd {

class Page {
 public:
  // Before the first request. The API and the clock outlive this.
  Page(StandaloneApi& api, std::chrono::seconds session_age_max, const Clock& clock);

  // The nodes outlive this.
  void add_routes(server::Router& router, NodeLink& nodes);
  // On that core: sessions end when their time is over.
  void start(Core& core);
  // After the cores have stopped, before they are destroyed.
  void stop() { keeping_ = Background(); }

 private:
  StandaloneApi& api_;
  ui::Sessions sessions_;
  const ui::UiService::CheckToken check_;
  ui::UiService service_;
  Background keeping_;
};

}  // namespace vg::cmd
