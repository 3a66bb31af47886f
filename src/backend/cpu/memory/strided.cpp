#include "backend/cpu/memory/strided.hpp"

namespace troupe::cpu {

strided_loops::strided_loops(const any_tensor& from, const any_tensor& to) noexcept {
  for (int d = 0; d < to.rank(); ++d) {
    if (to.extent(d) == 0) empty = true;
    if (to.extent(d) <= 1) continue;
    const dimension added{to.extent(d), from.stride(d) * size_of(from.type()),
                          to.stride(d) * size_of(to.type())};
    auto place = static_cast<std::size_t>(rank++);
    for (; place > 0 && dimensions[place - 1].to < added.to; --place)
      dimensions[place] = dimensions[place - 1];
    dimensions[place] = added;
  }
  int last = 0;
  for (int d = 1; d < rank; ++d) {
    dimension& outer = dimensions[static_cast<std::size_t>(last)];
    const dimension& inner = dimensions[static_cast<std::size_t>(d)];
    if (outer.to == inner.to * inner.extent && outer.from == inner.from * inner.extent) {
      outer = {outer.extent * inner.extent, inner.from, inner.to};
    } else {
      dimensions[static_cast<std::size_t>(++last)] = inner;
    }
  }
  if (rank == 0) {
    dimensions[0] = {1, size_of(from.type()), size_of(to.type())};
  }
  rank = last + 1;
}

}  // namespace troupe::cpu
