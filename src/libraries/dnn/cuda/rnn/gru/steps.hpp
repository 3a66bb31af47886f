#pragma once

#include "libraries/dnn/cuda/elements.hpp"

#include <troupe/base/result.hpp>

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

/// The elementwise parts of a GRU whose reset gate multiplies the state before its weights do:
///
///   r, z = σ(W x + b + R h);  q = r · h;  n = tanh(W x + b + R q);  h = (1 − z) · n + z · h
///
/// Between them are products of matrices. A host compiler accepts the functions, too.
namespace troupe::cuda::rnn::gru {

/// Which rows of arrays [t, b, …], in the order of the request's sequences, belong to a step.
struct step_rows {
  std::int64_t first = 0;
  std::int64_t each = 1;  ///< from one sequence to the next

  [[nodiscard]] KERNEL_FUNCTION std::int64_t of(std::int64_t sequence) const {
    return first + sequence * each;
  }
};

/// One step of one layer and direction. Null records are not kept.
struct step {
  std::int64_t number = 0;  ///< t
  std::int64_t batch = 0;
  std::int64_t hidden = 0;
  step_rows rows{};
  const std::int32_t* lengths = nullptr;  ///< null: every sequence has every step
  dtype type{};
  // [t, b, …], of `type`
  std::byte* gates = nullptr;   ///< r, z, n; backward: the gradients of their sums
  std::byte* before = nullptr;  ///< the states before the steps
  std::byte* q = nullptr;       ///< in inference [b, hidden]
  step_rows q_rows{};
  // Forward.
  const std::byte* b_x = nullptr;
  const std::byte* b_h = nullptr;
  std::byte* sums = nullptr;   ///< [t, b, 3 · hidden], in the type of the arithmetic
  std::byte* state = nullptr;  ///< [b, hidden], of `type`
  // y, or its gradient: [t, b, width] of `type`, from this direction's columns on
  std::byte* y = nullptr;
  std::int64_t width = 0;
  // Backward, [b, hidden] in the type of the arithmetic.
  std::byte* dh = nullptr;
  std::byte* dq = nullptr;

  [[nodiscard]] KERNEL_FUNCTION bool has(std::int64_t sequence) const {
    return lengths == nullptr || number < lengths[sequence];
  }
};

/// One element of a step: its places in the arrays.
struct element_of_step {
  std::int64_t sequence, unit, gates, state, before, q, y;

  KERNEL_FUNCTION element_of_step(const step& s, std::int64_t number)
      : sequence(number / s.hidden),
        unit(number % s.hidden),
        gates(s.rows.of(sequence) * 3 * s.hidden + unit),
        state(number),
        before(s.rows.of(sequence) * s.hidden + unit),
        q(s.q_rows.of(sequence) * s.hidden + unit),
        y(s.rows.of(sequence) * s.width + unit) {}
};

template <class Real>
[[nodiscard]] KERNEL_FUNCTION Real sigmoid(Real a) {
  return 1 / (1 + std::exp(-a));
}
/// The sum of a gate with its biases.
template <class Real>
[[nodiscard]] KERNEL_FUNCTION Real sum_of(const step& s, const element_of_step& e, int gate) {
  const std::int64_t bias = gate * s.hidden + e.unit;
  return reinterpret_cast<const Real*>(s.sums)[e.gates + gate * s.hidden] +
         element<Real>(s.b_x, s.type, bias) + element<Real>(s.b_h, s.type, bias);
}

/// r and z; q, whose product is to be added to the sum of n.
template <class Real>
KERNEL_FUNCTION void reset_state(const step& s, std::int64_t number) {
  const element_of_step e(s, number);
  const bool has = s.has(e.sequence);
  const Real h = element<Real>(s.state, s.type, e.state);
  const Real r = has ? sigmoid(sum_of<Real>(s, e, 0)) : Real{0};
  const Real z = has ? sigmoid(sum_of<Real>(s, e, 1)) : Real{0};
  reinterpret_cast<Real*>(s.sums)[e.gates + s.hidden] = z;
  store_element<Real>(s.q, s.type, e.q, has ? r * h : Real{0});
  if (s.gates == nullptr) return;
  store_element<Real>(s.gates, s.type, e.gates, r);
  store_element<Real>(s.gates, s.type, e.gates + s.hidden, z);
  store_element<Real>(s.before, s.type, e.before, has ? h : Real{0});
}

/// n, and the state after the step.
template <class Real>
KERNEL_FUNCTION void update_state(const step& s, std::int64_t number) {
  const element_of_step e(s, number);
  const bool has = s.has(e.sequence);
  const Real n = has ? std::tanh(sum_of<Real>(s, e, 2)) : Real{0};
  if (s.gates != nullptr) store_element<Real>(s.gates, s.type, e.gates + 2 * s.hidden, n);
  if (!has) return store_element<Real>(s.y, s.type, e.y, Real{0});
  const Real z = reinterpret_cast<const Real*>(s.sums)[e.gates + s.hidden];
  const Real h = (1 - z) * n + z * element<Real>(s.state, s.type, e.state);
  store_element<Real>(s.state, s.type, e.state, h);
  store_element<Real>(s.y, s.type, e.y, h);
}

/// The gradients of the sums of z and n, and the part of dh that reaches the state directly.
template <class Real>
KERNEL_FUNCTION void update_gradients(const step& s, std::int64_t number) {
  const element_of_step e(s, number);
  if (!s.has(e.sequence)) {
    for (int gate = 0; gate < 3; ++gate)
      store_element<Real>(s.gates, s.type, e.gates + gate * s.hidden, Real{0});
    return;
  }
  Real& dh = reinterpret_cast<Real*>(s.dh)[e.state];
  const Real all = dh + element<Real>(s.y, s.type, e.y);
  const Real z = element<Real>(s.gates, s.type, e.gates + s.hidden);
  const Real n = element<Real>(s.gates, s.type, e.gates + 2 * s.hidden);
  const Real h = element<Real>(s.before, s.type, e.before);
  store_element<Real>(s.gates, s.type, e.gates + s.hidden, all * (h - n) * z * (1 - z));
  store_element<Real>(s.gates, s.type, e.gates + 2 * s.hidden, all * (1 - z) * (1 - n * n));
  dh = all * z;
}

/// From dq, the gradient of r's sum and the part of dh that reaches the state through q.
template <class Real>
KERNEL_FUNCTION void reset_gradients(const step& s, std::int64_t number) {
  const element_of_step e(s, number);
  if (!s.has(e.sequence)) return;
  const Real dq = reinterpret_cast<const Real*>(s.dq)[e.state];
  const Real r = element<Real>(s.gates, s.type, e.gates);
  const Real h = element<Real>(s.before, s.type, e.before);
  store_element<Real>(s.gates, s.type, e.gates, dq * h * r * (1 - r));
  reinterpret_cast<Real*>(s.dh)[e.state] += dq * r;
}

/// Copies numbers, or stores `value` where `from` is null. With lengths, rows [t, b, width] of
/// steps that a sequence does not have become 0.
struct copied_rows {
  std::int64_t count = 0;
  const std::byte* from = nullptr;
  dtype from_type{};
  std::byte* to = nullptr;
  dtype to_type{};
  double value = 0;
  const std::int32_t* lengths = nullptr;
  std::int64_t width = 1;
  std::int64_t time_step = 1, batch_step = 1, batch = 1, steps = 1;  ///< in rows
};
template <class Real>
KERNEL_FUNCTION void copy_number(const copied_rows& c, std::int64_t number) {
  Real value = static_cast<Real>(c.value);
  if (c.from != nullptr) value = element<Real>(c.from, c.from_type, number);
  if (c.lengths != nullptr) {
    const std::int64_t row = number / c.width;
    if (row / c.time_step % c.steps >= c.lengths[row / c.batch_step % c.batch]) value = 0;
  }
  store_element<Real>(c.to, c.to_type, number, value);
}

enum class part : std::uint8_t { reset_state, update_state, update_gradients, reset_gradients };

/// Enqueues a part of a step for all its elements.
[[nodiscard]] result<void> enqueue(part what, const step& s, cudaStream_t stream);
[[nodiscard]] result<void> enqueue(const copied_rows& c, cudaStream_t stream);

}  // namespace troupe::cuda::rnn::gru
