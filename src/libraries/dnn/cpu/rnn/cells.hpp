#pragma once

#include <cstdint>

namespace troupe::cpu::rnn {

/// The loops of recurrent networks, for one kind of processor.
///
/// A cell function computes one sequence at one step: n numbers of each gate and state. Gates lie
/// one behind another, n apart. Forward functions replace the sums of gates by their values,
/// backward
/// functions replace the values by the gradients of the sums.
template <class T>
struct cells {
  void (*relu)(T* gates, T* h, std::int64_t n);
  void (*tanh)(T* gates, T* h, std::int64_t n);
  /// u = o · tanh(c).
  void (*lstm)(T* gates, const T* c_before, T* c, T* u, std::int64_t n);
  /// q is the part of n's sum that comes from the state.
  void (*gru)(T* gates, const T* q, const T* h_before, T* h, std::int64_t n);
  /// A gru whose reset gate comes first, in two parts: q = r · h_before, whose product belongs to
  /// the sum of n, and what follows.
  void (*gru_reset)(T* gates, const T* h_before, T* q, std::int64_t n);
  void (*gru_update)(T* gates, const T* h_before, T* h, std::int64_t n);

  void (*relu_backward)(T* gates, const T* dh, std::int64_t n);
  void (*tanh_backward)(T* gates, const T* dh, std::int64_t n);
  /// dc becomes the gradient of c_before.
  void (*lstm_backward)(T* gates, const T* c_before, const T* c, const T* du, T* dc,
                        std::int64_t n);
  /// q becomes its gradient; dh_before is the part of dh that reaches h_before directly.
  void (*gru_backward)(T* gates, T* q, const T* h_before, const T* dh, T* dh_before,
                       std::int64_t n);
  /// The gradients of the sums of n and z, and then from dq that of r; dh_before becomes the part
  /// of dh that reaches h_before directly, and then the part through q is added.
  void (*gru_update_backward)(T* gates, const T* h_before, const T* dh, T* dh_before,
                              std::int64_t n);
  void (*gru_reset_backward)(T* gates, const T* h_before, const T* dq, T* dh_before,
                             std::int64_t n);

  /// c[r, j] += Σ_k a[r, k] · panels[j / panel][k][j % panel]: the product with a `factor`.
  void (*multiply)(const T* a, std::int64_t a_step, std::int64_t rows, const T* panels,
                   std::int64_t depth, std::int64_t columns, T* c, std::int64_t c_step);
  std::int64_t panel;

  [[nodiscard]] static const cells& mine() noexcept;
};

// One set for each kind of processor.
template <class T>
struct cell_sets {
  static const cells<T> plain;   ///< any
  static const cells<T> avx2;    ///< with AVX2 and FMA
  static const cells<T> avx512;  ///< with AVX-512 F, BW, DQ and VL
};

}  // namespace troupe::cpu::rnn
