#pragma once

#include <troupe/blaslt/modes.hpp>
#include <troupe/device/world.hpp>

#include <vector>

namespace tensor_parallel {

/// One tensor of each rank.
using on_ranks = std::vector<troupe::any_tensor>;

/// y = f(x · wᵀ + b), of which each rank computes a part of the columns: it has the rows of w and
/// the elements of b that make them. All ranks have x; the result stays cut. Feeds a `row_linear`
/// without a word between the ranks.
class column_linear {
 public:
  /// w [out, in] and b [out] are on rank 0; out is a multiple of the number of ranks.
  column_linear(const troupe::world& all, const troupe::any_tensor& w, const troupe::any_tensor& b,
                troupe::blaslt::epilogue f = troupe::blaslt::epilogue::gelu_bias);
  /// x [rows, in] → [rows, out / ranks]
  [[nodiscard]] on_ranks operator()(const on_ranks& x) const;

 private:
  troupe::world world_;
  troupe::blaslt::epilogue f_;
  on_ranks w_, b_;
};

/// y = x · w + b, where each rank has a part of x's columns and the rows of w for them. It computes
/// a part of each sum; one all_reduce adds the parts, so that all ranks have y.
class row_linear {
 public:
  /// w [in, out] and b [out] are on rank 0; in is a multiple of the number of ranks.
  row_linear(const troupe::world& all, const troupe::any_tensor& w, troupe::any_tensor b);
  /// x [rows, in / ranks] → [rows, out]
  [[nodiscard]] on_ranks operator()(const on_ranks& x) const;

 private:
  troupe::world world_;
  on_ranks w_;
  troupe::any_tensor b_;
};

}  // namespace tensor_parallel
