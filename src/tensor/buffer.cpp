#include "tensor/buffer_owner.hpp"

namespace troupe::detail {

void give_back(buffer& unused) noexcept { unused.owner->give_back(unused); }

}  // namespace troupe::detail
