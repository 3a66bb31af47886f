#pragma once

#include <troupe/plugin/static_registration.hpp>

namespace troupe::cuda {

/// Loads kernels of one source into the current context:
///
///     const kernel_loading ahead_of_use(load_copy_kernels);
using kernel_loading = static_registration<result<void>()>;

/// Loads all kernels that this plugin's sources have registered, before their first use: loading
/// one later may have to wait until the running ones have ended.
[[nodiscard]] result<void> load_kernels();

}  // namespace troupe::cuda
