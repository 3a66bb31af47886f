// What `troupe info` asks of a vendor library, without the library.

#include <cstddef>

extern "C" __attribute__((visibility("default"))) std::size_t cutensorGetVersion();

std::size_t cutensorGetVersion() { return 20'301; }
