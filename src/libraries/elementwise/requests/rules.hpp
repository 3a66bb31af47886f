#pragma once

#include <troupe/request/argument_checks.hpp>
#include <troupe/request/tensor_form.hpp>

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace troupe::elementwise {

struct map;
struct rows;
struct reduce;

/// The rules of `map`, `rows` and `reduce` for their tensors and functions together.
void check_request(argument_checks& check, const map& r);
void check_request(argument_checks& check, const rows& r);
void check_request(argument_checks& check, const reduce& r);

/// The outputs that these get if none are given: as large as all inputs together, with extent 1
/// along the axes where the function gives one value for a row.
result<std::vector<tensor_form>> forms_of_outputs(const map& r);
result<std::vector<tensor_form>> forms_of_outputs(const rows& r);
result<std::vector<tensor_form>> forms_of_outputs(const reduce& r);

// The rules of named operations for their operands. ---------------------------------------------

/// `axis` is a dimension of a tensor of that rank; a negative one counts from the last.
void check_axis(argument_checks& check, std::int64_t axis, int rank);
/// `t` can be broadcast to `y`.
void check_broadcast(argument_checks& check, const operand& t, const operand& y);

inline constexpr std::initializer_list<dtype> norm_types = {dtype::f64, dtype::f32, dtype::f16,
                                                            dtype::bf16};
inline constexpr std::initializer_list<dtype> float_types = {dtype::f64,  dtype::f32,  dtype::f16,
                                                             dtype::bf16, dtype::e4m3, dtype::e5m2};

}  // namespace troupe::elementwise
