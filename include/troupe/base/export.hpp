#pragma once

/// Marks a symbol that the shared library exports; all others are hidden.
#if defined(__GNUC__)
#define TROUPE_EXPORT __attribute__((visibility("default")))
#else
#define TROUPE_EXPORT
#endif
