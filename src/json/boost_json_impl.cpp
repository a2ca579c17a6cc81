// The one place where the JSON library's own code is compiled: of it, only what we call ends up in the program.
#include <boost/json/src.hpp>
