#include "libraries/memory/cpu/copy.hpp"

#include "libraries/memory/shared/strided_loops.hpp"

#include <troupe/memory/copy.hpp>
#include <troupe/plugin/static_registration.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace troupe::cpu {
namespace {

using namespace elementwise;

template <std::size_t Bytes>
void copy_row(const strided_loops::dimension& d, const std::byte* from, std::byte* to) {
  for (std::int64_t i = 0; i < d.extent; ++i)
    std::memcpy(to + i * d.to, from + i * d.from, Bytes);
}

/// The two innermost loops in square tiles, so that a transposition uses whole cache lines of both
/// sides.
template <std::size_t Bytes>
void copy_tiles(const strided_loops::dimension& outer, const strided_loops::dimension& inner,
                const std::byte* from, std::byte* to) {
  constexpr std::int64_t tile = 32;
  for (std::int64_t i = 0; i < outer.extent; i += tile) {
    for (std::int64_t j = 0; j < inner.extent; j += tile) {
      for (std::int64_t row = i; row < std::min(i + tile, outer.extent); ++row) {
        for (std::int64_t column = j; column < std::min(j + tile, inner.extent); ++column) {
          std::memcpy(to + row * outer.to + column * inner.to,
                      from + row * outer.from + column * inner.from, Bytes);
        }
      }
    }
  }
}

template <std::size_t Bytes>
void copy_strided(strided_loops loops, const std::byte* from, std::byte* to) {
  if (loops.rank >= 2) {
    // The loop with the smallest stride in `from` goes next to the innermost one.
    auto* const next = &loops.dimensions[static_cast<std::size_t>(loops.rank - 2)];
    auto* const smallest = std::min_element(
        loops.dimensions.data(), next + 1,
        [](const auto& left, const auto& right) { return left.from < right.from; });
    if (smallest->from < loops.innermost().from) {
      std::swap(*smallest, *next);
      const auto inner = loops.innermost();
      --loops.rank;
      return loops.for_each_row(from, to, [&](const std::byte* f, std::byte* t) {
        copy_tiles<Bytes>(loops.innermost(), inner, f, t);
      });
    }
  }
  loops.for_each_row(from, to, [&](const std::byte* f, std::byte* t) {
    copy_row<Bytes>(loops.innermost(), f, t);
  });
}

result<void> run_copy(const memory::copy& r, lane_context&) {
  if (!r.to.same_view(r.from)) copy_elements(r.from, r.to);
  return {};
}

}  // namespace

void copy_elements(const any_tensor& source, const any_tensor& target) {
  const strided_loops loops(source, target);
  if (loops.empty) return;
  const std::int64_t bytes = size_of(target.type());
  const std::byte* const from = source.address();
  std::byte* const to = target.address();
  const auto& inner = loops.innermost();
  if (inner.from == bytes && inner.to == bytes) {
    loops.for_each_row(from, to, [&](const std::byte* f, std::byte* t) {
      std::memcpy(t, f, static_cast<std::size_t>(inner.extent * bytes));
    });
    return;
  }
  switch (bytes) {
    case 1:
      copy_strided<1>(loops, from, to);
      break;
    case 2:
      copy_strided<2>(loops, from, to);
      break;
    case 4:
      copy_strided<4>(loops, from, to);
      break;
    case 8:
      copy_strided<8>(loops, from, to);
      break;
    default:
      copy_strided<16>(loops, from, to);
      break;
  }
}

namespace {

const plugin_operations copy_operations([](operation_table& table) {
  table.add<memory::copy>(run_copy, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
