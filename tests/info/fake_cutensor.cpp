// The functions of a vendor library that `troupe info` calls, without the library.

#include <cstddef>

// NOLINTBEGIN(readability-identifier-naming): the vendor's name
extern "C" __attribute__((visibility("default"))) std::size_t cutensorGetVersion();

std::size_t cutensorGetVersion() { return 20'301; }
// NOLINTEND(readability-identifier-naming)
