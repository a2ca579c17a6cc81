#include "base/stream.h"

namespace vg {

std::string_view to_string(IoError error) {
  switch (error) {
    case IoError::none:
      return "no error";
    case IoError::end:
      return "the peer closed the connection";
    case IoError::reset:
      return "the connection was lost";
    case IoError::timed_out:
      return "the peer was too slow";
    case IoError::tls:
      return "TLS rejected the data of the peer";
    case IoError::closed:
      return "the connection was closed here";
  }
  return "unknown error";
}

}  // namespace vg
