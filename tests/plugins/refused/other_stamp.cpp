// A plugin that was built for another version, and by a compiler with another layout. Any call of
// it, instead of reading its stamp, is detected.

#include <troupe/base/export.hpp>
#include <troupe/plugin/plugin_stamp.hpp>

#include <cstdlib>

extern "C" {

TROUPE_EXPORT extern constinit const troupe::plugin_stamp troupe_backend_stamp;
#if OTHER_LAYOUT
constinit const troupe::plugin_stamp troupe_backend_stamp{.version = "0.1.0", .layout = 0x77};
#else
constinit const troupe::plugin_stamp troupe_backend_stamp{
    .version = "0.0.1", .layout = troupe::plugin_stamp::of_this_build().layout};
#endif

TROUPE_EXPORT void troupe_backend_operations(troupe::operation_table&) { std::abort(); }
}
