#pragma once

#include <cstdint>

/// Options of a matrix product with an epilogue.
namespace troupe::blaslt {

/// The last step of a product before it is stored, in the same pass. With x = alpha · op_a(a) ·
/// op_b(b) + beta · c, element by element:
///
/// relu(x) = max(x, 0), gelu(x) = x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))).
///
/// `bias` adds `bias` to x first, along d's last extent. `aux` also stores the input of the
/// backward pass: relu the signs of x as bits, gelu x itself. `drelu` and `dgelu` are that backward
/// pass: they read `aux` and multiply x by the derivative there. `bgrad` also sums the results over
/// all rows, which is the gradient of the bias. `bgrad_a` and `bgrad_b` sum an operand over k.
enum class epilogue : std::uint8_t {
  none,
  relu,
  gelu,
  bias,
  relu_bias,
  gelu_bias,
  relu_aux,
  gelu_aux,
  relu_aux_bias,
  gelu_aux_bias,
  drelu,
  dgelu,
  drelu_bgrad,
  dgelu_bgrad,
  bgrad_a,
  bgrad_b,
};

/// The part of an fp8 operand that one scale factor applies to.
enum class scaling : std::uint8_t {
  tensor,         ///< the whole operand: one factor
  outer_vector,   ///< a row of a, a column of b: [m] and [n]
  block_128,      ///< 128 consecutive k: [m, ⌈k/128⌉] and [⌈k/128⌉, n], m and n contiguous
  block_128x128,  ///< 128 by 128: [⌈m/128⌉, ⌈k/128⌉] and [⌈k/128⌉, ⌈n/128⌉], k contiguous
};

/// How the kernel is chosen, once for all requests of one kind: the library's first proposal, or
/// the fastest of its first `candidates` proposals, measured.
enum class tuning : std::uint8_t { heuristic, timed };

}  // namespace troupe::blaslt
