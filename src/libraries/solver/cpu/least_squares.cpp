#include "libraries/solver/cpu/lapack.hpp"
#include "libraries/solver/cpu/outcomes.hpp"
#include "libraries/solver/cpu/scratch.hpp"

#include <troupe/plugin/static_registration.hpp>
#include <troupe/solver/least_squares.hpp>

#include <algorithm>
#include <limits>

namespace troupe::cpu {
namespace {

template <class T>
bool is_zero(const matrix_view<T>& a) {
  return std::all_of(a.at, a.at + a.rows * a.columns, [](const T& v) { return v == T{}; });
}

/// Least squares of one shape: LAPACK's workspace, computed once.
template <class T>
class least_squares {
 public:
  least_squares(const solver::gels& r, scratch& memory)
      : r_(r),
        memory_(memory),
        like_(matrix_of<T>(r.a, 0)),
        nrhs_(r.b.extent(r.b.rank() - 1)),
        long_side_(std::max({like_.rows, like_.columns, std::int64_t{1}})),
        short_side_(std::min(like_.rows, like_.columns)),
        a_(memory.add<T>(like_.rows * like_.columns)),
        b_(memory.add<T>(long_side_ * nrhs_)),
        values_(memory.add<real_t<T>>(short_side_)) {
    T best{};
    real_t<T> reals{};
    blasint integers = 0;
    blasint rank = 0;
    lwork_ = -1;
    if (by_values()) {
      (void)values(nullptr, nullptr, nullptr, &rank, &best, &reals, &integers);
    } else {
      (void)by_qr(nullptr, nullptr, &best);
    }
    lwork_ = std::max<std::int64_t>(enough(best), 1);
    space_ = memory.add<T>(lwork_);
    reals_ = memory.add<real_t<T>>(complex_v<T> ? enough(reals) : 0);
    integers_ = memory.add<blasint>(integers + 1);
  }

  void run(std::int64_t i, outcomes& ended) {
    const auto a = column_major(memory_[a_], like_.rows, like_.columns);
    const auto b = column_major(memory_[b_], long_side_, nrhs_);
    const auto x = matrix_of<T>(r_.x, i);
    copy_matrix(matrix_of<T>(r_.a, i), a);
    auto top = b;
    top.rows = like_.rows;
    copy_matrix(matrix_of<T>(r_.b, i), top);
    blasint rank = 0;
    blasint info = 0;
    if (short_side_ == 0 || nrhs_ == 0) {
      std::fill_n(b.at, long_side_ * nrhs_, T{});
      if (nrhs_ == 0 && short_side_ > 0 && by_values() && is_finite(a)) {
        info = values(a.at, b.at, memory_[values_], &rank, memory_[space_], memory_[reals_],
                      memory_[integers_]);
      }
      ended.note(i, info, solver::off_diagonals);
    } else if (!is_finite(a)) {
      ended.note_not_finite(i);
    } else if (!by_values()) {
      // LAPACK takes a matrix of zeros, which has no rank, for one that it has solved.
      info = is_zero(a) ? 1 : by_qr(a.at, b.at, memory_[space_]);
      ended.note(i, info, solver::rank_deficient);
    } else {
      info = values(a.at, b.at, memory_[values_], &rank, memory_[space_], memory_[reals_],
                    memory_[integers_]);
      ended.note(i, info, solver::off_diagonals);
    }
    if (!r_.rank.null()) r_.rank.data<std::int32_t>()[i] = static_cast<std::int32_t>(rank);
    auto solution = b;
    solution.rows = like_.columns;
    copy_matrix(solution, x);
  }

 private:
  [[nodiscard]] bool by_values() const { return r_.driver == solver::least_squares_driver::svd; }
  blasint by_qr(T* a, T* b, T* work) const {
    const char trans = 'N';
    const std::int64_t lda = std::max<std::int64_t>(like_.rows, 1);
    blasint info = 0;
    solver_lapack<T>::gels(&trans, &like_.rows, &like_.columns, &nrhs_, a, &lda, b, &long_side_,
                           work, &lwork_, &info, 1);
    return info;
  }
  blasint values(T* a, T* b, real_t<T>* s, blasint* rank, T* work, real_t<T>* reals,
                 blasint* integers) const {
    const std::int64_t lda = std::max<std::int64_t>(like_.rows, 1);
    const auto rcond = static_cast<real_t<T>>(
        r_.rcond >= 0 ? r_.rcond
                      : static_cast<double>(long_side_) *
                            static_cast<double>(std::numeric_limits<real_t<T>>::epsilon()));
    blasint info = 0;
    if constexpr (complex_v<T>) {
      solver_lapack<T>::gelsd(&like_.rows, &like_.columns, &nrhs_, a, &lda, b, &long_side_, s,
                              &rcond, rank, work, &lwork_, reals, integers, &info);
    } else {
      solver_lapack<T>::gelsd(&like_.rows, &like_.columns, &nrhs_, a, &lda, b, &long_side_, s,
                              &rcond, rank, work, &lwork_, integers, &info);
    }
    return info;
  }

  const solver::gels& r_;
  scratch& memory_;
  matrix_view<T> like_;
  std::int64_t nrhs_;
  std::int64_t long_side_;
  std::int64_t short_side_;
  piece<T> a_;
  piece<T> b_;
  piece<real_t<T>> values_;
  piece<T> space_;
  piece<real_t<T>> reals_;
  piece<blasint> integers_;
  blasint lwork_ = 0;
};

template <class T>
result<void> gels(const solver::gels& r, lane_context& lane) {
  const std::int64_t count = batch_count(r.a);
  outcomes ended(r.a, r.info);
  if (count == 0) return {};
  scratch memory;
  least_squares<T> each(r, memory);
  if (auto taken = memory.take(lane); !taken) return taken;
  for (std::int64_t i = 0; i < count; ++i)
    each.run(i, ended);
  return ended.verdict();
}

result<void> run_gels(const solver::gels& r, lane_context& lane) {
  return with_classic_type(r.a.type(), [&]<class T>(T) { return gels<T>(r, lane); });
}

const plugin_operations least_squares_operations([](operation_table& table) {
  table.add<solver::gels>(run_gels, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
