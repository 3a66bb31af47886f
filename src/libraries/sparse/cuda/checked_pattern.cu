#include "libraries/sparse/cuda/checked_pattern.hpp"
#include "libraries/sparse/cuda/kernels/grid.cuh"
#include "libraries/sparse/cuda/pattern_check.hpp"

#include <algorithm>

namespace troupe::cuda {
namespace {

constexpr auto claim = sparse::pattern_claim::places;

/// Copies a pattern. If a fault is noted, writes a valid pattern of the same number of blocks, all
/// in the first row.
template <class I>
__global__ void copy_pattern(const sparse::pattern from, const unsigned long long* first_fault,
                             I* offsets, I* indices) {
  const std::int64_t i = thread_number();
  const bool faulty = *first_fault != static_cast<unsigned long long>(no_fault);
  if (offsets != nullptr && i <= from.majors) {
    const std::int64_t harmless = i == 0 ? 0 : from.slots;
    offsets[i] = static_cast<I>(faulty ? harmless : from.offsets[i]);
  }
  if (i < from.slots) {
    const std::int64_t harmless = from.has_padding() ? -1 : 0;
    indices[i] = static_cast<I>(faulty ? harmless : from.indices[i]);
  }
}

std::int64_t bytes_of(const any_tensor& t) {
  return t.null() ? 0 : t.count() * static_cast<std::int64_t>(size_of(t.type()));
}

}  // namespace

checked_pattern::checked_pattern(call_frame& c, const sparse_matrix& of, late_failure failure)
    : step(c), of_(of), failure_(failure) {
  if (!copies()) return;
  first_fault_ = c.array<unsigned long long>(1);
  offsets_ = c.bytes(bytes_of(of.offsets));
  indices_ = c.bytes(bytes_of(of.indices));
}

sparse_matrix checked_pattern::operator*() const {
  sparse_matrix made = of_;
  if (!copies()) return made;
  const auto copy_at = [](std::byte* at, const any_tensor& t) {
    return any_tensor::unowned(at, t.type(), shape(t.extents()));
  };
  if (!of_.offsets.null()) made.offsets = copy_at(offsets_, of_.offsets);
  made.indices = copy_at(indices_, of_.indices);
  return made;
}

result<void> checked_pattern::before(lane& where) {
  if (!copies()) return {};
  TRY(enqueue_pattern_check(of_, claim, first_fault_, where.stream()));
  const sparse::pattern from = sparse::pattern_of(of_);
  const auto copy = [&]<class I>(I) {
    return launch_over(std::max(from.slots, from.majors + 1), copy_pattern<I>, where.stream(), from,
                       first_fault_,
                       of_.offsets.null() ? nullptr : reinterpret_cast<I*>(offsets_.get()),
                       reinterpret_cast<I*>(indices_.get()));
  };
  return of_.index_type() == dtype::i64 ? copy(std::int64_t{}) : copy(std::int32_t{});
}

result<void> checked_pattern::after(lane& where) {
  if (!copies()) return {};
  return enqueue_pattern_report(of_, claim, first_fault_, failure_, where.stream());
}

}  // namespace troupe::cuda
