#include "libraries/memory/shared/element_bytes.hpp"
#include "libraries/memory/shared/strided_loops.hpp"

#include <troupe/memory/fill.hpp>
#include <troupe/plugin/static_registration.hpp>

#include <algorithm>
#include <cstring>

namespace troupe::cpu {
namespace {

using namespace elementwise;

template <std::size_t Bytes>
void fill_rows(const strided_loops& loops, std::byte* to, const element_bytes& element) {
  const auto& inner = loops.innermost();
  loops.for_each_row(to, to, [&](const std::byte*, std::byte* row) {
    for (std::int64_t i = 0; i < inner.extent; ++i)
      std::memcpy(row + i * inner.to, element.data(), Bytes);
  });
}

void fill_elements(const any_tensor& to, const element_bytes& element) {
  const strided_loops loops(to, to);
  if (loops.empty) return;
  const std::int64_t bytes = size_of(to.type());
  const auto& inner = loops.innermost();
  const bool equal_bytes = std::all_of(element.begin(), element.begin() + bytes,
                                       [&](std::byte one) { return one == element[0]; });
  if (equal_bytes && inner.to == bytes) {
    return loops.for_each_row(to.address(), to.address(), [&](const std::byte*, std::byte* row) {
      std::memset(row, static_cast<int>(element[0]),
                  static_cast<std::size_t>(inner.extent * bytes));
    });
  }
  switch (bytes) {
    case 1:
      return fill_rows<1>(loops, to.address(), element);
    case 2:
      return fill_rows<2>(loops, to.address(), element);
    case 4:
      return fill_rows<4>(loops, to.address(), element);
    case 8:
      return fill_rows<8>(loops, to.address(), element);
    default:
      return fill_rows<16>(loops, to.address(), element);
  }
}

result<void> run_fill(const memory::fill& r, lane_context&) {
  fill_elements(r.to, element_of(r.to.type(), r.value));
  return {};
}

result<void> run_set_bytes(const memory::set_bytes& r, lane_context&) {
  element_bytes element;
  element.fill(static_cast<std::byte>(r.byte));
  fill_elements(r.to, element);
  return {};
}

const plugin_operations fill_operations([](operation_table& table) {
  table.add<memory::fill>(run_fill, effort::by_size);
  table.add<memory::set_bytes>(run_set_bytes, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
