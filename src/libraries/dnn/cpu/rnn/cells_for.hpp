#pragma once

// The loops for the processor that the including source is compiled for. It defines CELLS, the name
// of its set, VECTOR_BYTES and ROWS, what its registers hold of a product. Those of cells are
// written so that the compiler vectorises them.

#include "libraries/dnn/cpu/rnn/cell_functions.hpp"
#include "libraries/dnn/cpu/rnn/cells.hpp"

#include <cstdint>
#include <cstring>

namespace troupe::cpu::rnn {
namespace {

template <class T>
void relu(T* gates, T* h, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    gates[i] = gates[i] > 0 ? gates[i] : gates[i] == gates[i] ? T{0} : gates[i];
    h[i] = gates[i];
  }
}

template <class T>
void tanh_cell(T* gates, T* h, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    gates[i] = hyperbolic(gates[i]);
    h[i] = gates[i];
  }
}

template <class T>
void lstm(T* __restrict gates, const T* __restrict c_before, T* __restrict c, T* __restrict u,
          std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) {
    const T i = sigmoid(gates[k]);
    const T f = sigmoid(gates[n + k]);
    const T g = hyperbolic(gates[2 * n + k]);
    const T o = sigmoid(gates[3 * n + k]);
    gates[k] = i;
    gates[n + k] = f;
    gates[2 * n + k] = g;
    gates[3 * n + k] = o;
    c[k] = f * c_before[k] + i * g;
    u[k] = o * hyperbolic(c[k]);
  }
}

template <class T>
void gru(T* __restrict gates, const T* __restrict q, const T* __restrict h_before, T* __restrict h,
         std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) {
    const T r = sigmoid(gates[k]);
    const T z = sigmoid(gates[n + k]);
    const T fresh = hyperbolic(gates[2 * n + k] + r * q[k]);
    gates[k] = r;
    gates[n + k] = z;
    gates[2 * n + k] = fresh;
    h[k] = (1 - z) * fresh + z * h_before[k];
  }
}

template <class T>
void gru_reset(T* __restrict gates, const T* __restrict h_before, T* __restrict q, std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) {
    gates[k] = sigmoid(gates[k]);
    gates[n + k] = sigmoid(gates[n + k]);
    q[k] = gates[k] * h_before[k];
  }
}

template <class T>
void gru_update(T* __restrict gates, const T* __restrict h_before, T* __restrict h,
                std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) {
    const T z = gates[n + k];
    const T fresh = hyperbolic(gates[2 * n + k]);
    gates[2 * n + k] = fresh;
    h[k] = (1 - z) * fresh + z * h_before[k];
  }
}

template <class T>
void relu_backward(T* __restrict gates, const T* __restrict dh, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    gates[i] = gates[i] > 0 ? dh[i] : T{0};
}

template <class T>
void tanh_backward(T* __restrict gates, const T* __restrict dh, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    gates[i] = dh[i] * (1 - gates[i] * gates[i]);
}

template <class T>
void lstm_backward(T* __restrict gates, const T* __restrict c_before, const T* __restrict c,
                   const T* __restrict du, T* __restrict dc, std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) {
    const T i = gates[k];
    const T f = gates[n + k];
    const T g = gates[2 * n + k];
    const T o = gates[3 * n + k];
    const T flat = hyperbolic(c[k]);
    const T of_c = dc[k] + du[k] * o * (1 - flat * flat);
    gates[k] = of_c * g * i * (1 - i);
    gates[n + k] = of_c * c_before[k] * f * (1 - f);
    gates[2 * n + k] = of_c * i * (1 - g * g);
    gates[3 * n + k] = du[k] * flat * o * (1 - o);
    dc[k] = of_c * f;
  }
}

template <class T>
void gru_backward(T* __restrict gates, T* __restrict q, const T* __restrict h_before,
                  const T* __restrict dh, T* __restrict dh_before, std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) {
    const T r = gates[k];
    const T z = gates[n + k];
    const T fresh = gates[2 * n + k];
    const T of_n = dh[k] * (1 - z) * (1 - fresh * fresh);
    gates[k] = of_n * q[k] * r * (1 - r);
    gates[n + k] = dh[k] * (h_before[k] - fresh) * z * (1 - z);
    gates[2 * n + k] = of_n;
    q[k] = of_n * r;
    dh_before[k] = dh[k] * z;
  }
}

template <class T>
void gru_update_backward(T* __restrict gates, const T* __restrict h_before, const T* __restrict dh,
                         T* __restrict dh_before, std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) {
    const T z = gates[n + k];
    const T fresh = gates[2 * n + k];
    gates[n + k] = dh[k] * (h_before[k] - fresh) * z * (1 - z);
    gates[2 * n + k] = dh[k] * (1 - z) * (1 - fresh * fresh);
    dh_before[k] = dh[k] * z;
  }
}

template <class T>
void gru_reset_backward(T* __restrict gates, const T* __restrict h_before, const T* __restrict dq,
                        T* __restrict dh_before, std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) {
    const T r = gates[k];
    gates[k] = dq[k] * h_before[k] * r * (1 - r);
    dh_before[k] += dq[k] * r;
  }
}

template <class T>
struct vector_of {
  using type [[gnu::vector_size(VECTOR_BYTES)]] = T;
  static constexpr std::int64_t count = VECTOR_BYTES / sizeof(T);
};
template <class T>
constexpr std::int64_t panel = 2 * vector_of<T>::count;

template <class T, int Rows>
void multiply_rows(const T* a, std::int64_t a_step, const T* b, std::int64_t depth,
                   std::int64_t columns, T* c, std::int64_t c_step) {
  using lanes = typename vector_of<T>::type;
  lanes sums[std::size_t{Rows}][2] = {};
  for (std::int64_t k = 0; k < depth; ++k, b += panel<T>) {
    lanes left;
    lanes right;
    std::memcpy(&left, b, sizeof(lanes));
    std::memcpy(&right, b + vector_of<T>::count, sizeof(lanes));
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      sums[r][0] += a[r * a_step + k] * left;
      sums[r][1] += a[r * a_step + k] * right;
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    T* const to = c + r * c_step;
    T own[std::size_t{panel<T>}];
    std::memcpy(own, sums[r], sizeof(own));
    if (columns >= panel<T>) {
      for (std::int64_t j = 0; j < panel<T>; ++j)
        to[j] += own[j];
    } else {
      for (std::int64_t j = 0; j < columns; ++j)
        to[j] += own[j];
    }
  }
}

template <class T, int Rows>
void multiply_rest(const T* a, std::int64_t a_step, std::int64_t rows, const T* b,
                   std::int64_t depth, std::int64_t columns, T* c, std::int64_t c_step) {
  if constexpr (Rows > 0) {
    if (rows == Rows) return multiply_rows<T, Rows>(a, a_step, b, depth, columns, c, c_step);
    multiply_rest<T, Rows - 1>(a, a_step, rows, b, depth, columns, c, c_step);
  }
}

template <class T>
void multiply(const T* a, std::int64_t a_step, std::int64_t rows, const T* panels,
              std::int64_t depth, std::int64_t columns, T* c, std::int64_t c_step) {
  for (std::int64_t j = 0; j < columns; j += panel<T>, panels += depth * panel<T>) {
    std::int64_t r = 0;
    for (; r + ROWS <= rows; r += ROWS)
      multiply_rows<T, ROWS>(a + r * a_step, a_step, panels, depth, columns - j, c + r * c_step + j,
                             c_step);
    multiply_rest<T, ROWS - 1>(a + r * a_step, a_step, rows - r, panels, depth, columns - j,
                               c + r * c_step + j, c_step);
  }
}

}  // namespace

template <class T>
const cells<T> cell_sets<T>::CELLS = {.relu = relu<T>,
                                      .tanh = tanh_cell<T>,
                                      .lstm = lstm<T>,
                                      .gru = gru<T>,
                                      .gru_reset = gru_reset<T>,
                                      .gru_update = gru_update<T>,
                                      .relu_backward = relu_backward<T>,
                                      .tanh_backward = tanh_backward<T>,
                                      .lstm_backward = lstm_backward<T>,
                                      .gru_backward = gru_backward<T>,
                                      .gru_update_backward = gru_update_backward<T>,
                                      .gru_reset_backward = gru_reset_backward<T>,
                                      .multiply = multiply<T>,
                                      .panel = panel<T>};
template const cells<float> cell_sets<float>::CELLS;
template const cells<double> cell_sets<double>::CELLS;

}  // namespace troupe::cpu::rnn
