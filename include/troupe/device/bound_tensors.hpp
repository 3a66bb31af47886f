#pragma once

#include <troupe/device/device.hpp>

#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// Lets `table`, a tensor in host memory, stand for frozen tensors of the device: a request that
/// reads the table may read all of them, and need not name them. They are its operands as if it
/// did: they stay until it has ended, and it is refused while one of them is not frozen, or was
/// released. `device::thaw` waits for the requests that use the set.
///
/// The table keeps the tensors as long as there are views of it. Its content says where they are,
/// and is the caller's to write, before this.
/// \errors `unsupported` for a table that is not in host memory; `foreign_buffer` for a tensor of
/// another device, or none; `stale_buffer`; `invalid_argument` for a tensor that is not frozen
[[nodiscard]] TROUPE_EXPORT result<void> bind_tensors(
    const device& on, const any_tensor& table, std::string set,
    std::vector<std::pair<std::string, any_tensor>> tensors);

}  // namespace troupe
