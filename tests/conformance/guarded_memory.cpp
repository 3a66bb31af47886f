#include "guarded_memory.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

namespace troupe::conformance {
namespace {

constexpr std::int64_t guard = 16;  // elements on either side
// Together a NaN in every floating type of at least two bytes, and not what operands are poisoned
// with.
constexpr std::array guard_bytes{std::byte{0xFB}, std::byte{0xFF}};

}  // namespace

placement place(runner& where, dtype type, std::span<const std::int64_t> size,
                std::span<const std::int64_t> strides, std::int64_t first) {
  const any_tensor probe = any_tensor::unowned(nullptr, type, shape(size), strides);
  const std::int64_t reach = probe.reach().end / size_of(type);
  const std::int64_t begin = guard + first;
  const std::int64_t elements = begin + reach + guard;
  placement made;
  made.memory = std::make_shared<guarded_memory>();
  made.first = begin * size_of(type);
  made.memory->storage = where.allocate(type, elements);
  made.memory->image.resize(static_cast<std::size_t>(elements * size_of(type)));
  for (std::size_t i = 0; i < made.memory->image.size(); ++i)
    made.memory->image[i] = guard_bytes[i % 2];
  const any_tensor room = made.memory->storage.slice(0, begin, begin + reach).value();
  made.view = room.as_strided(shape(size), probe.strides()).value();
  return made;
}

std::vector<std::int64_t> widened_strides(const any_tensor& view, std::int64_t unit,
                                          std::mt19937_64& random) {
  constexpr std::int64_t gaps[] = {0, 0, 1, 1, 2, 5};
  std::vector<int> inner_first(static_cast<std::size_t>(view.rank()));
  std::iota(inner_first.begin(), inner_first.end(), 0);
  std::ranges::sort(inner_first, {},
                    [&](int d) { return std::tuple(view.stride(d), view.extent(d), d); });
  std::vector<std::int64_t> made(view.strides().begin(), view.strides().end());
  // Several gaps multiply: with many dimensions there would not be enough memory.
  constexpr double most_growth = 100;
  double growth = 1;
  for (std::size_t i = 1; i < inner_first.size(); ++i) {
    const int within = inner_first[i - 1];
    const auto place = static_cast<std::size_t>(inner_first[i]);
    const std::int64_t step = std::max<std::int64_t>(view.stride(within), 1);
    const std::int64_t steps = (made[place] + step - 1) / step;
    std::int64_t gap = unit * gaps[random() % std::size(gaps)];
    const double wider =
        static_cast<double>(steps + gap) / static_cast<double>(std::max<std::int64_t>(steps, 1));
    if (growth * wider > most_growth) {
      gap = 0;
    } else {
      growth *= wider;
    }
    made[place] = std::max<std::int64_t>(made[static_cast<std::size_t>(within)], 1) * (steps + gap);
  }
  return made;
}

}  // namespace troupe::conformance
