#include "libraries/blas/cuda/product/product_lists.hpp"

#include "backend/cuda/context/part_lane.hpp"
#include "base/try.hpp"
#include "libraries/blas/cuda/kernels/addresses.hpp"
#include "libraries/blas/cuda/limits.hpp"
#include "libraries/blas/cuda/product/product.hpp"

#include <cstddef>
#include <vector>

namespace troupe::cuda {
namespace {

constexpr routine gemm_batched_ex{&cublasGemmBatchedEx_64, "cublasGemmBatchedEx_64"};
constexpr routine gemm_grouped_batched_ex{&cublasGemmGroupedBatchedEx_64,
                                          "cublasGemmGroupedBatchedEx_64"};

/// Runs `each(i)`, a product, for every i.
template <class Each>
result<void> one_by_one(std::size_t count, lane& where, Each each) {
  call_frame c(where);
  for (std::size_t i = 0; i < count; ++i)
    c.share(workspace_bytes(each(i)));
  TRY(c.begin());
  part_lane products(where, {c.shared(), c.shared_bytes().device});
  for (std::size_t i = 0; i < count; ++i)
    TRY(multiply(each(i), products));
  return {};
}

/// Tensor cores may be used for every type but f64, and f32 in strict mode.
bool aligned_for_lists(const product& p, const column_major_product& as) noexcept {
  const dtype type = p.a.type();
  if (type == dtype::i8 && !aligned_for_i8(as)) return false;
  const bool tensor_cores = size_of(type) <= 2 || p.math != blas::math_mode::strict;
  if (!tensor_cores) return true;
  return limits::cublas::accepts_in_list({as.a.first, as.b.first, as.c});
}

/// The addresses of products, and the three lists of them that a batched call reads.
class address_lists {
 public:
  void add(const column_major_product& p) {
    a_.push_back(p.a.first);
    b_.push_back(p.b.first);
    c_.push_back(p.c);
  }

  /// Enqueues writing the lists and runs `call` with their places in device memory.
  template <class Call>
  [[nodiscard]] result<void> write(lane& where, Call call) const {
    const std::size_t count = c_.size();
    std::vector<const void*> all(a_);
    all.insert(all.end(), b_.begin(), b_.end());
    all.insert(all.end(), c_.begin(), c_.end());
    call_frame c(where);
    const auto lists = c.array<void*>(all.size());
    TRY(c.begin());
    TRY(write_addresses(where, lists, all));
    return call(lists.get(), lists + count, lists + 2 * count);
  }

 private:
  std::vector<const void*> a_, b_, c_;
};

/// The arguments of a grouped call: a group is a run of problems that differ in addresses only.
/// `Factor` is the type in which cuBLAS takes alpha and beta.
template <class Factor>
struct groups {
  struct shape {
    cublasOperation_t op_a, op_b;
    std::int64_t m, n, k, lda, ldb, ldc;
    Factor alpha, beta;
    bool operator==(const shape&) const = default;
  };
  std::vector<shape> shapes;
  std::vector<std::int64_t> sizes;
  address_lists addresses;

  void add(const product& p, const column_major_product& as) {
    const shape one{
        as.a.transposition,   as.b.transposition, as.m, as.n, as.k, as.a.ld, as.b.ld, as.ldc,
        p.alpha.as<Factor>(), p.beta.as<Factor>()};
    if (shapes.empty() || !(shapes.back() == one)) {
      shapes.push_back(one);
      sizes.push_back(0);
    }
    ++sizes.back();
    addresses.add(as);
  }

  template <class Member>
  [[nodiscard]] std::vector<Member> all(Member shape::* member) const {
    std::vector<Member> values;
    values.reserve(shapes.size());
    for (const shape& one : shapes)
      values.push_back(one.*member);
    return values;
  }

  [[nodiscard]] result<void> call(const product_types& types, lane& where) const {
    const cublasHandle_t handle = TRY(cublas_of(where));
    return addresses.write(where, [&](void** a, void** b, void** c) {
      // The lists of members live until the call returns.
      return gemm_grouped_batched_ex(
          handle, all(&shape::op_a).data(), all(&shape::op_b).data(), all(&shape::m).data(),
          all(&shape::n).data(), all(&shape::k).data(),
          static_cast<const void*>(all(&shape::alpha).data()), a, types.cuda_in(),
          all(&shape::lda).data(), b, types.cuda_in(), all(&shape::ldb).data(),
          static_cast<const void*>(all(&shape::beta).data()), c, types.cuda_out(),
          all(&shape::ldc).data(), static_cast<std::int64_t>(shapes.size()), sizes.data(),
          types.compute);
    });
  }
};

/// Whether cuBLAS has a call for groups of this type. It refuses groups that it does not take with
/// NOT_SUPPORTED, before anything is enqueued. Source: cuBLAS documentation,
/// cublasGemmGroupedBatchedEx.
bool has_groups(dtype type) noexcept { return !is_complex(type) && type != dtype::i8; }

/// As one call where possible; an error with `unsupported` where it is not.
template <class Factor, class Each>
result<void> multiply_together(std::size_t count, lane& where, Each each) {
  groups<Factor> grouped;
  std::vector<std::size_t> without_terms;
  for (std::size_t i = 0; i < count; ++i) {
    const product p = each(i);
    if (p.c.empty()) continue;
    const column_major_product as = column_major(p);
    if (as.k == 0 || p.alpha.template as<Factor>() == Factor{}) {
      without_terms.push_back(i);
      continue;
    }
    if (!aligned_for_lists(p, as)) return error{.code = errc::unsupported};
    grouped.add(p, as);
  }
  if (!grouped.shapes.empty()) TRY(grouped.call(types_of(each(0)), where));
  for (const std::size_t i : without_terms) {
    const product p = each(i);
    TRY(scale(where, p.c, p.beta));
  }
  return {};
}

}  // namespace

result<void> multiply_list(const blas::gemm_batched& r, lane& where) {
  if (r.c.empty() || r.c[0].empty()) return {};
  const auto each = [&](std::size_t i) {
    return product{r.a[i], r.b[i], r.c[i], r.alpha, r.beta, r.op_a, r.op_b, r.math};
  };
  const std::size_t count = r.c.size();
  const product_factor alpha(r.alpha, r.c[0].type());
  const product_factor beta(r.beta, r.c[0].type());
  const column_major_product as = column_major(each(0));
  bool together =
      count > 1 && as.k > 0 && !alpha.is_zero() && !as.a.to_conjugate && !as.b.to_conjugate;
  address_lists addresses;
  for (std::size_t i = 0; i < count && together; ++i) {
    const product p = each(i);
    const column_major_product one = column_major(p);
    together = aligned_for_lists(p, one);
    addresses.add(one);
  }
  if (!together) return one_by_one(count, where, each);
  const cublasHandle_t handle = TRY(cublas_of(where));
  const product_types types = types_of(each(0));
  auto done = addresses.write(where, [&](void** a, void** b, void** c) {
    return gemm_batched_ex(handle, as.a.transposition, as.b.transposition, as.m, as.n, as.k,
                           alpha.address(), a, types.cuda_in(), as.a.ld, b, types.cuda_in(),
                           as.b.ld, beta.address(), c, types.cuda_out(), as.ldc,
                           static_cast<std::int64_t>(count), types.compute, CUBLAS_GEMM_DEFAULT);
  });
  if (!done && done.error().code == errc::unsupported) return one_by_one(count, where, each);
  return done;
}

result<void> multiply_groups(const blas::gemm_grouped& r, lane& where) {
  if (r.c.empty()) return {};
  const scalar one = 1;
  const scalar zero = 0;
  const auto factor_of = [](const std::vector<scalar>& list, std::size_t i,
                            const scalar& otherwise) -> const scalar& {
    return list.empty() ? otherwise : list.size() == 1 ? list[0] : list[i];
  };
  const auto each = [&](std::size_t i) {
    return product{r.a[i], r.b[i], r.c[i], factor_of(r.alpha, i, one), factor_of(r.beta, i, zero),
                   r.op_a, r.op_b, r.math};
  };
  const dtype type = r.a[0].type();
  if (r.c.size() > 1 && has_groups(type)) {
    auto done = type == dtype::f64 ? multiply_together<double>(r.c.size(), where, each)
                                   : multiply_together<float>(r.c.size(), where, each);
    if (done || done.error().code != errc::unsupported) return done;
  }
  return one_by_one(r.c.size(), where, each);
}

}  // namespace troupe::cuda
