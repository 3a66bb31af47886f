// region: description
#include "running_sum.hpp"

namespace worked_example {

void running_sum::describe(troupe::field_visitor& fields) {
  fields.reads("x", x);
  fields.writes("y", y);
}

troupe::result<void> running_sum::validate() const {
  using troupe::errc;
  using troupe::error;
  if (x.rank() != 1 || y.rank() != 1 || x.extent(0) != y.extent(0)) {
    return error{.code = errc::shape_mismatch,
                 .message = "x is " + x.to_string() + " but y is " + y.to_string() +
                            "; both are vectors of one length"};
  }
  if (x.type() != troupe::dtype::f32 || y.type() != troupe::dtype::f32) {
    return error{.code = errc::type_mismatch, .message = "x and y hold f32"};
  }
  if (x.overlaps(y)) {
    return error{.code = errc::aliasing, .message = "y is written while x is read"};
  }
  if (!y.injective()) {
    return error{.code = errc::layout_unsupported, .message = "two places of y are one element"};
  }
  return {};
}
// endregion: description

// region: executor
namespace {

troupe::result<double> run(const running_sum& request, troupe::lane_context&) {
  const float* x = request.x.data<float>();
  float* y = request.y.data<float>();
  double sum = 0.0;
  for (std::int64_t i = 0; i < request.x.extent(0); ++i) {
    sum += static_cast<double>(x[i * request.x.stride(0)]);
    y[i * request.y.stride(0)] = static_cast<float>(sum);
  }
  return sum;
}

}  // namespace

void add_operations(troupe::operation_table& operations) {
  // Takes as long as its vectors are: small ones are run without a hand-over to another thread.
  operations.add(&run, troupe::effort::by_size);
}

}  // namespace worked_example
// endregion: executor
