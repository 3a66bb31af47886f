#include "linear.hpp"

#include <troupe/blaslt/matmul.hpp>
#include <troupe/collective.hpp>

#include <cstddef>
#include <utility>

namespace tensor_parallel {

using troupe::any_tensor;
using troupe::blaslt::epilogue;
using troupe::blaslt::matmul;

namespace {

// Rank r gets the r-th of equal parts of `whole`, which is cut along its first dimension.
on_ranks scatter(const troupe::world& all, const any_tensor& whole) {
  std::vector<std::int64_t> extents(whole.extents().begin(), whole.extents().end());
  extents[0] /= std::int64_t(all.size());
  on_ranks x(all.size());
  x[0] = whole;
  on_ranks y = all.allocate(whole.type(), troupe::shape(extents)).value();
  all.tell(troupe::collective::scatter{.x = x, .y = y}).value();
  return y;
}

}  // namespace

column_linear::column_linear(const troupe::world& all, const any_tensor& w, const any_tensor& b,
                             epilogue f)
    : world_(all), f_(f), w_(scatter(all, w)), b_(scatter(all, b)) {}

on_ranks column_linear::operator()(const on_ranks& x) const {
  on_ranks y;
  for (std::size_t rank = 0; rank < world_.size(); ++rank) {
    const troupe::device gpu = world_.rank(rank);
    y.push_back(
        gpu.compute(
               matmul{.a = x[rank], .b = w_[rank].transpose(), .epilogue = f_, .bias = b_[rank]})
            ->d);
  }
  return y;
}

row_linear::row_linear(const troupe::world& all, const any_tensor& w, any_tensor b)
    : world_(all), w_(scatter(all, w)), b_(std::move(b)) {}

on_ranks row_linear::operator()(const on_ranks& x) const {
  on_ranks parts;
  for (std::size_t rank = 0; rank < world_.size(); ++rank) {
    const troupe::device gpu = world_.rank(rank);
    matmul part{.a = x[rank], .b = w_[rank]};
    if (rank == 0) {
      part.epilogue = epilogue::bias;
      part.bias = b_;
    }
    parts.push_back(gpu.compute(std::move(part))->d);
  }
  world_.tell(troupe::collective::all_reduce{.x = parts, .y = parts}).value();
  return parts;
}

}  // namespace tensor_parallel
