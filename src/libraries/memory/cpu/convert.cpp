#include "libraries/memory/shared/conversion.hpp"
#include "libraries/memory/shared/strided_loops.hpp"

#include <troupe/memory/convert.hpp>
#include <troupe/plugin/static_registration.hpp>

#include <algorithm>
#include <cstring>

namespace troupe::cpu {
namespace {

using namespace elementwise;

/// Elements that are converted at a time, through carriers on the stack.
constexpr std::int64_t stretch = 256;

using widening = void (*)(const std::byte* from, std::int64_t stride, std::int64_t n, void* to);
using narrowing = void (*)(const void* from, std::byte* to, std::int64_t stride, std::int64_t n);

template <class From>
void widen(const std::byte* from, std::int64_t stride, std::int64_t n, void* to) {
  auto* const carriers = static_cast<carrier_of<From>*>(to);
  for (std::int64_t i = 0; i < n; ++i) {
    if constexpr (std::same_as<From, bool>) {
      // As a byte: memory that was set otherwise may hold more than 0 and 1, which no bool may.
      carriers[i] = from[i * stride] != std::byte{};
    } else {
      From value;
      std::memcpy(&value, from + i * stride, sizeof value);
      // NOLINTNEXTLINE(bugprone-signed-char-misuse): i8 is a number here, no character.
      carriers[i] = static_cast<carrier_of<From>>(value);
    }
  }
}

template <class Carrier, class To>
void narrow(const void* from, std::byte* to, std::int64_t stride, std::int64_t n) {
  const auto* const carriers = static_cast<const Carrier*>(from);
  for (std::int64_t i = 0; i < n; ++i) {
    const To value = narrowed<To>(carriers[i]);
    std::memcpy(to + i * stride, &value, sizeof value);
  }
}

result<void> run_convert(const memory::convert& r, lane_context&) {
  const strided_loops loops(r.from, r.to);
  if (loops.empty || r.to.same_view(r.from)) return {};
  widening first = nullptr;
  narrowing second = nullptr;
  const auto narrowing_from = [&]<class Carrier>(Carrier) {
    for_element_type(r.to.type(), [&]<class To>(To) { second = narrow<Carrier, To>; });
  };
  for_element_type(r.from.type(), [&]<class From>(From) { first = widen<From>; });
  // One set of narrowings per carrier, not per source type.
  switch (r.from.type()) {
    case dtype::f64:
      narrowing_from(double{});
      break;
    case dtype::c64:
      narrowing_from(std::complex<float>{});
      break;
    case dtype::c128:
      narrowing_from(std::complex<double>{});
      break;
    case dtype::u64:
      narrowing_from(std::uint64_t{});
      break;
    default:
      is_float(r.from.type()) ? narrowing_from(float{}) : narrowing_from(std::int64_t{});
      break;
  }
  const auto& inner = loops.innermost();
  alignas(16) std::byte carriers[stretch * sizeof(std::complex<double>)];
  loops.for_each_row(r.from.address(), r.to.address(), [&](const std::byte* from, std::byte* to) {
    for (std::int64_t i = 0; i < inner.extent; i += stretch) {
      const std::int64_t n = std::min(stretch, inner.extent - i);
      first(from + i * inner.from, inner.from, n, carriers);
      second(carriers, to + i * inner.to, inner.to, n);
    }
  });
  return {};
}

const plugin_operations convert_operations([](operation_table& table) {
  table.add<memory::convert>(run_convert, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
