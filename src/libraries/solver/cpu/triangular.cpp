#include "libraries/solver/cpu/lapack.hpp"
#include "libraries/solver/cpu/outcomes.hpp"
#include "libraries/solver/cpu/scratch.hpp"

#include <troupe/plugin/static_registration.hpp>
#include <troupe/solver/triangular.hpp>

namespace troupe::cpu {
namespace {

template <class T>
result<void> trtri(const solver::trtri& r, lane_context& lane) {
  const std::int64_t count = batch_count(r.a);
  outcomes ended(r.a, r.info);
  if (count == 0) return {};
  scratch memory;
  const auto view = [&](std::int64_t i) {
    return oriented<T>(r.uplo, matrix_of<T>(r.a, i), matrix_of<T>(r.inverse, i));
  };
  const column_major_place<T> place(memory, view(0).to);
  if (auto taken = memory.take(lane); !taken) return taken;
  const bool unit = r.diag == blas::diag::unit;
  for (std::int64_t i = 0; i < count; ++i) {
    const oriented<T> one = view(i);
    const auto work = place.of(memory, one.to);
    const bool in_place = one.from.at == one.to.at;
    if (one.from.at != work.at) copy_triangle(one.uplo, one.from, work);
    const char side = letter(one.uplo);
    const char diagonal = unit ? 'U' : 'N';
    const std::int64_t ld = work.ld();
    blasint info = 0;
    if (work.rows > 0)
      solver_lapack<T>::trtri(&side, &diagonal, &work.rows, work.at, &ld, &info, 1, 1);
    if (place.is_packed()) copy_triangle(one.uplo, work, one.to);
    if (!in_place) {
      clear_beside(one.uplo, one.to);
      for (std::int64_t j = 0; unit && j < one.to.rows; ++j)
        one.to(j, j) = T(1);
    }
    ended.note(i, info, solver::zero_diagonal);
  }
  return ended.verdict();
}

result<void> run_trtri(const solver::trtri& r, lane_context& lane) {
  return with_classic_type(r.a.type(), [&]<class T>(T) { return trtri<T>(r, lane); });
}

const plugin_operations triangular_operations([](operation_table& table) {
  table.add<solver::trtri>(run_trtri, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
