// The one place where the network library's own code is compiled. Its TLS part is not used: it keeps 68 KiB of buffers
// for every idle connection and copies each byte twice (see tls.h).
#include <boost/asio/impl/src.hpp>
