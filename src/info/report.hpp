#pragma once

namespace troupe::info {

/// `troupe info`: prints the parts that this installation finds on this machine, and those missing;
/// or only the limits of vendors' libraries.
void show_report(bool json, bool limits_only);

}  // namespace troupe::info
