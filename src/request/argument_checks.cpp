#include "request/aliasing.hpp"
#include "request/matrix_layout.hpp"
#include "request/reach.hpp"

#include <troupe/request/argument_checks.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace troupe {
namespace {

std::string extents_of(const any_tensor& t) {
  return fmt::format("[{}]", fmt::join(t.extents(), ", "));
}

std::string strides_of(const any_tensor& t) {
  return fmt::format("{} with strides [{}]", extents_of(t), fmt::join(t.strides(), ", "));
}

constexpr std::int64_t longest_reach = std::int64_t{1} << 62;

/// `sum` + `a` · `b`, or false if that exceeds 62 bits.
bool add_product(std::int64_t& sum, std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(sum, product, &sum) &&
         sum <= longest_reach;
}

/// Whether the bytes that a view without negative extents and strides reaches fit in 62 bits.
/// Extents of zero count as one, so that no order of multiplication overflows later.
bool reach_fits(const any_tensor& t) {
  if (surely_fits(t)) return true;
  std::int64_t last = 0;
  std::int64_t count = 1;
  bool fits = true;
  for (int d = 0; d < t.rank(); ++d) {
    const std::int64_t extent = std::max<std::int64_t>(t.extent(d), 1);
    std::int64_t product = 0;
    fits =
        fits && add_product(last, t.stride(d), extent - 1) && add_product(product, count, extent);
    count = product;
  }
  std::int64_t bytes = 0;
  return fits && add_product(bytes, last + 1, size_of(t.type())) && count <= longest_reach / 16;
}

}  // namespace

void argument_checks::fail(errc code, std::string message) {
  error_.emplace(error{.code = code, .message = std::move(message)});
}

argument_checks& argument_checks::tensor(const operand& t, int rank) {
  if (error_) return *this;
  const any_tensor& view = t.view;
  if (rank >= 0 && view.rank() != rank && !view.null()) {
    fail(errc::shape_mismatch,
         rank == 1 ? fmt::format("{} must be a vector (rank 1); it is {}", t.name, extents_of(view))
                   : fmt::format("{} must have rank {}; it is {}", t.name, rank, extents_of(view)));
    return *this;
  }
  for (int d = 0; d < view.rank(); ++d) {
    if (view.extent(d) < 0) {
      fail(errc::invalid_argument,
           fmt::format("{} has a negative extent: {}", t.name, extents_of(view)));
      return *this;
    }
    if (view.stride(d) < 0) {
      fail(errc::layout_unsupported,
           fmt::format("{} has a negative stride: {}", t.name, strides_of(view)));
      return *this;
    }
  }
  if (!reach_fits(view)) {
    fail(errc::size_overflow,
         fmt::format("{} reaches further than 63 bits: {}", t.name, strides_of(view)));
  } else if (view.null() && (view.rank() != std::max(rank, 1) || !view.empty())) {
    fail(errc::invalid_argument, fmt::format("{} is not given", t.name));
  }
  return *this;
}

argument_checks& argument_checks::one_element(const operand& t) {
  tensor(t, 1);
  if (!error_ && t.view.extent(0) != 1) {
    fail(errc::shape_mismatch,
         fmt::format("{} must have one element, it is {}", t.name, extents_of(t.view)));
  }
  return *this;
}

argument_checks& argument_checks::matrix(const operand& t, int rank) {
  tensor(t, rank);
  if (!error_ && blas::layout_of(t.view).ld == 0) {
    fail(errc::layout_unsupported,
         fmt::format(
             "{} must be a row-major or column-major matrix: stride 1 in one of its last two "
             "dimensions and, in the other, a stride of at least that dimension's extent; "
             "it is {}",
             t.name, strides_of(t.view)));
  }
  return *this;
}

argument_checks& argument_checks::same_order(const operand& t, const operand& as) {
  if (error_) return *this;
  if (blas::common_order({&t.view, &as.view})) return *this;
  fail(errc::layout_unsupported,
       fmt::format("{} and {} must both be row-major or both column-major: {} is {}, {} is {}",
                   t.name, as.name, t.name, strides_of(t.view), as.name, strides_of(as.view)));
  return *this;
}

argument_checks& argument_checks::written(const operand& t) {
  if (!error_ && !t.view.injective()) {
    fail(errc::aliasing,
         fmt::format(
             "{} is written, so no two of its indices may refer to the same element; it is {}",
             t.name, strides_of(t.view)));
  }
  return *this;
}

argument_checks& argument_checks::type(const operand& t, std::initializer_list<dtype> allowed) {
  if (error_ || std::ranges::find(allowed, t.view.type()) != allowed.end()) return *this;
  std::string names;
  for (const dtype one : allowed) {
    if (!names.empty()) names += ", ";
    names += to_string(one);
  }
  fail(errc::type_mismatch,
       fmt::format("{} is {} but must be one of {}", t.name, to_string(t.view.type()), names));
  return *this;
}

argument_checks& argument_checks::same_type(const operand& t, const operand& as) {
  if (!error_ && t.view.type() != as.view.type()) {
    fail(errc::type_mismatch, fmt::format("{} is {} but {} is {}", t.name, to_string(t.view.type()),
                                          as.name, to_string(as.view.type())));
  }
  return *this;
}

argument_checks& argument_checks::factor(std::string_view name, const scalar& value, dtype type) {
  if (error_ || is_complex(type)) return *this;
  if (value.has_imaginary()) {
    fail(errc::invalid_argument,
         fmt::format("{} has an imaginary part of {} but the type is {}", name,
                     value.as<std::complex<double>>().imag(), to_string(type)));
  }
  return *this;
}

argument_checks& argument_checks::real_factor(std::string_view name, const scalar& value) {
  if (!error_ && value.has_imaginary()) {
    fail(errc::invalid_argument, fmt::format("{} must be real, its imaginary part is {}", name,
                                             value.as<std::complex<double>>().imag()));
  }
  return *this;
}

argument_checks& argument_checks::extents(const operand& t,
                                          std::initializer_list<std::int64_t> expected,
                                          std::string_view what) {
  if (error_ || std::ranges::equal(t.view.extents(), expected)) return *this;
  fail(errc::shape_mismatch, fmt::format("{} is {} but {} is [{}]", t.name, extents_of(t.view),
                                         what, fmt::join(expected, ", ")));
  return *this;
}

argument_checks& argument_checks::apart(const operand& t, const operand& read) {
  if (!error_ && share_elements(t.view, read.view)) {
    fail(errc::aliasing,
         fmt::format("{} is written and must not overlap {}; {} is {}, {} is {}", t.name, read.name,
                     t.name, strides_of(t.view), read.name, strides_of(read.view)));
  }
  return *this;
}

argument_checks& argument_checks::apart_or_same(const operand& t, const operand& read) {
  return t.view.same_view(read.view) ? *this : apart(t, read);
}

}  // namespace troupe
