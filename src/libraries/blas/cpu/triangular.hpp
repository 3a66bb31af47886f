#pragma once

#include "libraries/blas/cpu/routines.hpp"

namespace troupe::cpu {

/// A triangular matrix beside a general one, in the last two dimensions of their views, for trmm,
/// trsm and its batch. `Routine` takes the arguments of CBLAS xTRMM and xTRSM.
template <class Request, class Routine>
void with_triangle(const Request& r, Routine routine) {
  const int rows = r.b.rank() - 2;
  const auto b = blas::layout_of(r.b);
  const auto a = blas::layout_of(r.a, b.order);
  for_classic_type(r.b.type(), [&]<class T>(T type) {
    const T alpha = r.alpha.template as<T>();
    const auto call = [&](const T* first_a, T* first_b) {
      routine(type)(as_cblas(b.order), as_cblas(r.side), triangle(a.order, b.order, r.uplo),
                    transposition(a.order, b.order, r.op_a), as_cblas(r.diag), r.b.extent(rows),
                    r.b.extent(rows + 1), by(alpha), first_a, a.ld, first_b, b.ld);
    };
    if (rows == 0) return call(r.a.template data<T>(), r.b.template data<T>());
    for (std::int64_t i = 0; i < r.b.extent(0); ++i) {
      call(r.a.template data<T>() + i * r.a.stride(0), r.b.template data<T>() + i * r.b.stride(0));
    }
  });
}

}  // namespace troupe::cpu
