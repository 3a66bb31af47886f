#include "libraries/dnn/shared/graph/products.hpp"

#include <troupe/request/request.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace troupe::dnn {
namespace {

/// One dimension of a batch, with the strides of a, b and d.
struct batch_loop {
  std::int64_t extent = 1;
  std::array<std::int64_t, 3> strides{};
};

// An extent of 1, or a missing one, repeats the one matrix.
std::int64_t batch_stride(const any_tensor& t, int batches, int d) noexcept {
  const int own = d - (batches - (t.rank() - 2));
  return own < 0 || t.extent(own) == 1 ? 0 : t.stride(own);
}

std::vector<batch_loop> loops_of(const any_tensor& a, const any_tensor& b, const any_tensor& d) {
  const int batches = d.rank() - 2;
  std::vector<batch_loop> all;
  for (int i = 0; i < batches; ++i) {
    if (d.extent(i) == 1) continue;
    const batch_loop added{
        .extent = d.extent(i),
        .strides = {batch_stride(a, batches, i), batch_stride(b, batches, i), d.stride(i)}};
    bool merges = !all.empty();
    for (std::size_t k = 0; merges && k < 3; ++k)
      merges = all.back().strides[k] == added.strides[k] * added.extent;
    if (merges) {
      all.back() = {all.back().extent * added.extent, added.strides};
    } else {
      all.push_back(added);
    }
  }
  return all;
}

/// The last two dimensions, `offset` elements further on, behind a batch where `count` is not 0.
any_tensor matrices(const any_tensor& t, std::int64_t offset, std::int64_t count,
                    std::int64_t stride) {
  const int rows = t.rank() - 2;
  std::vector<std::int64_t> extents{t.extent(rows), t.extent(rows + 1)};
  std::vector<std::int64_t> strides{t.stride(rows), t.stride(rows + 1)};
  if (count > 0) {
    extents.insert(extents.begin(), count);
    strides.insert(strides.begin(), stride);
  }
  return any_tensor::unowned(t.address() + offset * size_of(t.type()), t.type(), shape(extents),
                             strides, t.space());
}

// All rows of a batch as those of one matrix, where they lie so.
bool joins_rows(const batch_loop& one, std::size_t operand, const any_tensor& t) noexcept {
  const int rows = t.rank() - 2;
  return t.extent(rows) == 1 || one.strides[operand] == t.stride(rows) * t.extent(rows);
}
any_tensor joined_rows(const any_tensor& t, const batch_loop& one, std::size_t operand) {
  const int rows = t.rank() - 2;
  const std::int64_t step = t.extent(rows) == 1 ? one.strides[operand] : t.stride(rows);
  const std::int64_t extents[] = {one.extent * t.extent(rows), t.extent(rows + 1)};
  const std::int64_t strides[] = {step, t.stride(rows + 1)};
  return any_tensor::unowned(t.address(), t.type(), shape(extents), strides, t.space());
}

}  // namespace

std::optional<std::vector<blaslt::matmul>> products_of(const any_tensor& a, const any_tensor& b,
                                                       const any_tensor& d,
                                                       const blaslt::matmul& what) {
  std::vector<blaslt::matmul> made;
  if (d.empty()) return made;
  const auto add = [&](any_tensor left, any_tensor right, any_tensor result) {
    blaslt::matmul one = what;
    one.a = std::move(left);
    one.b = std::move(right);
    one.d = std::move(result);
    if (!validate(one)) return false;
    made.push_back(std::move(one));
    return true;
  };
  const auto loops = loops_of(a, b, d);
  if (loops.size() == 1 && loops[0].strides[1] == 0 && joins_rows(loops[0], 0, a) &&
      joins_rows(loops[0], 2, d) && what.beta.is_zero()) {
    if (add(joined_rows(a, loops[0], 0), matrices(b, 0, 0, 0), joined_rows(d, loops[0], 2)))
      return made;
  }
  // The longest dimension is the batch of each request, one for every place in the others.
  constexpr std::int64_t most_requests = 64;
  std::size_t longest = 0;
  std::int64_t requests = 1;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    requests *= loops[i].extent;
    if (loops[i].extent > loops[longest].extent) longest = i;
  }
  if (!loops.empty()) requests /= loops[longest].extent;
  if (requests > most_requests || (requests > 1 && !what.beta.is_zero())) return std::nullopt;
  const batch_loop batch = loops.empty() ? batch_loop{.extent = 0} : loops[longest];
  for (std::int64_t place = 0; place < requests; ++place) {
    std::array<std::int64_t, 3> offsets{};
    std::int64_t rest = place;
    for (std::size_t i = loops.size(); i-- > 0;) {
      if (i == longest) continue;
      for (std::size_t k = 0; k < 3; ++k)
        offsets[k] += rest % loops[i].extent * loops[i].strides[k];
      rest /= loops[i].extent;
    }
    if (!add(matrices(a, offsets[0], batch.extent, batch.strides[0]),
             matrices(b, offsets[1], batch.extent, batch.strides[1]),
             matrices(d, offsets[2], batch.extent, batch.strides[2])))
      return std::nullopt;
  }
  return made;
}

}  // namespace troupe::dnn
